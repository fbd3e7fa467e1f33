//! Matrix products: every tile, every layout of operands, sizes that tiles do not divide, prologues and
//! epilogues.

use farad_compile::program::{Product, ProductOperand};
use farad_compile::tiles::PROCESSORS;

use super::*;
use crate::render::product::{ProductForm, ProductTile, TILES, write};
use crate::render::{RenderContext, module, space};

const F32: DType = DType::F32;

/// A product of plain operands, followed by `relu(y + bias)`. `transposed` is whether each operand has its last
/// two axes swapped in memory.
fn product(dtype: DType, batch: usize, [m, k, n]: [usize; 3], transposed: [bool; 2]) -> (Case, Kernel) {
    let mut case = Case::default();
    let (mi, ki, ni) = (m as i64, k as i64, n as i64);
    let (a, b) = (case.input(dtype, batch * m * k), case.input(dtype, batch * k * n));
    let (bias, y) = (case.input(F32, n), case.output(dtype, batch * m * n));
    let mut operand = |buffer, size: i64, rows: i64, columns: i64, swap: bool| {
        let strides = if swap { [size, 1, rows] } else { [size, columns, 1] };
        let value = case.load(buffer, view(0, &strides));
        ProductOperand { tape: std::mem::take(&mut case.tape), value }
    };
    let lhs = operand(a, mi * ki, mi, ki, transposed[0]);
    let rhs = operand(b, ki * ni, ki, ni, transposed[1]);
    let sum = case.full(Code::Accumulator, F32);
    let bias = case.load(bias, view(0, &[0, 0, 1]));
    let shifted = case.binary(Binary::Add, sum, bias);
    let out = case.unary(Unary::Relu, shifted);
    case.store(y, out, view(0, &[mi * ni, ni, 1]));
    let (epilogue, stores) = (std::mem::take(&mut case.tape), std::mem::take(&mut case.stores));
    (
        case,
        Kernel::Product(Product {
            batch: vec![batch],
            m: vec![m],
            n: vec![n],
            k: vec![k],
            lhs,
            rhs,
            epilogue,
            stores,
        }),
    )
}

#[test]
fn every_layout_of_small_products() {
    for sizes in [
        [2, 3, 5],
        [16, 16, 16],
        [17, 31, 9],
        [64, 784, 128],
        [64, 128, 10],
        [33, 64, 40],
        [5, 100, 130],
        [4, 1, 4],
    ] {
        for swap in [[false, false], [false, true], [true, false], [true, true]] {
            for batch in [1, 3] {
                let (case, kernel) = product(F32, batch, sizes, swap);
                case.check(&kernel, 2e-6);
            }
        }
    }
}

/// Shapes for which the rule chooses each tile, divisible by it and not.
const SHAPES: [(usize, [usize; 3], [usize; 2]); 10] = [
    (1, [64, 784, 128], [16, 16]),
    (1, [50, 59, 121], [16, 16]),
    (1, [256, 64, 512], [32, 32]),
    (1, [250, 61, 500], [32, 32]),
    (1, [1024, 64, 512], [64, 64]),
    (1, [1000, 61, 511], [64, 64]),
    (1, [1024, 200, 1024], [128, 64]),
    (1, [1000, 203, 1021], [128, 64]),
    (22, [384, 160, 512], [128, 128]),
    (22, [381, 155, 508], [128, 128]),
];

#[test]
fn every_tile() {
    for (number, (batch, sizes, _)) in SHAPES.into_iter().enumerate() {
        let swaps = [[false, false], [true, true], [false, true], [true, false]];
        for swap in swaps.into_iter().skip(number % 2).step_by(if batch > 1 { 4 } else { 2 }) {
            let (case, kernel) = product(F32, batch, sizes, swap);
            case.check(&kernel, 2e-6);
        }
    }
}

#[test]
fn the_rule_reaches_every_tile() {
    let large = [(1, [1024, 1024, 1024], [128, 64]), (1, [4096, 4096, 4096], [128, 128])];
    for (batch, sizes, expected) in SHAPES.into_iter().chain(large) {
        let tile = crate::render::product::ProductTile::of(&shape(batch, sizes), false, PROCESSORS);
        assert_eq!([tile.m, tile.n], expected, "{batch} {sizes:?}");
    }
}

/// A product of these sizes without operands.
fn shape(batch: usize, [m, k, n]: [usize; 3]) -> Product {
    let none = || ProductOperand { tape: vec![], value: Reg(0) };
    Product {
        batch: vec![batch],
        m: vec![m],
        n: vec![n],
        k: vec![k],
        lhs: none(),
        rhs: none(),
        epilogue: vec![],
        stores: vec![],
    }
}

#[test]
fn vectors_and_nothing() {
    for sizes in [
        [1, 64, 50],
        [50, 64, 1],
        [1, 300, 1],
        [7, 0, 6],
        [1, 0, 6],
        [3000, 20, 1],
        [1, 20, 3000],
        [40, 999, 1],
    ] {
        for swap in [[false, false], [true, true], [true, false], [false, true]] {
            for batch in [1, 2] {
                let (case, kernel) = product(F32, batch, sizes, swap);
                case.check(&kernel, 2e-6);
            }
        }
    }
}

/// Sizes that whole tiles divide, that nothing divides, and some of both.
const F16_SIZES: [[usize; 3]; 9] = [
    [16, 32, 16],
    [20, 30, 18],
    [7, 5, 9],
    [1, 64, 33],
    [128, 64, 256],
    [128, 96, 128],
    [200, 100, 72],
    [131, 67, 129],
    [300, 0, 40],
];

