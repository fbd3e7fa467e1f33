//! Movement, reductions, gather, scatter-add and pack.

use farad_ir::reference::{Values, evaluate_outputs};
use farad_ir::{DType, Graph, Op, OpError, Reduce, Shape, Span, gradient};

use crate::check::{Draw, Sample, check};

fn span(start: usize, len: usize, step: usize) -> Span {
    Span { start, len, step }
}

#[test]
fn movement() {
    let mut draw = Draw(11);
    let cases = [
        ("reshape", Op::Reshape([6, 2].into())),
        ("reshape to rank 1", Op::Reshape([12].into())),
        ("permute", Op::Permute(vec![2, 0, 1])),
        ("pad", Op::Pad(vec![(1, 0), (0, 2), (3, 1)])),
        ("slice", Op::Slice(vec![span(1, 1, 1), span(0, 3, 1), span(1, 1, 1)])),
        ("slice by 2", Op::Slice(vec![span(0, 1, 2), span(0, 2, 2), span(0, 2, 1)])),
        ("slice by 2, short", Op::Slice(vec![span(0, 2, 1), span(1, 1, 2), span(1, 1, 5)])),
        ("flip", Op::Flip(vec![0, 2])),
    ];
    for (name, op) in cases {
        check(name, &[Sample::random(&mut draw, [2, 3, 2])], |graph, x| graph.push(op.clone(), x));
    }
    let long = Op::Slice(vec![span(2, 3, 3)]);
    check("slice by 3", &[Sample::random(&mut draw, [11])], |graph, x| graph.push(long.clone(), x));
    let deep = Shape::new(&[2, 1, 3, 1, 2, 1, 1, 3]);
    let spans = deep.iter().map(|&size| if size == 3 { span(0, 2, 2) } else { span(0, size, 1) }).collect();
    let op = Op::Slice(spans);
    check("slice at rank 8", &[Sample::random(&mut draw, deep)], |graph, x| graph.push(op.clone(), x));
}

#[test]
fn expand_sums() {
    let mut draw = Draw(12);
    let samples = [Sample::random(&mut draw, [1, 3, 1]), Sample::random(&mut draw, [2, 3, 4])];
    check("expand", &samples, |graph, x| {
        let wide = graph.expand(x[0], [2, 3, 4].into());
        graph.mul(wide, x[1])
    });
    check("spread", &[Sample::random(&mut draw, Shape::scalar())], |graph, x| {
        graph.spread(x[0], [2, 3].into())
    });
}

#[test]
fn slice_of_nothing_has_a_zero_gradient() {
    let mut graph = Graph::new();
    let x = graph.input(0, [5].into(), DType::F32);
    let none = graph.push(Op::Slice(vec![span(5, 0, 2)]), &[x]);
    let loss = graph.reduce(Reduce::Sum, none, &[0]);
    let g = gradient(&mut graph, loss, &[x]).unwrap();
    let values = evaluate_outputs(&graph, &[Values::Float(vec![1.0; 5])], &[], &g);
    assert_eq!(values, [Values::Float(vec![0.0; 5])]);
}

#[test]
fn reduce_rows() {
    let mut draw = Draw(13);
    for &op in Reduce::ALL {
        let name = op.row().name;
        if op.row().gradient.is_none() {
            let mut graph = Graph::new();
            let x = graph.input(0, [3].into(), DType::F32);
            let y = graph.reduce(op, x, &[0]);
            let y = graph.cast(y, DType::F32);
            let expected = OpError::NoPath { index: 0, shape: [3].into() };
            assert_eq!(gradient(&mut graph, y, &[x]), Err(expected), "{name}");
            continue;
        }
        for axes in [&[0][..], &[1], &[2], &[0, 2], &[2, 1], &[0, 1, 2]] {
            let samples = [Sample::new([2, 3, 4], draw.distinct(24))];
            check(&format!("{name} over {axes:?}"), &samples, |graph, x| graph.reduce(op, x[0], axes));
        }
    }
}

#[test]
fn products_with_zeros() {
    let mut draw = Draw(19);
    for (length, zeros) in [(1, 1), (2, 1), (3, 1), (5, 2), (6, 3), (8, 0)] {
        let mut row = draw.list(2 * length, (0.5, 2.0));
        row[..zeros].fill(0.0);
        let name = format!("prod of {length} with {zeros} zeros");
        check(&name, &[Sample::new([2, length], row)], |graph, x| graph.reduce(Reduce::Prod, x[0], &[1]));
    }
}

