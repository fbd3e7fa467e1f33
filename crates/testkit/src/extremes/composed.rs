//! Values and derivatives of composed ops, as in PyTorch.

// Testing `x - x` is the point.
#![allow(clippy::eq_op)]

use farad::Order;
use farad::{Attention, PoolOptions, Tensor};
use farad_ir::DType;

use super::{ANY, Expected, Extreme};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;
const LN2: f64 = std::f64::consts::LN_2;

type ComposedFunction = fn(&[Tensor]) -> Tensor;

/// A function of one tensor, element by element: inputs, values, derivatives (empty: not tested).
type ComposedRow = (&'static str, ComposedFunction, &'static [f64], &'static [f64], &'static [f64]);

const POINTWISE: &[ComposedRow] = &[
    (
        "relu",
        |x| x[0].relu(),
        &[-1.0, 0.0, 2.0, NAN, INF, -INF],
        &[0.0, 0.0, 2.0, NAN, INF, 0.0],
        &[0.0, 0.0, 1.0, 1.0, 1.0, 0.0],
    ),
    (
        "relu6",
        |x| x[0].relu6(),
        &[-1.0, 0.0, 3.0, 6.0, 7.0, NAN, INF, -INF],
        &[0.0, 0.0, 3.0, 6.0, 6.0, NAN, 6.0, 0.0],
        &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    ),
    (
        "clamp",
        |x| x[0].clamp(-1.0, 1.0),
        &[-2.0, -1.0, 0.5, 1.0, 2.0, NAN, INF, -INF],
        &[-1.0, -1.0, 0.5, 1.0, 1.0, NAN, 1.0, -1.0],
        &[0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    ),
    (
        "clamp, turned",
        |x| x[0].clamp(1.0, -1.0),
        &[-2.0, 0.5, 2.0, NAN],
        &[-1.0, -1.0, -1.0, NAN],
        &[0.0, 0.0, 0.0, 0.0],
    ),
    (
        "hard_tanh",
        |x| x[0].hard_tanh(-1.0, 1.0),
        &[-2.0, -1.0, 0.5, 1.0, 2.0, NAN, INF, -INF],
        &[-1.0, -1.0, 0.5, 1.0, 1.0, NAN, 1.0, -1.0],
        &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    ),
    (
        "hard_sigmoid",
        |x| x[0].hard_sigmoid(),
        &[-4.0, -3.0, 0.0, 3.0, 4.0, NAN, INF, -INF],
        &[0.0, 0.0, 0.5, 1.0, 1.0, NAN, 1.0, 0.0],
        &[0.0, 0.0, 1.0 / 6.0, 0.0, 0.0, ANY, 0.0, 0.0],
    ),
    (
        "hard_swish",
        |x| x[0].hard_swish(),
        &[-4.0, -3.0, 0.0, 3.0, 4.0, NAN, INF],
        &[0.0, 0.0, 0.0, 3.0, 4.0, NAN, INF],
        &[0.0, 0.0, 0.5, 1.0, 1.0, ANY, ANY],
    ),
    (
        "leaky_relu",
        |x| x[0].leaky_relu(0.125),
        &[-1.0, 0.0, 1.0, NAN, INF, -INF],
        &[-0.125, 0.0, 1.0, NAN, INF, -INF],
        &[0.125, 0.125, 1.0, 0.125, 1.0, 0.125],
    ),
    (
        "elu",
        |x| x[0].elu(0.5),
        &[0.0, 1.0, NAN, INF, -INF],
        &[0.0, 1.0, NAN, INF, -0.5],
        &[0.5, 1.0, NAN, 1.0, 0.0],
    ),
    (
        "celu",
        |x| x[0].celu(2.0),
        &[0.0, 1.0, NAN, INF, -INF],
        &[0.0, 1.0, NAN, INF, -2.0],
        &[1.0, 1.0, NAN, 1.0, 0.0],
    ),
    ("softplus", |x| x[0].softplus(), &[0.0, NAN, INF, -INF], &[LN2, NAN, INF, 0.0], &[0.5, NAN, 1.0, 0.0]),
    (
        "log_sigmoid",
        |x| x[0].log_sigmoid(),
        &[0.0, NAN, INF, -INF],
        &[-LN2, NAN, 0.0, -INF],
        &[0.5, NAN, 0.0, 1.0],
    ),
    (
        "abs",
        |x| x[0].abs(),
        &[-1.0, 0.0, 1.0, INF, -INF, NAN],
        &[1.0, 0.0, 1.0, INF, INF, NAN],
        &[-1.0, 0.0, 1.0, 1.0, -1.0, ANY],
    ),
    (
        "gelu",
        |x| x[0].gelu(),
        &[-1e4, -20.0, 0.0, 1e4, NAN, INF],
        &[0.0, 0.0, 0.0, 1e4, NAN, INF],
        &[0.0, 0.0, 0.5, 1.0, NAN, ANY],
    ),
    (
        "silu",
        |x| x[0].silu(),
        &[-1e4, 0.0, 1e4, NAN, INF],
        &[0.0, 0.0, 1e4, NAN, INF],
        &[0.0, 0.5, 1.0, NAN, ANY],
    ),
    (
        "log of 1 - tanh²",
        |x| (1.0 - x[0].tanh().square()).log().is_nan(),
        &[7.5, 7.9, 8.0, 8.3, 8.7, 9.0, 9.1, -8.0, 100.0],
        &[0.0; 9],
        &[],
    ),
    ("pow 0", |x| x[0].pow(0.0), &[0.0, -1.0, 2.0, INF, NAN], &[1.0; 5], &[0.0; 5]),
    ("pow 1", |x| x[0].pow(1.0), &[0.0, -1.0, 2.0, INF, NAN], &[0.0, -1.0, 2.0, INF, NAN], &[1.0; 5]),
    (
        "pow 2",
        |x| x[0].pow(2.0),
        &[0.0, -1.0, 2.0, -INF, NAN],
        &[0.0, 1.0, 4.0, INF, NAN],
        &[0.0, -2.0, 4.0, -INF, NAN],
    ),
    (
        "pow 3",
        |x| x[0].pow(3.0),
        &[0.0, -1.0, 2.0, -INF, NAN],
        &[0.0, -1.0, 8.0, -INF, NAN],
        &[0.0, 3.0, 12.0, INF, NAN],
    ),
    (
        "remainder",
        |x| x[0].remainder(INF),
        &[5.0, -5.0, 0.0, INF, NAN],
        &[5.0, INF, 0.0, NAN, NAN],
        &[1.0, 1.0, 1.0, 1.0, 1.0],
    ),
    ("x - x", |x| &x[0] - &x[0], &[1.0, INF, -INF, NAN], &[0.0, NAN, NAN, NAN], &[0.0; 4]),
    ("x + -x", |x| &x[0] + -&x[0], &[1.0, INF, -INF, NAN], &[0.0, NAN, NAN, NAN], &[0.0; 4]),
    ("x / x", |x| &x[0] / &x[0], &[2.0, 0.0, INF, NAN], &[1.0, NAN, NAN, NAN], &[]),
    ("x * 0", |x| &x[0] * 0.0, &[2.0, INF, -INF, NAN], &[0.0, NAN, NAN, NAN], &[0.0; 4]),
    ("x ≠ x", |x| x[0].not_equal(&x[0]), &[1.0, INF, -0.0, NAN], &[0.0, 0.0, 0.0, 1.0], &[]),
    ("x = x", |x| x[0].equal(&x[0]), &[1.0, INF, -0.0, NAN], &[1.0, 1.0, 1.0, 0.0], &[]),
    ("not x < 1", |x| x[0].less(1.0).not(), &[1.0, INF, -INF, NAN], &[1.0, 1.0, 0.0, 1.0], &[]),
    (
        "cast to bool",
        |x| x[0].cast(DType::Bool),
        &[1.0, INF, 0.0, -0.0, NAN],
        &[1.0, 1.0, 0.0, 0.0, 1.0],
        &[],
    ),
    ("is_nan", |x| x[0].is_nan(), &[1.0, INF, -INF, 0.0, NAN], &[0.0, 0.0, 0.0, 0.0, 1.0], &[]),
    ("is_inf", |x| x[0].is_inf(), &[1.0, INF, -INF, 0.0, NAN], &[0.0, 1.0, 1.0, 0.0, 0.0], &[]),
    ("is_finite", |x| x[0].is_finite(), &[1.0, INF, -INF, 0.0, NAN], &[1.0, 0.0, 0.0, 1.0, 0.0], &[]),
    // The sign of a zero shows when something is divided by it.
    ("1 / (x + 0)", |x| 1.0 / (&x[0] + 0.0), &[0.0, -0.0, 1.0], &[INF, INF, 1.0], &[]),
    ("1 / (x + -0)", |x| 1.0 / (&x[0] + -0.0), &[0.0, -0.0, 1.0], &[INF, -INF, 1.0], &[]),
    ("1 / (x - 0)", |x| 1.0 / (&x[0] - 0.0), &[0.0, -0.0, 1.0], &[INF, -INF, 1.0], &[]),
    ("1 / (0 - x)", |x| 1.0 / (0.0 - &x[0]), &[0.0, -0.0, 1.0], &[INF, INF, -1.0], &[]),
    ("1 / (x · 1)", |x| 1.0 / (&x[0] * 1.0), &[0.0, -0.0, 1.0], &[INF, -INF, 1.0], &[]),
    ("1 / (x · -1)", |x| 1.0 / (&x[0] * -1.0), &[0.0, -0.0, 1.0], &[-INF, INF, -1.0], &[]),
    ("1 / -x", |x| 1.0 / -&x[0], &[0.0, -0.0, 1.0], &[-INF, INF, -1.0], &[]),
    ("1 / (x · 0)", |x| 1.0 / (&x[0] * 0.0), &[1.0, -1.0], &[INF, -INF], &[]),
];

/// Functions of two tensors of one length: operands, values, derivatives with respect to each.
type ComposedPair =
    (&'static str, ComposedFunction, [&'static [f64]; 2], &'static [f64], [&'static [f64]; 2]);

