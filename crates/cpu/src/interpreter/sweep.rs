//! Drives a planned kernel over its whole space, on one thread or many.
//!
//! With many outer positions, threads divide those. With few outer positions and a long inner space, every pass
//! is cut into chunks whose reductions are combined in order. Both this choice and the chunks depend only on
//! sizes, so results do not depend on the number of threads.

use rayon::prelude::*;

use crate::heuristics::fused::{LEAST_TASK, MANY_TILES, MOST_CHUNKS, MOST_TASK, PARALLEL_WORK, TASKS};
use crate::interpreter::nest::{Layout, Nest};
use crate::interpreter::tile_machine::{KernelContext, SharedWords, Tile, TileMachine};
use crate::memory::thread_scratch;
use crate::simd::reduction::{ReductionState, STATE_WORDS};

impl Nest {
    /// Runs the kernel.
    pub fn run(&self, context: KernelContext) {
        if !self.carries.is_empty() {
            return self.recur(context);
        }
        let layout = &self.layout;
        if layout.outer_len == 0 || (layout.inner_len == 0 && self.accumulators.is_empty()) {
            return;
        }
        thread_scratch::with(|scratch| {
            let mut machine = TileMachine::new(self, context, scratch, None);
            let tiles = self.tiles();
            let work = layout.outer_len.saturating_mul(layout.inner_len).saturating_mul(self.cost);
            let busy = work >= PARALLEL_WORK;
            if busy && tiles < MANY_TILES && layout.inner_len > layout.columns {
                (0..tiles)
                    .for_each(|tile| self.split(&mut machine, context, self.rows_of(tile), work / tiles));
            } else if busy && tiles > 1 && rayon::current_num_threads() > 1 {
                self.share_out(machine.kept(), context, tiles, work);
            } else {
                (0..tiles).for_each(|tile| self.whole(&mut machine, self.rows_of(tile)));
            }
        });
    }

    /// Runs a recurrence: threads divide the elements, and each tile goes through all positions before the
    /// next.
    fn recur(&self, context: KernelContext) {
        let layout = &self.layout;
        thread_scratch::with(|scratch| {
            let mut machine = TileMachine::new(self, context, scratch, None);
            let tiles = self.tiles();
            let work = layout.outer_len.saturating_mul(layout.inner_len).saturating_mul(self.cost);
            if work < PARALLEL_WORK || tiles == 1 || rayon::current_num_threads() == 1 {
                return (0..tiles).for_each(|tile| self.positions(&mut machine, self.rows_of(tile)));
            }
            let kept = machine.kept();
            (0..tiles).into_par_iter().for_each(|tile| {
                thread_scratch::with(|scratch| {
                    let mut machine = TileMachine::new(self, context, scratch, Some(&kept));
                    self.positions(&mut machine, self.rows_of(tile));
                });
            });
        });
    }

    /// All positions of some elements, one after the other.
    fn positions(&self, machine: &mut TileMachine, mut tile: Tile) {
        machine.settle();
        machine.outer(0, &tile);
        tile.columns = 1;
        for column in 0..self.layout.inner_len {
            tile.first_column = column;
            machine.full(0, &tile);
            machine.advance();
        }
        machine.finish(&tile);
    }

    /// Runs the kernel on this thread, for callers that divide the work among threads themselves.
    pub fn run_alone(&self, context: KernelContext) {
        let layout = &self.layout;
        if layout.outer_len == 0 || (layout.inner_len == 0 && self.accumulators.is_empty()) {
            return;
        }
        thread_scratch::with(|scratch| {
            let mut machine = TileMachine::new(self, context, scratch, None);
            (0..self.tiles()).for_each(|tile| self.whole(&mut machine, self.rows_of(tile)));
        });
    }

    fn tiles(&self) -> usize {
        let layout = &self.layout;
        match layout.patch {
            Some(size) => layout.outer_len / size * size.div_ceil(layout.rows),
            None => layout.outer_len.div_ceil(layout.rows),
        }
    }

    fn rows_of(&self, tile: usize) -> Tile {
        let Layout { rows, outer_len, columns, patch, .. } = self.layout;
        // A patch does not extend beyond its axis.
        let size = patch.unwrap_or(outer_len);
        let across = size.div_ceil(rows);
        let first = tile % across * rows;
        Tile {
            first_row: tile / across * size + first,
            rows: rows.min(size - first),
            first_column: 0,
            columns,
        }
    }