#[test]
fn reduction_ties_share() {
    let mut graph = Graph::new();
    let x = graph.input(0, [2, 3].into(), DType::F32);
    let most = graph.reduce(Reduce::Max, x, &[1]);
    let least = graph.reduce(Reduce::Min, x, &[1]);
    let both = graph.add(most, least);
    let loss = graph.reduce(Reduce::Sum, both, &[0]);
    let g = gradient(&mut graph, loss, &[x]).unwrap();
    let values = evaluate_outputs(&graph, &[Values::Float(vec![1.0, 1.0, 0.0, 2.0, 2.0, 2.0])], &[], &g);
    let third = 1.0 / 3.0 + 1.0 / 3.0;
    assert_eq!(values, [Values::Float(vec![0.5, 0.5, 1.0, third, third, third])]);
}

#[test]
fn softmax() {
    let mut draw = Draw(14);
    check("softmax", &[Sample::new([3, 4], draw.distinct(12))], |graph, x| {
        let wide = Shape::new(&[3, 4]);
        let column = |graph: &mut Graph, y| {
            let y = graph.reshape(y, [3, 1].into());
            graph.expand(y, wide)
        };
        let most = graph.reduce(Reduce::Max, x[0], &[1]);
        let most = column(graph, most);
        let shifted = graph.sub(x[0], most);
        let e = graph.unary(farad_ir::Unary::Exp, shifted);
        let sum = graph.reduce(Reduce::Sum, e, &[1]);
        let sum = column(graph, sum);
        graph.div(e, sum)
    });
}

#[test]
fn gather_and_scatter() {
    let mut draw = Draw(15);
    let cases = [
        (0, Sample::index([3, 4], &[1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0])),
        (0, Sample::index([3, 1], &[1, 1, 0])),
        (1, Sample::index([2, 5], &[3, 3, 0, 1, 3, 2, 0, 0, 0, 2])),
        (1, Sample::index([1, 2], &[2, 2])),
    ];
    for (n, (axis, index)) in cases.into_iter().enumerate() {
        let samples = [Sample::random(&mut draw, [2, 4]), index.clone()];
        check(&format!("gather {n}"), &samples, |graph, x| graph.push(Op::Gather(axis), x));
        let source = Sample::random(&mut draw, samples[0].shape.with(axis, index.shape[axis]));
        check(&format!("scatter_add {n}"), &[source, index], |graph, x| {
            graph.push(Op::ScatterAdd(axis, 6), x)
        });
    }
}

#[test]
fn sorted_values() {
    let mut draw = Draw(17);
    for descending in [false, true] {
        let samples = [Sample::new([3, 7], draw.distinct(21))];
        check("sort", &samples, |graph, x| {
            let order = graph.push(Op::Order(descending), x);
            graph.push(Op::Gather(1), &[x[0], order])
        });
        check("topk", &samples, |graph, x| {
            let top = graph.push(Op::Top(descending, 3), x);
            graph.push(Op::Gather(1), &[x[0], top])
        });
    }
}

#[test]
fn a_sorted_gradient_is_gathered_back() {
    let mut graph = Graph::new();
    let x = graph.input(0, [4].into(), farad_ir::DType::F32);
    let order = graph.push(Op::Order(false), &[x]);
    let sorted = graph.push(Op::Gather(0), &[x, order]);
    let squares = graph.mul(sorted, sorted);
    let squares = graph.mul(squares, sorted);
    let loss = graph.reduce(Reduce::Sum, squares, &[0]);
    let g = gradient(&mut graph, loss, &[x]).unwrap()[0];
    let once = graph.reduce(Reduce::Sum, g, &[0]);
    let twice = gradient(&mut graph, once, &[x]).unwrap()[0];
    let scatters = graph.nodes.iter().filter(|node| matches!(node.op, Op::ScatterAdd(..))).count();
    let orders = graph.nodes.iter().filter(|node| matches!(node.op, Op::Order(_))).count();
    // Each backward pass takes the inverse of the order; the inverse of that is the order itself.
    assert_eq!((scatters, orders), (0, 3));
    let values = evaluate_outputs(&graph, &[Values::Float(vec![3.0, -1.0, 2.0, 0.5])], &[], &[g, twice]);
    assert_eq!(values[0], Values::Float(vec![27.0, 3.0, 12.0, 0.75]));
    assert_eq!(values[1], Values::Float(vec![18.0, -6.0, 12.0, 3.0]));
}

#[test]
fn pack() {
    let mut draw = Draw(16);
    let samples = [Sample::random(&mut draw, [2, 2]), Sample::random(&mut draw, [3])];
    check("pack", &samples, |graph, x| graph.push(Op::Pack(vec![5, 1], 10), x));
}
