//! How much memory a training needs on a device, computed before anything is made.
//!
//! The need is weights, gradients, moments and activations. It is compared with what the device has before a
//! run's folder is made.
//!
//! Invariant: a need is a lower bound, so that nothing is refused that would fit. Weights, gradients and
//! moments are counted exactly. Of activations only those count that every backward pass reads again, each
//! once. Start at [`Need::training`].

use crate::error::{Result, TrainError};
use farad_tensor::Device;

/// Bytes of an `f32`.
const WORD: u128 = 4;

/// What a training needs of memory, at least.
///
/// ```
/// use farad::{Device, Need};
/// let small = Need::training(1_000_000, 2).activations(64 << 20);
/// assert_eq!(small.bytes(), 4_000_000 * 4 + (64 << 20));
/// small.check(&Device::cpu(), "take a smaller batch")?;
/// let large = Need::training(1 << 50, 2);
/// let text = large.check(&Device::cpu(), "take fewer layers").unwrap_err().to_string();
/// assert!(text.starts_with("train: too large for the device: cpu: "), "{text}");
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    parameters: u128,
    moments: u128,
    activations: u128,
    largest: u128,
}

impl Need {
    /// Of so many numbers that are learned, with so many moments of the optimizer for each.
    pub fn training(parameters: u128, moments: u32) -> Need {
        Need { parameters, moments: moments.into(), activations: 0, largest: 0 }
    }

    /// And so many bytes of activations that the backward pass reads again.
    pub fn activations(mut self, bytes: u128) -> Need {
        self.activations = bytes;
        self
    }

    /// And so many numbers in the largest single tensor, which a GPU must be able to bind.
    pub fn largest(mut self, numbers: u128) -> Need {
        self.largest = numbers.saturating_mul(WORD);
        self
    }

    /// All of it.
    pub fn bytes(&self) -> u128 {
        let copies = 2 + self.moments;
        self.parameters.saturating_mul(WORD * copies).saturating_add(self.activations)
    }

    /// Refuses what a device cannot hold; `help` says what to change.
    pub fn check(&self, device: &Device, help: &'static str) -> Result<()> {
        let (needed, name) = (self.bytes(), device.name().to_string());
        let most = device.largest_binding().filter(|&most| self.largest > u128::from(most));
        if let Some(most) = most {
            let (largest, most) = (bytes(self.largest), bytes(most.into()));
            return Err(TrainError::TensorTooLarge { device: name, largest, most, help }.into());
        }
        // Where nobody can say how much there is, more than any machine has is still too much.
        let has = device.memory().map_or(UNKNOWN, u128::from);
        if needed <= has {
            return Ok(());
        }
        let weights = self.parameters.saturating_mul(WORD);
        let parts = [
            ("weights", weights),
            ("gradients", weights),
            ("moments", weights.saturating_mul(self.moments)),
            ("activations", self.activations),
        ];
        let parts = parts.into_iter().filter(|(_, size)| *size > 0);
        let parts =
            parts.map(|(what, size)| format!("{what} {}", bytes(size))).collect::<Vec<_>>().join(", ");
        Err(TrainError::DeviceTooSmall { device: name, parts, needed: bytes(needed), has: bytes(has), help }
            .into())
    }
}

/// What no machine has.
const UNKNOWN: u128 = 1 << 44;

/// Bytes in the largest unit that leaves a number of at least one.
fn bytes(count: u128) -> String {
    farad_chart::bytes(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_tensor::DeviceOptions;

    #[test]
    fn what_does_not_fit_is_refused_with_its_parts() {
        let options = DeviceOptions { memory_limit: Some(1 << 20), ..DeviceOptions::default() };
        let device = Device::cpu_with(options);
        let need = Need::training(65_536, 2);
        need.check(&device, "").expect("exactly a mebibyte");
        let text = need.activations(1 << 19).check(&device, "take less").unwrap_err().to_string();
        let wanted = "train: too large for the device: cpu: weights 256 KiB, gradients 256 KiB, moments 512 KiB, \
            activations 512 KiB (1.5 MiB at least vs 1 MiB)\nhelp: take less";
        assert_eq!(text, wanted);
    }

    #[test]
    fn needs_beyond_all_numbers_are_refused_too() {
        assert!(Need::training(u128::MAX, 2).activations(u128::MAX).check(&Device::cpu(), "").is_err());
    }
}
