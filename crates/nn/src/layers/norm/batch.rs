//! Batch norm: every channel by the mean and variance of the batch, or by their running averages.
//!
//! The running averages are pending tensors in buffers. A step computes them in its own submission.

use super::ranks::SumOverRanks;
use super::{by_channel, centered, check_channels, filled};
use crate::layers::{Buffer, Layer, Mode, Module, Parameter, Visitor};
use farad_group::Group;
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::engine::inside;
use farad_tensor::ensure;
use farad_tensor::kept;

/// Batch norm over `N` spatial axes: [`BatchNorm1d`], [`BatchNorm2d`], [`BatchNorm3d`].
///
/// In training, channels are standardized by the batch's mean and variance, and the running ones move towards these
/// by the momentum (the variance unbiased); in use ([`Module::eval`]) the running ones are taken. A step
/// computes the running statistics together with everything else.
#[derive(Clone, Debug)]
pub struct BatchNorm<const N: usize> {
    /// `[channels]`, starts with ones.
    pub weight: Option<Parameter>,
    /// `[channels]`, starts with zeros.
    pub bias: Option<Parameter>,
    /// `[channels]`, starts with zeros.
    pub running_mean: Option<Buffer>,
    /// `[channels]`, starts with ones.
    pub running_var: Option<Buffer>,
    mode: Mode,
    channels: usize,
    momentum: f64,
    epsilon: f64,
    /// The ranks that share a batch.
    group: Option<Group>,
}

/// Batch norm of `[batch, channels]` or `[batch, channels, length]`; the shape stays.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::BatchNorm1d;
/// let layer = BatchNorm1d::new(1);
/// let y = layer.forward(&Tensor::from_vec(vec![1.0, 3.0], [2, 1], &Device::cpu()));
/// assert!((y.to_vec::<f32>()?[1] - 1.0).abs() < 1e-4);
/// # Ok::<(), farad::Error>(())
/// ```
pub type BatchNorm1d = BatchNorm<1>;

/// Batch norm of images `[batch, channels, height, width]`; the shape stays.
///
/// ```
/// use farad::prelude::*;
/// let layer = BatchNorm2d::new(3);
/// let x = Tensor::full(2.0, [4, 3, 5, 5], &Device::cpu());
/// assert_eq!(layer.forward(&x).to_vec::<f32>()?[0], 0.0);
/// layer.eval();
/// assert!(layer.forward(&x).to_vec::<f32>()?[0] > 1.0);
/// # Ok::<(), farad::Error>(())
/// ```
pub type BatchNorm2d = BatchNorm<2>;

/// Batch norm of volumes `[batch, channels, depth, height, width]`; the shape stays.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::BatchNorm3d;
/// let x = Tensor::ones([2, 3, 2, 4, 4], &Device::cpu());
/// assert_eq!(BatchNorm3d::new(3).forward(&x).shape(), x.shape());
/// ```
pub type BatchNorm3d = BatchNorm<3>;

impl<const N: usize> BatchNorm<N> {
    /// With momentum 0.1 and epsilon 1e-5.
    #[track_caller]
    pub fn new(channels: usize) -> BatchNorm<N> {
        let buffer = |number: f32| {
            Some(Buffer::new(Tensor::from_vec(vec![number; channels], [channels], &Device::cpu())))
        };
        BatchNorm {
            weight: Some(filled(1.0, &[channels])),
            bias: Some(filled(0.0, &[channels])),
            running_mean: buffer(0.0),
            running_var: buffer(1.0),
            mode: Mode::new(),
            channels,
            momentum: 0.1,
            epsilon: 1e-5,
            group: None,
        }
    }

    /// How far the running statistics move towards those of a batch.
    pub fn momentum(mut self, momentum: f64) -> BatchNorm<N> {
        self.momentum = momentum;
        self
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f64) -> BatchNorm<N> {
        self.epsilon = epsilon;
        self
    }

