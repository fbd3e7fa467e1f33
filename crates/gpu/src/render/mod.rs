//! Kernels to WGSL: pure text, the same for the same input.
//!
//! Sizes, strides and offsets are words of the uniform, so the text depends only on a kernel's
//! structure: its instructions, how its operands lie in memory, and small choices of tiles. Every
//! form works within WebGPU's default limits; subgroups are used where there are any. Start at
//! [`render`]; a form is a file.

mod access;
mod code;
mod module;
mod operand;
mod plan;
mod pointwise;
mod prelude;
mod product;
mod reduce;
mod scatter;
mod space;
mod tape;
mod team;
#[cfg(test)]
mod tests;
mod vector;

use farad_compile::program::{BufferId, Code, Fused, Instr, Kernel, Program};

use crate::dispatch::{Capabilities, Dispatch};

/// The launches that run `kernel` (neither a loop nor a user's kernel). `slots` are the buffers that
/// the surrounding loop moves on, with the elements of a slice.
pub fn render(kernel: &Kernel, program: &Program, slots: &[(BufferId, usize)], capabilities: &Capabilities) -> Vec<Dispatch> {
    let context = (program, slots, capabilities);
    let mut dispatch = match kernel {
        Kernel::Fused(fused) => {
            let canonical = space::canonical(fused);
            fused_dispatch(kernel.touches(), context, &canonical)
        }
        Kernel::Product(product) => match vector::fused(product) {
            Some(fused) => fused_dispatch(kernel.touches(), context, &space::canonical(&fused)),
            None => {
                let canonical = space::canonical_product(product);
                module::build(kernel.touches(), context, |module| product::write(module, &canonical))
            }
        },
        Kernel::Scatter(scatter) => {
            module::build(kernel.touches(), context, |module| scatter::write(module, scatter))
        }
        _ => unreachable!("render: loops and users' kernels are not rendered"),
    };
    (dispatch.bytes, dispatch.flops) = work(kernel, program);
    vec![dispatch]
}

/// The dispatch of a canonical kernel.
fn fused_dispatch(
    touches: (Vec<BufferId>, Vec<BufferId>),
    context: (&Program, &[(BufferId, usize)], &Capabilities),
    fused: &Fused,
) -> Dispatch {
    module::build(touches, context, |module| match fused.outer < fused.axes.len() {
        true => reduce::write(module, fused),
        false => pointwise::write(module, fused),
    })
}

/// Bytes that must move at least (each buffer's reached elements once a direction) and
/// floating-point operations.
fn work(kernel: &Kernel, program: &Program) -> (u64, u64) {
    let mut reached: Vec<(BufferId, bool, usize)> = Vec::new();
    let mut touch = |buffer: BufferId, write: bool, elements: usize| {
        match reached.iter_mut().find(|(id, way, _)| (*id, *way) == (buffer, write)) {
            Some((.., most)) => *most = elements.max(*most),
            None => reached.push((buffer, write, elements)),
        }
    };
    let tape = |touch: &mut dyn FnMut(BufferId, bool, usize), tape: &[Instr], axes: &[usize]| {
        for instr in tape {
            match &instr.code {
                Code::Load(buffer, view) => touch(*buffer, false, space::reach(view, axes)),
                Code::Take { buffer, .. } => touch(*buffer, false, axes.iter().product()),
                _ => {}
            }
        }
    };
    let flops = match kernel {
        Kernel::Fused(k) => {
            tape(&mut touch, &k.tape, &k.axes);
            k.stores.iter().for_each(|s| touch(s.buffer, true, space::reach(&s.view, &k.axes)));
            tape::flops(&k.tape) * (k.outer_len() * k.reduced_len()) as u64
        }
        Kernel::Product(k) => {
            let batch: usize = k.batch.iter().product();
            let sizes = |last: [usize; 2]| [&k.batch[..], &last].concat();
            tape(&mut touch, &k.lhs.tape, &sizes([k.m, k.k]));
            tape(&mut touch, &k.rhs.tape, &sizes([k.k, k.n]));
            tape(&mut touch, &k.epilogue, &sizes([k.m, k.n]));
            k.stores.iter().for_each(|s| touch(s.buffer, true, space::reach(&s.view, &sizes([k.m, k.n]))));
            let each = |tape: &[Instr], last: [usize; 2]| tape::flops(tape) * sizes(last).iter().product::<usize>() as u64;
            let around = each(&k.lhs.tape, [k.m, k.k]) + each(&k.rhs.tape, [k.k, k.n]) + each(&k.epilogue, [k.m, k.n]);
            2 * (batch * k.m * k.n * k.k) as u64 + around
        }
        Kernel::Scatter(k) => {
            touch(k.source.0, false, space::reach(&k.source.1, &k.axes));
            touch(k.index.0, false, space::reach(&k.index.1, &k.axes));
            touch(k.target, true, usize::MAX);
            k.axes.iter().product::<usize>() as u64
        }
        _ => 0,
    };
    let bytes = reached.iter().map(|&(id, _, elements)| {
        let buffer = program.buffers[id.0 as usize];
        (elements.min(buffer.len) * buffer.dtype.size()) as u64
    });
    (bytes.sum(), flops)
}
