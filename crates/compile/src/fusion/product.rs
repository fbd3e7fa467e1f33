//! Contractions that run as matrix products, and the operands of product kernels.

use farad_ir::{Contraction, DType, Graph, IndexMap, Node, NodeId, Op, Unary};

use super::limits;
use crate::fusion::access::{Access, Affine, mapped_view};
use crate::fusion::draft::{resident, unshaped};
use crate::program::{BufferId, Code, Instr, Level, ProductOperand, Reg};

/// The role of each axis of a contraction in a matrix product. Axes of size 1 have no role, unless rows,
/// columns or terms would be empty without them.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    /// Axes that both operands and the result have.
    pub batch: Vec<usize>,
    /// Axes of one operand and the result.
    pub rows: Vec<usize>,
    /// Axes of the other operand and the result, including the result's last axis.
    pub columns: Vec<usize>,
    /// Axes that are summed over.
    pub inner: Vec<usize>,
    /// Whether the contraction's right operand has the rows.
    pub swapped: bool,
}

impl Roles {
    /// The roles of the axes; `None` if the contraction is not a product or too thin to run as one.
    pub fn of(contraction: &Contraction) -> Option<Roles> {
        Roles::of_matrices(contraction).or_else(|| Roles::of_tensors(contraction))
    }

    /// For a product of matrices `[batch.., rows, columns]` of any size.
    fn of_matrices(contraction: &Contraction) -> Option<Roles> {
        let axes = |maps: &[IndexMap]| maps.iter().map(|m| m.plain()).collect::<Option<Vec<usize>>>();
        let (lhs, rhs) = (axes(&contraction.lhs)?, axes(&contraction.rhs)?);
        let unique = |list: &[usize]| list.iter().enumerate().all(|(i, a)| !list[..i].contains(a));
        if !unique(&lhs) || !unique(&rhs) {
            return None;
        }
        let (mut batch, mut free) = (Vec::new(), Vec::new());
        for &axis in &contraction.out {
            match (lhs.contains(&axis), rhs.contains(&axis)) {
                (true, true) if free.is_empty() => batch.push(axis),
                (true, false) | (false, true) => free.push(axis),
                _ => return None,
            }
        }
        let inner = contraction.reduced();
        let ([rows, columns], [_]) = (&free[..], &inner[..]) else { return None };
        if inner.iter().any(|a| !lhs.contains(a) || !rhs.contains(a))
            || lhs.contains(rows) == lhs.contains(columns)
        {
            return None;
        }
        let swapped = !lhs.contains(rows);
        Some(Roles { batch, rows: vec![*rows], columns: vec![*columns], inner, swapped })
    }

    /// For any sum of products whose sides are large enough: convolutions and their gradients.
    fn of_tensors(contraction: &Contraction) -> Option<Roles> {
        let reads =
            |maps: &[IndexMap], axis: usize| maps.iter().any(|m| m.terms.iter().any(|term| term.0 == axis));
        let [mut batch, mut left, mut right, mut inner] = [const { Vec::new() }; 4];
        let real = |axis: &usize| contraction.sizes[*axis] != 1;
        for &axis in contraction.out.iter().filter(|axis| real(axis)) {
            match (reads(&contraction.lhs, axis), reads(&contraction.rhs, axis)) {
                (true, true) => batch.push(axis),
                (true, false) => left.push(axis),
                (false, true) => right.push(axis),
                (false, false) => return None,
            }
        }
        for axis in contraction.reduced().into_iter().filter(real) {
            if !reads(&contraction.lhs, axis) || !reads(&contraction.rhs, axis) {
                return None;
            }
            inner.push(axis);
        }
        [&mut batch, &mut left, &mut right].into_iter().for_each(|axes| axes.sort_unstable());
        // Results are written along the columns.
        let place = |axes: &[usize]| contraction.out.iter().rposition(|axis| axes.contains(axis));
        let swapped = place(&left) > place(&right);
        let (rows, columns) = if swapped { (right, left) } else { (left, right) };
        let len = |axes: &[usize]| axes.iter().map(|&axis| contraction.sizes[axis]).product::<usize>();
        let (m, n, k) = (len(&rows), len(&columns), len(&inner));
        (m.min(n) >= limits::LEAST_SIDE && k >= 2 && m * n * k >= limits::LEAST_WORK).then_some(Roles {
            batch,
            rows,
            columns,
            inner,
            swapped,
        })
    }

    /// The axes of the left and of the right operand, in kernel order.
    fn orders(&self) -> [Vec<usize>; 2] {
        let with = |first: &[usize], second: &[usize]| [&self.batch[..], first, second].concat();
        [with(&self.rows, &self.inner), with(&self.inner, &self.columns)]
    }
}

