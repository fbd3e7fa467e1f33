//! Images of another size: nearest and bilinear resampling, and channels laid out as pixels.
//!
//! Invariant: resampling is linear, so each axis is a product with a small matrix that the device computes itself
//! (or a repetition, where the size is a multiple), and gradients are products again.

use farad_ir::{Contraction, DType, Op, OpError};
use std::sync::Arc;

use super::{Tensor, raise};
use crate::window::PerAxis;

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
        [2, 3].into_iter().zip(size).fold(self.clone(), |x, (axis, size)| x.nearest(axis, size))
    }

    /// Images of another size, every pixel interpolated between its four neighbours. With `align_corners` the corners'
    /// centres stay where they are, else the corners themselves: `[batch, channels, height, width] -> [batch,
    /// channels, size..]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![0.0, 2.0], [1, 1, 1, 2], &Device::cpu());
    /// assert_eq!(x.resize_bilinear([1, 3], true).to_vec::<f32>()?, [0.0, 1.0, 2.0]);
    /// assert_eq!(x.resize_bilinear([1, 4], false).to_vec::<f32>()?, [0.0, 0.5, 1.5, 2.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn resize_bilinear(&self, size: impl PerAxis<2>, align_corners: bool) -> Tensor {
        let size = size.per_axis();
        self.check_image("resize_bilinear", &size);
        let mut x = self.clone();
        for (axis, size) in [2, 3].into_iter().zip(size) {
            x = x.linear(axis, size, align_corners);
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
        let (channels, square) = (shape[rank - 3], factor * factor);
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
        let source = ((place + 0.25 / old as f64) * (old as f64 / size as f64)).floor().reshape([size, 1]);
        let own = Tensor::arange(old, self.device()).cast(DType::F32);
        self.along(axis, &source.equal(&own).cast(self.dtype()))
    }

    #[track_caller]
    fn linear(&self, axis: usize, size: usize, align_corners: bool) -> Tensor {
        let old = self.shape()[axis];
        if size == old {
            return self.clone();
        }
        let place = Tensor::arange(size, self.device()).cast(DType::F32);
        let source = match (align_corners, size) {
            (true, 1) => place * 0.0,
            (true, _) => place * ((old as f64 - 1.0) / (size as f64 - 1.0)),
            (false, _) => (place + 0.5) * (old as f64 / size as f64) - 0.5,
        };
        let source = source.clamp(0.0, old as f64 - 1.0).reshape([size, 1]);
        let own = Tensor::arange(old, self.device()).cast(DType::F32);
        // A hat around the source: what is a whole step away has no part.
        let weights = (1.0 - (source - own).abs()).relu();
        self.along(axis, &weights.cast(self.dtype()))
    }

    /// A matrix `[new, old]` applied along an axis, in the tensor's own precision whatever the scope's is.
    #[track_caller]
    fn along(&self, axis: usize, matrix: &Tensor) -> Tensor {
        let shape = self.shape();
        let (new, old) = (matrix.shape()[0], shape[axis]);
        let before: usize = shape[..axis].iter().product();
        let after: usize = shape[axis + 1..].iter().product();
        let product = |a: &Tensor, b: &Tensor, contraction: Contraction| {
            Tensor::record(Op::Contract(Arc::new(contraction)), &[a, b])
        };
        if after == 1 {
            let rows = self.reshape([before, old]);
            let y = product(&rows, &matrix.transpose(0, 1), Contraction::matmul(&[], before, old, new));
            return y.reshape(shape.with(axis, new));
        }
        let planes = self.reshape([before, old, after]);
        let matrix = matrix.unsqueeze(0).expand([before, new, old]);
        let y = product(&matrix, &planes, Contraction::matmul(&[before], new, old, after));
        y.reshape(shape.with(axis, new))
    }
}
