//! Random tensors: counter-based, so the same seed gives the same bits on every device, and
//! computing a tensor again draws nothing again.

use farad_ir::{Binary, DType, Op, Scalar, Shape};

use super::Tensor;
use crate::device::Device;

impl Tensor {
    /// Uniform random 32-bit integers.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// assert_eq!(Tensor::random_bits([4], &device).dtype(), DType::U32);
    /// ```
    #[track_caller]
    pub fn random_bits(shape: impl Into<Shape>, device: &Device) -> Tensor {
        let key = device.draw().map(|word| Tensor::number_of(Scalar::u32(word), device));
        Tensor::record(Op::Random(shape.into()), &key.each_ref())
    }

    /// Uniform random numbers from 0 (included) to 1 (excluded), as `f32`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::rand([100], &Device::cpu()).to_vec::<f32>()?;
    /// assert!(x.iter().all(|v| (0.0..1.0).contains(v)));
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn rand(shape: impl Into<Shape>, device: &Device) -> Tensor {
        let bits = Tensor::random_bits(shape, device);
        let eight = bits.full_like(8.0);
        Tensor::binary(Binary::Shr, &bits, &eight).cast(DType::F32) * (1.0 / (1u32 << 24) as f64)
    }

    /// Normal random numbers with mean 0 and variance 1, as `f32`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::randn([1000], &Device::cpu());
    /// assert!(x.mean().item()?.abs() < 0.2);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn randn(shape: impl Into<Shape>, device: &Device) -> Tensor {
        let shape = shape.into();
        let (u, v) = (Tensor::rand(shape, device), Tensor::rand(shape, device));
        // Box and Muller: 1 - u is never zero, so the logarithm is finite.
        let radius = ((1.0 - u).log() * -2.0).sqrt();
        radius * (v * std::f64::consts::TAU).cos()
    }

    /// Truth values that are set with this probability.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::random_mask(0.0, [8], &Device::cpu());
    /// assert_eq!(x.to_vec::<bool>()?, [false; 8]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn random_mask(probability: f64, shape: impl Into<Shape>, device: &Device) -> Tensor {
        Tensor::rand(shape, device).less(probability)
    }

    /// Elements zeroed with this probability and the others scaled up to keep the mean.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([8], &Device::cpu());
    /// assert_eq!(x.dropout(0.0).to_vec::<f32>()?, [1.0; 8]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn dropout(&self, probability: f64) -> Tensor {
        let kept = Tensor::random_mask(1.0 - probability, self.shape(), self.device());
        kept.select(&(self * (1.0 / (1.0 - probability))), &self.full_like(0.0))
    }
}
