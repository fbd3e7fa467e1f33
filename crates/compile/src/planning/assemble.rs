//! From a draft over nodes to a kernel over buffers: puts axes in kernel order, merges them where all views
//! agree, and replaces nodes by buffers.

use farad_ir::{Graph, NodeId, Op};

use crate::fusion::draft::Draft;
use crate::fusion::product::{ProductSource, Roles, sources};
use crate::program::{BufferId, Code, Fused, Instr, Kernel, Product, ProductOperand, Reg, Store, View};

/// Which buffer each node lives in.
pub trait PlannedMemory {
    /// The buffer that holds a resident node.
    fn buffer(&self, node: NodeId) -> BufferId;
}

/// The kernel of a draft. `sites` is the number of sites that the program already has.
pub fn kernel(
    graph: &Graph,
    draft: &Draft,
    materialized: &[bool],
    memory: &dyn PlannedMemory,
    sites: usize,
) -> Kernel {
    match draft.product {
        Some(product) => Kernel::Product(assemble_product(graph, draft, product, materialized, memory)),
        None => Kernel::Fused(assemble_fused(draft, memory, sites)),
    }
}

fn assemble_fused(draft: &Draft, memory: &dyn PlannedMemory, sites: usize) -> Fused {
    let count = draft.axes.len();
    let real = |a: &usize| draft.axes[*a] != 1;
    let outer: Vec<usize> = (0..count).filter(|a| !draft.reduced.contains(a)).filter(real).collect();
    let reduced: Vec<usize> = draft.reduced.iter().copied().filter(real).collect();
    let order: Vec<usize> = outer.iter().chain(&reduced).copied().collect();
    let mut fused = Fused {
        axes: order.iter().map(|&a| draft.axes[a]).collect(),
        outer: outer.len(),
        tape: draft.tape.iter().map(|instr| place(instr, &order, memory, sites)).collect(),
        stores: stores(draft, &order, memory),
    };
    coalesce(&mut fused);
    fused
}

fn stores(draft: &Draft, order: &[usize], memory: &dyn PlannedMemory) -> Vec<Store> {
    let store = |r: &crate::fusion::draft::Written| Store {
        buffer: memory.buffer(r.node),
        value: r.value,
        view: reorder(&r.view, order),
    };
    draft.results.iter().map(store).collect()
}

/// The view with its axes in another order; axes left out have size 1.
fn reorder(view: &View, order: &[usize]) -> View {
    let pick = |list: &[i64]| order.iter().map(|&a| list[a]).collect::<Vec<i64>>();
    View {
        offset: view.offset,
        strides: pick(&view.strides),
        guards: view
            .guards
            .iter()
            .map(|g| crate::program::Guard { coefficients: pick(&g.coefficients), ..g.clone() })
            .collect(),
    }
}

fn place(instr: &Instr, order: &[usize], memory: &dyn PlannedMemory, sites: usize) -> Instr {
    let mut instr = instr.clone();
    if let Some(view) = instr.code.view_mut() {
        *view = reorder(view, order);
    }
    if let Some(buffer) = instr.code.buffer_mut() {
        *buffer = memory.buffer(NodeId(buffer.0));
    }
    if let Code::Take { site, .. } = &mut instr.code {
        *site += sites;
    }
    instr
}

fn views(tape: &mut [Instr]) -> impl Iterator<Item = &mut View> {
    tape.iter_mut().filter_map(|instr| instr.code.view_mut())
}

/// Merges neighboring axes of the same level that every view walks as one.
fn coalesce(kernel: &mut Fused) {
    let mut axis = 0;
    while axis + 1 < kernel.axes.len() {
        let (size, same) = (kernel.axes[axis + 1] as i64, axis + 1 != kernel.outer);
        let all = views(&mut kernel.tape)
            .map(|v| &*v)
            .chain(kernel.stores.iter().map(|s| &s.view))
            .all(|v| merges(v, axis, size));
        if !same || !all {
            axis += 1;
            continue;
        }
        kernel.axes[axis] *= kernel.axes[axis + 1];
        kernel.axes.remove(axis + 1);
        kernel.outer -= (axis + 1 < kernel.outer) as usize;
        views(&mut kernel.tape).for_each(|v| drop_axis(v, axis));
        kernel.stores.iter_mut().for_each(|s| drop_axis(&mut s.view, axis));
    }
}

