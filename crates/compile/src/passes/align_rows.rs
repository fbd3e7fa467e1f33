//! Copies the operands of large products whose rows start anywhere in memory, so that every row starts at a
//! whole group of four elements, which a device reads at once.
//!
//! A copy has longer rows; the product reads a slice of it, so sizes and results stay as they are. Where the
//! terms should be cut into parts and their number has no suitable divisor, both operands get more terms,
//! which are zero.

use std::collections::HashMap;

use farad_ir::{Contraction, DType, Graph, NodeId, Op, Span};

use crate::fusion::access::Access;
use crate::fusion::product::Roles;
use crate::passes::limits;
use crate::passes::tiles::{self, ProductSizes};
use crate::program::{Target, View};

/// Rewrites the graph for the target; returns the new graph and outputs. `None` if no product gains by it.
pub fn align(graph: &Graph, outputs: &[NodeId], target: &Target) -> Option<(Graph, Vec<NodeId>)> {
    let products: HashMap<NodeId, Alignment> =
        graph.ids().filter_map(|id| Some((id, Alignment::of(graph, id, target)?))).collect();
    if products.is_empty() {
        return None;
    }
    let mut new = Graph::new();
    let mut copies = HashMap::new();
    let map = graph.rewrite(graph.ids(), |id, mut node| {
        if let (Op::Contract(contraction), Some(alignment)) = (&node.op, products.get(&id)) {
            let mut contraction = Contraction::clone(contraction);
            contraction.sizes[alignment.inner] = alignment.terms;
            for (operand, copy) in node.operands.iter_mut().zip(&alignment.copies) {
                if let Some(copy) = copy {
                    let known = copies.entry((*operand, copy.clone()));
                    *operand = *known.or_insert_with(|| copy.of(&mut new, *operand));
                }
            }
            node.op = Op::Contract(contraction.into());
        }
        new.append(node)
    });
    let outputs = map.all(outputs);
    Some((new, outputs))
}

/// The elements of a dtype that a device reads at once; `None` if products of it are not made in groups.
pub fn group(dtype: DType) -> Option<usize> {
    match dtype {
        DType::F32 | DType::F16 => Some(4),
        _ => None,
    }
}

/// What changes about a product.
struct Alignment {
    /// The axis of the terms, and its new size.
    inner: usize,
    terms: usize,
    /// The copies of its operands.
    copies: [Option<AlignedCopy>; 2],
}

/// A copy of an operand with longer rows.
#[derive(Clone, PartialEq, Eq, Hash)]
struct AlignedCopy {
    /// The axis that is contiguous in memory.
    near: usize,
    /// The length of a row of the copy.
    row: usize,
    /// The axis of the terms, and how many of them the product reads.
    inner: usize,
    terms: usize,
}

impl Alignment {
    /// How the product `id` is aligned; `None` if it is none, too small, or aligned as it is.
    fn of(graph: &Graph, id: NodeId, target: &Target) -> Option<Alignment> {
        let node = graph.node(id);
        let Op::Contract(contraction) = &node.op else { return None };
        let group = group(node.dtype)?;
        let work: usize = contraction.sizes.iter().product();
        let plain = contraction.lhs.iter().chain(&contraction.rhs).all(|map| map.plain().is_some());
        if work < target.aligned || !plain {
            return None;
        }
        let roles = Roles::of(contraction)?;
        let &[inner] = &roles.inner[..] else { return None };
        let len = |axes: &[usize]| axes.iter().map(|&axis| contraction.sizes[axis]).product::<usize>();
        let (rows, columns) = (len(&roles.rows), len(&roles.columns));
        let sizes =
            ProductSizes { batches: len(&roles.batch), rows, columns, terms: contraction.sizes[inner] };
        // How often each element of the left and of the right operand is used.
        let uses = if roles.swapped { [rows, columns] } else { [columns, rows] };
        let least = if node.dtype == DType::F16 { limits::ALIGNED_USES_F16 } else { limits::ALIGNED_USES };
        if uses.iter().any(|&uses| uses < least) {
            return None;
        }
        let terms = terms(sizes, node.dtype, group, target);
        let mut copies = [None, None];
        for (side, maps) in [&contraction.lhs, &contraction.rhs].into_iter().enumerate() {
            let operand = node.operands[side];
            let (axes, view) = stored(graph, operand)?;
            let near = axes[view.strides.iter().position(|&stride| stride == 1)?];
            let whole = |number: &i64| number % group as i64 == 0;
            let aligned = whole(&view.offset) && view.strides.iter().all(|n| *n == 1 || whole(n));
            let place = maps.iter().position(|map| map.plain() == Some(inner))?;
            if aligned && terms == sizes.terms {
                continue;
            }
            let length = if near == place { terms } else { graph.shape(operand)[near] };
            copies[side] =
                Some(AlignedCopy { near, row: length.next_multiple_of(group), inner: place, terms });
        }
        // If both are copied anyway, the terms may as well fill whole steps of a tile.
        let steps = terms.next_multiple_of(limits::PART_STEP);
        let terms =
            if copies.iter().all(Option::is_some) && terms > limits::PART_STEP { steps } else { terms };
        for copy in copies.iter_mut().flatten() {
            copy.terms = terms;
            copy.row = if copy.near == copy.inner { terms.next_multiple_of(group) } else { copy.row };
        }
        copies.iter().any(Option::is_some).then_some(Alignment { inner, terms, copies })
    }
}

