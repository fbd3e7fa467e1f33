//! A kernel in the making: a root node pulled, operand by operand, into one tape.
//!
//! While drafting, a [`BufferId`] stands for the node of the same number. Pulling may find that the
//! kernel's axes must be split, that it reduces, or that some node has to be materialised first:
//! each is a [`Trouble`], and the caller starts again with that known.

use std::collections::{HashMap, HashSet};

use farad_ir::{Binary, DType, Graph, NodeId, Op, Reduce, Scalar, Shape};

use crate::access::{Access, Affine, Obstacle, reshape};
use crate::program::{BufferId, Code, Guard, Instr, Level, Reg, Site, View};

/// What a draft starts from.
#[derive(Clone, Debug)]
pub struct Start {
    /// The kernel's axes: those of the space, then `appended` reduced ones.
    pub axes: Vec<usize>,
    /// How many trailing axes a reduction at outer level brought in.
    pub appended: usize,
    /// The contraction that the kernel computes first, if it is a product.
    pub product: Option<NodeId>,
    /// Materialised nodes that this kernel must load rather than compute.
    pub load: HashSet<NodeId>,
}

/// Why a draft has to be started again.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// Split this axis so that its inner part has this size.
    Split { axis: usize, inner: usize },
    /// A reduction at outer level: append reduced axes of these sizes.
    Append(Vec<usize>),
    /// This node must be computed by a kernel of its own.
    Materialise(NodeId),
    /// This materialised node cannot be computed here; load it.
    Load(NodeId),
    /// Too many buffers or instructions.
    TooLarge,
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

/// A kernel over nodes.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The axes' sizes.
    pub axes: Vec<usize>,
    /// Which of them are reduced over, ascending.
    pub reduced: Vec<usize>,
    /// Instructions; buffers are nodes.
    pub tape: Vec<Instr>,
    /// What is written.
    pub results: Vec<Written>,
    /// The contraction computed, if any.
    pub product: Option<NodeId>,
    /// Every node computed here.
    pub computed: HashSet<NodeId>,
    /// Ops that can meet bad data.
    pub sites: Vec<Site>,
}

/// What drafting needs to know of the whole graph.
pub struct Context<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Nodes that live in memory between kernels.
    pub materialised: &'a [bool],
    /// Materialised nodes that a kernel computes already.
    pub owned: &'a [bool],
    /// The last nodes of product kernels, with their contraction: computed there or not at all.
    pub ends: &'a HashMap<NodeId, NodeId>,
    /// Materialised nodes that no other kernel may compute along the way.
    pub apart: &'a [bool],
    /// Whether other materialised nodes may be computed along the way.
    pub fuse: bool,
}

const MOST_INSTRUCTIONS: usize = 256;

impl Start {
    /// A kernel over the elements of `shape`.
    pub fn over(shape: &Shape) -> Start {
        let (axes, _) = Access::identity(shape);
        Start { axes, appended: 0, product: None, load: HashSet::new() }
    }

    /// A product kernel over the axes of a contraction's result.
    pub fn product(contraction: NodeId, shape: &Shape) -> Start {
        Start { axes: shape.to_vec(), appended: 0, product: Some(contraction), load: HashSet::new() }
    }

    /// Applies a split, an append or a load; `false` if the trouble is of another kind.
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

    /// Access to the elements of a node with as many elements as the space.
    fn access(&self, shape: &Shape) -> Result<Access, Obstacle> {
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
    /// Pulls `root` into a kernel.
    pub fn of(root: NodeId, start: &Start, context: &Context) -> Result<Draft, Trouble> {
        let count = start.axes.len();
        let draft = Draft {
            axes: start.axes.clone(),
            reduced: (count - start.appended..count).collect(),
            tape: Vec::new(),
            results: Vec::new(),
            product: start.product,
            computed: HashSet::new(),
            sites: Vec::new(),
        };
        let mut pull = Pull { draft, start, context, memo: HashMap::new(), extra: Vec::new() };
        let shape = context.graph.shape(root);
        let access = start.access(&shape).map_err(|o| pull.obstacle(o, root))?;
        let value = pull.compute(root, &access)?;
        pull.store(root, value, &access);
        for (node, value, access) in std::mem::take(&mut pull.extra) {
            pull.store(node, value, &access);
        }
        let mut draft = pull.draft;
        draft.check()?;
        draft.settle();
        Ok(draft)
    }

    /// Every stored value must cover all axes, or all that are not reduced.
    fn check(&self) -> Result<(), Trouble> {
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
    fn settle(&mut self) {
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
                Code::Random(_, view) => {
                    if reads_reduced(view, &self.reduced) {
                        Level::Full
                    } else {
                        Level::Outer
                    }
                }
                Code::Unary(_, x) => of(x),
                // A cast to the type that the register has already was made to lift it.
                Code::Cast(x, to) if to.register() == self.tape[x.0 as usize].dtype && *to != DType::F16 => {
                    Level::Full
                }
                Code::Cast(x, _) => of(x),
                Code::Binary(_, a, b) => of(a).max(of(b)),
                Code::Select(c, a, b) => of(c).max(of(a)).max(of(b)),
                Code::Accumulator => Level::Full,
            };
            self.tape[index].level = level;
        }
    }

