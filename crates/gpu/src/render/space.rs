//! Brings a kernel's axes to their simplest form: no axes of size 1, neighbors merged where every view walks
//! them as one, and contiguous memory innermost. Values never change.

use std::cmp::Reverse;

use farad_compile::program::{Code, Fused, Instr, Level, Product, Recurrence, Store, View};

/// Every view of a tape and of stores.
pub(super) fn views<'a>(tape: &'a mut [Instr], stores: &'a mut [Store]) -> Vec<&'a mut View> {
    let codes = tape.iter_mut().filter_map(|instr| match &mut instr.code {
        Code::Load(_, view) | Code::Take { view, .. } | Code::Position(view) | Code::Random(.., view) => {
            Some(view)
        }
        _ => None,
    });
    codes.chain(stores.iter_mut().map(|store| &mut store.view)).collect()
}

fn remove_axis(view: &mut View, axis: usize) {
    view.strides.remove(axis);
    for guard in &mut view.guards {
        guard.coefficients.remove(axis);
    }
}

/// Whether per-axis factors treat `axis` and the next as one axis.
fn joins(factors: &[i64], axis: usize, inner: usize) -> bool {
    factors[axis] == factors[axis + 1] * inner as i64
}

/// Removes axes of size 1 in `from..to` and merges neighbors there; returns the new `to`.
pub(super) fn simplify(axes: &mut Vec<usize>, from: usize, to: usize, views: &mut [&mut View]) -> usize {
    let mut to = to;
    for axis in (from..to).rev().filter(|&axis| axes[axis] == 1).collect::<Vec<_>>() {
        axes.remove(axis);
        views.iter_mut().for_each(|view| remove_axis(view, axis));
        to -= 1;
    }
    let mut axis = to;
    while axis > from + 1 {
        axis -= 1;
        let (outer, inner) = (axis - 1, axes[axis]);
        let one = views.iter().all(|view| {
            joins(&view.strides, outer, inner)
                && view.guards.iter().all(|g| joins(&g.coefficients, outer, inner))
        });
        if one {
            axes[outer] = axes.remove(outer) * inner;
            views.iter_mut().for_each(|view| remove_axis(view, outer));
            to -= 1;
        }
    }
    to
}

/// Sorts the axes in `from..to` by descending `key`, a stride per axis.
fn sort(axes: &mut [usize], from: usize, to: usize, key: &[i64], views: &mut [&mut View]) {
    let mut order: Vec<usize> = (from..to).collect();
    order.sort_by_key(|&axis| Reverse(if key[axis] == 0 { u64::MAX } else { key[axis].unsigned_abs() }));
    let shuffle = |list: &mut [i64]| {
        let old = list.to_vec();
        order.iter().enumerate().for_each(|(at, &axis)| list[from + at] = old[axis]);
    };
    let old = axes.to_vec();
    order.iter().enumerate().for_each(|(at, &axis)| axes[from + at] = old[axis]);
    for view in views {
        shuffle(&mut view.strides);
        view.guards.iter_mut().for_each(|guard| shuffle(&mut guard.coefficients));
    }
}

/// The strides that decide the order of axes: the store's, or in a reduction those of the load with the most
/// elements.
fn key(kernel: &Fused) -> Vec<i64> {
    let moved = |view: &View| -> usize {
        view.strides
            .iter()
            .zip(&kernel.axes)
            .filter(|(stride, _)| **stride != 0)
            .map(|(_, size)| *size)
            .product()
    };
    let loads = kernel.tape.iter().filter_map(|instr| match &instr.code {
        Code::Load(_, view) if instr.level == Level::Full && kernel.outer < kernel.axes.len() => Some(view),
        _ => None,
    });
    let heaviest = loads.fold(None, |best: Option<&View>, view| match best {
        Some(best) if moved(best) >= moved(view) => Some(best),
        _ => Some(view),
    });
    heaviest.or(kernel.stores.first().map(|store| &store.view)).map_or(vec![], |view| view.strides.clone())
}

