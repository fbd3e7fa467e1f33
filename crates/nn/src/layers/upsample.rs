//! Larger images, as a layer.

use super::{Layer, Module};
use farad_tensor::Corners;
use farad_tensor::PerAxis;
use farad_tensor::Tensor;
use farad_tensor::engine::inside;
use farad_tensor::ensure;

/// Images a number of times as high and wide: `[batch, channels, height, width] -> [batch, channels, height · factor, width ·
/// factor]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::Upsample;
/// let x = Tensor::ones([2, 3, 4, 5], &Device::cpu());
/// assert_eq!(Upsample::nearest(2).forward(&x).shape()[..], [2, 3, 8, 10]);
/// assert_eq!(Upsample::bilinear([1, 3]).align_corners().forward(&x).shape()[..], [2, 3, 4, 15]);
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Upsample {
    factors: [usize; 2],
    bilinear: bool,
    #[module(skip)]
    corners: Corners,
}

impl Upsample {
    /// Every pixel that of the nearest place.
    pub fn nearest(factor: impl PerAxis<2>) -> Upsample {
        Upsample { factors: factor.per_axis(), bilinear: false, corners: Corners::Edges }
    }

    /// Every pixel interpolated between its neighbors.
    pub fn bilinear(factor: impl PerAxis<2>) -> Upsample {
        Upsample { factors: factor.per_axis(), bilinear: true, corners: Corners::Edges }
    }

    /// Bilinear only: the corners' centers stay where they are, instead of the corners.
    pub fn align_corners(self) -> Upsample {
        Upsample { corners: Corners::Centers, ..self }
    }
}

impl Layer for Upsample {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("Upsample");
        let shape = x.shape();
        ensure!(shape.rank() == 4, "upsample: images have four axes: {shape} ({} vs 4)", shape.rank());
        let size = [0, 1].map(|axis| shape[axis + 2].saturating_mul(self.factors[axis]));
        match self.bilinear {
            true => x.resize_bilinear(size, self.corners),
            false => x.resize_nearest(size),
        }
    }
}
