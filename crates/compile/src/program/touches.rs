//! What a kernel reads and writes; the bindings of backends and the order of steps follow from it.

use super::{BufferId, Code, Instr, Kernel};

impl Kernel {
    /// The buffers that the kernel reads and those that it writes, each once, in binding order.
    pub fn touches(&self) -> (Vec<BufferId>, Vec<BufferId>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let add = |list: &mut Vec<BufferId>, id: BufferId| {
            if !list.contains(&id) {
                list.push(id);
            }
        };
        let scan = |list: &mut Vec<BufferId>, tape: &[Instr]| {
            for instr in tape {
                if let Code::Load(buffer, _) | Code::Take { buffer, .. } = &instr.code {
                    add(list, *buffer);
                }
            }
        };
        match self {
            Kernel::Fused(k) => {
                scan(&mut reads, &k.tape);
                k.stores.iter().for_each(|s| add(&mut writes, s.buffer));
            }
            Kernel::Product(k) => {
                scan(&mut reads, &k.lhs.tape);
                scan(&mut reads, &k.rhs.tape);
                scan(&mut reads, &k.epilogue);
                k.stores.iter().for_each(|s| add(&mut writes, s.buffer));
            }
            Kernel::Recurrence(k) => {
                scan(&mut reads, &k.tape);
                k.stores.iter().for_each(|s| add(&mut writes, s.buffer));
                k.carries.iter().flat_map(|carry| &carry.last).for_each(|(id, _)| add(&mut writes, *id));
            }
            Kernel::Scatter(k) => {
                add(&mut reads, k.source.0);
                add(&mut reads, k.index.0);
                k.order.iter().for_each(|&order| add(&mut reads, order));
                add(&mut writes, k.target);
            }
            Kernel::Sums(k) => {
                add(&mut reads, k.source);
                add(&mut writes, k.target);
            }
            Kernel::Sort(k) => {
                add(&mut reads, k.operand);
                [k.order].iter().chain(&k.scratch).for_each(|&id| add(&mut writes, id));
            }
            Kernel::Custom(k) => {
                k.read_only().for_each(|n| add(&mut reads, k.operands[n]));
                k.results.iter().chain(&k.scratch).for_each(|&id| add(&mut writes, id));
            }
            Kernel::Loop(k) => {
                for step in &k.steps {
                    let (r, w) = step.kernel.touches();
                    r.into_iter().for_each(|id| add(&mut reads, id));
                    w.into_iter().for_each(|id| add(&mut writes, id));
                }
                // At odd trips each buffer of a pair means the other.
                for &(a, b) in &k.swaps {
                    [a, b].into_iter().for_each(|id| {
                        add(&mut reads, id);
                        add(&mut writes, id);
                    });
                }
            }
        }
        (reads, writes)
    }
}
