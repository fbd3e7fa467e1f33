//! The arrays that parameters and moments live in between steps.
//!
//! Invariant: the parameters' array is overwritten only while nobody but the parameters themselves can read it.

use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, Shape};

use super::Rule;
use super::flat::Flat;
use super::layout::Layout;
use crate::error::{NnError, Result};
use farad_runtime::Memory;
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::engine::{Maker, Origin};
use farad_tensor::engine::{Node, Value};

impl Flat {
    /// Lays the parameters out as they are to be trained from now on. Moments move along; parameters that come in
    /// later begin with fresh ones, and those that go out lose theirs.
    pub(super) fn arrange(
        &mut self,
        rule: &dyn Rule,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let trained = self.trained();
        if trained == self.layout.trained {
            return Ok(());
        }
        if !trained.contains(&true) {
            return Err(NnError::NoParameters.into());
        }
        let came = |n: usize| trained[n] && !self.layout.trained.get(n).copied().unwrap_or(false);
        let born: Vec<usize> = (0..trained.len()).filter(|&n| came(n)).collect();
        let mut members = self.members.clone();
        born.into_iter().for_each(|n| members[n].born = self.step);
        let shapes: Vec<Shape> = self.parameters.iter().map(|p| p.value().shape()).collect();
        let layout = Layout::new(&shapes, &members, trained, rule);
        let mut states = Vec::with_capacity(self.states.len());
        for n in 0..self.states.len() {
            states.push(self.moved(n, &layout, rule, device, location)?);
        }
        for slot in self.layout.slots.iter().filter(|slot| !layout.trained[slot.parameter]) {
            // A part of its own, so that it does not hold the whole array.
            let value = self.parameters[slot.parameter].value();
            let copy = Tensor::from_bytes(&value.read()?.wait()?, value.shape(), DType::F32, device)?;
            self.parameters[slot.parameter].set(copy);
        }
        (self.members, self.layout, self.states, self.array) = (members, layout, states, None);
        Ok(())
    }

    /// Which parameters are to be trained: all that are not frozen.
    pub(super) fn trained(&self) -> Vec<bool> {
        self.parameters.iter().map(|p| !p.is_frozen()).collect()
    }

    /// A moment's array in another layout.
    fn moved(
        &self,
        state: usize,
        to: &Layout,
        rule: &dyn Rule,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<Memory> {
        let old = self.state_bytes(state, rule, device)?;
        let mut new = rule.start(state).to_le_bytes().repeat(to.state_len(rule, state));
        for slot in to.slots.iter().filter(|slot| rule.keeps(state, slot.class)) {
            if let Some(from) = self.layout.slots.iter().find(|from| from.parameter == slot.parameter) {
                let bytes = slot.shape.numel() * 4;
                new[slot.offset * 4..][..bytes].copy_from_slice(&old[from.offset * 4..][..bytes]);
            }
        }
        self.written(&new, "optimizer state", device, location)
    }

    /// A moment's array as bytes; waits for the device.
    pub(super) fn state_bytes(&self, state: usize, rule: &dyn Rule, device: &Device) -> Result<Vec<u8>> {
        match self.layout.state_len(rule, state) {
            0 => Ok(vec![]),
            len => Ok(device.0.backend.read(&self.states[state], 0, len * 4).wait()?),
        }
    }

    /// New memory with these bytes.
    pub(super) fn written(
        &self,
        bytes: &[u8],
        what: &'static str,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<Memory> {
        let memory = device.allocate(bytes.len().max(4))?;
        device.hold(&memory, origin(what, bytes.len() / 4, location));
        if !bytes.is_empty() {
            device.0.backend.write(&memory, bytes)?;
        }
        Ok(memory)
    }

    /// The moments as they begin, unless they are there.
    pub(super) fn make_states(
        &mut self,
        rule: &dyn Rule,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        if !self.states.is_empty() {
            return Ok(());
        }
        let mut states = Vec::with_capacity(rule.states());
        for n in 0..rule.states() {
            let (len, start) = (self.layout.state_len(rule, n), rule.start(n));
            if start != 0.0 {
                states.push(self.written(
                    &start.to_le_bytes().repeat(len),
                    "optimizer state",
                    device,
                    location,
                )?);
                continue;
            }
            let memory = device.with_room(|| device.0.backend.allocate_zeroed((len * 4).max(4)))?;
            device.hold(&memory, origin("optimizer state", len, location));
            states.push(memory);
        }
        // All of them or none: a step after one that found too little memory starts afresh.
        self.states = states;
        Ok(())
    }

    /// Whether all parameters lie in the array, each in its slot.
    pub(super) fn is_packed(&self, values: &[Tensor]) -> bool {
        let Some(array) = &self.array else { return false };
        values.iter().zip(&self.layout.slots).all(|(value, slot)| match value.node.value() {
            Some(Value::Memory { memory, offset, whole }) => {
                memory.identity() == array.identity() && offset == slot.offset && whole == self.layout.len
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
        let sole = self.layout.slots.iter().all(|slot| self.parameters[slot.parameter].holders() == 1);
        // Held by every parameter's value, by this optimizer and by the list of inputs.
        if sole && inputs[at].handles() == self.layout.slots.len() + 2 {
            return Ok(());
        }
        let len = self.layout.len;
        let copy = device.allocate(len * 4)?;
        device.hold(&copy, origin("parameters", len, location));
        device.0.backend.copy(&inputs[at], &copy, len * 4)?;
        inputs[at] = copy;
        Ok(())
    }

    /// Gives every result its new home.
    pub(super) fn take<'a>(
        &mut self,
        device: &Device,
        live: impl Iterator<Item = &'a Arc<Node>>,
        mut outputs: Vec<Memory>,
        [scaled, judged]: [bool; 2],
        location: &'static Location<'static>,
    ) {
        if judged {
            self.scaling.skipped = outputs.pop();
        }
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
        for slot in &self.layout.slots {
            let value = Value::Memory { memory: array.clone(), offset: slot.offset, whole: self.layout.len };
            let tensor = Tensor::leaf(value, slot.shape, DType::F32, device, location);
            self.parameters[slot.parameter].set(tensor);
        }
        self.array = Some(array);
    }
}

/// Who made an array of an optimizer.
pub(super) fn origin(what: &'static str, len: usize, location: &'static Location<'static>) -> Origin {
    Maker::named(what, Shape::new(&[len]), DType::F32, Some(location))
}
