//! Turns a scan whose body works on each element by itself into one kernel with the loop inside.
//!
//! The elements are the leading axes that all carries and result slices share. The remaining axes are short and
//! are unrolled: each of their elements is a register. So sums over such axes, moves along them and gathers
//! from them become instructions. A body that mixes elements, or is too long, stays a loop over kernels. Start
//! at [`weave`].

mod absorb;
mod bindings;
mod place;

use std::collections::{HashMap, HashSet};

use farad_ir::{Binary, DType, Graph, NodeId, Op, Reduce, Scalar, Scan, Shape};

use super::limits;
use crate::fusion::access::{Access, Affine, reshape};
use crate::fusion::draft::Written;
use crate::passes::simplify::simplify;
use crate::program::{BufferId, Code, Instr, Level, Reg, Site, Target, View};
use absorb::absorb;
pub use place::Homes;

/// A scan as one kernel; a buffer stands for the node with the same number, as in drafts.
pub struct Woven {
    /// The axes of elements, then the axis of loop positions.
    axes: Vec<usize>,
    tape: Vec<Instr>,
    carries: Vec<WovenCarry>,
    /// What is written at every position; the nodes are picks.
    stores: Vec<Written>,
    /// Nodes outside of the loop that the kernel loads.
    pub reads: Vec<NodeId>,
    /// Ops that can fail on bad data.
    pub sites: Vec<Site>,
}

/// A carry of a woven scan.
struct WovenCarry {
    /// Its value before the first position.
    start: Reg,
    /// Its value after a position.
    next: Reg,
    /// The pick node that receives the last value, and where in it.
    last: Option<(NodeId, View)>,
}

/// The single kernel of a scan, if there can be one.
pub fn weave(graph: &Graph, id: NodeId, target: &Target) -> Option<Woven> {
    let Op::Scan(scan) = &graph.node(id).op else { return None };
    let foreign = |op: &Op| {
        matches!(op, Op::Contract(_) | Op::Order(_) | Op::ScatterAdd(..) | Op::Pack(..) | Op::Custom(_))
    };
    if scan.body.nodes.iter().any(|node| foreign(&node.op)) {
        return None;
    }
    let picks = picks(graph, id);
    // Simplified like the graph of every program, so that both ways to run a loop compute the same bits.
    let (body, outputs) = simplify(&scan.body, &scan.outputs);
    let scan = &Scan { body, outputs, ..(**scan).clone() };
    let given: Vec<(Shape, DType)> =
        scan.outputs.iter().map(|&o| (scan.body.shape(o), scan.body.dtype(o))).collect();
    let kinds = given.iter().enumerate().filter(|(n, _)| *n < scan.carries || picks[*n].is_some());
    let kinds: Vec<(Shape, DType)> = kinds.map(|(_, kind)| *kind).collect();
    let empty = scan.steps == 0 || picks.iter().all(Option::is_none);
    if !target.fuse || empty || kinds.iter().any(|(shape, dtype)| shape.numel() == 0 || !dtype.is_compute()) {
        return None;
    }
    let shapes: Vec<Vec<usize>> = kinds.iter().map(|(shape, _)| stripped(shape)).collect();
    let shared = (0..).take_while(|&axis| {
        let size = shapes[0].get(axis);
        size.is_some() && shapes.iter().all(|shape| shape.get(axis) == size)
    });
    // Unroll few axes rather than many; load what is computed outside rather than give up.
    let tries = (0..=shared.count()).rev().flat_map(|rank| [(rank, true), (rank, false)]);
    let mut tries = tries.filter_map(|(rank, mixed)| {
        let axes = shapes[0][..rank].iter().copied().chain([scan.steps]).collect();
        Weave::new(graph, id, scan, axes, mixed).finish(&picks, target)
    });
    tries.next()
}

/// The pick node of every result of a scan, where there is one.
fn picks(graph: &Graph, id: NodeId) -> Vec<Option<NodeId>> {
    let Op::Scan(scan) = &graph.node(id).op else { return vec![] };
    let mut picks = vec![None; scan.outputs.len()];
    for pick in graph.ids().filter(|pick| graph.node(*pick).operands.first() == Some(&id)) {
        if let Op::Pick(n, ..) = graph.node(pick).op {
            picks[n] = Some(pick);
        }
    }
    picks
}

/// The sizes other than 1.
fn stripped(shape: &[usize]) -> Vec<usize> {
    shape.iter().copied().filter(|&size| size != 1).collect()
}

