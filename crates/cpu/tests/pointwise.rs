//! Kernels without reductions: every way to read and write, every dtype, random draws, takes, updates in place.

mod case;

use case::{Case, Rng, Tape, strided};
use farad_compile::program::{BufferId, Code, Guard, Level, Place, ProgramOutput, Site, Spec, Store, View};
use farad_cpu::Error;
use farad_ir::{Binary, DType, Scalar, Unary};

fn guard(coefficients: &[i64], offset: i64, divisor: i64, size: i64, stride: i64) -> Guard {
    Guard { coefficients: coefficients.to_vec(), offset, divisor, size, stride }
}

fn store(buffer: u32, value: farad_compile::program::Reg, view: View) -> Store {
    Store { buffer: BufferId(buffer), value, view }
}

/// `out = x·0.5 + y` over `axes`, with both views.
fn two_views(axes: &[usize], x: View, y: View) -> Case {
    let mut rng = Rng(5);
    let mut case = Case::default();
    let reach = |view: &View| {
        let far: i64 = axes.iter().zip(&view.strides).map(|(&n, &s)| s.max(0) * (n as i64 - 1)).sum();
        (view.offset + far + 1).max(64) as usize * 2
    };
    let a = case.input(DType::F32, rng.floats(reach(&x), -2.0, 2.0));
    let b = case.input(DType::F32, rng.floats(reach(&y), -2.0, 2.0));
    let out = case.output(DType::F32, axes.iter().product());
    let mut tape = Tape::default();
    let (x, y) = (tape.load(a, x), tape.load(b, y));
    let half = tape.constant(0.5);
    let scaled = tape.binary(Binary::Mul, x, half);
    let sum = tape.binary(Binary::Add, scaled, y);
    case.fused(axes, axes.len(), tape, vec![store(out, sum, View::contiguous(axes))]);
    case
}

#[test]
fn every_way_to_read() {
    for axes in
        [vec![3, 4, 5], vec![7, 1, 300], vec![2, 3, 700], vec![40, 50, 60], vec![1], vec![5000], vec![]]
    {
        let contiguous = View::contiguous(&axes);
        let rank = axes.len();
        let mut views = vec![contiguous.clone(), strided(3, &vec![0; rank])];
        for axis in 0..rank {
            let mut broadcast = contiguous.clone();
            broadcast.strides[axis] = 0;
            views.push(broadcast);
            let mut reversed = contiguous.clone();
            reversed.offset = reversed.strides[axis] * (axes[axis] as i64 - 1);
            reversed.strides[axis] *= -1;
            views.push(reversed);
            let mut padded = contiguous.clone();
            let mut coefficients = vec![0; rank];
            coefficients[axis] = 1;
            padded.offset = -padded.strides[axis];
            padded.guards.push(guard(&coefficients, -1, 1, axes[axis] as i64 - 1, 0));
            views.push(padded);
        }
        if rank == 3 {
            let transposed = [1, axes[0] as i64, (axes[0] * axes[1]) as i64];
            views.push(strided(0, &transposed));
            views.push(strided(1, &[axes[2] as i64 * 2, 2 * (axes[0] * axes[2]) as i64, 2]));
            // The read pattern of a strided convolution's gradient: every other element, with zeros between.
            let mut spaced = strided(0, &[axes[2] as i64, 0, 0]);
            spaced.guards.push(guard(&[0, 1, 1], -1, 2, axes[2] as i64 / 2, 1));
            views.push(spaced);
            let mut both = strided(0, &[0, axes[2] as i64, 1]);
            both.guards.push(guard(&[0, 0, 1], 0, 1, axes[2] as i64 / 2, 0));
            both.guards.push(guard(&[1, -1, 0], 0, 1, 2, 0));
            views.push(both);
        }
        for x in &views {
            two_views(&axes, x.clone(), contiguous.clone()).check(1e-6);
            two_views(&axes, x.clone(), views[views.len() - 1].clone()).check(1e-6);
        }
    }
}

