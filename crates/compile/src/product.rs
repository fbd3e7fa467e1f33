//! Contractions that are matrix products, and the product kernel's operands.

use farad_ir::{Contraction, DType, Graph, NodeId, Op, Unary};

use crate::access::{Access, Affine};
use crate::draft::resident;
use crate::program::{BufferId, Code, Instr, Level, Operand, Reg};

/// Which contraction axes are batch, rows, columns and inner, where each of the last three is at
/// most one axis and the result is laid out `[batch.., rows, columns]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape3 {
    /// Batch axes, as contraction axes.
    pub batch: Vec<usize>,
    /// The row axis.
    pub rows: Option<usize>,
    /// The column axis.
    pub columns: Option<usize>,
    /// The axis summed over.
    pub inner: Option<usize>,
    /// Whether the contraction's right operand has the rows.
    pub swapped: bool,
}

impl Shape3 {
    /// The roles of the axes; `None` if the contraction is no matrix product.
    pub fn of(contraction: &Contraction) -> Option<Shape3> {
        let axes =
            |maps: &[farad_ir::IndexMap]| maps.iter().map(|m| m.plain()).collect::<Option<Vec<usize>>>();
        let (lhs, rhs) = (axes(&contraction.lhs)?, axes(&contraction.rhs)?);
        let unique = |list: &[usize]| list.iter().enumerate().all(|(i, a)| !list[..i].contains(a));
        if !unique(&lhs) || !unique(&rhs) {
            return None;
        }
        let mut roles = Shape3 { batch: vec![], rows: None, columns: None, inner: None, swapped: false };
        let mut free = Vec::new();
        for &axis in &contraction.out {
            match (lhs.contains(&axis), rhs.contains(&axis)) {
                (true, true) if free.is_empty() => roles.batch.push(axis),
                (true, false) | (false, true) => free.push(axis),
                _ => return None,
            }
        }
        let inner = contraction.reduced();
        if free.len() != 2 || inner.len() != 1 || inner.iter().any(|a| !lhs.contains(a) || !rhs.contains(a)) {
            return None;
        }
        if lhs.contains(&free[0]) == lhs.contains(&free[1]) {
            return None;
        }
        roles.swapped = !lhs.contains(&free[0]);
        (roles.rows, roles.columns, roles.inner) = (Some(free[0]), Some(free[1]), Some(inner[0]));
        Some(roles)
    }
}

/// Pointwise ops that an operand may go through on its way into the product.
const MOST_PROLOGUE: usize = 3;

/// The operand over axes `[batch.., first, second]` (contraction axes), or `None` if it has to be
/// materialised.
pub fn operand(
    graph: &Graph,
    contraction: &Contraction,
    maps: &[farad_ir::IndexMap],
    order: &[usize],
    node: NodeId,
    materialised: &[bool],
) -> Option<Operand> {
    let sizes: Vec<usize> = order.iter().map(|&a| contraction.sizes[a]).collect();
    let coordinates = maps
        .iter()
        .map(|m| {
            let axis = m.plain().expect("checked by Shape3::of");
            let place = order.iter().position(|&a| a == axis).expect("an operand's axes are its own");
            if sizes[place] == 1 { Affine::zero(order.len()) } else { Affine::axis(order.len(), place) }
        })
        .collect();
    let mut tape = Vec::new();
    let access = Access { coordinates, guards: vec![] };
    let value = pull(graph, node, &access, &sizes, materialised, &mut tape, MOST_PROLOGUE)?;
    Some(Operand { tape, value })
}