/// Which graph a node belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum LoopScope {
    Body,
    Outside,
}

struct Weave<'a> {
    outside: &'a Graph,
    scan: &'a Scan,
    operands: &'a [NodeId],
    axes: Vec<usize>,
    tape: Vec<Instr>,
    memo: HashMap<(LoopScope, NodeId, Access), Reg>,
    /// For every carry: the index of its first part, and the views of its parts.
    homes: Vec<(usize, Vec<View>)>,
    /// Nodes outside that the kernel computes.
    absorbed: HashSet<NodeId>,
    reads: Vec<NodeId>,
    sites: Vec<Site>,
    depth: usize,
}

impl<'a> Weave<'a> {
    fn new(outside: &'a Graph, id: NodeId, scan: &'a Scan, axes: Vec<usize>, mixed: bool) -> Weave<'a> {
        let operands = &outside.node(id).operands;
        Weave {
            outside,
            scan,
            operands,
            axes,
            tape: Vec::new(),
            memo: HashMap::new(),
            homes: Vec::new(),
            absorbed: operands.iter().flat_map(|&operand| absorb(outside, operand, mixed)).collect(),
            reads: Vec::new(),
            sites: Vec::new(),
            depth: 0,
        }
    }

    /// All carries and results; `None` if any of them does not fit.
    fn finish(mut self, picks: &[Option<NodeId>], target: &Target) -> Option<Woven> {
        let scan = self.scan;
        let shape = |n: usize| scan.body.shape(scan.outputs[n]);
        for n in 0..scan.carries {
            let first = self.homes.last().map_or(0, |(first, parts)| first + parts.len());
            let parts = self.parts(&shape(n))?;
            let views = parts.iter().map(|access| access.view(&shape(n), self.axes.len())).collect();
            self.homes.push((first, views));
            if first + parts.len() > limits::WOVEN_CARRIES {
                return None;
            }
        }
        let mut carries = Vec::new();
        for (n, pick) in picks.iter().enumerate().take(scan.carries) {
            for (k, access) in self.parts(&shape(n))?.into_iter().enumerate() {
                let start = self.value(LoopScope::Outside, self.operands[n], &access)?;
                let next = self.value(LoopScope::Body, scan.outputs[n], &access)?;
                let last = pick.map(|pick| (pick, self.homes[n].1[k].clone()));
                carries.push(WovenCarry { start, next, last });
            }
        }
        let mut stores = Vec::new();
        for (n, pick) in picks.iter().enumerate().skip(scan.carries) {
            let Some(pick) = *pick else { continue };
            for access in self.parts(&shape(n))? {
                let value = self.value(LoopScope::Body, scan.outputs[n], &access)?;
                let whole = self.along_time(access);
                let view = whole.view(&self.outside.shape(pick), self.axes.len());
                stores.push(Written { node: pick, value, view });
            }
        }
        settle(&mut self.tape);
        let fits = stores.len() <= limits::WOVEN_RESULTS;
        let Weave { axes, tape, reads, sites, outside, .. } = self;
        let woven = Woven { axes, tape, carries, stores, reads, sites };
        (fits && woven.bindings(outside) <= target.bindings).then_some(woven)
    }

    fn graph(&self, scope: LoopScope) -> &'a Graph {
        match scope {
            LoopScope::Body => &self.scan.body,
            LoopScope::Outside => self.outside,
        }
    }

    /// One access per unrolled element of a value with this shape.
    fn parts(&self, shape: &Shape) -> Option<Vec<Access>> {
        let (count, sizes) = (self.axes.len(), stripped(shape));
        let (outer, inner) = sizes.split_at(count - 1);
        if inner.iter().product::<usize>() > limits::WOVEN_CARRIES {
            return None;
        }
        let own: Vec<Affine> = (0..outer.len()).map(|axis| Affine::axis(count, axis)).collect();
        let access = |within: Vec<Affine>| {
            let forms = [&own[..], &within].concat();
            let coordinates = reshape(&forms, shape, &sizes, &self.axes).ok()?;
            Some(Access { coordinates, guards: vec![] })
        };
        constants(inner, count).into_iter().map(access).collect()
    }

    /// The access to a whole sequence, from the access to one slice of it.
    fn along_time(&self, access: Access) -> Access {
        let (count, steps) = (self.axes.len(), self.scan.steps as i64);
        let mut time = Affine::axis(count, count - 1);
        if self.scan.reverse {
            time.coefficients[count - 1] = -1;
            time.offset = steps - 1;
        }
        Access { coordinates: [time].into_iter().chain(access.coordinates).collect(), ..access }
    }

    fn emit(&mut self, code: Code, dtype: DType) -> Option<Reg> {
        self.tape.push(Instr { code, dtype: dtype.register(), level: Level::Full });
        (self.tape.len() <= limits::WOVEN_INSTRUCTIONS).then_some(Reg(self.tape.len() as u32 - 1))
    }

    /// The register that holds a node at an access.
    fn value(&mut self, scope: LoopScope, id: NodeId, access: &Access) -> Option<Reg> {
        let key = (scope, id, access.clone());
        if let Some(&reg) = self.memo.get(&key) {
            return Some(reg);
        }
        self.depth += 1;
        if self.depth > limits::WOVEN_DEPTH {
            return None;
        }
        let reg = self.compute(scope, id, access)?;
        self.depth -= 1;
        self.memo.insert(key, reg);
        Some(reg)
    }

    fn compute(&mut self, scope: LoopScope, id: NodeId, access: &Access) -> Option<Reg> {
        let node = self.graph(scope).node(id);
        if scope == LoopScope::Outside && !self.absorbed.contains(&id) {
            return self.load(id, access);
        }
        match &node.op {
            Op::Input(n) => self.input(*n, access),
            Op::Parameter(n) => self.emit(Code::Parameter(*n), node.dtype),
            Op::Constant(scalar) => self.emit(Code::Constant(*scalar), node.dtype),
            Op::Iota(_) => self.emit(Code::Position(self.place(access, &node.shape)), DType::I32),
            Op::Random(_) => {
                let scalar = Access { coordinates: vec![], guards: vec![] };
                let key: Option<Vec<Reg>> =
                    node.operands.iter().map(|&operand| self.value(scope, operand, &scalar)).collect();
                let key = key?;
                let words = [key[0], key[1], key[2], key[3]];
                let view = self.place(access, &node.shape);
                self.emit(Code::Random(words, key.get(4).copied(), view), DType::U32)
            }
            op if op.is_pointwise() || matches!(op, Op::Barrier(_)) => {
                self.pointwise(scope, op, &node.operands, node.dtype, access)
            }
            op if op.is_movement() => self.movement(scope, id, access),
            Op::Reduce(reduce, axes) => self.reduce(scope, id, *reduce, axes, access),
            Op::Gather(axis) if scope == LoopScope::Body => self.gather(id, *axis, access),
            _ => None,
        }
    }

    /// The position of an access as a view, for values that are not in memory.
    fn place(&self, access: &Access, shape: &Shape) -> View {
        View { guards: vec![], ..access.view(shape, self.axes.len()) }
    }

    fn load(&mut self, id: NodeId, access: &Access) -> Option<Reg> {
        if !self.reads.contains(&id) {
            self.reads.push(id);
        }
        let view = access.view(&self.outside.shape(id), self.axes.len());
        self.emit(Code::Load(BufferId(id.0), view), self.outside.dtype(id))
    }

    fn input(&mut self, n: usize, access: &Access) -> Option<Reg> {
        let operand = self.operands[n];
        if n >= self.scan.carries + self.scan.sequences {
            return self.value(LoopScope::Outside, operand, access);
        }
        if n >= self.scan.carries {
            let whole = self.along_time(access.clone());
            return self.value(LoopScope::Outside, operand, &whole);
        }
        // The state of another element is in that element's registers.
        let view = self.place(access, &self.outside.shape(operand));
        let (first, parts) = &self.homes[n];
        let part = first + parts.iter().position(|home| *home == view)?;
        self.emit(Code::Carry(part), self.outside.dtype(operand))
    }

    fn pointwise(
        &mut self,
        scope: LoopScope,
        op: &Op,
        operands: &[NodeId],
        dtype: DType,
        access: &Access,
    ) -> Option<Reg> {
        let count = if matches!(op, Op::Barrier(_)) { 1 } else { operands.len() };
        let regs: Option<Vec<Reg>> =
            operands[..count].iter().map(|&operand| self.value(scope, operand, access)).collect();
        let regs = regs?;
        let code = match op {
            Op::Unary(unary) => Code::Unary(*unary, regs[0]),
            Op::Binary(binary) => Code::Binary(*binary, regs[0], regs[1]),
            Op::Select => Code::Select(regs[0], regs[1], regs[2]),
            // As in drafts: a cast that only changes the storage type computes nothing.
            Op::Cast(to) if to.register() == self.tape[regs[0].0 as usize].dtype && !to.is_narrow() => {
                return Some(regs[0]);
            }
            Op::Cast(to) => Code::Cast(regs[0], *to),
            _ => return Some(regs[0]),
        };
        let reg = self.emit(code, dtype)?;
        let rounds = dtype.is_narrow() && !matches!(op, Op::Cast(_) | Op::Select);
        if rounds { self.emit(Code::Cast(reg, dtype), dtype) } else { Some(reg) }
    }

    fn movement(&mut self, scope: LoopScope, id: NodeId, access: &Access) -> Option<Reg> {
        let graph = self.graph(scope);
        let (node, x) = (graph.node(id), graph.node(id).operands[0]);
        let (from, to, dtype) = (graph.shape(x), node.shape, node.dtype);
        let mut inner = access.through(&node.op, &from, &to, &self.axes).ok()?;
        let zero = Code::Constant(Scalar::of(dtype.register(), 0.0));
        // Along an unrolled axis, it is known at compile time whether an element is inside.
        for guard in inner.guards.split_off(access.guards.len()) {
            if guard.coefficients.iter().any(|&c| c != 0) {
                inner.guards.push(guard);
            } else if !(0..guard.size).contains(&guard.offset) {
                return self.emit(zero, dtype);
            }
        }
        let mut reg = self.value(scope, x, &inner)?;
        for guard in &inner.guards[access.guards.len()..] {
            let loaded = match &self.tape[reg.0 as usize].code {
                Code::Load(_, view) => view.guards.contains(guard),
                _ => false,
            };
            if !loaded {
                let view = View { offset: guard.offset, strides: guard.coefficients.clone(), guards: vec![] };
                let (size, zero) = (guard.size, self.emit(zero.clone(), dtype)?);
                let position = self.emit(Code::Position(view), DType::I32)?;
                let number = |n: i64| Code::Constant(Scalar::int(DType::I32, n));
                let (low, high) = (self.emit(number(0), DType::I32)?, self.emit(number(size), DType::I32)?);
                let low = self.emit(Code::Binary(Binary::GreaterEqual, position, low), DType::Bool)?;
                let high = self.emit(Code::Binary(Binary::Less, position, high), DType::Bool)?;
                let inside = self.emit(Code::Binary(Binary::And, low, high), DType::Bool)?;
                reg = self.emit(Code::Select(inside, reg, zero), dtype)?;
            }
        }
        Some(reg)
    }

    /// A reduction over unrolled axes, from the first element to the last.
    fn reduce(
        &mut self,
        scope: LoopScope,
        id: NodeId,
        reduce: Reduce,
        axes: &[usize],
        access: &Access,
    ) -> Option<Reg> {
        let graph = self.graph(scope);
        let (node, x) = (graph.node(id), graph.node(id).operands[0]);
        let shape = graph.shape(x);
        let combine = match reduce {
            Reduce::Sum => Binary::Add,
            Reduce::Prod => Binary::Mul,
            Reduce::Max => Binary::Max,
            Reduce::Min => Binary::Min,
            Reduce::ArgMax | Reduce::ArgMin => return None,
        };
        let reduced: Vec<usize> = (0..shape.rank()).filter(|axis| axes.contains(axis)).collect();
        let sizes: Vec<usize> = reduced.iter().map(|&axis| shape[axis]).collect();
        if !(1..=limits::WOVEN_TERMS).contains(&sizes.iter().product()) {
            return None;
        }
        let mut all = None;
        for forms in constants(&sizes, self.axes.len()) {
            let (mut kept, mut within) = (access.coordinates.iter().cloned(), forms.into_iter());
            let next = (0..shape.rank()).map(|a| if axes.contains(&a) { within.next() } else { kept.next() });
            let coordinates = next.collect::<Option<Vec<Affine>>>()?;
            let value = self.value(scope, x, &Access { coordinates, guards: access.guards.clone() })?;
            all = Some(match all {
                Some(before) => self.emit(Code::Binary(combine, before, value), node.dtype)?,
                None => value,
            });
        }
        // f16 and bf16 are summed as f32 and rounded once.
        let rounds = node.dtype.is_narrow() && sizes.iter().product::<usize>() > 1;
        if rounds { self.emit(Code::Cast(all?, node.dtype), node.dtype) } else { all }
    }

    /// An element at a position that is known only at run time: a load from memory outside, or a choice among
    /// registers.
    fn gather(&mut self, id: NodeId, axis: usize, access: &Access) -> Option<Reg> {
        let body = &self.scan.body;
        let node = body.node(id);
        let (x, index) = (node.operands[0], node.operands[1]);
        let (shape, at, zero) = (body.shape(x), body.shape(index), Affine::zero(self.axes.len()));
        let coordinates = (0..at.rank())
            .map(|a| if at[a] == 1 { zero.clone() } else { access.coordinates[a].clone() })
            .collect();
        let position =
            self.value(LoopScope::Body, index, &Access { coordinates, guards: access.guards.clone() })?;
        let site = self.sites.len();
        self.sites.push(Site { op: "gather".into(), location: node.location, size: shape[axis] });
        let mut rest = access.clone();
        rest.coordinates[axis] = zero;
        if let Op::Input(n) = body.node(x).op
            && n >= self.scan.carries
            && !self.absorbed.contains(&self.operands[n])
        {
            let sequence = n < self.scan.carries + self.scan.sequences;
            let whole = if sequence { self.along_time(rest) } else { rest };
            let operand = self.operands[n];
            let Code::Load(buffer, view) = self.loaded(operand, &whole)? else { return None };
            let stride = shape.strides()[axis] as i64;
            let code = Code::Take { buffer, view, position, stride, size: shape[axis], site };
            return self.emit(code, node.dtype);
        }
        self.choose(x, axis, &rest, position, site)
    }

    /// The load of a node outside, which is recorded as read.
    fn loaded(&mut self, operand: NodeId, access: &Access) -> Option<Code> {
        let reg = self.load(operand, access)?;
        let code = self.tape.pop().map(|instr| instr.code);
        debug_assert_eq!(reg.0 as usize, self.tape.len());
        code
    }

    /// One of the elements along an axis that is written out. Positions come from memory outside: reading one once
    /// more, by itself, reports it where it is out of range.
    fn choose(&mut self, x: NodeId, axis: usize, rest: &Access, position: Reg, site: usize) -> Option<Reg> {
        let size = self.scan.body.shape(x)[axis];
        let dtype = self.scan.body.dtype(x);
        let Instr { code: Code::Load(buffer, view), dtype: kind, .. } =
            self.tape[position.0 as usize].clone()
        else {
            return None;
        };
        if size > limits::WOVEN_TERMS {
            return None;
        }
        let checked = self.emit(Code::Take { buffer, view, position, stride: 0, size, site }, kind)?;
        let mut chosen = None;
        for (k, form) in constants(&[size], self.axes.len()).into_iter().flatten().enumerate() {
            let mut one = rest.clone();
            one.coordinates[axis] = form;
            let value = self.value(LoopScope::Body, x, &one)?;
            chosen = Some(match chosen {
                None => value,
                // Each comparison takes this element from a certain position on, so positions are clamped.
                Some(before) => {
                    let number = self.emit(Code::Constant(Scalar::int(kind, k as i64)), kind)?;
                    let code = Code::Binary(Binary::GreaterEqual, checked, number);
                    let reached = self.emit(code, DType::Bool)?;
                    self.emit(Code::Select(reached, value, before), dtype)?
                }
            });
        }
        chosen
    }
}

/// All positions within these sizes as constant forms, row-major.
fn constants(sizes: &[usize], axes: usize) -> Vec<Vec<Affine>> {
    let mut all = vec![vec![]];
    for &size in sizes {
        let longer = |forms: Vec<Affine>| {
            (0..size).map(move |at| {
                let form = Affine { offset: at as i64, ..Affine::zero(axes) };
                forms.iter().cloned().chain([form]).collect()
            })
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// Gives every instruction its level.
fn settle(tape: &mut [Instr]) {
    for index in 0..tape.len() {
        let code = &tape[index].code;
        let moves = code.view().is_some_and(|view| {
            let along = |list: &[i64]| list.last().is_some_and(|&c| c != 0);
            along(&view.strides) || view.guards.iter().any(|guard| along(&guard.coefficients))
        });
        let inherits = code.operands().iter().any(|reg| tape[reg.0 as usize].level == Level::Full);
        let full = moves || inherits || matches!(code, Code::Carry(_));
        tape[index].level = if full { Level::Full } else { Level::Outer };
    }
}
