//! Scatters, custom ops, loops, and guarantees of the device: donated memory, counters, profile, repeatable
//! results.

mod case;

use std::sync::Arc;

use case::{Case, Rng, Tape, strided};
use farad_compile::program::{
    BufferId, Code, Custom, Kernel, Keys, Level, Loop, Product, ProductOperand, ProgramOutput, ProgramStep,
    Reg, Scatter, Segment, Site, Sort, Spec, Store, Sums, View,
};
use farad_cpu::{CpuDevice, Error};
use farad_ir::{Binary, CustomKernel, CustomLimits, CustomOp, DType, OpError, Reduce, Shape, Unary, Words};

fn contiguous(buffer: u32, value: Reg, axes: &[usize]) -> Store {
    Store { buffer: BufferId(buffer), value, view: View::contiguous(axes) }
}

fn scatter(axes: &[usize], axis: usize, size: usize, by_row: bool, dtype: DType, index: Vec<f64>) -> Case {
    let mut rng = Rng(53);
    let n: usize = axes.iter().product();
    let mut case = Case::default();
    let data = if dtype.is_float() { rng.floats(n, -1.0, 1.0) } else { rng.wholes(n, 1 << 31) };
    let source = case.input(dtype, data);
    let mut view = View::contiguous(axes);
    if by_row {
        view = View::contiguous(&axes[..=axis]);
        view.strides.resize(axes.len(), 0);
    }
    let index = case.input(DType::I32, index);
    let mut to = axes.to_vec();
    to[axis] = size;
    let target = case.output(dtype, to.iter().product());
    case.program.sites.push(Site { op: "scatter_add".into(), location: None, size });
    case.step(Kernel::Scatter(Scatter {
        axes: axes.to_vec(),
        axis,
        size,
        source: (BufferId(source), View::contiguous(axes)),
        index: (BufferId(index), view),
        target: BufferId(target),
        order: None,
        distinct: false,
        site: 0,
    }));
    case
}

#[test]
fn scatters_add_in_order() {
    let mut rng = Rng(59);
    for (axes, axis, size) in [
        (vec![50], 0, 7),
        (vec![20, 6], 0, 5),
        (vec![4, 30, 5], 1, 9),
        (vec![300, 256], 0, 40),
        (vec![50, 40, 30], 1, 11),
        (vec![100_000], 0, 100),
        (vec![3, 2, 4], 2, 10),
    ] {
        for by_row in [false, true] {
            for dtype in [DType::F32, DType::U32, DType::F16] {
                let count = if by_row { axes[..=axis].iter().product() } else { axes.iter().product() };
                let case = scatter(&axes, axis, size, by_row, dtype, rng.wholes(count, size));
                case.check(if dtype == DType::F16 { 1e-3 } else { 5e-6 });
            }
        }
    }
}

#[test]
fn small_sums_share_a_kernel() {
    let mut rng = Rng(71);
    let mut case = Case::default();
    let source = case.input(DType::F32, (0..7 * 33 + 32 * 5).map(|_| rng.below(400) as f64 / 8.0).collect());
    let target = case.output(DType::F32, 38);
    let segments = vec![
        Segment { from: 0, to: 5, parts: 7, results: 33 },
        Segment { from: 7 * 33, to: 0, parts: 32, results: 5 },
    ];
    case.step(Kernel::Sums(Sums { source: BufferId(source), target: BufferId(target), segments }));
    case.check(1e-6);
}

fn sort(dtype: DType, [rows, len, taken]: [usize; 3], keys: Keys, data: Vec<f64>) -> Case {
    let mut case = Case::default();
    let operand = case.input(dtype, data);
    let order = case.output(DType::I32, rows * taken);
    let (operand, order) = (BufferId(operand), BufferId(order));
    case.step(Kernel::Sort(Sort { rows, len, taken, operand, order, keys, scratch: vec![] }));
    case
}

