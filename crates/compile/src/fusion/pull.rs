//! Drafts a kernel from its root towards its loads, operand by operand.
//!
//! An access says which element of a node is needed; movement ops change the access, pointwise ops pass it on,
//! reductions add the reduced axes to it. If a node cannot be pulled, the result is a [`Trouble`].

use std::collections::{HashMap, HashSet};

use farad_ir::{Binary, DType, NodeId, Op, Reduce, Scalar, Shape, Unary};

use super::limits;
use crate::fusion::access::{Access, Affine, Obstacle, mapped_view, reshape};
use crate::fusion::draft::{Draft, DraftContext, DraftStart, Trouble, Written, resident, unshaped, within};
use crate::program::{BufferId, Code, Guard, Instr, Level, Reg, Site, View};

impl Draft {
    /// Pulls `root` into a kernel.
    pub fn of(root: NodeId, start: &DraftStart, context: &DraftContext) -> Result<Draft, Trouble> {
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
        if start.parts.is_empty() {
            pull.root(root)?;
        } else {
            pull.parts(root)?;
        }
        pull.draft.computed.insert(root);
        for Passed { node, value, access } in std::mem::take(&mut pull.extra) {
            let view = pull.view(&access, &context.graph.shape(node));
            pull.store(node, value, view);
        }
        let mut draft = pull.draft;
        draft.check()?;
        draft.settle();
        Ok(draft)
    }
}

struct Pull<'a> {
    draft: Draft,
    start: &'a DraftStart,
    context: &'a DraftContext<'a>,
    memo: HashMap<(NodeId, Access), Reg>,
    /// Materialized nodes computed along the way.
    extra: Vec<Passed>,
}

/// A materialized node that a kernel computes and stores along the way.
struct Passed {
    node: NodeId,
    value: Reg,
    /// The access at which it was needed.
    access: Access,
}

