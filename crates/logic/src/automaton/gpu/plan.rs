//! How a roll-out is cut for an adapter: cells a vector, invocations, workgroup memory, slots.
//!
//! Invariant: scratch sizes follow from the extent alone, whatever the adapter's limits.

use farad::CustomLimits;

use super::super::extent::{Extent, GROUP};
use super::super::op::Policy;
use super::super::topology::Topology;

/// Workgroups of one seed in the backward pass, at most. Each has its own sums, so more of them
/// take more memory and longer to add up.
const SLOTS: usize = 512;

/// Bytes of sums or of activations of all workgroups in the backward pass, at most: WebGPU binds no
/// more than 128 MiB by default.
const SLOT_BYTES: usize = 112 << 20;

/// Workgroup memory in WebGPU's default limits.
const LEAST_MEMORY: u32 = 16 << 10;

/// Where the values of a group lie in workgroup memory, counted in vectors of one number a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Values of layers with odd numbers; those with even ones start at 0.
    pub odd: usize,
    /// Gradients at operands, for even and for odd layers.
    pub deltas: usize,
    /// Length of each of the two.
    pub delta: usize,
    /// Everything.
    pub len: usize,
}

/// How the kernels of one op are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Cells a vector: 1, 2 or 4.
    pub lanes: usize,
    /// Invocations a workgroup.
    pub invocations: usize,
    /// Values lie in storage because workgroup memory is too small.
    pub spilled: bool,
    /// Workgroups a seed.
    pub slots: usize,
    pub memory: Memory,
}

impl Plan {
    /// For steps forward.
    pub fn forward(extent: &Extent, limits: &CustomLimits) -> Plan {
        let invocations = invocations(extent.topology, limits);
        let memory = forward_memory(extent.topology);
        let (lanes, spilled) = lanes(extent.topology, memory.len, limits);
        let groups = extent.cells().div_ceil(lanes);
        let slots = if spilled { groups.min(backward_slots(extent)) } else { groups };
        Plan { lanes, invocations, spilled, slots, memory }
    }

    /// For steps backward.
    pub fn backward(extent: &Extent, limits: &CustomLimits) -> Plan {
        let invocations = invocations(extent.topology, limits);
        let memory = backward_memory(extent.topology, invocations);
        let (lanes, spilled) = lanes(extent.topology, memory.len, limits);
        Plan { lanes, invocations, spilled, slots: backward_slots(extent), memory }
    }

    /// Groups of cells of one seed.
    pub fn groups(&self, extent: &Extent) -> usize {
        extent.cells().div_ceil(self.lanes)
    }
}

/// One invocation a gate of the widest layer, if the adapter has as many.
fn invocations(topology: &Topology, limits: &CustomLimits) -> usize {
    let widest = topology.update.iter().max().copied().unwrap_or(1);
    let pairs = (topology.channels * topology.kernels).min(512);
    (widest.max(pairs).next_multiple_of(32)).clamp(64, limits.invocations.max(64) as usize)
}

/// The most cells a vector for which everything fits, or one cell and storage.
fn lanes(topology: &Topology, len: usize, limits: &CustomLimits) -> (usize, bool) {
    let fits = |&lanes: &usize| bytes(topology, len, lanes) <= limits.workgroup_memory as usize;
    match [GROUP, 2, 1].iter().find(|lanes| fits(lanes)) {
        Some(&lanes) => (lanes, false),
        None => (1, true),
    }
}

/// Workgroup memory: the values, neighbours, who fires, and the gradient at the next states.
fn bytes(topology: &Topology, len: usize, lanes: usize) -> usize {
    4 * lanes * (len + 9 + 1 + topology.channels)
}

fn widest(widths: &[usize], start: usize) -> usize {
    widths.iter().skip(start).step_by(2).max().copied().unwrap_or(0)
}

fn forward_memory(topology: &Topology) -> Memory {
    let (even, odd) = (widest(&topology.update, 0), widest(&topology.update, 1));
    let len = even + odd.max(9 * topology.channels);
    Memory { odd: even, deltas: len, delta: 0, len }
}

fn backward_memory(topology: &Topology, invocations: usize) -> Memory {
    let (even, odd) = (widest(&topology.update, 0), widest(&topology.update, 1));
    let delta = 2 * topology.update[1..].iter().max().copied().unwrap_or(0);
    let shared = (odd + 2 * delta).max(9 * topology.channels).max(span(topology, invocations));
    Memory { odd: even, deltas: even + odd, delta, len: even + shared }
}

/// Pairs of kernel and channel that are worked on at a time.
pub fn span(topology: &Topology, invocations: usize) -> usize {
    invocations.min(topology.channels * topology.kernels)
}

/// Sums of a workgroup: of every perception gate for every channel, and of every update gate.
pub fn sums(topology: &Topology) -> usize {
    topology.channels * topology.kernels * topology.perception_gates() + topology.update_gates()
}

/// Workgroups of one seed in the backward pass.
pub fn backward_slots(extent: &Extent) -> usize {
    let slot_words = (4 * sums(extent.topology)).max(GROUP * extent.topology.activations());
    let most = (SLOT_BYTES / 4 / (extent.seeds * slot_words).max(1)).clamp(1, SLOTS);
    let groups = extent.groups();
    groups.div_ceil(groups.div_ceil(most).max(1)).max(1)
}

/// Words of scratch that stand in for workgroup memory; none where it is never too small.
pub fn spill(extent: &Extent) -> usize {
    let topology = extent.topology;
    // Fewer invocations only make the exchange smaller, and a plan takes at most this many.
    let most = topology.channels * topology.kernels;
    let len = forward_memory(topology).len.max(backward_memory(topology, most).len);
    let fits = bytes(topology, len, 1) <= LEAST_MEMORY as usize;
    if fits { 0 } else { extent.seeds * backward_slots(extent) * len }
}

/// Whether a step's activations are computed again before its backward pass.
pub fn recomputes(extent: &Extent) -> bool {
    extent.policy != Policy::KeepAll
}
