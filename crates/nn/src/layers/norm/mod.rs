//! Layers that give features a mean of 0 and a variance of 1. Start at [`BatchNorm2d`](super::BatchNorm2d) or
//! [`LayerNorm`](super::LayerNorm).
//!
//! Invariant: a variance is the mean of squares after the mean was subtracted, in f32: no difference of large
//! numbers.

mod batch;
mod group;
mod instance;
mod layer;
mod ranks;
mod rms;

pub use batch::{BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d};
pub use group::GroupNorm;
pub use instance::{InstanceNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d};
pub use layer::{LastAxes, LayerNorm};
pub(crate) use ranks::SUM_OVER_RANKS;
pub use rms::RmsNorm;

use farad_ir::Shape;
use farad_tensor::ensure;
use farad_tensor::kept;

use super::Parameter;
use farad_tensor::Device;
use farad_tensor::Tensor;

/// A parameter that starts with one number, in memory as every later value: so the first step's program is that of all.
#[track_caller]
fn filled(number: f32, shape: &[usize]) -> Parameter {
    let count = Shape::new(shape).numel();
    Parameter::new(Tensor::from_vec(vec![number; count], shape, &Device::cpu()))
}

/// The tensor without its mean along axes, and the mean of its squares then.
#[track_caller]
fn centered(x: &Tensor, mean: &Tensor, axes: &[isize]) -> (Tensor, Tensor) {
    let centered = x - mean;
    let variance = centered.square().mean_axes(kept(axes));
    (centered, variance)
}

/// Mean 0 and variance 1 along axes.
#[track_caller]
fn standardized(x: &Tensor, axes: &[isize], epsilon: f64) -> Tensor {
    let (centered, variance) = centered(x, &x.mean_axes(kept(axes)), axes);
    centered * (variance + epsilon).rsqrt()
}

/// Scaled and shifted channel by channel: axis 1 of the tensor.
#[track_caller]
fn by_channel(x: Tensor, weight: &Option<Parameter>, bias: &Option<Parameter>) -> Tensor {
    let spatial = x.rank() - 2;
    let along = |parameter: &Parameter| {
        let value = parameter.value();
        let sizes: Vec<usize> = [value.numel()].into_iter().chain(vec![1; spatial]).collect();
        value.reshape(sizes)
    };
    let x = match weight {
        Some(weight) => x * along(weight),
        None => x,
    };
    match bias {
        Some(bias) => x + along(bias),
        None => x,
    }
}

/// Panics unless axis 1 has as many channels as the layer.
#[track_caller]
fn check_channels(op: &str, x: &Tensor, channels: usize) {
    let shape = x.shape();
    ensure!(shape.rank() >= 2, "{op}: rank too low: {shape} ({} vs at least 2)", shape.rank());
    ensure!(shape[1] == channels, "{op}: channels differ: {shape} ({} vs {channels})", shape[1]);
}
