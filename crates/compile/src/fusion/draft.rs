//! A kernel under construction: a root node, pulled operand by operand into one tape.
//!
//! While drafting, a [`BufferId`](crate::program::BufferId) stands for the node with the same number. Pulling may find that the kernel's
//! axes must be split, that it reduces, or that some node has to be materialized first. Each of these is a
//! [`Trouble`], and the caller starts again with that knowledge.

use std::collections::{HashMap, HashSet};

use farad_ir::{Binary, Graph, Node, NodeId, Op, Shape};

use super::limits;
use crate::fusion::access::{Access, Affine, Obstacle, reshape};
use crate::program::{Code, Instr, Level, Reg, Site, View};

/// What a draft starts from.
#[derive(Clone, Debug)]
pub struct DraftStart {
    /// The kernel's axes: those of the space, then `appended` reduced ones.
    pub axes: Vec<usize>,
    /// How many trailing axes were added by a reduction at outer level.
    pub appended: usize,
    /// The contraction that the kernel computes first, if it is a product.
    pub product: Option<NodeId>,
    /// Materialized nodes that this kernel must load rather than compute.
    pub load: HashSet<NodeId>,
    /// The parts of the root, if the kernel writes it part by part.
    pub parts: Vec<DraftPart>,
}

/// One part of a node that is a concatenation of parts of equal shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DraftPart {
    /// The node that fills this part.
    pub node: NodeId,
    /// The axis of the concatenation.
    pub axis: usize,
    /// Where on that axis the part starts.
    pub offset: usize,
}

impl DraftPart {
    /// The parts of a sum of padded nodes of equal shape that together fill it, which is how a concatenation is
    /// written; empty for anything else.
    pub fn of(graph: &Graph, materialized: &[bool], root: NodeId) -> Vec<DraftPart> {
        // A copy of a concatenation has the same parts.
        let whole = match graph.node(root) {
            Node { op: Op::Barrier(_), operands, .. } if operands.len() == 1 => operands[0],
            _ => root,
        };
        let (mut parts, mut stack) = (Vec::new(), vec![whole]);
        while let Some(id) = stack.pop() {
            let node = graph.node(id);
            match &node.op {
                _ if id != whole && materialized[id.index()] => return vec![],
                Op::Binary(Binary::Add | Binary::Or | Binary::Join) if parts.len() < limits::MOST_PARTS => {
                    stack.extend(&node.operands)
                }
                Op::Pad(widths) => {
                    let mut padded = (0..widths.len()).filter(|&axis| widths[axis] != (0, 0));
                    let (Some(axis), None) = (padded.next(), padded.next()) else { return vec![] };
                    parts.push(DraftPart { node: node.operands[0], axis, offset: widths[axis].0 });
                }
                _ => return vec![],
            }
        }
        parts.sort_by_key(|part| part.offset);
        let Some(&DraftPart { node, axis, .. }) = parts.first() else { return vec![] };
        let shape = graph.shape(node);
        let fits = |(n, part): (usize, &DraftPart)| {
            graph.shape(part.node) == shape && part.axis == axis && part.offset == n * shape[axis]
        };
        let whole = parts.len() * shape[axis] == graph.shape(root)[axis];
        if whole && parts.iter().enumerate().all(fits) { parts } else { vec![] }
    }
}

/// Why a draft has to be started again.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// Split this axis so that its inner part has this size.
    Split { axis: usize, inner: usize },
    /// A reduction at outer level: append reduced axes of these sizes.
    Append(Vec<usize>),
    /// This node must be computed by its own kernel.
    Materialize(NodeId),
    /// This materialized node cannot be computed here; load it.
    Load(NodeId),
    /// Too many buffers or instructions.
    TooLarge,
    /// The kernel was drafted around a product, but it loads the contraction instead of computing it.
    NotMultiplied,
}

/// A value that the kernel writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The node.
    pub node: NodeId,
    /// Its value.
    pub value: Reg,
    /// Where it goes.
    pub view: View,
}

/// A drafted kernel, in which buffers are nodes.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The axes' sizes.
    pub axes: Vec<usize>,
    /// Which of them are reduced over, ascending.
    pub reduced: Vec<usize>,
    /// Instructions; buffers are nodes.
    pub tape: Vec<Instr>,
    /// What it writes.
    pub results: Vec<Written>,
    /// The contraction computed, if any.
    pub product: Option<NodeId>,
    /// Every node computed here.
    pub computed: HashSet<NodeId>,
    /// Ops that can fail on bad data.
    pub sites: Vec<Site>,
}

