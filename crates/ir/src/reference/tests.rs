//! Every family, compared with values computed by hand.

use std::sync::Arc;

use super::{Values, evaluate, evaluate_outputs};
use crate::{
    Binary, Contraction, CustomKernel, CustomLimits, CustomOp, DType, Graph, IndexMap, NodeId, Op, OpError,
    Reduce, Scalar, Scan, Shape, Span, Unary, Words, philox,
};

fn float(x: &[f64]) -> Values {
    Values::Float(x.to_vec())
}

fn int(x: &[i64]) -> Values {
    Values::Int(x.to_vec())
}

fn shape<const N: usize>(sizes: [usize; N]) -> Shape {
    Shape::new(&sizes)
}

/// Applies one op to operands given by shape, dtype and values.
fn apply(op: Op, operands: &[(Shape, DType, Values)]) -> Values {
    let mut graph = Graph::new();
    let ids: Vec<NodeId> =
        operands.iter().enumerate().map(|(n, (shape, dtype, _))| graph.input(n, *shape, *dtype)).collect();
    let y = graph.push(op, &ids);
    let inputs: Vec<Values> = operands.iter().map(|(_, _, values)| values.clone()).collect();
    evaluate_outputs(&graph, &inputs, &[], &[y]).remove(0)
}

fn floats(op: Op, operands: &[(Shape, &[f64])]) -> Values {
    let typed: Vec<_> = operands.iter().map(|(shape, x)| (*shape, DType::F32, float(x))).collect();
    apply(op, &typed)
}

fn ints(op: Op, dtype: DType, operands: &[&[i64]]) -> Values {
    let typed: Vec<_> = operands.iter().map(|x| (shape([x.len()]), dtype, int(x))).collect();
    apply(op, &typed)
}

#[test]
fn leaves() {
    let mut graph = Graph::new();
    graph.input(0, shape([2]), DType::F32);
    graph.parameter(0, DType::U32);
    graph.push(Op::Constant(Scalar::int(DType::I32, -3)), &[]);
    graph.push(Op::Iota(3), &[]);
    graph.push(Op::Iota(0), &[]);
    graph.fill(Scalar::f32(1.5), shape([2]));
    let values = evaluate(&graph, &[float(&[7.0, 8.0])], &[Scalar::u32(u32::MAX)]);
    assert_eq!(values[0], float(&[7.0, 8.0]));
    assert_eq!(values[1], int(&[4294967295]));
    assert_eq!(values[2], int(&[-3]));
    assert_eq!(values[3], int(&[0, 1, 2]));
    assert_eq!(values[4], int(&[]));
    assert_eq!(values[7], float(&[1.5, 1.5]));
}

#[test]
#[should_panic(expected = "reference: element count of input 0 does not fit its shape: [2] (3 vs 2)")]
fn wrong_input_length() {
    let mut graph = Graph::new();
    graph.input(0, shape([2]), DType::F32);
    evaluate(&graph, &[float(&[1.0, 2.0, 3.0])], &[]);
}

#[test]
fn conversions() {
    assert_eq!(Values::from_f64(DType::F16, &[0.1]), float(&[0.1]));
    assert_eq!(Values::from_f64(DType::I32, &[-1.9, 3e9, f64::NAN]), int(&[-1, 2147483647, 0]));
    assert_eq!(Values::from_f64(DType::U32, &[-1.0, 5e9, 2.5]), int(&[0, 4294967295, 2]));
    assert_eq!(Values::from_f64(DType::Bool, &[-0.5, 0.0]), int(&[1, 0]));
    assert_eq!(int(&[-2, 3]).to_f64(), vec![-2.0, 3.0]);
    assert!(Values::zeros(DType::U8, 0).is_empty());
}

#[test]
fn unary() {
    assert_eq!(floats(Op::Unary(Unary::Neg), &[(shape([2]), &[1.0, -2.5])]), float(&[-1.0, 2.5]));
    assert_eq!(floats(Op::Unary(Unary::Round), &[(shape([3]), &[0.5, 1.5, -2.5])]), float(&[0.0, 2.0, -2.0]));
    assert_eq!(floats(Op::Unary(Unary::Sqrt), &[(shape([]), &[9.0])]), float(&[3.0]));
    assert_eq!(
        ints(Op::Unary(Unary::Neg), DType::I32, &[&[i32::MIN as i64, 5]]),
        int(&[i32::MIN as i64, -5])
    );
    assert_eq!(ints(Op::Unary(Unary::Not), DType::U32, &[&[0, 5]]), int(&[4294967295, 4294967290]));
    assert_eq!(ints(Op::Unary(Unary::Not), DType::I32, &[&[0, 5]]), int(&[-1, -6]));
    assert_eq!(ints(Op::Unary(Unary::Not), DType::Bool, &[&[0, 1]]), int(&[1, 0]));
}