pub fn merges(view: &View, axis: usize, size: i64) -> bool {
    let one = |list: &[i64]| list[axis] == list[axis + 1] * size;
    one(&view.strides) && view.guards.iter().all(|g| one(&g.coefficients))
}

pub fn drop_axis(view: &mut View, axis: usize) {
    view.strides.remove(axis);
    view.guards.iter_mut().for_each(|g| {
        g.coefficients.remove(axis);
    });
}

fn assemble_product(
    graph: &Graph,
    draft: &Draft,
    id: NodeId,
    materialized: &[bool],
    memory: &dyn PlannedMemory,
) -> Product {
    let node = graph.node(id);
    let Op::Contract(contraction) = &node.op else { unreachable!("a product is a contraction") };
    let roles = Roles::of(contraction).expect("drafted as a product");
    let [left, right] = sources(contraction, &roles, node);
    let side = |source: &ProductSource| -> ProductOperand {
        let ProductOperand { mut tape, value } =
            source.operand(graph, materialized).expect("operands were materialized");
        let buffers = tape.iter_mut().filter_map(|instr| instr.code.buffer_mut());
        buffers.for_each(|buffer| *buffer = memory.buffer(NodeId(buffer.0)));
        ProductOperand { tape, value }
    };
    let sizes = |axes: &[usize]| axes.iter().map(|&a| contraction.sizes[a]).collect();
    // From the result's axis order to the product's.
    let place = |axis: &usize| contraction.out.iter().position(|a| a == axis).expect("an axis of the result");
    let order: Vec<usize> =
        [&roles.batch, &roles.rows, &roles.columns].into_iter().flatten().map(place).collect();
    let mut product = Product {
        batch: sizes(&roles.batch),
        m: sizes(&roles.rows),
        n: sizes(&roles.columns),
        k: sizes(&roles.inner),
        lhs: side(&left),
        rhs: side(&right),
        epilogue: draft.tape.iter().map(|i| self::place(i, &order, memory, 0)).collect(),
        stores: stores(draft, &order, memory),
    };
    coalesce_product(&mut product);
    product
}

/// Merges neighboring axes where every view allows, and drops batch axes of size 1.
fn coalesce_product(product: &mut Product) {
    let Product { batch, m, n, k, lhs, rhs, epilogue, stores } = product;
    let [mut left, mut right] = [lhs, rhs].map(|operand| views(&mut operand.tape).collect::<Vec<_>>());
    let mut out: Vec<&mut View> = views(epilogue).chain(stores.iter_mut().map(|s| &mut s.view)).collect();
    for axis in (0..batch.len()).rev().filter(|&axis| batch[axis] == 1).collect::<Vec<_>>() {
        batch.remove(axis);
        left.iter_mut().chain(&mut right).chain(&mut out).for_each(|v| drop_axis(v, axis));
    }
    join(batch, &mut [(&mut left, 0), (&mut right, 0), (&mut out, 0)]);
    let b = batch.len();
    join(m, &mut [(&mut left, b), (&mut out, b)]);
    join(k, &mut [(&mut left, b + m.len()), (&mut right, b)]);
    join(n, &mut [(&mut right, b + k.len()), (&mut out, b + m.len())]);
}

/// Merges neighbors within a group of axes. Each list of views has its own index of the group's first axis.
fn join(group: &mut Vec<usize>, lists: &mut [(&mut Vec<&mut View>, usize)]) {
    let mut axis = 0;
    while axis + 1 < group.len() {
        let size = group[axis + 1] as i64;
        if !lists.iter().all(|(views, from)| views.iter().all(|v| merges(v, from + axis, size))) {
            axis += 1;
            continue;
        }
        let outer = group.remove(axis);
        group[axis] *= outer;
        for (views, from) in lists.iter_mut() {
            views.iter_mut().for_each(|v| drop_axis(v, *from + axis));
        }
    }
}

