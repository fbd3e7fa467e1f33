//! Random tensors: counter-based, so the same seed gives the same bits, uniform numbers and masks on every device (normal
//! numbers within rounding), and computing a tensor again draws nothing again. What the body of a loop draws is fresh at
//! every position: the position is part of Philox's counter.

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
        Tensor::bits_of(device.draw(), shape.into(), device)
    }

    /// Uniform random 32-bit integers from a place in a stream of one's own: the same seed and place
    /// give the same bits on every device, and the device's own stream stays where it is. Places below 2⁶³ share nothing
    /// with a device of the same seed.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let once = Tensor::random_bits_at(7, 3, [4], &device).to_vec::<u32>()?;
    /// assert_eq!(Tensor::random_bits_at(7, 3, [4], &device).to_vec::<u32>()?, once);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn random_bits_at(seed: u64, place: u64, shape: impl Into<Shape>, device: &Device) -> Tensor {
        let key = [seed as u32, (seed >> 32) as u32, place as u32, (place >> 32) as u32];
        Tensor::bits_of(key, shape.into(), device)
    }

    #[track_caller]
    fn bits_of(key: [u32; 4], shape: Shape, device: &Device) -> Tensor {
        let key = key.map(|word| Tensor::number_of(Scalar::u32(word), device));
        let [a, b, c, d] = key.each_ref();
        match super::sequence::stream() {
            Some(stream) => Tensor::record(Op::Random(shape), &[a, b, c, d, &stream]),
            None => Tensor::record(Op::Random(shape), &[a, b, c, d]),
        }
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
        Tensor::random_bits(shape, device).fraction()
    }

    /// Uniform random numbers from 0 (included) to 1 (excluded), as `f32`, from a place in a stream
    /// of one's own: see [`Tensor::random_bits_at`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::rand_at(7, 3, [100], &Device::cpu()).to_vec::<f32>()?;
    /// assert!(x.iter().all(|v| (0.0..1.0).contains(v)));
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn rand_at(seed: u64, place: u64, shape: impl Into<Shape>, device: &Device) -> Tensor {
        Tensor::random_bits_at(seed, place, shape, device).fraction()
    }

    /// The upper 24 bits as a number below 1.
    #[track_caller]
    fn fraction(&self) -> Tensor {
        let eight = self.full_like(8.0);
        Tensor::binary(Binary::Shr, self, &eight).cast(DType::F32) * (1.0 / (1u32 << 24) as f64)
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
        Tensor::normal_of(Tensor::rand(shape, device), Tensor::rand(shape, device))
    }

    /// Normal random numbers with mean 0 and variance 1, as `f32`, from a place in a stream of one's own: see
    /// [`Tensor::random_bits_at`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::randn_at(7, 3, [1000], &Device::cpu());
    /// assert!(x.mean().item()?.abs() < 0.2);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn randn_at(seed: u64, place: u64, shape: impl Into<Shape>, device: &Device) -> Tensor {
        let shape = shape.into();
        let pairs = Tensor::rand_at(seed, place, [2, shape.numel()], device);
        let [u, v] = [0, 1].map(|n| pairs.narrow(0, n, 1).reshape(shape));
        Tensor::normal_of(u, v)
    }

    /// Box and Muller: two uniform numbers make a normal one. `1 - u` is never zero, so the logarithm is finite.
    #[track_caller]
    fn normal_of(u: Tensor, v: Tensor) -> Tensor {
        let radius = ((1.0 - u).log() * -2.0).sqrt();
        radius * (v * std::f64::consts::TAU).cos()
    }

    /// `bool` values that are true with this probability, from 0 to 1.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::random_mask(0.0, [8], &Device::cpu());
    /// assert_eq!(x.to_vec::<bool>()?, [false; 8]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn random_mask(probability: f64, shape: impl Into<Shape>, device: &Device) -> Tensor {
        check_probability("random_mask", probability);
        Tensor::rand(shape, device).less(probability)
    }

    /// `bool` values that are true with this probability, from 0 to 1, from a place in a stream of one's own: see
    /// [`Tensor::random_bits_at`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::random_mask_at(7, 3, 1.0, [8], &Device::cpu());
    /// assert_eq!(x.to_vec::<bool>()?, [true; 8]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn random_mask_at(
        seed: u64,
        place: u64,
        probability: f64,
        shape: impl Into<Shape>,
        device: &Device,
    ) -> Tensor {
        check_probability("random_mask_at", probability);
        Tensor::rand_at(seed, place, shape, device).less(probability)
    }

    /// Elements zeroed with this probability (from 0 to 1) and the others scaled up to keep the mean. With 1 all of
    /// them are zeros, and so are their gradients.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([8], &Device::cpu());
    /// assert_eq!(x.dropout(0.0).to_vec::<f32>()?, [1.0; 8]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn dropout(&self, probability: f64) -> Tensor {
        check_probability("dropout", probability);
        self.drop_by(probability, self.shape())
    }

    /// The tensor with elements zeroed as a mask of this shape says, which broadcasts, and the others scaled up.
    #[track_caller]
    #[doc(hidden)]
    pub fn drop_by(&self, probability: f64, shape: Shape) -> Tensor {
        let kept = Tensor::random_mask(1.0 - probability, shape, self.device());
        // Where nothing is kept there is no mean to keep; an infinite factor would make the gradients NaN.
        let factor = if probability < 1.0 { 1.0 / (1.0 - probability) } else { 0.0 };
        kept.select(&(self * factor), &self.full_like(0.0))
    }
}

/// Panics unless the number is a probability.
#[track_caller]
pub fn check_probability(op: &'static str, probability: f64) {
    crate::ensure!((0.0..=1.0).contains(&probability), "{op}: not a probability ({probability} vs 0 to 1)");
}
