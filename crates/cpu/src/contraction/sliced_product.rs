//! Products over several axes, such as convolutions: which of them run slice by slice, and in which form.
//!
//! The compiler leaves sums of products with few rows or columns as fused kernels. Here they run as products
//! too, if their elements can be read as vectors.

use farad_compile::program::{Code, Fused, Instr, Level, Product, ProductOperand, Reg, Store, View};
use farad_ir::{Binary, DType, Reduce, Scalar};

use crate::contraction::dot_slices::Dots;
use crate::contraction::matrix_product::{self, Temporaries};
use crate::contraction::merge_axes::merged;
use crate::contraction::row_slices::Rows;
use crate::contraction::slice_operand::{Load, SliceRead};
use crate::contraction::stride_phases::phases;
use crate::error::Error;
use crate::heuristics::products::{SLICE, WORTH_A_PRODUCT, WORTH_A_VECTOR};
use crate::interpreter::tile_machine::KernelContext;

/// A product that is done slice by slice.
#[derive(Debug)]
pub enum Sliced {
    /// Along columns.
    Rows(Box<Rows>),
    /// Along terms.
    Dots(Box<Dots>),
    /// Several products, one after another.
    Phases(Vec<Sliced>),
}

impl Sliced {
    /// Runs the product.
    pub fn run(&self, context: KernelContext) {
        match self {
            Sliced::Rows(plan) => plan.run(context),
            Sliced::Dots(plan) => plan.run(context),
            Sliced::Phases(list) => list.iter().for_each(|plan| plan.run(context)),
        }
    }
}

/// Plans a product whose rows, columns or terms are several axes; `None` for products of matrices.
pub fn plan(product: &Product, temporaries: &mut Temporaries, label: &str) -> Result<Option<Sliced>, Error> {
    let product = merged(product);
    let wide = matrix_product::dtype(&product) != DType::F32;
    if wide || [&product.m, &product.n, &product.k].iter().all(|axes| axes.len() <= 1) {
        return Ok(None);
    }
    plan_phases(&product, temporaries, label)
}

/// Plans a fused kernel that is a sum of products with few rows; `None` if it is not one.
pub fn plan_fused(
    fused: &Fused,
    temporaries: &mut Temporaries,
    label: &str,
) -> Result<Option<Sliced>, Error> {
    match thin(fused) {
        Some(product) => plan_phases(&merged(&product), temporaries, label),
        None => Ok(None),
    }
}

fn plan_phases(
    product: &Product,
    temporaries: &mut Temporaries,
    label: &str,
) -> Result<Option<Sliced>, Error> {
    let parts = phases(product);
    if parts.len() == 1 {
        return plan_within(product, SLICE, temporaries, label);
    }
    let parts = parts.iter().map(|part| plan_within(&merged(part), SLICE, temporaries, label));
    Ok(parts.collect::<Result<Option<Vec<Sliced>>, Error>>()?.map(Sliced::Phases))
}

/// As `plan`, with slices of about `most` floats.
fn plan_within(
    product: &Product,
    most: usize,
    temporaries: &mut Temporaries,
    label: &str,
) -> Result<Option<Sliced>, Error> {
    if product.n.is_empty() || product.k.is_empty() {
        return Ok(None);
    }
    Ok(match runs_along_terms(product) {
        true => Dots::new(product, most, temporaries, label)?.map(|plan| Sliced::Dots(Box::new(plan))),
        false => Rows::new(product, most, temporaries, label)?.map(|plan| Sliced::Rows(Box::new(plan))),
    })
}

/// Whether the right operand has longer runs along its terms than along its columns.
fn runs_along_terms(product: &Product) -> bool {
    if product.terms() == 0 {
        return false;
    }
    let Some(Code::Load(_, view)) =
        product.rhs.tape.iter().map(|i| &i.code).find(|c| matches!(c, Code::Load(..)))
    else {
        return false;
    };
    let axes = &product.axes()[1];
    let (terms, last) = (product.batch.len()..product.batch.len() + product.k.len(), axes.len() - 1);
    let extent = [&vec![1; product.batch.len()][..], &product.k, &product.n].concat();
    // Columns at every second or third position are neighbors in a window that is split. Where they are few, long sums
    // are better off along their terms all the same.
    let many = product.columns() > product.terms();
    let order = [last];
    let split = || {
        let Some(load) = Load::of(&product.rhs).filter(|_| many) else { return false };
        let read = SliceRead { load: &load, axes, order: &order, tables: terms.clone() };
        read.window(&extent).is_some()
    };
    let along = |axis: usize| view.strides[axis].abs() == 1;
    // Reading neighbors is about that much faster.
    let run = |axis: usize, neighbors: bool| axes[axis] * if neighbors { 4 } else { 1 };
    let of_terms = run(terms.end - 1, along(terms.end - 1));
    of_terms > run(last, false) && of_terms > run(last, along(last) || split())
}

