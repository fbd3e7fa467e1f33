//! The kernels on the machine, against the meaning of the ops in `f64`; and their texts for many sizes.

use farad_ir::{CustomKernel, CustomLimits, Exact, Shape};
use half::f16;

use super::super::dropout::AttentionDropout;
use super::super::extent::AttentionExtent;
use super::super::op::{AttentionOp, NOTHING, WIDEST};
use super::form::{Extras, MatrixForm, MatrixKernel};
use super::machine;

const LIMITS: CustomLimits = CustomLimits {
    invocations: 1024,
    workgroup_memory: 48 << 10,
    workgroups: 65_535,
    subgroups: true,
    matrices: 32,
};

fn op(is_f16: bool, extras: Extras, offset: Option<usize>) -> AttentionOp {
    AttentionOp {
        scale: Exact(0.3),
        offset,
        is_f16,
        mask: extras.mask,
        bias: extras.bias.then_some(2),
        dropout: extras.dropout.then_some(AttentionDropout(Exact(0.3))),
    }
}

fn all_extras() -> impl Iterator<Item = Extras> {
    (0..8).map(|n| Extras { mask: n & 1 > 0, bias: n & 2 > 0, dropout: n & 4 > 0 })
}

/// Numbers from -2 to 2, as bytes in memory and in `f64`.
struct Numbers(u64);

impl Numbers {
    fn draw(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 22) as f32 - 2.0
    }

    fn of(&mut self, shape: &Shape, is_f16: bool) -> Vec<f64> {
        let round = |x: f32| if is_f16 { f16::from_f32(x).to_f32() } else { x };
        (0..shape.numel()).map(|_| round(self.draw()) as f64).collect()
    }
}

/// How a value lies in memory.
#[derive(Clone, Copy)]
enum Kind {
    Half,
    Single,
    Word,
}

fn to_bytes(values: &[f64], kind: Kind) -> Vec<u8> {
    let bytes = |&x: &f64| match kind {
        Kind::Half => f16::from_f64(x).to_le_bytes().to_vec(),
        Kind::Single => (x as f32).to_le_bytes().to_vec(),
        Kind::Word => (x as u32).to_le_bytes().to_vec(),
    };
    values.iter().flat_map(bytes).collect()
}

fn from_bytes(bytes: &[u8], kind: Kind) -> Vec<f64> {
    match kind {
        Kind::Half => bytes.chunks(2).map(|x| f16::from_le_bytes([x[0], x[1]]).to_f64()).collect(),
        _ => bytes.chunks(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]) as f64).collect(),
    }
}

/// Runs launches of an op on the machine: operands, then results, then scratch.
fn launch(kernels: &[CustomKernel], arrays: &mut [Vec<u8>]) {
    for kernel in kernels {
        let arguments = kernel.arguments.as_ref().expect("given");
        let mut buffers =
            vec![kernel.parameters.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()];
        buffers.extend(arguments.iter().map(|&n| arrays[n].clone()));
        machine::run(&kernel.wgsl, &kernel.entry, &mut buffers, kernel.workgroups);
        for (&n, bytes) in arguments.iter().zip(buffers.drain(1..)) {
            // The same array may be bound twice, to be read.
            if bytes != arrays[n] {
                arrays[n] = bytes;
            }
        }
    }
}

/// The largest difference, relative to the largest number.
fn distance(got: &[f64], wanted: &[f64]) -> f64 {
    let most = wanted.iter().filter(|x| **x > NOTHING as f64).fold(1e-30, |most: f64, x| most.max(x.abs()));
    let apart = |(a, b): (&f64, &f64)| if a == b { 0.0 } else { (a - b).abs() / most };
    assert_eq!(got.len(), wanted.len());
    got.iter().zip(wanted).map(apart).fold(0.0, |m, d| if d.is_nan() || d > m { d } else { m })
}

