//! Instance norm: every channel of every sample by its own mean and variance.

use super::{by_channel, check_channels, filled, standardized};
use crate::layers::{Layer, Module, Parameter, Visitor};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;
use farad_tensor::ensure;

/// Instance norm over `N` spatial axes: [`InstanceNorm1d`], [`InstanceNorm2d`], [`InstanceNorm3d`]. Starts without scale
/// and shift; it keeps no running statistics.
#[derive(Clone, Debug)]
pub struct InstanceNorm<const N: usize> {
    /// `[channels]`, if asked for; starts with ones.
    pub weight: Option<Parameter>,
    /// `[channels]`, if asked for; starts with zeros.
    pub bias: Option<Parameter>,
    channels: usize,
    epsilon: f64,
}

/// Instance norm of `[batch, channels, length]`; the shape stays.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::InstanceNorm1d;
/// let x = Tensor::ones([2, 3, 9], &Device::cpu());
/// assert_eq!(InstanceNorm1d::new(3).forward(&x).shape(), x.shape());
/// ```
pub type InstanceNorm1d = InstanceNorm<1>;

/// Instance norm of images `[batch, channels, height, width]`; the shape stays.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::InstanceNorm2d;
/// let x = Tensor::ones([2, 3, 5, 5], &Device::cpu());
/// assert_eq!(InstanceNorm2d::new(3).affine().forward(&x).shape(), x.shape());
/// ```
pub type InstanceNorm2d = InstanceNorm<2>;

/// Instance norm of volumes `[batch, channels, depth, height, width]`; the shape stays.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::InstanceNorm3d;
/// let x = Tensor::ones([2, 3, 2, 4, 4], &Device::cpu());
/// assert_eq!(InstanceNorm3d::new(3).forward(&x).shape(), x.shape());
/// ```
pub type InstanceNorm3d = InstanceNorm<3>;

impl<const N: usize> InstanceNorm<N> {
    /// With epsilon 1e-5, without scale and shift.
    pub fn new(channels: usize) -> InstanceNorm<N> {
        InstanceNorm { weight: None, bias: None, channels, epsilon: 1e-5 }
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f64) -> InstanceNorm<N> {
        self.epsilon = epsilon;
        self
    }

    /// The layer with scale and shift.
    pub fn affine(mut self) -> InstanceNorm<N> {
        self.weight = Some(filled(1.0, &[self.channels]));
        self.bias = Some(filled(0.0, &[self.channels]));
        self
    }
}

impl<const N: usize> Module for InstanceNorm<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.child("weight", &self.weight);
        visitor.child("bias", &self.bias);
    }

    fn kind(&self) -> String {
        format!("InstanceNorm{N}d")
    }
}

impl<const N: usize> Layer for InstanceNorm<N> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside(["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"][N - 1]);
        let op = format!("instance_norm{N}d");
        check_channels(&op, x, self.channels);
        let rank = x.rank();
        ensure!(rank == N + 2, "{op}: input has {} axes: {} ({rank} vs {})", N + 2, x.shape(), N + 2);
        let places = x.numel() / (x.shape()[0] * self.channels).max(1);
        ensure!(places > 1, "{op}: more than one place is needed: {} ({places} vs 2)", x.shape());
        let axes: Vec<isize> = (2..rank as isize).collect();
        let y = standardized(&x.single(), &axes, self.epsilon);
        by_channel(y, &self.weight, &self.bias).rounded_like(x)
    }
}