    /// Levels again after a merge: lifts stored values that do not vary along axes they are stored
    /// along.
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
                operands(&self.tape[index].code).into_iter().for_each(|reg| needed[reg.0 as usize] = true);
            }
        }
        let mut map = vec![Reg(u32::MAX); self.tape.len()];
        let mut kept = Vec::with_capacity(self.tape.len());
        for (index, instr) in self.tape.iter().enumerate().filter(|(index, _)| needed[*index]) {
            map[index] = Reg(kept.len() as u32);
            kept.push(Instr { code: crate::merge::renumber(&instr.code, &map), ..instr.clone() });
        }
        self.tape = kept;
        self.results.iter_mut().for_each(|r| r.value = map[r.value.0 as usize]);
    }

    /// The nodes that the kernel loads.
    pub fn loads(&self) -> HashSet<NodeId> {
        self.tape
            .iter()
            .filter_map(|i| match &i.code {
                Code::Load(buffer, _) | Code::Take { buffer, .. } => Some(NodeId(buffer.0)),
                _ => None,
            })
            .collect()
    }
}

/// The registers that an instruction reads.
pub fn operands(code: &Code) -> Vec<Reg> {
    match code {
        Code::Unary(_, x) | Code::Cast(x, _) | Code::Reduce(_, x) => vec![*x],
        Code::Binary(_, a, b) => vec![*a, *b],
        Code::Select(c, a, b) => vec![*c, *a, *b],
        Code::Random(key, _) => key.to_vec(),
        Code::Take { position, .. } => vec![*position],
        Code::Constant(_) | Code::Parameter(_) | Code::Load(..) | Code::Position(_) | Code::Accumulator => {
            vec![]
        }
    }
}

/// The node whose memory holds `id`'s elements in row-major order, if there is one.
pub fn resident(graph: &Graph, materialised: &[bool], id: NodeId) -> Option<NodeId> {
    let node = graph.node(id);
    match &node.op {
        Op::Input(_) => Some(id),
        _ if materialised[id.index()] => Some(id),
        Op::Reshape(_) => resident(graph, materialised, node.operands[0]),
        Op::Barrier(_) => resident(graph, materialised, node.operands[0]),
        _ => None,
    }
}

struct Pull<'a> {
    draft: Draft,
    start: &'a Start,
    context: &'a Context<'a>,
    memo: HashMap<(NodeId, Access), Reg>,
    /// Materialised nodes computed along the way.
    extra: Vec<(NodeId, Reg, Access)>,
}

