//! Scans: gradients of carries, sequences and constants, in both directions, to second order.

use std::sync::Arc;

use farad_ir::{DType, Graph, NodeId, Op, Scan, Unary};

use crate::check::{Draw, Sample, check};

const STEPS: usize = 4;

/// `carry' = tanh(carry · w + x)`, result `carry · x`; operands carry `[2]`, sequence
/// `[STEPS, 2]`, constant `[2]`.
fn recurrence(steps: usize, reverse: bool) -> Scan {
    let mut body = Graph::new();
    let [carry, x, w] = [0, 1, 2].map(|n| body.input(n, [2].into(), DType::F32));
    let scaled = body.mul(carry, w);
    let sum = body.add(scaled, x);
    let next = body.unary(Unary::Tanh, sum);
    let result = body.mul(carry, x);
    Scan { body, outputs: vec![next, result], carries: 1, sequences: 1, steps, reverse }
}

fn pick(graph: &mut Graph, node: NodeId, scan: &Scan, n: usize) -> NodeId {
    let (shape, dtype) = scan.results()[n];
    graph.push(Op::Pick(n, shape, dtype), &[node])
}

#[test]
fn recurrences() {
    let mut draw = Draw(41);
    for (name, reverse) in [("scan", false), ("reverse scan", true)] {
        let samples = [
            Sample::random(&mut draw, [2]),
            Sample::random(&mut draw, [STEPS, 2]),
            Sample::random(&mut draw, [2]),
        ];
        let scan = Arc::new(recurrence(STEPS, reverse));
        for outputs in [&[0][..], &[1], &[0, 1]] {
            check(&format!("{name}, outputs {outputs:?}"), &samples, |graph, x| {
                let node = graph.push(Op::Scan(scan.clone()), x);
                let picks: Vec<NodeId> = outputs.iter().map(|&n| pick(graph, node, &scan, n)).collect();
                let offsets = (0..picks.len()).map(|n| 10 * n).collect();
                graph.push(Op::Pack(offsets, 20), &picks)
            });
        }
    }
}

#[test]
fn sums_without_a_sequence() {
    // Two carries, one of which depends on the other; no sequences and no constants.
    let mut body = Graph::new();
    let [a, b] = [0, 1].map(|n| body.input(n, [3].into(), DType::F32));
    let next_a = body.unary(Unary::Sin, b);
    let product = body.mul(a, b);
    let next_b = body.add(product, a);
    let scan = Arc::new(Scan {
        body,
        outputs: vec![next_a, next_b],
        carries: 2,
        sequences: 0,
        steps: 3,
        reverse: false,
    });
    let mut draw = Draw(42);
    let samples = [Sample::random(&mut draw, [3]), Sample::random(&mut draw, [3])];
    check("two carries", &samples, |graph, x| {
        let node = graph.push(Op::Scan(scan.clone()), x);
        let (a, b) = (pick(graph, node, &scan, 0), pick(graph, node, &scan, 1));
        graph.add(a, b)
    });
}

#[test]
fn a_counter_among_the_carries() {
    // The integer carry selects a row of a constant table at every step.
    let mut body = Graph::new();
    let counter = body.input(0, [1, 1].into(), DType::I32);
    let state = body.input(1, [1, 2].into(), DType::F32);
    let table = body.input(2, [3, 2].into(), DType::F32);
    let one = body.fill_like(counter, 1.0);
    let next_counter = body.add(counter, one);
    let row = body.push(Op::Gather(0), &[table, counter]);
    let product = body.mul(state, row);
    let next_state = body.unary(Unary::Sin, product);
    let scan = Scan {
        body,
        outputs: vec![next_counter, next_state],
        carries: 2,
        sequences: 0,
        steps: 3,
        reverse: false,
    };
    let scan = Arc::new(scan);
    let mut draw = Draw(43);
    let samples =
        [Sample::random(&mut draw, [1, 2]), Sample::random(&mut draw, [3, 2]), Sample::index([1, 1], &[0])];
    check("counter", &samples, |graph, x| {
        let node = graph.push(Op::Scan(scan.clone()), &[x[2], x[0], x[1]]);
        pick(graph, node, &scan, 1)
    });
}

#[test]
fn only_the_constant_is_asked_for() {
    let scan = Arc::new(recurrence(STEPS, false));
    let mut draw = Draw(44);
    check("constant only", &[Sample::random(&mut draw, [2])], |graph, x| {
        let carry = graph.fill_like(x[0], 0.4);
        let sequence = graph.fill(farad_ir::Scalar::f32(-0.3), [STEPS, 2].into());
        let node = graph.push(Op::Scan(scan.clone()), &[carry, sequence, x[0]]);
        pick(graph, node, &scan, 0)
    });
}

#[test]
fn one_step_and_none() {
    let mut draw = Draw(45);
    for steps in [1, 0] {
        let scan = Arc::new(recurrence(steps, false));
        let samples = [
            Sample::random(&mut draw, [2]),
            Sample::random(&mut draw, [steps, 2]),
            Sample::random(&mut draw, [2]),
        ];
        check(&format!("{steps} steps"), &samples, |graph, x| {
            let node = graph.push(Op::Scan(scan.clone()), x);
            pick(graph, node, &scan, 0)
        });
    }
}