/// Both passes of an op against their meaning.
fn check(
    op: &AttentionOp,
    extent: &AttentionExtent,
    takes: impl Fn(&AttentionOp, usize) -> Vec<CustomKernel>,
) {
    let (kind, mut numbers) = (if op.is_f16 { Kind::Half } else { Kind::Single }, Numbers(3));
    let shapes = [extent.q(), extent.k(), extent.k(), extent.q(), extent.rows(), extent.rows()];
    let mut extras = Vec::new();
    if op.mask {
        let mask = (0..extent.mask().numel()).map(|n| (n % 5 != 0) as u32 as f64).collect();
        extras.push((extent.mask(), mask, Kind::Word));
    }
    if op.bias.is_some() {
        let hidden = |x: f64| if x > 1.7 { -2e30 } else { x };
        let bias = numbers.of(&extent.bias(), false).into_iter().map(hidden).collect();
        extras.push((extent.bias(), bias, Kind::Single));
    }
    if op.dropout.is_some() {
        extras.push((Shape::new(&[4]), vec![5.0, 4e9, 77.0, 123_456.0], Kind::Word));
    }
    let mut given: Vec<(Shape, Vec<f64>, Kind)> =
        shapes[..4].iter().map(|shape| (*shape, numbers.of(shape, op.is_f16), kind)).collect();
    let most = if op.is_f16 { 2e-3 } else { 4e-6 };
    for first in [3, 6] {
        let operands: Vec<_> = given[..first].iter().chain(&extras).cloned().collect();
        let values: Vec<Vec<f64>> = operands.iter().map(|(_, values, _)| values.clone()).collect();
        let sizes: Vec<Shape> = operands.iter().map(|(shape, ..)| *shape).collect();
        let wanted = op.meaning(&values, &sizes, first);
        let kinds = if first == 3 { [kind, Kind::Single] } else { [kind; 2] };
        let mut arrays: Vec<Vec<u8>> = operands.iter().map(|(_, x, kind)| to_bytes(x, *kind)).collect();
        arrays.extend(wanted.iter().zip(kinds).map(|(x, kind)| to_bytes(&vec![f64::NAN; x.len()], kind)));
        arrays.extend(super::scratch(op).iter().map(|words| vec![0xff; 4 * words]));
        launch(&takes(op, first), &mut arrays);
        for (n, (wanted, kind)) in wanted.iter().zip(kinds).enumerate() {
            let far = distance(&from_bytes(&arrays[operands.len() + n], kind), wanted);
            assert!(far < most, "{op:?}, {extent:?}: result {n} after {first} operands is off by {far:.1e}");
        }
        if first == 3 {
            // What the backward pass is given: logarithms of the sums, and result times gradient.
            let width = extent.width;
            let products = wanted[0].iter().zip(&given[3].1).map(|(y, g)| y * g).collect::<Vec<f64>>();
            let shares = products.chunks(width).map(|row| row.iter().sum()).collect();
            given.push((extent.rows(), wanted[1].clone(), Kind::Single));
            given.push((extent.rows(), shares, Kind::Single));
        }
    }
}

/// By the kernels that the rule chooses.
fn by_rule(extent: AttentionExtent) -> impl Fn(&AttentionOp, usize) -> Vec<CustomKernel> {
    move |op, first| match first {
        3 => super::forward(op, &extent, &LIMITS),
        _ => super::backward(op, &extent, &LIMITS),
    }
}

const EXTENT: AttentionExtent =
    AttentionExtent { heads: 4, sharing: 2, masks: 2, biases: 2, queries: 21, keys: 38, width: 20 };

#[test]
fn the_kernels_do_what_the_ops_mean_with_every_extra() {
    for (n, extras) in all_extras().enumerate() {
        let offset = [None, Some(0), Some(20)][n % 3];
        check(&op(true, extras, offset), &EXTENT, by_rule(EXTENT));
        // Those of `f32` differ in the products only; finding the largest numbers takes the machine long.
        if n == 7 {
            check(&op(false, extras, offset), &EXTENT, by_rule(EXTENT));
        }
    }
}

#[test]
fn the_kernels_take_every_width_and_length() {
    for (width, queries, keys) in [(4, 1, 1), (64, 70, 33), (128, 20, 20), (80, 16, 100), (32, 130, 2)] {
        let extent = AttentionExtent { heads: 1, sharing: 1, masks: 1, biases: 1, queries, keys, width };
        check(&op(true, Extras::default(), Some(0)), &extent, by_rule(extent));
        if width >= 64 {
            check(&op(false, Extras::default(), Some(0)), &extent, by_rule(extent));
        }
    }
}