/// What drafting needs to know of the whole graph.
pub struct DraftContext<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Nodes that live in memory between kernels.
    pub materialized: &'a [bool],
    /// Materialized nodes that some kernel already computes.
    pub owned: &'a [bool],
    /// The last nodes of product kernels, with their contraction; no other kernel computes them.
    pub ends: &'a HashMap<NodeId, NodeId>,
    /// Materialized nodes that no other kernel may compute along the way.
    pub apart: &'a [bool],
    /// Whether other materialized nodes may be computed along the way.
    pub fuse: bool,
}

impl DraftStart {
    /// A kernel over the elements of `shape`.
    pub fn over(shape: &Shape) -> DraftStart {
        let (axes, _) = Access::identity(shape);
        DraftStart { axes, appended: 0, product: None, load: HashSet::new(), parts: Vec::new() }
    }

    /// A product kernel over the axes of a contraction's result.
    pub fn product(contraction: NodeId, shape: &Shape) -> DraftStart {
        DraftStart { axes: shape.to_vec(), product: Some(contraction), ..DraftStart::over(&Shape::scalar()) }
    }

    /// Applies a split, an append or a load; returns `false` for any other trouble.
    pub fn mend(&mut self, trouble: &Trouble) -> bool {
        match trouble {
            Trouble::Split { axis, inner } if self.product.is_none() => {
                let outer = self.axes[*axis] / inner;
                self.appended += (*axis >= self.axes.len() - self.appended) as usize;
                self.axes.splice(*axis..=*axis, [outer, *inner]);
                true
            }
            Trouble::Append(sizes) if self.appended == 0 && self.product.is_none() => {
                self.axes.extend(sizes.iter().filter(|&&size| size != 1));
                self.appended = sizes.iter().filter(|&&size| size != 1).count();
                true
            }
            Trouble::Load(node) => self.load.insert(*node),
            _ => false,
        }
    }

    /// The access to the elements of a node that has as many elements as the kernel's space.
    pub fn access(&self, shape: &Shape) -> Result<Access, Obstacle> {
        let kept = &self.axes[..self.axes.len() - self.appended];
        let axis = |a: usize| {
            if self.axes[a] == 1 { Affine::zero(self.axes.len()) } else { Affine::axis(self.axes.len(), a) }
        };
        let own: Vec<Affine> = (0..kept.len()).map(axis).collect();
        let coordinates = reshape(&own, shape, kept, &self.axes)?;
        Ok(Access { coordinates, guards: vec![] })
    }
}

impl Draft {
    /// Checks that every stored value covers all axes, or all axes that are not reduced.
    pub fn check(&self) -> Result<(), Trouble> {
        for result in &self.results[1..] {
            let used = |a: usize| result.view.strides[a] != 0 || self.axes[a] == 1;
            let full = (0..self.axes.len()).all(used);
            let outer = (0..self.axes.len()).all(|a| used(a) != self.reduced.contains(&a));
            if !full && (!outer || self.reduced.is_empty()) {
                return Err(Trouble::Load(result.node));
            }
        }
        Ok(())
    }

    /// Gives every instruction its level, and lifts values that are used at a level above their own.
    pub fn settle(&mut self) {
        let reads_reduced = |view: &View, reduced: &[usize]| {
            reduced
                .iter()
                .any(|&a| view.strides[a] != 0 || view.guards.iter().any(|g| g.coefficients[a] != 0))
        };
        if self.reduced.is_empty() {
            self.tape.iter_mut().for_each(|i| i.level = Level::Full);
            return;
        }
        for index in 0..self.tape.len() {
            let of = |reg: &Reg| self.tape[reg.0 as usize].level;
            let level = match &self.tape[index].code {
                Code::Constant(_) | Code::Parameter(_) | Code::Reduce(..) => Level::Outer,
                Code::Load(_, view) | Code::Position(view) if reads_reduced(view, &self.reduced) => {
                    Level::Full
                }
                Code::Load(..) | Code::Position(_) => Level::Outer,
                Code::Take { view, position, .. } if !reads_reduced(view, &self.reduced) => of(position),
                Code::Take { .. } => Level::Full,
                Code::Random(.., view) => {
                    if reads_reduced(view, &self.reduced) {
                        Level::Full
                    } else {
                        Level::Outer
                    }
                }
                Code::Unary(_, x) => of(x),
                // A cast to the type that the register already has is a lift.
                Code::Cast(x, to) if to.register() == self.tape[x.0 as usize].dtype && !to.is_narrow() => {
                    Level::Full
                }
                Code::Cast(x, _) => of(x),
                Code::Binary(_, a, b) => of(a).max(of(b)),
                Code::Select(c, a, b) => of(c).max(of(a)).max(of(b)),
                Code::Accumulator | Code::Carry(_) => Level::Full,
            };
            self.tape[index].level = level;
        }
    }

