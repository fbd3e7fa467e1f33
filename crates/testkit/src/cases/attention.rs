//! Attention with its kernels and composed, with all options.

use farad::{Attention, Tensor};

use super::SIGNED;
use crate::case::{Case, Given, Input, float, half, int, truth};

/// Queries `[batch, heads, queries, width]`, then keys and values.
fn inputs([batch, heads, key_heads, queries, keys, width]: [usize; 6]) -> Vec<Input> {
    let other = [batch, key_heads, keys, width];
    vec![float([batch, heads, queries, width], SIGNED), float(other, SIGNED), float(other, SIGNED)]
}

fn case(
    detail: &str,
    sizes: [usize; 6],
    more: Vec<Input>,
    options: impl Fn(&Given) -> Attention + Send + Sync + 'static,
) -> Case {
    let inputs = inputs(sizes).into_iter().chain(more).collect();
    Case::new("attention", detail, inputs, 5e-6, move |x| x[0].attention(&x[1], &x[2], &options(x)))
}

/// The kernels, which GPUs would not choose for so few keys.
fn kernels() -> Attention {
    Attention::new().composed(false)
}

pub(super) fn cases() -> Vec<Case> {
    let plain = |_: &Given| kernels();
    let causal = |_: &Given| kernels().causal();
    vec![
        case("", [2, 3, 3, 7, 9, 8], vec![], plain),
        case("one query", [1, 2, 2, 1, 33, 16], vec![], plain),
        case("odd width", [1, 2, 2, 9, 11, 5], vec![], causal),
        case("wide", [1, 1, 1, 19, 21, 128], vec![], causal),
        case("twenty vectors", [1, 1, 1, 9, 17, 80], vec![], causal),
        case("causal, several blocks", [1, 2, 2, 65, 65, 16], vec![], causal),
        case("causal, fewer queries", [1, 1, 1, 5, 40, 64], vec![], causal),
        case("causal, fewer keys", [1, 1, 1, 40, 5, 8], vec![], causal),
        case("after cached keys", [1, 2, 2, 5, 40, 8], vec![], |_| kernels().offset(35)),
        case("scaled", [1, 2, 2, 5, 6, 8], vec![], |_| kernels().scale(0.1)),
        case("shared heads", [2, 6, 2, 9, 10, 12], vec![], causal),
        case("some keys", [3, 2, 1, 6, 37, 8], vec![truth([3, 37])], |x| kernels().key_mask(&x[3])),
        case("some keys, causal", [3, 2, 2, 6, 7, 8], vec![truth([7])], |x| {
            kernels().causal().key_mask(&x[3])
        }),
        case("lengths", [4, 2, 2, 6, 37, 8], vec![int([4], 0, 37)], |x| kernels().key_lengths(&x[3])),
        case("truth values", [2, 3, 3, 6, 7, 8], vec![truth([6, 7])], |x| kernels().mask(&x[3])),
        case("added", [2, 3, 3, 6, 7, 8], vec![float([3, 6, 7], SIGNED)], |x| kernels().mask(&x[3])),
        case("composed", [2, 4, 2, 6, 7, 8], vec![], |_| Attention::new().causal().composed(true)),
        case("no keys", [1, 2, 2, 3, 0, 4], vec![], plain).without_gradient(),
        Case::new("attention", "no batch", vec![float([9, 12], SIGNED); 3], 5e-6, |x| {
            x[0].attention(&x[1], &x[2], &kernels())
        }),
        Case::new(
            "attention",
            "values of another width",
            vec![float([2, 5, 8], SIGNED), float([2, 6, 8], SIGNED), float([2, 6, 3], SIGNED)],
            5e-6,
            |x| x[0].attention(&x[1], &x[2], &kernels()),
        ),
        Case::new("attention", "f16", vec![half([2, 9, 16], SIGNED); 3], 4e-3, |x| {
            x[0].attention(&x[1], &x[2], &kernels().causal())
        }),
        Case::new("attention", "of a projection", vec![float([2, 9, 24], SIGNED)], 5e-6, |x| {
            let parts = x[0].reshape([2, 9, 3, 2, 4]).permute(&[2, 0, 3, 1, 4]);
            let part = |n: isize| -> Tensor { parts.slice(n) };
            let y = part(0).attention(&part(1), &part(2), &kernels().causal());
            y.permute(&[0, 2, 1, 3]).reshape([2, 9, 8])
        }),
    ]
}
