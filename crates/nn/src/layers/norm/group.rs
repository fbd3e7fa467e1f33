//! Group norm: groups of channels of every sample by their own mean and variance.

use super::{by_channel, check_channels, filled, standardized};
use crate::layers::{Layer, Module, Parameter};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;
use farad_tensor::ensure;

/// Mean 0 and variance 1 over groups of channels and all their places, then scaled and shifted channel by channel:
/// `[batch, channels, ..] -> [batch, channels, ..]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::GroupNorm;
/// let x = Tensor::ones([2, 6, 4, 4], &Device::cpu());
/// assert_eq!(GroupNorm::new(3, 6).forward(&x).shape(), x.shape());
/// ```
#[derive(Clone, Debug, Module)]
pub struct GroupNorm {
    /// `[channels]`, starts with ones.
    pub weight: Option<Parameter>,
    /// `[channels]`, starts with zeros.
    pub bias: Option<Parameter>,
    groups: usize,
    channels: usize,
    epsilon: f64,
}

impl GroupNorm {
    /// With epsilon 1e-5.
    ///
    /// # Panics
    /// If the groups do not divide the channels.
    #[track_caller]
    pub fn new(groups: usize, channels: usize) -> GroupNorm {
        let divides = groups > 0 && channels.is_multiple_of(groups);
        ensure!(divides, "group_norm: groups do not divide channels ({channels} vs {groups})");
        let (weight, bias) = (Some(filled(1.0, &[channels])), Some(filled(0.0, &[channels])));
        GroupNorm { weight, bias, groups, channels, epsilon: 1e-5 }
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f64) -> GroupNorm {
        self.epsilon = epsilon;
        self
    }

    /// The layer without scale and shift.
    pub fn without_affine(mut self) -> GroupNorm {
        (self.weight, self.bias) = (None, None);
        self
    }
}

impl Layer for GroupNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("GroupNorm");
        check_channels("group_norm", x, self.channels);
        let shape = x.shape();
        let rows = shape[0] * self.groups;
        let long = shape[2..].iter().product::<usize>() * (self.channels / self.groups);
        let y = standardized(&x.single().reshape([rows, long]), &[-1], self.epsilon);
        by_channel(y.reshape(shape), &self.weight, &self.bias).rounded_like(x)
    }
}
