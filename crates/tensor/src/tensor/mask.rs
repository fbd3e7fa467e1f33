//! Finite values, any and all over axes, and triangles of matrices.

use farad_ir::{DType, OpError, Unary};

use super::{Tensor, raise};
use crate::axes::Axes;

impl Tensor {
    /// The tensor as `bool`, as counts.
    #[track_caller]
    fn count(&self, wanted: bool, axes: impl Axes) -> Tensor {
        let truth = self.cast(DType::Bool);
        let counted = if wanted { truth } else { truth.not() };
        counted.cast(DType::I32).sum_axes(axes)
    }

    /// Whether elements are neither infinite nor NaN, decided by their bits on every device.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, f32::NAN, f32::INFINITY], [3], &Device::cpu());
    /// assert_eq!(x.is_finite().to_vec::<bool>()?, [true, false, false]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn is_finite(&self) -> Tensor {
        self.unary(Unary::Finite).cast(DType::Bool)
    }

    /// Whether elements are NaN, decided by their bits on every device.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, f32::NAN, f32::INFINITY], [3], &Device::cpu());
    /// assert_eq!(x.is_nan().to_vec::<bool>()?, [false, true, false]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn is_nan(&self) -> Tensor {
        self.not_equal(self)
    }

    /// Whether elements are infinite, of either sign.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, f32::NAN, f32::NEG_INFINITY], [3], &Device::cpu());
    /// assert_eq!(x.is_inf().to_vec::<bool>()?, [false, false, true]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn is_inf(&self) -> Tensor {
        if !self.dtype().is_float() {
            return self.not_equal(self);
        }
        self.abs().equal(f64::INFINITY)
    }

    /// Whether any element is true, or not zero; false for no elements.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, -2.0], [2], &Device::cpu());
    /// assert_eq!(x.less(0.0).any().to_vec::<bool>()?, [true]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn any(&self) -> Tensor {
        self.any_axes(self.every_axis())
    }

    /// Whether any element along axes is true, or not zero; they are removed unless [`kept`](crate::kept).
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![true, false, false, false], [2, 2], &Device::cpu());
    /// assert_eq!(x.any_axes([1]).to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn any_axes(&self, axes: impl Axes) -> Tensor {
        self.count(true, axes).greater(0)
    }

    /// Whether all elements are true, or not zero; true for no elements.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, -2.0], [2], &Device::cpu());
    /// assert_eq!(x.less(0.0).all().to_vec::<bool>()?, [false]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn all(&self) -> Tensor {
        self.all_axes(self.every_axis())
    }

    /// Whether all elements along axes are true, or not zero; they are removed unless [`kept`](crate::kept).
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![true, true, true, false], [2, 2], &Device::cpu());
    /// assert_eq!(x.all_axes([1]).to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn all_axes(&self, axes: impl Axes) -> Tensor {
        self.count(false, axes).equal(0)
    }

    /// The lower triangles of matrices `[.., rows, columns]`, zeros above: what is at most
    /// `diagonal` to the right of the main diagonal.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2, 2], &Device::cpu());
    /// assert_eq!(x.tril(0).to_vec::<f32>()?, [1.0, 0.0, 1.0, 1.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn tril(&self, diagonal: isize) -> Tensor {
        let right = self.to_the_right("tril");
        right.less_equal(near(diagonal)).select(self, &self.full_like(0.0))
    }

    /// The upper triangles of matrices `[.., rows, columns]`, zeros below: what is at least
    /// `diagonal` to the right of the main diagonal.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2, 2], &Device::cpu());
    /// assert_eq!(x.triu(1).to_vec::<f32>()?, [0.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn triu(&self, diagonal: isize) -> Tensor {
        let right = self.to_the_right("triu");
        right.greater_equal(near(diagonal)).select(self, &self.full_like(0.0))
    }

    /// How far each element of a matrix is to the right of the main diagonal, `[rows, columns]`.
    #[track_caller]
    fn to_the_right(&self, op: &'static str) -> Tensor {
        let rank = self.rank();
        if rank < 2 {
            raise(OpError::RankTooLow { op, shape: self.shape(), rank, least: 2 });
        }
        let position = |axis: usize| Tensor::arange(self.shape()[axis], self.device());
        position(rank - 1) - position(rank - 2).unsqueeze(1)
    }
}

/// A diagonal as near as `i32` can say: matrices have no more rows and columns than that.
fn near(diagonal: isize) -> i32 {
    diagonal.clamp(i32::MIN as isize, i32::MAX as isize) as i32
}
