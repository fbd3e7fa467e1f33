//! How a roll-out is cut for an adapter: cells a vector, invocations, workgroup memory, slots.
//!
//! Invariant: scratch sizes follow from the extent alone, whatever the adapter's limits.

use farad::CustomLimits;

use super::super::extent::{Extent, GROUP};
use super::super::op::Policy;
use super::super::topology::Topology;

/// Workgroups in the backward pass where there are many groups. Each has its own sums, so more of them take
/// more memory and longer to add up; fewer leave processors idle.
const SLOTS: usize = 128;

/// Groups that count as few.
const FEW: usize = 256;

/// Bytes of sums or of activations of all workgroups in the backward pass, at most: WebGPU binds no
/// more than 128 MiB by default.
const SLOT_BYTES: usize = 112 << 20;

/// Workgroup memory in WebGPU's default limits.
const LEAST_MEMORY: usize = 16 << 10;

/// Numbers of activations that an invocation holds, at most.
const REGISTERS: usize = 112;

/// Units of a perception layer that one invocation works on, at most: their gates are in registers.
const UNITS: usize = 8;

/// Pairs of kernel and channel at a time, at least, if there are as many.
const LEAST_PAIRS: usize = 64;

/// Where the values of a group lie in workgroup memory, counted in vectors of one number a cell. Values
/// of the update circuit's even layers start at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The neighbourhood.
    pub patch: usize,
    /// Values of odd layers, and at other times all of the perception circuits' values.
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
    /// Channels that perception takes at a time.
    pub block: usize,
    /// Values lie in storage because workgroup memory is too small.
    pub spilled: bool,
    /// A step's activations stay with the invocations that made them.
    pub registers: bool,
    /// Workgroups a seed.
    pub slots: usize,
    pub memory: Memory,
}

/// Forward or backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

impl Plan {
    pub fn new(extent: &Extent, limits: &CustomLimits, direction: Direction) -> Plan {
        let topology = extent.topology;
        let invocations = invocations(topology, limits);
        let fitting = fitting(topology, limits, direction, invocations);
        let spilled = fitting.is_none();
        let (lanes, block) = fitting.unwrap_or((1, spill_block(topology)));
        let groups = extent.cells().div_ceil(lanes);
        let slots = match direction {
            Direction::Forward if !spilled => groups,
            _ => backward_slots(extent).min(groups),
        };
        let registers = recomputes(extent) && registers(topology);
        Plan { lanes, invocations, block, spilled, registers, slots, memory: memory(topology, block, direction) }
    }

    /// Groups of cells of one seed.
    pub fn groups(&self, extent: &Extent) -> usize {
        extent.cells().div_ceil(self.lanes)
    }
}

/// One invocation a gate of the widest layer, if the adapter has as many.
fn invocations(topology: &Topology, limits: &CustomLimits) -> usize {
    let widest = topology.update.iter().max().copied().unwrap_or(1);
    let pairs = (topology.channels * topology.kernels).min(256);
    (widest.max(pairs).next_multiple_of(32)).clamp(64, limits.invocations.max(64) as usize)
}

/// The most cells a vector and channels at a time for which everything fits: no fewer than a workgroup's
/// worth of pairs as long as that is possible.
fn fitting(
    topology: &Topology,
    limits: &CustomLimits,
    direction: Direction,
    invocations: usize,
) -> Option<(usize, usize)> {
    let kernels = topology.kernels;
    let widest = topology.perception.iter().max().copied().unwrap_or(1);
    let most = (UNITS * invocations / (widest * kernels)).clamp(1, topology.channels);
    let least = LEAST_PAIRS.div_ceil(kernels).min(most);
    let halves = |n: u32| topology.channels.div_ceil(1usize << n);
    let blocks = || (0..usize::BITS).map(halves).filter(move |&block| block <= most);
    let choices = |least: usize| {
        let lanes = [GROUP, 2, 1].into_iter();
        lanes.flat_map(move |lanes| blocks().filter(move |&block| block >= least).map(move |block| (lanes, block)))
    };
    choices(least).chain(choices(1)).find(|&(lanes, block)| {
        bytes(topology, memory(topology, block, direction).len, lanes) <= limits.workgroup_memory as usize
    })
}

/// Channels at a time where memory is no question.
fn spill_block(topology: &Topology) -> usize {
    LEAST_PAIRS.div_ceil(topology.kernels).min(topology.channels)
}

/// Workgroup memory: the values, neighbours, who fires, and the gradient at the next states.
fn bytes(topology: &Topology, len: usize, lanes: usize) -> usize {
    4 * lanes * (len + 9 + 1 + topology.channels)
}

fn memory(topology: &Topology, block: usize, direction: Direction) -> Memory {
    let widest = |start: usize| topology.update.iter().skip(start).step_by(2).max().copied().unwrap_or(0);
    let (even, odd) = (widest(0), widest(1));
    let (patch, span) = (9 * block, block * topology.kernels);
    let rows = Rows::new(&topology.perception);
    let delta = 1 + 2 * topology.update[1..].iter().max().copied().unwrap_or(0);
    let shared = match direction {
        Direction::Forward => odd.max(rows.hidden * span),
        Direction::Backward => (odd + 2 * delta).max(rows.len * span),
    };
    let start = even + patch;
    Memory { patch: even, odd: start, deltas: start + odd, delta, len: start + shared }
}

