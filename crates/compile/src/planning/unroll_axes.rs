//! Unrolls tiny axes of pointwise kernels whose conditions depend on them.
//!
//! The gradient of a pooling selects, at every position of a window, by the contents of the whole window. In a
//! kernel over all positions, each of them would look at all the others. With the positions of a window
//! unrolled, shared values are loaded and computed once, and most conditions are known at compile time.

use std::collections::HashMap;

use farad_ir::{Binary, DType, Reduce, Scalar};

use super::limits;
use crate::program::{Code, Fused, Guard, Instr, Level, ProgramBuffer, Reg, Store, View};

/// The kernel with its tiny axes unrolled, if that shares work.
pub fn unroll(kernel: Fused, buffers: &[ProgramBuffer]) -> Fused {
    let mut kernel = kernel;
    while let Some(axis) = (0..kernel.axes.len()).find(|&axis| gains(&kernel, axis, buffers)) {
        match without(&kernel, axis) {
            Some(smaller) => kernel = smaller,
            None => break,
        }
    }
    kernel
}

/// Splits a kernel that only sums values that it also writes into two: one without the sums and with its tiny
/// axes unrolled, and one that sums what the first wrote. `None` if that shares no work.
pub fn apart(kernel: &Fused, buffers: &[ProgramBuffer]) -> Option<[Fused; 2]> {
    let full = |store: &&Store| kernel.tape[store.value.0 as usize].level == Level::Full;
    let (written, sums): (Vec<&Store>, Vec<&Store>) = kernel.stores.iter().partition(full);
    let ([whole], false) = (&written[..], sums.is_empty()) else { return None };
    let sums_it = |instr: &Instr| match instr.code {
        Code::Reduce(reduce, x) => reduce == Reduce::Sum && x == whole.value,
        _ => true,
    };
    let plain = buffers[whole.buffer.0 as usize].dtype == DType::F32 && kernel.tape.iter().all(sums_it);
    if !plain || kernel.outer == kernel.axes.len() {
        return None;
    }
    let first = Fused { outer: kernel.axes.len(), stores: vec![(*whole).clone()], ..kernel.clone() };
    let mut first = first.swept();
    first.tape.iter_mut().for_each(|instr| instr.level = Level::Full);
    let unrolled = unroll(first.clone(), buffers);
    if unrolled == first || first.tape.iter().any(|instr| matches!(instr.code, Code::Reduce(..))) {
        return None;
    }
    let mut second = Fused { stores: sums.into_iter().cloned().collect(), ..kernel.clone() };
    second.tape[whole.value.0 as usize].code = Code::Load(whole.buffer, whole.view.clone());
    Some([unrolled, second.swept()])
}

impl Fused {
    /// The kernel without instructions that no store needs.
    fn swept(mut self) -> Fused {
        let tape = UnrolledTape { instrs: std::mem::take(&mut self.tape), known: HashMap::new() };
        self.tape = tape.sweep(&mut self.stores);
        self
    }
}

/// Whether conditions depend on an axis that can be unrolled.
fn gains(kernel: &Fused, axis: usize, buffers: &[ProgramBuffer]) -> bool {
    let tiny = (2..=limits::UNROLLED_AXIS).contains(&kernel.axes[axis]) && kernel.outer == kernel.axes.len();
    let depends = |instr: &Instr| {
        instr.code.view().is_some_and(|view| {
            let guarded = view.guards.iter().any(|guard| guard.coefficients[axis] != 0);
            guarded || matches!(instr.code, Code::Position(_)) && view.strides[axis] != 0
        })
    };
    let loaded = |store: &Store| kernel.tape.iter().any(|instr| instr.code.buffer() == Some(store.buffer));
    // What shares a word is written together or not at all.
    let is_f16 = |store: &Store| {
        buffers[store.buffer.0 as usize].dtype.size() < 4 && store.view.strides[axis].abs() == 1
    };
    tiny && kernel.axes.len() > 1
        && kernel.tape.iter().any(depends)
        && !kernel.stores.iter().any(|store| loaded(store) || is_f16(store))
}

