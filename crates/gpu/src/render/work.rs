//! What a kernel must do at least: for the profile.

use farad_compile::program::{BufferId, Code, Instr, Kernel, Program, Store};

use super::space::reach;
use super::tape;

/// Elements of buffers that a kernel reads or writes, each counted once a direction.
#[derive(Default)]
struct Traffic(Vec<(BufferId, bool, usize)>);

impl Traffic {
    fn touch(&mut self, buffer: BufferId, write: bool, elements: usize) {
        match self.0.iter_mut().find(|(id, way, _)| (*id, *way) == (buffer, write)) {
            Some((.., most)) => *most = elements.max(*most),
            None => self.0.push((buffer, write, elements)),
        }
    }

    fn tape(&mut self, tape: &[Instr], axes: &[usize]) {
        for instr in tape {
            match &instr.code {
                Code::Load(buffer, view) => self.touch(*buffer, false, reach(view, axes)),
                Code::Take { buffer, .. } => self.touch(*buffer, false, axes.iter().product()),
                _ => {}
            }
        }
    }

    fn stores(&mut self, stores: &[Store], axes: &[usize]) {
        stores.iter().for_each(|store| self.touch(store.buffer, true, reach(&store.view, axes)));
    }
}

/// Bytes that must move at least.
pub(super) fn bytes(kernel: &Kernel, program: &Program) -> u64 {
    let mut traffic = Traffic::default();
    match kernel {
        Kernel::Fused(k) => {
            traffic.tape(&k.tape, &k.axes);
            traffic.stores(&k.stores, &k.axes);
        }
        Kernel::Product(k) => {
            let axes = |last: [usize; 2]| [&k.batch[..], &last].concat();
            traffic.tape(&k.lhs.tape, &axes([k.m, k.k]));
            traffic.tape(&k.rhs.tape, &axes([k.k, k.n]));
            traffic.tape(&k.epilogue, &axes([k.m, k.n]));
            traffic.stores(&k.stores, &axes([k.m, k.n]));
        }
        Kernel::Scatter(k) => {
            traffic.touch(k.source.0, false, reach(&k.source.1, &k.axes));
            traffic.touch(k.index.0, false, reach(&k.index.1, &k.axes));
            k.order.iter().for_each(|&order| traffic.touch(order, false, usize::MAX));
            traffic.touch(k.target, true, usize::MAX);
        }
        Kernel::Sort(_) | Kernel::Custom(_) | Kernel::Loop(_) => {}
    }
    let bytes = traffic.0.iter().map(|&(id, _, elements)| {
        let buffer = program.buffers[id.0 as usize];
        (elements.min(buffer.len) * buffer.dtype.size()) as u64
    });
    bytes.sum()
}

/// Floating-point operations.
pub(super) fn flops(kernel: &Kernel) -> u64 {
    match kernel {
        Kernel::Fused(k) => tape::flops(&k.tape) * (k.outer_len() * k.reduced_len()) as u64,
        Kernel::Product(k) => {
            let batch = k.batch.iter().product::<usize>() as u64;
            let [m, n, terms] = [k.m, k.n, k.k].map(|size| size as u64);
            let around = tape::flops(&k.lhs.tape) * m * terms
                + tape::flops(&k.rhs.tape) * terms * n
                + tape::flops(&k.epilogue) * m * n;
            batch * (2 * m * n * terms + around)
        }
        Kernel::Scatter(k) => k.axes.iter().product::<usize>() as u64,
        Kernel::Sort(_) | Kernel::Custom(_) | Kernel::Loop(_) => 0,
    }
}