/// Data with many equal elements; floats include both zeros, infinities and NaN.
fn mixed(rng: &mut Rng, dtype: DType, len: usize) -> Vec<f64> {
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, -1.5];
    let mut draw = || match dtype {
        DType::F32 | DType::F16 if rng.below(4) == 0 => rng.pick(&special),
        DType::F32 | DType::F16 => rng.below(400) as f64 / 8.0 - 25.0,
        DType::I32 => rng.below(90) as f64 - 45.0,
        DType::U32 => rng.below(90) as f64,
        _ => rng.below(2) as f64,
    };
    (0..len).map(|_| draw()).collect()
}

#[test]
fn the_first_of_an_order_are_those_of_a_sort() {
    let mut rng = Rng(62);
    let sizes = [
        [1, 2, 1],
        [7, 13, 6],
        [500, 40, 3],
        [1, 70_001, 64],
        [1, 70_001, 30_000],
        [9, 5000, 1],
        [3, 20_000, 400],
    ];
    for [rows, len, taken] in sizes {
        for dtype in [DType::F32, DType::F16, DType::I32, DType::U32, DType::Bool] {
            for keys in [Keys::Ascending, Keys::Descending] {
                let data = mixed(&mut rng, dtype, rows * len);
                sort(dtype, [rows, len, taken], keys, data).check(0.0);
            }
        }
        // Descending rows, so that every element is seen before all smaller ones.
        let falling = (0..rows * len).map(|i| -((i % len) as f64)).collect();
        sort(DType::F32, [rows, len, taken], Keys::Ascending, falling).check(0.0);
    }
}

#[test]
fn rows_are_put_in_stable_order() {
    let mut rng = Rng(61);
    for (rows, len) in [(1, 1), (7, 13), (3, 600), (500, 40), (1, 70_001), (9, 5000), (3, 20_000)] {
        for dtype in [DType::F32, DType::F16, DType::I32, DType::U32, DType::Bool] {
            for keys in [Keys::Ascending, Keys::Descending] {
                let data = mixed(&mut rng, dtype, rows * len);
                sort(dtype, [rows, len, len], keys, data).check(0.0);
            }
        }
        let places = (0..rows * len).map(|_| rng.below(60) as f64 - 5.0).collect();
        sort(DType::I32, [rows, len, len], Keys::Below(50), places).check(0.0);
        let inverse = (0..rows).flat_map(|row| (0..len).map(move |i| ((i * 17 + row) % len) as f64));
        // Seventeen is coprime to all of these lengths.
        sort(DType::I32, [rows, len, len], Keys::Permutation, inverse.collect()).check(0.0);
    }
}

#[test]
fn a_bad_index_adds_nothing_and_is_reported() {
    for by_row in [false, true] {
        let count = if by_row { 4 } else { 12 };
        let mut index = vec![0.0; count];
        (index[1], index[2]) = (5.0, -1.0);
        let case = scatter(&[4, 3], 0, 5, by_row, DType::F32, index);
        let device = CpuDevice::new();
        let executable = device.load(Arc::new(case.program.clone())).unwrap();
        let (inputs, outputs) = case.memories(&device);
        let error = executable.run(&inputs, &[], &outputs).unwrap_err();
        assert_eq!(error, Error::Index { op: "scatter_add".into(), index: 5, size: 5, location: None });
        case::compare(
            &case.read(&device, &inputs, &outputs)[0],
            &case.meaning()[0],
            1e-6,
            "the others are added",
        );
    }
}

/// Sums and differences of two vectors.
#[derive(Debug, Hash)]
struct Both;

impl CustomOp for Both {
    fn name(&self) -> &str {
        "both"
    }
    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(operands.to_vec())
    }
    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        let zip =
            |f: fn(f64, f64) -> f64| operands[0].iter().zip(&operands[1]).map(|(&a, &b)| f(a, b)).collect();
        vec![zip(|a, b| a + b), zip(|a, b| a - b)]
    }
    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        assert_eq!(shapes[0].numel(), operands[0].len());
        assert!(results.iter().flatten().all(|&word| word == 0));
        for i in 0..operands[0].len() {
            let (a, b) = (f32::from_bits(operands[0][i]), f32::from_bits(operands[1][i]));
            (results[0][i], results[1][i]) = ((a + b).to_bits(), (a - b).to_bits());
        }
    }
    fn wgsl(&self, _: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        Vec::new()
    }
}

