//! Renders kernels to WGSL: a pure function, with the same text for the same input.
//!
//! Sizes, strides and offsets are words of the uniform, so a new batch size is not a new shader. The text
//! depends only on the structure of a kernel: its rank, its instructions, and the access class of each operand
//! (vector, broadcast or strided). It also depends on which sizes divide evenly, and on the length of rows,
//! rounded to a power of two. Every form works in core WGSL within WebGPU's default limits. Subgroups and
//! larger workgroups are used where the adapter has them. Start at [`render`]; each form is a file.

mod access;
mod code;
mod cooperative;
pub(crate) mod group_loop;
pub(crate) mod layout;
mod module;
mod operand;
mod plan;
mod point;
mod pointwise;
mod prelude;
pub(crate) mod product;
mod recurrence;
mod reduce;
mod scatter;
mod sort;
mod space;
mod stream;
mod sums;
mod tape;
mod team;
#[cfg(test)]
mod tests;
pub(crate) mod vector;

use farad_compile::costs::Costs;
use farad_compile::program::{BufferId, Fused, Kernel, Program, Scatter};
use farad_runtime::Tuning;

use crate::dispatch::{Capabilities, Dispatch};
use crate::group_loop::GroupLoop;
use crate::tuning;

/// The context in which a kernel is rendered.
#[derive(Clone, Copy)]
struct RenderContext<'a> {
    program: &'a Program,
    /// Buffers that the surrounding loop advances, with the elements per slice.
    slots: &'a [(BufferId, usize)],
    capabilities: &'a Capabilities,
    /// Buffers in workgroup memory.
    locals: &'a [BufferId],
}

/// The launches that run `kernel` (neither a loop nor a custom op). `slots` are the buffers that the
/// surrounding loop advances, with the elements per slice; `tuning` may name tiles for products.
pub fn render(
    kernel: &Kernel,
    program: &Program,
    slots: &[(BufferId, usize)],
    capabilities: &Capabilities,
    tuning: &Tuning,
) -> Vec<Dispatch> {
    let context = RenderContext { program, slots, capabilities, locals: &[] };
    let mut dispatch = match kernel {
        Kernel::Fused(fused) => {
            let canonical = space::canonical(fused);
            fused_dispatch(kernel.touches(), context, &canonical)
        }
        Kernel::Product(product) => match vector::fused(product) {
            Some(fused) => fused_dispatch(kernel.touches(), context, &space::canonical(&fused)),
            None => {
                let canonical = space::canonical_product(product);
                let shape = tuning::shape_of(&canonical, program);
                let tile = tuning::tile(tuning, &shape, capabilities);
                let fours =
                    || [true, false].map(|left| layout::OperandLayout::of(&canonical, left).is_in_fours());
                let is_f16 = shape.is_f16 && capabilities.cooperative > 0 && fours() == [true, true];
                let tile = tile
                    .unwrap_or_else(|| product::ProductTile::of(&canonical, is_f16, capabilities.processors));
                module::build(kernel.touches(), context, |module| product::write(module, &canonical, tile))
            }
        },
        Kernel::Scatter(scatter) if scatter.distinct => return distinct_scatter(kernel, scatter, context),
        Kernel::Recurrence(recurrence) => {
            let canonical = space::canonical_recurrence(recurrence);
            module::build(kernel.touches(), context, |module| recurrence::write(module, &canonical))
        }
        Kernel::Scatter(scatter) => {
            module::build(kernel.touches(), context, |module| scatter::write(module, scatter))
        }
        Kernel::Sums(sums) => module::build(kernel.touches(), context, |module| sums::write(module, sums)),
        Kernel::Sort(sort) => return sort::dispatches(sort, context),
        Kernel::Custom(_) | Kernel::Loop(_) => {
            unreachable!("render: loops and custom ops are not rendered")
        }
    };
    dispatch.costs = Costs::of(kernel, &program.buffers, slots);
    vec![dispatch]
}

/// The launch of a whole loop, from its first trip to its last.
pub(crate) fn render_group_loop(
    plan: &GroupLoop,
    program: &Program,
    capabilities: &Capabilities,
) -> Dispatch {
    let context = RenderContext { program, slots: &[], capabilities, locals: &plan.locals };
    let touches = (plan.reads.clone(), plan.writes.clone());
    module::build(touches, context, |module| group_loop::write(module, plan))
}

/// Writes zeros, then every source to its position.
fn distinct_scatter(kernel: &Kernel, scatter: &Scatter, context: RenderContext) -> Vec<Dispatch> {
    let (reads, writes) = kernel.touches();
    let clear = module::build((vec![], writes.clone()), context, |module| scatter::clear(module, scatter));
    let mut write =
        module::build((reads, writes), context, |module| scatter::write_distinct(module, scatter));
    write.costs = Costs::of(kernel, &context.program.buffers, context.slots);
    vec![clear, write]
}

/// The dispatch of a canonical kernel.
fn fused_dispatch(
    touches: (Vec<BufferId>, Vec<BufferId>),
    context: RenderContext,
    fused: &Fused,
) -> Dispatch {
    module::build(touches, context, |module| match fused.outer < fused.axes.len() {
        true => reduce::write(module, fused),
        false => pointwise::write(module, fused),
    })
}