/// A product's launch in one of the tensor-core tiles.
fn cooperative(
    case: &Case,
    kernel: &Kernel,
    slots: &[(BufferId, usize)],
    capabilities: &Capabilities,
    tile: ProductTile,
) -> Dispatch {
    let Kernel::Product(product) = kernel else { unreachable!("a product") };
    let canonical = space::canonical_product(product);
    let context = RenderContext { program: &case.program, slots, locals: &[], capabilities };
    module::build(kernel.touches(), context, |module| write(module, &canonical, tile))
}

/// The tensor-core tiles.
fn cooperative_tiles() -> impl Iterator<Item = ProductTile> {
    TILES.iter().map(|choice| choice.tile).filter(|tile| tile.form == ProductForm::Cooperative)
}

const LAYOUTS: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];

#[test]
fn cooperative_texts_are_valid_and_leave_room_for_two() {
    let limits = Capabilities { workgroup_memory: 48 << 10, invocations: 1024, ..Capabilities::core() };
    let capabilities = Capabilities { subgroups: true, cooperative: 32, ..limits };
    for ((sizes, swap), tile) in
        all(F16_SIZES, LAYOUTS).flat_map(|one| cooperative_tiles().map(move |t| (one, t)))
    {
        let (case, kernel) = product(DType::F16, 2, sizes, swap);
        let dispatch = cooperative(&case, &kernel, &[], &capabilities, tile);
        validate(&dispatch, &capabilities);
        let module = naga::front::wgsl::parse_str(&dispatch.wgsl).expect("it is valid");
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).expect("types have sizes");
        let shared = module.global_variables.iter();
        let shared = shared.filter(|(_, variable)| variable.space == naga::AddressSpace::WorkGroup);
        let bytes: u32 = shared.map(|(_, variable)| layouter[variable.ty].size).sum();
        assert!(bytes <= 24 << 10, "{sizes:?} {swap:?}: {bytes} bytes");
    }
}

#[test]
fn subgroups_multiply_halves_where_they_can() {
    // Not all sizes: each is a pipeline, and drivers take a second to compile one.
    let sizes = [[128, 96, 128], [200, 100, 72], [131, 67, 129], [1100, 64, 136], [300, 0, 40]];
    for ((sizes, swap), tile) in
        all(sizes, LAYOUTS).flat_map(|one| cooperative_tiles().map(move |tile| (one, tile)))
    {
        let (case, kernel) = product(DType::F16, 2, sizes, swap);
        case.check_rendered(&kernel, 2e-6, |slots, capabilities| match capabilities.cooperative {
            0 => vec![],
            _ => vec![cooperative(&case, &kernel, slots, capabilities, tile)],
        });
    }
}

#[test]
fn large_products_of_halves_are_made_by_subgroups() {
    let is_f16 = [[4096, 4096, 4096], [512, 512, 512], [8192, 64, 8192], [100, 4096, 8192]];
    for sizes in is_f16 {
        assert_eq!(
            ProductTile::of(&shape(1, sizes), true, PROCESSORS).form,
            ProductForm::Cooperative,
            "{sizes:?}"
        );
        assert_eq!(
            ProductTile::of(&shape(1, sizes), false, PROCESSORS).form,
            ProductForm::Scalar,
            "{sizes:?}"
        );
    }
    assert_eq!(ProductTile::of(&shape(1, [8, 8, 8]), true, PROCESSORS).form, ProductForm::Scalar);
}

/// Every pair of two lists.
fn all<A: Copy, B: Copy>(
    first: impl IntoIterator<Item = A>,
    second: impl IntoIterator<Item = B> + Clone,
) -> impl Iterator<Item = (A, B)> {
    first.into_iter().flat_map(move |a| second.clone().into_iter().map(move |b| (a, b)))
}

#[test]
fn halves_multiply_in_single_precision() {
    for sizes in F16_SIZES {
        for swap in [[false, false], [true, true], [true, false], [false, true]] {
            let (case, kernel) = product(DType::F16, 2, sizes, swap);
            case.check(&kernel, 2e-6);
        }
    }
}

#[test]
fn prologues_guards_and_accumulation_in_place() {
    for (m, k, n) in [(20, 24, 16), (13, 11, 7)] {
        let mut case = Case::default();
        let (ki, ni) = (k as i64, n as i64);
        let (a, scale, b) = (case.input(F32, m * k), case.input(F32, k), case.input(F32, 2 * k * n));
        let y = case.input(F32, m * n);
        // exp(a[m, k - 1] with a zero column in front) · scale[k]
        let guard = Guard { coefficients: vec![0, 1], offset: -1, divisor: 1, size: ki, stride: 0 };
        let x = case.load(a, guarded(-1, &[ki, 1], vec![guard]));
        let power = case.unary(Unary::Exp, x);
        let factor = case.load(scale, view(0, &[0, 1]));
        let value = case.binary(Binary::Mul, power, factor);
        let lhs = ProductOperand { tape: std::mem::take(&mut case.tape), value };
        let value = case.load(b, view(1, &[2 * ni, 2]));
        let rhs = ProductOperand { tape: std::mem::take(&mut case.tape), value };
        let old = case.load(y, view(0, &[ni, 1]));
        let sum = case.full(Code::Accumulator, F32);
        let out = case.binary(Binary::Add, old, sum);
        case.store(y, out, view(0, &[ni, 1]));
        let (epilogue, stores) = (std::mem::take(&mut case.tape), std::mem::take(&mut case.stores));
        let kernel = Kernel::Product(Product {
            batch: vec![],
            m: vec![m],
            n: vec![n],
            k: vec![k],
            lhs,
            rhs,
            epilogue,
            stores,
        });
        case.check(&kernel, 2e-6);
    }
}
