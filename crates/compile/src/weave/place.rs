//! From a woven scan over nodes to a kernel over buffers.

use super::Woven;
use crate::assemble::{Memory, drop_axis, merges};
use crate::program::{BufferId, Carry, Code, Fused, Kernel, Level, Recurrence, Store};
use farad_ir::NodeId;

impl Woven {
    /// The kernel; `sites` is how many sites the program has already. Positions that hand nothing on are axes like
    /// others.
    pub fn kernel(&self, memory: &dyn Memory, sites: usize) -> Kernel {
        let mut tape = self.tape.clone();
        for instr in &mut tape {
            if let Some(buffer) = instr.code.buffer_mut() {
                *buffer = memory.buffer(NodeId(buffer.0));
            }
            if let Code::Take { site, .. } = &mut instr.code {
                *site += sites;
            }
        }
        let at = |pick: &NodeId| -> BufferId { memory.buffer(*pick) };
        let carries = self.carries.iter().map(|(start, next, last)| Carry {
            start: *start,
            next: *next,
            last: last.as_ref().map(|(pick, view)| (at(pick), view.clone())),
        });
        let stores = self.stores.iter();
        let stores =
            stores.map(|(pick, value, view)| Store { buffer: at(pick), value: *value, view: view.clone() });
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

/// Merges neighboring axes of elements that every view walks as one.
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
