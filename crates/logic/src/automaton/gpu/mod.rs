//! The two ops as WGSL kernels: one launch per step in each direction.
//!
//! A workgroup works on groups of a few cells (usually four), one vector component per cell. An invocation
//! evaluates one gate for all of them. A step's activations never leave the workgroup, except to its own
//! scratch memory. The update circuit is unrolled in the text. Start at [`forward`] and [`backward`]; `plan`
//! divides the work, `text` makes the WGSL.
//!
//! The backward pass recomputes a step's activations and goes through the layers in reverse. Each workgroup
//! adds weight gradients to its own partial sums, which are summed in a fixed order at the end. With many
//! groups of cells, 128 workgroups loop over them and keep their sums in registers.
//!
//! Invariant: nothing depends on the order in which workgroups run. Gradients of neighbors are gathered by the
//! next launch, and each workgroup has its own sums.

mod circuit;
mod perception;
mod plan;
mod text;

use std::sync::Arc;

use farad::{CustomKernel, CustomLimits};

use super::extent::RollOutExtent;
use super::op::Policy;
use plan::{KernelPlan, PassDirection, backward_slots, keeps, registers, spill, sums};
use text::TextKey;

/// Means "none" for offsets in parameters.
const NOWHERE: u32 = u32::MAX;

/// The states that a launch reads or writes: which array, and at which offset.
#[derive(Clone, Copy, Debug)]
struct StateArray {
    argument: usize,
    offset: usize,
}

/// The roll-out's kernels.
pub fn forward(extent: &RollOutExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let operands = 4 + extent.asynchronous as usize;
    let (result, kept, first) = (operands, operands + 1, operands + 2);
    let stepper = Stepper::new(extent, limits, keeps(extent));
    let stride = extent.stride();
    (0..extent.steps)
        .map(|step| {
            let alternate = |step: usize| StateArray { argument: first + step % 2, offset: 0 };
            let source = if step == 0 { StateArray { argument: 3, offset: 0 } } else { alternate(step - 1) };
            let last = step + 1 == extent.steps;
            let target = if last { StateArray { argument: result, offset: 0 } } else { alternate(step) };
            let keeps = (step + 1) % stride == 0 && !last;
            let slot = keeps.then(|| ((step + 1) / stride - 1) * extent.state_len());
            let spill = StateArray { argument: first + 2, offset: 0 };
            stepper.launch(step, source, target, StateArray { argument: kept, offset: 0 }, slot, spill)
        })
        .collect()
}

/// Two arrays of states in turn, and the replacement for workgroup memory.
pub fn forward_scratch(extent: &RollOutExtent) -> Vec<usize> {
    vec![extent.state_len().max(1), extent.state_len().max(1), spill(extent).max(1)]
}

/// The backward pass's kernels.
pub fn backward(extent: &RollOutExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    Back::new(extent, limits).launches()
}

/// Gradients (and the replacement for workgroup memory), sums of workgroups, their totals, activations, their
/// readers, and for recomputed states two arrays in turn and one for a whole segment.
pub fn backward_scratch(extent: &RollOutExtent) -> Vec<usize> {
    let slots = extent.seeds * backward_slots(extent);
    let activations = slots * super::extent::GROUP * extent.topology.activations();
    let mut words = vec![
        gradient_len(extent) + spill(extent),
        slots * sums(extent.topology) * 4,
        extent.seeds * sums(extent.topology) * 4,
        if keeps(extent) || registers(extent.topology) { 1 } else { activations },
        (extent.seeds * (2 * extent.topology.activations() + extent.topology.consumers()))
            .next_multiple_of(2),
    ];
    if let Policy::Every(_) = extent.policy {
        let segment = extent.stride().min(extent.steps).saturating_sub(1);
        words.extend([extent.state_len(), extent.state_len(), segment * extent.state_len()]);
    }
    words.into_iter().map(|len| len.max(1)).collect()
}

/// States, plus twice the neighborhoods of all cells.
fn gradient_len(extent: &RollOutExtent) -> usize {
    19 * extent.state_len()
}

/// Launches of forward steps, in the roll-out or again in its backward pass.
struct Stepper<'a> {
    extent: &'a RollOutExtent<'a>,
    plan: KernelPlan,
    wgsl: Arc<str>,
    workgroups: [u32; 3],
    keeps: bool,
}

