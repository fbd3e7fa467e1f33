//! Every error that building an op can give, word for word.

use std::sync::Arc;

use farad_ir::{Binary, Contraction, DType, Graph, NodeId, Op, OpError, Reduce, Scan, Shape, Span, Unary};

type Operand = (Shape, DType);

fn f32<const N: usize>(sizes: [usize; N]) -> Operand {
    (Shape::new(&sizes), DType::F32)
}

fn of<const N: usize>(dtype: DType, sizes: [usize; N]) -> Operand {
    (Shape::new(&sizes), dtype)
}

#[track_caller]
fn refuses(op: Op, operands: &[Operand], text: &str) {
    let error = op.infer(operands).expect_err(text);
    assert_eq!(error.to_string(), text);
}

#[test]
fn dtypes() {
    let cast = "\nhelp: cast it first, e.g. `.cast(DType::F32)`";
    refuses(Op::Unary(Unary::Exp), &[of(DType::I32, [2])], "exp: dtype not supported: i32");
    refuses(Op::Unary(Unary::Not), &[f32([2])], "not: dtype not supported: f32");
    refuses(Op::Unary(Unary::Neg), &[of(DType::BF16, [2])], &format!("neg: dtype not supported: bf16{cast}"));
    refuses(Op::Binary(Binary::And), &[f32([2]), f32([2])], "and: dtype not supported: f32");
    refuses(Op::Binary(Binary::Add), &[f32([2]), of(DType::I32, [2])], "add: dtypes differ: f32 and i32");
    refuses(Op::Select, &[f32([2]), f32([2]), f32([2])], "select: dtype not supported: f32");
    let condition = of(DType::Bool, [2]);
    refuses(Op::Select, &[condition, f32([2]), of(DType::F16, [2])], "select: dtypes differ: f32 and f16");
    let brain = of(DType::BF16, [2]);
    refuses(Op::Select, &[condition, brain, brain], &format!("select: dtype not supported: bf16{cast}"));
    refuses(Op::Reduce(Reduce::Sum, vec![0]), &[condition], "sum: dtype not supported: bool");
    refuses(Op::Gather(0), &[f32([2]), f32([2])], "gather: dtype not supported: f32");
    let index = of(DType::I32, [2]);
    refuses(Op::Gather(0), &[brain, index], &format!("gather: dtype not supported: bf16{cast}"));
    refuses(Op::ScatterAdd(0, 3), &[f32([2]), condition], "scatter_add: dtype not supported: bool");
    refuses(Op::ScatterAdd(0, 3), &[condition, index], "scatter_add: dtype not supported: bool");
    refuses(Op::Order(false), &[brain], &format!("sort: dtype not supported: bf16{cast}"));
    refuses(Op::Top(false, 1), &[brain], &format!("topk: dtype not supported: bf16{cast}"));
    let nowhere = "scatter_add: axis 0 of [0] has no elements to index: by [2] (0 vs 1)";
    refuses(Op::ScatterAdd(0, 0), &[f32([2]), index], nowhere);
    let nothing = "gather: axis 0 of [0] has no elements to index: by [2] (0 vs 1)";
    refuses(Op::Gather(0), &[f32([0]), index], nothing);
    let matmul = Op::Contract(Arc::new(Contraction::matmul(&[], 2, 2, 2)));
    let whole = of(DType::I32, [2, 2]);
    refuses(
        matmul.clone(),
        &[whole, whole],
        "contract: dtype not supported: i32\nhelp: convolutions and contractions are of floats; cast first, e.g. `.cast(DType::F32)`",
    );
    refuses(matmul, &[f32([2, 2]), of(DType::F16, [2, 2])], "matmul: dtypes differ: f32 and f16");
}

