//! How a roll-out is divided for an adapter: cells per vector, invocations, workgroup memory, slots.
//!
//! Invariant: scratch sizes follow from the extent alone, whatever the adapter's limits.

use farad::CustomLimits;

use super::super::extent::{GROUP, RollOutExtent};
use super::super::op::Policy;
use super::super::topology::Topology;

/// Workgroups in the backward pass, if there are many groups. Each has its own sums, so more of them take more
/// memory and more time to add up; fewer leave processors idle.
const SLOTS: usize = 128;

/// Up to this many groups of two cells count as few.
const FEW: usize = 256;

/// Up to this many cells, two per vector give no more workgroups than there are processors.
const VERY_FEW: usize = 256;

/// Most bytes of sums or activations of all workgroups in the backward pass: by default WebGPU binds at most
/// 128 MiB.
const SLOT_BYTES: usize = 112 << 20;

/// Workgroup memory in WebGPU's default limits.
const LEAST_MEMORY: usize = 16 << 10;

/// Most activations that an invocation holds.
const REGISTERS: usize = 112;

/// Most units of a perception layer per invocation: their gates are in registers.
const UNITS: usize = 8;

/// Fewest pairs of kernel and channel at a time, if there are as many.
const LEAST_PAIRS: usize = 64;

/// Offsets of a group's values in workgroup memory, in vectors of one number per cell. Values of the update
/// circuit's even layers start at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMemory {
    /// The neighborhood.
    pub patch: usize,
    /// Values of odd layers, and at other times all values of the perception circuits.
    pub odd: usize,
    /// Gradients of the first perception layer's operands, summed over kernels.
    pub summed: usize,
    /// Gradients of operands, for even and for odd layers.
    pub deltas: usize,
    /// Length of each of the two.
    pub delta: usize,
    /// The total length.
    pub len: usize,
}

/// How the kernels of one op are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelPlan {
    /// Cells per vector: 1, 2 or 4.
    pub lanes: usize,
    /// Invocations per workgroup.
    pub invocations: usize,
    /// Channels that perception processes at a time.
    pub block: usize,
    /// Whether values are in storage, because workgroup memory is too small.
    pub spilled: bool,
    /// Whether a step's activations stay in the registers of the invocations that computed them.
    pub registers: bool,
    /// Whether sums stay in registers while a workgroup loops over its groups.
    pub accumulates: bool,
    /// Workgroups per seed.
    pub slots: usize,
    pub memory: GroupMemory,
}

/// Forward or backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassDirection {
    Forward,
    Backward,
}

impl KernelPlan {
    pub fn new(extent: &RollOutExtent, limits: &CustomLimits, direction: PassDirection) -> KernelPlan {
        let topology = extent.topology;
        let invocations = invocations(topology, limits);
        let fitting = fitting(extent, limits, direction, invocations);
        let spilled = fitting.is_none();
        let (lanes, block) = fitting.unwrap_or((1, spill_block(topology)));
        let groups = extent.cells().div_ceil(lanes);
        let slots = match direction {
            PassDirection::Forward if !spilled => groups,
            _ => backward_slots(extent).min(groups),
        };
        let held = registers(topology);
        let (registers, accumulates) = (!keeps(extent) && held, slots < groups && held);
        KernelPlan {
            lanes,
            invocations,
            block,
            spilled,
            registers,
            accumulates,
            slots,
            memory: memory(topology, block, direction),
        }
    }

    /// Groups of cells of one seed.
    pub fn groups(&self, extent: &RollOutExtent) -> usize {
        extent.cells().div_ceil(self.lanes)
    }
}

/// One invocation per gate of the widest layer, if the adapter allows. There may be a few more inputs: a
/// workgroup enlarged only for them is slower.
fn invocations(topology: &Topology, limits: &CustomLimits) -> usize {
    let widest = topology.update[1..].iter().max().copied().unwrap_or(1);
    let pairs = (topology.channels * topology.kernels).min(256);
    (widest.max(pairs).next_multiple_of(32)).clamp(64, limits.invocations.max(64) as usize)
}