/// The kernel with one axis unrolled; `None` if it becomes too long or shares nothing.
fn without(kernel: &Fused, axis: usize) -> Option<Fused> {
    let size = kernel.axes[axis];
    let mut tape = UnrolledTape::default();
    let mut stores = Vec::new();
    for place in 0..size as i64 {
        let mut registers: Vec<Reg> = Vec::with_capacity(kernel.tape.len());
        for instr in &kernel.tape {
            let mut code = instr.code.renumbered(|reg| registers[reg.0 as usize]);
            if let Some(view) = code.view_mut() {
                fix(view, axis, place);
            }
            registers.push(tape.add(code, instr.dtype));
        }
        for store in &kernel.stores {
            let mut view = store.view.clone();
            fix(&mut view, axis, place);
            stores.push(Store { view, value: registers[store.value.0 as usize], ..store.clone() });
        }
    }
    let mut axes = kernel.axes.clone();
    axes.remove(axis);
    let kept = tape.sweep(&mut stores);
    // If nothing is shared, the tape would only get longer.
    let gain = kept.len() <= limits::UNROLLED_INSTRUCTIONS && 4 * kept.len() < 3 * size * kernel.tape.len();
    gain.then_some(Fused { outer: axes.len(), axes, tape: kept, stores })
}

/// Fixes one axis of a view at a position, and removes the axis.
fn fix(view: &mut View, axis: usize, place: i64) {
    view.offset += place * view.strides.remove(axis);
    for Guard { coefficients, offset, .. } in &mut view.guards {
        *offset += place * coefficients.remove(axis);
    }
}

/// A tape under construction, without duplicate instructions and without those whose result is known.
#[derive(Default)]
struct UnrolledTape {
    instrs: Vec<Instr>,
    known: HashMap<(Code, DType), Reg>,
}

impl UnrolledTape {
    fn add(&mut self, code: Code, dtype: DType) -> Reg {
        let code = match self.simplified(code, dtype) {
            Ok(code) => code,
            Err(reg) => return reg,
        };
        let next = Reg(self.instrs.len() as u32);
        let reg = *self.known.entry((code.clone(), dtype)).or_insert(next);
        if reg == next {
            self.instrs.push(Instr { code, dtype, level: Level::Full });
        }
        reg
    }

    fn constant(&self, reg: Reg) -> Option<f64> {
        match &self.instrs[reg.0 as usize].code {
            Code::Constant(scalar) => Some(scalar.as_f64()),
            _ => None,
        }
    }

    /// A simpler instruction, or the register that already holds the result.
    fn simplified(&self, code: Code, dtype: DType) -> Result<Code, Reg> {
        let fixed = |list: &[i64]| list.iter().all(|c| *c == 0);
        let of = |value: f64| Code::Constant(Scalar::of(dtype, value));
        Ok(match code {
            Code::Load(buffer, mut view) => {
                let (known, open) = view
                    .guards
                    .into_iter()
                    .partition(|guard| fixed(&guard.coefficients) && guard.divisor == 1 && guard.stride == 0);
                let known: Vec<Guard> = known;
                if known.iter().any(|guard| !(0..guard.size).contains(&guard.offset)) {
                    return Ok(of(0.0));
                }
                view.guards = open;
                Code::Load(buffer, view)
            }
            Code::Position(view) if fixed(&view.strides) => of(view.offset as f64),
            Code::Binary(op, a, b) => match (op, self.constant(a), self.constant(b)) {
                (Binary::GreaterEqual, Some(x), Some(y)) => of(f64::from(u8::from(x >= y))),
                (Binary::Less, Some(x), Some(y)) => of(f64::from(u8::from(x < y))),
                (Binary::And, Some(x), _) if dtype == DType::Bool => {
                    return if x != 0.0 { Err(b) } else { Ok(of(0.0)) };
                }
                (Binary::And, _, Some(y)) if dtype == DType::Bool => {
                    return if y != 0.0 { Err(a) } else { Ok(of(0.0)) };
                }
                (Binary::Add, Some(0.0), _) => return Err(b),
                (Binary::Add, _, Some(0.0)) => return Err(a),
                _ => Code::Binary(op, a, b),
            },
            Code::Select(c, a, b) => match self.constant(c) {
                Some(truth) => return Err(if truth != 0.0 { a } else { b }),
                None if a == b => return Err(a),
                None => Code::Select(c, a, b),
            },
            other => other,
        })
    }

