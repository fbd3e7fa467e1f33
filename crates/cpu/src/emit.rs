//! From a tape to bytecode: what is computed at which level and in which pass, in which register.

use farad_compile::program::{Code as TapeCode, Fused, Guard, Instr, Level as TapeLevel, Reg, Store, View};
use farad_ir::{Binary, DType, Scalar, Unary};

use crate::arithmetic::takes_left_scalar;
use crate::code::{Accumulator, Code, Conversion, Kind, Op, Register, Source};
use crate::error::Error;
use crate::nest::{Layout, Nest, Pass, Random, Shape, Spec, Take, Touch};
use crate::reduction::STATE_WORDS;
use crate::slots::{self, LINE, Place};
use crate::view::Access;

/// How often a value changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// Never during a run.
    Uniform,
    /// With the outer position.
    Outer,
    /// At every position.
    Full,
}

/// Registers that an instruction reads.
fn operands(code: &TapeCode) -> Vec<usize> {
    let list = |registers: &[Reg]| registers.iter().map(|r| r.0 as usize).collect();
    match code {
        TapeCode::Take { position, .. } => list(&[*position]),
        TapeCode::Random(key, _) => list(key),
        TapeCode::Unary(_, a) | TapeCode::Cast(a, _) | TapeCode::Reduce(_, a) => list(&[*a]),
        TapeCode::Binary(_, a, b) => list(&[*a, *b]),
        TapeCode::Select(a, b, c) => list(&[*a, *b, *c]),
        _ => Vec::new(),
    }
}

fn view_of(code: &TapeCode) -> Option<&View> {
    match code {
        TapeCode::Load(_, view) | TapeCode::Take { view, .. } => Some(view),
        TapeCode::Position(view) | TapeCode::Random(_, view) => Some(view),
        _ => None,
    }
}

/// Which values depend on axes that `moves` finds in a view, directly or through operands (not through reductions).
pub fn dependence(fused: &Fused, moves: impl Fn(&View) -> bool) -> Vec<bool> {
    let mut depends: Vec<bool> = Vec::with_capacity(fused.tape.len());
    for instr in &fused.tape {
        let own = view_of(&instr.code).is_some_and(&moves);
        let inherited = operands(&instr.code).iter().any(|&o| depends[o]);
        depends.push(own || (inherited && !matches!(instr.code, TapeCode::Reduce(..))));
    }
    depends
}

fn moves_along(view: &View, axes: std::ops::Range<usize>) -> bool {
    let moves = |values: &[i64]| values[axes.clone()].iter().any(|&v| v != 0);
    moves(&view.strides) || view.guards.iter().any(|g: &Guard| moves(&g.coefficients))
}

/// Makes the bytecode of a kernel with collapsed axes.
pub fn emit(fused: &Fused, layout: Layout, reduces: bool, specs: &[Spec]) -> Result<Nest, Error> {
    let mut emitter = Emitter::new(fused, layout, reduces, specs);
    emitter.check()?;
    emitter.passes();
    Ok(emitter.finish())
}

struct Emitter<'a> {
    fused: &'a Fused,
    specs: &'a [Spec],
    layout: Layout,
    levels: Vec<Level>,
    /// Reductions that a value waits for, one after the other.
    depths: Vec<usize>,
    uses: Vec<usize>,
    /// Whether stores of full-level values exist.
    reduces: bool,
    /// Registers of uniform and outer values; of full values in this pass.
    lasting: Vec<Option<Register>>,
    passing: Vec<Option<Register>>,
    /// Registers whose words are repeated over a tile by other registers: in this pass; for good.
    spreads: Vec<(Register, Register)>,
    lasting_spreads: Vec<(Register, Register)>,
    /// The store that a value may be computed straight into, in this pass, with its touch.
    direct: Vec<Option<(usize, &'a Store)>>,
    places: Vec<Place>,
    kept: usize,
    prelude: Vec<Op>,
    outer: Vec<Vec<Op>>,
    pass: Vec<Op>,
    done: Vec<Pass>,
    finish: Vec<Op>,
    touches: Vec<Touch>,
    takes: Vec<Take>,
    randoms: Vec<Random>,
    accumulators: Vec<Accumulator>,
}

