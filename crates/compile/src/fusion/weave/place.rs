//! From a woven scan over nodes to a kernel over buffers.

use std::collections::HashMap;

use super::Woven;
use crate::planning::assemble::{PlannedMemory, drop_axis, merges};
use crate::program::{BufferId, Carry, Code, Fused, Kernel, Level, Recurrence, Store, View};
use farad_ir::NodeId;

/// Nodes that lie in a shared array: the array and the offset of the node in it.
pub type Homes = HashMap<NodeId, (BufferId, usize)>;

impl Woven {
    /// The kernel, with each node where `homes` says or else in its own memory. `sites` is the number of sites
    /// that the program already has. If nothing is carried, positions become an ordinary axis.
    pub fn kernel(&self, memory: &dyn PlannedMemory, homes: &Homes, sites: usize) -> Kernel {
        let at = |id: NodeId| homes.get(&id).copied().unwrap_or_else(|| (memory.buffer(id), 0));
        let placed = |id: NodeId, view: &View| {
            let (buffer, offset) = at(id);
            (buffer, View { offset: view.offset + offset as i64, ..view.clone() })
        };
        let mut tape = self.tape.clone();
        for instr in &mut tape {
            if let Code::Load(buffer, view) | Code::Take { buffer, view, .. } = &mut instr.code {
                (*buffer, *view) = placed(NodeId(buffer.0), view);
            }
            if let Code::Take { site, .. } = &mut instr.code {
                *site += sites;
            }
        }
        let carries = self.carries.iter().map(|carry| Carry {
            start: carry.start,
            next: carry.next,
            last: carry.last.as_ref().map(|(pick, view)| placed(*pick, view)),
        });
        let stores = self.stores.iter().map(|store| {
            let (buffer, view) = placed(store.node, &store.view);
            Store { buffer, value: store.value, view }
        });
        let mut kernel = Recurrence {
            axes: self.axes.clone(),
            carries: carries.collect(),
            stores: stores.collect(),
            tape,
        };
        coalesce(&mut kernel);
        if !kernel.carries.is_empty() {
            return Kernel::Recurrence(kernel);
        }
        let Recurrence { axes, mut tape, stores, .. } = kernel;
        tape.iter_mut().for_each(|instr| instr.level = Level::Full);
        Kernel::Fused(Fused { outer: axes.len(), axes, tape, stores })
    }
}

/// Merges neighboring element axes that every view walks as one.
fn coalesce(kernel: &mut Recurrence) {
    let mut axis = 0;
    while axis + 2 < kernel.axes.len() {
        let size = kernel.axes[axis + 1] as i64;
        if !kernel.views_mut().iter().all(|view| merges(view, axis, size)) {
            axis += 1;
            continue;
        }
        let outer = kernel.axes.remove(axis);
        kernel.axes[axis] *= outer;
        kernel.views_mut().into_iter().for_each(|view| drop_axis(view, axis));
    }
}
