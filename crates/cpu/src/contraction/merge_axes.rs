//! Merges neighboring axes of a product that all its views walk as one.

use farad_compile::program::{Code, Instr, Product, View};

/// The product over as few axes as possible.
pub fn merged(product: &Product) -> Product {
    let mut product = product.clone();
    for role in [Role::Batch, Role::Rows, Role::Columns, Role::Terms] {
        let mut axis = 1;
        while axis < sizes(&mut product, role).len() {
            if fits(&mut product, role, axis) { merge(&mut product, role, axis) } else { axis += 1 }
        }
    }
    product
}

/// The role of axes in a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Batch,
    Rows,
    Columns,
    Terms,
}

/// The axes of a role.
pub fn sizes(product: &mut Product, role: Role) -> &mut Vec<usize> {
    match role {
        Role::Batch => &mut product.batch,
        Role::Rows => &mut product.m,
        Role::Columns => &mut product.n,
        Role::Terms => &mut product.k,
    }
}

/// Calls `f` with every view that has the axes of a role, and the index of the first of them.
pub fn views(product: &mut Product, role: Role, mut f: impl FnMut(&mut View, usize)) {
    let [b, m, k] = [product.batch.len(), product.m.len(), product.k.len()];
    let of = |tape: &mut [Instr], first: usize, f: &mut dyn FnMut(&mut View, usize)| {
        for instr in tape {
            match &mut instr.code {
                Code::Load(_, view) | Code::Take { view, .. } => f(view, first),
                Code::Position(view) | Code::Random(.., view) => f(view, first),
                _ => {}
            }
        }
    };
    // Left: batch, rows, terms. Right: batch, terms, columns. Result: batch, rows, columns.
    let [left, right, whole] = match role {
        Role::Batch => [Some(0); 3],
        Role::Rows => [Some(b), None, Some(b)],
        Role::Columns => [None, Some(b + k), Some(b + m)],
        Role::Terms => [Some(b + m), Some(b), None],
    };
    if let Some(first) = left {
        of(&mut product.lhs.tape, first, &mut f);
    }
    if let Some(first) = right {
        of(&mut product.rhs.tape, first, &mut f);
    }
    if let Some(first) = whole {
        of(&mut product.epilogue, first, &mut f);
        product.stores.iter_mut().for_each(|store| f(&mut store.view, first));
    }
}

fn fits(product: &mut Product, role: Role, axis: usize) -> bool {
    let [outer, inner] = [sizes(product, role)[axis - 1], sizes(product, role)[axis]];
    let mut fits = true;
    views(product, role, |view, first| {
        let at = first + axis;
        let follows =
            |values: &[i64]| outer == 1 || inner == 1 || values[at - 1] == values[at] * inner as i64;
        fits &= follows(&view.strides) && view.guards.iter().all(|guard| follows(&guard.coefficients));
    });
    fits
}

fn merge(product: &mut Product, role: Role, axis: usize) {
    let inner = sizes(product, role)[axis];
    // The stride of an axis of size 1 does not matter.
    let gone = |at: usize| if inner == 1 { at } else { at - 1 };
    views(product, role, |view, first| {
        view.strides.remove(gone(first + axis));
        view.guards.iter_mut().for_each(|guard| {
            guard.coefficients.remove(gone(first + axis));
        });
    });
    let list = sizes(product, role);
    list[axis - 1] *= inner;
    list.remove(axis);
}