impl<'a> Stepper<'a> {
    fn new(extent: &'a RollOutExtent<'a>, limits: &CustomLimits, keeps: bool) -> Stepper<'a> {
        let plan = KernelPlan::new(extent, limits, PassDirection::Forward);
        let text = TextKey { topology: extent.topology, plan, asynchronous: extent.asynchronous, keeps };
        let workgroups = grid(plan.slots * extent.seeds, limits);
        Stepper { extent, plan, wgsl: text.forward().into(), workgroups, keeps }
    }

    /// A step from `source` to `target`, and to a slot of the kept array if one is given.
    fn launch(
        &self,
        step: usize,
        source: StateArray,
        target: StateArray,
        kept: StateArray,
        slot: Option<usize>,
        spill: StateArray,
    ) -> CustomKernel {
        let extent = self.extent;
        let activations = if self.keeps {
            extent.kept_states() * extent.state_len() + step * extent.activation_len()
        } else {
            0
        };
        let slot = slot.map_or(NOWHERE, |slot| (kept.offset + slot) as u32);
        let mut words = header(extent, &self.plan, step);
        words.extend([source.offset as u32, target.offset as u32, slot, activations as u32]);
        words.extend([0, spill.offset as u32, 0, 0]);
        let mut arguments = vec![0, 1, source.argument];
        arguments.extend(extent.asynchronous.then_some(4));
        arguments.extend([target.argument, kept.argument]);
        arguments.extend(self.plan.spilled.then_some(spill.argument));
        CustomKernel::new(self.wgsl.clone(), "forward", self.workgroups)
            .parameters(&words)
            .arguments(&arguments)
    }
}

/// Launches of the backward pass.
struct Back<'a> {
    extent: &'a RollOutExtent<'a>,
    limits: CustomLimits,
    plan: KernelPlan,
    wgsl: Arc<str>,
    /// The index of the kept array among the arguments; the gradient at the end comes next, then the two
    /// results, then scratch.
    kept: usize,
}