fn moves(view: &View, axis: usize) -> bool {
    view.strides[axis] != 0 || view.guards.iter().any(|g| g.coefficients[axis] != 0)
}

/// A fused kernel as a product: a sum of products of two loads, and pointwise work on the sum.
fn thin(fused: &Fused) -> Option<Product> {
    let at = |r: Reg| &fused.tape[r.0 as usize];
    let is_sum = |instr: &Instr| matches!(instr.code, Code::Reduce(..));
    let sum = fused.tape.iter().position(is_sum)?;
    let Code::Reduce(Reduce::Sum, product) = fused.tape[sum].code else { return None };
    let Code::Binary(Binary::Mul, a, b) = at(product).code else { return None };
    let outer = |instr: &Instr| instr.level == Level::Outer;
    let (Code::Load(_, left), Code::Load(_, right)) = (&at(a).code, &at(b).code) else { return None };
    let floats = at(a).dtype == DType::F32 && at(b).dtype == DType::F32;
    let full = fused.tape.iter().filter(|i| !outer(i)).count();
    let alone = full == 3 - (outer(at(a)) as usize + outer(at(b)) as usize)
        && fused.tape.iter().filter(|i| is_sum(i)).count() == 1
        && fused.stores.iter().all(|store| outer(at(store.value)));
    if !floats || a == b || !alone {
        return None;
    }
    // Columns are the axes of the operand that has the last axis.
    let last = (0..fused.outer).rev().find(|&axis| fused.axes[axis] > 1)?;
    let (lhs, rhs) = match (moves(left, last), moves(right, last)) {
        (true, false) => (b, a),
        (false, true) => (a, b),
        _ => return None,
    };
    let (Code::Load(_, left), Code::Load(_, right)) = (&at(lhs).code, &at(rhs).code) else { return None };
    let [mut batch, mut m, mut n, mut k] = [const { Vec::new() }; 4];
    for axis in (0..fused.axes.len()).filter(|&axis| fused.axes[axis] != 1) {
        match (axis < fused.outer, moves(left, axis), moves(right, axis)) {
            (true, true, true) => batch.push(axis),
            (true, true, false) => m.push(axis),
            (true, false, true) => n.push(axis),
            (false, true, true) => k.push(axis),
            _ => return None,
        }
    }
    let work: usize = fused.axes.iter().product();
    let vector = k.last().map_or(0, |&axis| fused.axes[axis]).max(fused.axes[last]);
    if k.is_empty() || work < WORTH_A_PRODUCT || vector < WORTH_A_VECTOR {
        return None;
    }
    Some(as_product(fused, sum, [lhs, rhs], [batch, m, n, k]))
}

/// The kernel as a product with these axes as batch, rows, columns and terms.
fn as_product(fused: &Fused, sum: usize, [lhs, rhs]: [Reg; 2], [batch, m, n, k]: [Vec<usize>; 4]) -> Product {
    let sizes = |axes: &[usize]| axes.iter().map(|&axis| fused.axes[axis]).collect::<Vec<usize>>();
    let over = |view: &View, axes: &[&[usize]]| {
        let pick = |values: &[i64]| axes.concat().iter().map(|&axis| values[axis]).collect::<Vec<i64>>();
        let mut over = View { strides: pick(&view.strides), ..view.clone() };
        over.guards.iter_mut().for_each(|guard| guard.coefficients = pick(&guard.coefficients));
        over
    };
    let operand = |r: Reg, axes: &[&[usize]]| {
        let Code::Load(buffer, view) = &fused.tape[r.0 as usize].code else {
            unreachable!("operands are loads")
        };
        let code = Code::Load(*buffer, over(view, axes));
        let load = Instr { code, dtype: DType::F32, level: Level::Full };
        ProductOperand { tape: vec![load], value: Reg(0) }
    };
    let whole: [&[usize]; 3] = [&batch, &m, &n];
    let epilogue = fused.tape.iter().enumerate().map(|(i, instr)| {
        let code = match &instr.code {
            _ if i == sum => Code::Accumulator,
            // Instructions that the product itself replaces.
            _ if instr.level == Level::Full => Code::Constant(Scalar::of(instr.dtype, 0.0)),
            Code::Load(buffer, view) => Code::Load(*buffer, over(view, &whole)),
            Code::Position(view) => Code::Position(over(view, &whole)),
            Code::Random(key, stream, view) => Code::Random(*key, *stream, over(view, &whole)),
            Code::Take { buffer, view, position, stride, size, site } => Code::Take {
                buffer: *buffer,
                view: over(view, &whole),
                position: *position,
                stride: *stride,
                size: *size,
                site: *site,
            },
            other => other.clone(),
        };
        Instr { code, dtype: instr.dtype, level: Level::Full }
    });
    Product {
        lhs: operand(lhs, &[&batch, &m, &k]),
        rhs: operand(rhs, &[&batch, &k, &n]),
        epilogue: epilogue.collect(),
        stores: (fused.stores.iter())
            .map(|store| Store { view: over(&store.view, &whole), ..store.clone() })
            .collect(),
        batch: sizes(&batch),
        m: sizes(&m),
        n: sizes(&n),
        k: sizes(&k),
    }
}