#[test]
fn custom_ops_see_words() {
    let mut case = Case::default();
    let a = case.input(DType::F32, Rng(1).floats(100, -1.0, 1.0));
    let b = case.input(DType::F16, Rng(2).floats(100, -1.0, 1.0));
    let outs = [case.output(DType::F32, 100), case.output(DType::F16, 100)];
    case.step(Kernel::Custom(Custom {
        op: Arc::new(Both),
        shapes: vec![Shape::new(&[10, 10]); 2],
        operands: vec![BufferId(a), BufferId(b)],
        results: outs.map(BufferId).to_vec(),
        scratch: vec![],
    }));
    case.check(1e-3);
    case.check(1e-3);
}

/// `carry = tanh(carry · w + x[t]); y[t] = carry`, with a double-buffered carry.
fn recurrence(trips: usize, reverse: bool) -> Case {
    let n = 40;
    let mut rng = Rng(61);
    let mut case = Case::default();
    let x = case.input(DType::F32, rng.floats(trips * n, -1.0, 1.0));
    let w = case.input(DType::F32, rng.floats(n, -1.0, 1.0));
    let y = case.output(DType::F32, trips * n);
    let (old, new) = (case.block(DType::F32, n), case.block(DType::F32, n));
    let last = case.output(DType::F32, n);
    let axes = [n];
    let view = || View::contiguous(&axes);
    let mut start = Tape::default();
    let half = start.constant(0.5);
    case.fused(&axes, 1, start, vec![contiguous(old, half, &axes)]);
    let mut tape = Tape::default();
    let (c, f, s) = (tape.load(old, view()), tape.load(w, view()), tape.load(x, view()));
    let product = tape.binary(Binary::Mul, c, f);
    let sum = tape.binary(Binary::Add, product, s);
    let next = tape.unary(Unary::Tanh, sum);
    let fused = farad_compile::program::Fused {
        axes: axes.to_vec(),
        outer: 1,
        tape: tape.0,
        stores: vec![contiguous(new, next, &axes), contiguous(y, next, &axes)],
    };
    case.step(Kernel::Loop(Loop {
        trips,
        reverse,
        steps: vec![ProgramStep { wave: 0, label: "body".into(), kernel: Kernel::Fused(fused) }],
        slots: vec![(BufferId(x), n), (BufferId(y), n)],
        swaps: vec![(BufferId(old), BufferId(new))],
    }));
    // After the loop, names are unswapped: the last carry is in `new` after an odd number of trips, otherwise
    // in `old`.
    let mut tape = Tape::default();
    let c = tape.load(if trips % 2 == 1 { new } else { old }, view());
    case.fused(&axes, 1, tape, vec![contiguous(last, c, &axes)]);
    case
}

#[test]
fn loops_move_slices_and_swap_carries() {
    for trips in [0, 1, 2, 7] {
        for reverse in [false, true] {
            let case = recurrence(trips, reverse);
            let got = case.check(2e-6);
            if trips > 0 {
                let end = if reverse { 0 } else { (trips - 1) * 40 };
                assert_eq!(got[1], got[0][end..end + 40], "the last carry is the last slice");
            }
        }
    }
}