#[test]
fn stores_may_be_permuted_strided_and_several() {
    let axes = [6, 7, 9];
    let mut rng = Rng(1);
    let mut case = Case::default();
    let a = case.input(DType::F32, rng.floats(6 * 7 * 9, -1.0, 1.0));
    let outs = [case.output(DType::F32, 378), case.output(DType::F32, 800), case.output(DType::F32, 378)];
    let mut tape = Tape::default();
    let x = tape.load(a, View::contiguous(&axes));
    let y = tape.unary(Unary::Sin, x);
    let views = [strided(0, &[1, 6, 42]), strided(1, &[126, 18, 2]), strided(377, &[-63, -9, -1])];
    let [first, second, third] = views;
    case.fused(
        &axes,
        3,
        tape,
        vec![store(outs[0], x, first), store(outs[1], y, second), store(outs[2], y, third)],
    );
    // The second output has gaps that nobody writes; compare what was written.
    let (got, want) = (case.run().unwrap(), case.meaning());
    case::compare(&got[0], &want[0], 1e-6, "permuted");
    case::compare(&got[2], &want[2], 1e-6, "reversed");
    let odd = |values: &[f64]| values.iter().skip(1).step_by(2).take(378).copied().collect::<Vec<_>>();
    case::compare(&odd(&got[1]), &odd(&want[1]), 1e-6, "strided");
}

#[test]
fn patches_of_transposed_reads() {
    for axes in
        [vec![33, 65], vec![16, 8], vec![100, 129], vec![3, 40, 70], vec![40, 3, 70], vec![2, 300, 5, 64]]
    {
        let rank = axes.len();
        let n: usize = axes.iter().product();
        let mut strides = vec![0i64; rank];
        let mut next = 1;
        // The first long axis runs fastest in memory, the last slowest.
        for axis in (0..rank).filter(|&a| axes[a] > 8).chain((0..rank).filter(|&a| axes[a] <= 8)) {
            strides[axis] = next;
            next *= axes[axis] as i64;
        }
        let mut rng = Rng(12);
        let mut case = Case::default();
        let a = case.input(DType::F32, rng.floats(n, -1.0, 1.0));
        let h = case.input(DType::F16, rng.floats(n, -1.0, 1.0));
        let index = case.input(DType::I32, rng.wholes(axes[0], 5));
        let outs = [DType::F32, DType::U32, DType::F32].map(|dtype| case.output(dtype, n));
        case.program.sites.push(Site { op: "gather".into(), location: None, size: 5 });
        let mut tape = Tape::default();
        let x = tape.load(a, strided(0, &strides));
        let mut padded = strided(-strides[0], &strides);
        let mut coefficients = vec![0; rank];
        coefficients[0] = 1;
        padded.guards.push(guard(&coefficients, -1, 1, axes[0] as i64 - 1, 0));
        let y = tape.load(h, padded);
        let view = View::contiguous(&axes);
        let z = tape.load(a, view.clone());
        let mut first = vec![0; rank];
        first[0] = 1;
        let position = tape.push(Code::Load(BufferId(index), strided(0, &first)), DType::I32, Level::Full);
        let take = Code::Take {
            buffer: BufferId(a),
            view: strided(0, &coefficients),
            position,
            stride: 1,
            size: 5,
            site: 0,
        };
        let taken = tape.push(take, DType::F32, Level::Full);
        let word = tape.push(Code::Constant(Scalar::u32(7)), DType::U32, Level::Full);
        let bits = tape.push(Code::Random([word; 4], None, view.clone()), DType::U32, Level::Full);
        let sum = tape.binary(Binary::Add, x, y);
        let sum = tape.binary(Binary::Mul, sum, z);
        let other = tape.binary(Binary::Add, sum, taken);
        let stores = [sum, bits, other].iter().zip(outs).map(|(&v, o)| store(o, v, view.clone())).collect();
        case.fused(&axes, rank, tape, stores);
        case.check(1e-6);
    }
}

#[test]
fn one_value_may_be_stored_twice_to_one_buffer() {
    let mut case = Case::default();
    let a = case.input(DType::F32, Rng(3).floats(1500, -1.0, 1.0));
    let out = case.output(DType::F32, 3000);
    let mut tape = Tape::default();
    let x = tape.load(a, View::contiguous(&[1500]));
    let y = tape.unary(Unary::Neg, x);
    case.fused(&[1500], 1, tape, vec![store(out, y, strided(0, &[1])), store(out, y, strided(1500, &[1]))]);
    case.check(0.0);
}