impl Pull<'_> {
    fn obstacle(&self, obstacle: Obstacle, node: NodeId) -> Trouble {
        match obstacle {
            Obstacle::Split { axis, inner } if self.start.product.is_none() => Trouble::Split { axis, inner },
            _ => Trouble::Materialise(node),
        }
    }

    fn emit(&mut self, code: Code, dtype: DType) -> Result<Reg, Trouble> {
        if self.draft.tape.len() >= MOST_INSTRUCTIONS {
            return Err(Trouble::TooLarge);
        }
        self.draft.tape.push(Instr { code, dtype: dtype.register(), level: Level::Full });
        Ok(Reg(self.draft.tape.len() as u32 - 1))
    }

    fn view(&self, access: &Access, shape: &Shape) -> View {
        access.view(shape, self.draft.axes.len())
    }

    fn store(&mut self, node: NodeId, value: Reg, access: &Access) {
        let view = self.view(access, &self.context.graph.shape(node));
        let touches = self.draft.reduced.iter().any(|&a| view.strides[a] != 0);
        // A value that does not change along reduced axes, stored along them: lift it.
        let value = if touches { self.lift(value) } else { value };
        self.draft.results.push(Written { node, value, view });
    }

    fn lift(&mut self, value: Reg) -> Reg {
        let dtype = self.draft.tape[value.0 as usize].dtype;
        let varies = self.varies(value);
        if varies {
            return value;
        }
        self.draft.tape.push(Instr { code: Code::Cast(value, dtype), dtype, level: Level::Full });
        Reg(self.draft.tape.len() as u32 - 1)
    }

    /// Whether a register changes along the reduced axes.
    fn varies(&self, reg: Reg) -> bool {
        let on = |view: &View| {
            self.draft
                .reduced
                .iter()
                .any(|&a| view.strides[a] != 0 || view.guards.iter().any(|g| g.coefficients[a] != 0))
        };
        match &self.draft.tape[reg.0 as usize].code {
            Code::Constant(_) | Code::Parameter(_) | Code::Reduce(..) => false,
            Code::Load(_, view) | Code::Position(view) | Code::Random(_, view) => on(view),
            Code::Take { view, position, .. } => on(view) || self.varies(*position),
            Code::Unary(_, x) => self.varies(*x),
            Code::Cast(x, to) => {
                self.varies(*x) || (to.register() == self.draft.tape[x.0 as usize].dtype && *to != DType::F16)
            }
            Code::Binary(_, a, b) => self.varies(*a) || self.varies(*b),
            Code::Select(c, a, b) => self.varies(*c) || self.varies(*a) || self.varies(*b),
            Code::Accumulator => true,
        }
    }

    /// The register that holds `id` at `access`: loaded, or computed here.
    fn value(&mut self, id: NodeId, access: &Access) -> Result<Reg, Trouble> {
        if let Some(&reg) = self.memo.get(&(id, access.clone())) {
            return Ok(reg);
        }
        let graph = self.context.graph;
        if let Some(base) = resident(graph, self.context.materialised, id) {
            if base == id && self.may_compute(id, access) {
                let reg = self.compute(id, access)?;
                self.extra.push((id, reg, access.clone()));
                return Ok(reg);
            }
            let view = self.view(access, &graph.shape(id));
            let reg = self.emit(Code::Load(BufferId(base.0), view), graph.dtype(id))?;
            self.memo.insert((id, access.clone()), reg);
            return Ok(reg);
        }
        self.compute(id, access)
    }

    /// Whether a materialised node can as well be computed and stored by this kernel.
    fn may_compute(&self, id: NodeId, access: &Access) -> bool {
        let node = self.context.graph.node(id);
        let kind =
            node.op.is_pointwise() || matches!(node.op, Op::Reduce(..)) || self.start.product == Some(id);
        let twice = self.extra.iter().any(|(other, ..)| *other == id);
        let view = self.view(access, &node.shape);
        let elsewhere = self.context.ends.get(&id).is_some_and(|c| self.start.product != Some(*c));
        self.context.fuse
            && kind
            && !elsewhere
            && !twice
            && !self.context.owned[id.index()]
            && !self.context.apart[id.index()]
            && !self.start.load.contains(&id)
            && covers(&view, &self.draft.axes, node.shape.numel())
    }

    fn compute(&mut self, id: NodeId, access: &Access) -> Result<Reg, Trouble> {
        let graph = self.context.graph;
        let node = graph.node(id);
        let x = node.operands.first().copied();
        let reg = match &node.op {
            Op::Parameter(n) => self.emit(Code::Parameter(*n), node.dtype)?,
            Op::Constant(scalar) => self.emit(Code::Constant(*scalar), node.dtype)?,
            Op::Iota(_) => {
                let view = View { guards: vec![], ..self.view(access, &node.shape) };
                self.emit(Code::Position(view), DType::I32)?
            }
            Op::Random(_) => {
                let scalar = Access { coordinates: vec![], guards: vec![] };
                let mut key = [Reg(0); 4];
                for (slot, &operand) in key.iter_mut().zip(&node.operands) {
                    *slot = self.value(operand, &scalar)?;
                }
                let view = View { guards: vec![], ..self.view(access, &node.shape) };
                self.emit(Code::Random(key, view), DType::U32)?
            }
            op if op.is_pointwise() || matches!(op, Op::Barrier(_)) => {
                self.pointwise(op, &node.operands, node.dtype, access)?
            }
            op if op.is_movement() => self.movement(id, op, x.expect("a movement has an operand"), access)?,
            Op::Reduce(reduce, axes) => self.reduce(id, *reduce, axes, access)?,
            Op::Gather(axis) => self.take(id, *axis, access)?,
            Op::Contract(_) if self.start.product == Some(id) => {
                let view = self.view(access, &node.shape);
                if !view.is_contiguous(&self.draft.axes) {
                    return Err(Trouble::Materialise(id));
                }
                self.emit(Code::Accumulator, DType::F32)?
            }
            Op::Contract(_) if self.context.materialised[id.index()] => self.direct(id, access)?,
            _ => return Err(Trouble::Materialise(id)),
        };
        self.draft.computed.insert(id);
        self.memo.insert((id, access.clone()), reg);
        Ok(reg)
    }

    fn pointwise(
        &mut self,
        op: &Op,
        operands: &[NodeId],
        dtype: DType,
        access: &Access,
    ) -> Result<Reg, Trouble> {
        let mut regs = Vec::with_capacity(operands.len());
        let count = if matches!(op, Op::Barrier(_)) { 1 } else { operands.len() };
        for &operand in &operands[..count] {
            regs.push(self.value(operand, access)?);
        }
        let code = match op {
            Op::Unary(unary) => Code::Unary(*unary, regs[0]),
            Op::Binary(binary) => Code::Binary(*binary, regs[0], regs[1]),
            Op::Select => Code::Select(regs[0], regs[1], regs[2]),
            // A cast that only changes how values are stored computes nothing; rounding to f16 does.
            Op::Cast(to)
                if to.register() == self.draft.tape[regs[0].0 as usize].dtype && *to != DType::F16 =>
            {
                return Ok(regs[0]);
            }
            Op::Cast(to) => Code::Cast(regs[0], *to),
            _ => return Ok(regs[0]),
        };
        let reg = self.emit(code, dtype)?;
        // f16 arithmetic happens in f32 and is rounded as if it had been stored.
        let rounds = dtype == DType::F16 && !matches!(op, Op::Cast(_) | Op::Select);
        if rounds { self.emit(Code::Cast(reg, DType::F16), dtype) } else { Ok(reg) }
    }

    fn movement(&mut self, id: NodeId, op: &Op, x: NodeId, access: &Access) -> Result<Reg, Trouble> {
        let graph = self.context.graph;
        let (from, to) = (graph.shape(x), graph.shape(id));
        let inner = match access.through(op, &from, &to, &self.draft.axes) {
            Ok(inner) => inner,
            Err(obstacle) => {
                // Elements in memory lie in row-major order, whatever the shape.
                let base =
                    resident(graph, self.context.materialised, x).filter(|_| matches!(op, Op::Reshape(_)));
                let Some(base) = base else { return Err(self.obstacle(obstacle, x)) };
                let view = self.view(access, &to);
                return self.emit(Code::Load(BufferId(base.0), view), graph.dtype(id));
            }
        };
        let reg = self.value(x, &inner)?;
        // Outside a pad the value is zero; a plain load knows that from its guards.
        let loaded = matches!(self.draft.tape[reg.0 as usize].code, Code::Load(..));
        if !matches!(op, Op::Pad(_)) || loaded {
            return Ok(reg);
        }
        let dtype = graph.dtype(id);
        let zero = self.emit(Code::Constant(Scalar::of(dtype.register(), 0.0)), dtype)?;
        let mut inside = None;
        for guard in &inner.guards[access.guards.len()..] {
            let holds = self.holds(guard)?;
            inside = Some(match inside {
                Some(earlier) => self.emit(Code::Binary(Binary::And, earlier, holds), DType::Bool)?,
                None => holds,
            });
        }
        match inside {
            Some(inside) => self.emit(Code::Select(inside, reg, zero), dtype),
            None => Ok(reg),
        }
    }

    /// Whether a guard (with divisor 1) holds, as a truth value.
    fn holds(&mut self, guard: &Guard) -> Result<Reg, Trouble> {
        let view = View { offset: guard.offset, strides: guard.coefficients.clone(), guards: vec![] };
        let position = self.emit(Code::Position(view), DType::I32)?;
        let zero = self.emit(Code::Constant(Scalar::int(DType::I32, 0)), DType::I32)?;
        let size = self.emit(Code::Constant(Scalar::int(DType::I32, guard.size)), DType::I32)?;
        let low = self.emit(Code::Binary(Binary::GreaterEqual, position, zero), DType::Bool)?;
        let high = self.emit(Code::Binary(Binary::Less, position, size), DType::Bool)?;
        self.emit(Code::Binary(Binary::And, low, high), DType::Bool)
    }

    /// Coordinates along the reduced kernel axes for an operand's reduced axes of these sizes; sets
    /// the kernel's reduced axes if it has none yet.
    fn reduced_coordinates(
        &mut self,
        id: NodeId,
        access: &Access,
        sizes: &[usize],
    ) -> Result<Vec<Affine>, Trouble> {
        if !access.guards.is_empty() || self.start.product.is_some() {
            return Err(Trouble::Materialise(id));
        }
        let count = self.draft.axes.len();
        let used = |a: usize| access.coordinates.iter().any(|form| form.coefficients[a] != 0);
        let free: Vec<usize> = (0..count).filter(|&a| !used(a) && self.draft.axes[a] != 1).collect();
        let length: usize = sizes.iter().product();
        if self.draft.reduced.is_empty() {
            if free.is_empty() {
                return Err(Trouble::Append(sizes.to_vec()));
            }
            let span: usize = free.iter().map(|&a| self.draft.axes[a]).product();
            if span != length {
                return Err(Trouble::Materialise(id));
            }
            self.draft.reduced = free.clone();
        }
        if free != self.draft.reduced {
            return Err(Trouble::Materialise(id));
        }
        let own: Vec<Affine> = free.iter().map(|&a| Affine::axis(count, a)).collect();
        let extents: Vec<usize> = free.iter().map(|&a| self.draft.axes[a]).collect();
        if extents.iter().product::<usize>() != length {
            return Err(Trouble::Materialise(id));
        }
        reshape(&own, sizes, &extents, &self.draft.axes).map_err(|o| self.obstacle(o, id))
    }

    fn reduce(
        &mut self,
        id: NodeId,
        reduce: Reduce,
        axes: &[usize],
        access: &Access,
    ) -> Result<Reg, Trouble> {
        let graph = self.context.graph;
        let x = graph.node(id).operands[0];
        let shape = graph.shape(x);
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        let sizes: Vec<usize> = sorted.iter().map(|&a| shape[a]).collect();
        if sizes.iter().all(|&s| s == 1) {
            // One element is its own extreme, at position 0.
            return self.emit(Code::Constant(Scalar::int(DType::I32, 0)), DType::I32);
        }
        let own = self.reduced_coordinates(id, access, &sizes)?;
        let mut kept = access.coordinates.iter();
        let mut reduced = own.into_iter();
        let coordinates = (0..shape.rank())
            .map(|a| if axes.contains(&a) { reduced.next() } else { kept.next().cloned() })
            .map(|form| form.expect("one form an axis"))
            .collect();
        let value = self.value(x, &Access { coordinates, guards: vec![] })?;
        let value = self.lift(value);
        let reg = self.emit(Code::Reduce(reduce, value), graph.dtype(id))?;
        if graph.dtype(id) == DType::F16 {
            self.emit(Code::Cast(reg, DType::F16), DType::F16)
        } else {
            Ok(reg)
        }
    }

    /// A contraction whose maps are no matrix product: a sum of products over guarded loads.
    fn direct(&mut self, id: NodeId, access: &Access) -> Result<Reg, Trouble> {
        let graph = self.context.graph;
        let node = graph.node(id);
        let Op::Contract(contraction) = &node.op else { unreachable!("checked by the caller") };
        let reduced = contraction.reduced();
        let sizes: Vec<usize> = reduced.iter().map(|&a| contraction.sizes[a]).collect();
        let count = self.draft.axes.len();
        let long: usize = sizes.iter().product();
        let own = match long {
            1 => vec![Affine::zero(count); sizes.len()],
            _ => self.reduced_coordinates(id, access, &sizes)?,
        };
        let mut place = vec![Affine::zero(count); contraction.sizes.len()];
        contraction.out.iter().zip(&access.coordinates).for_each(|(&axis, form)| place[axis] = form.clone());
        reduced.iter().zip(own).for_each(|(&axis, form)| place[axis] = form);
        let mut regs = [Reg(0); 2];
        for (n, maps) in [&contraction.lhs, &contraction.rhs].into_iter().enumerate() {
            let operand = node.operands[n];
            let Some(base) = resident(graph, self.context.materialised, operand) else {
                return Err(Trouble::Materialise(operand));
            };
            let shape = graph.shape(operand);
            let view = mapped_view(maps, &place, &shape, count);
            regs[n] = self.emit(Code::Load(BufferId(base.0), view), node.dtype)?;
        }
        let product = self.emit(Code::Binary(Binary::Mul, regs[0], regs[1]), DType::F32)?;
        if long == 1 {
            return Ok(product);
        }
        let product = self.lift(product);
        self.emit(Code::Reduce(Reduce::Sum, product), DType::F32)
    }

    fn take(&mut self, id: NodeId, axis: usize, access: &Access) -> Result<Reg, Trouble> {
        let graph = self.context.graph;
        let node = graph.node(id);
        let (x, index) = (node.operands[0], node.operands[1]);
        let (shape, at) = (graph.shape(x), graph.shape(index));
        let Some(base) =
            resident(graph, self.context.materialised, x).filter(|_| self.start.product.is_none())
        else {
            return Err(Trouble::Materialise(if self.start.product.is_some() { id } else { x }));
        };
        let zero = Affine::zero(self.draft.axes.len());
        let coordinates = (0..at.rank())
            .map(|a| if at[a] == 1 { zero.clone() } else { access.coordinates[a].clone() })
            .collect();
        let position = self.value(index, &Access { coordinates, guards: access.guards.clone() })?;
        let mut rest = access.clone();
        rest.coordinates[axis] = zero;
        let view = self.view(&rest, &shape);
        let site = self.draft.sites.len();
        self.draft.sites.push(Site { op: "gather".into(), location: node.location, size: shape[axis] });
        let stride = shape.strides()[axis] as i64;
        let code = Code::Take { buffer: BufferId(base.0), view, position, stride, size: shape[axis], site };
        self.emit(code, node.dtype)
    }
}