impl<'a> Back<'a> {
    fn new(extent: &'a RollOutExtent<'a>, limits: &CustomLimits) -> Back<'a> {
        let plan = KernelPlan::new(extent, limits, PassDirection::Backward);
        let keeps = keeps(extent);
        let text = TextKey { topology: extent.topology, plan, asynchronous: extent.asynchronous, keeps };
        let kept = 4 + extent.asynchronous as usize;
        Back { extent, limits: *limits, plan, wgsl: text.backward().into(), kept }
    }

    /// The index of a scratch buffer among the arguments.
    fn scratch(&self, n: usize) -> usize {
        self.kept + 4 + n
    }

    fn launches(&self) -> Vec<CustomKernel> {
        let extent = self.extent;
        let stride = if let Policy::Every(_) = extent.policy { extent.stride() } else { 1 };
        let stepper = (stride > 1).then(|| Stepper::new(extent, &self.limits, false));
        let mut kernels = vec![self.begin()];
        for start in (0..extent.steps).step_by(stride).rev() {
            let end = (start + stride).min(extent.steps);
            let first = if start == 0 {
                StateArray { argument: 3, offset: 0 }
            } else {
                StateArray { argument: self.kept, offset: (start / stride - 1) * extent.state_len() }
            };
            if let Some(stepper) = &stepper {
                kernels.extend(self.again(stepper, first, start, end));
            }
            for step in (start..end).rev() {
                let slot = (step - start).saturating_sub(1) * extent.state_len();
                let inside = StateArray { argument: self.scratch(7), offset: slot };
                kernels.push(self.step(step, if step == start { first } else { inside }));
            }
        }
        kernels.extend([self.finish(), self.fold(), self.collect()]);
        kernels
    }

    /// Recomputes the states from `first`, those before step `start`, to the ones before step `end`.
    fn again(&self, stepper: &Stepper, first: StateArray, start: usize, end: usize) -> Vec<CustomKernel> {
        let alternate = |step: usize| StateArray { argument: self.scratch(5 + step % 2), offset: 0 };
        let segment = StateArray { argument: self.scratch(7), offset: 0 };
        let spill = StateArray { argument: self.scratch(0), offset: gradient_len(self.extent) };
        (start..end - 1)
            .map(|step| {
                let source = if step == start { first } else { alternate(step - 1) };
                let slot = (step - start) * self.extent.state_len();
                stepper.launch(step, source, alternate(step), segment, Some(slot), spill)
            })
            .collect()
    }

    fn begin(&self) -> CustomKernel {
        let (extent, topology) = (self.extent, self.extent.topology);
        let (states, rows) = (extent.state_len(), extent.seeds * topology.activations());
        let words = [states, rows, topology.activations(), topology.consumers()];
        let mut words: Vec<u32> = words.map(|word| word as u32).to_vec();
        words.extend([topology.update.len() as u32 - 1, 0, 0, 0]);
        words.extend(layers(extent));
        let workgroups = grid(states.max(rows).div_ceil(256), &self.limits);
        CustomKernel::new(text::begin(topology), "begin", workgroups).parameters(&words).arguments(&[
            self.kept + 1,
            2,
            self.scratch(0),
            self.scratch(4),
        ])
    }

    /// One step backward; gradients of neighborhoods alternate between two buffers.
    fn step(&self, step: usize, source: StateArray) -> CustomKernel {
        let (extent, states) = (self.extent, self.extent.state_len());
        let places = [states, 10 * states];
        let keeps = keeps(extent);
        let activations =
            if keeps { extent.kept_states() * states + step * extent.activation_len() } else { 0 };
        let mut words = header(extent, &self.plan, step);
        let (from, to) = (places[(step + 1) % 2], places[step % 2]);
        words.extend([source.offset, from, to, activations].map(|word| word as u32));
        let latest = step + 1 == extent.steps;
        words.extend([latest as u32, gradient_len(extent) as u32, 0, 0]);
        let mut arguments = vec![0, 1, source.argument];
        arguments.extend(extent.asynchronous.then_some(4));
        let activations = if keeps { self.kept } else { self.scratch(3) };
        arguments.extend([self.scratch(4), self.scratch(0), self.scratch(1), activations]);
        let workgroups = grid(self.plan.slots * extent.seeds, &self.limits);
        CustomKernel::new(self.wgsl.clone(), "backward", workgroups).parameters(&words).arguments(&arguments)
    }

    fn finish(&self) -> CustomKernel {
        let extent = self.extent;
        let count = extent.state_len();
        let words = [
            [count, extent.cells(), extent.topology.channels, extent.asynchronous as usize],
            [extent.height, extent.width, count, 0],
        ];
        let words: Vec<u32> = words.concat().into_iter().map(|word| word as u32).collect();
        CustomKernel::new(text::finish(extent.topology), "finish", grid(count.div_ceil(256), &self.limits))
            .parameters(&words)
            .arguments(&[self.scratch(0), self.kept + 3])
    }

    fn fold(&self) -> CustomKernel {
        let sums = sums(self.extent.topology);
        let columns = sums.div_ceil(32);
        let total = columns * self.extent.seeds;
        CustomKernel::new(include_str!("fold.wgsl"), "fold", grid(total, &self.limits))
            .parameters(&[total, columns, sums, self.plan.slots].map(|word| word as u32))
            .arguments(&[self.scratch(1), self.scratch(2)])
    }

    fn collect(&self) -> CustomKernel {
        let topology = self.extent.topology;
        let (gates, perception) = (topology.gates(), topology.perception_gates());
        let total = gates * self.extent.seeds;
        let words = [total, gates, perception, topology.kernels, topology.channels, sums(topology)];
        CustomKernel::new(include_str!("collect.wgsl"), "collect", grid(total.div_ceil(64), &self.limits))
            .parameters(&words.map(|word| word as u32))
            .arguments(&[self.scratch(2), self.kept + 2])
    }
}

/// A grid of this many workgroups, folded to fit the adapter's limits.
fn grid(count: usize, limits: &CustomLimits) -> [u32; 3] {
    let x = count.clamp(1, limits.workgroups.max(1) as usize);
    [x as u32, count.div_ceil(x).max(1) as u32, 1]
}

fn header(extent: &RollOutExtent, plan: &KernelPlan, step: usize) -> Vec<u32> {
    let words = [
        [plan.slots * extent.seeds, plan.slots, plan.groups(extent), extent.cells()],
        [extent.height, extent.width, extent.steps, step],
    ];
    words.concat().into_iter().map(|word| word as u32).collect()
}

/// Inputs, outputs, first gate and first activation of every layer of the update circuit.
fn layers(extent: &RollOutExtent) -> Vec<u32> {
    let (mut gate, mut row) = (0, 0);
    let mut words = Vec::new();
    for pair in extent.topology.update.windows(2) {
        words.extend([pair[0], pair[1], gate, row].map(|word| word as u32));
        (gate, row) = (gate + pair[1], row + pair[0]);
    }
    words
}