fn pull(
    graph: &Graph,
    id: NodeId,
    access: &Access,
    axes: &[usize],
    materialised: &[bool],
    tape: &mut Vec<Instr>,
    ops: usize,
) -> Option<Reg> {
    let node = graph.node(id);
    let mut emit = |code: Code, dtype: DType| {
        tape.push(Instr { code, dtype: dtype.register(), level: Level::Full });
        Some(Reg(tape.len() as u32 - 1))
    };
    if let Some(base) = resident(graph, materialised, id) {
        return emit(Code::Load(BufferId(base.0), access.view(&node.shape, axes.len())), node.dtype);
    }
    match &node.op {
        Op::Constant(scalar) => emit(Code::Constant(*scalar), node.dtype),
        Op::Parameter(n) => emit(Code::Parameter(*n), node.dtype),
        // A guarded load is slower than a copy is dear.
        op if op.is_movement() && !matches!(op, Op::Pad(_)) => {
            let inner = access.through(op, &graph.shape(node.operands[0]), &node.shape, axes).ok()?;
            pull(graph, node.operands[0], &inner, axes, materialised, tape, ops)
        }
        Op::Cast(to) if node.dtype.is_float() && graph.dtype(node.operands[0]).is_float() => {
            let x = pull(graph, node.operands[0], access, axes, materialised, tape, ops)?;
            if to.is_half() {
                tape.push(Instr { code: Code::Cast(x, *to), dtype: DType::F32, level: Level::Full });
                return Some(Reg(tape.len() as u32 - 1));
            }
            Some(x)
        }
        Op::Unary(unary @ (Unary::Relu | Unary::Neg)) if ops > 0 && node.dtype == DType::F32 => {
            let x = pull(graph, node.operands[0], access, axes, materialised, tape, ops - 1)?;
            tape.push(Instr { code: Code::Unary(*unary, x), dtype: DType::F32, level: Level::Full });
            Some(Reg(tape.len() as u32 - 1))
        }
        Op::Binary(binary)
            if ops > 0
                && node.dtype == DType::F32
                && !binary.is_costly()
                && scales(graph, node.operands[1]) =>
        {
            let a = pull(graph, node.operands[0], access, axes, materialised, tape, ops - 1)?;
            let b = pull(graph, node.operands[1], access, axes, materialised, tape, 0)?;
            tape.push(Instr { code: Code::Binary(*binary, a, b), dtype: DType::F32, level: Level::Full });
            Some(Reg(tape.len() as u32 - 1))
        }
        _ => None,
    }
}

/// Whether a node is one number repeated.
fn scales(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    match &node.op {
        Op::Constant(_) | Op::Parameter(_) => true,
        Op::Reshape(_) | Op::Expand(_) => scales(graph, node.operands[0]),
        _ => false,
    }
}

/// Nodes that the product of `id` needs in memory and that are not there yet.
pub fn missing(graph: &Graph, id: NodeId, materialised: &[bool], users: &[usize]) -> Vec<NodeId> {
    let node = graph.node(id);
    let Op::Contract(contraction) = &node.op else { return vec![] };
    let Some(roles) = Shape3::of(contraction) else { return vec![] };
    let (left, right) = orders(&roles);
    let (lhs, rhs) = if roles.swapped { (right, left) } else { (left, right) };
    let mut needed = Vec::new();
    for (n, (maps, order)) in [(&contraction.lhs, lhs), (&contraction.rhs, rhs)].into_iter().enumerate() {
        let x = node.operands[n];
        let plain = operand(graph, contraction, maps, &order, x, materialised).is_some();
        if !plain || computes(graph, x, materialised) && users[x.index()] > 1 {
            needed.push(source(graph, x, materialised, plain));
        }
    }
    needed
}

/// The contraction axes of the left operand and of the right, in kernel order.
pub fn orders(roles: &Shape3) -> (Vec<usize>, Vec<usize>) {
    let with =
        |last: [Option<usize>; 2]| roles.batch.iter().copied().chain(last.into_iter().flatten()).collect();
    (with([roles.rows, roles.inner]), with([roles.inner, roles.columns]))
}

/// Whether an operand does arithmetic before it reaches memory.
fn computes(graph: &Graph, id: NodeId, materialised: &[bool]) -> bool {
    if resident(graph, materialised, id).is_some() {
        return false;
    }
    let node = graph.node(id);
    !node.op.is_movement() || computes(graph, node.operands[0], materialised)
}

/// What to materialise so that an operand becomes a view: below its movements if they can be
/// folded into the view, else the operand itself.
fn source(graph: &Graph, id: NodeId, materialised: &[bool], foldable: bool) -> NodeId {
    let mut at = id;
    while graph.node(at).op.is_movement() && !matches!(graph.node(at).op, Op::Pad(_)) {
        at = graph.node(at).operands[0];
    }
    let free = resident(graph, materialised, at).is_some()
        || matches!(graph.node(at).op, Op::Constant(_) | Op::Parameter(_));
    if free || (!foldable && at != id && !folds(graph, id)) { id } else { at }
}

/// Whether the movements above a node can be a view of it in a product: checked with the node taken
/// as resident.
fn folds(graph: &Graph, id: NodeId) -> bool {
    let shape = graph.shape(id);
    let (axes, mut access) = Access::identity(&shape);
    let mut at = id;
    while graph.node(at).op.is_movement() {
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
