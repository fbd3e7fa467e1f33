//! Plans scans: as one kernel, or as a loop that runs the body's program over slices.
//!
//! Invariant: every carry has two buffers that are swapped after each trip, so that no trip reads what it
//! writes.

use farad_ir::{NodeId, Op};

use super::Planner;
use crate::fusion::weave::weave;
use crate::passes::PassResult;
use crate::planning::assemble::{PlannedMemory, copy, rename};
use crate::program::{BufferId, Kernel, Loop, Place, Spec, Target};

impl Planner<'_, '_> {
    /// Plans a scan as one kernel if its body allows. Otherwise it is a loop over the body's program, with
    /// double-buffered carries and with sequences read and written slice by slice.
    pub(super) fn scan(&mut self, id: NodeId, target: &Target) {
        if let Some(woven) = weave(self.graph, id, target) {
            return self.woven(woven, target);
        }
        let node = self.graph.node(id);
        let Op::Scan(scan) = &node.op else { unreachable!("checked by the caller") };
        let watcher = &mut *self.watcher;
        let body = crate::compile_watched(&scan.body, &scan.outputs, &[], target, &mut |result| {
            watcher(&PassResult { in_loop: true, ..*result })
        });
        let specs: Vec<Spec> =
            scan.results().iter().map(|&(shape, dtype)| Spec { dtype, len: shape.numel() }).collect();
        let results = self.result_buffers(id, &specs);
        let (mut slots, mut swaps) = (Vec::new(), Vec::new());
        let mut carries: Vec<[BufferId; 2]> = Vec::new();
        for (n, &spec) in specs[..scan.carries].iter().enumerate() {
            let pair = [(); 2].map(|_| {
                let block = self.add_block(spec.len * spec.dtype.size());
                self.add_buffer(Place::Block(block), 0, spec)
            });
            let from = self.buffer(node.operands[n]);
            self.push("copy".into(), copy(from, pair[0], spec.len, spec.dtype));
            swaps.push((pair[0], pair[1]));
            carries.push(pair);
        }
        let blocks = self.program.blocks.len();
        self.program.blocks.extend(&body.blocks);
        let mut homes = Vec::with_capacity(body.buffers.len());
        for buffer in &body.buffers {
            homes.push(match buffer.place {
                Place::Input(n) if n < scan.carries => carries[n][0],
                Place::Input(n) => {
                    let whole = self.program.buffers[self.buffer(node.operands[n]).0 as usize];
                    let alias = self.add_buffer(
                        whole.place,
                        whole.offset,
                        Spec { dtype: whole.dtype, len: whole.len },
                    );
                    if n < scan.carries + scan.sequences {
                        slots.push((alias, whole.len / scan.steps.max(1)));
                    }
                    alias
                }
                Place::Output(n) if n < scan.carries => carries[n][1],
                Place::Output(n) => {
                    let whole = self.program.buffers[results[n].0 as usize];
                    let alias = self.add_buffer(
                        whole.place,
                        whole.offset,
                        Spec { dtype: whole.dtype, len: whole.len },
                    );
                    slots.push((alias, whole.len / scan.steps.max(1)));
                    alias
                }
                Place::Block(b) => self.add_buffer(
                    Place::Block(blocks + b),
                    buffer.offset,
                    Spec { dtype: buffer.dtype, len: buffer.len },
                ),
            });
        }
        let sites = self.program.sites.len();
        self.program.sites.extend(body.sites);
        let mut steps = body.steps;
        steps.iter_mut().for_each(|s| rename(&mut s.kernel, &|b| homes[b.0 as usize], sites));
        let trips = scan.steps;
        self.push("scan".into(), Kernel::Loop(Loop { trips, reverse: scan.reverse, steps, slots, swaps }));
        let asked = self.picks(id);
        for n in (0..scan.carries).filter(|n| asked.iter().any(|(m, _)| m == n)) {
            self.push("copy".into(), copy(carries[n][trips % 2], results[n], specs[n].len, specs[n].dtype));
        }
    }
}