/// A program with a product, reductions of every layout, a scatter and a random mask.
fn mixture() -> Case {
    let (m, k, n) = (300, 200, 150);
    let mut rng = Rng(67);
    let mut case = Case::default();
    let a = case.input(DType::F32, rng.floats(m * k, -1.0, 1.0));
    let b = case.input(DType::F32, rng.floats(k * n, -1.0, 1.0));
    let index = case.input(DType::I32, rng.wholes(m, 50));
    let y = case.output(DType::F32, m * n);
    let columns = case.output(DType::F32, n);
    let total = case.output(DType::F32, 1);
    let target = case.output(DType::F32, 50 * n);
    let load = |buffer, view| {
        let mut tape = Tape::default();
        let value = tape.load(buffer, view);
        ProductOperand { tape: tape.0, value }
    };
    let mut epilogue = Tape::default();
    let acc = epilogue.push(Code::Accumulator, DType::F32, Level::Full);
    let value = epilogue.unary(Unary::Erf, acc);
    case.step(Kernel::Product(Product {
        batch: vec![],
        m: vec![m],
        n: vec![n],
        k: vec![k],
        lhs: load(a, View::contiguous(&[m, k])),
        rhs: load(b, View::contiguous(&[k, n])),
        epilogue: epilogue.0,
        stores: vec![contiguous(y, value, &[m, n])],
    }));
    let mut tape = Tape::default();
    let x = tape.load(y, strided(0, &[1, n as i64]));
    let e = tape.unary(Unary::Exp, x);
    let sum = tape.reduce(Reduce::Sum, e);
    let store = Store { buffer: BufferId(columns), value: sum, view: strided(0, &[1, 0]) };
    case.fused(&[n, m], 1, tape, vec![store]);
    let mut tape = Tape::default();
    let x = tape.load(y, strided(0, &[1]));
    let e = tape.unary(Unary::Sin, x);
    let sum = tape.reduce(Reduce::Sum, e);
    let store = Store { buffer: BufferId(total), value: sum, view: strided(0, &[0]) };
    case.fused(&[m * n], 0, tape, vec![store]);
    case.program.sites.push(Site { op: "scatter_add".into(), location: None, size: 50 });
    case.step(Kernel::Scatter(Scatter {
        axes: vec![m, n],
        axis: 0,
        size: 50,
        source: (BufferId(y), View::contiguous(&[m, n])),
        index: (BufferId(index), strided(0, &[1, 0])),
        target: BufferId(target),
        order: None,
        distinct: false,
        site: 0,
    }));
    case
}

#[test]
fn results_do_not_depend_on_threads_or_repetition() {
    let case = mixture();
    let first = case.check(1e-5);
    for threads in [1, 2, 3, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again = pool.install(|| case.run().unwrap());
        assert!(first == again, "{threads} threads change the result");
    }
    assert!(first == case.run().unwrap());
}

#[test]
fn one_executable_runs_on_many_threads() {
    let case = mixture();
    let want = case.run().unwrap();
    let device = CpuDevice::new();
    let executable = device.load(Arc::new(case.program.clone())).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (inputs, outputs) = case.memories(&device);
                executable.run(&inputs, &[], &outputs).unwrap();
                assert!(case.read(&device, &inputs, &outputs) == want);
            });
        }
    });
    assert_eq!(device.counters().runs, 4);
}

/// `x = x + 1` in the input's own memory.
fn increment(n: usize) -> Case {
    let mut case = Case::default();
    let x = case.input(DType::F32, vec![0.0; n]);
    case.program.outputs.push(ProgramOutput { spec: Spec { dtype: DType::F32, len: n }, donor: Some(0) });
    let mut tape = Tape::default();
    let old = tape.load(x, View::contiguous(&[n]));
    let one = tape.constant(1.0);
    let new = tape.binary(Binary::Add, old, one);
    case.fused(&[n], 1, tape, vec![contiguous(x, new, &[n])]);
    case
}