impl Pull<'_> {
    fn root(&mut self, root: NodeId) -> Result<(), Trouble> {
        // A reshape at the root changes nothing about where elements go.
        let below = unshaped(self.context.graph, root);
        let shape = self.context.graph.shape(below);
        let access = self.start.access(&shape).map_err(|o| self.obstacle(o, root))?;
        let value = if below == root { self.compute(root, &access)? } else { self.value(below, &access)? };
        let view = self.view(&access, &shape);
        self.store(root, value, view);
        Ok(())
    }

    /// Pulls the root part by part, all parts at the same relative position.
    fn parts(&mut self, root: NodeId) -> Result<(), Trouble> {
        let (graph, start) = (self.context.graph, self.start);
        let mut values = Vec::new();
        for part in &start.parts {
            let mut access = start.access(&graph.shape(part.node)).map_err(|o| self.obstacle(o, root))?;
            let value = self.value(part.node, &access)?;
            access.coordinates[part.axis].offset += part.offset as i64;
            values.push((value, self.view(&access, &graph.shape(root))));
        }
        values.into_iter().for_each(|(value, view)| self.store(root, value, view));
        Ok(())
    }

    fn obstacle(&self, obstacle: Obstacle, node: NodeId) -> Trouble {
        match obstacle {
            Obstacle::Split { axis, inner }
                if self.start.product.is_none() && self.draft.axes.len() < limits::MOST_AXES =>
            {
                Trouble::Split { axis, inner }
            }
            _ => Trouble::Materialize(node),
        }
    }

    fn emit(&mut self, code: Code, dtype: DType) -> Result<Reg, Trouble> {
        if self.draft.tape.len() >= limits::MOST_INSTRUCTIONS {
            return Err(Trouble::TooLarge);
        }
        self.draft.tape.push(Instr { code, dtype: dtype.register(), level: Level::Full });
        Ok(Reg(self.draft.tape.len() as u32 - 1))
    }

    fn view(&self, access: &Access, shape: &Shape) -> View {
        access.view(shape, self.draft.axes.len())
    }

    fn store(&mut self, node: NodeId, value: Reg, view: View) {
        let touches = self.draft.reduced.iter().any(|&a| view.strides[a] != 0);
        // The value is constant along the reduced axes but stored along them: lift it.
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

    /// Whether a register varies along the reduced axes, judged by the levels of the tape so far; operands come
    /// before their users.
    fn varies(&mut self, reg: Reg) -> bool {
        self.draft.settle();
        self.draft.tape[reg.0 as usize].level == Level::Full
    }

    /// The register that holds `id` at `access`: loaded, or computed here.
    fn value(&mut self, id: NodeId, access: &Access) -> Result<Reg, Trouble> {
        if let Some(&reg) = self.memo.get(&(id, access.clone())) {
            return Ok(reg);
        }
        let graph = self.context.graph;
        if let Some(base) = resident(graph, self.context.materialized, id) {
            if base == id && self.may_compute(id, access) {
                let reg = self.compute(id, access)?;
                self.extra.push(Passed { node: id, value: reg, access: access.clone() });
                return Ok(reg);
            }
            let view = self.view(access, &graph.shape(id));
            let reg = self.emit(Code::Load(BufferId(base.0), view), graph.dtype(id))?;
            self.memo.insert((id, access.clone()), reg);
            return Ok(reg);
        }
        self.compute(id, access)
    }

    /// Whether this kernel can also compute and store a materialized node.
    fn may_compute(&self, id: NodeId, access: &Access) -> bool {
        let node = self.context.graph.node(id);
        let kept = matches!(node.op, Op::Barrier(_)) && node.operands.len() == 1;
        let kind = kept
            || node.op.is_pointwise()
            || matches!(node.op, Op::Reduce(..))
            || self.start.product == Some(id);
        let twice = self.extra.iter().any(|passed| passed.node == id);
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
                let stream = node.operands.get(4).map(|&stream| self.value(stream, &scalar)).transpose()?;
                let view = View { guards: vec![], ..self.view(access, &node.shape) };
                self.emit(Code::Random(key, stream, view), DType::U32)?
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
                    return Err(Trouble::Materialize(id));
                }
                self.emit(Code::Accumulator, node.dtype)?
            }
            Op::Contract(_) if self.context.materialized[id.index()] => self.direct(id, access)?,
            _ => return Err(Trouble::Materialize(id)),
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
            // A cast that only changes the storage type computes nothing; a cast to a narrow dtype rounds or
            // wraps.
            Op::Cast(to) if to.register() == self.draft.tape[regs[0].0 as usize].dtype && !to.is_narrow() => {
                return Ok(regs[0]);
            }
            Op::Cast(to) => Code::Cast(regs[0], *to),
            _ => return Ok(regs[0]),
        };
        let reg = self.emit(code, dtype)?;
        // Arithmetic on narrow dtypes is rounded or wrapped as if it had been stored.
        let rounds = dtype.is_narrow() && !matches!(op, Op::Cast(_) | Op::Select);
        if rounds { self.emit(Code::Cast(reg, dtype), dtype) } else { Ok(reg) }
    }

    fn movement(&mut self, id: NodeId, op: &Op, x: NodeId, access: &Access) -> Result<Reg, Trouble> {
        let graph = self.context.graph;
        let (from, to) = (graph.shape(x), graph.shape(id));
        let inner = match access.through(op, &from, &to, &self.draft.axes) {
            Ok(inner) => inner,
            Err(obstacle) => {
                // Elements in memory lie in row-major order, whatever the shape.
                let base =
                    resident(graph, self.context.materialized, x).filter(|_| matches!(op, Op::Reshape(_)));
                let Some(base) = base else { return Err(self.obstacle(obstacle, x)) };
                let view = self.view(access, &to);
                return self.emit(Code::Load(BufferId(base.0), view), graph.dtype(id));
            }
        };
        let reg = self.value(x, &inner)?;
        // Outside of a pad the value is zero; for loads, the guards ensure that.
        let added = &inner.guards[access.guards.len()..];
        if !matches!(op, Op::Pad(_)) || self.vanishes(reg, added, limits::VANISHING_DEPTH) {
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

    /// Whether a register is zero wherever one of these guards fails, because the loads that it is computed
    /// from are zero there. All bits must be zero (-0 does not count), because [`Binary::Join`] tests the bits.
    /// Looks at most `depth` instructions deep.
    fn vanishes(&self, reg: Reg, guards: &[Guard], depth: usize) -> bool {
        let zero = |reg: Reg| depth > 0 && self.vanishes(reg, guards, depth - 1);
        let positive = |reg: Reg| match self.draft.tape[reg.0 as usize].code {
            Code::Constant(scalar) => scalar.as_f64().is_finite() && !scalar.as_f64().is_sign_negative(),
            _ => false,
        };
        match &self.draft.tape[reg.0 as usize].code {
            Code::Load(_, view) => guards.iter().all(|guard| view.guards.contains(guard)),
            Code::Constant(scalar) => scalar.register() == 0,
            Code::Unary(Unary::Relu | Unary::Abs | Unary::Tanh, x) | Code::Cast(x, _) => zero(*x),
            Code::Binary(Binary::Add | Binary::Sub | Binary::Join | Binary::Max | Binary::Min, a, b)
            | Code::Select(_, a, b) => zero(*a) && zero(*b),
            Code::Binary(Binary::Mul, a, b) => {
                zero(*a) && (positive(*b) || zero(*b)) || positive(*a) && zero(*b)
            }
            Code::Binary(Binary::And, a, b) => zero(*a) || zero(*b),
            _ => false,
        }
    }

    /// Whether a guard (with divisor 1) holds, as a boolean register.
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
            return Err(Trouble::Materialize(id));
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
                return Err(Trouble::Materialize(id));
            }
            self.draft.reduced = free.clone();
        }
        if free != self.draft.reduced {
            return Err(Trouble::Materialize(id));
        }
        let own: Vec<Affine> = free.iter().map(|&a| Affine::axis(count, a)).collect();
        let extents: Vec<usize> = free.iter().map(|&a| self.draft.axes[a]).collect();
        if extents.iter().product::<usize>() != length {
            return Err(Trouble::Materialize(id));
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
            // A single element is its own maximum and minimum, at position 0.
            return self.emit(Code::Constant(Scalar::int(DType::I32, 0)), DType::I32);
        }
        let own = self.reduced_coordinates(id, access, &sizes)?;
        let mut kept = access.coordinates.iter();
        let mut reduced = own.into_iter();
        let coordinates = (0..shape.rank())
            .map(|a| if axes.contains(&a) { reduced.next() } else { kept.next().cloned() })
            .map(|form| form.expect("one form per axis"))
            .collect();
        let value = self.value(x, &Access { coordinates, guards: vec![] })?;
        let value = self.lift(value);
        let reg = self.emit(Code::Reduce(reduce, value), graph.dtype(id))?;
        let dtype = graph.dtype(id);
        if dtype.is_narrow() { self.emit(Code::Cast(reg, dtype), dtype) } else { Ok(reg) }
    }

    /// A contraction that does not run as a matrix product: a sum of products over guarded loads.
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
            let Some(base) = resident(graph, self.context.materialized, operand) else {
                return Err(Trouble::Materialize(operand));
            };
            let shape = graph.shape(operand);
            let view = mapped_view(maps, &place, &shape, &self.draft.axes);
            regs[n] = self.emit(Code::Load(BufferId(base.0), view), node.dtype)?;
        }
        let product = self.emit(Code::Binary(Binary::Mul, regs[0], regs[1]), node.dtype)?;
        if long == 1 {
            return Ok(product);
        }
        let product = self.lift(product);
        self.emit(Code::Reduce(Reduce::Sum, product), node.dtype)
    }

    fn take(&mut self, id: NodeId, axis: usize, access: &Access) -> Result<Reg, Trouble> {
        let graph = self.context.graph;
        let node = graph.node(id);
        let (x, index) = (node.operands[0], node.operands[1]);
        let (shape, at) = (graph.shape(x), graph.shape(index));
        let Some((base, offset)) =
            within(graph, self.context.materialized, x).filter(|_| self.start.product.is_none())
        else {
            return Err(Trouble::Materialize(if self.start.product.is_some() { id } else { x }));
        };
        let zero = Affine::zero(self.draft.axes.len());
        let coordinates = (0..at.rank())
            .map(|a| if at[a] == 1 { zero.clone() } else { access.coordinates[a].clone() })
            .collect();
        let position = self.value(index, &Access { coordinates, guards: access.guards.clone() })?;
        let mut rest = access.clone();
        rest.coordinates[axis] = zero;
        let mut view = self.view(&rest, &shape);
        view.offset += offset as i64;
        let site = self.draft.sites.len();
        self.draft.sites.push(Site { op: "gather".into(), location: node.location, size: shape[axis] });
        let stride = shape.strides()[axis] as i64;
        let code = Code::Take { buffer: BufferId(base.0), view, position, stride, size: shape[axis], site };
        self.emit(code, node.dtype)
    }
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
