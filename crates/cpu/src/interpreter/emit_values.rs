//! Emits the instruction of each tape entry, at its level, once.

use farad_compile::program::{Code as TapeCode, Instr, Reg, View};
use farad_ir::{Binary, DType, Unary};

use crate::interpreter::bytecode::{BytecodeOp, Opcode, RegisterId, SourceWords, WordType};
use crate::interpreter::dependence::Dependence;
use crate::interpreter::emit_nest::Emitter;
use crate::interpreter::nest::{Layout, RandomBits, Take, TileShape, Touch};
use crate::interpreter::register_conversion::{conversions, register_of, turn};
use crate::interpreter::register_slots::RegisterPlace;
use crate::memory::view_access::ViewAccess;
use crate::simd::arithmetic::takes_left_scalar;

impl Emitter<'_> {
    /// The register of a value; emits its instruction if needed.
    pub fn value(&mut self, i: usize) -> RegisterId {
        let known = if self.levels[i] == Dependence::Full { self.passing[i] } else { self.lasting[i] };
        if let Some(register) = known {
            return register;
        }
        let register = self.make(i);
        if self.levels[i] == Dependence::Full {
            self.passing[i] = Some(register);
        } else {
            self.lasting[i] = Some(register);
        }
        register
    }

    /// A value as an operand of an instruction at `level`.
    pub fn source(&mut self, i: usize, level: Dependence, scalar: bool) -> SourceWords {
        let register = self.value(i);
        let from = self.levels[i];
        if from == level {
            return SourceWords { register, scalar: false };
        }
        let one =
            from == Dependence::Uniform || (self.layout.shape == TileShape::Rows && self.layout.rows == 1);
        if one && scalar {
            return SourceWords { register, scalar: true };
        }
        if from == Dependence::Outer && self.layout.shape == TileShape::Columns {
            return SourceWords { register, scalar: false };
        }
        SourceWords { register: self.spread(register, one, from, level, self.depths[i]), scalar: false }
    }

    /// A value of a lower level, spread over a tile of `level`.
    fn spread(
        &mut self,
        register: RegisterId,
        one: bool,
        from: Dependence,
        level: Dependence,
        depth: usize,
    ) -> RegisterId {
        let lasting = level == Dependence::Outer
            || (self.layout.shape == TileShape::Block && from == Dependence::Outer);
        let known = if lasting {
            self.lasting_spreads.iter().find(|(r, _)| *r == register).map(|s| s.1)
        } else {
            self.spreads.iter().find(|(r, _)| *r == register).map(|s| s.1)
        };
        if let Some(known) = known {
            return known;
        }
        let code = match self.layout.shape {
            _ if one => Opcode::Fill,
            TileShape::Rows => Opcode::SpreadRows,
            _ => Opcode::SpreadColumns,
        };
        let wide = self.wide[register];
        let out = if level == Dependence::Outer {
            self.register(Dependence::Outer, wide)
        } else if lasting {
            let place = self.keep(self.layout.rows * self.layout.columns, wide);
            self.place(place, wide)
        } else {
            self.register(Dependence::Full, wide)
        };
        let op = BytecodeOp { a: SourceWords { register, scalar: one }, ..BytecodeOp::new(code, out) };
        if lasting {
            self.lasting_spreads.push((register, out));
            self.outer[depth].push(op);
        } else {
            self.spreads.push((register, out));
            self.pass.push(op);
        }
        out
    }

    /// The register that an instruction writes: the memory of its store, if possible.
    fn output(&mut self, i: usize) -> RegisterId {
        let level = self.levels[i];
        match self.direct[i].filter(|_| level == Dependence::Full) {
            Some((touch, _)) => {
                let out = self.place(RegisterPlace::Memory, self.is_wide(i));
                self.pass.push(BytecodeOp::new(Opcode::Alias(touch), out));
                out
            }
            None => self.register(level, self.is_wide(i)),
        }
    }

    /// Whether a value is 64 bits wide.
    fn is_wide(&self, i: usize) -> bool {
        self.fused.tape[i].dtype.is_wide()
    }

    fn make(&mut self, i: usize) -> RegisterId {
        let instr: &Instr = &self.fused.tape[i];
        let (level, none) = (self.levels[i], SourceWords::NONE);
        match &instr.code {
            TapeCode::Constant(scalar) => self.leaf(i, Opcode::Constant(register_of(*scalar, instr.dtype))),
            TapeCode::Parameter(n) => self.leaf(i, Opcode::Parameter(*n)),
            TapeCode::Load(buffer, view) => self.load(i, buffer.0 as usize, view),
            TapeCode::Take { .. } => self.take(i),
            TapeCode::Position(view) => {
                let access = self.access(view, level);
                self.touches.push(Touch { buffer: 0, access, turned: None });
                let code = Opcode::Position(self.touches.len() - 1);
                self.arithmetic(i, code, [none; 3])
            }
            TapeCode::Random(key, stream, view) => self.random(i, *key, *stream, view),
            TapeCode::Carry(n) => self.carried[*n],
            TapeCode::Unary(Unary::Exp, a) if self.is_difference(*a, level) => {
                let TapeCode::Binary(_, x, y) = self.fused.tape[a.0 as usize].code else {
                    unreachable!("just seen")
                };
                let x = self.source(x.0 as usize, level, false);
                let y = self.source(y.0 as usize, level, true);
                self.arithmetic(i, Opcode::ExpDifference, [x, y, none])
            }
            TapeCode::Unary(unary, a) => {
                let kind = self.kind(*a);
                let a = self.source(a.0 as usize, level, false);
                self.arithmetic(i, Opcode::Unary(*unary, kind), [a, none, none])
            }
            TapeCode::Binary(binary, a, b) => self.binary(i, *binary, *a, *b),
            TapeCode::Select(a, b, c) => {
                let a = self.source(a.0 as usize, level, false);
                let b = self.source(b.0 as usize, level, true);
                let c = self.source(c.0 as usize, level, true);
                self.arithmetic(i, Opcode::Select, [a, b, c])
            }
            TapeCode::Cast(a, to) => self.cast(i, *a, *to),
            TapeCode::Reduce(..) => unreachable!("a reduction is emitted in its pass, before what needs it"),
            TapeCode::Accumulator => unreachable!("checked when loading"),
        }
    }

    /// The kind of a tape register.
    pub fn kind(&self, register: Reg) -> WordType {
        WordType::of(self.fused.tape[register.0 as usize].dtype)
    }

    fn leaf(&mut self, i: usize, code: Opcode) -> RegisterId {
        let level = self.levels[i];
        let out = self.register(level, self.is_wide(i));
        self.push(BytecodeOp::new(code, out), level, 0);
        out
    }

    fn arithmetic(&mut self, i: usize, code: Opcode, [a, b, c]: [SourceWords; 3]) -> RegisterId {
        let out = self.output(i);
        self.push(BytecodeOp { a, b, c, ..BytecodeOp::new(code, out) }, self.levels[i], self.depths[i]);
        out
    }

    /// As `arithmetic`, followed by a conversion from `stored` to the register's type.
    fn arithmetic_then(
        &mut self,
        i: usize,
        code: Opcode,
        [a, b, c]: [SourceWords; 3],
        stored: WordType,
    ) -> RegisterId {
        let (level, depth) = (self.levels[i], self.depths[i]);
        let list = conversions(stored, self.fused.tape[i].dtype.register());
        let mut out = if list.is_empty() { self.output(i) } else { self.register(level, stored.is_wide()) };
        self.push(BytecodeOp { a, b, c, ..BytecodeOp::new(code, out) }, level, depth);
        for (step, conversion) in list.iter().enumerate() {
            let last = step + 1 == list.len();
            let next = if last { self.output(i) } else { self.register(level, conversion.is_wide()) };
            let a = SourceWords { register: out, scalar: false };
            self.push(BytecodeOp { a, ..BytecodeOp::new(Opcode::Convert(*conversion), next) }, level, depth);
            out = next;
        }
        out
    }

    /// Whether a load's value is stored unchanged while its buffer is being overwritten.
    fn is_exposed(&self, i: usize, buffer: usize) -> bool {
        let stored = self.fused.stores.iter().any(|s| s.buffer.0 as usize == buffer);
        let cast = |instr: &Instr| matches!(instr.code, TapeCode::Cast(a, _) if a.0 as usize == i);
        stored
            && (self.fused.stores.iter().any(|s| s.value.0 as usize == i) || self.fused.tape.iter().any(cast))
    }

    /// In patches: the access along the last outer axis, if the view is contiguous there.
    fn turned(&self, view: &View, level: Dependence) -> Option<ViewAccess> {
        let all = self.layout.sizes.len();
        let runs = self.layout.patch.is_some() && level == Dependence::Full && view.strides[all - 2] == 1;
        let domain: Vec<usize> = (0..all.checked_sub(2)?).chain([all - 1, all - 2]).collect();
        (runs && view.strides[all - 1] != 1).then(|| ViewAccess::new(view, &self.layout.sizes, &domain, &[]))
    }

    fn take(&mut self, i: usize) -> RegisterId {
        let fused = self.fused;
        let TapeCode::Take { buffer, view, position, stride, size, site } = &fused.tape[i].code else {
            unreachable!("checked by the caller")
        };
        let (level, position) = (self.levels[i], position.0 as usize);
        let grid = self.layout.shape == TileShape::Rows && self.layout.rows > 1;
        let by_row = level == Dependence::Full && self.levels[position] == Dependence::Outer && grid;
        let source = if by_row {
            SourceWords { register: self.value(position), scalar: false }
        } else {
            self.source(position, level, true)
        };
        let touch = Touch { buffer: buffer.0 as usize, access: self.access(view, level), turned: None };
        let signed = WordType::of(fused.tape[position].dtype) == WordType::Int;
        self.takes.push(Take { touch, by_row, signed, stride: *stride, size: *size, site: *site });
        let code = Opcode::Take(self.takes.len() - 1);
        let stored = WordType::of(self.specs[buffer.0 as usize].dtype);
        self.arithmetic_then(i, code, [source, SourceWords::NONE, SourceWords::NONE], stored)
    }

    fn random(&mut self, i: usize, key: [Reg; 4], stream: Option<Reg>, view: &View) -> RegisterId {
        let (level, depth) = (self.levels[i], self.depths[i]);
        let key = key.map(|r| self.source(r.0 as usize, level, true));
        let stream = stream.map(|r| {
            let source = self.source(r.0 as usize, level, true);
            SourceWords { scalar: source.scalar || self.shared[r.0 as usize], ..source }
        });
        let access = self.access(view, level);
        self.randoms.push(RandomBits { access, key, stream });
        let out = self.arithmetic(i, Opcode::Random(self.randoms.len() - 1), [SourceWords::NONE; 3]);
        if key.iter().any(|source| !source.scalar) {
            let [a, b, c, d] = key;
            self.push(BytecodeOp { a, b, c, ..BytecodeOp::new(Opcode::Keep, d.register) }, level, depth);
        }
        if let Some(a) = stream {
            let keep = BytecodeOp { a, b: a, c: a, ..BytecodeOp::new(Opcode::Keep, a.register) };
            self.push(keep, level, depth);
        }
        out
    }

    fn cast(&mut self, i: usize, a: Reg, to: DType) -> RegisterId {
        let (level, depth) = (self.levels[i], self.depths[i]);
        let list = conversions(self.kind(a), to);
        let mut source = self.source(a.0 as usize, level, false);
        for (step, conversion) in list.iter().enumerate() {
            let last = step + 1 == list.len();
            let out = if last { self.output(i) } else { self.register(level, conversion.is_wide()) };
            let convert = BytecodeOp { a: source, ..BytecodeOp::new(Opcode::Convert(*conversion), out) };
            self.push(convert, level, depth);
            source = SourceWords { register: out, scalar: false };
        }
        source.register
    }

    fn load(&mut self, i: usize, buffer: usize, view: &View) -> RegisterId {
        let level = self.levels[i];
        let access = self.access(view, level);
        let spec = self.specs[buffer];
        let same = WordType::of(spec.dtype) == WordType::of(self.fused.tape[i].dtype);
        let words = !spec.dtype.is_narrow() && same;
        let alias = level == Dependence::Full
            && (access.is_run() || self.is_run_of_rows(view))
            && words
            && self.layout.patch.is_none()
            && !self.is_exposed(i, buffer);
        let turned = self.turned(view, level).filter(|_| !spec.dtype.is_wide());
        self.touches.push(Touch { buffer, access, turned });
        let touch = self.touches.len() - 1;
        if alias {
            let out = self.place(RegisterPlace::Memory, spec.dtype.is_wide());
            self.pass.push(BytecodeOp::new(Opcode::Alias(touch), out));
            return out;
        }
        if level == Dependence::Full && words && self.is_same_in_all_tiles(buffer, view) {
            let place = self.keep(self.layout.rows * self.layout.columns, spec.dtype.is_wide());
            let out = self.place(place, spec.dtype.is_wide());
            self.steady.push(BytecodeOp::new(Opcode::Load(touch), out));
            return out;
        }
        let none = SourceWords::NONE;
        self.arithmetic_then(i, Opcode::Load(touch), [none; 3], WordType::of(spec.dtype))
    }

    /// Whether a view reads the same in every tile, of a buffer that the kernel does not write.
    fn is_same_in_all_tiles(&self, buffer: usize, view: &View) -> bool {
        let Layout { shape, resident, outer, patch, .. } = self.layout;
        let stays = |values: &[i64]| values[..outer].iter().all(|&value| value == 0);
        let along = stays(&view.strides) && view.guards.iter().all(|guard| stays(&guard.coefficients));
        let written = self.fused.stores.iter().any(|store| store.buffer.0 as usize == buffer);
        shape == TileShape::Rows && resident && patch.is_none() && along && !written
    }

    /// Whether a view is one run along the part of a row that a tile has; the tile has no other row.
    fn is_run_of_rows(&self, view: &View) -> bool {
        let Layout { shape, rows, outer, ref sizes, .. } = self.layout;
        let (fixed, inner): (Vec<usize>, Vec<usize>) = (0..sizes.len()).partition(|&axis| axis < outer);
        let along = || ViewAccess::new(view, sizes, &inner, &fixed);
        shape == TileShape::Rows && rows == 1 && view.guards.is_empty() && along().is_run()
    }

    fn binary(&mut self, i: usize, binary: Binary, a: Reg, b: Reg) -> RegisterId {
        let (level, kind) = (self.levels[i], self.kind(a));
        let sum = kind == WordType::Float && matches!(binary, Binary::Add | Binary::Sub);
        if let Some(out) = sum.then(|| self.mul_add(i, binary, a, b)).flatten() {
            return out;
        }
        let none = SourceWords::NONE;
        if let Some(turned) = turn(binary).filter(|_| self.levels[a.0 as usize] < self.levels[b.0 as usize]) {
            let x = self.source(b.0 as usize, level, false);
            let y = self.source(a.0 as usize, level, true);
            return self.arithmetic(i, Opcode::Binary(turned, kind), [x, y, none]);
        }
        let x = self.source(a.0 as usize, level, takes_left_scalar(binary, kind));
        // If the left operand is a scalar, the right one must be a tile.
        let y = self.source(b.0 as usize, level, !x.scalar);
        self.arithmetic(i, Opcode::Binary(binary, kind), [x, y, none])
    }

    /// Whether a register is a difference of floats with one use, as in softmax, which takes its exponential.
    fn is_difference(&self, register: Reg, level: Dependence) -> bool {
        let v = register.0 as usize;
        let alone = self.uses[v] == 1 && self.levels[v] == level && self.lasting[v].is_none();
        let TapeCode::Binary(Binary::Sub, x, _) = self.fused.tape[v].code else { return false };
        let tile = self.levels[x.0 as usize] == level;
        alone && tile && self.passing[v].is_none() && self.kind(register) == WordType::Float
    }

    /// `a·b ± c`, if the product has no other use.
    fn mul_add(&mut self, i: usize, binary: Binary, left: Reg, right: Reg) -> Option<RegisterId> {
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
        let code =
            Opcode::MulAdd { minus_product: minus && !left_product, minus_addend: minus && left_product };
        Some(self.arithmetic(i, code, [a, b, c]))
    }
}
