//! Root-mean-square norm: layer norm without the mean.

use farad_ir::Shape;
use farad_tensor::engine::inside;
use farad_tensor::kept;

use super::filled;
use super::layer::{LastAxes, last_axes};
use crate::layers::{Layer, Module, Parameter};
use farad_tensor::Tensor;

/// Mean square 1 along the last axes, then scaled: `[.., shape] -> [.., shape]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::RmsNorm;
/// let y = RmsNorm::new(2).forward(&Tensor::from_vec(vec![3.0, 3.0], [1, 2], &Device::cpu()));
/// assert!((y.to_vec::<f32>()?[1] - 1.0).abs() < 1e-4);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct RmsNorm {
    /// Of the shape that is normalized; starts with ones.
    pub weight: Option<Parameter>,
    #[module(skip)]
    shape: Shape,
    epsilon: f64,
}

impl RmsNorm {
    /// Over last axes of this shape, with the smallest epsilon that f32 knows beside 1.
    #[track_caller]
    pub fn new(shape: impl Into<LastAxes>) -> RmsNorm {
        let shape = shape.into().0;
        RmsNorm { weight: Some(filled(1.0, &shape)), shape, epsilon: f32::EPSILON as f64 }
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f64) -> RmsNorm {
        self.epsilon = epsilon;
        self
    }

    /// The layer without its scale.
    pub fn without_affine(mut self) -> RmsNorm {
        self.weight = None;
        self
    }
}

impl Layer for RmsNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("RmsNorm");
        let axes = last_axes("rms_norm", x, &self.shape);
        let wide = x.single();
        let y = &wide * (wide.square().mean_axes(kept(&axes)) + self.epsilon).rsqrt();
        match &self.weight {
            Some(weight) => (y * weight.value()).rounded_like(x),
            None => y.rounded_like(x),
        }
    }
}