#[test]
fn a_row_that_rises_late_is_scaled() {
    // Scores grow along the keys, so that every block has a far larger one than those before.
    let extent =
        AttentionExtent { heads: 1, sharing: 1, masks: 1, biases: 1, queries: 16, keys: 80, width: 16 };
    for is_f16 in [true, false] {
        let op = AttentionOp { bias: Some(1), ..op(is_f16, Extras::default(), None) };
        let mut numbers = Numbers(1);
        let shapes = [extent.q(), extent.k(), extent.k(), extent.bias()];
        let mut values: Vec<Vec<f64>> = shapes.iter().map(|shape| numbers.of(shape, is_f16)).collect();
        values[3] = (0..extent.bias().numel()).map(|n| (n % 80) as f64).collect();
        let kind = if is_f16 { Kind::Half } else { Kind::Single };
        let kinds = [kind, kind, kind, Kind::Single];
        let mut arrays: Vec<Vec<u8>> = values.iter().zip(kinds).map(|(x, kind)| to_bytes(x, kind)).collect();
        let wanted = op.meaning(&values, &shapes, 3);
        arrays.extend(wanted.iter().zip([kind, Kind::Single]).map(|(x, kind)| to_bytes(x, kind)));
        arrays.extend(super::scratch(&op).iter().map(|words| vec![0; 4 * words]));
        launch(&super::forward(&op, &extent, &LIMITS), &mut arrays);
        let far = distance(&from_bytes(&arrays[4], kind), &wanted[0]);
        assert!(far < if is_f16 { 2e-3 } else { 2e-5 }, "{is_f16}: {far:.1e}");
    }
}

#[test]
fn sizes_far_from_one_keep_their_precision() {
    let extent =
        AttentionExtent { heads: 1, sharing: 1, masks: 1, biases: 1, queries: 16, keys: 20, width: 16 };
    let op = AttentionOp { scale: Exact(1.0), ..op(false, Extras::default(), None) };
    for (of_queries, of_values) in [(1e12, 1e20), (1e-15, 1e-25)] {
        let mut numbers = Numbers(1);
        let factors = [of_queries, 1.0 / of_queries, of_values];
        let shapes = [extent.q(), extent.k(), extent.k()];
        let scaled = |(shape, factor): (&Shape, f64)| -> Vec<f64> {
            numbers.of(shape, false).into_iter().map(|x| (x * factor) as f32 as f64).collect()
        };
        let values: Vec<Vec<f64>> = shapes.iter().zip(factors).map(scaled).collect();
        let wanted = op.meaning(&values, &shapes, 3);
        let mut arrays: Vec<Vec<u8>> =
            values.iter().chain(&wanted).map(|x| to_bytes(x, Kind::Single)).collect();
        arrays.push(vec![0; 4 * super::scratch(&op)[0]]);
        launch(&super::forward(&op, &extent, &LIMITS), &mut arrays);
        let far = distance(&from_bytes(&arrays[3], Kind::Single), &wanted[0]);
        assert!(far < 4e-6, "{of_queries}, {of_values}: {far:.1e}");
    }
}

#[test]
fn every_text_is_valid_and_fits() {
    for kernel in [MatrixKernel::Forward, MatrixKernel::Queries, MatrixKernel::Keys] {
        for (width, is_f16) in (4..=WIDEST).step_by(4).flat_map(|width| [(width, true), (width, false)]) {
            let extent = AttentionExtent { width, ..EXTENT };
            for extras in all_extras().filter(|_| width % 16 == 4 || width == WIDEST) {
                let form = super::form(kernel, &op(is_f16, extras, None), &extent);
                machine::validate(&super::text::text(form));
            }
            let form: MatrixForm = super::form(kernel, &op(is_f16, Extras::default(), None), &extent);
            machine::validate(&super::text::text(form));
            assert!(form.memory() <= LIMITS.workgroup_memory as usize, "{form:?}: {} bytes", form.memory());
            assert!(form.threads() <= 256 && form.width() >= width, "{form:?}");
        }
    }
}

#[test]
#[should_panic(expected = "an access meets a write")]
fn the_machine_sees_a_missing_barrier() {
    let form = super::form(MatrixKernel::Forward, &op(true, Extras::default(), None), &EXTENT);
    let text = super::text::text(form).replacen("workgroupBarrier();", "", 2);
    let mut kernel = super::forward(&op(true, Extras::default(), None), &EXTENT, &LIMITS).remove(0);
    kernel.wgsl = text.into();
    let bytes = |shape: Shape| vec![0u8; 4 * shape.numel()];
    let shapes = [EXTENT.q(), EXTENT.k(), EXTENT.k(), EXTENT.q(), EXTENT.rows()];
    launch(&[kernel], &mut shapes.map(bytes));
}