impl<'a> Emitter<'a> {
    fn new(fused: &'a Fused, layout: Layout, reduces: bool, specs: &'a [Spec]) -> Emitter<'a> {
        let (outer, all) = (layout.outer, layout.sizes.len());
        let full = dependence(fused, |view| moves_along(view, outer..all));
        let moving = dependence(fused, |view| moves_along(view, 0..all));
        let mut levels = Vec::with_capacity(fused.tape.len());
        let mut depths: Vec<usize> = Vec::with_capacity(fused.tape.len());
        let mut uses = vec![0; fused.tape.len()];
        for (i, instr) in fused.tape.iter().enumerate() {
            let reduction = matches!(instr.code, TapeCode::Reduce(..));
            let inherited = operands(&instr.code).iter().map(|&o| levels[o]).max().unwrap_or(Level::Uniform);
            let own = match (full[i], moving[i]) {
                (true, _) => Level::Full,
                (false, true) => Level::Outer,
                _ => Level::Uniform,
            };
            levels.push(if reduction { Level::Outer } else { own.max(inherited) });
            let depth = operands(&instr.code).iter().map(|&o| depths[o]).max().unwrap_or(0);
            depths.push(depth + reduction as usize);
            operands(&instr.code).iter().for_each(|&o| uses[o] += 1);
        }
        fused.stores.iter().for_each(|store| uses[store.value.0 as usize] += 1);
        let deepest = depths.iter().copied().max().unwrap_or(0);
        Emitter {
            fused,
            specs,
            layout,
            levels,
            depths,
            uses,
            reduces,
            lasting: vec![None; fused.tape.len()],
            passing: vec![None; fused.tape.len()],
            spreads: Vec::new(),
            lasting_spreads: Vec::new(),
            direct: vec![None; fused.tape.len()],
            places: Vec::new(),
            kept: 0,
            prelude: Vec::new(),
            outer: vec![Vec::new(); deepest + 1],
            pass: Vec::new(),
            done: Vec::new(),
            finish: Vec::new(),
            touches: Vec::new(),
            takes: Vec::new(),
            randoms: Vec::new(),
            accumulators: Vec::new(),
        }
    }

    /// Refuses ops on registers that they do not take.
    fn check(&self) -> Result<(), Error> {
        let refuse = |op: &str, dtype| Err(Error::Register { op: op.into(), dtype });
        for instr in &self.fused.tape {
            let dtype = |r: &Reg| self.fused.tape[r.0 as usize].dtype.register();
            match &instr.code {
                TapeCode::Unary(unary, a) => {
                    let whole = unary.row().int.is_some() && *unary != Unary::Not;
                    let fits = unary.takes(dtype(a)) || (whole && dtype(a) != DType::F32);
                    if !fits {
                        return refuse(unary.row().name, dtype(a));
                    }
                }
                TapeCode::Binary(binary, a, _) => {
                    let float = dtype(a) == DType::F32;
                    if (float && binary.is_bitwise()) || (!float && *binary == Binary::Pow) {
                        return refuse(binary.row().name, dtype(a));
                    }
                }
                TapeCode::Accumulator => return refuse("accumulator", instr.dtype),
                _ => {}
            }
        }
        Ok(())
    }

    fn is_full(&self, store: &Store) -> bool {
        !self.reduces || self.fused.tape[store.value.0 as usize].level == TapeLevel::Full
    }

    fn loads(&self, buffer: usize) -> bool {
        self.fused.tape.iter().any(|instr| match &instr.code {
            TapeCode::Load(b, _) | TapeCode::Take { buffer: b, .. } => b.0 as usize == buffer,
            _ => false,
        })
    }

    /// Emits every pass: reductions by depth, and stores as early as their values and the buffers they overwrite allow.
    fn passes(&mut self) {
        let fused = self.fused;
        let reachable = self.reachable();
        let deepest = (0..fused.tape.len()).filter(|&i| reachable[i]).map(|i| self.depths[i]).max().unwrap_or(0);
        let (full, outer): (Vec<&'a Store>, Vec<&'a Store>) = fused.stores.iter().partition(|s| self.is_full(s));
        let depth_of = |emitter: &Self, s: &Store| emitter.depths[s.value.0 as usize];
        let last_store = full.iter().map(|s| depth_of(self, s) + 1).max().unwrap_or(0);
        let count = deepest.max(last_store);
        for pass in 0..count {
            let before = self.accumulators.len();
            let in_place = |emitter: &Self, s: &Store| emitter.loads(s.buffer.0 as usize);
            let due = |emitter: &Self, s: &Store| {
                if in_place(emitter, s) { pass + 1 == count } else { depth_of(emitter, s) == pass }
            };
            let (late, early): (Vec<&'a Store>, Vec<&'a Store>) =
                full.iter().filter(|s| due(self, s)).partition(|s| in_place(self, s));
            self.mark_direct(&early);
            for i in (0..fused.tape.len()).filter(|&i| reachable[i]) {
                if matches!(fused.tape[i].code, TapeCode::Reduce(..)) && self.depths[i] == pass + 1 {
                    self.reduction(i);
                }
            }
            early.iter().for_each(|store| self.store(store));
            // What is overwritten in place may be read until all is computed.
            let values: Vec<Source> = late.iter().map(|s| self.full_source(s.value.0 as usize)).collect();
            late.iter().zip(values).for_each(|(store, value)| self.store_value(store, value, Level::Full));
            let reductions = before..self.accumulators.len();
            self.done.push(Pass { ops: std::mem::take(&mut self.pass), reductions });
            if !self.layout.resident {
                self.passing.fill(None);
                self.spreads.clear();
            }
        }
        for store in outer {
            let value = self.source(store.value.0 as usize, Level::Outer, false);
            self.store_value(store, value, Level::Outer);
        }
    }

    fn reachable(&self) -> Vec<bool> {
        let mut reachable = vec![false; self.fused.tape.len()];
        self.fused.stores.iter().for_each(|s| reachable[s.value.0 as usize] = true);
        for i in (0..reachable.len()).rev().collect::<Vec<_>>() {
            if reachable[i] {
                operands(&self.fused.tape[i].code).into_iter().for_each(|o| reachable[o] = true);
            }
        }
        reachable
    }

    /// Values that may be computed straight into the memory they are stored to.
    fn mark_direct(&mut self, stores: &[&'a Store]) {
        self.direct.fill(None);
        for &store in stores {
            let value = store.value.0 as usize;
            let spec = self.specs[store.buffer.0 as usize];
            let same = spec.dtype.size() == 4 && Kind::of(spec.dtype) == Kind::of(self.fused.tape[value].dtype);
            let fresh = self.levels[value] == Level::Full && self.direct[value].is_none() && self.passing[value].is_none();
            let access = self.access(&store.view, Level::Full);
            if same && fresh && access.is_run() {
                self.touches.push(Touch { buffer: store.buffer.0 as usize, access });
                self.direct[value] = Some((self.touches.len() - 1, store));
            }
        }
    }

    fn store(&mut self, store: &Store) {
        let value = self.full_source(store.value.0 as usize);
        // The value may already lie where it belongs.
        let computed_there = self.direct[store.value.0 as usize].is_some_and(|(touch, target)| {
            let aliases = |op: &Op| op.out == value.register && op.code == Code::Alias(touch);
            std::ptr::eq(target, store) && self.pass.iter().any(aliases)
        });
        if !computed_there {
            self.store_value(store, value, Level::Full);
        }
    }

    fn full_source(&mut self, value: usize) -> Source {
        self.source(value, Level::Full, false)
    }

    fn store_value(&mut self, store: &Store, value: Source, level: Level) {
        let access = self.access(&store.view, level);
        let buffer = store.buffer.0 as usize;
        let kind = Kind::of(self.fused.tape[store.value.0 as usize].dtype);
        let value = self.converted(value, kind, self.specs[buffer].dtype.register(), level);
        self.touches.push(Touch { buffer, access });
        let op = Op { a: value, ..Op::new(Code::Store(self.touches.len() - 1), value.register) };
        if level == Level::Full { self.pass.push(op) } else { self.finish.push(op) }
    }

    /// `value` as a register of another type, where storage and register disagree.
    fn converted(&mut self, value: Source, from: Kind, to: DType, level: Level) -> Source {
        let mut source = value;
        for conversion in conversions(from, to) {
            let out = self.register(level);
            let op = Op { a: source, ..Op::new(Code::Convert(conversion), out) };
            if level == Level::Full { self.pass.push(op) } else { self.finish.push(op) }
            source = Source { register: out, scalar: false };
        }
        source
    }

    fn access(&self, view: &View, level: Level) -> Access {
        let (outer, all) = (self.layout.outer, self.layout.sizes.len());
        let (domain, fixed): (Vec<usize>, Vec<usize>) = match (level, self.layout.shape) {
            (Level::Uniform, _) => (vec![], vec![]),
            (Level::Outer, _) => ((0..outer).collect(), vec![]),
            (Level::Full, Shape::Rows) => ((0..all).collect(), vec![]),
            (Level::Full, Shape::Block) => ((outer..all).chain(0..outer).collect(), vec![]),
            (Level::Full, Shape::Columns) => ((0..outer).collect(), (outer..all).collect()),
        };
        Access::new(view, &self.layout.sizes, &domain, &fixed)
    }

    /// A new register for values of a level.
    fn register(&mut self, level: Level) -> Register {
        let place = match level {
            Level::Full => Place::Slot,
            Level::Outer => self.keep(self.layout.rows),
            Level::Uniform => self.keep(1),
        };
        self.places.push(place);
        self.places.len() - 1
    }

    fn keep(&mut self, words: usize) -> Place {
        // A single word needs no line of its own.
        let start = if words == 1 { self.kept } else { self.kept.next_multiple_of(LINE) };
        self.kept = start + words;
        Place::Scratch(start)
    }

    fn push(&mut self, op: Op, level: Level, depth: usize) {
        match level {
            Level::Uniform => self.prelude.push(op),
            Level::Outer => self.outer[depth].push(op),
            Level::Full => self.pass.push(op),
        }
    }

    /// The register of a value, emitting what makes it if that has not happened yet.
    fn value(&mut self, i: usize) -> Register {
        let known = if self.levels[i] == Level::Full { self.passing[i] } else { self.lasting[i] };
        if let Some(register) = known {
            return register;
        }
        let register = self.make(i);
        if self.levels[i] == Level::Full {
            self.passing[i] = Some(register);
        } else {
            self.lasting[i] = Some(register);
        }
        register
    }

    /// A value as an operand of an instruction at `level`.
    fn source(&mut self, i: usize, level: Level, scalar: bool) -> Source {
        let register = self.value(i);
        let from = self.levels[i];
        if from == level {
            return Source { register, scalar: false };
        }
        let one = from == Level::Uniform || (self.layout.shape == Shape::Rows && self.layout.rows == 1);
        if one && scalar {
            return Source { register, scalar: true };
        }
        if from == Level::Outer && self.layout.shape == Shape::Columns {
            return Source { register, scalar: false };
        }
        Source { register: self.spread(register, one, from, level, self.depths[i]), scalar: false }
    }

    /// A value of a lower level repeated over a tile of `level`.
    fn spread(&mut self, register: Register, one: bool, from: Level, level: Level, depth: usize) -> Register {
        let lasting = level == Level::Outer || (self.layout.shape == Shape::Block && from == Level::Outer);
        let known = if lasting {
            self.lasting_spreads.iter().find(|(r, _)| *r == register).map(|s| s.1)
        } else {
            self.spreads.iter().find(|(r, _)| *r == register).map(|s| s.1)
        };
        if let Some(known) = known {
            return known;
        }
        let code = match self.layout.shape {
            _ if one => Code::Fill,
            Shape::Rows => Code::SpreadRows,
            _ => Code::SpreadColumns,
        };
        let out = if level == Level::Outer {
            self.register(Level::Outer)
        } else if lasting {
            let place = self.keep(self.layout.rows * self.layout.columns);
            self.places.push(place);
            self.places.len() - 1
        } else {
            self.register(Level::Full)
        };
        let op = Op { a: Source { register, scalar: one }, ..Op::new(code, out) };
        if lasting {
            self.lasting_spreads.push((register, out));
            self.outer[depth].push(op);
        } else {
            self.spreads.push((register, out));
            self.pass.push(op);
        }
        out
    }

    /// The register that an instruction writes: the memory it is stored to, if that may be.
    fn output(&mut self, i: usize) -> Register {
        let level = self.levels[i];
        match self.direct[i].filter(|_| level == Level::Full) {
            Some((touch, _)) => {
                self.places.push(Place::Memory);
                let out = self.places.len() - 1;
                self.pass.push(Op::new(Code::Alias(touch), out));
                out
            }
            None => self.register(level),
        }
    }

    fn make(&mut self, i: usize) -> Register {
        let instr: &Instr = &self.fused.tape[i];
        let (level, depth) = (self.levels[i], self.depths[i]);
        let none = Source { register: 0, scalar: true };
        match &instr.code {
            TapeCode::Constant(scalar) => self.leaf(Code::Constant(word_of(*scalar, instr.dtype)), level),
            TapeCode::Parameter(n) => self.leaf(Code::Parameter(*n), level),
            TapeCode::Load(buffer, view) => self.load(i, buffer.0 as usize, view),
            TapeCode::Take { buffer, view, position, stride, size, site } => {
                let position = position.0 as usize;
                let grid = self.layout.shape == Shape::Rows && self.layout.rows > 1;
                let by_row = level == Level::Full && self.levels[position] == Level::Outer && grid;
                let source = if by_row {
                    Source { register: self.value(position), scalar: false }
                } else {
                    self.source(position, level, true)
                };
                let touch = Touch { buffer: buffer.0 as usize, access: self.access(view, level) };
                let signed = Kind::of(self.fused.tape[position].dtype) == Kind::Int;
                self.takes.push(Take { touch, by_row, signed, stride: *stride, size: *size, site: *site });
                let code = Code::Take(self.takes.len() - 1);
                let stored = Kind::of(self.specs[buffer.0 as usize].dtype);
                self.arithmetic_then(i, code, [source, none, none], stored)
            }
            TapeCode::Position(view) => {
                let access = self.access(view, level);
                self.touches.push(Touch { buffer: 0, access });
                let code = Code::Position(self.touches.len() - 1);
                self.arithmetic(i, code, [none; 3])
            }
            TapeCode::Random(key, view) => {
                let key = key.map(|r| self.source(r.0 as usize, level, true));
                let access = self.access(view, level);
                self.randoms.push(Random { access, key });
                let out = self.arithmetic(i, Code::Random(self.randoms.len() - 1), [none; 3]);
                if key.iter().any(|source| !source.scalar) {
                    let [a, b, c, d] = key;
                    self.push(Op { a, b, c, ..Op::new(Code::Keep, d.register) }, level, depth);
                }
                out
            }
            TapeCode::Unary(unary, a) => {
                let kind = self.kind(*a);
                let a = self.source(a.0 as usize, level, false);
                self.arithmetic(i, Code::Unary(*unary, kind), [a, none, none])
            }
            TapeCode::Binary(binary, a, b) => self.binary(i, *binary, *a, *b),
            TapeCode::Select(a, b, c) => {
                let a = self.source(a.0 as usize, level, false);
                let b = self.source(b.0 as usize, level, true);
                let c = self.source(c.0 as usize, level, true);
                self.arithmetic(i, Code::Select, [a, b, c])
            }
            TapeCode::Cast(a, to) => {
                let list = conversions(self.kind(*a), *to);
                let mut source = self.source(a.0 as usize, level, false);
                for (step, conversion) in list.iter().enumerate() {
                    let out = if step + 1 == list.len() { self.output(i) } else { self.register(level) };
                    self.push(Op { a: source, ..Op::new(Code::Convert(*conversion), out) }, level, depth);
                    source = Source { register: out, scalar: false };
                }
                source.register
            }
            TapeCode::Reduce(..) => unreachable!("a reduction is emitted in its pass, before what needs it"),
            TapeCode::Accumulator => unreachable!("checked when loading"),
        }
    }

    fn kind(&self, register: Reg) -> Kind {
        Kind::of(self.fused.tape[register.0 as usize].dtype)
    }

    fn leaf(&mut self, code: Code, level: Level) -> Register {
        let out = self.register(level);
        self.push(Op::new(code, out), level, 0);
        out
    }

    fn arithmetic(&mut self, i: usize, code: Code, [a, b, c]: [Source; 3]) -> Register {
        let out = self.output(i);
        self.push(Op { code, out, a, b, c }, self.levels[i], self.depths[i]);
        out
    }

    /// As `arithmetic`, with a conversion from `stored` to the register's type behind it.
    fn arithmetic_then(&mut self, i: usize, code: Code, [a, b, c]: [Source; 3], stored: Kind) -> Register {
        let (level, depth) = (self.levels[i], self.depths[i]);
        let list = conversions(stored, self.fused.tape[i].dtype.register());
        let mut out = if list.is_empty() { self.output(i) } else { self.register(level) };
        self.push(Op { code, out, a, b, c }, level, depth);
        for (step, conversion) in list.iter().enumerate() {
            let next = if step + 1 == list.len() { self.output(i) } else { self.register(level) };
            let a = Source { register: out, scalar: false };
            self.push(Op { a, ..Op::new(Code::Convert(*conversion), next) }, level, depth);
            out = next;
        }
        out
    }

    /// Whether a load's value is stored as it is while the buffer it comes from is overwritten.
    fn is_exposed(&self, i: usize, buffer: usize) -> bool {
        let stored = self.fused.stores.iter().any(|s| s.buffer.0 as usize == buffer);
        let cast = |instr: &Instr| matches!(instr.code, TapeCode::Cast(a, _) if a.0 as usize == i);
        stored && (self.fused.stores.iter().any(|s| s.value.0 as usize == i) || self.fused.tape.iter().any(cast))
    }

    fn load(&mut self, i: usize, buffer: usize, view: &View) -> Register {
        let level = self.levels[i];
        let access = self.access(view, level);
        let spec = self.specs[buffer];
        let same = Kind::of(spec.dtype) == Kind::of(self.fused.tape[i].dtype);
        let alias = level == Level::Full && access.is_run() && spec.dtype.size() == 4 && same && !self.is_exposed(i, buffer);
        self.touches.push(Touch { buffer, access });
        let touch = self.touches.len() - 1;
        if alias {
            self.places.push(Place::Memory);
            let out = self.places.len() - 1;
            self.pass.push(Op::new(Code::Alias(touch), out));
            return out;
        }
        let none = Source { register: 0, scalar: true };
        self.arithmetic_then(i, Code::Load(touch), [none; 3], Kind::of(spec.dtype))
    }

    fn binary(&mut self, i: usize, binary: Binary, a: Reg, b: Reg) -> Register {
        let (level, kind) = (self.levels[i], self.kind(a));
        if kind == Kind::Float && matches!(binary, Binary::Add | Binary::Sub) {
            if let Some(out) = self.mul_add(i, binary, a, b) {
                return out;
            }
        }
        let none = Source { register: 0, scalar: true };
        if let Some(turned) = turn(binary).filter(|_| self.levels[a.0 as usize] < self.levels[b.0 as usize]) {
            let x = self.source(b.0 as usize, level, false);
            let y = self.source(a.0 as usize, level, true);
            return self.arithmetic(i, Code::Binary(turned, kind), [x, y, none]);
        }
        let x = self.source(a.0 as usize, level, takes_left_scalar(binary, kind));
        // With a scalar on the left, the right one has to be a tile.
        let y = self.source(b.0 as usize, level, !x.scalar);
        self.arithmetic(i, Code::Binary(binary, kind), [x, y, none])
    }

    /// `a·b ± c` where the product is used here alone.
    fn mul_add(&mut self, i: usize, binary: Binary, left: Reg, right: Reg) -> Option<Register> {
        let level = self.levels[i];
        let product = |emitter: &Self, register: Reg| {
            let v = register.0 as usize;
            let alone = emitter.uses[v] == 1 && emitter.levels[v] == level && emitter.lasting[v].is_none();
            match emitter.fused.tape[v].code {
                TapeCode::Binary(Binary::Mul, a, b) if alone && emitter.passing[v].is_none() => Some((a, b)),
                _ => None,
            }
        };
        let (mut factors, mut addend, mut left_product) = (product(self, left), right, true);
        if factors.is_none() {
            (factors, addend, left_product) = (product(self, right), left, false);
        }
        let (mut a, mut b) = factors?;
        if self.levels[a.0 as usize] < self.levels[b.0 as usize] {
            std::mem::swap(&mut a, &mut b);
        }
        let a = self.source(a.0 as usize, level, false);
        let b = self.source(b.0 as usize, level, true);
        let c = self.source(addend.0 as usize, level, true);
        let minus = binary == Binary::Sub;
        let code = Code::MulAdd { minus_product: minus && !left_product, minus_addend: minus && left_product };
        Some(self.arithmetic(i, code, [a, b, c]))
    }

    fn reduction(&mut self, i: usize) {
        let TapeCode::Reduce(reduce, a) = self.fused.tape[i].code else { unreachable!("the caller looked") };
        let kind = self.kind(a);
        let a = self.full_source(a.0 as usize);
        let out = self.register(Level::Outer);
        self.lasting[i] = Some(out);
        self.pass.push(Op { a, ..Op::new(Code::Reduce(self.accumulators.len()), a.register) });
        self.accumulators.push(Accumulator { reduce, kind, out });
    }

    fn finish(mut self) -> Nest {
        let state = STATE_WORDS * self.layout.rows * self.accumulators.len();
        self.kept = self.kept.next_multiple_of(LINE);
        let start = (self.kept + state).next_multiple_of(LINE);
        let tile = (self.layout.rows * self.layout.columns).next_multiple_of(LINE);
        let ops = self.done.iter().flat_map(|pass| &pass.ops);
        let words = slots::assign(ops, &mut self.places, start, tile);
        let cost = self.done.iter().flat_map(|pass| &pass.ops).map(Op::cost).sum::<usize>().max(1);
        Nest {
            layout: self.layout,
            prelude: self.prelude,
            outer: self.outer,
            passes: self.done,
            finish: self.finish,
            touches: self.touches,
            takes: self.takes,
            randoms: self.randoms,
            accumulators: self.accumulators,
            places: self.places,
            kept: self.kept,
            words,
            cost,
        }
    }
}

