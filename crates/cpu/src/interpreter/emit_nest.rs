//! Translates a tape to bytecode: decides the level, the pass and the register of every value.

use farad_compile::program::{Code as TapeCode, Fused, Level as TapeLevel, Reg, Store, View};
use farad_ir::{Binary, DType, Unary};

use crate::error::Error;
use crate::interpreter::bytecode::{
    BytecodeOp, Conversion, Opcode, ReductionAccumulator, RegisterId, SourceWords, WordType,
};
use crate::interpreter::dependence::{self, Analysis, Dependence};
use crate::interpreter::nest::{InnerSweep, Layout, Nest, RandomBits, Spec, Take, TileShape, Touch};
use crate::interpreter::register_conversion::conversions;
use crate::interpreter::register_slots::{self, LINE, RegisterPlace};
use crate::memory::view_access::ViewAccess;
use crate::simd::reduction::STATE_WORDS;

/// Emits the bytecode of a kernel with collapsed axes.
pub fn emit(fused: &Fused, layout: Layout, reduces: bool, specs: &[Spec]) -> Result<Nest, Error> {
    let mut emitter = Emitter::new(fused, layout, reduces, specs);
    emitter.check()?;
    emitter.passes();
    Ok(emitter.finish())
}

/// The state of emission. Single values are emitted in [`crate::interpreter::emit_values`].
pub struct Emitter<'a> {
    /// The kernel.
    pub fused: &'a Fused,
    /// Its buffers.
    pub specs: &'a [Spec],
    /// How its space is divided.
    pub layout: Layout,
    /// How often values change.
    pub levels: Vec<Dependence>,
    /// How many reductions each value depends on in sequence.
    pub depths: Vec<usize>,
    /// How often values are read.
    pub uses: Vec<usize>,
    /// Whether there are reduced axes.
    pub reduces: bool,
    /// Registers of uniform and outer values.
    pub lasting: Vec<Option<RegisterId>>,
    /// Registers of full values in this pass.
    pub passing: Vec<Option<RegisterId>>,
    /// Pairs of registers: one, and its copy spread over a tile, valid in this pass.
    pub spreads: Vec<(RegisterId, RegisterId)>,
    /// The same, valid in all passes.
    pub lasting_spreads: Vec<(RegisterId, RegisterId)>,
    /// The store that a value may be computed directly into in this pass, with the index of its touch.
    pub direct: Vec<Option<(usize, &'a Store)>>,
    /// Where each register lives.
    pub places: Vec<RegisterPlace>,
    /// Which registers are 64 bits wide.
    pub wide: Vec<bool>,
    /// Words that are kept from tile to tile.
    pub kept: usize,
    /// What is emitted: see [`Nest`].
    pub prelude: Vec<BytecodeOp>,
    pub steady: Vec<BytecodeOp>,
    pub outer: Vec<Vec<BytecodeOp>>,
    /// The pass that is being emitted.
    pub pass: Vec<BytecodeOp>,
    /// The passes before it.
    pub done: Vec<InnerSweep>,
    pub finish: Vec<BytecodeOp>,
    pub touches: Vec<Touch>,
    pub takes: Vec<Take>,
    pub randoms: Vec<RandomBits>,
    pub accumulators: Vec<ReductionAccumulator>,
    /// In recurrences: the registers of carries and of their next values, and whether each value is the same
    /// for all elements at a position.
    pub carried: Vec<RegisterId>,
    pub next: Vec<RegisterId>,
    pub shared: Vec<bool>,
}

