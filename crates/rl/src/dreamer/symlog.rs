//! Numbers of any size as targets: symlog, and two-hot distributions over bins that are even in symlog.
//!
//! Invariant: the mean of a two-hot target is the number that it was made of, as far as the outermost bins reach, and
//! equal logits mean exactly 0.

use farad::{Device, Tensor};

/// Bins of a two-hot distribution.
pub(super) const BINS: usize = 255;
/// The outermost bins in symlog.
const REACH: f64 = 20.0;

/// `sign(x) · ln(1 + |x|)`.
pub(super) fn symlog(x: &Tensor) -> Tensor {
    x.sign() * x.abs().log1p()
}

/// The places of all bins, from lowest to highest.
fn bins() -> Vec<f64> {
    let symexp = |x: f64| x.signum() * x.abs().exp_m1();
    (0..BINS).map(|n| symexp((n as f64 / (BINS / 2) as f64 - 1.0) * REACH)).map(|x| x + 0.0).collect()
}

fn row(numbers: impl IntoIterator<Item = f64>, device: &Device) -> Tensor {
    let numbers: Vec<f32> = numbers.into_iter().map(|x| x as f32).collect();
    let count = numbers.len();
    Tensor::from_vec(numbers, [count], device)
}

/// The bins with the distances to their neighbors; made once, as constants of a program.
#[derive(Clone)]
pub(super) struct TwoHot {
    places: Tensor,
    /// One over the distance to the bin below, and above.
    below: Tensor,
    above: Tensor,
    /// The bins above the middle.
    upper: Tensor,
}

impl TwoHot {
    pub fn new(device: &Device) -> TwoHot {
        // In f32, so that neighbors agree on the distance between them.
        let places: Vec<f64> = bins().iter().map(|&x| f64::from(x as f32)).collect();
        let last = BINS - 1;
        let slope = |from: usize, to: usize| 1.0 / (places[to] - places[from]);
        TwoHot {
            below: row((0..BINS).map(|n| if n == 0 { 1.0 } else { slope(n - 1, n) }), device),
            above: row((0..BINS).map(|n| if n == last { 1.0 } else { slope(n, n + 1) }), device),
            upper: row(places[BINS / 2 + 1..].iter().copied(), device),
            places: row(places, device),
        }
    }

    /// Numbers `[..]` as distributions `[.., bins]`: all weight on the two bins around each.
    pub fn target(&self, x: &Tensor) -> Tensor {
        let reach = REACH.exp_m1();
        let off = x.clamp(-reach, reach).unsqueeze(-1) - &self.places;
        let [up, down] = [&off * &self.below + 1.0, 1.0 - &off * &self.above];
        up.minimum(down).clamp(0.0, 1.0)
    }

    /// The cross-entropy of logits `[.., bins]` for numbers `[..]`: `[..]`.
    pub fn loss(&self, logits: &Tensor, x: &Tensor) -> Tensor {
        -(self.target(x).stop_gradient() * logits.log_softmax(-1)).sum_axes([-1])
    }

    /// The means of the distributions of logits `[.., bins]`: `[..]`.
    pub fn mean(&self, logits: &Tensor) -> Tensor {
        let half = BINS / 2;
        let shares = logits.softmax(-1);
        // Opposite bins first, so that huge numbers of either sign cancel.
        let upper = shares.narrow(-1, half + 1, half);
        let lower = shares.narrow(-1, 0, half).flip(&[-1]);
        ((upper - lower) * &self.upper).sum_axes([-1])
    }
}
