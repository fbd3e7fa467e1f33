//! Reductions: along axes (kept as size 1 or removed) or over everything.

use farad_ir::{DType, Op, Reduce};

use super::Tensor;
use crate::axes::{Axes, kept};

impl Tensor {
    #[track_caller]
    pub(super) fn reduced(&self, op: Reduce, along: impl Axes) -> Tensor {
        let axes = self.axes(op.row().name, along.axes());
        if axes.is_empty() {
            return self.clone();
        }
        let result = Tensor::record(Op::Reduce(op, axes.clone()), &[self]);
        if along.keep() { result.reshape(self.shape().ones_at(&axes)) } else { result }
    }

    /// The tensor, as `f32` if it is of `f16`: sums on the way to a mean may be far larger than it,
    /// so they are rounded once, by [`Tensor::rounded_like`].
    #[track_caller]
    #[doc(hidden)]
    pub fn single(&self) -> Tensor {
        if self.dtype() == DType::F16 { self.cast(DType::F32) } else { self.clone() }
    }

    /// The result of work on [`Tensor::single`] of `x`, as `f16` again if `x` is.
    #[track_caller]
    #[doc(hidden)]
    pub fn rounded_like(&self, x: &Tensor) -> Tensor {
        if x.dtype() == DType::F16 { self.cast(DType::F16) } else { self.clone() }
    }

    pub(crate) fn every_axis(&self) -> Vec<isize> {
        (0..self.rank() as isize).collect()
    }