/// Where values of a perception circuit and gradients at them lie, counted in rows of one value for all
/// pairs. Gradients take the place of values that are no longer needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// First row of the values of layers 1, 2, … but the last.
    pub values: Vec<usize>,
    /// First row of the gradients at them.
    pub gradients: Vec<usize>,
    /// Rows of values.
    pub hidden: usize,
    /// All rows.
    pub len: usize,
}

impl Rows {
    /// Of a circuit with these widths, inputs first.
    pub fn new(widths: &[usize]) -> Rows {
        let layers = &widths[1..widths.len() - 1];
        let values: Vec<usize> = (0..layers.len()).map(|n| layers[..n].iter().sum()).collect();
        let hidden = layers.iter().sum();
        let [a, b] = [false, true].map(|high| Rows::placed(layers, &values, hidden, high));
        let (gradients, len) = if a.1 <= b.1 { a } else { b };
        // The gradient at the inputs lies around that of the first layer.
        let len = len.max(widths[0] + layers.first().copied().unwrap_or(0));
        Rows { values, gradients, hidden, len }
    }

    /// Gradients alternately right after the values still needed and at the very end, from the last layer
    /// on; and how many rows that takes.
    fn placed(layers: &[usize], values: &[usize], hidden: usize, mut high: bool) -> (Vec<usize>, usize) {
        let start = high;
        let mut len = hidden;
        let mut above = (hidden, 0);
        for n in (0..layers.len()).rev() {
            let end = values[n] + layers[n];
            let low_end = if high { above.0 + above.1 } else { end };
            let other = if high { 0 } else { above.1 };
            len = len.max(low_end + layers[n] + other);
            above = (end, layers[n]);
            high = !high;
        }
        let mut gradients = vec![0; layers.len()];
        high = start;
        for n in (0..layers.len()).rev() {
            gradients[n] = if high { len - layers[n] } else { values[n] + layers[n] };
            high = !high;
        }
        (gradients, len)
    }
}

/// Sums of a workgroup: of every perception gate for every channel, and of every update gate.
pub fn sums(topology: &Topology) -> usize {
    topology.channels * topology.kernels * topology.perception_gates() + topology.update_gates()
}

/// Workgroups of one seed in the backward pass, at most. Few groups have a workgroup each; many are spread
/// evenly over so many workgroups that they stay with their processor and its caches.
pub fn backward_slots(extent: &Extent) -> usize {
    let slot_words = (4 * sums(extent.topology)).max(GROUP * extent.topology.activations());
    let (seeds, groups) = (extent.seeds.max(1), extent.cells().div_ceil(2).max(1));
    let most = if groups * seeds <= FEW { groups } else { (SLOTS / seeds).max(1) };
    let most = most.min(SLOT_BYTES / 4 / (seeds * slot_words)).max(1);
    groups.div_ceil(groups.div_ceil(most))
}

/// Words of scratch that stand in for workgroup memory; none where it is never too small.
pub fn spill(extent: &Extent) -> usize {
    let topology = extent.topology;
    let needed = memory(topology, 1, Direction::Backward).len;
    if bytes(topology, needed, 1) <= LEAST_MEMORY {
        return 0;
    }
    extent.seeds * backward_slots(extent) * memory(topology, spill_block(topology), Direction::Backward).len
}

/// Whether a step's activations are few enough to stay in registers, on any adapter: with 256 invocations
/// and [`GROUP`] cells a vector.
pub fn registers(topology: &Topology) -> bool {
    let rows = topology.update.iter().rev().skip(1).map(|width| width.div_ceil(256));
    GROUP * rows.sum::<usize>() <= REGISTERS
}

/// Whether a step's activations are computed again before its backward pass.
pub fn recomputes(extent: &Extent) -> bool {
    extent.policy != Policy::KeepAll
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing that is still needed is overwritten: when the gradient at layer `n` is made, the values of
    /// layers up to `n` and the gradient at layer `n + 1` are.
    #[test]
    fn gradients_of_perception_lie_where_nothing_is_needed() {
        let circuits: [&[usize]; 6] =
            [&[9, 2], &[9, 8, 2], &[9, 8, 4, 2], &[9, 8, 4, 2, 1], &[9, 3, 7, 2, 9, 1], &[9, 20, 1, 30, 4]];
        for widths in circuits {
            let rows = Rows::new(widths);
            let layers = &widths[1..widths.len() - 1];
            for n in 0..layers.len() {
                let (from, to) = (rows.gradients[n], rows.gradients[n] + layers[n]);
                assert!(from >= rows.values[n] + layers[n] && to <= rows.len, "{widths:?} {n} {rows:?}");
                if n + 1 < layers.len() {
                    let (other, end) = (rows.gradients[n + 1], rows.gradients[n + 1] + layers[n + 1]);
                    assert!(to <= other || from >= end, "{widths:?} {n} {rows:?}");
                }
            }
        }
        assert_eq!(Rows::new(&[9, 8, 4, 2]).len, 20);
        assert_eq!(Rows::new(&[9, 8, 4, 2, 1]).len, 20);
    }
}