const PAIRS: &[ComposedPair] = &[
    (
        "binary_cross_entropy",
        |x| x[0].binary_cross_entropy(&x[1]),
        [&[NAN, 0.5], &[1.0, 1.0]],
        &[NAN],
        [&[ANY, ANY], &[ANY, ANY]],
    ),
    (
        "maximum",
        |x| x[0].maximum(&x[1]),
        [&[1.0, 2.0, NAN, 1.0, -INF], &[1.0, 1.0, 1.0, NAN, -INF]],
        &[1.0, 2.0, NAN, NAN, -INF],
        [&[0.5, 1.0, 1.0, 1.0, 0.5], &[0.5, 0.0, 1.0, 1.0, 0.5]],
    ),
    (
        "minimum",
        |x| x[0].minimum(&x[1]),
        [&[1.0, 2.0, NAN, 1.0, INF], &[1.0, 1.0, 1.0, NAN, INF]],
        &[1.0, 1.0, NAN, NAN, INF],
        [&[0.5, 0.0, 1.0, 1.0, 0.5], &[0.5, 1.0, 1.0, 1.0, 0.5]],
    ),
    (
        "pow",
        |x| x[0].pow(&x[1]),
        [&[0.0, 0.0, 0.0, 2.0, -2.0, 0.0], &[0.0, 1.0, 2.0, 0.0, 3.0, 0.5]],
        &[1.0, 0.0, 0.0, 1.0, -8.0, 0.0],
        [&[0.0, 1.0, 0.0, 0.0, 12.0, INF], &[0.0, 0.0, 0.0, LN2, NAN, 0.0]],
    ),
    (
        "clamp from below by a tensor",
        |x| x[0].clamp(&x[1], 9.0),
        [&[1.0, 1.0, 2.0, NAN, 1.0], &[2.0, 1.0, 1.0, 1.0, NAN]],
        &[2.0, 1.0, 2.0, NAN, NAN],
        [&[0.0, 1.0, 1.0, 0.0, 0.0], &[1.0, 0.0, 0.0, ANY, ANY]],
    ),
    (
        "x - y of equals",
        |x| &(&x[0] * 2.0) - &(&x[1] * 2.0),
        [&[1.0, INF, -INF], &[1.0, INF, -INF]],
        &[0.0, NAN, NAN],
        [&[2.0; 3], &[-2.0; 3]],
    ),
];

