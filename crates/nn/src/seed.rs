//! The random numbers that new layers start from.

use farad_tensor::Device;

/// Starts the random numbers that new layers draw their weights from, and those of the CPU, again from a seed. Every
/// device has random numbers of its own beside them, for dropout and `Tensor::rand`: [`Device::seed`].
///
/// ```
/// use farad::prelude::*;
/// let weights = || Linear::new(2, 3).weight.value().to_vec::<f32>();
/// farad::seed(1);
/// let first = weights()?;
/// farad::seed(1);
/// assert_eq!(weights()?, first);
/// # Ok::<(), farad::Error>(())
/// ```
pub fn seed(seed: u64) {
    Device::cpu().seed(seed);
}
