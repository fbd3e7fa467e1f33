//! Tapes as lines of constants, one per register.

use std::collections::BTreeSet;

use farad_compile::program::{Code, Instr, Level, Reg, View};
use farad_ir::DType;

use crate::error::ScriptError;
use crate::expression;
use crate::kernel::KernelText;
use crate::view::{Axes, index};

/// A tape that is being written.
pub struct TapeText<'a> {
    tape: &'a [Instr],
    /// What registers are called; constants are written where they are used.
    names: Vec<String>,
}

impl<'a> TapeText<'a> {
    /// Registers are named by a letter and a number.
    pub fn new(tape: &'a [Instr], letter: &str) -> TapeText<'a> {
        let name = |(n, instr): (usize, &Instr)| match &instr.code {
            Code::Constant(scalar) => expression::constant(instr.dtype.register(), *scalar),
            _ => format!("{letter}{n}"),
        };
        TapeText { tape, names: tape.iter().enumerate().map(name).collect() }
    }

    /// What a register is called.
    pub fn name(&self, register: Reg) -> &str {
        &self.names[register.0 as usize]
    }

    /// Writes every instruction.
    pub fn all(&self, kernel: &mut KernelText, axes: &Axes) -> Result<(), ScriptError> {
        (0..self.tape.len()).try_for_each(|n| self.line(kernel, n, axes))
    }

    /// Writes those instructions that are picked, in order.
    pub fn some(
        &self,
        kernel: &mut KernelText,
        axes: &Axes,
        picked: impl Fn(usize) -> bool,
    ) -> Result<(), ScriptError> {
        (0..self.tape.len()).filter(|&n| picked(n)).try_for_each(|n| self.line(kernel, n, axes))
    }

    /// The instructions at full level that these registers need, reductions aside.
    pub fn needed(&self, registers: impl IntoIterator<Item = Reg>) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open: Vec<Reg> = registers.into_iter().collect();
        while let Some(register) = open.pop() {
            let instr = &self.tape[register.0 as usize];
            let is_inner = instr.level == Level::Full && !matches!(instr.code, Code::Reduce(..));
            if is_inner && found.insert(register.0 as usize) {
                open.extend(instr.code.operands());
            }
        }
        found
    }

    /// Writes one instruction.
    fn line(&self, kernel: &mut KernelText, n: usize, axes: &Axes) -> Result<(), ScriptError> {
        let instr = &self.tape[n];
        if let Code::Constant(_) = instr.code {
            return Ok(());
        }
        if !expression::is_written(instr.dtype) {
            return Err(ScriptError::DType { dtype: instr.dtype });
        }
        let value = self.value(kernel, instr, axes)?;
        kernel.line(&format!("const {}={value};", self.names[n]));
        Ok(())
    }

    fn value(&self, kernel: &mut KernelText, instr: &Instr, axes: &Axes) -> Result<String, ScriptError> {
        let dtype = |register: Reg| self.tape[register.0 as usize].dtype.register();
        let found = match &instr.code {
            Code::Load(buffer, view) => Some(element(&kernel.buffer(*buffer), view, axes, "")),
            Code::Take { buffer, view, position, stride, size, .. } => {
                let (at, most) = (self.name(*position), size.saturating_sub(1));
                let along = format!("+{stride}*clamped({at},0,{most})");
                Some(element(&kernel.buffer(*buffer), view, axes, &along))
            }
            Code::Position(view) => Some(index(view, axes).0),
            Code::Unary(op, x) => expression::unary(*op, dtype(*x), self.name(*x)),
            Code::Binary(op, a, b) => expression::binary(*op, dtype(*a), self.name(*a), self.name(*b)),
            Code::Select(condition, a, b) => {
                Some(format!("{}?{}:{}", self.name(*condition), self.name(*a), self.name(*b)))
            }
            Code::Cast(_, to) if !expression::is_written(*to) => {
                return Err(ScriptError::DType { dtype: *to });
            }
            Code::Cast(x, to) => expression::cast(dtype(*x), *to, self.name(*x)),
            Code::Accumulator => Some("product".into()),
            Code::Carry(n) => Some(format!("carry{n}")),
            Code::Random(key, stream, view) => Some(self.random(kernel, key, *stream, (view, axes))?),
            Code::Parameter(_) => return Err(kernel.refused("a number that is given with a run")),
            Code::Constant(_) | Code::Reduce(..) => None,
        };
        found.ok_or_else(|| kernel.refused("an op on this dtype"))
    }

    /// Random bits. The key is known, so that a run can count on from the one before.
    fn random(
        &self,
        kernel: &mut KernelText,
        key: &[Reg; 4],
        stream: Option<Reg>,
        (view, axes): (&View, &Axes),
    ) -> Result<String, ScriptError> {
        let known = |register: &Reg| match self.tape[register.0 as usize].code {
            Code::Constant(scalar) => Some(scalar.cast(DType::U32).as_i64() as u64),
            _ => None,
        };
        let (Some(low), Some(up)) = (known(&key[2]), known(&key[3])) else {
            return Err(kernel.refused("a random number at a computed place"));
        };
        kernel.counters.insert(up << 32 | low);
        let names = key.map(|register| self.name(register)).join(",");
        let stream = stream.map_or("0", |register| self.name(register));
        let (at, when) = index(view, axes);
        let at = when.map_or(at.clone(), |when| format!("{when}?{at}:0"));
        Ok(format!("random({names},{stream},{at})"))
    }
}

/// An element of a buffer, zero where there is none.
fn element(buffer: &str, view: &View, axes: &Axes, along: &str) -> String {
    let (at, when) = index(view, axes);
    let element = format!("{buffer}[{at}{along}]");
    when.map_or(element.clone(), |when| format!("{when}?{element}:0"))
}
