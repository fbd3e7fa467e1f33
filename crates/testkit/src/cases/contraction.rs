//! Contractions over index maps: convolutions with stride, padding, dilation and groups.

use farad::{Contraction, IndexMap};

use super::{HALF, SIGNED};
use crate::case::{Case, float, half};

/// One spatial axis of a convolution.
#[derive(Clone, Copy)]
struct WindowAxis {
    size: usize,
    kernel: usize,
    stride: i64,
    pad: i64,
    dilation: i64,
}

impl WindowAxis {
    fn output(&self) -> usize {
        let reach = self.dilation * (self.kernel as i64 - 1) + 1;
        ((self.size as i64 + 2 * self.pad - reach) / self.stride + 1) as usize
    }

    /// The position that output axis `y` and kernel axis `k` read.
    fn map(&self, y: usize, k: usize) -> IndexMap {
        IndexMap { terms: vec![(y, self.stride), (k, self.dilation)], offset: -self.pad, divisor: 1 }
    }
}

/// `[batch, groups, inputs, w..] × [groups, outputs, inputs, k..] -> [batch, groups, outputs, w'..]`.
fn convolution(
    batch: usize,
    groups: usize,
    inputs: usize,
    outputs: usize,
    windows: &[WindowAxis],
) -> (Contraction, Vec<usize>, Vec<usize>) {
    // Axes: batch, group, output, one per window; then input, one per kernel axis.
    let d = windows.len();
    let (channel, kernel) = (3 + d, 4 + d);
    let mut sizes = vec![batch, groups, outputs];
    sizes.extend(windows.iter().map(WindowAxis::output));
    sizes.push(inputs);
    sizes.extend(windows.iter().map(|w| w.kernel));
    let axis = IndexMap::axis;
    let mut lhs = vec![axis(0), axis(1), axis(channel)];
    lhs.extend(windows.iter().enumerate().map(|(n, w)| w.map(3 + n, kernel + n)));
    let mut rhs = vec![axis(1), axis(2), axis(channel)];
    rhs.extend((0..d).map(|n| axis(kernel + n)));
    let shape = |lead: [usize; 3], last: fn(&WindowAxis) -> usize| {
        lead.into_iter().chain(windows.iter().map(last)).collect()
    };
    let image = shape([batch, groups, inputs], |w| w.size);
    let weight = shape([groups, outputs, inputs], |w| w.kernel);
    (Contraction { sizes, out: (0..3 + d).collect(), lhs, rhs, high: false }, image, weight)
}

fn case(detail: &str, [batch, groups, inputs, outputs]: [usize; 4], windows: &[WindowAxis]) -> Case {
    let (contraction, image, weight) = convolution(batch, groups, inputs, outputs, windows);
    let inputs = vec![float(image, SIGNED), float(weight, SIGNED)];
    Case::new("contract", detail, inputs, 2e-6, move |x| x[0].contract(&x[1], contraction.clone()))
}

