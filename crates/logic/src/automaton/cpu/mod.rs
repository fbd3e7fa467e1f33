//! The two ops on the CPU.
//!
//! Cells are processed in vectors (`rows`), tile by tile (`cell`), and threads take strips of tiles (`strip`).
//! Between steps all threads synchronize, and the results of strips become planes (`grid`) again. Sums are
//! taken strip by strip in order, so results do not depend on the number of threads. Start here, at
//! [`forward`].
//!
//! The kept array: states as planes without borders, `[seeds, channels, cells]`; activations for every seed,
//! tile by tile, one row of the tile's cells each.

mod cell;
mod grid;
mod rows;
mod strip;

use rayon::prelude::*;

use super::extent::RollOutExtent;
use super::op::{Policy, RollOutOperands};
use cell::CellCircuits;
use grid::{CHUNK, SeedGrid};
use rows::CellRow;
use strip::{StripBackward, StripForward, StripWork};

/// Fewest numbers that a thread copies or adds at a time.
const GRAIN: usize = 1 << 14;

/// A roll-out of all seeds.
struct Engine<'a> {
    extent: &'a RollOutExtent<'a>,
    grid: SeedGrid,
    cells: Vec<CellCircuits<'a>>,
    fired: Option<&'a [f32]>,
}

/// The states after the last step, and what the backward pass needs kept.
pub fn forward(
    extent: &RollOutExtent,
    wires: &[u32],
    operands: &RollOutOperands<f32>,
    states: &mut [f32],
    kept: &mut [f32],
) {
    if extent.state_len() == 0 {
        return;
    }
    let engine = Engine::new(extent, wires, operands);
    let (slots, activations) = kept.split_at_mut(extent.kept_states() * extent.state_len());
    // Inside of the thread pool, so that a step does not start by waking it.
    rayon::scope(|_| {
        let mut planes = engine.planes_of_states(operands.states);
        let mut next = engine.rows_of_strips();
        for step in 0..extent.steps {
            if step > 0 && step % extent.stride() == 0 {
                let slot = step / extent.stride() - 1;
                engine.keep(&planes, &mut slots[slot * extent.state_len()..][..extent.state_len()]);
            }
            let mut parts = vec![];
            if extent.policy == Policy::KeepAll {
                let len = extent.activation_len();
                parts = engine.split_kept_mut(&mut activations[step * len..][..len]);
            }
            engine.step(step, &mut planes, &mut next, parts);
        }
        engine.states_of_planes(&planes, states);
    });
}

/// Gradients of the coefficients and of the first states.
pub fn backward(
    extent: &RollOutExtent,
    wires: &[u32],
    operands: &RollOutOperands<f32>,
    coefficients: &mut [f32],
    states: &mut [f32],
) {
    coefficients.fill(0.0);
    if extent.state_len() == 0 {
        return;
    }
    let engine = Engine::new(extent, wires, operands);
    let (slots, activations) = operands.kept.split_at(extent.kept_states() * extent.state_len());
    rayon::scope(|_| {
        let mut slopes = engine.planes_of_states(operands.upstream);
        let mut sums = engine.sums_of_strips();
        let mut next = engine.rows_of_strips();
        let stride = extent.stride();
        for segment in (0..extent.steps.div_ceil(stride)).rev() {
            let steps = segment * stride..extent.steps.min((segment + 1) * stride);
            let mut before = vec![match segment {
                0 => engine.planes_of_states(operands.states),
                _ => {
                    engine.planes_of_kept(&slots[(segment - 1) * extent.state_len()..][..extent.state_len()])
                }
            }];
            for step in steps.start..steps.end - 1 {
                let mut planes = before[before.len() - 1].clone();
                engine.step(step, &mut planes, &mut next, vec![]);
                before.push(planes);
            }
            for (step, planes) in steps.zip(&before).rev() {
                let mut parts = vec![];
                if extent.policy == Policy::KeepAll {
                    let len = extent.activation_len();
                    parts = engine.split_kept(&activations[step * len..][..len]);
                }
                engine.step_back(step, planes, &mut slopes, &mut sums, parts);
            }
        }
        engine.states_of_planes(&slopes, states);
        engine.add_sums(&sums, coefficients);
    });
}

/// What a strip accumulates in the backward pass.
struct StripSums {
    /// Over all steps, the gradients of the coefficients.
    coefficients: Vec<[f32; 4]>,
    /// In one step, the gradients of the states of its span.
    spans: Vec<f32>,
}

