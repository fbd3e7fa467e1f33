//! Where threads wait for each other, and where buffers lie in workgroup memory.
//!
//! Invariant: two buffers share memory only if all threads wait between the last use of one and the first of the other.

use std::collections::HashMap;

use farad_compile::program::{BufferId, Code, Loop, View};
use farad_ir::DType;

use super::LoopMemory;
use super::axis::SplitKernel;

/// Places of buffers in workgroup memory, in elements of one place of the shared axis.
pub(super) struct Homes {
    pub offsets: HashMap<BufferId, usize>,
    /// The length of every type's array.
    pub elements: HashMap<DType, usize>,
}

/// Before which kernels all threads wait: where one reads what another thread wrote since the last time.
pub(super) fn waits(kernels: &[SplitKernel], memory: &LoopMemory) -> Vec<bool> {
    let mut waits = vec![false; kernels.len()];
    let mut since = 0;
    for at in 1..kernels.len() {
        if (since..at).any(|before| meet(&kernels[before], &kernels[at], memory)) {
            (waits[at], since) = (true, at);
        }
    }
    waits
}

/// Whether a thread of the second kernel reads what another thread of the first wrote.
fn meet(first: &SplitKernel, second: &SplitKernel, memory: &LoopMemory) -> bool {
    let same = first.kernel.axes == second.kernel.axes;
    let reads = |id: BufferId, written: &View| {
        second.kernel.tape.iter().any(|instr| match &instr.code {
            Code::Load(buffer, view) => *buffer == id && !(same && view == written),
            Code::Take { buffer, .. } => *buffer == id,
            _ => false,
        })
    };
    let kept = first.kernel.stores.iter().filter(|store| memory.kept.contains_key(&store.buffer));
    kept.into_iter().any(|store| reads(store.buffer, &store.view))
}

/// Assigns memory by the stretches between waits in which buffers are used.
pub(super) fn assign(
    kernels: &[SplitKernel],
    waits: &[bool],
    memory: &LoopMemory,
    body: &Loop,
    places: usize,
) -> Homes {
    let mut used: HashMap<BufferId, (usize, usize)> = HashMap::new();
    let mut stretch = 0;
    for (one, &wait) in kernels.iter().zip(waits) {
        stretch += usize::from(wait);
        let reads = one.kernel.tape.iter().filter_map(|instr| instr.code.buffer());
        let all = reads.chain(one.kernel.stores.iter().map(|store| store.buffer));
        for id in all.filter(|id| memory.kept.contains_key(id)) {
            used.entry(id).or_insert((stretch, stretch)).1 = stretch;
        }
    }
    for &(old, new) in &body.swaps {
        used.insert(old, (0, stretch));
        used.entry(new).or_insert((stretch, stretch)).1 = stretch;
    }
    let mut order: Vec<(BufferId, (usize, usize))> = used.into_iter().collect();
    order.sort_unstable_by_key(|(id, (first, last))| (*first, std::cmp::Reverse(*last), id.0));
    let mut homes = Homes { offsets: HashMap::new(), elements: HashMap::new() };
    let mut taken: HashMap<DType, Vec<(usize, usize, usize, usize)>> = HashMap::new();
    for (id, (first, last)) in order {
        let (dtype, len) = (memory.dtypes[&id], memory.kept[&id] / places);
        let own = taken.entry(dtype).or_default();
        let mut busy: Vec<(usize, usize)> =
            own.iter().filter(|o| o.2 <= last && first <= o.3).map(|o| (o.0, o.1)).collect();
        busy.sort_unstable();
        let mut at = 0;
        for (from, to) in busy {
            if at + len <= from {
                break;
            }
            at = at.max(to);
        }
        own.push((at, at + len, first, last));
        homes.offsets.insert(id, at);
        let most = homes.elements.entry(dtype).or_default();
        *most = (*most).max(at + len);
    }
    homes
}