/// The view of an operand read through index maps, given the place of every contraction axis.
fn mapped_view(maps: &[farad_ir::IndexMap], place: &[Affine], shape: &Shape, count: usize) -> View {
    let mut view = View { offset: 0, strides: vec![0; count], guards: vec![] };
    for (dim, map) in maps.iter().enumerate() {
        let stride = shape.strides()[dim] as i64;
        let mut form = Affine { offset: map.offset, ..Affine::zero(count) };
        for &(axis, factor) in &map.terms {
            form.offset += factor * place[axis].offset;
            form.coefficients.iter_mut().zip(&place[axis].coefficients).for_each(|(c, p)| *c += factor * p);
        }
        if map.divisor == 1 {
            view.offset += stride * form.offset;
            view.strides.iter_mut().zip(&form.coefficients).for_each(|(s, c)| *s += stride * c);
        }
        if map.plain().is_none() {
            view.guards.push(Guard {
                coefficients: form.coefficients,
                offset: form.offset,
                divisor: map.divisor,
                size: shape[dim] as i64,
                stride: if map.divisor == 1 { 0 } else { stride },
            });
        }
    }
    view
}

/// Whether a view runs exactly once over `numel` elements in row-major order of some of the axes.
pub fn covers(view: &View, axes: &[usize], numel: usize) -> bool {
    let mut used: Vec<(i64, usize)> =
        view.strides.iter().copied().zip(axes.iter().copied()).filter(|(s, n)| *s != 0 && *n != 1).collect();
    used.sort_unstable();
    let mut stride = 1;
    view.offset == 0
        && view.guards.is_empty()
        && used.iter().all(|&(s, n)| {
            let fits = s == stride;
            stride *= n as i64;
            fits
        })
        && stride as usize == numel
}