impl<'a> Engine<'a> {
    fn new(
        extent: &'a RollOutExtent<'a>,
        wires: &'a [u32],
        operands: &RollOutOperands<'a, f32>,
    ) -> Engine<'a> {
        let coefficients: &[[f32; 4]] = bytemuck::cast_slice(operands.coefficients);
        let (gates, count) = (extent.topology.gates(), extent.topology.wires());
        let seeds = wires.chunks_exact(count).zip(coefficients.chunks_exact(gates));
        let cells = seeds.map(|(wires, gates)| CellCircuits::new(extent.topology, wires, gates)).collect();
        Engine { extent, grid: SeedGrid::new(extent), cells, fired: operands.fired }
    }

    /// Numbers in the planes of one seed.
    fn seed_len(&self) -> usize {
        self.extent.topology.channels * self.grid.plane
    }

    fn work<'b>(&'b self, number: usize, step: usize, planes: &'b [f32]) -> StripWork<'b> {
        let strips = self.grid.strips.len();
        let (seed, strip) = (number / strips, number % strips);
        let area = self.extent.height * self.extent.width;
        StripWork {
            cell: &self.cells[seed],
            grid: &self.grid,
            strip: &self.grid.strips[strip],
            planes: self.planes_of_seed(planes, seed),
            fired: self.fired.map(|fired| &fired[(seed * self.extent.steps + step) * area..][..area]),
        }
    }

    fn planes_of_seed<'b>(&self, planes: &'b [f32], seed: usize) -> &'b [f32] {
        &planes[seed * self.seed_len()..][..self.seed_len() + CHUNK]
    }

    /// For every strip of every seed the rows of its next states.
    fn rows_of_strips(&self) -> Vec<Vec<CellRow>> {
        let channels = self.extent.topology.channels;
        let strips = self.grid.strips.iter().cycle().take(self.extent.seeds * self.grid.strips.len());
        strips.map(|strip| vec![CellRow::ZERO; strip.tiles.len() * channels]).collect()
    }

    fn sums_of_strips(&self) -> Vec<StripSums> {
        let topology = self.extent.topology;
        let strips = self.grid.strips.iter().cycle().take(self.extent.seeds * self.grid.strips.len());
        let sums = strips.map(|strip| StripSums {
            coefficients: vec![[0.0; 4]; topology.gates()],
            spans: vec![0.0; topology.channels * strip.span.len()],
        });
        sums.collect()
    }

    /// One step's kept activations, split by strip, for all seeds.
    fn split_kept_mut<'b>(&self, activations: &'b mut [f32]) -> Vec<&'b mut [f32]> {
        let (seed, strip) = self.kept_sizes();
        activations.chunks_exact_mut(seed).flat_map(|seed| seed.chunks_mut(strip)).collect()
    }

    fn split_kept<'b>(&self, activations: &'b [f32]) -> Vec<&'b [f32]> {
        let (seed, strip) = self.kept_sizes();
        activations.chunks_exact(seed).flat_map(|seed| seed.chunks(strip)).collect()
    }

    /// Kept activations of a seed and of a strip in one step.
    fn kept_sizes(&self) -> (usize, usize) {
        let strip = self.grid.tiles_a_strip * rows::WIDTH * self.extent.topology.activations();
        (self.extent.activation_len() / self.extent.seeds, strip)
    }

    /// One step: updates the planes. `next` is a buffer for the results of strips; `kept` receives their
    /// activations, or is empty.
    fn step(&self, step: usize, planes: &mut [f32], next: &mut [Vec<CellRow>], kept: Vec<&mut [f32]>) {
        let mut kept = kept.into_iter();
        let parts: Vec<_> =
            next.iter_mut().map(|next| (next, kept.next().unwrap_or_default())).enumerate().collect();
        parts.into_par_iter().for_each(|(number, (next, kept))| {
            StripForward { work: self.work(number, step, planes), next, kept }.run();
        });
        self.each_plane(planes, |seed, channel, plane| {
            for (strip, rows) in self.grid.strips.iter().zip(self.of_seed(next, seed)) {
                let rows = rows.chunks_exact(self.extent.topology.channels);
                for (tile, rows) in strip.tiles.iter().zip(rows) {
                    for run in &tile.runs {
                        let from = &rows[channel].0[run.lane..run.lane + run.len];
                        plane[run.place..run.place + run.len].copy_from_slice(from);
                    }
                }
            }
            self.grid.fill_rim(plane);
        });
    }

    /// One step backward: gradients of the states after it become those of the states before it.
    fn step_back(
        &self,
        step: usize,
        planes: &[f32],
        slopes: &mut [f32],
        sums: &mut [StripSums],
        kept: Vec<&[f32]>,
    ) {
        sums.par_iter_mut().enumerate().for_each(|(number, sums)| {
            let upstream = self.planes_of_seed(slopes, number / self.grid.strips.len());
            let kept = kept.get(number).copied().unwrap_or_default();
            let StripSums { coefficients: sums, spans } = sums;
            StripBackward { work: self.work(number, step, planes), upstream, kept, spans, sums }.run();
        });
        self.each_plane(slopes, |seed, channel, plane| {
            plane.fill(0.0);
            for (strip, sums) in self.grid.strips.iter().zip(self.of_seed(sums, seed)) {
                let from = &sums.spans[channel * strip.span.len()..][..strip.span.len()];
                plane[strip.span.clone()].iter_mut().zip(from).for_each(|(to, g)| *to += g);
            }
            self.grid.fold_rim(plane);
        });
    }

    /// A seed's part of a list with one entry per strip of every seed.
    fn of_seed<'b, T>(&self, all: &'b [T], seed: usize) -> &'b [T] {
        let strips = self.grid.strips.len();
        &all[seed * strips..][..strips]
    }

    /// Calls `change` with seed, channel and plane for all planes.
    fn each_plane(&self, planes: &mut [f32], change: impl Fn(usize, usize, &mut [f32]) + Sync) {
        let channels = self.extent.topology.channels;
        planes
            .par_chunks_exact_mut(self.grid.plane)
            .take(self.extent.seeds * channels)
            .with_min_len(GRAIN.div_ceil(self.grid.plane))
            .enumerate()
            .for_each(|(n, plane)| change(n / channels, n % channels, plane));
    }

    fn empty_planes(&self) -> Vec<f32> {
        vec![0.0; self.extent.seeds * self.seed_len() + CHUNK]
    }

    /// Planes from `[seeds, cells, channels]`.
    fn planes_of_states(&self, states: &[f32]) -> Vec<f32> {
        let (cells, channels) = (self.extent.cells(), self.extent.topology.channels);
        let mut planes = self.empty_planes();
        self.each_plane(&mut planes, |seed, channel, plane| {
            let own = states[seed * cells * channels..][..cells * channels].chunks_exact(channels);
            for (cell, numbers) in own.enumerate() {
                plane[self.grid.place(cell)] = numbers[channel];
            }
            self.grid.fill_rim(plane);
        });
        planes
    }

    fn states_of_planes(&self, planes: &[f32], states: &mut [f32]) {
        let (cells, channels) = (self.extent.cells(), self.extent.topology.channels);
        for (n, numbers) in states.chunks_exact_mut(channels).enumerate() {
            let planes = self.planes_of_seed(planes, n / cells);
            let place = self.grid.place(n % cells);
            for (channel, number) in numbers.iter_mut().enumerate() {
                *number = planes[channel * self.grid.plane + place];
            }
        }
    }

    /// Runs of cells of all tiles: the first cell, its index, and the length.
    fn runs(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let tiles = self.grid.strips.iter().flat_map(|strip| &strip.tiles);
        tiles.flat_map(|tile| tile.runs.iter().map(|run| (tile.cells.start + run.lane, run.place, run.len)))
    }

    /// Copies planes into a slot of the kept array.
    fn keep(&self, planes: &[f32], slot: &mut [f32]) {
        let planes = planes.chunks_exact(self.grid.plane);
        for (plane, to) in planes.zip(slot.chunks_exact_mut(self.extent.cells())) {
            for (cell, place, len) in self.runs() {
                to[cell..cell + len].copy_from_slice(&plane[place..place + len]);
            }
        }
    }

    fn planes_of_kept(&self, slot: &[f32]) -> Vec<f32> {
        let mut planes = self.empty_planes();
        let channels = self.extent.topology.channels;
        self.each_plane(&mut planes, |seed, channel, plane| {
            let from = &slot[(seed * channels + channel) * self.extent.cells()..][..self.extent.cells()];
            for (cell, place, len) in self.runs() {
                plane[place..place + len].copy_from_slice(&from[cell..cell + len]);
            }
            self.grid.fill_rim(plane);
        });
        planes
    }

    /// Sums the gradients of the coefficients over all strips, in order.
    fn add_sums(&self, sums: &[StripSums], coefficients: &mut [f32]) {
        let gates: &mut [[f32; 4]] = bytemuck::cast_slice_mut(coefficients);
        let count = self.extent.topology.gates();
        gates.par_chunks_mut(count).enumerate().for_each(|(seed, gates)| {
            for sums in self.of_seed(sums, seed) {
                for (to, sum) in gates.iter_mut().zip(&sums.coefficients) {
                    to.iter_mut().zip(sum).for_each(|(to, sum)| *to += sum);
                }
            }
        });
    }
}
