//! Convolution layers. Start at [`Conv2d`](super::Conv2d).

mod convolution;
mod transposed;

pub use convolution::{Conv, Conv1d, Conv2d, Conv3d};
pub use transposed::{ConvTranspose, ConvTranspose1d, ConvTranspose2d};

use super::Parameter;
use farad_tensor::Device;
use farad_tensor::Tensor;

/// Uniform in ±1/√fan, drawn from the CPU's random numbers: what layers of weights begin with.
#[track_caller]
pub(super) fn uniform(shape: &[usize], fan: usize) -> Parameter {
    let bound = 1.0 / (fan.max(1) as f64).sqrt();
    Parameter::new((Tensor::rand(shape, &Device::cpu()) * 2.0 - 1.0) * bound)
}

/// A bias a channel, added along axis 1 of `[batch, channels, ..]` or axis 0 of `[channels, ..]`, before
/// `spatial` axes.
#[track_caller]
fn with_bias(y: Tensor, bias: &Option<Parameter>, spatial: usize) -> Tensor {
    match bias {
        Some(bias) => {
            let bias = bias.value();
            let sizes: Vec<usize> = [bias.numel()].into_iter().chain(vec![1; spatial]).collect();
            y + bias.reshape(sizes)
        }
        None => y,
    }
}