#[test]
fn every_dtype_is_loaded_cast_and_stored() {
    let mut rng = Rng(9);
    for from in DType::ALL {
        for to in DType::ALL {
            let n = 1300;
            let mut case = Case::default();
            let data = match from {
                DType::Bool => rng.wholes(n, 2),
                DType::U8 | DType::U16 | DType::U32 | DType::U64 => rng.wholes(n, 256),
                DType::I8 => rng.wholes(n, 256).iter().map(|x| x - 128.0).collect(),
                // Registers are f32 here, but f64 in the reference.
                _ if from.is_float() => {
                    rng.floats(n, -300.0, 300.0).iter().map(|&x| x as f32 as f64).collect()
                }
                _ => rng.wholes(n, 600).iter().map(|x| x - 300.0).collect(),
            };
            let a = case.input(from, data);
            let out = case.output(to, n);
            let mut tape = Tape::default();
            let x = tape.push(
                Code::Load(BufferId(a), strided(n as i64 - 1, &[-1])),
                from.register(),
                Level::Full,
            );
            let y = tape.push(Code::Cast(x, to), to.register(), Level::Full);
            case.fused(&[n], 1, tape, vec![store(out, y, strided(0, &[1]))]);
            case.check(0.0);
        }
    }
}

#[test]
fn constants_parameters_and_truth_values() {
    let n = 3000;
    let mut case = Case::default();
    let a = case.input(DType::F32, Rng(2).floats(n, -3.0, 3.0));
    let outs =
        [DType::F32, DType::Bool, DType::F32, DType::F32, DType::F32].map(|dtype| case.output(dtype, n));
    case.program.parameters = vec![DType::F32, DType::F32];
    case.parameters = vec![0.25f32.to_bits(), 2f32.to_bits()];
    let mut tape = Tape::default();
    let x = tape.load(a, View::contiguous(&[n]));
    let p = tape.push(Code::Parameter(0), DType::F32, Level::Full);
    let q = tape.push(Code::Parameter(1), DType::F32, Level::Full);
    let rate = tape.binary(Binary::Pow, p, q);
    let one = tape.constant(1.0);
    let low = tape.binary(Binary::Less, rate, x);
    let high = tape.binary(Binary::Less, x, one);
    let inside = tape.binary(Binary::And, low, high);
    let outside = tape.unary(Unary::Not, inside);
    let chosen = tape.push(Code::Select(outside, x, rate), DType::F32, Level::Full);
    let fixed = tape.push(Code::Select(inside, one, rate), DType::F32, Level::Full);
    let size = tape.unary(Unary::Exp, x);
    let divided = tape.binary(Binary::Div, one, size);
    let less = tape.binary(Binary::Sub, rate, divided);
    let rest = tape.binary(Binary::Rem, q, size);
    let power = tape.binary(Binary::Pow, q, x);
    let mixed = tape.binary(Binary::Mul, less, rest);
    let sum = tape.binary(Binary::Add, chosen, fixed);
    let view = View::contiguous(&[n]);
    let stores = vec![
        store(outs[0], sum, view.clone()),
        store(outs[1], outside, view.clone()),
        store(outs[2], rate, view.clone()),
        store(outs[3], power, view.clone()),
        store(outs[4], mixed, view.clone()),
    ];
    case.fused(&[n], 1, tape, stores);
    // A remainder inherits the error of its quotient.
    case.check(5e-6);
}