#[test]
fn donated_memory_is_updated_in_place_without_allocation() {
    let case = increment(5000);
    let device = CpuDevice::new();
    let executable = device.load(Arc::new(case.program.clone())).unwrap();
    let memory = device.allocate(4 * 5000 + 256).unwrap();
    let nothing = device.allocate(0).unwrap();
    device.write(&memory, 0, &vec![0; 4 * 5000 + 256]);
    let before = device.counters();
    for _ in 0..3 {
        executable.run(&[(memory.clone(), 256)], &[], std::slice::from_ref(&nothing)).unwrap();
    }
    let after = device.counters();
    assert_eq!(device.read(&memory, 0, 256), [0; 256]);
    let values = device.read(&memory, 256, 4 * 5000);
    assert!(values.chunks_exact(4).all(|b| f32::from_le_bytes(b.try_into().unwrap()) == 3.0));
    assert_eq!((after.runs - before.runs, after.kernels - before.kernels), (3, 3));
    assert_eq!(after.allocations, before.allocations);
    assert_eq!(after.bytes_live, before.bytes_live);
}

#[test]
fn the_profile_times_every_kernel() {
    let case = recurrence(4, false);
    let device = CpuDevice::new();
    let executable = device.load(Arc::new(case.program.clone())).unwrap();
    let (inputs, outputs) = case.memories(&device);
    executable.run(&inputs, &[], &outputs).unwrap();
    for alone in [true, false] {
        let before = device.profiler().open(alone);
        executable.run(&inputs, &[], &outputs).unwrap();
        let (after, _, launches) = device.profiler().close(alone, &before);
        executable.run(&inputs, &[], &outputs).unwrap();
        let labels: Vec<&str> = launches.iter().map(|launch| &*launch.label).collect();
        let all = ["step 0", "body", "body", "body", "body", "step 2"];
        assert_eq!(labels, if alone { &all[..] } else { &[] });
        assert!(launches.windows(2).all(|pair| pair[0].start + pair[0].nanoseconds <= pair[1].start));
        let (_, _, kernels) = after.since(&before);
        let body = kernels.iter().find(|kernel| &*kernel.label == "body").unwrap();
        assert_eq!((body.count, body.costs.bytes, body.costs.flops), (4, 4 * 5 * 160, 4 * 3 * 40));
        assert_eq!(kernels.iter().map(|kernel| kernel.count).sum::<u64>(), 6);
    }
    assert_eq!(device.counters().kernels, 30);
}

#[test]
fn wrong_arguments_are_errors() {
    let case = increment(10);
    let device = CpuDevice::new();
    let executable = device.load(Arc::new(case.program.clone())).unwrap();
    let small = device.allocate(39).unwrap();
    let right = device.allocate(60).unwrap();
    let outputs = [right.clone()];
    let message = |result: Result<(), Error>| result.unwrap_err().to_string();
    assert_eq!(
        message(executable.run(&[(small, 0)], &[], &outputs)),
        "run: input 0 is too small: bytes (39 vs 40)"
    );
    assert_eq!(
        message(executable.run(&[(&right, 0); 0], &[], &outputs)),
        "run: wrong number of inputs (0 vs 1)"
    );
    assert_eq!(
        message(executable.run(&[(right.clone(), 0)], &[1], &outputs)),
        "run: wrong number of parameters (1 vs 0)"
    );
    assert_eq!(
        message(executable.run(&[(right.clone(), 0)], &[], &[&right; 0])),
        "run: wrong number of outputs (0 vs 1)"
    );
    let odd = message(executable.run(&[(right, 3)], &[], &outputs));
    assert_eq!(odd, "run: input 0 is misaligned: byte offset 3 (3 vs a multiple of 4)");
}

#[test]
fn bytes_are_copied_between_and_inside_memories() {
    let device = CpuDevice::new();
    let (a, b) = (device.allocate(8).unwrap(), device.allocate(8).unwrap());
    device.write(&a, 0, &[1, 2, 3, 4, 5, 6, 7, 8]);
    device.copy((&a, 2), (&b, 1), 4);
    assert_eq!(device.read(&b, 1, 4), [3, 4, 5, 6]);
    device.copy((&a, 0), (&a, 2), 6);
    assert_eq!(device.read(&a, 0, 8), [1, 2, 1, 2, 3, 4, 5, 6]);
    assert_eq!(CpuDevice::target().parallel, 1);
}
