//! Images of another size: nearest and bilinear resampling, and channels laid out as pixels.
//!
//! Invariant: a pixel depends only on the pixels that it lies between, so an infinite pixel affects no others. They are
//! read along each axis at places that the device computes, or repeated if the size is a multiple.

use farad_ir::{DType, OpError};

use super::{Tensor, raise};
use crate::window::PerAxis;

/// What stays where it is when an image is resized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Corners {
    /// The outer edges of the corner pixels (PyTorch's `align_corners=False`).
    #[default]
    Edges,
    /// The centers of the corner pixels (PyTorch's `align_corners=True`).
    Centers,
}

impl Tensor {
    /// Images of another size, every pixel that of the nearest place: `[batch, channels, height, width] ->
    /// [batch, channels, size..]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0], [1, 1, 1, 2], &Device::cpu());
    /// let y = x.resize_nearest([2, 4]).to_vec::<f32>()?;
    /// assert_eq!(y, [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn resize_nearest(&self, size: impl PerAxis<2>) -> Tensor {
        let size = size.per_axis();
        self.check_image("resize_nearest", &size);
        let mut x = self.clone();
        for (axis, size) in [2, 3].into_iter().zip(size) {
            x = x.nearest(axis, size);
        }
        x
    }

    /// Images of another size, every pixel interpolated between its four neighbors; [`Corners`] says what stays where
    /// it is: `[batch, channels, height, width] -> [batch,
    /// channels, size..]`.
    ///
    /// ```
    /// use farad::Corners;
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![0.0, 2.0], [1, 1, 1, 2], &Device::cpu());
    /// assert_eq!(x.resize_bilinear([1, 3], Corners::Centers).to_vec::<f32>()?, [0.0, 1.0, 2.0]);
    /// assert_eq!(x.resize_bilinear([1, 4], Corners::Edges).to_vec::<f32>()?, [0.0, 0.5, 1.5, 2.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn resize_bilinear(&self, size: impl PerAxis<2>, corners: Corners) -> Tensor {
        let size = size.per_axis();
        self.check_image("resize_bilinear", &size);
        let mut x = self.clone();
        for (axis, size) in [2, 3].into_iter().zip(size) {
            x = x.linear(axis, size, corners == Corners::Centers);
        }
        x
    }

    /// Channels laid out as pixels: `[.., channels · factor², height, width] -> [.., channels, height · factor, width ·
    /// factor]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [4, 1, 1], &Device::cpu());
    /// assert_eq!(x.pixel_shuffle(2).shape()[..], [1, 2, 2]);
    /// assert_eq!(x.pixel_shuffle(2).to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn pixel_shuffle(&self, factor: usize) -> Tensor {
        let (op, rank, shape) = ("pixel_shuffle", self.rank(), self.shape());
        if rank < 3 {
            raise(OpError::RankTooLow { op, shape, rank, least: 3 });
        }
        let (channels, square) = (shape[rank - 3], factor.saturating_mul(factor));
        if square == 0 || !channels.is_multiple_of(square) {
            let what = format!("the factor's square divides the channels: {shape}");
            raise(OpError::Sizes { op, what, a: channels, b: square });
        }
        let (height, width, channels) = (shape[rank - 2], shape[rank - 1], channels / square);
        let lead: usize = shape[..rank - 3].iter().product();
        let x = self.reshape([lead, channels, factor, factor, height, width]).permute(&[0, 1, 4, 2, 5, 3]);
        x.reshape([&shape[..rank - 3], &[channels, height * factor, width * factor]].concat())
    }

    #[track_caller]
    fn check_image(&self, op: &'static str, size: &[usize; 2]) {
        let shape = self.shape();
        if shape.rank() != 4 {
            let what = format!("images are [batch, channels, height, width]: {shape}");
            raise(OpError::Sizes { op, what, a: shape.rank(), b: 4 });
        }
        if shape[2..].iter().chain(size).any(|&size| size == 0) {
            let what = format!("images have at least one pixel: {shape} to {size:?}");
            raise(OpError::Sizes { op, what, a: 0, b: 1 });
        }
    }

    #[track_caller]
    fn nearest(&self, axis: usize, size: usize) -> Tensor {
        let shape = self.shape();
        let old = shape[axis];
        if size == old {
            return self.clone();
        }
        if size.is_multiple_of(old) {
            let mut split: Vec<usize> = shape.to_vec();
            split.insert(axis + 1, 1);
            let mut wide = split.clone();
            wide[axis + 1] = size / old;
            return self.reshape(split).expand(wide).reshape(shape.with(axis, size));
        }
        let place = Tensor::arange(size, self.device()).cast(DType::F32);
        // Between two integers, so that rounding cannot cross one.
        let source = ((place + 0.25 / old as f64) * (old as f64 / size as f64)).floor();
        self.index_select(axis as isize, &source.cast(DType::I32))
    }

    #[track_caller]
    fn linear(&self, axis: usize, size: usize, align_corners: bool) -> Tensor {
        let old = self.shape()[axis];
        if size == old {
            return self.clone();
        }
        // Shares of `f64` are as fine as that.
        let fine = if self.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let place = Tensor::arange(size, self.device()).cast(fine);
        let source = match (align_corners, size) {
            (true, 1) => place * 0.0,
            (true, _) => place * ((old as f64 - 1.0) / (size as f64 - 1.0)),
            (false, _) => (place + 0.5) * (old as f64 / size as f64) - 0.5,
        };
        let source = source.clamp(0.0, old as f64 - 1.0);
        let before = source.floor();
        let rest = &source - &before;
        let between = rest.greater(0.0);
        // A sample at an exact position is read alone: zero times infinity would be NaN.
        let after = between.select(&(&before + 1.0), &before);
        let sizes: Vec<usize> = (0..4).map(|a| if a == axis { size } else { 1 }).collect();
        let read = |place: &Tensor| self.index_select(axis as isize, &place.cast(DType::I32));
        let share = |share: &Tensor| share.cast(self.dtype()).reshape(&sizes);
        let far = read(&after) * share(&rest);
        read(&before) * share(&(1.0 - &rest)) + between.reshape(&sizes).select(&far, &far.full_like(0.0))
    }
}