#[test]
fn random_bits_are_philox() {
    for axes in [vec![5, 1000], vec![999], vec![3, 7]] {
        let n: usize = axes.iter().product();
        let mut case = Case::default();
        let outs = [case.output(DType::U32, n), case.output(DType::U32, n), case.output(DType::I32, n)];
        case.program.parameters = vec![DType::U32];
        case.parameters = vec![77];
        let mut tape = Tape::default();
        let word = |tape: &mut Tape, x| tape.push(Code::Constant(Scalar::u32(x)), DType::U32, Level::Full);
        let key = [word(&mut tape, 1), word(&mut tape, 2), word(&mut tape, 3)];
        let counter = tape.push(Code::Parameter(0), DType::U32, Level::Full);
        let key = [key[0], key[1], counter, key[2]];
        let view = View::contiguous(&axes);
        let bits = tape.push(Code::Random(key, None, view.clone()), DType::U32, Level::Full);
        let mut backwards = view.clone();
        backwards.strides.iter_mut().for_each(|s| *s *= -1);
        backwards.offset = n as i64 - 1;
        let reversed = tape.push(
            Code::Random([bits, key[1], key[2], key[3]], Some(bits), backwards),
            DType::U32,
            Level::Full,
        );
        let position = tape.push(Code::Position(strided(4, &vec![3; axes.len()])), DType::I32, Level::Full);
        let stores = vec![
            store(outs[0], bits, view.clone()),
            store(outs[1], reversed, view.clone()),
            store(outs[2], position, view.clone()),
        ];
        case.fused(&axes, axes.len(), tape, stores);
        case.check(0.0);
    }
}

/// Rows of a table at given positions; `wide` positions depend on every axis.
fn gather(rows: usize, width: usize, table: usize, wide: bool, positions: Vec<f64>, dtype: DType) -> Case {
    let mut case = Case::default();
    let data = case.input(DType::F32, Rng(4).floats(table * width, -1.0, 1.0));
    let index = case.input(dtype, positions);
    let out = case.output(DType::F32, rows * width);
    let axes = [rows, width];
    case.program.sites.push(Site {
        op: "gather".into(),
        location: Some(std::panic::Location::caller()),
        size: table,
    });
    let mut tape = Tape::default();
    let view = if wide { View::contiguous(&axes) } else { strided(0, &[1, 0]) };
    let position = tape.push(Code::Load(BufferId(index), view), dtype, Level::Full);
    let take = Code::Take {
        buffer: BufferId(data),
        view: strided(0, &[0, 1]),
        position,
        stride: width as i64,
        size: table,
        site: 0,
    };
    let taken = tape.push(take, DType::F32, Level::Full);
    let y = tape.unary(Unary::Exp, taken);
    case.fused(&axes, 2, tape, vec![store(out, y, View::contiguous(&axes))]);
    case
}

#[test]
fn takes_read_at_positions() {
    let mut rng = Rng(8);
    for (rows, width, table) in [(50, 3, 10), (70, 64, 10), (9, 700, 5), (1, 1, 1), (3000, 12, 100)] {
        for (wide, dtype) in [(false, DType::I32), (true, DType::U32)] {
            let count = if wide { rows * width } else { rows };
            gather(rows, width, table, wide, rng.wholes(count, table), dtype).check(1e-6);
        }
    }
}

#[test]
fn a_bad_position_is_reported_after_the_run() {
    for (wide, width) in [(false, 3), (false, 64), (false, 600), (true, 64)] {
        let count = if wide { 5 * width } else { 5 };
        let mut positions = vec![1.0; count];
        (positions[2], positions[3]) = (-7.0, 12.0);
        let case = gather(5, width, 10, wide, positions, DType::I32);
        let error = case.run().unwrap_err();
        let Error::Index { op, index, size, location } = &error else { panic!("{error}") };
        assert_eq!((op.as_str(), *index, *size, location.is_some()), ("gather", 12, 10, true));
        let text = error.to_string();
        assert!(
            text.starts_with("gather: index out of range: built at ") && text.ends_with(" (12 vs 10)"),
            "{text}"
        );
        // The run went on with the position clamped.
        let device = farad_cpu::CpuDevice::new();
        let executable = device.load(case.program.clone().into()).unwrap();
        let (inputs, outputs) = case.memories(&device);
        executable.run(&inputs, &[], &outputs).unwrap_err();
        case::compare(&case.read(&device, &inputs, &outputs)[0], &case.meaning()[0], 1e-6, "clamped");
    }
}

