//! Pointwise kernels: every dtype, layout and edge.

use super::*;

const F32: DType = DType::F32;

/// `y = relu(a · 2 + b)` over contiguous operands.
fn contiguous(len: usize, dtype: DType) -> (Case, Kernel) {
    let mut case = Case::default();
    let (a, b, y) = (case.input(dtype, len), case.input(dtype, len), case.output(dtype, len));
    let flat = view(0, &[1]);
    let (x, z, two) = (case.load(a, flat.clone()), case.load(b, flat.clone()), case.constant(2.0));
    let scaled = case.binary(Binary::Mul, x, two);
    let sum = case.binary(Binary::Add, scaled, z);
    let out = case.unary(Unary::Relu, sum);
    case.store(y, out, flat);
    let kernel = case.fused(&[len], 1);
    (case, kernel)
}

#[test]
fn contiguous_lengths() {
    for len in [1, 2, 3, 4, 5, 7, 64, 255, 256, 257, 1024, 1031, 4096] {
        for dtype in [F32, DType::F16] {
            let (case, kernel) = contiguous(len, dtype);
            case.check(&kernel, 1e-6);
        }
    }
}

#[test]
fn long_grids_fold() {
    let len = 65_535 * 256 + 259;
    let mut case = Case::default();
    let (a, y) = (case.input(DType::U32, 8), case.output(DType::U32, len));
    let x = case.load(a, view(3, &[0]));
    case.store(y, x, view(0, &[1]));
    let kernel = case.fused(&[len], 1);
    case.check(&kernel, 0.0);
    let dispatch = &render(&kernel, &case.program, &[], &Capabilities::core(), &Tuning::default())[0];
    assert_eq!(dispatch.costs.bytes, 4 * (len as u64 + 1));
}

#[test]
fn broadcasts_flips_and_slices() {
    for (rows, columns) in [(5, 8), (3, 7), (1, 12), (9, 1)] {
        let mut case = Case::default();
        let (r, c) = (rows as i64, columns as i64);
        let (a, row, column) =
            (case.input(F32, rows * columns), case.input(F32, columns), case.input(F32, rows));
        let y = case.output(F32, 2 * rows * columns);
        let flipped = case.load(a, view(r * c - 1, &[-c, -1]));
        let bias = case.load(row, view(0, &[0, 1]));
        let scale = case.load(column, view(0, &[1, 0]));
        let product = case.binary(Binary::Mul, flipped, scale);
        let sum = case.binary(Binary::Add, product, bias);
        case.store(y, sum, view(c, &[2 * c, 1]));
        let kernel = case.fused(&[rows, columns], 2);
        case.check(&kernel, 1e-6);
    }
}

#[test]
fn transposes_go_through_tiles() {
    for (b, m, n) in
        [(1, 32, 32), (3, 64, 48), (2, 33, 100), (1, 17, 129), (2, 16, 64), (1, 200, 18), (2, 8, 8)]
    {
        for dtype in [F32, DType::I32, DType::F16, DType::Bool] {
            let mut case = Case::default();
            let (len, mi, ni) = (b * m * n, m as i64, n as i64);
            let (a, d, y) = (case.input(dtype, len), case.input(dtype, len), case.output(dtype, len));
            let x = case.load(a, view(0, &[mi * ni, 1, mi]));
            let z = case.load(d, view(0, &[mi * ni, ni, 1]));
            let op = if dtype == DType::Bool { Binary::Xor } else { Binary::Sub };
            let out = case.binary(op, x, z);
            case.store(y, out, view(0, &[mi * ni, ni, 1]));
            let kernel = case.fused(&[b, m, n], 3);
            case.check(&kernel, 1e-6);
        }
    }
}