#[test]
fn pointwise_shapes() {
    let add = || Op::Binary(Binary::Add);
    refuses(add(), &[f32([2, 3]), f32([2, 4])], "add: shapes differ: [2, 3] and [2, 4] (3 vs 4)");
    refuses(add(), &[f32([2, 3]), f32([3])], "add: ranks differ: [2, 3] and [3] (2 vs 1)");
    let condition = of(DType::Bool, [2]);
    refuses(Op::Select, &[condition, f32([3]), f32([3])], "select: shapes differ: [2] and [3] (2 vs 3)");
    refuses(Op::Select, &[condition, f32([2]), f32([])], "select: ranks differ: [2] and [] (1 vs 0)");
}

#[test]
fn movement() {
    let to = Shape::new;
    refuses(Op::Reshape(to(&[4])), &[f32([2, 3])], "reshape: element counts differ: [2, 3] to [4] (6 vs 4)");
    refuses(Op::Permute(vec![0, 2]), &[f32([2, 3])], "permute: axis out of range: [2, 3] (axis 2 vs rank 2)");
    refuses(Op::Permute(vec![1, 1]), &[f32([2, 3])], "permute: axis given twice: [1, 1] (axis 1)");
    let text = "permute: every axis is named once: [2, 3] by [1] (1 vs 2)";
    refuses(Op::Permute(vec![1]), &[f32([2, 3])], text);
    refuses(Op::Expand(to(&[2, 3])), &[f32([3])], "expand: ranks differ: [3] and [2, 3] (1 vs 2)");
    let text = "expand: only axes of size 1 grow: [2, 1] to [4, 3] (axis 0: 2 vs 4)";
    refuses(Op::Expand(to(&[4, 3])), &[f32([2, 1])], text);
    refuses(Op::Pad(vec![(1, 1)]), &[f32([2, 3])], "pad: one pair of widths per axis: [2, 3] (1 vs 2)");
    let span = |start, len, step| Span { start, len, step };
    refuses(Op::Slice(vec![]), &[f32([5])], "slice: one span per axis: [5] (0 vs 1)");
    refuses(
        Op::Slice(vec![span(0, 2, 0)]),
        &[f32([5])],
        "slice: step must be at least 1: axis 0 (step 0 vs 1)",
    );
    refuses(Op::Slice(vec![span(1, 3, 2)]), &[f32([5])], "slice: out of range: [5] axis 0 (end 6 vs size 5)");
    refuses(Op::Slice(vec![span(6, 0, 1)]), &[f32([5])], "slice: out of range: [5] axis 0 (end 6 vs size 5)");
    refuses(Op::Flip(vec![1]), &[f32([5])], "flip: axis out of range: [5] (axis 1 vs rank 1)");
    refuses(Op::Flip(vec![0, 0]), &[f32([5])], "flip: axis given twice: [0, 0] (axis 0)");
}

#[test]
fn reductions() {
    let reduce = |op, axes: &[usize]| Op::Reduce(op, axes.to_vec());
    refuses(reduce(Reduce::Sum, &[2]), &[f32([2, 3])], "sum: axis out of range: [2, 3] (axis 2 vs rank 2)");
    refuses(reduce(Reduce::Min, &[0, 1, 0]), &[f32([2, 3])], "min: axis given twice: [0, 1, 0] (axis 0)");
    refuses(reduce(Reduce::ArgMax, &[0, 1]), &[f32([2, 3])], "argmax: takes one axis (2 vs 1)");
    let text = "max: nothing to reduce: [2, 0] has no elements along [1] (0 vs at least 1)";
    refuses(reduce(Reduce::Max, &[1]), &[f32([2, 0])], text);
}