/// Functions of whole tensors: sizes, elements, values, derivatives.
type Whole =
    (&'static str, ComposedFunction, &'static [usize], &'static [f64], &'static [f64], &'static [f64]);

const N: f64 = NAN;
const M: f64 = -INF;

const WHOLE: &[Whole] = &[
    (
        "concat",
        |x| 1.0 / Tensor::concat(&[&x[0], &x[0]], 0),
        &[5],
        &[0.0, -0.0, INF, -INF, NAN],
        &[INF, -INF, 0.0, 0.0, NAN, INF, -INF, 0.0, 0.0, NAN],
        &[],
    ),
    (
        "logsumexp",
        |x| x[0].logsumexp([1]),
        &[6, 2],
        &[1.0, INF, M, M, INF, M, N, 1.0, M, 0.0, INF, INF],
        &[INF, M, INF, N, 0.0, INF],
        &[],
    ),
    (
        "logsumexp, slope",
        |x| x[0].logsumexp([1]),
        &[2, 2],
        &[M, 0.0, 3.0, 3.0],
        &[0.0, 3.0 + LN2],
        &[0.0, 1.0, 0.5, 0.5],
    ),
    (
        "softmax",
        |x| x[0].softmax(1),
        &[5, 2],
        &[1.0, INF, M, M, N, 1.0, M, 0.0, 2.0, 2.0],
        &[N, N, N, N, N, N, 0.0, 1.0, 0.5, 0.5],
        &[],
    ),
    ("softmax of one", |x| x[0].softmax(1), &[4, 1], &[1.0, INF, M, N], &[1.0, N, N, N], &[]),
    (
        "log_softmax",
        |x| x[0].log_softmax(1),
        &[5, 2],
        &[1.0, INF, M, M, N, 1.0, M, 0.0, 2.0, 2.0],
        &[N, N, N, N, N, N, M, 0.0, -LN2, -LN2],
        &[],
    ),
    (
        "max, slope",
        |x| x[0].max_axes([1]),
        &[3, 2],
        &[1.0, 2.0, 3.0, 3.0, M, M],
        &[2.0, 3.0, M],
        &[0.0, 1.0, 0.5, 0.5, 0.5, 0.5],
    ),
    (
        "sort",
        |x| x[0].sort(-1, Order::Ascending).0,
        &[1, 5],
        &[N, 1.0, INF, M, 0.0],
        &[M, 0.0, 1.0, INF, N],
        &[],
    ),
    (
        "topk, largest",
        |x| x[0].topk(2, -1, Order::Descending).0,
        &[2, 5],
        &[1.0, INF, N, M, 0.0, M, 2.0, 2.0, -0.0, 0.0],
        &[N, INF, 2.0, 2.0],
        &[0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0],
    ),
    (
        "topk, smallest",
        |x| x[0].topk(2, -1, Order::Ascending).0,
        &[2, 5],
        &[1.0, INF, N, M, 0.0, 0.0, 2.0, -0.0, 0.0, N],
        &[M, 0.0, 0.0, 0.0],
        &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
    ),
    ("any", |x| x[0].any_axes([1]), &[3, 2], &[N, 0.0, 0.0, 0.0, M, 0.0], &[1.0, 0.0, 1.0], &[]),
    (
        "max_pool1d side by side",
        |x| x[0].max_pool1d(PoolOptions::new(2)),
        &[1, 1, 8],
        &[1.0, N, N, 2.0, M, M, N, N],
        &[N, N, M, N],
        &[0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
    ),
    (
        "max_pool1d padded",
        |x| x[0].max_pool1d(PoolOptions::new(3).stride(2).padding(1)),
        &[1, 1, 7],
        &[M, M, M, M, 1.0, N, 2.0],
        &[M, M, N, N],
        &[1.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0],
    ),
    (
        "max_pool1d padded, apart",
        |x| x[0].max_pool1d(PoolOptions::new(2).padding(1)),
        &[1, 1, 4],
        &[M, M, M, 1.0],
        &[M, M, 1.0],
        &[1.0, 1.0, 0.0, 1.0],
    ),
    (
        "max_pool2d of infinities",
        |x| x[0].max_pool2d(PoolOptions::new(3).stride(2).padding(1)),
        &[1, 1, 3, 3],
        &[M; 9],
        &[M; 4],
        &[1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    ),
    (
        "max_pool2d large",
        |x| x[0].max_pool2d(PoolOptions::new(5)),
        &[1, 1, 5, 5],
        &[
            0.0, 1.0, M, 2.0, N, 0.0, 1.0, M, 2.0, 5.0, 0.0, 1.0, M, 2.0, 7.0, 0.0, 1.0, M, 2.0, 3.0, 0.0,
            1.0, M, 2.0, 3.0,
        ],
        &[N],
        &[],
    ),
    ("adaptive_max_pool1d", |x| x[0].adaptive_max_pool1d(2), &[1, 1, 3], &[M, M, N], &[M, N], &[]),
    (
        "attention",
        |x| attention(x, true),
        &[1, 3, 4],
        &[1.0, 1.0, 1.0, 1.0, N, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        &[2.0, 2.0, 2.0, 2.0, N, N, N, N, 2.0, 2.0, 2.0, 2.0],
        &[0.0, 0.0, 0.0, 0.0, N, N, N, N, 0.0, 0.0, 0.0, 0.0],
    ),
    (
        "attention without scores",
        |x| attention(x, false),
        &[1, 3, 4],
        &[1.0, 1.0, 1.0, 1.0, N, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        &[2.0, 2.0, 2.0, 2.0, N, N, N, N, 2.0, 2.0, 2.0, 2.0],
        &[0.0, 0.0, 0.0, 0.0, N, N, N, N, 0.0, 0.0, 0.0, 0.0],
    ),
    (
        "attention with a key that is no number",
        |x| {
            let (q, v) = (x[0].full_like(1.0), x[0].full_like(2.0));
            q.attention(&x[0], &v, &Attention::new().causal().composed(false))
        },
        &[1, 3, 4],
        &[1.0, 1.0, 1.0, 1.0, N, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        &[2.0, 2.0, 2.0, 2.0, N, N, N, N, N, N, N, N],
        &[],
    ),
];

/// Attention of queries to equal keys and values.
fn attention(x: &[Tensor], composed: bool) -> Tensor {
    let (k, v) = (x[0].full_like(1.0), x[0].full_like(2.0));
    x[0].attention(&k, &v, &Attention::new().composed(composed))
}

/// Everything in the tables.
pub(super) fn all(dtype: DType) -> Vec<Extreme> {
    let tolerance = (2e-6, if dtype == DType::F16 { 1e-3 } else { 1e-6 });
    let mut all = Vec::new();
    let mut add = |name: &str,
                   inputs: &[&[f64]],
                   sizes: &[usize],
                   function: ComposedFunction,
                   expected: Expected| {
        let inputs = inputs.iter().map(|x| (x.to_vec(), sizes.to_vec())).collect();
        all.push(Extreme { name: name.into(), inputs, function: Box::new(function), expected, tolerance });
    };
    for &(name, function, x, y, slopes) in POINTWISE {
        add(name, &[x], &[x.len()], function, Expected::Values(y.to_vec()));
        if !slopes.is_empty() {
            add(name, &[x], &[x.len()], function, Expected::Slopes(0, slopes.to_vec()));
        }
    }
    for &(name, function, x, y, slopes) in PAIRS {
        add(name, &x, &[x[0].len()], function, Expected::Values(y.to_vec()));
        for (at, slopes) in slopes.into_iter().enumerate() {
            add(name, &x, &[x[0].len()], function, Expected::Slopes(at, slopes.to_vec()));
        }
    }
    for &(name, function, sizes, x, y, slopes) in WHOLE {
        add(name, &[x], sizes, function, Expected::Values(y.to_vec()));
        if !slopes.is_empty() {
            add(name, &[x], sizes, function, Expected::Slopes(0, slopes.to_vec()));
        }
    }
    all
}
