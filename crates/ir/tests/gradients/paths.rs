//! How gradients propagate: shared inputs, cut paths, checkpoints, and rejected cases.

use farad_ir::reference::{Values, evaluate_outputs};
use farad_ir::{DType, Graph, NodeId, Op, OpError, Reduce, Shape, Unary, gradient};

use crate::check::{Draw, Sample, check};

fn float(x: &[f64]) -> Values {
    Values::Float(x.to_vec())
}

/// `x` of shape `[2]`, and a graph that contains only it.
fn start() -> (Graph, NodeId) {
    let mut graph = Graph::new();
    let x = graph.input(0, [2].into(), DType::F32);
    (graph, x)
}

fn total(graph: &mut Graph, x: NodeId) -> NodeId {
    let axes: Vec<usize> = (0..graph.shape(x).rank()).collect();
    graph.reduce(Reduce::Sum, x, &axes)
}

#[test]
fn shared_inputs_add_up() {
    let mut draw = Draw(31);
    check("x·x + x", &[Sample::random(&mut draw, [4])], |graph, x| {
        let square = graph.mul(x[0], x[0]);
        graph.add(square, x[0])
    });
    let (mut graph, x) = start();
    let square = graph.mul(x, x);
    let sum = graph.add(square, x);
    let loss = total(&mut graph, sum);
    let g = gradient(&mut graph, loss, &[x]).unwrap();
    assert_eq!(evaluate_outputs(&graph, &[float(&[3.0, -1.0])], &[], &g), [float(&[7.0, -1.0])]);
}

#[test]
fn third_order() {
    let (mut graph, x) = start();
    let square = graph.mul(x, x);
    let mut y = graph.mul(square, square);
    for _ in 0..3 {
        let loss = total(&mut graph, y);
        y = gradient(&mut graph, loss, &[x]).unwrap()[0];
    }
    // (x⁴)''' = 24 x
    assert_eq!(evaluate_outputs(&graph, &[float(&[2.0, -0.5])], &[], &[y]), [float(&[48.0, -12.0])]);
}

#[test]
fn stop_gradient_holds_a_factor() {
    let (mut graph, x) = start();
    let held = graph.push(Op::StopGradient, &[x]);
    let product = graph.mul(x, held);
    let loss = total(&mut graph, product);
    let g = gradient(&mut graph, loss, &[x]).unwrap();
    assert_eq!(evaluate_outputs(&graph, &[float(&[3.0, -1.0])], &[], &g), [float(&[3.0, -1.0])]);
}

#[test]
fn gradients_at_inner_nodes() {
    let (mut graph, x) = start();
    let inner = graph.mul(x, x);
    let y = graph.mul(inner, inner);
    let loss = total(&mut graph, y);
    let alone = gradient(&mut graph, loss, &[inner]).unwrap();
    assert_eq!(evaluate_outputs(&graph, &[float(&[3.0, -1.0])], &[], &alone), [float(&[18.0, 2.0])]);
    // Also asking for an inner node does not cut the path to the nodes before it.
    let both = gradient(&mut graph, loss, &[x, inner]).unwrap();
    let expected = [float(&[108.0, -4.0]), float(&[18.0, 2.0])];
    assert_eq!(evaluate_outputs(&graph, &[float(&[3.0, -1.0])], &[], &both), expected);
    let twice = gradient(&mut graph, loss, &[inner, inner]).unwrap();
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn the_loss_itself_has_gradient_one() {
    let (mut graph, x) = start();
    let loss = total(&mut graph, x);
    let g = gradient(&mut graph, loss, &[loss]).unwrap();
    assert_eq!(evaluate_outputs(&graph, &[float(&[3.0, -1.0])], &[], &g), [float(&[1.0])]);
}

#[test]
fn checkpoints_compute_again() {
    let mut draw = Draw(32);
    let samples = [Sample::random(&mut draw, [2, 3]), Sample::random(&mut draw, [3, 3])];
    let build = |graph: &mut Graph, x: &[NodeId], region: Option<u32>| {
        let first = graph.nodes.len();
        let product = graph.contract(farad_ir::Contraction::matmul(&[], 2, 3, 3), x[0], x[1]);
        let bent = graph.unary(Unary::Tanh, product);
        let squashed = graph.unary(Unary::Exp, bent);
        graph.nodes[first..].iter_mut().for_each(|node| node.region = region);
        graph.mul(squashed, squashed)
    };
    check("checkpoint", &samples, |graph, x| build(graph, x, Some(3)));
    let tanhs = |region: Option<u32>| {
        let mut graph = Graph::new();
        let x = [0, 1].map(|n| graph.input(n, samples[n].shape, DType::F32));
        let y = build(&mut graph, &x, region);
        let loss = total(&mut graph, y);
        gradient(&mut graph, loss, &x).unwrap();
        graph.nodes.iter().filter(|node| node.op == Op::Unary(Unary::Tanh)).count()
    };
    assert_eq!((tanhs(None), tanhs(Some(3))), (1, 2), "tanh is computed again for the gradient");
}

#[test]
fn refusals() {
    let shape = Shape::new(&[2]);
    let (mut graph, x) = start();
    let held = graph.push(Op::StopGradient, &[x]);
    let loss = total(&mut graph, held);
    let cut = gradient(&mut graph, loss, &[x]).unwrap_err();
    assert_eq!(cut, OpError::NoPath { index: 0, shape });
    let text = "gradient: the result does not depend on input 0, [2], through differentiable ops\n\
                help: `stop_gradient`, integers and comparisons end a path";
    assert_eq!(cut.to_string(), text);

    let (mut graph, x) = start();
    let whole = graph.cast(x, DType::I32);
    let back = graph.cast(whole, DType::F32);
    let loss = total(&mut graph, back);
    assert_eq!(gradient(&mut graph, loss, &[x]), Err(OpError::NoPath { index: 0, shape }));

    let (mut graph, x) = start();
    let other = graph.input(1, [2].into(), DType::F32);
    let loss = total(&mut graph, x);
    assert_eq!(gradient(&mut graph, loss, &[x, other]), Err(OpError::NoPath { index: 1, shape }));

    let text = "gradient: the loss must be one number: [2] (2 elements vs 1)\n\
                help: reduce it first, with `.mean()` or `.sum()`";
    assert_eq!(gradient(&mut graph, x, &[x]).unwrap_err().to_string(), text);

    let loss = graph.cast(loss, DType::I32);
    let text = "gradient: a loss of dtype i32 has no gradient";
    assert_eq!(gradient(&mut graph, loss, &[x]).unwrap_err().to_string(), text);
}