pub(super) fn cases() -> Vec<Case> {
    let w = |size, kernel, stride, pad, dilation| WindowAxis { size, kernel, stride, pad, dilation };
    let mut cases = vec![
        case("one axis", [2, 1, 3, 4], &[w(13, 3, 1, 0, 1)]),
        case("padding", [2, 1, 3, 4], &[w(13, 3, 1, 1, 1)]),
        case("stride", [1, 1, 3, 4], &[w(14, 3, 2, 1, 1)]),
        case("stride that leaves a rest", [1, 1, 2, 3], &[w(16, 3, 3, 0, 1)]),
        case("dilation", [1, 1, 2, 3], &[w(15, 3, 1, 2, 2)]),
        case("stride and dilation", [1, 1, 2, 3], &[w(19, 3, 2, 3, 3)]),
        case("groups", [2, 3, 2, 4], &[w(9, 3, 1, 1, 1)]),
        case("depthwise", [2, 5, 1, 1], &[w(11, 3, 2, 1, 1)]),
        case("kernel of one", [2, 1, 5, 6], &[w(7, 1, 1, 0, 1)]),
        case("kernel as large as the image", [2, 1, 3, 4], &[w(5, 5, 1, 0, 1)]),
        case("image", [2, 1, 3, 5], &[w(8, 3, 1, 1, 1), w(9, 3, 1, 1, 1)]),
        case("image, strides", [2, 1, 3, 5], &[w(9, 3, 2, 1, 1), w(10, 2, 3, 0, 1)]),
        case("image, dilation and groups", [1, 2, 2, 3], &[w(9, 3, 1, 2, 2), w(8, 2, 2, 1, 1)]),
        case("volume", [1, 1, 2, 3], &[w(4, 2, 1, 0, 1), w(5, 3, 2, 1, 1), w(4, 2, 1, 1, 1)]),
        // From here on there is enough work for a matrix product.
        case("larger image", [2, 1, 8, 17], &[w(17, 3, 1, 1, 1), w(17, 3, 1, 1, 1)]),
        case("larger, rows of four", [3, 1, 5, 20], &[w(8, 3, 1, 1, 1), w(12, 3, 1, 1, 1)]),
        case("larger, strides", [3, 1, 7, 18], &[w(17, 3, 2, 1, 1), w(16, 3, 3, 0, 1)]),
        case("larger, dilation", [2, 1, 6, 16], &[w(16, 3, 1, 2, 2), w(12, 2, 1, 1, 3)]),
        case("larger, groups", [2, 3, 6, 10], &[w(9, 3, 1, 1, 1), w(12, 3, 1, 1, 1)]),
        case("larger, kernel of one", [3, 1, 40, 20], &[w(7, 1, 1, 0, 1), w(9, 1, 1, 0, 1)]),
        case("larger, kernel of one, strides", [3, 1, 40, 20], &[w(7, 1, 2, 0, 1), w(9, 1, 2, 0, 1)]),
        case("larger, one axis", [4, 1, 12, 20], &[w(50, 5, 1, 2, 1)]),
        case("larger volume", [2, 1, 4, 9], &[w(6, 3, 1, 1, 1), w(5, 3, 1, 1, 1), w(7, 2, 2, 0, 1)]),
        case("no image left but its channels", [20, 1, 32, 24], &[w(3, 3, 1, 0, 1), w(3, 3, 1, 0, 1)]),
    ];
    let (contraction, image, weight) = convolution(2, 1, 3, 5, &[w(8, 3, 2, 1, 1), w(9, 3, 1, 1, 1)]);
    let inputs = vec![half(image, SIGNED), half(weight, SIGNED)];
    cases.push(Case::new("contract", "image", inputs, 2.0 * HALF, move |x| {
        x[0].contract(&x[1], contraction.clone())
    }));
    let (contraction, image, weight) = convolution(3, 1, 16, 20, &[w(8, 3, 1, 1, 1), w(9, 3, 1, 1, 1)]);
    let inputs = vec![half(image, SIGNED), half(weight, SIGNED)];
    cases.push(Case::new("contract", "larger image", inputs, 2.0 * HALF, move |x| {
        x[0].contract(&x[1], contraction.clone())
    }));
    cases.extend(others());
    cases
}

/// Sums of products that are neither a matmul nor a convolution.
fn others() -> Vec<Case> {
    let axis = IndexMap::axis;
    let outer = Contraction {
        sizes: vec![17, 9],
        out: vec![0, 1],
        lhs: vec![axis(0)],
        rhs: vec![axis(1)],
        high: false,
    };
    let dot = Contraction {
        sizes: vec![6, 7],
        out: vec![],
        lhs: vec![axis(0), axis(1)],
        rhs: vec![axis(0), axis(1)],
        high: false,
    };
    let pointwise = Contraction {
        sizes: vec![6, 7],
        out: vec![1, 0],
        lhs: vec![axis(0), axis(1)],
        rhs: vec![axis(0), axis(1)],
        high: false,
    };
    let alone = Contraction {
        sizes: vec![6, 7, 5],
        out: vec![0],
        lhs: vec![axis(0), axis(1)],
        rhs: vec![axis(2)],
        high: false,
    };
    let of = |detail: &str, lhs: &[usize], rhs: &[usize], contraction: Contraction| {
        let inputs = vec![float(lhs, SIGNED), float(rhs, SIGNED)];
        Case::new("contract", detail, inputs, 2e-6, move |x| x[0].contract(&x[1], contraction.clone()))
    };
    vec![
        of("outer product", &[17], &[9], outer),
        of("inner product of matrices", &[6, 7], &[6, 7], dot).of_size(6.0),
        of("pointwise product, transposed", &[6, 7], &[6, 7], pointwise),
        of("sums of each operand apart", &[6, 7], &[5], alone).of_size(6.0),
    ]
}
