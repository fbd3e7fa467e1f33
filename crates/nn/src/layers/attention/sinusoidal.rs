//! Places as waves of many lengths.

use super::angles::Angles;
use crate::layers::{Layer, Module};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// Adds to every row of a sequence the sines (even columns) and cosines (odd columns) of its place, in waves
/// from 2π to 10000 · 2π rows long: `[.., time, width] -> [.., time, width]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::SinusoidalPositions;
/// let y = SinusoidalPositions::new(4).forward(&Tensor::zeros([1, 2, 4], &Device::cpu()));
/// let y = y.to_vec::<f32>()?;
/// assert_eq!(y[..4], [0.0, 1.0, 0.0, 1.0]);
/// assert!((y[4] - 1f32.sin()).abs() < 1e-6 && (y[7] - 0.01f32.cos()).abs() < 1e-6);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct SinusoidalPositions {
    width: usize,
    #[module(skip)]
    angles: Angles,
}

impl SinusoidalPositions {
    /// For rows of this width.
    pub fn new(width: usize) -> SinusoidalPositions {
        SinusoidalPositions { width, angles: Angles::new(10_000.0, width) }
    }

    /// As [`Layer::forward`], with the first row at place `offset`.
    #[track_caller]
    pub fn forward_from(&self, x: &Tensor, offset: usize) -> Tensor {
        let (time, width) = (x.size(-2), self.width);
        let (sin, cos) = self.angles.range(offset, time, x.device());
        let waves = Tensor::stack(&[&sin, &cos], 2).reshape([time, width.next_multiple_of(2)]);
        x + waves.narrow(1, 0, width)
    }
}

impl Layer for SinusoidalPositions {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("SinusoidalPositions");
        self.forward_from(x, 0)
    }
}