/// The kernel over its simplest axes. At least one axis is left; reduced axes stay reduced.
pub(super) fn canonical(kernel: &Fused) -> Fused {
    let mut kernel = kernel.clone();
    let reduces = kernel.outer < kernel.axes.len();
    let positional =
        kernel.tape.iter().any(|instr| matches!(instr.code, Code::Reduce(reduce, _) if reduce.is_index()));
    let (key, rank) = (key(&kernel), kernel.axes.len());
    let mut all = views(&mut kernel.tape, &mut kernel.stores);
    if !key.is_empty() {
        sort(&mut kernel.axes, 0, kernel.outer, &key, &mut all);
        if !positional {
            sort(&mut kernel.axes, kernel.outer, rank, &key, &mut all);
        }
    }
    simplify(&mut kernel.axes, kernel.outer, rank, &mut all);
    kernel.outer = simplify(&mut kernel.axes, 0, kernel.outer, &mut all);
    let lost = reduces && kernel.outer == kernel.axes.len();
    if lost || kernel.axes.is_empty() {
        kernel.axes.push(1);
        for view in all {
            view.strides.push(0);
            view.guards.iter_mut().for_each(|guard| guard.coefficients.push(0));
        }
        kernel.outer += usize::from(!lost);
    }
    kernel
}

/// The recurrence over its simplest axes; at least one element axis remains.
pub(super) fn canonical_recurrence(recurrence: &Recurrence) -> Recurrence {
    let mut recurrence = recurrence.clone();
    let mut axes = recurrence.axes.clone();
    let elements = axes.len() - 1;
    let stores = recurrence.stores.iter().map(|store| &store.view);
    let last = recurrence.carries.iter().filter_map(|carry| carry.last.as_ref().map(|(_, view)| view));
    let key = stores.chain(last).next().map_or(vec![], |view| view.strides.clone());
    let mut all = recurrence.views_mut();
    if !key.is_empty() {
        sort(&mut axes, 0, elements, &key, &mut all);
    }
    if simplify(&mut axes, 0, elements, &mut all) == 0 {
        axes.insert(0, 1);
        for view in all {
            view.strides.insert(0, 0);
            view.guards.iter_mut().for_each(|guard| guard.coefficients.insert(0, 0));
        }
    }
    recurrence.axes = axes;
    recurrence
}

/// The product over its simplest batch axes.
pub(super) fn canonical_product(product: &Product) -> Product {
    let mut product = product.clone();
    let mut all = views(&mut product.epilogue, &mut product.stores);
    all.extend(views(&mut product.lhs.tape, &mut []));
    all.extend(views(&mut product.rhs.tape, &mut []));
    let batch = product.batch.len();
    simplify(&mut product.batch, 0, batch, &mut all);
    product
}

#[cfg(test)]
mod tests {
    use farad_compile::program::{BufferId, Reg};
    use farad_ir::DType;

    use super::*;

    fn copy(axes: &[usize], from: Vec<i64>, to: Vec<i64>) -> Fused {
        let view = |strides| View { offset: 0, strides, guards: vec![] };
        let load = Instr { code: Code::Load(BufferId(0), view(from)), dtype: DType::F32, level: Level::Full };
        let store = Store { buffer: BufferId(1), value: Reg(0), view: view(to) };
        Fused { axes: axes.to_vec(), outer: axes.len(), tape: vec![load], stores: vec![store] }
    }

    #[test]
    fn contiguous_axes_merge() {
        let kernel = canonical(&copy(&[2, 1, 3, 4], vec![12, 5, 4, 1], vec![12, 12, 4, 1]));
        assert_eq!((kernel.axes, kernel.outer), (vec![24], 1));
        assert_eq!(kernel.stores[0].view.strides, vec![1]);
    }

    #[test]
    fn transposes_keep_two_axes_and_store_along_the_last() {
        let kernel = canonical(&copy(&[3, 4, 5], vec![20, 5, 1], vec![1, 15, 3]));
        assert_eq!(kernel.axes, vec![20, 3]);
        assert_eq!(kernel.stores[0].view.strides, vec![3, 1]);
        let Code::Load(_, view) = &kernel.tape[0].code else { unreachable!() };
        assert_eq!(view.strides, vec![1, 20]);
    }

    #[test]
    fn scalars_keep_an_axis() {
        let kernel = canonical(&copy(&[], vec![], vec![]));
        assert_eq!((kernel.axes, kernel.outer), (vec![1], 1));
    }
}
