//! Runs bytecode tile by tile, on one thread.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::heuristics::fused::{PATCH_BLOCK, PATCH_ROWS};
use crate::interpreter::bytecode::{BytecodeOp, Opcode};
use crate::interpreter::nest::{Layout, Nest, RandomBits, Take, TileShape};
use crate::interpreter::register_slots::RegisterPlace;
use crate::memory::element_runs::{self, Binding};
use crate::memory::thread_scratch::Scratch;
use crate::memory::view_access::{DomainRange, MAX_AXES, ViewAccess};
use crate::simd::lanes::{Lanes, lanes};
use crate::simd::reduction::{ReductionState, STATE_WORDS};

/// Bad indices found during a run, by site. The largest is kept, so the result does not depend on the order of
/// threads.
#[derive(Debug, Default)]
pub struct Faults(Vec<AtomicI64>);

impl Faults {
    /// No faults at any of `sites` sites.
    pub fn new(sites: usize) -> Faults {
        Faults((0..sites).map(|_| AtomicI64::new(i64::MIN)).collect())
    }

    /// Remembers a bad index.
    #[cold]
    pub fn record(&self, site: usize, index: i64) {
        self.0[site].fetch_max(index, Ordering::Relaxed);
    }

    /// The first site with a bad index.
    pub fn first(&self) -> Option<(usize, i64)> {
        let faults = self.0.iter().map(|fault| fault.load(Ordering::Relaxed));
        faults.enumerate().find(|(_, index)| *index != i64::MIN)
    }
}

/// What a kernel sees of the current run.
#[derive(Clone, Copy)]
pub struct KernelContext<'a> {
    /// The addresses of buffers.
    pub bindings: &'a [Binding],
    /// The run's parameters.
    pub parameters: &'a [u32],
    /// Collects bad indices.
    pub faults: &'a Faults,
}

/// Some outer positions times some inner ones.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    pub first_row: usize,
    pub rows: usize,
    pub first_column: usize,
    pub columns: usize,
}

impl Tile {
    /// The tile that uniform instructions run on.
    const ONE: Tile = Tile { first_row: 0, rows: 1, first_column: 0, columns: 1 };
}

/// Scratch memory prepared for a kernel.
pub struct TileMachine<'a> {
    pub(super) nest: &'a Nest,
    pub(super) context: KernelContext<'a>,
    pub(super) lanes: &'static Lanes,
    base: *mut u32,
    pub(super) registers: &'a mut [*mut u32],
}