#[test]
fn guards_pad_and_dilate() {
    for (size, low, high, step) in [(7, 2, 3, 1), (8, 4, 4, 1), (5, 1, 2, 2), (8, 0, 0, 3)] {
        let mut case = Case::default();
        let inner = (size - 1) * step + 1;
        let (n, rows) = ((low + inner + high) as i64, 3);
        let (a, y) = (case.input(F32, rows * size as usize), case.output(F32, rows * n as usize));
        let guard = Guard {
            coefficients: vec![0, 1],
            offset: -(low as i64),
            divisor: step as i64,
            size: size as i64,
            stride: if step > 1 { 1 } else { 0 },
        };
        let (offset, stride) = if step > 1 { (0, 0) } else { (-(low as i64), 1) };
        let x = case.load(a, guarded(offset, &[size as i64, stride], vec![guard]));
        case.store(y, x, view(0, &[n, 1]));
        let kernel = case.fused(&[rows, n as usize], 2);
        case.check(&kernel, 0.0);
    }
}

#[test]
fn takes_clamp_and_report() {
    for (bad, columns) in [(None, 8), (None, 5), (Some(-3.0), 8), (Some(11.0), 6)] {
        let mut case = Case::default();
        let (rows, table) = (6, 11);
        let mut positions: Vec<f64> = (0..rows).map(|row| (row * 5 % table) as f64).collect();
        bad.iter().for_each(|&bad| positions[4] = bad);
        let index = case.buffer(DType::I32, positions);
        let (a, y) = (case.input(F32, table * columns), case.output(F32, rows * columns));
        let position = case.load(index, view(0, &[1, 0]));
        let take = Code::Take {
            buffer: a,
            view: view(0, &[0, 1]),
            position,
            stride: columns as i64,
            size: table,
            site: 2,
        };
        let x = case.full(take, F32);
        case.store(y, x, view(0, &[columns as i64, 1]));
        let kernel = case.fused(&[rows, columns], 2);
        let errors = case.check(&kernel, 0.0);
        let expected = bad.map_or([0, 0], |bad| [3, bad as i32 as u32]);
        assert_eq!(errors, if machines().is_empty() { [0, 0] } else { expected });
    }
}

#[test]
fn random_bits_are_the_same_everywhere() {
    for (len, offset) in [(16, 0), (13, 0), (10, 3), (4096, 8)] {
        let mut case = Case::default();
        case.program.parameters = vec![DType::U32; 4];
        case.parameters = vec![1234567.0, 4e9, 3.0, 7.0];
        let y = case.output(DType::U32, len);
        let keys: Vec<Reg> = (0..4).map(|n| case.full(Code::Parameter(n), DType::U32)).collect();
        let bits = case
            .full(Code::Random([keys[0], keys[1], keys[2], keys[3]], None, view(offset, &[1])), DType::U32);
        case.store(y, bits, view(0, &[1]));
        let kernel = case.fused(&[len], 1);
        case.check(&kernel, 0.0);
    }
}

#[test]
fn every_unary_and_binary_op_in_every_type() {
    let len = 260;
    for dtype in [F32, DType::I32, DType::U32, DType::Bool] {
        for &op in Unary::ALL.iter().filter(|op| op.takes(dtype)) {
            let mut case = Case::default();
            let (low, high) = op.row().range;
            let mut numbers = Numbers(5);
            let a = match dtype {
                F32 => (0..len)
                    .map(|_| (low + (high - low) * (numbers.next() % 10_007) as f64 / 10_007.0) as f32 as f64)
                    .collect(),
                DType::Bool => (0..len).map(|n| (n % 2) as f64).collect(),
                _ => (0..len).map(|n| n as f64 - if dtype == DType::I32 { 130.0 } else { 0.0 }).collect(),
            };
            let (a, y) = (case.buffer(dtype, a), case.output(dtype, len));
            let x = case.load(a, view(0, &[1]));
            let out = case.unary(op, x);
            case.store(y, out, view(0, &[1]));
            let kernel = case.fused(&[len], 1);
            case.check(&kernel, op.row().tolerance.max(1e-7));
        }
        for &op in Binary::ALL.iter().filter(|op| op.takes(dtype)) {
            let mut case = Case::default();
            let mut numbers = Numbers(6);
            let ranges = op.row().range;
            let mut sample = |(low, high): (f64, f64)| -> Vec<f64> {
                (0..len)
                    .map(|_| match dtype {
                        F32 => (low + (high - low) * (numbers.next() % 1009) as f64 / 1009.0) as f32 as f64,
                        DType::I32 => (numbers.next() % 13) as f64 - 6.0,
                        DType::U32 => (numbers.next() % 13) as f64,
                        _ => (numbers.next() % 2) as f64,
                    })
                    .collect()
            };
            let (a, b) = (sample(ranges.0), sample(ranges.1));
            let (a, b) = (case.buffer(dtype, a), case.buffer(dtype, b));
            let y = case.output(if op.compares() { DType::Bool } else { dtype }, len);
            let (x, z) = (case.load(a, view(0, &[1])), case.load(b, view(0, &[1])));
            let out = case.binary(op, x, z);
            case.store(y, out, view(0, &[1]));
            let kernel = case.fused(&[len], 1);
            case.check(&kernel, op.row().tolerance.max(1e-7));
        }
    }
}