impl<'a> Emitter<'a> {
    pub fn new(fused: &'a Fused, layout: Layout, reduces: bool, specs: &'a [Spec]) -> Emitter<'a> {
        let Analysis { levels, depths, uses } = Analysis::new(fused, layout.outer);
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
            wide: Vec::new(),
            kept: 0,
            prelude: Vec::new(),
            steady: Vec::new(),
            outer: vec![Vec::new(); deepest + 1],
            pass: Vec::new(),
            done: Vec::new(),
            finish: Vec::new(),
            touches: Vec::new(),
            takes: Vec::new(),
            randoms: Vec::new(),
            accumulators: Vec::new(),
            carried: Vec::new(),
            next: Vec::new(),
            shared: vec![false; fused.tape.len()],
        }
    }

    /// Rejects ops on register types that they do not support.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |op: &str, dtype| Err(Error::Register { op: op.into(), dtype });
        for instr in &self.fused.tape {
            let dtype = |r: &Reg| self.fused.tape[r.0 as usize].dtype.register();
            match &instr.code {
                TapeCode::Unary(unary, a) => {
                    let whole = unary.row().int.is_some() && *unary != Unary::Not;
                    let fits = unary.takes(dtype(a)) || (whole && !dtype(a).is_float());
                    if !fits {
                        return refuse(unary.row().name, dtype(a));
                    }
                }
                TapeCode::Binary(binary, a, _) => {
                    let float = dtype(a).is_float();
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

    /// Emits every pass: reductions by depth, and each store as early as its value and the buffer that it
    /// overwrites allow.
    fn passes(&mut self) {
        let fused = self.fused;
        let reachable = dependence::reachable(fused);
        let deepest =
            (0..fused.tape.len()).filter(|&i| reachable[i]).map(|i| self.depths[i]).max().unwrap_or(0);
        let (full, outer): (Vec<&'a Store>, Vec<&'a Store>) =
            fused.stores.iter().partition(|s| self.is_full(s));
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
            // A buffer that is overwritten in place may be read until everything is computed.
            let values: Vec<SourceWords> =
                late.iter().map(|s| self.full_source(s.value.0 as usize)).collect();
            late.iter()
                .zip(values)
                .for_each(|(store, value)| self.store_value(store, value, Dependence::Full));
            let reductions = before..self.accumulators.len();
            self.done.push(InnerSweep { ops: std::mem::take(&mut self.pass), reductions });
            if !self.layout.resident {
                self.passing.fill(None);
                self.spreads.clear();
            }
        }
        for store in outer {
            let value = self.source(store.value.0 as usize, Dependence::Outer, false);
            self.store_value(store, value, Dependence::Outer);
        }
    }

    /// Marks values that may be computed directly into the memory where they are stored.
    pub fn mark_direct(&mut self, stores: &[&'a Store]) {
        self.direct.fill(None);
        for &store in stores {
            let value = store.value.0 as usize;
            let spec = self.specs[store.buffer.0 as usize];
            let same = !spec.dtype.is_narrow()
                && WordType::of(spec.dtype) == WordType::of(self.fused.tape[value].dtype);
            let fresh = self.levels[value] == Dependence::Full
                && self.direct[value].is_none()
                && self.passing[value].is_none();
            let access = self.access(&store.view, Dependence::Full);
            if same && fresh && access.is_run() && self.layout.patch.is_none() {
                self.touches.push(Touch { buffer: store.buffer.0 as usize, access, turned: None });
                self.direct[value] = Some((self.touches.len() - 1, store));
            }
        }
    }

    pub fn store(&mut self, store: &Store) {
        let value = self.full_source(store.value.0 as usize);
        // The value may already be in its destination.
        let computed_there = self.direct[store.value.0 as usize].is_some_and(|(touch, target)| {
            let aliases = |op: &BytecodeOp| op.out == value.register && op.code == Opcode::Alias(touch);
            std::ptr::eq(target, store) && self.pass.iter().any(aliases)
        });
        if !computed_there {
            self.store_value(store, value, Dependence::Full);
        }
    }

    pub fn full_source(&mut self, value: usize) -> SourceWords {
        self.source(value, Dependence::Full, false)
    }

    pub fn store_value(&mut self, store: &Store, value: SourceWords, level: Dependence) {
        let access = self.access(&store.view, level);
        let buffer = store.buffer.0 as usize;
        let kind = WordType::of(self.fused.tape[store.value.0 as usize].dtype);
        let value = self.converted(value, kind, self.specs[buffer].dtype.register(), level);
        self.touches.push(Touch { buffer, access, turned: None });
        let op =
            BytecodeOp { a: value, ..BytecodeOp::new(Opcode::Store(self.touches.len() - 1), value.register) };
        if level == Dependence::Full { self.pass.push(op) } else { self.finish.push(op) }
    }

    /// `value` converted to another register type, if storage and register types differ.
    fn converted(&mut self, value: SourceWords, from: WordType, to: DType, level: Dependence) -> SourceWords {
        let mut source = value;
        for conversion in conversions(from, to) {
            let out = self.register(level, conversion.is_wide());
            let op = BytecodeOp { a: source, ..BytecodeOp::new(Opcode::Convert(conversion), out) };
            if level == Dependence::Full {
                self.pass.push(op)
            } else {
                self.finish.push(op)
            }
            source = SourceWords { register: out, scalar: false };
        }
        source
    }

    /// A view over the domain of a level's tiles.
    pub fn access(&self, view: &View, level: Dependence) -> ViewAccess {
        let (outer, all) = (self.layout.outer, self.layout.sizes.len());
        let (domain, fixed): (Vec<usize>, Vec<usize>) = match (level, self.layout.shape) {
            (Dependence::Uniform, _) => (vec![], vec![]),
            (Dependence::Outer, _) => ((0..outer).collect(), vec![]),
            (Dependence::Full, TileShape::Rows) => ((0..all).collect(), vec![]),
            (Dependence::Full, TileShape::Block) => ((outer..all).chain(0..outer).collect(), vec![]),
            (Dependence::Full, TileShape::Columns) => ((0..outer).collect(), (outer..all).collect()),
        };
        ViewAccess::new(view, &self.layout.sizes, &domain, &fixed)
    }

    /// A new register for values of a level, wide or not.
    pub fn register(&mut self, level: Dependence, wide: bool) -> RegisterId {
        let place = match level {
            Dependence::Full => RegisterPlace::Slot,
            Dependence::Outer => self.keep(self.layout.rows, wide),
            Dependence::Uniform => self.keep(1, wide),
        };
        self.place(place, wide)
    }

    /// A new register at a place.
    pub fn place(&mut self, place: RegisterPlace, wide: bool) -> RegisterId {
        self.places.push(place);
        self.wide.push(wide);
        self.places.len() - 1
    }

    /// Space for this many elements, kept from tile to tile.
    pub fn keep(&mut self, elements: usize, wide: bool) -> RegisterPlace {
        let width = 1 + wide as usize;
        // A single element does not need its own cache line.
        let start = self.kept.next_multiple_of(if elements == 1 { width } else { LINE });
        self.kept = start + width * elements;
        RegisterPlace::Scratch(start)
    }

    /// Emits an instruction at a level.
    pub fn push(&mut self, op: BytecodeOp, level: Dependence, depth: usize) {
        match level {
            Dependence::Uniform => self.prelude.push(op),
            Dependence::Outer => self.outer[depth].push(op),
            Dependence::Full => self.pass.push(op),
        }
    }

    fn reduction(&mut self, i: usize) {
        let TapeCode::Reduce(reduce, a) = self.fused.tape[i].code else { unreachable!("the caller checked") };
        let kind = self.kind(a);
        let a = self.full_source(a.0 as usize);
        let out = self.register(Dependence::Outer, kind.is_wide() && !reduce.is_index());
        self.lasting[i] = Some(out);
        self.pass
            .push(BytecodeOp { a, ..BytecodeOp::new(Opcode::Reduce(self.accumulators.len()), a.register) });
        self.accumulators.push(ReductionAccumulator { reduce, kind, out });
    }

    /// Marks every instruction that reads or writes 64-bit registers.
    fn mark_wide(&mut self) {
        let wide = std::mem::take(&mut self.wide);
        let outer = self.outer.iter_mut().flatten();
        let passes = self.done.iter_mut().flat_map(|pass| &mut pass.ops);
        for op in
            self.prelude.iter_mut().chain(&mut self.steady).chain(outer).chain(passes).chain(&mut self.finish)
        {
            let converts = matches!(op.code, Opcode::Convert(Conversion::To(..)));
            op.wide = converts || wide[op.out] || op.sources().any(|register| wide[register]);
        }
    }

    pub fn finish(mut self) -> Nest {
        let state = STATE_WORDS * self.layout.rows * self.accumulators.len();
        self.kept = self.kept.next_multiple_of(LINE);
        let start = (self.kept + state).next_multiple_of(LINE);
        let width = 1 + self.wide.contains(&true) as usize;
        let tile = (width * self.layout.rows * self.layout.columns).next_multiple_of(LINE);
        self.mark_wide();
        let ops = self.done.iter().flat_map(|pass| &pass.ops);
        let words = register_slots::assign(ops, &mut self.places, start, tile);
        let cost = self.done.iter().flat_map(|pass| &pass.ops).map(BytecodeOp::cost).sum::<usize>().max(1);
        Nest {
            layout: self.layout,
            prelude: self.prelude,
            steady: self.steady,
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
            carries: self.carried.into_iter().zip(self.next).collect(),
        }
    }
}
