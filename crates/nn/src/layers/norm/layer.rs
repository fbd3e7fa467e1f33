//! Layer norm: every sample by its own mean and variance.

use farad_ir::Shape;
use farad_tensor::engine::{inside, refuse};
use farad_tensor::ensure;

use super::{filled, standardized};
use crate::layers::{Layer, Module, Parameter};
use farad_tensor::Tensor;

/// Mean 0 and variance 1 along the last axes, then scaled and shifted: `[.., shape] -> [.., shape]`.
///
/// ```
/// use farad::prelude::*;
/// let layer = LayerNorm::new(2);
/// let y = layer.forward(&Tensor::from_vec(vec![1.0, 3.0], [1, 2], &Device::cpu()));
/// assert!((y.to_vec::<f32>()?[1] - 1.0).abs() < 1e-4);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LayerNorm {
    /// Of the shape that is normalized; starts with ones.
    pub weight: Option<Parameter>,
    /// Of the shape that is normalized; starts with zeros.
    pub bias: Option<Parameter>,
    #[module(skip)]
    shape: Shape,
    epsilon: f64,
}

impl LayerNorm {
    /// Over last axes of this shape, with epsilon 1e-5.
    #[track_caller]
    pub fn new(shape: impl Into<LastAxes>) -> LayerNorm {
        let shape = shape.into().0;
        let (weight, bias) = (Some(filled(1.0, &shape)), Some(filled(0.0, &shape)));
        LayerNorm { weight, bias, shape, epsilon: 1e-5 }
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f64) -> LayerNorm {
        self.epsilon = epsilon;
        self
    }

    /// The layer without its shift.
    pub fn without_bias(mut self) -> LayerNorm {
        self.bias = None;
        self
    }

    /// The layer without scale and shift.
    pub fn without_affine(mut self) -> LayerNorm {
        (self.weight, self.bias) = (None, None);
        self
    }
}

impl Layer for LayerNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("LayerNorm");
        let axes = last_axes("layer_norm", x, &self.shape);
        let mut y = standardized(&x.single(), &axes, self.epsilon);
        if let Some(weight) = &self.weight {
            y = y * weight.value();
        }
        if let Some(bias) = &self.bias {
            y = y + bias.value();
        }
        y.rounded_like(x)
    }
}

/// The sizes of the last axes: one size, or several.
pub struct LastAxes(pub(super) Shape);

impl From<usize> for LastAxes {
    fn from(size: usize) -> LastAxes {
        LastAxes(Shape::new(&[size]))
    }
}

impl<const R: usize> From<[usize; R]> for LastAxes {
    fn from(sizes: [usize; R]) -> LastAxes {
        LastAxes(Shape::new(&sizes))
    }
}

/// The numbers of the last axes; panics unless they are of this shape.
#[track_caller]
pub(super) fn last_axes(op: &str, x: &Tensor, shape: &Shape) -> Vec<isize> {
    let (own, rank) = (x.shape(), shape.rank());
    ensure!(own.rank() >= rank, "{op}: rank too low: {own} ({} vs at least {rank})", own.rank());
    let last = &own[own.rank() - rank..];
    if let Some(axis) = (0..rank).find(|&axis| last[axis] != shape[axis]) {
        refuse(format_args!("{op}: last axes differ: {own} and {shape} ({} vs {})", last[axis], shape[axis]));
    }
    (1..=rank as isize).rev().map(|axis| -axis).collect()
}
