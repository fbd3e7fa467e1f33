//! Runs bytecode on one tile after another, on one thread.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::code::{Code, Op, Source};
use crate::lanes::{Lanes, lanes};
use crate::nest::{Nest, Random, Shape, Take};
use crate::reduction::{STATE_WORDS, State};
use crate::scratch::Scratch;
use crate::slots::Place;
use crate::storage::{self, Binding};
use crate::view::{MAX_AXES, Range};

/// Bad indices met during a run, by site: the largest of them, so that it does not matter who met one first.
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

/// What a kernel sees of the run that it is part of.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Where buffers are.
    pub bindings: &'a [Binding],
    /// The run's numbers.
    pub parameters: &'a [u32],
    /// Where bad indices go.
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

/// Scratch memory made ready for a kernel.
pub struct Machine<'a> {
    nest: &'a Nest,
    context: Context<'a>,
    lanes: &'static Lanes,
    base: *mut u32,
    registers: &'a mut [*mut u32],
}

impl<'a> Machine<'a> {
    /// A machine whose kept words are those of `of`, or, without one, made by the prelude.
    pub fn new(nest: &'a Nest, context: Context<'a>, scratch: &'a mut Scratch, of: Option<&Kept>) -> Machine<'a> {
        let base = scratch.words(nest.words);
        scratch.registers.clear();
        scratch.registers.extend(nest.places.iter().map(|place| match place {
            // SAFETY: places lie inside the nest's words.
            Place::Scratch(offset) => unsafe { base.add(*offset) },
            Place::Slot | Place::Memory => base,
        }));
        let mut machine = Machine { nest, context, lanes: lanes(), base, registers: &mut scratch.registers };
        match of {
            // SAFETY: both have room for the kept words, in different scratch memories.
            Some(Kept(from)) => unsafe { base.copy_from_nonoverlapping(*from, nest.kept) },
            None => machine.run(&nest.prelude, Tile { first_row: 0, rows: 1, first_column: 0, columns: 1 }, Part::Uniform),
        }
        machine
    }

    /// The words that other machines start from.
    pub fn kept(&self) -> Kept {
        Kept(self.base)
    }

    /// Runs what is due before pass `number`, once for each of the tile's outer positions.
    pub fn outer(&mut self, number: usize, tile: Tile) {
        if let Some(ops) = self.nest.outer.get(number) {
            self.run(ops, tile, Part::Outer);
        }
    }

    /// Writes outer values.
    pub fn finish(&mut self, tile: Tile) {
        self.run(&self.nest.finish, tile, Part::Outer);
    }

    /// Runs a pass on one tile.
    pub fn full(&mut self, pass: usize, tile: Tile) {
        self.run(&self.nest.passes[pass].ops, tile, Part::Full);
    }

    /// The state of a reduction over `rows` outer positions.
    pub fn state(&self, accumulator: usize, rows: usize) -> State<'a> {
        let accumulated = self.nest.accumulators[accumulator];
        let offset = self.nest.kept + accumulator * STATE_WORDS * self.nest.layout.rows;
        // SAFETY: scratch has this room behind the kept words; a state is used before the next is asked for.
        unsafe { State::at(self.base.add(offset), rows, accumulated.reduce, accumulated.kind) }
    }

    /// Sets the reductions of a pass to nothing.
    pub fn reset(&mut self, pass: usize, rows: usize) {
        self.nest.passes[pass].reductions.clone().for_each(|i| self.state(i, rows).reset());
    }

    /// Moves the results of a pass to their registers.
    pub fn complete(&mut self, pass: usize, rows: usize) {
        for i in self.nest.passes[pass].reductions.clone() {
            let out = self.registers[self.nest.accumulators[i].out];
            // SAFETY: an outer register has a word for each row, apart from the state.
            self.state(i, rows).finish(unsafe { std::slice::from_raw_parts_mut(out, rows) });
        }
    }

    fn run(&mut self, ops: &'a [Op], tile: Tile, part: Part) {
        let mut fixed = [0; MAX_AXES];
        let layout = &self.nest.layout;
        let (start, count) = match (part, layout.shape) {
            (Part::Uniform, _) => (0, 1),
            (Part::Outer, _) => (tile.first_row, tile.rows),
            (Part::Full, Shape::Rows) => (tile.first_row * layout.inner_len + tile.first_column, tile.rows * tile.columns),
            (Part::Full, Shape::Block) => (tile.first_column * layout.outer_len, tile.rows * tile.columns),
            (Part::Full, Shape::Columns) => (tile.first_row, tile.rows),
        };
        let held = if part == Part::Full && layout.shape == Shape::Columns {
            let mut rest = tile.first_column;
            for axis in (layout.outer..layout.sizes.len()).rev() {
                fixed[axis - layout.outer] = rest % layout.sizes[axis];
                rest /= layout.sizes[axis];
            }
            &fixed[..layout.sizes.len() - layout.outer]
        } else {
            &fixed[..0]
        };
        let range = Range { start, count, fixed: held };
        for op in ops {
            self.step(op, range, tile);
        }
    }

