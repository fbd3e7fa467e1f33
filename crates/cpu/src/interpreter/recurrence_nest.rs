//! Recurrences as nests: a tile of elements goes through all loop positions while its state stays in cache.
//!
//! Inner positions are the loop's positions, one column each. Carries are registers that are kept from column
//! to column. Each next value is computed into its own register, and the two are swapped.

use farad_compile::program::{Code as TapeCode, Fused, Recurrence, Store, View};

use crate::error::Error;
use crate::heuristics::fused::{LEAST_RECURRENCE, RECURRENCE_TILE, RECURRENCE_TILES};
use crate::interpreter::bytecode::{BytecodeOp, Opcode, RegisterId, SourceWords};
use crate::interpreter::dependence::{self, Dependence};
use crate::interpreter::emit_nest::Emitter;
use crate::interpreter::nest::{InnerSweep, Layout, Nest, Spec, TileShape, check_views};
use crate::interpreter::register_slots::RegisterPlace;
use crate::memory::view_access::{self, MAX_AXES};

/// Plans a recurrence over buffers of these specs.
pub fn plan(recurrence: &Recurrence, specs: &[Spec], label: &str) -> Result<Nest, Error> {
    let mut recurrence = recurrence.clone();
    let elements = recurrence.axes.len() - 1;
    check_views(&fused(&recurrence, elements), specs, label)?;
    for (buffer, view) in recurrence.carries.iter().flat_map(|carry| &carry.last) {
        view_access::check(view, &recurrence.axes, specs[buffer.0 as usize].len, label)?;
    }
    let trips = recurrence.trips();
    let axes = recurrence.axes.clone();
    let (axes, outer) = view_access::collapse(&axes, elements, &mut recurrence.views_mut());
    if axes.len() > MAX_AXES {
        return Err(Error::Axes { label: label.into(), axes: axes.len(), most: MAX_AXES });
    }
    recurrence.axes = axes;
    let outer_len: usize = recurrence.axes[..outer].iter().product();
    let layout = Layout {
        shape: TileShape::Columns,
        sizes: recurrence.axes.clone(),
        outer,
        outer_len,
        inner_len: trips,
        rows: outer_len
            .div_ceil(RECURRENCE_TILES)
            .next_multiple_of(16)
            .clamp(LEAST_RECURRENCE, RECURRENCE_TILE)
            .min(outer_len),
        columns: 1,
        resident: false,
        patch: None,
    };
    let fused = fused(&recurrence, outer);
    let mut emitter = Emitter::new(&fused, layout, false, specs);
    emitter.check()?;
    let moves = |view: &View| {
        let along = |list: &[i64]| list[..outer].iter().any(|&c| c != 0);
        along(&view.strides) || view.guards.iter().any(|guard| along(&guard.coefficients))
    };
    emitter.shared = dependence::dependence(&fused, moves).into_iter().map(|depends| !depends).collect();
    for reg in recurrence.carries.iter().flat_map(|carry| [carry.start, carry.next]) {
        emitter.uses[reg.0 as usize] += 1;
    }
    emitter.recur(&recurrence);
    Ok(emitter.finish())
}

/// The recurrence as a fused kernel for the emitter: instructions and the stores at every position. Stores
/// after the last position are handled separately.
fn fused(recurrence: &Recurrence, outer: usize) -> Fused {
    let Recurrence { axes, tape, stores, .. } = recurrence.clone();
    Fused { axes, outer, tape, stores }
}

impl<'a> Emitter<'a> {
    fn recur(&mut self, recurrence: &Recurrence) {
        for carry in &recurrence.carries {
            let start = self.source(carry.start.0 as usize, Dependence::Outer, false);
            let register = self.register(Dependence::Outer, self.wide[start.register]);
            self.outer[0].push(BytecodeOp { a: start, ..BytecodeOp::new(Opcode::Copy, register) });
            self.carried.push(register);
        }
        let fused = self.fused;
        let stores: Vec<&'a Store> = fused.stores.iter().collect();
        self.mark_direct(&stores);
        stores.iter().for_each(|store| self.store(store));
        let nexts: Vec<SourceWords> =
            recurrence.carries.iter().map(|carry| self.full_source(carry.next.0 as usize)).collect();
        for (carry, source) in recurrence.carries.iter().zip(nexts) {
            let register = self.own(carry.next.0 as usize, source);
            self.next.push(register);
        }
        self.done.push(InnerSweep { ops: std::mem::take(&mut self.pass), reductions: 0..0 });
        for (carry, register) in recurrence.carries.iter().zip(self.carried.clone()) {
            let Some((buffer, view)) = &carry.last else { continue };
            let store = Store { buffer: *buffer, value: carry.next, view: view.clone() };
            self.store_value(&store, SourceWords { register, scalar: false }, Dependence::Outer);
        }
    }

    /// A register that holds a next value, and nothing else, until the next position.
    fn own(&mut self, value: usize, source: SourceWords) -> RegisterId {
        let register = source.register;
        let computed = self.levels[value] == Dependence::Full
            && !matches!(self.fused.tape[value].code, TapeCode::Carry(_))
            && !self.next.contains(&register)
            && !self.carried.contains(&register);
        match self.places[register] {
            RegisterPlace::Memory if computed => return register,
            RegisterPlace::Slot if computed => {
                self.places[register] = self.keep(self.layout.rows, self.wide[register]);
                return register;
            }
            _ => {}
        }
        let copy = self.register(Dependence::Outer, self.wide[register]);
        self.pass.push(BytecodeOp { a: source, ..BytecodeOp::new(Opcode::Copy, copy) });
        copy
    }
}