/// How many terms a product should have so that they can be cut into equal parts of whole groups.
fn terms(sizes: ProductSizes, dtype: DType, group: usize, target: &Target) -> usize {
    let terms = sizes.terms;
    if target.parallel < limits::LARGE_DEVICE || terms <= 2 * limits::WHOLE_TERMS {
        return terms;
    }
    let is_f16 = dtype == DType::F16;
    let wanted = tiles::parts(sizes, is_f16, target.processors, 2..=tiles::MOST_PARTS);
    let Some(wanted) = wanted else { return terms };
    let near = wanted - wanted / 4..=wanted + wanted / 4;
    if near.clone().any(|count| terms.is_multiple_of(count) && (terms / count).is_multiple_of(group)) {
        return terms;
    }
    terms.div_ceil(wanted).next_multiple_of(limits::PART_STEP) * wanted
}

/// The axes of a node that are not of size 1, and how it reads what lies in memory below its movement ops; `None`
/// if elements are repeated or missing there.
fn stored(graph: &Graph, id: NodeId) -> Option<(Vec<usize>, View)> {
    let shape = graph.shape(id);
    let axes = (0..shape.rank()).filter(|&axis| shape[axis] != 1).collect();
    let (sizes, mut access) = Access::identity(&shape);
    let mut at = id;
    while graph.node(at).op.is_movement() {
        let node = graph.node(at);
        access = access.through(&node.op, &graph.shape(node.operands[0]), &node.shape, &sizes).ok()?;
        at = node.operands[0];
    }
    let view = access.view(&graph.shape(at), sizes.len());
    (view.guards.is_empty() && !view.strides.contains(&0)).then_some((axes, view))
}

impl AlignedCopy {
    /// The copy of a node, as a view of the size that the product reads.
    fn of(&self, graph: &mut Graph, x: NodeId) -> NodeId {
        let shape = graph.shape(x);
        let rank = shape.rank();
        let order: Vec<usize> = (0..rank).filter(|&axis| axis != self.near).chain([self.near]).collect();
        let moved = if self.near + 1 == rank { x } else { graph.permute(x, &order) };
        let length = |axis: usize| if axis == self.inner { self.terms } else { shape[axis] };
        let widths = order.iter().map(|&axis| {
            let wanted = if axis == self.near { self.row } else { length(axis) };
            (0, wanted - shape[axis])
        });
        let padded = graph.push(Op::Pad(widths.collect()), &[moved]);
        let copy = graph.push(Op::Barrier(0), &[padded]);
        let spans = order.iter().map(|&axis| Span::first(length(axis))).collect();
        let cut = if self.row == length(self.near) { copy } else { graph.push(Op::Slice(spans), &[copy]) };
        if self.near + 1 == rank {
            return cut;
        }
        let mut back = vec![0; rank];
        order.iter().enumerate().for_each(|(place, &axis)| back[axis] = place);
        graph.permute(cut, &back)
    }
}