#[test]
fn casts_select_positions_and_odd_constants() {
    let values = vec![
        0.0,
        -0.5,
        1.5,
        2.5,
        -3.99,
        1e10,
        -1e10,
        5e9,
        f64::NAN,
        65519.0,
        65520.0,
        1e-7,
        -6.1e-5,
        7.0,
        3e-8,
        0.1,
    ];
    let values: Vec<f64> = values.into_iter().map(|x: f64| x as f32 as f64).collect();
    for to in [DType::I32, DType::U32, DType::Bool, DType::F16] {
        let mut case = Case::default();
        let (a, y) = (case.buffer(F32, values.clone()), case.output(to, values.len()));
        let x = case.load(a, view(0, &[1]));
        let out = case.full(Code::Cast(x, to), to);
        case.store(y, out, view(0, &[1]));
        let kernel = case.fused(&[values.len()], 1);
        // Devices disagree on whether NaN equals zero.
        if to == DType::Bool {
            case.memory[0][8] = 1.0;
        }
        case.check(&kernel, 0.0);
    }
    let mut case = Case::default();
    let y = case.output(F32, 6);
    let position = case.full(Code::Position(view(-2, &[1])), DType::I32);
    let number = case.full(Code::Cast(position, F32), F32);
    let (zero, infinity) = (case.constant(0.0), case.constant(f32::INFINITY));
    let negative = case.binary(Binary::Less, number, zero);
    let smallest = case.constant(-1e-40);
    let huge = case.unary(Unary::Neg, infinity);
    let one = case.full(Code::Select(negative, huge, number), F32);
    let out = case.binary(Binary::Max, one, smallest);
    case.store(y, out, view(0, &[1]));
    let kernel = case.fused(&[6], 1);
    case.check(&kernel, 1e-6);
}

#[test]
fn slices_of_sequences_move_with_the_slot() {
    for (size, position) in [(8, 2), (6, 1), (5, 3)] {
        let mut case = Case::default();
        let (a, y) = (case.input(F32, size * 4), case.output(DType::F16, size * 4));
        case.slots = vec![(a, size, position), (y, size, position)];
        let x = case.load(a, view(0, &[1]));
        case.store(y, x, view(0, &[1]));
        let kernel = case.fused(&[size], 1);
        case.check(&kernel, 0.0);
    }
}

#[test]
fn updates_happen_in_place() {
    for dtype in [F32, DType::F16] {
        for len in [64, 61] {
            let mut case = Case::default();
            let (a, g) = (case.input(dtype, len), case.input(dtype, len));
            case.program.parameters = vec![F32];
            case.parameters = vec![0.25];
            let (x, d) = (case.load(a, view(0, &[1])), case.load(g, view(0, &[1])));
            let rate = case.full(Code::Parameter(0), F32);
            let step = case.binary(Binary::Mul, d, rate);
            let out = case.binary(Binary::Sub, x, step);
            case.store(a, out, view(0, &[1]));
            let kernel = case.fused(&[len], 1);
            case.check(&kernel, 1e-6);
        }
    }
}
