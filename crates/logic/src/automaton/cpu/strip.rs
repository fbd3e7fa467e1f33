//! One step of a strip's cells, forward or backward: what one thread does between two synchronizations.

use std::cell::RefCell;

use pulp::{Arch, Simd, WithSimd};

use super::cell::{CHANNELS, CellCircuits, Slopes};
use super::grid::{CellTile, SeedGrid, Strip, clear_beyond, read_run_by_run};
use super::rows::{CellRow, WIDTH, blend, carve};

thread_local! {
    /// Rows of the current tile; a thread processes one at a time.
    static SCRATCH: RefCell<Vec<CellRow>> = const { RefCell::new(vec![]) };
}

/// A strip of one seed at one step.
pub struct StripWork<'a> {
    pub cell: &'a CellCircuits<'a>,
    pub grid: &'a SeedGrid,
    pub strip: &'a Strip,
    /// The seed's states before the step: one plane per channel, plus padding for copies that overrun.
    pub planes: &'a [f32],
    /// For every cell of a grid whether it fires; `None` if all do.
    pub fired: Option<&'a [f32]>,
}

/// The next states of cells, and their activations if they are kept.
pub struct StripForward<'a> {
    pub work: StripWork<'a>,
    /// Rows of the next states, channel by channel for every tile.
    pub next: &'a mut [CellRow],
    /// One part per tile, or empty.
    pub kept: &'a mut [f32],
}

/// Gradients of a strip.
pub struct StripBackward<'a> {
    pub work: StripWork<'a>,
    /// Gradients of the seed's next states, in planes.
    pub upstream: &'a [f32],
    /// The activations that the forward pass kept, or empty.
    pub kept: &'a [f32],
    /// Gradients of the states in the strip's span of every plane.
    pub spans: &'a mut [f32],
    /// Accumulates the gradients of the coefficients.
    pub sums: &'a mut [[f32; 4]],
}

impl StripForward<'_> {
    /// Runs with the machine's best vector instructions.
    pub fn run(self) {
        SCRATCH.with_borrow_mut(|scratch| Arch::new().dispatch(With(self, scratch)));
    }
}

impl StripBackward<'_> {
    /// Runs with the machine's best vector instructions.
    pub fn run(self) {
        SCRATCH.with_borrow_mut(|scratch| Arch::new().dispatch(With(self, scratch)));
    }
}

/// Work and its scratch memory. The scratch is obtained before the instruction set is chosen, because closures
/// that are not inlined are not compiled for it.
struct With<'a, T>(T, &'a mut Vec<CellRow>);

impl StripWork<'_> {
    /// The range of a tile in the strip's kept activations.
    fn kept_part(&self, tile: &CellTile) -> std::ops::Range<usize> {
        let first = tile.cells.start - self.strip.tiles[0].cells.start;
        let activations = self.cell.topology.activations();
        first * activations..(first + tile.cells.len()) * activations
    }

    /// Gathers the neighborhoods of the tile's cells.
    #[inline(always)]
    fn look(&self, tile: &CellTile, patch: &mut [CellRow]) {
        let flat: &mut [f32] = bytemuck::cast_slice_mut(patch);
        for block in self.cell.blocks() {
            for (n, channel) in (0..9).flat_map(|n| block.clone().map(move |channel| (n, channel))) {
                let to = &mut flat[self.cell.patch_row(channel, n) * WIDTH..];
                let plane = &self.planes[channel * self.grid.plane..];
                read_run_by_run(tile, plane, |place| self.grid.neighbor(place, n), to);
            }
        }
        clear_beyond(tile, patch);
    }

    /// Whether the tile's cells fire.
    fn fire(&self, tile: &CellTile) -> Option<CellRow> {
        self.fired.map(|fired| {
            let mut row = CellRow::ZERO;
            for (to, cell) in row.0.iter_mut().zip(tile.cells.clone()) {
                *to = fired[cell % fired.len()];
            }
            row
        })
    }
}