#[test]
fn binary() {
    let pair =
        |op, a: &[f64], b: &[f64]| floats(Op::Binary(op), &[(shape([a.len()]), a), (shape([b.len()]), b)]);
    assert_eq!(pair(Binary::Sub, &[5.0, 1.0], &[2.0, 4.0]), float(&[3.0, -3.0]));
    assert_eq!(pair(Binary::Rem, &[5.5, -5.5], &[2.0, 2.0]), float(&[1.5, 0.5]));
    assert_eq!(pair(Binary::Max, &[3.0, -1.0], &[2.0, f64::INFINITY]), float(&[3.0, f64::INFINITY]));
    assert_eq!(pair(Binary::Less, &[1.0, 2.0, f64::NAN], &[2.0, 2.0, 1.0]), int(&[1, 0, 0]));
    let of = |op, dtype, a: &[i64], b: &[i64]| ints(Op::Binary(op), dtype, &[a, b]);
    assert_eq!(of(Binary::Add, DType::I32, &[i32::MAX as i64], &[1]), int(&[i32::MIN as i64]));
    assert_eq!(of(Binary::Sub, DType::U32, &[1], &[2]), int(&[4294967295]));
    assert_eq!(of(Binary::Mul, DType::U32, &[4294967295], &[4294967295]), int(&[1]));
    assert_eq!(of(Binary::Div, DType::I32, &[-7, 7], &[2, 0]), int(&[-3, 0]));
    assert_eq!(of(Binary::Rem, DType::I32, &[-7, 7, 3], &[3, -3, 0]), int(&[2, -2, 0]));
    assert_eq!(of(Binary::Shl, DType::U32, &[0x8000_0001], &[33]), int(&[2]));
    assert_eq!(of(Binary::Shr, DType::I32, &[-8], &[1]), int(&[-4]));
    assert_eq!(of(Binary::Xor, DType::Bool, &[0, 1, 1], &[1, 1, 0]), int(&[1, 0, 1]));
    assert_eq!(of(Binary::Greater, DType::U32, &[4294967295], &[1]), int(&[1]));
}

#[test]
fn select_and_cast() {
    let condition = (shape([2]), DType::Bool, int(&[1, 0]));
    let of = |x: &[f64]| (shape([2]), DType::F32, float(x));
    assert_eq!(apply(Op::Select, &[condition, of(&[1.0, 2.0]), of(&[3.0, 4.0])]), float(&[1.0, 4.0]));
    assert_eq!(floats(Op::Cast(DType::I32), &[(shape([2]), &[-2.7, 1e12])]), int(&[-2, 2147483647]));
    assert_eq!(floats(Op::Cast(DType::F16), &[(shape([1]), &[0.1])]), float(&[0.1]));
    assert_eq!(ints(Op::Cast(DType::U8), DType::I32, &[&[-1, 300]]), int(&[255, 44]));
    assert_eq!(ints(Op::Cast(DType::F32), DType::U32, &[&[7]]), float(&[7.0]));
    assert_eq!(ints(Op::Cast(DType::Bool), DType::I32, &[&[-2, 0]]), int(&[1, 0]));
}