#[test]
fn indices() {
    let index = |sizes: [usize; 2]| of(DType::I32, sizes);
    refuses(
        Op::Gather(2),
        &[f32([2, 3]), index([2, 3])],
        "gather: axis out of range: [2, 3] (axis 2 vs rank 2)",
    );
    let flat = of(DType::I32, [3]);
    refuses(Op::Gather(0), &[f32([2, 3]), flat], "gather: ranks differ: [2, 3] and [3] (2 vs 1)");
    let text = "gather: index tensor does not fit: [2, 3] indexed by [4, 5] along axis 1 (3 vs 5)";
    refuses(Op::Gather(0), &[f32([2, 3]), index([4, 5])], text);
    let text = "scatter_add: axis out of range: [2, 3] (axis 3 vs rank 2)";
    refuses(Op::ScatterAdd(3, 4), &[f32([2, 3]), index([2, 3])], text);
    let text = "scatter_add: index tensor does not fit: [2, 3] indexed by [2, 2] along axis 1 (3 vs 2)";
    refuses(Op::ScatterAdd(1, 4), &[f32([2, 3]), index([2, 2])], text);
    let text = "scatter_add: index tensor does not fit: [2, 3] indexed by [3, 3] along axis 0 (2 vs 3)";
    refuses(Op::ScatterAdd(1, 4), &[f32([2, 3]), index([3, 3])], text);
}

#[test]
fn pack_and_scan() {
    refuses(Op::Pack(vec![0, 2], 4), &[f32([2])], "pack: takes 2 operands (1 vs 2)");
    let mut body = Graph::new();
    let [carry, x] = [0, 1].map(|n| body.input(n, Shape::new(&[2]), DType::F32));
    let sum = body.add(carry, x);
    let scan = Scan { body, outputs: vec![sum], carries: 1, sequences: 1, steps: 3, reverse: false };
    let scan = || Op::Scan(Arc::new(scan.clone()));
    assert_eq!(scan().infer(&[f32([2]), f32([3, 2])]), Ok(f32([2])));
    refuses(scan(), &[f32([2])], "scan: takes 2 operands (1 vs 2)");
    refuses(scan(), &[f32([2]), f32([4, 2])], "scan: a sequence's first axis is time: [4, 2] (4 vs 3)");
    refuses(scan(), &[f32([2]), f32([])], "scan: a sequence's first axis is time: [] (0 vs 3)");
    refuses(scan(), &[f32([5]), f32([3, 2])], "scan: a carry keeps its shape: [5] to [2] (5 vs 2)");
}

/// Errors that callers of [`Op::infer`] give, not [`Op::infer`] itself.
#[test]
fn broadcasting_and_matmul() {
    let (lhs, rhs) = (Shape::new(&[32, 784]), Shape::new(&[128, 10]));
    let inner = OpError::Inner { lhs, rhs, a: 784, b: 128 };
    assert_eq!(inner.to_string(), "matmul: inner sizes differ: lhs [32, 784], rhs [128, 10] (784 vs 128)");
    let broadcast = OpError::Broadcast { op: "add", lhs, rhs, axis: 1, a: 784, b: 10 };
    let text = "add: shapes do not broadcast: lhs [32, 784], rhs [128, 10] (axis 1: 784 vs 10)";
    assert_eq!(broadcast.to_string(), text);
    let low = OpError::RankTooLow { op: "matmul", shape: Shape::scalar(), rank: 0, least: 1 };
    assert_eq!(low.to_string(), "matmul: rank too low: [] (0 vs at least 1)");
    let high = OpError::RankTooHigh { op: "stack", sizes: vec![1; 9], rank: 9 };
    assert_eq!(high.to_string(), "stack: rank too high: [1, 1, 1, 1, 1, 1, 1, 1, 1] (9 vs at most 8)");
    let none =
        OpError::NoGradient { op: "sort".into(), help: "\nhelp: gather by the indices instead".into() };
    assert_eq!(none.to_string(), "gradient: sort has no gradient\nhelp: gather by the indices instead");
}

#[test]
#[should_panic(expected = "mul: shapes differ: [2] and [3] (2 vs 3)")]
fn push_panics_with_the_message() {
    let mut graph = Graph::new();
    let ids: [NodeId; 2] = [2, 3].map(|size| graph.input(0, Shape::new(&[size]), DType::F32));
    graph.mul(ids[0], ids[1]);
}