impl WithSimd for With<'_, StripForward<'_>> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let With(StripForward { work, next, kept }, scratch) = self;
        let topology = work.cell.topology;
        let channels = topology.channels;
        let activations = topology.activations();
        let gates = CHANNELS * topology.perception_gates();
        let lens = [9 * channels + 1, activations + channels, gates];
        let [patch, values, inner] = carve(scratch, lens);
        for (tile, next) in work.strip.tiles.iter().zip(next.chunks_exact_mut(channels)) {
            work.look(tile, patch);
            work.cell.perceive(s, patch, values, inner);
            work.cell.update(s, work.cell.update_layers(), values);
            let (used, new) = values.split_at(activations);
            match work.fire(tile) {
                None => next.copy_from_slice(&new[..channels]),
                Some(fire) => {
                    for (channel, next) in next.iter_mut().enumerate() {
                        blend(s, &fire, &new[channel], &patch[work.cell.patch_row(channel, 4)], next);
                    }
                }
            }
            if !kept.is_empty() {
                let count = tile.cells.len();
                let part = &mut kept[work.kept_part(tile)];
                for (to, row) in part.chunks_exact_mut(count).zip(used) {
                    to.copy_from_slice(&row.0[..count]);
                }
            }
        }
    }
}

impl WithSimd for With<'_, StripBackward<'_>> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let With(StripBackward { work, upstream, kept, spans, sums }, scratch) = self;
        let topology = work.cell.topology;
        let (channels, widest) = (topology.channels, topology.update.iter().max().copied().unwrap_or(0));
        let (looked, gates) = (9 * channels + 1, CHANNELS * topology.perception_gates());
        let lens = [looked, topology.activations(), gates, widest + 1, widest, gates, 9 * channels, channels];
        let [patch, values, inner, above, below, inner_slopes, patch_slopes, own] = carve(scratch, lens);
        spans.fill(0.0);
        for tile in &work.strip.tiles {
            work.look(tile, patch);
            if kept.is_empty() {
                work.cell.perceive(s, patch, values, inner);
                work.cell.update(s, work.cell.update_layers() - 1, values);
            } else {
                work.recall(tile, kept, values);
            }
            work.receive(tile, upstream, above);
            let fire = work.fire(tile);
            if let Some(fire) = &fire {
                for (g, own) in above.iter_mut().zip(own.iter_mut()) {
                    let whole = *g;
                    blend(s, fire, &CellRow::ZERO, &whole, own);
                    blend(s, fire, &whole, &CellRow::ZERO, g);
                }
            }
            let slopes = Slopes { layers: [above, below], inner: inner_slopes, patch: patch_slopes };
            work.cell.back(s, patch, values, inner, slopes, sums);
            if fire.is_some() {
                for (channel, own) in own.iter().enumerate() {
                    let to = &mut patch_slopes[work.cell.patch_row(channel, 4)];
                    to.0.iter_mut().zip(own.0).for_each(|(to, own)| *to += own);
                }
            }
            work.spread(tile, patch_slopes, spans);
        }
    }
}

impl StripWork<'_> {
    /// Loads a tile's values as kept by the forward pass.
    #[inline(always)]
    fn recall(&self, tile: &CellTile, kept: &[f32], values: &mut [CellRow]) {
        let count = tile.cells.len();
        for (row, from) in values.iter_mut().zip(kept[self.kept_part(tile)].chunks_exact(count)) {
            row.0[..count].copy_from_slice(from);
        }
        clear_beyond(tile, values);
    }

    /// Gathers the gradients of a tile's next states.
    #[inline(always)]
    fn receive(&self, tile: &CellTile, upstream: &[f32], to: &mut [CellRow]) {
        let flat: &mut [f32] = bytemuck::cast_slice_mut(to);
        for channel in 0..self.cell.topology.channels {
            let plane = &upstream[channel * self.grid.plane..];
            read_run_by_run(tile, plane, |place| place, &mut flat[channel * WIDTH..]);
        }
        clear_beyond(tile, to);
    }

    /// Adds the gradients of the tile's neighborhoods to the states that they came from.
    #[inline(always)]
    fn spread(&self, tile: &CellTile, slopes: &[CellRow], spans: &mut [f32]) {
        let span = &self.strip.span;
        for (channel, spans) in spans.chunks_exact_mut(span.len()).enumerate() {
            for n in 0..9 {
                let slopes = &slopes[self.cell.patch_row(channel, n)];
                for run in &tile.runs {
                    let place = self.grid.neighbor(run.place, n) - span.start;
                    let to = &mut spans[place..place + run.len];
                    let from = &slopes.0[run.lane..run.lane + run.len];
                    to.iter_mut().zip(from).for_each(|(to, g)| *to += g);
                }
            }
        }
    }
}
