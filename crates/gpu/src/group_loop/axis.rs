//! Finds the axis along which elements of a loop never meet.
//!
//! In memory of the loop, element `e` belongs to place `e / inner % places`; `inner` may differ from buffer to buffer. Invariant:
//! every access of every kernel stays within its own place.

use std::collections::HashMap;

use farad_compile::program::{BufferId, Code, Fused, Loop, View};

use super::{LoopMemory, TRAILING};

/// An axis along which elements never meet.
pub(super) struct SharedAxis {
    /// Its size.
    pub places: usize,
    /// The stride along it of every buffer that is kept.
    pub layouts: HashMap<BufferId, i64>,
}

/// A kernel without the shared axis; its views have it, then two axes that they do not use yet.
pub(super) struct SplitKernel {
    pub kernel: Fused,
}

impl SharedAxis {
    /// The shared axis of this size, if there is one, and all kernels without it.
    pub fn find(
        kernels: &[&Fused],
        memory: &LoopMemory,
        body: &Loop,
        places: usize,
    ) -> Option<(SharedAxis, Vec<SplitKernel>)> {
        let mut axis = SharedAxis { places, layouts: HashMap::new() };
        // The first pass finds layouts, the second knows those of carries too.
        for kernel in kernels {
            let split = axis.split(kernel, memory)?;
            axis.learn(&split, memory);
        }
        for (old, new) in &body.swaps {
            let inner = *axis.layouts.get(new)?;
            axis.layouts.insert(*old, inner);
        }
        let split = kernels.iter().map(|kernel| axis.split(kernel, memory)).collect::<Option<Vec<_>>>()?;
        let even = memory
            .kept
            .iter()
            .all(|(id, len)| axis.layouts.get(id).is_some_and(|&inner| len % (places * inner as usize) == 0));
        even.then_some((axis, split))
    }

    /// The kernel without the shared axis.
    fn split(&self, kernel: &Fused, memory: &LoopMemory) -> Option<SplitKernel> {
        let places = self.places;
        // The innermost axis first: places usually lie there, and another axis may have the same size.
        let ways = kernel.axes.iter().enumerate().rev().flat_map(|(axis, &size)| {
            let whole = (size == places).then_some((axis, false, 1));
            let rest = (size > places && size % places == 0).then_some(size / places);
            let inner = rest.map(|rest| (axis, true, rest));
            let outer = rest.map(|rest| (axis, false, rest));
            whole.into_iter().chain(inner).chain(outer)
        });
        ways.map(|way| without(kernel, way, places)).find(|split| self.holds(split, memory))
    }

    /// Whether all accesses stay within their place, as far as layouts are known.
    fn holds(&self, split: &SplitKernel, memory: &LoopMemory) -> bool {
        let kernel = &split.kernel;
        let known = |id: &BufferId| self.layouts.get(id).copied();
        let reads = kernel.tape.iter().all(|instr| match &instr.code {
            Code::Load(id, view) => known(id).is_none_or(|inner| self.stays(view, kernel, inner, None)),
            Code::Take { buffer, view, stride, size, .. } => {
                known(buffer).is_none_or(|inner| self.stays(view, kernel, inner, Some((*stride, *size))))
            }
            _ => true,
        });
        reads
            && kernel.stores.iter().filter(|store| memory.kept.contains_key(&store.buffer)).all(|store| {
                let along = store.view.strides[kernel.axes.len()];
                along > 0 && self.stays(&store.view, kernel, known(&store.buffer).unwrap_or(along), None)
            })
    }

    fn learn(&mut self, split: &SplitKernel, memory: &LoopMemory) {
        for store in split.kernel.stores.iter().filter(|store| memory.kept.contains_key(&store.buffer)) {
            self.layouts.insert(store.buffer, store.view.strides[split.kernel.axes.len()]);
        }
    }

    /// Whether a view stays within its place of a buffer with this layout.
    fn stays(&self, view: &View, kernel: &Fused, inner: i64, taken: Option<(i64, usize)>) -> bool {
        let rank = kernel.axes.len();
        let whole = inner * self.places as i64;
        let sizes = kernel.axes.iter().copied();
        let steps = view.strides[..rank].iter().copied().zip(sizes).chain(taken);
        let within: i64 = steps.map(|(stride, size)| stride.rem_euclid(whole) * (size as i64 - 1)).sum();
        view.strides[rank] == inner
            && within + view.offset.rem_euclid(whole) < inner
            && view.guards.iter().all(|guard| guard.stride == 0)
    }
}

/// The kernel with one axis taken out: all of it, or its inner or outer part if it is several times as long.
fn without(kernel: &Fused, (axis, is_inner, rest): (usize, bool, usize), places: usize) -> SplitKernel {
    let mut kernel = kernel.clone();
    let taken = if rest == 1 {
        kernel.axes.remove(axis);
        axis
    } else {
        kernel.axes[axis] = rest;
        if is_inner { axis + 1 } else { axis }
    };
    let inner = if is_inner { places } else { rest } as i64;
    let change = |list: &mut Vec<i64>| {
        if rest > 1 {
            list.insert(axis, list[axis] * inner);
        }
        let own = list.remove(taken);
        list.push(own);
        list.resize(list.len() + TRAILING - 1, 0);
    };
    let codes = kernel.tape.iter_mut().filter_map(|instr| instr.code.view_mut());
    for view in codes.chain(kernel.stores.iter_mut().map(|store| &mut store.view)) {
        change(&mut view.strides);
        view.guards.iter_mut().for_each(|guard| change(&mut guard.coefficients));
    }
    kernel.outer = kernel.axes.len();
    SplitKernel { kernel }
}

/// A distance in a buffer as a distance in workgroup memory, where the group's places lie innermost.
pub(super) fn local(distance: i64, inner: i64, places: usize, group: usize) -> i64 {
    let whole = inner * places as i64;
    (distance.div_euclid(whole) * inner + distance.rem_euclid(whole)) * group as i64
}

/// The view of the same elements in workgroup memory, from this element of every place on.
pub(super) fn local_view(view: &View, inner: i64, places: usize, group: usize, first: usize) -> View {
    let mut view = view.clone();
    let rank = view.strides.len() - TRAILING;
    view.offset = local(view.offset, inner, places, group) + (first * group) as i64;
    view.strides[..rank].iter_mut().for_each(|stride| *stride = local(*stride, inner, places, group));
    view.strides[rank..].copy_from_slice(&[0, 1, 0]);
    view
}
