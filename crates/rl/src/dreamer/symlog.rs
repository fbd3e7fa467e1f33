//! Numbers of any size as targets: symlog, and two-hot distributions over bins that are even in symlog.
//!
//! Invariant: the mean of a two-hot target is the number that it was made of, as far as the outermost bins reach, and
//! equal logits mean exactly 0.

use farad::{Device, Tensor, kept};

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
        // Stored, or every bin would work it out again.
        let off = x.clamp(-reach, reach).computed_once().unsqueeze(-1) - &self.places;
        let [up, down] = [&off * &self.below + 1.0, 1.0 - &off * &self.above];
        up.minimum(down).relu()
    }

    /// The cross-entropies of logits `[.., bins]` for some numbers `[..]` each, added up: `[..]`.
    pub fn loss(&self, logits: &Tensor, numbers: &[&Tensor]) -> Tensor {
        let targets = numbers.iter().map(|x| self.target(x)).reduce(|a, b| a + b).expect("at least one");
        let top = logits.max_axes(kept([-1])).stop_gradient().computed_once();
        let sum = (logits - &top).exp().sum_axes([-1]).log() + top.squeeze(-1);
        // The shares of a target add up to 1, so the logarithm of the sum counts once for each.
        sum * numbers.len() as f64 - (targets.stop_gradient() * logits).sum_axes([-1])
    }

    /// The means of the distributions of logits `[.., bins]`: `[..]`. No gradient passes.
    pub fn mean(&self, logits: &Tensor) -> Tensor {
        let (half, logits) = (BINS / 2, logits.stop_gradient());
        let top = logits.max_axes(kept([-1])).computed_once();
        let part = |from: usize, count: usize| (logits.narrow(-1, from, count) - &top).exp();
        // Opposite bins first, so that huge numbers of either sign cancel.
        let upper = part(half + 1, half);
        let lower = (logits.narrow(-1, 0, half).flip(&[-1]) - &top).exp();
        let sum = (&upper + &lower).sum_axes([-1]) + part(half, 1).squeeze(-1);
        (((upper - lower) * &self.upper).sum_axes([-1]) / sum).computed_once()
    }
}