    /// All passes over the inner positions of some rows, on this thread.
    fn whole(&self, machine: &mut TileMachine, mut tile: Tile) {
        machine.outer(0, &tile);
        for pass in 0..self.passes.len() {
            machine.reset(pass, tile.rows);
            self.columns(machine, pass, &mut tile, 0, self.layout.inner_len);
            machine.complete(pass, tile.rows);
            machine.outer(pass + 1, &tile);
        }
        machine.finish(&tile);
    }

    /// A pass over inner positions `from..to`.
    fn columns(&self, machine: &mut TileMachine, pass: usize, tile: &mut Tile, from: usize, to: usize) {
        let step = self.layout.columns;
        tile.first_column = from;
        while tile.first_column < to {
            tile.columns = step.min(to - tile.first_column);
            machine.full(pass, tile);
            tile.first_column += step;
        }
    }

    /// Divides outer positions among threads.
    fn share_out(&self, kept: SharedWords, context: KernelContext, tiles: usize, work: usize) {
        let group = (grain(work) / (work / tiles).max(1)).max(1);
        (0..tiles.div_ceil(group)).into_par_iter().for_each(|task| {
            thread_scratch::with(|scratch| {
                let mut machine = TileMachine::new(self, context, scratch, Some(&kept));
                let end = tiles.min((task + 1) * group);
                (task * group..end).for_each(|tile| self.whole(&mut machine, self.rows_of(tile)));
            });
        });
    }

    /// All passes over the inner positions of some rows; threads divide each pass.
    fn split(&self, machine: &mut TileMachine, context: KernelContext, rows: Tile, work: usize) {
        let layout = &self.layout;
        let steps = layout.inner_len.div_ceil(layout.columns);
        let step_work = rows.rows * layout.columns * self.cost / self.passes.len().max(1);
        machine.outer(0, &rows);
        for pass in 0..self.passes.len() {
            let reduces = !self.passes[pass].reductions.is_empty();
            let least = if reduces { steps.div_ceil(MOST_CHUNKS) } else { 1 };
            let chunk = (grain(work) / step_work.max(1)).max(least).max(1) * layout.columns;
            let chunks = layout.inner_len.div_ceil(chunk);
            let kept = machine.kept();
            let one = |task: usize| {
                thread_scratch::with(|scratch| {
                    let mut machine = TileMachine::new(self, context, scratch, Some(&kept));
                    machine.reset(pass, rows.rows);
                    let end = layout.inner_len.min((task + 1) * chunk);
                    self.columns(&mut machine, pass, &mut { rows }, task * chunk, end);
                    self.passes[pass]
                        .reductions
                        .clone()
                        .map(|i| Partial::of(&mut machine.state(i, rows.rows)))
                        .collect()
                })
            };
            let partials: Vec<Vec<Partial>> = if rayon::current_num_threads() > 1 {
                (0..chunks).into_par_iter().map(one).collect()
            } else {
                (0..chunks).map(one).collect()
            };
            machine.reset(pass, rows.rows);
            for mut chunk in partials {
                for (i, partial) in self.passes[pass].reductions.clone().zip(&mut chunk) {
                    let accumulator = self.accumulators[i];
                    let words = partial.0.as_mut_ptr().cast();
                    // SAFETY: the partial has room for the state's words, aligned as `f64`.
                    let mut later =
                        unsafe { ReductionState::at(words, rows.rows, accumulator.reduce, accumulator.kind) };
                    machine.state(i, rows.rows).join(&mut later);
                }
            }
            machine.complete(pass, rows.rows);
            machine.outer(pass + 1, &rows);
        }
        machine.finish(&rows);
    }
}

/// The amount of work per task: several tasks per thread on a small machine, but none too small.
fn grain(work: usize) -> usize {
    (work / TASKS).clamp(LEAST_TASK, MOST_TASK)
}

/// The state of a reduction over part of the inner positions.
struct Partial(Vec<f64>);

impl Partial {
    fn of(state: &mut ReductionState) -> Partial {
        let rows = state.value.len();
        let mut words = vec![0f64; STATE_WORDS / 2 * rows];
        // SAFETY: the vector has room for the state's words.
        let copy = unsafe { ReductionState::at(words.as_mut_ptr().cast(), rows, state.reduce, state.kind) };
        copy.wide.copy_from_slice(state.wide);
        copy.value.copy_from_slice(state.value);
        copy.index.copy_from_slice(state.index);
        Partial(words)
    }
}