#[cfg(test)]
mod tests {
    use farad_compile::program::{BufferId, Guard};

    use super::*;
    use crate::interpreter::nest::Spec;
    use crate::interpreter::tile_machine::Faults;
    use crate::memory::element_runs::Binding;

    /// Images, channels in and out, rows and columns of an image.
    const SIZES: [usize; 5] = [4, 3, 6, 9, 19];

    fn value(i: usize) -> f32 {
        (i * 37 % 101) as f32 / 50.0 - 1.0
    }

    /// `x[image, i, h + p - 1, w + q - 1]` over axes with these indices.
    fn window([image, i, h, w, p, q]: [usize; 6]) -> View {
        let (rows, columns) = (SIZES[3] as i64, SIZES[4] as i64);
        let mut view = View { offset: -columns - 1, strides: vec![0; 6], guards: vec![] };
        let strides = [SIZES[1] as i64 * rows * columns, rows * columns, columns, 1, columns, 1];
        [image, i, h, w, p, q].into_iter().zip(strides).for_each(|(axis, s)| view.strides[axis] = s);
        for (pair, size) in [([h, p], rows), ([w, q], columns)] {
            let mut coefficients = vec![0; 6];
            pair.into_iter().for_each(|axis| coefficients[axis] = 1);
            view.guards.push(Guard { coefficients, offset: -1, divisor: 1, size, stride: 0 });
        }
        view
    }

    fn operand(buffer: u32, view: View) -> ProductOperand {
        let load = Instr { code: Code::Load(BufferId(buffer), view), dtype: DType::F32, level: Level::Full };
        ProductOperand { tape: vec![load], value: Reg(0) }
    }

    fn view(strides: &[usize]) -> View {
        View { offset: 0, strides: strides.iter().map(|&s| s as i64).collect(), guards: vec![] }
    }

    /// A convolution with a kernel of 3 by 3 and something added, or the gradient with respect to its weights.
    fn product(weights: bool) -> (Product, [usize; 3]) {
        let [images, i, o, h, w] = SIZES;
        let accumulator = Instr { code: Code::Accumulator, dtype: DType::F32, level: Level::Full };
        let taken = view(&[h * w, o * h * w, w, 1]);
        let kernel = view(&[9 * i, 9, 3, 1]);
        let (n, k, lhs, rhs, out) = match weights {
            true => ([i, 3, 3], [images, h, w], taken, window([0, 3, 1, 2, 4, 5]), kernel),
            false => ([images, h, w], [i, 3, 3], kernel, window([3, 0, 4, 5, 1, 2]), taken),
        };
        let mut epilogue = vec![accumulator];
        if !weights {
            let one = Instr {
                code: Code::Constant(Scalar::of(DType::F32, 1.0)),
                dtype: DType::F32,
                level: Level::Full,
            };
            let sum = Code::Binary(Binary::Add, Reg(0), Reg(1));
            epilogue.extend([one, Instr { code: sum, dtype: DType::F32, level: Level::Full }]);
        }
        let store = Store { buffer: BufferId(2), value: Reg(epilogue.len() as u32 - 1), view: out };
        let product = Product {
            batch: vec![],
            m: vec![o],
            n: n.to_vec(),
            k: k.to_vec(),
            lhs: operand(0, lhs),
            rhs: operand(1, rhs),
            epilogue,
            stores: vec![store],
        };
        let (image, kernel, result) = (images * i * h * w, o * i * 9, images * o * h * w);
        (product, if weights { [result, image, kernel] } else { [kernel, image, result] })
    }