    /// The instructions that the stores need, in order; updates the stores' registers.
    fn sweep(self, stores: &mut [Store]) -> Vec<Instr> {
        let mut needed = vec![false; self.instrs.len()];
        stores.iter().for_each(|store| needed[store.value.0 as usize] = true);
        for at in (0..self.instrs.len()).rev() {
            if needed[at] {
                self.instrs[at].code.operands().iter().for_each(|reg| needed[reg.0 as usize] = true);
            }
        }
        let mut number = vec![Reg(0); self.instrs.len()];
        let mut kept: Vec<Instr> = Vec::new();
        for (at, instr) in self.instrs.into_iter().enumerate().filter(|(at, _)| needed[*at]) {
            number[at] = Reg(kept.len() as u32);
            kept.push(Instr { code: instr.code.renumbered(|reg| number[reg.0 as usize]), ..instr });
        }
        stores.iter_mut().for_each(|store| store.value = number[store.value.0 as usize]);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BufferId, Place};

    fn buffer(dtype: DType, len: usize) -> ProgramBuffer {
        ProgramBuffer { place: Place::Input(0), offset: 0, dtype, len }
    }

    fn view(offset: i64, strides: [i64; 2], guards: Vec<Guard>) -> View {
        View { offset, strides: strides.to_vec(), guards }
    }

    /// Over `[5, 2]`: the sum of both elements of a window (the same at both positions), plus a third number at
    /// the first position only.
    fn windows() -> Fused {
        let at = |offset| Code::Load(BufferId(0), view(offset, [2, 0], vec![]));
        let first = Guard { coefficients: vec![0, 1], offset: 0, divisor: 1, size: 1, stride: 0 };
        let codes = [
            at(0),
            at(1),
            Code::Binary(Binary::Add, Reg(0), Reg(1)),
            Code::Load(BufferId(1), view(0, [1, 0], vec![first])),
            Code::Binary(Binary::Add, Reg(2), Reg(3)),
        ];
        let instr = |code| Instr { code, dtype: DType::F32, level: Level::Full };
        let store = Store { buffer: BufferId(2), value: Reg(4), view: view(0, [2, 1], vec![]) };
        let tape = codes.into_iter().map(instr).collect();
        Fused { axes: vec![5, 2], outer: 2, tape, stores: vec![store] }
    }

    #[test]
    fn places_of_a_window_share_what_they_read() {
        let buffers = [10, 5, 10].map(|len| buffer(DType::F32, len));
        let kernel = unroll(windows(), &buffers);
        assert_eq!((kernel.axes, kernel.outer, kernel.tape.len()), (vec![5], 1, 5));
        let stores: Vec<(i64, u32)> = kernel.stores.iter().map(|s| (s.view.offset, s.value.0)).collect();
        // The second position adds nothing: its value is the sum of the window.
        assert_eq!(stores, [(0, 4), (1, 2)]);
    }

    #[test]
    fn halves_of_a_word_and_updates_in_place_are_left_alone() {
        let buffers = [buffer(DType::F32, 10), buffer(DType::F32, 5), buffer(DType::F16, 10)];
        assert_eq!(unroll(windows(), &buffers), windows());
        let mut kernel = windows();
        kernel.stores[0].buffer = BufferId(0);
        let buffers = [10, 5, 10].map(|len| buffer(DType::F32, len));
        assert_eq!(unroll(kernel.clone(), &buffers), kernel);
    }
}
