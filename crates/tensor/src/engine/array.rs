//! Arrays that a step may overwrite.
//!
//! Invariant: a [`DeviceArray`] has one owner and is never cloned. Tensors may be parts of it; whether it is overwritten in
//! place or copied first is decided here, and only while a [`EngineStep`](super::EngineStep) has it.

use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, Shape};

use crate::device::Device;
use crate::error::Result;
use crate::live::{Maker, PieceOrigin};
use crate::node::KnownValue;
use crate::tensor::Tensor;
use farad_runtime::Memory;

/// Numbers (`f32`, or `f64` on the CPU) in a device's memory, with one owner. Lent to a [`EngineStep`](super::EngineStep), it comes back with new numbers.
pub struct DeviceArray {
    device: Device,
    pub(super) memory: Memory,
    dtype: DType,
    len: usize,
}

/// Where a tensor's numbers lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayPlace {
    /// The memory; equal numbers are the same one.
    pub memory: u64,
    /// The tensor's first element in it.
    pub offset: usize,
    /// How many elements the memory has in all.
    pub len: usize,
}

impl ArrayPlace {
    /// Where a tensor lies; none while it is not computed, or is a number that the host gives.
    pub fn of(tensor: &Tensor) -> Option<ArrayPlace> {
        match &tensor.node.state().value {
            Some(KnownValue::Memory { memory, offset, whole }) => {
                Some(ArrayPlace { memory: memory.identity(), offset: *offset, len: *whole })
            }
            _ => None,
        }
    }
}

impl DeviceArray {
    /// This many zeros. `what` it is and which line made it stand in memory reports.
    pub fn zeros(
        device: &Device,
        dtype: DType,
        len: usize,
        what: &'static str,
        location: &'static Location<'static>,
    ) -> Result<DeviceArray> {
        let bytes = (len * dtype.size()).max(4);
        let memory = device.with_room(|| device.0.backend.allocate_zeroed(bytes))?;
        device.hold(&memory, origin(what, dtype, len, location));
        Ok(DeviceArray { device: device.clone(), memory, dtype, len })
    }

    /// An array with these bytes.
    pub fn from_bytes(
        device: &Device,
        dtype: DType,
        bytes: &[u8],
        what: &'static str,
        location: &'static Location<'static>,
    ) -> Result<DeviceArray> {
        let (memory, len) = (device.allocate(bytes.len().max(4))?, bytes.len() / dtype.size());
        device.hold(&memory, origin(what, dtype, len, location));
        if !bytes.is_empty() {
            device.0.backend.write(&memory, bytes)?;
        }
        Ok(DeviceArray { device: device.clone(), memory, dtype, len })
    }

    /// What a run wrote.
    pub(super) fn written(device: &Device, memory: Memory, dtype: DType, len: usize) -> DeviceArray {
        DeviceArray { device: device.clone(), memory, dtype, len }
    }

    /// How many numbers it has.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.len
    }

    /// What its numbers are.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its bytes; waits for the device.
    pub fn read(&self) -> Result<Vec<u8>> {
        match self.len {
            0 => Ok(vec![]),
            len => Ok(self.device.0.backend.read(&self.memory, 0, len * self.dtype.size()).wait()?),
        }
    }

    /// A tensor of the numbers from `offset` on. It reads the array where it lies.
    pub fn part(&self, offset: usize, shape: Shape, location: &'static Location<'static>) -> Tensor {
        let value = KnownValue::Memory { memory: self.memory.clone(), offset, whole: self.len };
        Tensor::leaf(value, shape, self.dtype, &self.device, location)
    }

    /// Whether a tensor is the part of it from `offset` on.
    pub fn holds(&self, tensor: &Tensor, offset: usize) -> bool {
        ArrayPlace::of(tensor) == Some(ArrayPlace { memory: self.memory.identity(), offset, len: self.len })
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
        let bytes = self.len * self.dtype.size();
        let copy = self.device.allocate(bytes.max(4))?;
        self.device.hold(&copy, origin("parameters", self.dtype, self.len, location));
        self.device.0.backend.copy(memory, &copy, bytes)?;
        *memory = copy;
        Ok(())
    }
}

/// Who made an array.
fn origin(what: &'static str, dtype: DType, len: usize, location: &'static Location<'static>) -> PieceOrigin {
    Maker::named(what, Shape::new(&[len]), dtype, Some(location))
}
