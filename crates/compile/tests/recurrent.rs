//! What the loops of recurrent layers become: kernels per trip, forward and backward.

use std::sync::Arc;

use farad_compile::compile;
use farad_compile::program::{Kernel, Loop, Program, ProgramStep, Target};
use farad_ir::{Binary, Contraction, DType, Graph, NodeId, Op, Reduce, Scan, Shape, Span, Unary, gradient};

const TIME: usize = 64;
const BATCH: usize = 64;
const HIDDEN: usize = 512;

fn gpu() -> Target {
    Target { bindings: 15, parallel: 131_072, binding_bytes: 1 << 30, scratch: true, ..Target::cpu() }
}

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes)
}

/// Columns `n · size` to `(n + 1) · size` of a matrix.
fn part(graph: &mut Graph, x: NodeId, n: usize, size: usize) -> NodeId {
    let rows = Span { start: 0, len: graph.shape(x)[0], step: 1 };
    graph.push(Op::Slice(vec![rows, Span { start: n * size, len: size, step: 1 }]), &[x])
}

/// One position of an LSTM: hidden state, cell state, what the inputs contribute, weights.
fn lstm() -> Scan {
    let mut body = Graph::new();
    let h = body.input(0, shape(&[BATCH, HIDDEN]), DType::F32);
    let c = body.input(1, shape(&[BATCH, HIDDEN]), DType::F32);
    let x = body.input(2, shape(&[BATCH, 4 * HIDDEN]), DType::F32);
    let w = body.input(3, shape(&[HIDDEN, 4 * HIDDEN]), DType::F32);
    let product = body.contract(Contraction::matmul(&[], BATCH, HIDDEN, 4 * HIDDEN), h, w);
    let gates = body.add(product, x);
    let gate = |body: &mut Graph, n: usize, unary: Unary| {
        let gate = part(body, gates, n, HIDDEN);
        body.unary(unary, gate)
    };
    let i = gate(&mut body, 0, Unary::Sigmoid);
    let f = gate(&mut body, 1, Unary::Sigmoid);
    let g = gate(&mut body, 2, Unary::Tanh);
    let o = gate(&mut body, 3, Unary::Sigmoid);
    let (kept, new) = (body.mul(f, c), body.mul(i, g));
    let c = body.add(kept, new);
    let shown = body.unary(Unary::Tanh, c);
    let h = body.mul(o, shown);
    Scan { body, outputs: vec![h, c, h], carries: 2, sequences: 1, steps: TIME, reverse: false }
}

/// One position of a GRU.
fn gru() -> Scan {
    let mut body = Graph::new();
    let h = body.input(0, shape(&[BATCH, HIDDEN]), DType::F32);
    let x = body.input(1, shape(&[BATCH, 3 * HIDDEN]), DType::F32);
    let w = body.input(2, shape(&[HIDDEN, 3 * HIDDEN]), DType::F32);
    let bias = body.input(3, shape(&[BATCH, 3 * HIDDEN]), DType::F32);
    let product = body.contract(Contraction::matmul(&[], BATCH, HIDDEN, 3 * HIDDEN), h, w);
    let gates = body.add(product, bias);
    let both = |body: &mut Graph, n: usize| {
        let (a, b) = (part(body, x, n, HIDDEN), part(body, gates, n, HIDDEN));
        let sum = body.add(a, b);
        body.unary(Unary::Sigmoid, sum)
    };
    let (r, z) = (both(&mut body, 0), both(&mut body, 1));
    let (a, b) = (part(&mut body, x, 2, HIDDEN), part(&mut body, gates, 2, HIDDEN));
    let b = body.mul(r, b);
    let sum = body.add(a, b);
    let n = body.unary(Unary::Tanh, sum);
    let apart = body.binary(Binary::Sub, h, n);
    let moved = body.mul(z, apart);
    let h = body.add(n, moved);
    Scan { body, outputs: vec![h, h], carries: 1, sequences: 1, steps: TIME, reverse: false }
}

/// The mean square of all hidden states and its gradients at all operands but the initial states.
fn trained(scan: Scan) -> Program {
    let mut graph = Graph::new();
    let mut operands = Vec::new();
    for _ in 0..scan.carries {
        let start = graph.fill(farad_ir::Scalar::f32(0.0), shape(&[BATCH, HIDDEN]));
        operands.push(start);
    }
    let mut inputs = Vec::new();
    for id in scan.body.ids() {
        let node = scan.body.node(id);
        let Op::Input(n) = node.op else { continue };
        if n < scan.carries {
            continue;
        }
        let slice = n < scan.carries + scan.sequences;
        let sizes: Vec<usize> = slice.then_some(TIME).into_iter().chain(node.shape.iter().copied()).collect();
        inputs.push(graph.input(n - scan.carries, shape(&sizes), DType::F32));
    }
    operands.extend(&inputs);
    let (carries, results) = (scan.carries, scan.results());
    let node = graph.push(Op::Scan(Arc::new(scan)), &operands);
    let y = graph.push(Op::Pick(carries, results[carries].0, results[carries].1), &[node]);
    let square = graph.mul(y, y);
    let sum = graph.reduce(Reduce::Sum, square, &[0, 1, 2]);
    let loss = graph.scale(sum, 1.0 / (TIME * BATCH * HIDDEN) as f64);
    let mut outputs = gradient(&mut graph, loss, &inputs).expect("a path to every input");
    outputs.push(loss);
    compile(&graph, &outputs, &[], &gpu())
}