/// A kernel that copies all elements of one buffer to another.
pub fn copy(from: BufferId, to: BufferId, len: usize, dtype: farad_ir::DType) -> Kernel {
    copy_all(&[CopiedPart { from, from_offset: 0, to, to_offset: 0 }], len, dtype)
}

/// A copy of elements from an offset in one buffer to an offset in another.
#[derive(Clone, Copy)]
pub struct CopiedPart {
    pub from: BufferId,
    pub from_offset: usize,
    pub to: BufferId,
    pub to_offset: usize,
}

/// A kernel that copies `len` elements of each part.
pub fn copy_all(parts: &[CopiedPart], len: usize, dtype: farad_ir::DType) -> Kernel {
    let axes = if len == 1 { vec![] } else { vec![len] };
    let view = |offset: usize| View { offset: offset as i64, ..View::contiguous(&axes) };
    let load = |part: &CopiedPart| Instr {
        code: Code::Load(part.from, view(part.from_offset)),
        dtype: dtype.register(),
        level: crate::program::Level::Full,
    };
    let stores = parts.iter().enumerate();
    let stores =
        stores.map(|(n, part)| Store { buffer: part.to, value: Reg(n as u32), view: view(part.to_offset) });
    let (tape, stores) = (parts.iter().map(load).collect(), stores.collect());
    Kernel::Fused(Fused { outer: axes.len(), axes, tape, stores })
}

/// Renames the buffers of a kernel and shifts its sites.
pub fn rename(kernel: &mut Kernel, buffer: &dyn Fn(BufferId) -> BufferId, sites: usize) {
    let tape = |tape: &mut Vec<Instr>| {
        for instr in tape.iter_mut() {
            match &mut instr.code {
                Code::Load(b, _) => *b = buffer(*b),
                Code::Take { buffer: b, site, .. } => {
                    *b = buffer(*b);
                    *site += sites;
                }
                _ => {}
            }
        }
    };
    let put = |stores: &mut Vec<Store>| stores.iter_mut().for_each(|s| s.buffer = buffer(s.buffer));
    match kernel {
        Kernel::Fused(k) => {
            tape(&mut k.tape);
            put(&mut k.stores);
        }
        Kernel::Product(k) => {
            [&mut k.lhs.tape, &mut k.rhs.tape, &mut k.epilogue].into_iter().for_each(tape);
            put(&mut k.stores);
        }
        Kernel::Scatter(k) => {
            (k.source.0, k.index.0, k.target) = (buffer(k.source.0), buffer(k.index.0), buffer(k.target));
            k.order = k.order.map(buffer);
            k.site += sites;
        }
        Kernel::Sums(k) => (k.source, k.target) = (buffer(k.source), buffer(k.target)),
        Kernel::Sort(k) => {
            (k.operand, k.order) = (buffer(k.operand), buffer(k.order));
            k.scratch.iter_mut().for_each(|b| *b = buffer(*b));
        }
        Kernel::Custom(k) => {
            let all = k.operands.iter_mut().chain(&mut k.results).chain(&mut k.scratch);
            all.for_each(|b| *b = buffer(*b));
        }
        Kernel::Recurrence(k) => {
            tape(&mut k.tape);
            put(&mut k.stores);
            k.carries.iter_mut().filter_map(|carry| carry.last.as_mut()).for_each(|(b, _)| *b = buffer(*b));
        }
        Kernel::Loop(k) => {
            k.steps.iter_mut().for_each(|s| rename(&mut s.kernel, buffer, sites));
            k.slots.iter_mut().for_each(|(b, _)| *b = buffer(*b));
            k.swaps.iter_mut().for_each(|(a, b)| (*a, *b) = (buffer(*a), buffer(*b)));
        }
    }
}
