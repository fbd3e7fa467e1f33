//! The arrays that parameters and moments live in between steps.
//!
//! Invariant: the parameters' array is overwritten only while nobody but the parameters themselves can read it.

use std::panic::Location;

use farad_ir::{DType, Scalar, Shape};

use super::distributed::HeldMoments;
use super::flat::Flat;
use super::layout::ParameterLayout;
use super::rule::AnyRule;
use crate::error::{NnError, Result};
use farad_tensor::engine::DeviceArray;
use farad_tensor::{Device, Tensor};

/// What memory reports call a moment's array.
pub(super) const MOMENT: &str = "optimizer state";

/// The bytes of what every element of a moment begins with.
pub(super) fn starting(rule: &dyn AnyRule, state: usize, dtype: DType) -> Vec<u8> {
    Scalar::float(dtype, rule.start(state) as f64).bytes()
}

impl Flat {
    /// Lays the parameters out as they are to be trained from now on. Moments move along; parameters that come in
    /// later begin with fresh ones, and those that go out lose theirs.
    pub(super) fn arrange(
        &mut self,
        rule: &dyn AnyRule,
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
        let layout = ParameterLayout::new(&shapes, &members, trained, rule);
        self.gather()?;
        let old = self.whole_moments()?.into_iter().enumerate();
        let moments = old.map(|(n, old)| self.moved(n, &old, &layout, rule)).collect::<Result<Vec<_>>>()?;
        let states = self.keep(moments, device, MOMENT, location)?;
        for slot in self.layout.slots.iter().filter(|slot| !layout.trained[slot.parameter]) {
            // A part of its own, so that it does not hold the whole array.
            let value = self.parameters[slot.parameter].value();
            let copy = Tensor::from_bytes(&value.read()?.wait()?, value.shape(), value.dtype(), device)?;
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
    fn moved(&self, state: usize, old: &[u8], to: &ParameterLayout, rule: &dyn AnyRule) -> Result<Vec<u8>> {
        let (dtype, size) = (self.dtype()?, self.dtype()?.size());
        let mut new = starting(rule, state, dtype).repeat(to.state_len(rule, state));
        for slot in to.slots.iter().filter(|slot| rule.keeps(state, slot.class)) {
            if let Some(from) = self.layout.slots.iter().find(|from| from.parameter == slot.parameter) {
                let bytes = slot.shape.numel() * size;
                new[slot.offset * size..][..bytes].copy_from_slice(&old[from.offset * size..][..bytes]);
            }
        }
        Ok(new)
    }

    /// Whole moments in a new layout as arrays. Where each rank has a share of them they stay on the host until they are cut.
    pub(super) fn keep(
        &mut self,
        moments: Vec<Vec<u8>>,
        device: &Device,
        what: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Vec<DeviceArray>> {
        let (dtype, step) = (self.dtype()?, self.step);
        if let Some(ranks) = &mut self.distributed {
            ranks.forget();
            if ranks.options.sharded {
                ranks.held = HeldMoments { moments, step };
                return Ok(vec![]);
            }
        }
        let array = |bytes: Vec<u8>| DeviceArray::from_bytes(device, dtype, &bytes, what, location);
        moments.into_iter().map(array).collect()
    }

    /// The moments as they begin, unless they are there.
    pub(super) fn make_states(
        &mut self,
        rule: &dyn AnyRule,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        if !self.states.is_empty() {
            return Ok(());
        }
        let dtype = self.dtype()?;
        let held = self.distributed.as_mut().map(|ranks| std::mem::take(&mut ranks.held)).unwrap_or_default();
        let mut states = Vec::with_capacity(rule.states());
        for n in 0..rule.states() {
            let len = self.layout.state_len(rule, n);
            states.push(match held.moments.get(n) {
                Some(moment) => DeviceArray::from_bytes(device, dtype, moment, MOMENT, location)?,
                None if rule.start(n) == 0.0 => DeviceArray::zeros(device, dtype, len, MOMENT, location)?,
                None => {
                    let bytes = starting(rule, n, dtype).repeat(len);
                    DeviceArray::from_bytes(device, dtype, &bytes, MOMENT, location)?
                }
            });
        }
        // All of them or none: a step after one that found too little memory starts afresh.
        self.states = states;
        Ok(())
    }

    /// Whether all parameters lie in the array, each in its slot.
    pub(super) fn is_packed(&self, values: &[Tensor]) -> bool {
        let Some(array) = self.array.as_ref().filter(|array| array.len() == self.layout.len) else {
            return false;
        };
        values.iter().zip(&self.layout.slots).all(|(value, slot)| array.holds(value, slot.offset))
    }

    /// Makes the parameters parts of the array.
    pub(super) fn adopt(&self, location: &'static Location<'static>) {
        for (slot, array) in self.layout.slots.iter().zip(self.array.iter().cycle()) {
            self.parameters[slot.parameter].set(array.part(slot.offset, slot.shape, location));
        }
    }
}
