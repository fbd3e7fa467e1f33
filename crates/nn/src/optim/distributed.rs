//! A step of several ranks: gradients, their mean over all ranks, the update.
//!
//! The program of a step is cut in two. The first part computes the loss and the gradients, in one array. The host reads the
//! array, and the ranks reduce it to its mean. The second part updates from it: it divides by the loss scale, clips, and
//! skips the step if a gradient of any rank is not finite. So all of that is the same on every rank.
//!
//! Invariant: parameters, moments and the loss scale have the same bits on every rank after every step.

use std::hash::{Hash, Hasher};
use std::panic::Location;

use farad_group::{Combine, Group, Summable};
use farad_ir::{DType, NodeId};

use super::flat::{Flat, StepSource};
use super::layout::ParameterLayout;
use super::program::{Seeds, packed_gradients};
use super::rule::AnyRule;
use super::scale::Scale;
use crate::error::Result;
use farad_tensor::engine::{DeviceArray, StepOutput};
use farad_tensor::{Device, Tensor};

/// What memory reports call gradients of all ranks.
const REDUCED: &str = "reduced gradients";

/// The ranks of an optimizer.
pub(super) struct Distributed {
    group: Group,
}

/// What decides the program of gradients, beside what was recorded.
struct GradientProgram<'a> {
    seeds: &'a Seeds,
    ids: &'a [NodeId],
    scale: Option<Scale>,
    layout: &'a ParameterLayout,
}

impl Hash for GradientProgram<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let GradientProgram { seeds, ids, scale, layout } = self;
        ("gradients of a rank", seeds, ids, scale, layout).hash(state);
    }
}

impl Flat {
    /// A step with the mean gradients of all ranks.
    pub(super) fn update_together(
        &mut self,
        rules: &[&dyn AnyRule],
        source: &StepSource,
        values: Vec<Tensor>,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let mine = self.gradients_of_rank(source, &values, device, location)?;
        let reduced = self.reduced(mine, device, location)?;
        let scaled = matches!(source, StepSource::Loss(_)) && self.scaling.words.is_some();
        self.update(rules, &StepSource::Reduced { gradients: &reduced, scaled }, values, device, location)
    }

    /// The gradients of this rank, in one array. The loss and what else is in hand become values.
    fn gradients_of_rank(
        &mut self,
        source: &StepSource,
        values: &[Tensor],
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<DeviceArray> {
        let mut step = self.record(device, source, location)?;
        let (seeds, ids) = self.nodes(&mut step, values, source)?;
        let halves = step.spend(&ids);
        let scale = match source {
            StepSource::Loss(_) if self.layout.len > 0 => {
                self.scaling.record(&mut step, halves, false, location)?.0
            }
            _ => None,
        };
        let program = GradientProgram { seeds: &seeds, ids: &ids, scale, layout: &self.layout };
        let written = step.run(&program, |writer| {
            let node = packed_gradients(writer, &seeds, &ids, scale, &self.layout)?;
            Ok(vec![StepOutput { node, replaces: None }])
        })?;
        Ok(written.into_iter().next().expect("the program has one output"))
    }

    /// The mean of the arrays of all ranks.
    fn reduced(
        &self,
        mine: DeviceArray,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<DeviceArray> {
        let group = &self.distributed.as_ref().expect("there are ranks").group;
        let (dtype, bytes) = (mine.dtype(), mine.read()?);
        drop(mine);
        let bytes = match dtype {
            DType::F64 => mean::<f64>(group, &bytes)?,
            _ => mean::<f32>(group, &bytes)?,
        };
        DeviceArray::from_bytes(device, dtype, &bytes, REDUCED, location)
    }

    /// Reduces gradients with these ranks from the next step on. Nothing is sent yet.
    pub(super) fn distribute(&mut self, group: &Group) {
        self.distributed = (!group.is_alone()).then(|| Distributed { group: group.clone() });
    }

    /// All ranks take the parameters of rank 0.
    pub(super) fn synchronize(&mut self) -> Result<()> {
        let Some(Distributed { group }) = &self.distributed else { return Ok(()) };
        for parameter in &self.parameters {
            let value = parameter.value();
            let mine = value.read()?.wait()?;
            let mut first = mine.to_vec();
            group.broadcast(&mut first, 0)?;
            if first[..] != mine[..] {
                parameter.set(Tensor::from_bytes(&first, value.shape(), value.dtype(), value.device())?);
            }
        }
        Ok(())
    }
}

/// The mean over all ranks.
fn mean<T: Summable>(group: &Group, bytes: &[u8]) -> Result<Vec<u8>> {
    // Copied, as bytes need not be aligned as numbers are.
    let numbers: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
    let reduced = group.start_all_reduce(numbers, Combine::Mean).wait()?;
    Ok(bytemuck::cast_slice(&reduced).to_vec())
}