#[test]
fn an_update_in_place_reads_the_old_values() {
    for n in [10, 5000, 100_000] {
        let mut rng = Rng(6);
        let mut case = Case::default();
        let p = case.input(DType::F32, rng.floats(n, -1.0, 1.0));
        let m = case.input(DType::F32, rng.floats(n, -1.0, 1.0));
        let g = case.input(DType::F32, rng.floats(n, -1.0, 1.0));
        let spec = Spec { dtype: DType::F32, len: n };
        case.program.outputs =
            vec![ProgramOutput { spec, donor: Some(0) }, ProgramOutput { spec, donor: Some(1) }];
        let mut tape = Tape::default();
        let view = View::contiguous(&[n]);
        let (p0, m0, g0) =
            (tape.load(p, view.clone()), tape.load(m, view.clone()), tape.load(g, view.clone()));
        let beta = tape.constant(0.9);
        let kept = tape.binary(Binary::Mul, m0, beta);
        let m1 = tape.binary(Binary::Add, kept, g0);
        let p1 = tape.binary(Binary::Sub, p0, m1);
        // The new momentum also sees the old parameter, which is stored before it.
        let m2 = tape.binary(Binary::Add, m1, p0);
        case.fused(&[n], 1, tape, vec![store(p, p1, view.clone()), store(m, m2, view.clone())]);
        case.check(1e-6);
    }
}

#[test]
fn values_may_change_places() {
    let n = 3000;
    let mut case = Case::default();
    let a = case.input(DType::F32, Rng(1).floats(n, -1.0, 1.0));
    let b = case.input(DType::F32, Rng(2).floats(n, -1.0, 1.0));
    let spec = Spec { dtype: DType::F32, len: n };
    case.program.outputs =
        vec![ProgramOutput { spec, donor: Some(0) }, ProgramOutput { spec, donor: Some(1) }];
    let mut tape = Tape::default();
    let view = View::contiguous(&[n]);
    let (x, y) = (tape.load(a, view.clone()), tape.load(b, view.clone()));
    case.fused(&[n], 1, tape, vec![store(a, y, view.clone()), store(b, x, view)]);
    case.check(0.0);
}

#[test]
fn buffers_may_lie_anywhere_in_a_block() {
    let mut case = Case::default();
    let a = case.input(DType::F32, Rng(1).floats(100, -1.0, 1.0));
    let out = case.output(DType::F32, 100);
    case.program.blocks = vec![1024];
    let spec = Spec { dtype: DType::F32, len: 100 };
    let middle = case.buffer(Place::Block(0), 512, spec);
    for (from, to) in [(a, middle), (middle, out)] {
        let mut tape = Tape::default();
        let x = tape.load(from, View::contiguous(&[100]));
        let y = tape.unary(Unary::Neg, x);
        case.fused(&[100], 1, tape, vec![store(to, y, View::contiguous(&[100]))]);
    }
    case.check(0.0);
}

#[test]
fn empty_kernels_do_nothing() {
    for axes in [vec![0], vec![3, 0, 2]] {
        let mut case = Case::default();
        let a = case.input(DType::F32, vec![1.0]);
        let out = case.output(DType::F32, 0);
        let mut tape = Tape::default();
        let x = tape.load(a, strided(0, &vec![0; axes.len()]));
        case.fused(&axes, axes.len(), tape, vec![store(out, x, View::contiguous(&axes))]);
        assert_eq!(case.check(0.0), [vec![0.0; 0]]);
    }
}

#[test]
fn programs_that_cannot_run_are_refused() {
    let mut case = Case::default();
    let a = case.input(DType::F32, vec![1.0; 4]);
    let out = case.output(DType::F32, 5);
    let mut tape = Tape::default();
    let x = tape.load(a, View::contiguous(&[5]));
    case.fused(&[5], 1, tape, vec![store(out, x, View::contiguous(&[5]))]);
    let error = case.run().unwrap_err();
    assert_eq!(error.to_string(), "load: a view goes beyond its buffer: step 0 (index 4 vs 4 elements)");

    let mut case = Case::default();
    let a = case.input(DType::F32, vec![1.0; 4]);
    let out = case.output(DType::F32, 4);
    let mut tape = Tape::default();
    let x = tape.load(a, View::contiguous(&[4]));
    let y = tape.binary(Binary::Xor, x, x);
    case.fused(&[4], 1, tape, vec![store(out, y, View::contiguous(&[4]))]);
    assert_eq!(case.run().unwrap_err().to_string(), "load: xor does not take f32 registers");
}