/// A product's operand before it is built: the node, how the contraction reads it, and over which axes.
pub struct ProductSource<'g> {
    contraction: &'g Contraction,
    maps: &'g [IndexMap],
    /// Contraction axes, in kernel order.
    order: Vec<usize>,
    /// What is read.
    pub node: NodeId,
}

/// The left and the right operand of the product of a contraction node.
pub fn sources<'g>(contraction: &'g Contraction, roles: &Roles, node: &Node) -> [ProductSource<'g>; 2] {
    let [left, right] = roles.orders();
    let (l, r) = if roles.swapped { (right, left) } else { (left, right) };
    let source = |maps, order, node| ProductSource { contraction, maps, order, node };
    let lhs = source(&contraction.lhs[..], l, node.operands[0]);
    let rhs = source(&contraction.rhs[..], r, node.operands[1]);
    if roles.swapped { [rhs, lhs] } else { [lhs, rhs] }
}

impl ProductSource<'_> {
    /// The operand; `None` if something has to be materialized first.
    pub fn operand(&self, graph: &Graph, materialized: &[bool]) -> Option<ProductOperand> {
        let axes: Vec<usize> = self.order.iter().map(|&a| self.contraction.sizes[a]).collect();
        let mut place = vec![Affine::zero(axes.len()); self.contraction.sizes.len()];
        for (at, &axis) in self.order.iter().enumerate().filter(|(at, _)| axes[*at] != 1) {
            place[axis] = Affine::axis(axes.len(), at);
        }
        let shape = graph.shape(self.node);
        let mut tape = Vec::new();
        let value = match Access::mapped(self.maps, &place, &shape, &axes) {
            Some(access) => {
                let most = OperandBudget { ops: limits::MOST_PROLOGUE, moves: limits::MOST_MOVES };
                pull(graph, self.node, &access, &axes, materialized, &mut tape, most)?
            }
            None => {
                let (stored, rounded) = below_cast(graph, self.node);
                let base = resident(graph, materialized, stored)?;
                let view = mapped_view(self.maps, &place, &shape, &axes);
                let dtype = graph.dtype(self.node).register();
                let mut emit = |code| tape.push(Instr { code, dtype, level: Level::Full });
                emit(Code::Load(BufferId(base.0), view));
                if let Some(dtype) = rounded {
                    emit(Code::Cast(Reg(0), dtype));
                }
                Reg(tape.len() as u32 - 1)
            }
        };
        Some(ProductOperand { tape, value })
    }

    /// What to materialize so that the operand can be built.
    fn missing(&self, graph: &Graph, materialized: &[bool], plain: bool) -> NodeId {
        if self.maps.iter().any(|map| map.divisor != 1) {
            return below_cast(graph, self.node).0;
        }
        let source = source(graph, self.node, materialized, plain);
        let mut trial = materialized.to_vec();
        trial[source.index()] = true;
        if self.operand(graph, &trial).is_some() { source } else { self.node }
    }
}

/// The operand of a cast between floats, and the dtype that the cast rounds to if that is f16 or bf16.
fn below_cast(graph: &Graph, id: NodeId) -> (NodeId, Option<DType>) {
    let node = graph.node(id);
    match node.op {
        Op::Cast(to) if to.is_float() && graph.dtype(node.operands[0]).is_float() => {
            (node.operands[0], to.is_half().then_some(to))
        }
        _ => (id, None),
    }
}

/// What an operand may still go through on its way into a product.
#[derive(Clone, Copy)]
struct OperandBudget {
    /// Pointwise ops.
    ops: usize,
    /// Moves and casts.
    moves: usize,
}

impl OperandBudget {
    /// What is left after a move; `None` if there was nothing left.
    fn moved(self) -> Option<OperandBudget> {
        Some(OperandBudget { moves: self.moves.checked_sub(1)?, ..self })
    }
}