    /// The layer with mean and variance of the batches of all ranks together, as if they were one. Otherwise every rank
    /// takes those of its own share. It works on the CPU only, since ranks speak in the middle of the program.
    ///
    /// ```
    /// use farad::group::Group;
    /// use farad::prelude::*;
    /// let layer = BatchNorm2d::new(3).synchronized(&Group::world()?);
    /// assert_eq!(layer.forward(&Tensor::ones([4, 3, 5, 5], &Device::cpu())).shape()[..], [4, 3, 5, 5]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn synchronized(mut self, group: &Group) -> BatchNorm<N> {
        self.group = (!group.is_alone()).then(|| group.clone());
        self
    }

    /// The layer without scale and shift.
    pub fn without_affine(mut self) -> BatchNorm<N> {
        (self.weight, self.bias) = (None, None);
        self
    }

    /// The layer without running statistics: it uses those of the batch always.
    pub fn without_statistics(mut self) -> BatchNorm<N> {
        (self.running_mean, self.running_var) = (None, None);
        self
    }

    fn op(&self) -> String {
        format!("batch_norm{N}d")
    }

    /// Moves the running statistics towards a batch's mean and its variance, which `unbiased` corrects.
    #[track_caller]
    fn follow(&self, mean: &Tensor, variance: &Tensor, unbiased: f64) {
        let parts = [(&self.running_mean, mean, 1.0), (&self.running_var, variance, unbiased)];
        for (buffer, now, factor) in parts {
            if let Some(buffer) = buffer {
                let now = now.stop_gradient().reshape([self.channels]);
                buffer.set(buffer.value() * (1.0 - self.momentum) + now * (factor * self.momentum));
            }
        }
    }

    /// Centered values and the variance of the batches of all ranks together. `x` has `count` values per channel here.
    #[track_caller]
    fn over_ranks(&self, group: &Group, x: &Tensor, axes: &[isize], count: usize) -> (Tensor, Tensor) {
        let op = self.op();
        let device = x.device();
        ensure!(!device.is_gpu(), "{op}: ranks share statistics on the CPU only: {}", device.name());
        let sum = |x: &Tensor| Tensor::custom(SumOverRanks(group.clone()), &[x]).swap_remove(0);
        let sizes: Vec<usize> = [self.channels].into_iter().chain(vec![1; x.rank() - 2]).collect();
        // How many values there are travels with their sums: ranks may have different shares.
        let here = Tensor::full(count as f32, [1], device);
        let sums = sum(&Tensor::concat(&[&x.sum_axes(axes), &here], 0));
        let all = sums.narrow(0, self.channels, 1).stop_gradient();
        let mean = (sums.narrow(0, 0, self.channels) / &all).reshape(&sizes[..]);
        let centered = x - &mean;
        let variance = (sum(&centered.square().sum_axes(axes)) / &all).reshape(&sizes[..]);
        if self.mode.is_training() {
            let unbiased = (&all / (&all - 1.0)).reshape(vec![1; sizes.len()]);
            self.follow(&mean, &(&variance * unbiased), 1.0);
        }
        (centered, variance)
    }
}

impl<const N: usize> Module for BatchNorm<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.child("weight", &self.weight);
        visitor.child("bias", &self.bias);
        visitor.child("running_mean", &self.running_mean);
        visitor.child("running_var", &self.running_var);
        visitor.child("mode", &self.mode);
    }

    fn kind(&self) -> String {
        format!("BatchNorm{N}d")
    }
}

impl<const N: usize> Layer for BatchNorm<N> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside(["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"][N - 1]);
        let (op, shape) = (self.op(), x.shape());
        check_channels(&op, x, self.channels);
        let fits = shape.rank() == N + 2 || N == 1 && shape.rank() == 2;
        ensure!(fits, "{op}: input has {} axes: {shape} ({} vs {})", N + 2, shape.rank(), N + 2);
        let axes: Vec<isize> = (0..shape.rank() as isize).filter(|&axis| axis != 1).collect();
        let count = shape.numel() / self.channels.max(1);
        let wide = x.single();
        let along = |buffer: &Buffer| {
            let sizes: Vec<usize> = [self.channels].into_iter().chain(vec![1; shape.rank() - 2]).collect();
            buffer.value().stop_gradient().reshape(sizes)
        };
        let (centered, variance) = match (&self.running_mean, &self.running_var) {
            (Some(mean), Some(variance)) if !self.mode.is_training() => {
                (&wide - along(mean), along(variance))
            }
            _ => {
                if let Some(group) = self.group.as_ref().filter(|_| self.mode.is_training()) {
                    let (centered, variance) = self.over_ranks(group, &wide, &axes, count);
                    let y = centered * (variance + self.epsilon).rsqrt();
                    return by_channel(y, &self.weight, &self.bias).rounded_like(x);
                }
                ensure!(count > 1, "{op}: more than one value a channel is needed: {shape} ({count} vs 2)");
                let mean = wide.mean_axes(kept(&axes));
                let (centered, variance) = centered(&wide, &mean, &axes);
                if self.mode.is_training() {
                    self.follow(&mean, &variance, count as f64 / (count as f64 - 1.0));
                }
                (centered, variance)
            }
        };
        let y = centered * (variance + self.epsilon).rsqrt();
        by_channel(y, &self.weight, &self.bias).rounded_like(x)
    }
}