    fn run(weights: bool, most: usize) -> (usize, Vec<f32>) {
        let (product, lens) = product(weights);
        let (sliced, sums) = computed(&product, lens, most);
        let slices = match &sliced {
            Sliced::Rows(plan) => plan.slices(),
            Sliced::Dots(plan) => plan.slices(),
            Sliced::Phases(_) => unreachable!("nothing is divided here"),
        };
        (slices, sums)
    }

    fn computed(product: &Product, lens: [usize; 3], most: usize) -> (Sliced, Vec<f32>) {
        let mut specs: Vec<Spec> = lens.iter().map(|&len| Spec { dtype: DType::F32, len }).collect();
        let mut offsets = Vec::new();
        let mut temporaries = Temporaries { specs: &mut specs, offsets: &mut offsets, bytes: 0 };
        let sliced = plan_within(product, most, &mut temporaries, "test").unwrap().expect("slices");
        let mut workspace = vec![0f32; temporaries.bytes / 4];
        let mut data = lens.map(|len| (0..len).map(value).collect::<Vec<f32>>());
        let starts = data.each_mut().map(|d| d.as_mut_ptr().cast::<u8>());
        let temporaries = offsets.iter().map(|&offset| workspace[offset / 4..].as_mut_ptr().cast());
        let bindings: Vec<Binding> = (starts.into_iter().chain(temporaries))
            .zip(&specs)
            .map(|(start, spec)| Binding { start, len: spec.len, dtype: spec.dtype })
            .collect();
        sliced.run(KernelContext { bindings: &bindings, parameters: &[], faults: &Faults::new(0) });
        (sliced, data[2].clone())
    }

    /// Every second column: a kernel's three columns are fewer than those of the result, so tiles run along the latter.
    #[test]
    fn strided_convolutions_run_along_columns() {
        let [images, i, o, h, w] = SIZES;
        let (mut product, lens) = product(false);
        let columns = w.div_ceil(2);
        product.n[2] = columns;
        let Code::Load(_, view) = &mut product.rhs.tape[0].code else { unreachable!("an operand is a load") };
        view.strides[5] = 2;
        view.guards[1].coefficients[5] = 2;
        for most in [usize::MAX, 900] {
            let (sliced, sums) = computed(&product, lens, most);
            assert!(matches!(sliced, Sliced::Rows(_)), "{sliced:?}");
            for (image, out, row, column) in
                [(0, 0, 0, 0), (1, 5, 3, 4), (images - 1, o - 1, h - 1, columns - 1)]
            {
                let mut want = 1.0f64;
                for (c, p, q) in (0..i).flat_map(|c| (0..9).map(move |at| (c, at / 3, at % 3))) {
                    let (y, x) = ((row + p).wrapping_sub(1), (2 * column + q).wrapping_sub(1));
                    if y < h && x < w {
                        let weight = value(((out * i + c) * 3 + p) * 3 + q) as f64;
                        want += weight * value(((image * i + c) * h + y) * w + x) as f64;
                    }
                }
                let got = sums[((image * o + out) * h + row) * w + column] as f64;
                assert!((got - want).abs() < 1e-4, "{got} is not {want}");
            }
        }
    }

    #[test]
    fn slices_give_the_same_sums() {
        let [_, i, o, h, w] = SIZES;
        for weights in [false, true] {
            let (whole, sums) = run(weights, usize::MAX);
            for most in [1, 900, 3000] {
                let (slices, sliced) = run(weights, most);
                assert!(slices > whole, "{slices} slices of {most}, {whole} of all");
                let worst = sums.iter().zip(&sliced).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(worst < 1e-4, "{worst}");
            }
            if !weights {
                // An element in the last row of an image, computed separately.
                let (image, out, column) = (2, 4, 7);
                let mut want = 1.0f64;
                for (c, p, q) in (0..i).flat_map(|c| (0..2).flat_map(move |p| (0..3).map(move |q| (c, p, q))))
                {
                    let x = ((image * i + c) * h + h - 2 + p) * w + column + q - 1;
                    want += value(((out * i + c) * 3 + p) * 3 + q) as f64 * value(x) as f64;
                }
                let got = sums[((image * o + out) * h + h - 1) * w + column] as f64;
                assert!((got - want).abs() < 1e-4, "{got} is not {want}");
            }
        }
    }
}
