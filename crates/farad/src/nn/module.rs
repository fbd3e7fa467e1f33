//! What all layers have in common.

use super::Parameter;
use crate::device::Device;
use crate::error::Result;
use crate::tensor::Tensor;

/// A layer, or a network of layers.
pub trait Module {
    /// The layer applied to a tensor.
    fn forward(&self, x: &Tensor) -> Tensor;

    /// Calls `found` with every parameter and its path, in a fixed order.
    fn visit(&self, found: &mut dyn FnMut(&str, &Parameter));

    /// All parameters, in a fixed order.
    fn parameters(&self) -> Vec<Parameter> {
        self.named_parameters().into_iter().map(|(_, parameter)| parameter).collect()
    }

    /// All parameters with their paths.
    fn named_parameters(&self) -> Vec<(String, Parameter)> {
        let mut all = Vec::new();
        self.visit(&mut |path, parameter| all.push((path.to_string(), parameter.clone())));
        all
    }

    /// The same module with its parameters on a device. Panics if the device has no room; see
    /// [`Module::try_to_device`].
    #[track_caller]
    fn to_device(self, device: &Device) -> Self
    where
        Self: Sized,
    {
        match self.try_to_device(device) {
            Ok(module) => module,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Module::to_device`], with an error if the device has no room.
    fn try_to_device(self, device: &Device) -> Result<Self>
    where
        Self: Sized,
    {
        for parameter in self.parameters() {
            parameter.move_to(device)?;
        }
        Ok(self)
    }
}
