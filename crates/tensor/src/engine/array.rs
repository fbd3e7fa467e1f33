//! Arrays that a step may overwrite.
//!
//! Invariant: an [`Array`] has one owner and is never cloned. Tensors may be parts of it; whether it is overwritten in
//! place or copied first is decided here, and only while a [`Step`](super::Step) has it.

use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, Shape};

use crate::device::Device;
use crate::error::Result;
use crate::live::{Maker, Origin};
use crate::node::Value;
use crate::tensor::Tensor;
use farad_runtime::Memory;

/// Numbers (`f32`) in a device's memory, with one owner. Lent to a [`Step`](super::Step), it comes back with new numbers.
pub struct Array {
    device: Device,
    pub(super) memory: Memory,
    len: usize,
}

/// Where a tensor's numbers lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The memory; equal numbers are the same one.
    pub memory: u64,
    /// The tensor's first element in it.
    pub offset: usize,
    /// How many elements the memory has in all.
    pub len: usize,
}

impl Place {
    /// Where a tensor lies; none while it is not computed, or is a number that the host gives.
    pub fn of(tensor: &Tensor) -> Option<Place> {
        match &tensor.node.state().value {
            Some(Value::Memory { memory, offset, whole }) => {
                Some(Place { memory: memory.identity(), offset: *offset, len: *whole })
            }
            _ => None,
        }
    }
}

impl Array {
    /// This many zeros. `what` it is and which line made it stand in memory reports.
    pub fn zeros(
        device: &Device,
        len: usize,
        what: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Array> {
        let memory = device.with_room(|| device.0.backend.allocate_zeroed((len * 4).max(4)))?;
        device.hold(&memory, origin(what, len, location));
        Ok(Array { device: device.clone(), memory, len })
    }

    /// An array with these bytes, four to a number.
    pub fn from_bytes(
        device: &Device,
        bytes: &[u8],
        what: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Array> {
        let memory = device.allocate(bytes.len().max(4))?;
        device.hold(&memory, origin(what, bytes.len() / 4, location));
        if !bytes.is_empty() {
            device.0.backend.write(&memory, bytes)?;
        }
        Ok(Array { device: device.clone(), memory, len: bytes.len() / 4 })
    }

    /// What a run wrote.
    pub(super) fn written(device: &Device, memory: Memory, len: usize) -> Array {
        Array { device: device.clone(), memory, len }
    }

    /// How many numbers it has.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.len
    }

    /// Its bytes; waits for the device.
    pub fn read(&self) -> Result<Vec<u8>> {
        match self.len {
            0 => Ok(vec![]),
            len => Ok(self.device.0.backend.read(&self.memory, 0, len * 4).wait()?),
        }
    }

    /// A tensor of the numbers from `offset` on. It reads the array where it lies.
    pub fn part(&self, offset: usize, shape: Shape, location: &'static Location<'static>) -> Tensor {
        let value = Value::Memory { memory: self.memory.clone(), offset, whole: self.len };
        Tensor::leaf(value, shape, DType::F32, &self.device, location)
    }

    /// Whether a tensor is the part of it from `offset` on.
    pub fn holds(&self, tensor: &Tensor, offset: usize) -> bool {
        Place::of(tensor) == Some(Place { memory: self.memory.identity(), offset, len: self.len })
    }

    /// Whether nobody can read the memory but its owner: through the array, through `parts`, which the owner has and
    /// has handed over once more, and through a run's list of inputs.
    fn is_sole(&self, parts: &[Tensor]) -> bool {
        parts.iter().all(|part| Arc::strong_count(&part.node) == 2)
            && self.memory.handles() == parts.len() + 2
    }

    /// What a run may write to: `memory` of its inputs, which is the array's, or a copy if somebody else could read it.
    pub(super) fn protect(
        &self,
        memory: &mut Memory,
        parts: &[Tensor],
        location: &'static Location<'static>,
    ) -> Result<()> {
        if self.is_sole(parts) {
            return Ok(());
        }
        let copy = self.device.allocate((self.len * 4).max(4))?;
        self.device.hold(&copy, origin("parameters", self.len, location));
        self.device.0.backend.copy(memory, &copy, self.len * 4)?;
        *memory = copy;
        Ok(())
    }
}

/// Who made an array.
fn origin(what: &'static str, len: usize, location: &'static Location<'static>) -> Origin {
    Maker::named(what, Shape::new(&[len]), DType::F32, Some(location))
}
