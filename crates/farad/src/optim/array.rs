//! The array that the parameters live in between steps.
//!
//! Invariant: it is overwritten only while nobody but the parameters themselves can read it.

use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, Shape};

use super::Flat;
use crate::backend::Memory;
use crate::device::Device;
use crate::error::Result;
use crate::live::{Maker, Origin};
use crate::node::{Node, Value};
use crate::tensor::Tensor;

impl Flat {
    /// Whether all parameters lie in the array, each in its slot.
    pub(super) fn is_packed(&self, values: &[Tensor]) -> bool {
        let Some(array) = &self.array else { return false };
        values.iter().zip(&self.offsets).all(|(value, slot)| match value.node.value() {
            Some(Value::Memory { memory, offset, whole }) => {
                memory.identity() == array.identity() && offset == *slot && whole == self.len
            }
            _ => false,
        })
    }

    /// Copies the array if anybody but the parameters themselves could still read it.
    pub(super) fn protect(
        &self,
        device: &Device,
        inputs: &mut [Memory],
        at: usize,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let sole = self.parameters.iter().all(|p| p.holders() == 1);
        // Held by every parameter's value, by this optimiser and by the list of inputs.
        if sole && inputs[at].handles() == self.parameters.len() + 2 {
            return Ok(());
        }
        let copy = device.allocate(self.len * 4)?;
        device.hold(&copy, self.origin("parameters", location));
        device.0.backend.copy(&inputs[at], &copy, self.len * 4)?;
        inputs[at] = copy;
        Ok(())
    }

    /// Who made an array of this optimiser.
    pub(super) fn origin(&self, what: &'static str, location: &'static Location<'static>) -> Origin {
        Maker::named(what, Shape::new(&[self.len]), DType::F32, Some(location))
    }

    /// Gives every result its new home.
    pub(super) fn take<'a>(
        &mut self,
        device: &Device,
        live: impl Iterator<Item = &'a Arc<Node>>,
        mut outputs: Vec<Memory>,
        scaled: bool,
        location: &'static Location<'static>,
    ) {
        if scaled {
            self.scaling.memory = outputs.pop();
        }
        let mut outputs = outputs.into_iter();
        for node in live {
            let memory = outputs.next().expect("one output a live tensor");
            node.set_value(Value::Memory { memory, offset: 0, whole: node.shape.numel() });
            node.prune();
        }
        let array = outputs.next().expect("the parameters' array");
        self.adopt(device, array, location);
        self.states = outputs.collect();
        self.step += 1;
    }

    /// Makes the parameters parts of the array.
    pub(super) fn adopt(&mut self, device: &Device, array: Memory, location: &'static Location<'static>) {
        for (parameter, &offset) in self.parameters.iter().zip(&self.offsets) {
            let shape = parameter.value().shape();
            let value = Value::Memory { memory: array.clone(), offset, whole: self.len };
            parameter.set(Tensor::leaf(value, shape, DType::F32, device, location));
        }
        self.array = Some(array);
    }
}