    /// Recomputes levels after a merge, and lifts stored values that are constant along some of the axes they
    /// are stored over.
    pub fn relevel(&mut self) {
        self.settle();
        for index in 0..self.results.len() {
            let Written { value, view, .. } = &self.results[index];
            let along = self.reduced.iter().any(|&a| view.strides[a] != 0);
            let instr = &self.tape[value.0 as usize];
            if along && instr.level == Level::Outer {
                let lifted =
                    Instr { code: Code::Cast(*value, instr.dtype), dtype: instr.dtype, level: Level::Full };
                self.tape.push(lifted);
                self.results[index].value = Reg(self.tape.len() as u32 - 1);
            }
        }
    }

    /// Drops instructions that no result needs.
    pub fn sweep(&mut self) {
        let mut needed = vec![false; self.tape.len()];
        self.results.iter().for_each(|r| needed[r.value.0 as usize] = true);
        for index in (0..self.tape.len()).rev().collect::<Vec<_>>() {
            if needed[index] {
                self.tape[index].code.operands().into_iter().for_each(|reg| needed[reg.0 as usize] = true);
            }
        }
        let mut map = vec![Reg(u32::MAX); self.tape.len()];
        let mut kept = Vec::with_capacity(self.tape.len());
        for (index, instr) in self.tape.iter().enumerate().filter(|(index, _)| needed[*index]) {
            map[index] = Reg(kept.len() as u32);
            let code = instr.code.renumbered(|reg| map[reg.0 as usize]);
            kept.push(Instr { code, ..instr.clone() });
        }
        self.tape = kept;
        self.results.iter_mut().for_each(|r| r.value = map[r.value.0 as usize]);
    }

    /// Whether the kernel uses the product that it was drafted around.
    pub fn multiplies(&self) -> bool {
        self.tape.iter().any(|instr| instr.code == Code::Accumulator)
    }

    /// How many nodes the kernel writes.
    pub fn written(&self) -> usize {
        self.results.iter().map(|result| result.node).collect::<HashSet<_>>().len()
    }

    /// The nodes that the kernel loads.
    pub fn loads(&self) -> HashSet<NodeId> {
        self.tape.iter().filter_map(|instr| instr.code.buffer()).map(|buffer| NodeId(buffer.0)).collect()
    }
}

/// The node below all reshapes: its elements lie in the same order.
pub fn unshaped(graph: &Graph, id: NodeId) -> NodeId {
    let mut at = id;
    while matches!(graph.node(at).op, Op::Reshape(_)) {
        at = graph.node(at).operands[0];
    }
    at
}

/// The resident node whose memory holds this node's elements contiguously and in order, and the offset of the
/// first of them.
pub fn within(graph: &Graph, materialized: &[bool], id: NodeId) -> Option<(NodeId, usize)> {
    let (mut at, mut offset) = (id, 0);
    loop {
        if let Some(base) = resident(graph, materialized, at) {
            return Some((base, offset));
        }
        let node = graph.node(at);
        let &operand = node.operands.first()?;
        match &node.op {
            Op::Reshape(_) => {}
            Op::Slice(spans) => {
                // A slice is contiguous if it takes all of every axis but the outermost.
                let shape = graph.shape(operand);
                let whole = |axis: usize| spans[axis].step == 1 && node.shape[axis] == shape[axis];
                let first = spans.first().filter(|first| first.step == 1 && (1..shape.rank()).all(whole))?;
                offset += first.start * shape.strides()[0];
            }
            _ => return None,
        }
        at = operand;
    }
}

/// The node whose memory holds `id`'s elements in row-major order and nothing else, if there is one.
pub fn resident(graph: &Graph, materialized: &[bool], id: NodeId) -> Option<NodeId> {
    let mut at = id;
    loop {
        let node = graph.node(at);
        match &node.op {
            Op::Input(_) => return Some(at),
            _ if materialized[at.index()] => return Some(at),
            Op::Reshape(_) | Op::Barrier(_) => at = node.operands[0],
            _ => return None,
        }
    }
}