fn loops(program: &Program) -> Vec<&Loop> {
    program.steps.iter().filter_map(as_loop).collect()
}

fn as_loop(step: &ProgramStep) -> Option<&Loop> {
    match &step.kernel {
        Kernel::Loop(of) => Some(of),
        _ => None,
    }
}

fn products(steps: &[ProgramStep]) -> usize {
    steps.iter().filter(|step| matches!(step.kernel, Kernel::Product(_))).count()
}

#[test]
fn an_lstm_multiplies_once_a_trip_each_way() {
    let program = trained(lstm());
    let loops = loops(&program);
    assert_eq!(loops.len(), 2, "{program}");
    assert_eq!(loops.iter().map(|of| products(&of.steps)).collect::<Vec<_>>(), [1, 1], "{program}");
    let kernels: Vec<usize> = loops.iter().map(|of| of.steps.len()).collect();
    assert_eq!(kernels, [2, 2], "{program}");
    assert_eq!(products(&program.steps), 1, "the weight's gradient, over all positions: {program}");
}

#[test]
fn a_gru_multiplies_once_a_trip_each_way() {
    let program = trained(gru());
    let loops = loops(&program);
    assert_eq!(loops.iter().map(|of| products(&of.steps)).collect::<Vec<_>>(), [1, 1], "{program}");
    let kernels: Vec<usize> = loops.iter().map(|of| of.steps.len()).collect();
    assert_eq!(kernels, [2, 2], "{program}");
    assert_eq!(products(&program.steps), 1, "the weight's gradient, over all positions: {program}");
}

/// A body of pointwise work on two carries, with a sequence, a constant and results.
fn pendulum(reverse: bool) -> Scan {
    let mut body = Graph::new();
    let size = shape(&[BATCH, HIDDEN]);
    let [angle, speed, push] = [0, 1, 2].map(|n| body.input(n, size, DType::F32));
    let weight = body.input(3, shape(&[HIDDEN]), DType::F32);
    let weight = body.reshape(weight, shape(&[1, HIDDEN]));
    let weight = body.expand(weight, size);
    let sin = body.unary(Unary::Sin, angle);
    let pull = body.mul(sin, weight);
    let force = body.add(pull, push);
    let speed = body.add(speed, force);
    let step = body.scale(speed, 0.1);
    let angle = body.add(angle, step);
    let energy = body.mul(speed, speed);
    Scan { body, outputs: vec![angle, speed, energy], carries: 2, sequences: 1, steps: TIME, reverse }
}

fn recurrences(program: &Program) -> usize {
    program.steps.iter().filter(|step| matches!(step.kernel, Kernel::Recurrence(_))).count()
}

#[test]
fn pointwise_bodies_are_one_kernel_each_way() {
    for reverse in [false, true] {
        let program = trained(pendulum(reverse));
        assert_eq!((recurrences(&program), loops(&program).len()), (2, 0), "{program}");
        // Beside the two loops: the loss, and the sum over positions and rows for the constant's gradient.
        assert!(program.steps.len() <= 6, "{program}");
    }
}

/// A program that is a scan of one carry from an input.
fn alone(size: &[usize], make: impl Fn(&mut Graph, NodeId) -> NodeId) -> Program {
    let mut body = Graph::new();
    let x = body.input(0, shape(size), DType::F32);
    let next = make(&mut body, x);
    let scan = Scan { body, outputs: vec![next], carries: 1, sequences: 0, steps: TIME, reverse: false };
    let mut graph = Graph::new();
    let start = graph.input(0, shape(size), DType::F32);
    let node = graph.push(Op::Scan(Arc::new(scan)), &[start]);
    let last = graph.push(Op::Pick(0, shape(size), DType::F32), &[node]);
    compile(&graph, &[last], &[], &gpu())
}

#[test]
fn what_mixes_elements_or_is_too_long_stays_a_loop() {
    let flipped = |graph: &mut Graph, x| {
        let turned = graph.push(Op::Flip(vec![1]), &[x]);
        graph.add(x, turned)
    };
    let summed = |graph: &mut Graph, x| {
        let (rows, size) = (graph.shape(x)[0], graph.shape(x));
        let sum = graph.reduce(Reduce::Sum, x, &[1]);
        let sum = graph.reshape(sum, shape(&[rows, 1]));
        let sum = graph.expand(sum, size);
        graph.add(x, sum)
    };
    let chain =
        |count: usize| move |graph: &mut Graph, x| (0..count).fold(x, |x, _| graph.unary(Unary::Sin, x));
    let woven = |program: &Program| (recurrences(program), program.steps.len());
    // A short axis is unrolled, a long one is not.
    assert_eq!(woven(&alone(&[1000, 8], flipped)), (1, 1));
    assert_eq!(woven(&alone(&[1000, 8], summed)), (1, 1));
    assert_eq!(recurrences(&alone(&[1000, 80], flipped)), 0);
    assert_eq!(recurrences(&alone(&[1000, 80], summed)), 0);
    assert_eq!(woven(&alone(&[1000], chain(200))), (1, 1));
    assert_eq!(recurrences(&alone(&[1000], chain(2000))), 0);
    assert_eq!(woven(&alone(&[], chain(3))), (1, 1));
}