    /// The sum of all elements.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::ones([2, 3], &Device::cpu()).sum().item()?, 6.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn sum(&self) -> Tensor {
        self.reduced(Reduce::Sum, self.every_axis())
    }

    /// Sums along axes, which are removed unless [`kept`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2, 3], &Device::cpu());
    /// assert_eq!(x.sum_axes([1]).to_vec::<f32>()?, [3.0, 3.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn sum_axes(&self, axes: impl Axes) -> Tensor {
        self.reduced(Reduce::Sum, axes)
    }

    /// The mean of all elements.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &Device::cpu());
    /// assert_eq!(x.mean().item()?, 2.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn mean(&self) -> Tensor {
        self.mean_axes(self.every_axis())
    }

    /// Means along axes, which are removed unless [`kept`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0], [1, 2], &Device::cpu());
    /// assert_eq!(x.mean_axes(kept([1])).shape()[..], [1, 1]);
    /// ```
    #[track_caller]
    pub fn mean_axes(&self, axes: impl Axes) -> Tensor {
        let count: usize = self.axes("mean", axes.axes()).iter().map(|&a| self.shape()[a]).product();
        let x = if self.dtype().is_float() { self.single() } else { self.cast(DType::F32) };
        (x.sum_axes(axes) * (1.0 / count as f64)).rounded_like(self)
    }

    /// The product of all elements.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![2.0, 3.0, 4.0], [3], &Device::cpu());
    /// assert_eq!(x.prod().item()?, 24.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn prod(&self) -> Tensor {
        self.reduced(Reduce::Prod, self.every_axis())
    }

    /// Products along axes, which are removed unless [`kept`]. The gradient at an element is the
    /// product of the others, also where elements are zero.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![2.0, 0.0, 4.0], [1, 3], &Device::cpu());
    /// let y = x.prod_axes([1]).sum();
    /// assert_eq!(y.gradient(&x)?.to_vec::<f32>()?, [0.0, 8.0, 0.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn prod_axes(&self, axes: impl Axes) -> Tensor {
        self.reduced(Reduce::Prod, axes)
    }

    /// The largest of all elements, or NaN if one is; ties share the gradient.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0], [3], &Device::cpu());
    /// assert_eq!(x.max().item()?, 3.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn max(&self) -> Tensor {
        self.reduced(Reduce::Max, self.every_axis())
    }

    /// The largest elements along axes, which are removed unless [`kept`]; NaN where an element is.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0, 0.0], [2, 2], &Device::cpu());
    /// assert_eq!(x.max_axes([1]).to_vec::<f32>()?, [3.0, 2.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn max_axes(&self, axes: impl Axes) -> Tensor {
        self.reduced(Reduce::Max, axes)
    }

    /// The smallest of all elements, or NaN if one is; ties share the gradient.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0], [3], &Device::cpu());
    /// assert_eq!(x.min().item()?, 1.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn min(&self) -> Tensor {
        self.reduced(Reduce::Min, self.every_axis())
    }

    /// The smallest elements along axes, which are removed unless [`kept`]; NaN where an element is.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0, 0.0], [2, 2], &Device::cpu());
    /// assert_eq!(x.min_axes([0]).to_vec::<f32>()?, [1.0, 0.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn min_axes(&self, axes: impl Axes) -> Tensor {
        self.reduced(Reduce::Min, axes)
    }

    /// The position of the first largest element along an axis, or of the first NaN, as `i32`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0, 0.0], [2, 2], &Device::cpu());
    /// assert_eq!(x.argmax(1).to_vec::<i32>()?, [1, 0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn argmax(&self, axis: isize) -> Tensor {
        self.reduced(Reduce::ArgMax, [axis])
    }

    /// The position of the first smallest element along an axis, or of the first NaN, as `i32`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0, 0.0], [2, 2], &Device::cpu());
    /// assert_eq!(x.argmin(1).to_vec::<i32>()?, [0, 1]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn argmin(&self, axis: isize) -> Tensor {
        self.reduced(Reduce::ArgMin, [axis])
    }

    /// Variance along axes: the mean squared distance from the mean, by two passes, divided by
    /// the count less `correction` (0 for the population, 1 for a sample); NaN if nothing is left.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0], [2], &Device::cpu());
    /// assert_eq!(x.variance([0], 0).item()?, 1.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn variance(&self, axes: impl Axes, correction: usize) -> Tensor {
        let count: usize = self.axes("variance", axes.axes()).iter().map(|&a| self.shape()[a]).product();
        let x = self.single();
        let centered = &x - &x.mean_axes(kept(&axes));
        let sum = centered.square().sum_axes(axes);
        (sum * (1.0 / (count as f64 - correction as f64).max(0.0))).rounded_like(self)
    }

    /// `log Σ e^x` along axes, without overflow; infinite where an element is infinite, and −∞ where all are or there are none.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1000.0, 1000.0], [2], &Device::cpu());
    /// assert!((x.logsumexp([0]).item()? - 1000.6931).abs() < 1e-3);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn logsumexp(&self, axes: impl Axes) -> Tensor {
        let x = self.single();
        if self.axes("logsumexp", axes.axes()).iter().any(|&axis| self.shape()[axis] == 0) {
            return x.sum_axes(&axes).log().rounded_like(self);
        }
        let top = x.max_axes(kept(&axes)).stop_gradient();
        // An infinity minus itself is NaN, so it is left as it is.
        let top = top.is_finite().select(&top, &top.full_like(0.0));
        let sum = ((&x - &top).exp().sum_axes(kept(&axes)).log() + &top).rounded_like(self);
        if axes.keep() {
            sum
        } else {
            sum.reshape(self.shape().without(&self.axes("logsumexp", axes.axes())))
        }
    }

    /// `e^x / Σ e^x` along an axis.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::zeros([1, 4], &Device::cpu());
    /// assert_eq!(x.softmax(-1).to_vec::<f32>()?, [0.25; 4]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn softmax(&self, axis: isize) -> Tensor {
        let x = self.single();
        if x.dtype().is_float() && self.size_of("softmax", axis) == 0 {
            return self.clone();
        }
        let top = x.max_axes(kept([axis])).stop_gradient();
        let powers = (&x - &top).exp();
        (&powers / &powers.sum_axes(kept([axis]))).rounded_like(self)
    }

    /// The logarithm of softmax, without underflow.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::zeros([1, 4], &Device::cpu());
    /// assert!((x.log_softmax(-1).to_vec::<f32>()?[0] + 4f32.ln()).abs() < 1e-6);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn log_softmax(&self, axis: isize) -> Tensor {
        let x = self.single();
        if x.dtype().is_float() && self.size_of("log_softmax", axis) == 0 {
            return self.clone();
        }
        let top = x.max_axes(kept([axis])).stop_gradient();
        let centered = &x - &top;
        let sum = centered.exp().sum_axes(kept([axis])).log();
        (centered - sum).rounded_like(self)
    }

    /// The tensor with mean 0 and variance 1 along the last axis, then scaled and shifted.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![1.0, 3.0], [1, 2], &device);
    /// let y = x.layer_norm(&Tensor::ones([2], &device), &Tensor::zeros([2], &device), 1e-5);
    /// assert!((y.to_vec::<f32>()?[1] - 1.0).abs() < 1e-4);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn layer_norm(&self, scale: &Tensor, shift: &Tensor, epsilon: f64) -> Tensor {
        let x = self.single();
        let centered = &x - &x.mean_axes(kept([-1]));
        let variance = centered.square().mean_axes(kept([-1]));
        (centered * (variance + epsilon).rsqrt()).rounded_like(self) * scale + shift
    }
}