impl<'a> TileMachine<'a> {
    /// A machine whose kept words are copied from `of`; without one, the prelude computes them.
    pub fn new(
        nest: &'a Nest,
        context: KernelContext<'a>,
        scratch: &'a mut Scratch,
        of: Option<&SharedWords>,
    ) -> TileMachine<'a> {
        let base = scratch.words(nest.words);
        scratch.registers.clear();
        scratch.registers.extend(nest.places.iter().map(|place| match place {
            // SAFETY: scratch offsets lie inside the nest's words.
            RegisterPlace::Scratch(offset) => unsafe { base.add(*offset) },
            RegisterPlace::Slot | RegisterPlace::Memory => base,
        }));
        let mut machine =
            TileMachine { nest, context, lanes: lanes(), base, registers: &mut scratch.registers };
        match of {
            // SAFETY: both have room for the kept words, in different scratch memories.
            Some(SharedWords(from)) => unsafe { base.copy_from_nonoverlapping(*from, nest.kept) },
            None => {
                machine.run(&nest.prelude, &Tile::ONE, TilePart::Uniform);
                let Layout { rows, columns, outer_len, .. } = nest.layout;
                let tile = Tile { first_row: 0, rows: rows.min(outer_len), first_column: 0, columns };
                machine.run(&nest.steady, &tile, TilePart::Full);
            }
        }
        machine
    }

    /// The kept words, for other machines to copy.
    pub fn kept(&self) -> SharedWords {
        SharedWords(self.base)
    }

    /// Runs the instructions that come before pass `number`, once per outer position of the tile.
    pub fn outer(&mut self, number: usize, tile: &Tile) {
        if let Some(ops) = self.nest.outer.get(number) {
            self.run(ops, tile, TilePart::Outer);
        }
    }

    /// Resets the registers of carries and of their next values to their initial places.
    pub fn settle(&mut self) {
        for register in self.nest.carries.iter().flat_map(|&(carry, next)| [carry, next]) {
            if let RegisterPlace::Scratch(offset) = self.nest.places[register] {
                // SAFETY: scratch offsets lie inside the nest's words.
                self.registers[register] = unsafe { self.base.add(offset) };
            }
        }
    }

    /// Makes the next values the carries of the next position.
    pub fn advance(&mut self) {
        self.nest.carries.iter().for_each(|&(carry, next)| self.registers.swap(carry, next));
    }

    /// Writes outer values.
    pub fn finish(&mut self, tile: &Tile) {
        self.run(&self.nest.finish, tile, TilePart::Outer);
    }

    /// Runs a pass on one tile.
    pub fn full(&mut self, pass: usize, tile: &Tile) {
        self.run(&self.nest.passes[pass].ops, tile, TilePart::Full);
    }

    /// The state of a reduction over `rows` outer positions.
    pub fn state(&self, accumulator: usize, rows: usize) -> ReductionState<'a> {
        let accumulated = self.nest.accumulators[accumulator];
        let offset = self.nest.kept + accumulator * STATE_WORDS * self.nest.layout.rows;
        // SAFETY: scratch has this room after the kept words; a state is no longer used when the next is
        // requested.
        unsafe { ReductionState::at(self.base.add(offset), rows, accumulated.reduce, accumulated.kind) }
    }

    /// Resets the reductions of a pass.
    pub fn reset(&mut self, pass: usize, rows: usize) {
        self.nest.passes[pass].reductions.clone().for_each(|i| self.state(i, rows).reset());
    }

    /// Moves the results of a pass to their registers.
    pub fn complete(&mut self, pass: usize, rows: usize) {
        for i in self.nest.passes[pass].reductions.clone() {
            let accumulator = self.nest.accumulators[i];
            let out = self.registers[accumulator.out];
            if accumulator.kind.is_wide() && !accumulator.reduce.is_index() {
                // SAFETY: as below, with two words for each row.
                let out = unsafe { std::slice::from_raw_parts_mut(out.cast(), rows) };
                self.state(i, rows).finish_wide(out);
                continue;
            }
            // SAFETY: an outer register has a word for each row, which does not overlap the state.
            self.state(i, rows).finish(unsafe { std::slice::from_raw_parts_mut(out, rows) });
        }
    }

    // Tiles and ranges go by reference: a copy would read what was just written in other sizes, and wait for all
    // stores before it.
    fn run(&mut self, ops: &'a [BytecodeOp], tile: &Tile, part: TilePart) {
        if ops.is_empty() {
            return;
        }
        let mut fixed;
        let layout = &self.nest.layout;
        let (start, count) = match (part, layout.shape) {
            (TilePart::Uniform, _) => (0, 1),
            (TilePart::Outer, _) => (tile.first_row, tile.rows),
            (TilePart::Full, TileShape::Rows) => {
                (tile.first_row * layout.inner_len + tile.first_column, tile.rows * tile.columns)
            }
            (TilePart::Full, TileShape::Block) => {
                (tile.first_column * layout.outer_len, tile.rows * tile.columns)
            }
            (TilePart::Full, TileShape::Columns) => (tile.first_row, tile.rows),
        };
        let held = if part == TilePart::Full && layout.shape == TileShape::Columns {
            let mut rest = tile.first_column;
            fixed = [0; MAX_AXES];
            for axis in (layout.outer..layout.sizes.len()).rev() {
                fixed[axis - layout.outer] = rest % layout.sizes[axis];
                rest /= layout.sizes[axis];
            }
            &fixed[..layout.sizes.len() - layout.outer]
        } else {
            &[]
        };
        let range = DomainRange { start, count, fixed: held };
        for op in ops {
            self.step(op, &range, tile, part);
        }
    }

    #[inline]
    fn step(&mut self, op: &BytecodeOp, range: &DomainRange, tile: &Tile, part: TilePart) {
        if op.wide {
            return self.step_wide(op, range, tile, part);
        }
        let n = range.count;
        let bindings = self.context.bindings;
        match op.code {
            // SAFETY: every register that is written has room for one word.
            Opcode::Constant(word) => unsafe { self.registers[op.out].write(word as u32) },
            // SAFETY: as above.
            Opcode::Parameter(i) => unsafe { self.registers[op.out].write(self.context.parameters[i]) },
            Opcode::Load(i) if self.nest.touches[i].turned.is_some() => {
                let touch = &self.nest.touches[i];
                let turned = touch.turned.as_ref().expect("just seen");
                self.load_turned(turned, bindings[touch.buffer], tile, self.output(op, n));
            }
            Opcode::Position(i) => {
                let out = self.output::<u32>(op, n);
                for (at, range) in self.pieces(*range, tile, part) {
                    self.nest.touches[i].access.runs(range, |run| {
                        for (i, out) in out[at + run.at..at + run.at + run.len].iter_mut().enumerate() {
                            *out = (run.index + run.stride * i as i64) as u32;
                        }
                    });
                }
            }
            Opcode::Random(i) => {
                for (at, range) in self.pieces(*range, tile, part) {
                    self.random(&self.nest.randoms[i], op, at, range);
                }
            }
            _ if self.moved::<u32>(op, range, tile, part) => {}
            // SAFETY: registers hold a tile, and slots keep outputs apart from inputs.
            _ => unsafe { (self.lanes.apply)(op, self.registers, n) },
        }
    }

    /// The ranges that a tile consists of, with their offsets in it: a single one, except in patches.
    pub(super) fn pieces<'r>(
        &self,
        range: DomainRange<'r>,
        tile: &Tile,
        part: TilePart,
    ) -> impl Iterator<Item = (usize, DomainRange<'r>)> + use<'r> {
        let layout = &self.nest.layout;
        let patch = layout.patch.is_some() && part == TilePart::Full;
        let (pieces, count) = if patch { (tile.rows, tile.columns) } else { (1, range.count) };
        let pitch = layout.inner_len;
        (0..pieces).map(move |i| (i * count, DomainRange { start: range.start + i * pitch, count, ..range }))
    }

    /// Fills a patch block by block of columns: reads whole cache lines, then writes them transposed.
    fn load_turned(&self, turned: &ViewAccess, binding: Binding, tile: &Tile, out: &mut [u32]) {
        let layout = &self.nest.layout;
        let size = layout.patch.expect("only patches are turned");
        let (outside, row) = (tile.first_row / size, tile.first_row % size);
        let start = |column: usize| (outside * layout.inner_len + tile.first_column + column) * size + row;
        let plain = turned.conditions.is_empty() && binding.dtype.size() == 4 && tile.rows == PATCH_ROWS;
        let index = turned.index(start(0));
        let stride = if tile.columns > 1 { turned.index(start(1)) - index } else { 0 };
        let mut lines = [[0u32; PATCH_ROWS]; PATCH_BLOCK];
        for first in (0..tile.columns).step_by(PATCH_BLOCK) {
            let columns = PATCH_BLOCK.min(tile.columns - first);
            for (i, line) in lines[..columns].iter_mut().enumerate() {
                // SAFETY: the program says that this kernel may read the buffer; words are checked to be in it.
                unsafe {
                    if plain {
                        let from = binding.words(index + stride * (first + i) as i64, PATCH_ROWS);
                        *line = from.cast::<[u32; PATCH_ROWS]>().read();
                    } else {
                        let range = DomainRange { start: start(first + i), count: tile.rows, fixed: &[] };
                        element_runs::load(turned, range, 0, binding, &mut line[..tile.rows]);
                    }
                }
            }
            for (row, out) in out.chunks_exact_mut(tile.columns).enumerate() {
                match <&mut [u32; PATCH_BLOCK]>::try_from(&mut out[first..first + columns]) {
                    Ok(out) => (0..PATCH_BLOCK).for_each(|i| out[i] = lines[i][row]),
                    Err(_) => (0..columns).for_each(|i| out[first + i] = lines[i][row]),
                }
            }
        }
    }

    /// A position brought into range, reported if it was not; `None` where there are no positions.
    pub(super) fn position(&self, take: &Take, word: u32) -> Option<i64> {
        let position = if take.signed { word as i32 as i64 } else { word as i64 };
        if position < 0 || position >= take.size as i64 {
            self.context.faults.record(take.site, position);
        }
        let last = (take.size as i64).checked_sub(1).filter(|&last| last >= 0)?;
        Some(position.clamp(0, last))
    }

    /// Draws the elements of a range, from `at` on in the tile.
    fn random(&self, random: &RandomBits, op: &BytecodeOp, at: usize, range: DomainRange) {
        let out = &mut self.output::<u32>(op, at + range.count)[at..];
        let key = random.key.map(|source| self.input::<u32>(source, at + range.count));
        let word = |which: usize, i: usize| {
            if random.key[which].scalar { key[which][0] } else { key[which][at + i] }
        };
        let streams =
            random.stream.map(|source| (source.scalar, self.input::<u32>(source, at + range.count)));
        let stream = |i: usize| match streams {
            Some((scalar, words)) => words[if scalar { 0 } else { at + i }],
            None => 0,
        };
        let steady = random.key.iter().chain(&random.stream).all(|source| source.scalar);
        random.access.runs(range, |run| {
            if steady && run.stride == 1 {
                let (seed, counter) = ([word(0, 0), word(1, 0)], [word(2, 0), word(3, 0), stream(0)]);
                // SAFETY: these lanes are available.
                unsafe {
                    (self.lanes.random)(seed, counter, run.index as u32, &mut out[run.at..run.at + run.len])
                };
                return;
            }
            for i in 0..run.len {
                let at = run.at + i;
                let (seed, counter) = ([word(0, at), word(1, at)], [word(2, at), word(3, at)]);
                let element = (run.index + run.stride * i as i64) as u32;
                out[at] = farad_ir::philox::bits_within(seed, counter, stream(at), element);
            }
        });
    }
}

/// Words that machines of one kernel share.
#[derive(Clone, Copy)]
pub struct SharedWords(*mut u32);

// SAFETY: they are read by machines on other threads while their owner waits.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

/// Which instructions of a kernel run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TilePart {
    Uniform,
    Outer,
    Full,
}