/// The most cells per vector and channels at a time for which everything fits, with at least a workgroup's
/// worth of pairs if possible.
fn fitting(
    extent: &RollOutExtent,
    limits: &CustomLimits,
    direction: PassDirection,
    invocations: usize,
) -> Option<(usize, usize)> {
    let topology = extent.topology;
    let kernels = topology.kernels;
    let widest = topology.perception.iter().max().copied().unwrap_or(1);
    let most = (UNITS * invocations / (widest * kernels)).clamp(1, topology.channels);
    let least = LEAST_PAIRS.div_ceil(kernels).min(most);
    let halves = |n: u32| topology.channels.div_ceil(1usize << n);
    let blocks = || (0..usize::BITS).map(halves).filter(move |&block| block <= most);
    let widest_group = if extent.seeds * extent.cells() <= VERY_FEW { 2 } else { GROUP };
    let choices = |least: usize| {
        let lanes = [GROUP, 2, 1].into_iter().filter(move |&lanes| lanes <= widest_group);
        lanes.flat_map(move |lanes| {
            blocks().filter(move |&block| block >= least).map(move |block| (lanes, block))
        })
    };
    let len = |block: usize| memory(topology, block, direction).len;
    let enough =
        if direction == PassDirection::Forward && many(extent) { len(1) * 4 / 3 } else { usize::MAX };
    choices(least).chain(choices(1)).find(|&(lanes, block)| {
        len(block) <= enough && bytes(topology, len(block), lanes) <= limits.workgroup_memory as usize
    })
}

/// Channels at a time if memory does not matter.
fn spill_block(topology: &Topology) -> usize {
    LEAST_PAIRS.div_ceil(topology.kernels).min(topology.channels)
}

/// Bytes of workgroup memory: the values, neighbors, fire flags, and the gradient of the next states.
fn bytes(topology: &Topology, len: usize, lanes: usize) -> usize {
    4 * lanes * (len + 9 + 1 + topology.channels)
}

fn memory(topology: &Topology, block: usize, direction: PassDirection) -> GroupMemory {
    let widest = |start: usize| topology.update.iter().skip(start).step_by(2).max().copied().unwrap_or(0);
    let (even, odd) = (widest(0), widest(1));
    let (patch, span) = (9 * block, block * topology.kernels);
    let rows = span * rows(&topology.perception, direction);
    let delta = 1 + 2 * topology.update[1..].iter().max().copied().unwrap_or(0);
    let summed = 2 * topology.perception[1] * block;
    let shared = match direction {
        PassDirection::Forward => odd.max(rows),
        PassDirection::Backward => (odd + 2 * delta).max(rows + summed),
    };
    let start = even + patch;
    GroupMemory {
        patch: even,
        odd: start,
        summed: start + rows,
        deltas: start + odd,
        delta,
        len: start + shared,
    }
}

/// Rows of one value for all pairs of a perception circuit: values of all layers except the last, and in the
/// backward pass gradients of both operands of a layer, after the values that are still needed.
fn rows(widths: &[usize], direction: PassDirection) -> usize {
    let layers = &widths[1..];
    let values = |n: usize| layers[..n].iter().sum::<usize>();
    let deltas = |n: usize| values(n) + 2 * layers[n];
    let hidden = values(layers.len() - 1);
    match direction {
        PassDirection::Forward => hidden,
        PassDirection::Backward => (0..layers.len()).map(deltas).chain([hidden]).max().unwrap_or(0),
    }
}

/// Sums of a workgroup: one per perception gate and channel, and one per update gate.
pub fn sums(topology: &Topology) -> usize {
    topology.channels * topology.kernels * topology.perception_gates() + topology.update_gates()
}

/// Whether there are many more groups than processors. Then it matters more how many share a processor and its
/// caches than how long one of them takes.
fn many(extent: &RollOutExtent) -> bool {
    extent.seeds * extent.cells().div_ceil(2) > FEW
}

/// Most workgroups of one seed in the backward pass. With few groups, each has its own workgroup; many are
/// distributed evenly over as many workgroups as stay on their processor and its caches.
pub fn backward_slots(extent: &RollOutExtent) -> usize {
    let slot_words = (4 * sums(extent.topology)).max(GROUP * extent.topology.activations());
    let (seeds, groups) = (extent.seeds.max(1), extent.cells().div_ceil(2).max(1));
    let most = if many(extent) { (SLOTS / seeds).max(1) } else { groups };
    let most = most.min(SLOT_BYTES / 4 / (seeds * slot_words)).max(1);
    groups.div_ceil(groups.div_ceil(most))
}

/// Words of scratch that replace workgroup memory; zero if it is never too small.
pub fn spill(extent: &RollOutExtent) -> usize {
    let topology = extent.topology;
    let needed = memory(topology, 1, PassDirection::Backward).len;
    if bytes(topology, needed, 1) <= LEAST_MEMORY {
        return 0;
    }
    extent.seeds
        * backward_slots(extent)
        * memory(topology, spill_block(topology), PassDirection::Backward).len
}

/// Whether a step's activations are few enough for registers, on any adapter: with 256 invocations and
/// [`GROUP`] cells per vector.
pub fn registers(topology: &Topology) -> bool {
    let rows = topology.update.iter().rev().skip(1).map(|width| width.div_ceil(256));
    GROUP * rows.sum::<usize>() <= REGISTERS
}

/// Whether the forward pass stores activations, so that no step recomputes its own.
pub fn keeps(extent: &RollOutExtent) -> bool {
    extent.policy == Policy::KeepAll
}