#[test]
fn movement() {
    let x: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let of = |op| floats(op, &[(shape([2, 3]), x)]);
    assert_eq!(of(Op::Reshape(shape([3, 2]))), float(x));
    assert_eq!(of(Op::Permute(vec![1, 0])), float(&[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    assert_eq!(of(Op::Flip(vec![0, 1])), float(&[5.0, 4.0, 3.0, 2.0, 1.0, 0.0]));
    assert_eq!(of(Op::Flip(vec![1])), float(&[2.0, 1.0, 0.0, 5.0, 4.0, 3.0]));
    let span = |start, len, step| Span { start, len, step };
    assert_eq!(of(Op::Slice(vec![span(1, 1, 1), span(0, 2, 2)])), float(&[3.0, 5.0]));
    assert_eq!(of(Op::Slice(vec![span(0, 2, 1), span(3, 0, 1)])), float(&[]));
    let padded = of(Op::Pad(vec![(1, 0), (0, 1)]));
    assert_eq!(padded, float(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 0.0]));
    let column = floats(Op::Expand(shape([2, 3])), &[(shape([2, 1]), &[7.0, 8.0])]);
    assert_eq!(column, float(&[7.0, 7.0, 7.0, 8.0, 8.0, 8.0]));
    assert_eq!(floats(Op::Pad(vec![(1, 1)]), &[(shape([0]), &[])]), float(&[0.0, 0.0]));
    assert_eq!(floats(Op::Flip(vec![0]), &[(shape([0, 2]), &[])]), float(&[]));
    assert_eq!(floats(Op::Expand(shape([0, 2])), &[(shape([1, 2]), &[1.0, 2.0])]), float(&[]));
    assert_eq!(floats(Op::Permute(vec![]), &[(shape([]), &[1.0])]), float(&[1.0]));
    assert_eq!(
        floats(Op::Permute(vec![2, 0, 1]), &[(shape([1, 2, 3]), x)]),
        float(&[0.0, 3.0, 1.0, 4.0, 2.0, 5.0])
    );
}

#[test]
fn reductions() {
    let x: &[f64] = &[1.0, 5.0, 5.0, -2.0, 0.0, -2.0];
    let of = |op, axes: &[usize]| floats(Op::Reduce(op, axes.to_vec()), &[(shape([2, 3]), x)]);
    assert_eq!(of(Reduce::Sum, &[1]), float(&[11.0, -4.0]));
    assert_eq!(of(Reduce::Sum, &[0]), float(&[-1.0, 5.0, 3.0]));
    assert_eq!(of(Reduce::Sum, &[1, 0]), float(&[7.0]));
    assert_eq!(of(Reduce::Max, &[1]), float(&[5.0, 0.0]));
    assert_eq!(of(Reduce::Min, &[0, 1]), float(&[-2.0]));
    assert_eq!(of(Reduce::ArgMax, &[1]), int(&[1, 1]));
    assert_eq!(of(Reduce::ArgMin, &[1]), int(&[0, 0]));
    assert_eq!(of(Reduce::ArgMax, &[0]), int(&[0, 0, 0]));
    let sum = |sizes: Shape, axes: &[usize]| floats(Op::Reduce(Reduce::Sum, axes.to_vec()), &[(sizes, &[])]);
    assert_eq!(sum(shape([2, 0]), &[1]), float(&[0.0, 0.0]));
    assert_eq!(sum(shape([2, 0]), &[0]), float(&[]));
    assert_eq!(
        floats(Op::Reduce(Reduce::ArgMax, vec![0]), &[(shape([3]), &[1.0, f64::NAN, f64::INFINITY])]),
        int(&[1])
    );
    assert_eq!(
        ints(Op::Reduce(Reduce::Sum, vec![0]), DType::I32, &[&[i32::MAX as i64, 2]]),
        int(&[-2147483647])
    );
    assert_eq!(ints(Op::Reduce(Reduce::ArgMin, vec![0]), DType::U32, &[&[4, 2, 2]]), int(&[1]));
}

#[test]
fn gather_clamps() {
    let x = (shape([2, 3]), DType::F32, float(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    let of = |axis, sizes: Shape, index: &[i64]| {
        apply(Op::Gather(axis), &[x.clone(), (sizes, DType::I32, int(index))])
    };
    assert_eq!(of(1, shape([2, 2]), &[2, 0, 1, 1]), float(&[2.0, 0.0, 4.0, 4.0]));
    assert_eq!(of(1, shape([1, 2]), &[2, 0]), float(&[2.0, 0.0, 5.0, 3.0]));
    assert_eq!(of(1, shape([1, 2]), &[-1, 9]), float(&[0.0, 2.0, 3.0, 5.0]));
    assert_eq!(of(0, shape([1, 3]), &[1, 0, 1]), float(&[3.0, 1.0, 5.0]));
    assert_eq!(of(0, shape([0, 3]), &[]), float(&[]));
    assert_eq!(of(0, shape([3, 1]), &[1, 0, 1]), float(&[3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
}

#[test]
fn scatter_add_skips() {
    let of = |axis, size, sizes: Shape, index: &[i64]| {
        let source = (shape([2, 3]), DType::F32, float(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        apply(Op::ScatterAdd(axis, size), &[source, (sizes, DType::I32, int(index))])
    };
    assert_eq!(of(1, 2, shape([2, 3]), &[1, 1, 0, 0, 0, 1]), float(&[2.0, 1.0, 7.0, 5.0]));
    assert_eq!(of(1, 2, shape([1, 3]), &[1, -1, 2]), float(&[0.0, 0.0, 0.0, 3.0]));
    assert_eq!(of(0, 3, shape([2, 1]), &[2, 2]), float(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 5.0, 7.0]));
    let wrapped = ints(Op::ScatterAdd(0, 1), DType::U32, &[&[4294967295, 2], &[0, 0]]);
    assert_eq!(wrapped, int(&[1]));
}

#[test]
fn orders_are_stable() {
    let row = [2.0, f64::NAN, -0.0, 1.0, 0.0, f64::NAN, 2.0, f64::INFINITY, f64::NEG_INFINITY, 1.0];
    let of = |descending| floats(Op::Order(descending), &[(shape([1, 10]), &row)]);
    assert_eq!(of(false), int(&[8, 2, 4, 3, 9, 0, 6, 7, 1, 5]));
    assert_eq!(of(true), int(&[1, 5, 7, 0, 6, 3, 9, 2, 4, 8]));
    let rows = |sizes, x: &[f64]| floats(Op::Order(false), &[(sizes, x)]);
    assert_eq!(rows(shape([2, 3]), &[3.0, 1.0, 2.0, 0.0, 0.0, -1.0]), int(&[1, 2, 0, 2, 0, 1]));
    let top = |descending, count| floats(Op::Top(descending, count), &[(shape([2, 5]), &row)]);
    assert_eq!(top(false, 2), int(&[2, 4, 3, 4]));
    assert_eq!(top(true, 3), int(&[1, 0, 3, 0, 2, 1]));
    assert_eq!(top(true, 0), int(&[]));
    assert_eq!(rows(shape([0, 3]), &[]), int(&[]));
    assert_eq!(rows(shape([3, 0]), &[]), int(&[]));
    assert_eq!(ints(Op::Order(true), DType::U32, &[&[0, 4294967295, 1]]), int(&[1, 2, 0]));
}

#[test]
fn matmul() {
    let plain = Op::Contract(Arc::new(Contraction::matmul(&[], 2, 3, 2)));
    let (a, b): (&[f64], &[f64]) = (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    assert_eq!(floats(plain, &[(shape([2, 3]), a), (shape([3, 2]), b)]), float(&[7.0, 8.0, 16.0, 17.0]));
    let batched = Op::Contract(Arc::new(Contraction::matmul(&[3], 1, 2, 1)));
    let y = floats(batched, &[(shape([3, 1, 2]), a), (shape([3, 2, 1]), b)]);
    assert_eq!(y, float(&[1.0, 4.0, 22.0]));
    let empty = |m, k, n| Op::Contract(Arc::new(Contraction::matmul(&[], m, k, n)));
    assert_eq!(floats(empty(2, 0, 1), &[(shape([2, 0]), &[]), (shape([0, 1]), &[])]), float(&[0.0, 0.0]));
    assert_eq!(floats(empty(0, 2, 1), &[(shape([0, 2]), &[]), (shape([2, 1]), &[1.0, 1.0])]), float(&[]));
    let numbers = Contraction { sizes: vec![], out: vec![], lhs: vec![], rhs: vec![], high: false };
    assert_eq!(
        floats(Op::Contract(Arc::new(numbers)), &[(shape([]), &[3.0]), (shape([]), &[4.0])]),
        float(&[12.0])
    );
}

/// `y[i] = Σ_k x[(a·i + b·k + offset) / divisor] · w[k]`.
fn convolution(sizes: [usize; 2], (a, b): (i64, i64), offset: i64, divisor: i64) -> Op {
    Op::Contract(Arc::new(Contraction {
        sizes: sizes.to_vec(),
        out: vec![0],
        lhs: vec![IndexMap { terms: vec![(0, a), (1, b)], offset, divisor }],
        rhs: vec![IndexMap::axis(1)],
        high: false,
    }))
}

#[test]
fn convolution_reads_zeros_outside() {
    let (x, w): (&[f64], &[f64]) = (&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 10.0, 100.0]);
    let of = |op| floats(op, &[(shape([5]), x), (shape([3]), w)]);
    assert_eq!(of(convolution([5, 3], (1, 1), -1, 1)), float(&[210.0, 321.0, 432.0, 543.0, 54.0]));
    // Stride 2, dilation 2, padding 2.
    assert_eq!(of(convolution([3, 3], (2, 2), -2, 1)), float(&[310.0, 531.0, 53.0]));
    // Transposed: x is read at (i - k) / 2 where that is an integer.
    assert_eq!(of(convolution([4, 3], (1, -1), 0, 2)), float(&[1.0, 10.0, 102.0, 20.0]));
    // Reversed from the end.
    assert_eq!(of(convolution([2, 3], (-1, -1), 4, 1)), float(&[345.0, 234.0]));
}

#[test]
fn contraction_agrees_with_counting() {
    // Many small maps, compared point by point with the definition.
    let mut seed = 1u32;
    let mut draw = |below: i64| {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 8) as i64 % below
    };
    for _ in 0..500 {
        let sizes: Vec<usize> = (0..3).map(|_| 1 + draw(5) as usize).collect();
        let mut map = || IndexMap {
            terms: (0..3).filter_map(|axis| Some((axis, draw(7) - 3)).filter(|(_, k)| *k != 0)).collect(),
            offset: draw(9) - 4,
            divisor: 1 + draw(3),
        };
        let (lhs, rhs) = (vec![map(), map()], vec![map()]);
        let (ls, rs) = ([1 + draw(4) as usize, 1 + draw(4) as usize], [1 + draw(6) as usize]);
        let whole = |maps: &[IndexMap], of: &[usize]| {
            maps.iter().zip(of).all(|(map, size)| map.plain().is_none_or(|axis| sizes[axis] == *size))
        };
        if !whole(&lhs, &ls) || !whole(&rhs, &rs) {
            continue;
        }
        let c = Contraction { sizes: sizes.clone(), out: vec![2, 0], lhs, rhs, high: false };
        let l: Vec<f64> = (0..ls[0] * ls[1]).map(|i| (i + 1) as f64).collect();
        let r: Vec<f64> = (0..rs[0]).map(|i| (i as f64) - 2.5).collect();
        let read = |maps: &[IndexMap], sizes: &[usize], x: &[f64], at: [usize; 3]| {
            let mut index = 0;
            for (map, &size) in maps.iter().zip(sizes) {
                let sum = map.terms.iter().map(|&(axis, k)| k * at[axis] as i64).sum::<i64>() + map.offset;
                if sum % map.divisor != 0 || !(0..size as i64).contains(&(sum / map.divisor)) {
                    return 0.0;
                }
                index = index * size + (sum / map.divisor) as usize;
            }
            x[index]
        };
        let mut expected = vec![0.0; sizes[2] * sizes[0]];
        for at in (0..sizes.iter().product())
            .map(|n: usize| [n / (sizes[1] * sizes[2]), n / sizes[2] % sizes[1], n % sizes[2]])
        {
            expected[at[2] * sizes[0] + at[0]] += read(&c.lhs, &ls, &l, at) * read(&c.rhs, &rs, &r, at);
        }
        let text = format!("{c:?}, operands {ls:?} and {rs:?}");
        let y = floats(Op::Contract(Arc::new(c)), &[(shape(ls), &l), (shape(rs), &r)]);
        assert_eq!(y, float(&expected), "{text}");
    }
}

#[test]
fn random_is_philox() {
    let word = |x: i64| (shape([]), DType::U32, int(&[x]));
    let y = apply(Op::Random(shape([2, 3])), &[word(1), word(2), word(3), word(4)]);
    let expected: Vec<i64> = (0..6).map(|e| philox::bits([1, 2], [3, 4], e) as i64).collect();
    assert_eq!(y, int(&expected));
}

#[test]
fn pack_and_pass_through() {
    let y = floats(Op::Pack(vec![3, 0], 6), &[(shape([2]), &[1.0, 2.0]), (shape([1, 2]), &[3.0, 4.0])]);
    assert_eq!(y, float(&[3.0, 4.0, 0.0, 1.0, 2.0, 0.0]));
    assert_eq!(floats(Op::StopGradient, &[(shape([1]), &[2.0])]), float(&[2.0]));
    assert_eq!(floats(Op::Barrier(0), &[(shape([1]), &[2.0]), (shape([1]), &[3.0])]), float(&[2.0]));
}

/// `carry' = carry · constant + x`, with the old carry as the result slice.
fn recurrence(steps: usize, reverse: bool) -> Vec<Values> {
    let mut body = Graph::new();
    let [carry, x, factor] = [0, 1, 2].map(|n| body.input(n, shape([2]), DType::F32));
    let scaled = body.mul(carry, factor);
    let next = body.add(scaled, x);
    let scan = Scan { body, outputs: vec![next, carry], carries: 1, sequences: 1, steps, reverse };
    let mut graph = Graph::new();
    let carry = graph.input(0, shape([2]), DType::F32);
    let sequence = graph.input(1, shape([steps, 2]), DType::F32);
    let factor = graph.input(2, shape([2]), DType::F32);
    let node = graph.push(Op::Scan(Arc::new(scan)), &[carry, sequence, factor]);
    let last = graph.push(Op::Pick(0, shape([2]), DType::F32), &[node]);
    let history = graph.push(Op::Pick(1, shape([steps, 2]), DType::F32), &[node]);
    let sequence: Vec<f64> = (1..=2 * steps).map(|x| x as f64).collect();
    let inputs = [float(&[1.0, 0.0]), float(&sequence), float(&[10.0, 2.0])];
    let all = evaluate(&graph, &inputs, &[]);
    assert_eq!(all[node.index()], all[last.index()]);
    evaluate_outputs(&graph, &inputs, &[], &[last, history])
}

#[test]
fn scan_runs_both_ways() {
    let forward = recurrence(3, false);
    assert_eq!(forward, [float(&[1135.0, 22.0]), float(&[1.0, 0.0, 11.0, 2.0, 113.0, 8.0])]);
    let backward = recurrence(3, true);
    assert_eq!(backward, [float(&[1531.0, 34.0]), float(&[153.0, 16.0, 15.0, 6.0, 1.0, 0.0])]);
    assert_eq!(recurrence(0, false), [float(&[1.0, 0.0]), float(&[])]);
}

/// Quotient and remainder by ten; the remainder is an integer.
#[derive(Debug, Hash)]
struct Digits;

impl CustomOp for Digits {
    fn name(&self) -> &str {
        "digits"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![operands[0], (operands[0].0, DType::I32)])
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        let x = &operands[0];
        vec![x.iter().map(|x| (x / 10.0).floor()).collect(), x.iter().map(|x| x % 10.0).collect()]
    }

    fn cpu(&self, _: &[&[u32]], _: &[Shape], _: &mut [Words]) {
        unreachable!("the reference does not run on the CPU")
    }

    fn wgsl(&self, _: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        vec![]
    }
}

#[test]
fn custom_outputs_are_picked() {
    let mut graph = Graph::new();
    let x = graph.input(0, shape([2]), DType::F32);
    let node = graph.push(Op::Custom(Arc::new(Digits)), &[x]);
    let digit = graph.push(Op::Pick(1, shape([2]), DType::I32), &[node]);
    let values = evaluate_outputs(&graph, &[float(&[42.0, 7.0])], &[], &[node, digit]);
    assert_eq!(values, [float(&[4.0, 0.0]), int(&[2, 7])]);
}

#[test]
fn only_what_is_needed_is_evaluated() {
    let mut graph = Graph::new();
    let x = graph.input(0, shape([2]), DType::F32);
    // Input 1 is missing; evaluating it would panic.
    let missing = graph.input(1, shape([2]), DType::F32);
    graph.neg(missing);
    let y = graph.neg(x);
    let z = graph.add(y, y);
    let values = evaluate_outputs(&graph, &[float(&[1.0, 2.0])], &[], &[z, x, z]);
    assert_eq!(values, [float(&[-2.0, -4.0]), float(&[1.0, 2.0]), float(&[-2.0, -4.0])]);
}