    #[inline]
    fn step(&mut self, op: &Op, range: Range, tile: Tile) {
        let n = range.count;
        let bindings = self.context.bindings;
        match op.code {
            // SAFETY: every register that is written has room for one word.
            Code::Constant(word) => unsafe { self.registers[op.out].write(word) },
            // SAFETY: as above.
            Code::Parameter(i) => unsafe { self.registers[op.out].write(self.context.parameters[i]) },
            Code::Alias(i) => {
                let touch = &self.nest.touches[i];
                self.registers[op.out] = bindings[touch.buffer].words(touch.access.first(range), n);
            }
            Code::Load(i) => {
                let touch = &self.nest.touches[i];
                let out = self.output(op, n);
                // SAFETY: the program says that this kernel may read the buffer.
                unsafe { storage::load(&touch.access, range, 0, bindings[touch.buffer], out) };
            }
            Code::Store(i) => {
                let touch = &self.nest.touches[i];
                // SAFETY: views of stores are one-to-one, so that no other tile writes here.
                unsafe { storage::store(&touch.access, range, bindings[touch.buffer], self.input(op.a, n)) };
            }
            Code::SpreadRows => {
                let (values, out) = (self.input(op.a, tile.rows), self.output(op, n));
                for (row, &value) in out.chunks_exact_mut(tile.columns).zip(values) {
                    row.fill(value);
                }
            }
            Code::SpreadColumns => {
                let (values, layout) = (self.input(op.a, tile.rows), &self.nest.layout);
                let out = self.output(op, layout.rows * layout.columns);
                out.chunks_exact_mut(tile.rows).for_each(|row| row.copy_from_slice(values));
            }
            Code::Reduce(i) => self.reduce(i, self.input(op.a, n), tile),
            Code::Take(i) => self.take(&self.nest.takes[i], op, range, tile),
            Code::Position(i) => {
                let out = self.output(op, n);
                self.nest.touches[i].access.runs(range, |run, _| {
                    for (i, out) in out[run.at..run.at + run.len].iter_mut().enumerate() {
                        *out = (run.index + run.stride * i as i64) as u32;
                    }
                });
            }
            Code::Random(i) => self.random(&self.nest.randoms[i], op, range),
            Code::Keep => {}
            // SAFETY: registers hold a tile, and slots keep outputs apart from inputs.
            _ => unsafe { (self.lanes.apply)(op, self.registers, n) },
        }
    }

    fn input(&self, source: Source, n: usize) -> &'a [u32] {
        // SAFETY: a register holds a tile's words, which nothing writes while an instruction reads them.
        unsafe { std::slice::from_raw_parts(self.registers[source.register], if source.scalar { 1 } else { n }) }
    }

    fn output(&self, op: &Op, n: usize) -> &'a mut [u32] {
        // SAFETY: a register holds a tile's words; an instruction has one output, apart from its inputs.
        unsafe { std::slice::from_raw_parts_mut(self.registers[op.out], n) }
    }

    fn reduce(&self, accumulator: usize, words: &[u32], tile: Tile) {
        let mut state = self.state(accumulator, tile.rows);
        // SAFETY: these lanes are available.
        unsafe {
            match self.nest.layout.shape {
                Shape::Rows => (self.lanes.reduce_rows)(&mut state, words, tile.columns, tile.first_column),
                _ => (self.lanes.reduce_columns)(&mut state, words, tile.rows, tile.first_column),
            }
        }
    }

    /// A position brought into range, reported if it was not; `None` where there are no positions.
    fn position(&self, take: &Take, word: u32) -> Option<i64> {
        let position = if take.signed { word as i32 as i64 } else { word as i64 };
        if position < 0 || position >= take.size as i64 {
            self.context.faults.record(take.site, position);
        }
        let last = (take.size as i64).checked_sub(1).filter(|&last| last >= 0)?;
        Some(position.clamp(0, last))
    }

    fn take(&self, take: &Take, op: &Op, range: Range, tile: Tile) {
        let out = self.output(op, range.count);
        let binding = self.context.bindings[take.touch.buffer];
        let load = |range: Range, word: u32, out: &mut [u32]| match self.position(take, word) {
            // SAFETY: the program says that this kernel may read the buffer.
            Some(position) => unsafe {
                storage::load(&take.touch.access, range, position * take.stride, binding, out)
            },
            None => out.fill(0),
        };
        if take.by_row {
            let positions = self.input(op.a, tile.rows);
            for (row, (out, &word)) in out.chunks_exact_mut(tile.columns).zip(positions).enumerate() {
                let start = range.start + row * tile.columns;
                load(Range { start, count: tile.columns, ..range }, word, out);
            }
        } else if op.a.scalar {
            load(range, self.input(op.a, 1)[0], out);
        } else {
            let positions = self.input(op.a, range.count);
            let shifts = |i: usize| self.position(take, positions[i]).map(|p| p * take.stride);
            // SAFETY: as above.
            unsafe { storage::load_shifted(&take.touch.access, range, shifts, binding, out) };
        }
    }

    fn random(&self, random: &Random, op: &Op, range: Range) {
        let out = self.output(op, range.count);
        let key = random.key.map(|source| self.input(source, range.count));
        let word = |which: usize, i: usize| if random.key[which].scalar { key[which][0] } else { key[which][i] };
        let steady = random.key.iter().all(|source| source.scalar);
        random.access.runs(range, |run, _| {
            if steady && run.stride == 1 {
                let (seed, counter) = ([word(0, 0), word(1, 0)], [word(2, 0), word(3, 0)]);
                // SAFETY: these lanes are available.
                unsafe { (self.lanes.random)(seed, counter, run.index as u32, &mut out[run.at..run.at + run.len]) };
                return;
            }
            for i in 0..run.len {
                let at = run.at + i;
                let (seed, counter) = ([word(0, at), word(1, at)], [word(2, at), word(3, at)]);
                let element = (run.index + run.stride * i as i64) as u32;
                out[at] = farad_ir::philox::bits(seed, counter, element);
            }
        });
    }
}

/// Words that machines of one kernel share.
#[derive(Clone, Copy)]
pub struct Kept(*mut u32);

// SAFETY: they are read by machines on other threads while their owner waits.
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

/// Which instructions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Uniform,
    Outer,
    Full,
}