/// The op with its operands exchanged, if there is one.
fn turn(binary: Binary) -> Option<Binary> {
    match binary {
        Binary::Less => Some(Binary::Greater),
        Binary::LessEqual => Some(Binary::GreaterEqual),
        Binary::Greater => Some(Binary::Less),
        Binary::GreaterEqual => Some(Binary::LessEqual),
        _ => binary.commutes().then_some(binary),
    }
}

/// The word that a constant is in registers of `dtype`.
fn word_of(scalar: Scalar, dtype: DType) -> u32 {
    if scalar.dtype.register() == dtype.register() { scalar.word() } else { Scalar::of(dtype, scalar.as_f64()).word() }
}

/// What turns a register of one kind into the register of `to`, step by step.
fn conversions(from: Kind, to: DType) -> Vec<Conversion> {
    use Conversion::*;
    let rounding = match to {
        DType::F16 => Some(RoundHalf),
        DType::BF16 => Some(RoundBrain),
        _ => None,
    };
    let first = match (from, to) {
        (Kind::Float, DType::I32 | DType::I64) => Some(FloatToInt),
        (Kind::Float, DType::U32) => Some(FloatToWord),
        (Kind::Float, DType::U8) => Some(FloatToByte),
        (Kind::Float, DType::Bool) => Some(FloatToBool),
        (Kind::Float, _) => None,
        (Kind::Int | Kind::Word, DType::Bool) => Some(WordToBool),
        (Kind::Int | Kind::Word, DType::U8) => Some(WordToByte),
        (Kind::Int, to) if to.is_float() => Some(IntToFloat),
        (_, to) if to.is_float() => Some(WordToFloat),
        _ => None,
    };
    first.into_iter().chain(rounding).collect()
}
