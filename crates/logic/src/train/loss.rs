//! The distance of a roll-out's end from its target, one number per seed.

use farad::Tensor;

use crate::settings::{AutomatonSettings, Loss};

/// The sum over everything but the first axis. `[seeds, ...] -> [seeds]`
pub fn per_seed(x: &Tensor) -> Tensor {
    let axes: Vec<isize> = (1..x.rank() as isize).collect();
    x.sum_axes(&axes)
}

/// The loss of the visible result, one number per seed. `[seeds, batch, height, width, visible] -> [seeds]`
pub fn sum(settings: &AutomatonSettings, seen: &Tensor, target: &Tensor) -> Tensor {
    let difference = seen - target;
    let each = match settings.loss {
        Loss::Squared => difference.square(),
        Loss::CrossEntropy => surprise(&difference),
        Loss::Focal => {
            let distance = difference.abs().maximum(1e-6);
            surprise(&difference) * (distance.log() * settings.focus as f64).exp()
        }
    };
    per_seed(&each)
}

/// `-log` of the probability that the bit is right; states between 0 and 1 are probabilities.
fn surprise(difference: &Tensor) -> Tensor {
    -((1.0 - difference.abs()).maximum(1e-4).log())
}
