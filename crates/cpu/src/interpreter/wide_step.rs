//! Instructions on 64-bit registers: the same as those on 32-bit ones, with elements of twice the size.
//!
//! Invariant: a register's pointer is aligned to its elements. Start at `TileMachine::step_wide`.

use crate::interpreter::bytecode::{BytecodeOp, Opcode, SourceWords};
use crate::interpreter::nest::{Take, TileShape};
use crate::interpreter::tile_machine::{Tile, TileMachine, TilePart};
use crate::memory::element_runs;
use crate::memory::view_access::DomainRange;

impl<'a> TileMachine<'a> {
    /// Runs an instruction that reads or writes 64-bit registers.
    pub(super) fn step_wide(&mut self, op: &BytecodeOp, range: DomainRange, tile: Tile, part: TilePart) {
        let n = range.count;
        let bindings = self.context.bindings;
        match op.code {
            Opcode::Constant(bits) => self.wide_output(op, 1)[0] = bits,
            Opcode::Parameter(i) => {
                let words = self.context.parameters;
                self.wide_output(op, 1)[0] = words[i] as u64 | (words[i + 1] as u64) << 32;
            }
            Opcode::Alias(i) => {
                let touch = &self.nest.touches[i];
                self.registers[op.out] =
                    bindings[touch.buffer].wide_words(touch.access.first(range), n).cast();
            }
            Opcode::Load(i) => {
                let (touch, out) = (&self.nest.touches[i], self.wide_output(op, n));
                for (at, range) in self.pieces(range, tile, part) {
                    let out = &mut out[at..at + range.count];
                    // SAFETY: the program says that this kernel may read the buffer.
                    unsafe { element_runs::load_wide(&touch.access, range, 0, bindings[touch.buffer], out) };
                }
            }
            Opcode::Store(i) => {
                let (touch, values) = (&self.nest.touches[i], self.wide_input(op.a, n));
                for (at, range) in self.pieces(range, tile, part) {
                    let values = &values[at..at + range.count];
                    // SAFETY: views of stores are one-to-one, so that no other tile writes here.
                    unsafe { element_runs::store_wide(&touch.access, range, bindings[touch.buffer], values) };
                }
            }
            Opcode::SpreadRows => {
                let (values, out) = (self.wide_input(op.a, tile.rows), self.wide_output(op, n));
                for (row, &value) in out.chunks_exact_mut(tile.columns).zip(values) {
                    row.fill(value);
                }
            }
            Opcode::SpreadColumns => {
                let (values, layout) = (self.wide_input(op.a, tile.rows), &self.nest.layout);
                let out = self.wide_output(op, layout.rows * layout.columns);
                out.chunks_exact_mut(tile.rows).for_each(|row| row.copy_from_slice(values));
            }
            Opcode::Reduce(i) => self.reduce_wide(i, self.wide_input(op.a, n), tile),
            Opcode::Take(i) => self.take_wide(&self.nest.takes[i], op, range, tile, part),
            Opcode::Copy => self.wide_output(op, n).copy_from_slice(self.wide_input(op.a, n)),
            Opcode::Keep => {}
            // SAFETY: registers hold a tile, and slots keep outputs apart from inputs.
            _ => unsafe { (self.lanes.apply_wide)(op, self.registers, n) },
        }
    }

    fn wide_input(&self, source: SourceWords, n: usize) -> &'a [u64] {
        let start = self.registers[source.register].cast::<u64>();
        debug_assert!(start.is_aligned());
        // SAFETY: a register holds a tile's elements, which nothing writes while an instruction reads them.
        unsafe { std::slice::from_raw_parts(start, if source.scalar { 1 } else { n }) }
    }

    fn wide_output(&self, op: &BytecodeOp, n: usize) -> &'a mut [u64] {
        let start = self.registers[op.out].cast::<u64>();
        debug_assert!(start.is_aligned());
        // SAFETY: a register holds a tile's elements; an instruction has one output, which overlaps none of its
        // inputs.
        unsafe { std::slice::from_raw_parts_mut(start, n) }
    }

    fn reduce_wide(&self, accumulator: usize, words: &[u64], tile: Tile) {
        let mut state = self.state(accumulator, tile.rows);
        // SAFETY: these lanes are available.
        unsafe {
            match self.nest.layout.shape {
                TileShape::Rows => {
                    (self.lanes.reduce_wide_rows)(&mut state, words, tile.columns, tile.first_column)
                }
                _ => (self.lanes.reduce_wide_columns)(&mut state, words, tile.rows, tile.first_column),
            }
        }
    }

    /// Reads 64-bit elements at positions that are in 32-bit registers.
    fn take_wide(&self, take: &Take, op: &BytecodeOp, range: DomainRange, tile: Tile, part: TilePart) {
        let out = self.wide_output(op, range.count);
        let binding = self.context.bindings[take.touch.buffer];
        let load = |range: DomainRange, word: u32, out: &mut [u64]| match self.position(take, word) {
            // SAFETY: the program says that this kernel may read the buffer.
            Some(position) => unsafe {
                element_runs::load_wide(&take.touch.access, range, position * take.stride, binding, out)
            },
            None => out.fill(0),
        };
        if take.by_row {
            let positions = self.input(op.a, tile.rows);
            for (row, (out, &word)) in out.chunks_exact_mut(tile.columns).zip(positions).enumerate() {
                let start = range.start + row * self.nest.layout.inner_len;
                load(DomainRange { start, count: tile.columns, ..range }, word, out);
            }
        } else if op.a.scalar {
            let word = self.input(op.a, 1)[0];
            self.pieces(range, tile, part)
                .for_each(|(at, range)| load(range, word, &mut out[at..at + range.count]));
        } else {
            let positions = self.input(op.a, range.count);
            for (at, range) in self.pieces(range, tile, part) {
                let shifts = |i: usize| self.position(take, positions[at + i]).map(|p| p * take.stride);
                let out = &mut out[at..at + range.count];
                // SAFETY: as above.
                unsafe { element_runs::load_wide_shifted(&take.touch.access, range, shifts, binding, out) };
            }
        }
    }
}
