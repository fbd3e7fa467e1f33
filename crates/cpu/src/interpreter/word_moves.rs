//! Instructions that do the same with registers of 32 and of 64 bits: reading and writing memory, spreading, reducing, copying.
//!
//! Invariant: a register's pointer is aligned to its elements. Start at `TileMachine::moved`.

use crate::interpreter::bytecode::{BytecodeOp, Opcode, SourceWords};
use crate::interpreter::nest::{Take, TileShape};
use crate::interpreter::tile_machine::{Tile, TileMachine, TilePart};
use crate::memory::element_runs::{self, RegisterWord};
use crate::memory::view_access::DomainRange;
use crate::simd::lanes::Lanes;
use crate::simd::reduction::ReductionState;

/// Reduces a tile: its words, the length of a row or a column, and the first column.
type ReduceTile<W> = unsafe fn(&mut ReductionState, &[W], usize, usize);

/// What a tile's registers hold.
pub(super) trait TileWord: RegisterWord {
    /// How tiles of rows are reduced.
    fn reduce_rows(lanes: &Lanes) -> ReduceTile<Self>;
    /// How tiles of columns are reduced.
    fn reduce_columns(lanes: &Lanes) -> ReduceTile<Self>;
}

impl TileWord for u32 {
    fn reduce_rows(lanes: &Lanes) -> ReduceTile<u32> {
        lanes.reduce_rows
    }

    fn reduce_columns(lanes: &Lanes) -> ReduceTile<u32> {
        lanes.reduce_columns
    }
}

impl TileWord for u64 {
    fn reduce_rows(lanes: &Lanes) -> ReduceTile<u64> {
        lanes.reduce_wide_rows
    }

    fn reduce_columns(lanes: &Lanes) -> ReduceTile<u64> {
        lanes.reduce_wide_columns
    }
}

impl<'a> TileMachine<'a> {
    /// Runs an instruction that computes nothing from numbers one by one; whether it was one.
    #[inline]
    pub(super) fn moved<W: TileWord>(
        &mut self,
        op: &BytecodeOp,
        range: &DomainRange,
        tile: &Tile,
        part: TilePart,
    ) -> bool {
        let n = range.count;
        let bindings = self.context.bindings;
        match op.code {
            Opcode::Alias(i) => {
                let touch = &self.nest.touches[i];
                let access = &touch.access;
                let first = if access.is_run() { access.first(*range) } else { access.index(range.start) };
                let words = bindings[touch.buffer].register_words::<W>(first, n);
                self.registers[op.out] = words.cast();
            }
            Opcode::Load(i) => {
                let (touch, out) = (&self.nest.touches[i], self.output::<W>(op, n));
                for (at, range) in self.pieces(*range, tile, part) {
                    let out = &mut out[at..at + range.count];
                    // SAFETY: the program says that this kernel may read the buffer.
                    unsafe { element_runs::load(&touch.access, range, 0, bindings[touch.buffer], out) };
                }
            }
            Opcode::Store(i) => {
                let (touch, values) = (&self.nest.touches[i], self.input::<W>(op.a, n));
                for (at, range) in self.pieces(*range, tile, part) {
                    let values = &values[at..at + range.count];
                    // SAFETY: views of stores are one-to-one, so that no other tile writes here.
                    unsafe { element_runs::store(&touch.access, range, bindings[touch.buffer], values) };
                }
            }
            Opcode::SpreadRows => {
                let (values, out) = (self.input::<W>(op.a, tile.rows), self.output::<W>(op, n));
                for (row, &value) in out.chunks_exact_mut(tile.columns).zip(values) {
                    row.fill(value);
                }
            }
            Opcode::SpreadColumns => {
                let (values, layout) = (self.input::<W>(op.a, tile.rows), &self.nest.layout);
                let out = self.output::<W>(op, layout.rows * layout.columns);
                out.chunks_exact_mut(tile.rows).for_each(|row| row.copy_from_slice(values));
            }
            Opcode::Reduce(i) => self.reduce(i, self.input::<W>(op.a, n), tile),
            Opcode::Take(i) => self.take::<W>(&self.nest.takes[i], op, *range, tile, part),
            Opcode::Copy => self.output::<W>(op, n).copy_from_slice(self.input(op.a, n)),
            Opcode::Keep => {}
            _ => return false,
        }
        true
    }

    /// What an instruction reads.
    pub(super) fn input<W: TileWord>(&self, source: SourceWords, n: usize) -> &'a [W] {
        let start = self.registers[source.register].cast::<W>();
        debug_assert!(start.is_aligned());
        // SAFETY: a register holds a tile's elements, which nothing writes while an instruction reads them.
        unsafe { std::slice::from_raw_parts(start, if source.scalar { 1 } else { n }) }
    }

    /// What an instruction writes.
    pub(super) fn output<W: TileWord>(&self, op: &BytecodeOp, n: usize) -> &'a mut [W] {
        let start = self.registers[op.out].cast::<W>();
        debug_assert!(start.is_aligned());
        // SAFETY: a register holds a tile's elements; an instruction has one output, apart from its inputs.
        unsafe { std::slice::from_raw_parts_mut(start, n) }
    }

    fn reduce<W: TileWord>(&self, accumulator: usize, words: &[W], tile: &Tile) {
        let mut state = self.state(accumulator, tile.rows);
        // SAFETY: these lanes are available.
        unsafe {
            match self.nest.layout.shape {
                TileShape::Rows => {
                    W::reduce_rows(self.lanes)(&mut state, words, tile.columns, tile.first_column)
                }
                _ => W::reduce_columns(self.lanes)(&mut state, words, tile.rows, tile.first_column),
            }
        }
    }

    /// Reads elements at positions, which are registers of 32 bits whatever the elements are.
    fn take<W: TileWord>(
        &self,
        take: &Take,
        op: &BytecodeOp,
        range: DomainRange,
        tile: &Tile,
        part: TilePart,
    ) {
        let out = self.output::<W>(op, range.count);
        let binding = self.context.bindings[take.touch.buffer];
        let load = |range: DomainRange, word: u32, out: &mut [W]| match self.position(take, word) {
            // SAFETY: the program says that this kernel may read the buffer.
            Some(position) => unsafe {
                element_runs::load(&take.touch.access, range, position * take.stride, binding, out)
            },
            None => out.fill(W::default()),
        };
        if take.by_row {
            let positions = self.input::<u32>(op.a, tile.rows);
            for (row, (out, &word)) in out.chunks_exact_mut(tile.columns).zip(positions).enumerate() {
                let start = range.start + row * self.nest.layout.inner_len;
                load(DomainRange { start, count: tile.columns, ..range }, word, out);
            }
        } else if op.a.scalar {
            let word = self.input::<u32>(op.a, 1)[0];
            self.pieces(range, tile, part)
                .for_each(|(at, range)| load(range, word, &mut out[at..at + range.count]));
        } else {
            let positions = self.input::<u32>(op.a, range.count);
            for (at, range) in self.pieces(range, tile, part) {
                let shifts = |i: usize| self.position(take, positions[at + i]).map(|p| p * take.stride);
                let out = &mut out[at..at + range.count];
                // SAFETY: as above.
                unsafe { element_runs::load_shifted(&take.touch.access, range, shifts, binding, out) };
            }
        }
    }
}