fn pull(
    graph: &Graph,
    id: NodeId,
    access: &Access,
    axes: &[usize],
    materialized: &[bool],
    tape: &mut Vec<Instr>,
    left: OperandBudget,
) -> Option<Reg> {
    let node = graph.node(id);
    let mut emit = |code: Code, dtype: DType| {
        tape.push(Instr { code, dtype: dtype.register(), level: Level::Full });
        Some(Reg(tape.len() as u32 - 1))
    };
    if let Some(base) = resident(graph, materialized, id) {
        return emit(Code::Load(BufferId(base.0), access.view(&node.shape, axes.len())), node.dtype);
    }
    match &node.op {
        // Outside of its guards an operand is zero, which only loads can express.
        Op::Constant(_) | Op::Parameter(_) if !access.guards.is_empty() => None,
        Op::Constant(scalar) => emit(Code::Constant(*scalar), node.dtype),
        Op::Parameter(n) => emit(Code::Parameter(*n), node.dtype),
        // A guarded load costs more than a copy would.
        op if op.is_movement() && !matches!(op, Op::Pad(_)) => {
            let inner = access.through(op, &graph.shape(node.operands[0]), &node.shape, axes).ok()?;
            pull(graph, node.operands[0], &inner, axes, materialized, tape, left.moved()?)
        }
        Op::Cast(to) if node.dtype.is_float() && graph.dtype(node.operands[0]).is_float() => {
            let x = pull(graph, node.operands[0], access, axes, materialized, tape, left.moved()?)?;
            if to.is_half() || to.register() != tape[x.0 as usize].dtype {
                tape.push(Instr { code: Code::Cast(x, *to), dtype: to.register(), level: Level::Full });
                return Some(Reg(tape.len() as u32 - 1));
            }
            Some(x)
        }
        Op::Unary(unary @ (Unary::Relu | Unary::Neg)) if left.ops > 0 && node.dtype == DType::F32 => {
            let left = OperandBudget { ops: left.ops - 1, ..left };
            let x = pull(graph, node.operands[0], access, axes, materialized, tape, left)?;
            tape.push(Instr { code: Code::Unary(*unary, x), dtype: DType::F32, level: Level::Full });
            Some(Reg(tape.len() as u32 - 1))
        }
        Op::Binary(binary)
            if left.ops > 0
                && node.dtype == DType::F32
                && !binary.is_costly()
                && access.guards.is_empty()
                && scales(graph, node.operands[1]) =>
        {
            let (left, scale) =
                (OperandBudget { ops: left.ops - 1, ..left }, OperandBudget { ops: 0, ..left });
            let a = pull(graph, node.operands[0], access, axes, materialized, tape, left)?;
            let b = pull(graph, node.operands[1], access, axes, materialized, tape, scale)?;
            tape.push(Instr { code: Code::Binary(*binary, a, b), dtype: DType::F32, level: Level::Full });
            Some(Reg(tape.len() as u32 - 1))
        }
        _ => None,
    }
}

/// Whether a node is a single number repeated.
fn scales(graph: &Graph, id: NodeId) -> bool {
    let mut at = id;
    while matches!(graph.node(at).op, Op::Reshape(_) | Op::Expand(_)) {
        at = graph.node(at).operands[0];
    }
    matches!(graph.node(at).op, Op::Constant(_) | Op::Parameter(_))
}

/// Nodes that the product `id` needs in memory and that are not materialized yet.
pub fn missing(graph: &Graph, id: NodeId, materialized: &[bool], users: &[usize]) -> Vec<NodeId> {
    let node = graph.node(id);
    let Op::Contract(contraction) = &node.op else { return vec![] };
    let Some(roles) = Roles::of(contraction) else { return vec![] };
    let mut needed = Vec::new();
    for source in sources(contraction, &roles, node) {
        let plain = source.operand(graph, materialized).is_some();
        if !plain || computes(graph, source.node, materialized) && users[source.node.index()] > 1 {
            needed.push(source.missing(graph, materialized, plain));
        }
    }
    needed
}

/// Whether an operand needs arithmetic before it can be read from memory.
fn computes(graph: &Graph, id: NodeId, materialized: &[bool]) -> bool {
    let mut at = id;
    while resident(graph, materialized, at).is_none() {
        let node = graph.node(at);
        if !node.op.is_movement() {
            return true;
        }
        at = node.operands[0];
    }
    false
}

/// What to materialize so that an operand becomes a view: the node below its movement ops if they fold into the
/// view, otherwise the operand itself.
fn source(graph: &Graph, id: NodeId, materialized: &[bool], foldable: bool) -> NodeId {
    let mut at = id;
    while graph.node(at).op.is_movement() && !matches!(graph.node(at).op, Op::Pad(_)) {
        at = graph.node(at).operands[0];
    }
    let free = resident(graph, materialized, at).is_some()
        || matches!(graph.node(at).op, Op::Constant(_) | Op::Parameter(_));
    if free || (!foldable && at != id && !folds(graph, id)) { id } else { at }
}

/// Whether a node is a mere reshape of the node below its movement ops, so that both share memory.
fn only_reshaped(graph: &Graph, id: NodeId) -> bool {
    !graph.node(unshaped(graph, id)).op.is_movement()
}

/// Whether the movement ops above a node fold into a product's view of it; assumes that the node is in memory.
fn folds(graph: &Graph, id: NodeId) -> bool {
    let shape = graph.shape(id);
    let (axes, mut access) = Access::identity(&shape);
    let mut at = id;
    while graph.node(at).op.is_movement() {
        if only_reshaped(graph, at) {
            return true;
        }
        let node = graph.node(at);
        let from = graph.shape(node.operands[0]);
        match access.through(&node.op, &from, &node.shape, &axes) {
            Ok(inner) => access = inner,
            Err(_) => return false,
        }
        at = node.operands[0];
    }
    true
}
