//! Rows of the unary and binary tables, select and cast.

use farad_ir::reference::{Values, evaluate_outputs};
use farad_ir::{Binary, DType, Graph, Op, OpError, Scalar, Unary, gradient};

use crate::check::{Draw, Sample, check};

const LEN: usize = 12;

#[test]
fn unary_rows() {
    let mut draw = Draw(1);
    let rows = Unary::ALL.iter().filter(|op| op.row().gradient.is_some());
    let mut checked = 0;
    for &op in rows {
        let mut x = draw.list(LEN, op.row().range);
        if matches!(op, Unary::Abs | Unary::Relu) {
            x.iter_mut().filter(|x| x.abs() < 0.01).for_each(|x| *x = 0.5);
        }
        check(op.row().name, &[Sample::new([3, 4], x)], |graph, x| graph.unary(op, x[0]));
        checked += 1;
    }
    assert_eq!(checked, 17, "a row came or went: say so here");
}

#[test]
fn binary_rows() {
    let mut draw = Draw(2);
    // The gradient of a join assumes parts padded with zeros; concatenations are checked in `testkit`.
    let rows = Binary::ALL.iter().filter(|op| op.row().gradient.is_some() && **op != Binary::Join);
    let mut checked = 0;
    for &op in rows {
        let (at_a, at_b) = op.row().range;
        let (mut a, b) = (draw.list(LEN, at_a), draw.list(LEN, at_b));
        if matches!(op, Binary::Max | Binary::Min) {
            a.iter_mut().zip(&b).filter(|(a, b)| (**a - **b).abs() < 0.01).for_each(|(a, _)| *a += 0.1);
        }
        let samples = [Sample::new([LEN], a), Sample::new([LEN], b)];
        check(op.row().name, &samples, |graph, x| graph.binary(op, x[0], x[1]));
        checked += 1;
    }
    assert_eq!(checked, 8, "a row came or went: say so here");
}

#[test]
fn remainder_beyond_the_first_period() {
    // Quotients -2.5 … 3.5: their integer parts differ, and none is near a jump.
    let b = vec![1.1, 1.7, 2.3, 2.9, 0.7, -1.3];
    let a: Vec<f64> = b.iter().zip([-2.5, -1.4, -0.6, 1.3, 2.6, 3.5]).map(|(b, q)| b * q).collect();
    check("rem, wide", &[Sample::new([6], a), Sample::new([6], b)], |graph, x| {
        graph.binary(Binary::Rem, x[0], x[1])
    });
}

#[test]
fn power_of_a_negative_base() {
    let x = Draw(3).list(LEN, (-3.0, -0.3));
    for exponent in [2.0, 3.0, -1.0] {
        check(&format!("pow {exponent}"), &[Sample::new([LEN], x.clone())], |graph, x| {
            let exponent = graph.fill_like(x[0], exponent);
            graph.binary(Binary::Pow, x[0], exponent)
        });
    }
}

#[test]
fn power_has_no_slope_in_the_exponent_where_a_logarithm_has_none() {
    let mut graph = Graph::new();
    let [base, exponent] = [0, 1].map(|n| graph.input(n, [2].into(), DType::F32));
    let y = graph.binary(Binary::Pow, base, exponent);
    let y = graph.reduce(farad_ir::Reduce::Sum, y, &[0]);
    let found = gradient(&mut graph, y, &[base, exponent]).unwrap();
    let inputs = [Values::Float(vec![-2.0, 0.0]), Values::Float(vec![2.0, 2.0])];
    let values = evaluate_outputs(&graph, &inputs, &[], &found);
    assert_eq!(values[0], Values::Float(vec![-4.0, 0.0]));
    let slopes = values[1].to_f64();
    assert!(slopes[0].is_nan() && slopes[1] == 0.0, "{slopes:?}");
}

#[test]
fn ties_share() {
    for op in [Binary::Max, Binary::Min] {
        let mut graph = Graph::new();
        let [a, b] = [0, 1].map(|n| graph.input(n, [1].into(), DType::F32));
        let y = graph.binary(op, a, b);
        let found = gradient(&mut graph, y, &[a, b]).unwrap();
        let one = Values::Float(vec![1.0]);
        let values = evaluate_outputs(&graph, &[one.clone(), one], &[], &found);
        assert_eq!(values.iter().map(|g| g.to_f64()[0]).collect::<Vec<_>>(), [0.5, 0.5], "{}", op.row().name);
    }
}

#[test]
fn select_takes_the_chosen_side() {
    let mut draw = Draw(4);
    let samples = [Sample::random(&mut draw, [3, 4]), Sample::random(&mut draw, [3, 4])];
    check("select", &samples, |graph, x| {
        // The condition depends on an input but has no gradient.
        let limit = graph.fill_like(x[0], 0.3);
        let condition = graph.binary(Binary::Greater, x[0], limit);
        let square = graph.mul(x[0], x[1]);
        graph.select(condition, square, x[1])
    });
}

#[test]
fn casts_between_floats() {
    let mut draw = Draw(5);
    check("cast", &[Sample::random(&mut draw, [5])], |graph, x| {
        let half = graph.cast(x[0], DType::F16);
        let square = graph.mul(half, half);
        graph.cast(square, DType::F32)
    });
}

#[test]
fn rows_without_a_gradient_end_the_path() {
    for &op in Unary::ALL.iter().filter(|op| op.row().gradient.is_none() && op.takes(DType::F32)) {
        let mut graph = Graph::new();
        let x = graph.input(0, [1].into(), DType::F32);
        let y = graph.unary(op, x);
        let expected = OpError::NoPath { index: 0, shape: [1].into() };
        assert_eq!(gradient(&mut graph, y, &[x]), Err(expected), "{}", op.row().name);
    }
    for &op in Binary::ALL.iter().filter(|op| op.row().gradient.is_none() && op.takes(DType::F32)) {
        let mut graph = Graph::new();
        let x = graph.input(0, [1].into(), DType::F32);
        let limit = graph.fill(Scalar::f32(0.5), [1].into());
        let y = graph.binary(op, x, limit);
        let y = graph.push(Op::Cast(DType::F32), &[y]);
        let expected = OpError::NoPath { index: 0, shape: [1].into() };
        assert_eq!(gradient(&mut graph, y, &[x]), Err(expected), "{}", op.row().name);
    }
}
