//! How a tile of a grid accesses the neighbors of its cells.
//!
//! A plane has a border row above and below, so the row above is the same memory one row earlier. The left and
//! right neighbors are copies shifted by one bit. In planes of state, bits beyond the width are zero; in
//! shifted copies they are arbitrary. Start at [`Worker::run`].

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::aligned::Aligned;
use super::execute::{RootShown, WorkerSlots, tile_words};
use super::tape::NetlistTape;
use crate::automaton::{Automaton, Edge};
use crate::netlist::Wire;

/// The compiled cell and which planes it reads.
#[derive(Clone, Debug)]
pub(super) struct CompiledRule {
    pub tape: NetlistTape,
    pub channels: usize,
    /// The plane and row of each source of the tape.
    sources: Vec<RowSource>,
    /// The shifted planes: channel and direction.
    shifted: Vec<(usize, NeighborSide)>,
}

/// A plane, and whether it is read one row up (0), at the same row (1) or one row down (2).
#[derive(Clone, Copy, Debug)]
struct RowSource {
    plane: ShiftedPlane,
    row: usize,
}

#[derive(Clone, Copy, Debug)]
enum ShiftedPlane {
    State(usize),
    Shifted(usize),
}

/// Which neighbor a shifted plane contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeighborSide {
    Left,
    Right,
}

impl CompiledRule {
    pub(super) fn new(automaton: &Automaton) -> CompiledRule {
        let channels = automaton.channels;
        let roots: Vec<Wire> = automaton.cell.roots().collect();
        let tape = NetlistTape::new(&automaton.cell, &roots);
        let mut shifted = vec![];
        let mut find = |entry: (usize, NeighborSide)| {
            let known = shifted.iter().position(|&other| other == entry);
            known.unwrap_or_else(|| {
                shifted.push(entry);
                shifted.len() - 1
            })
        };
        let source = |&source: &u32| {
            let (position, channel) = (source as usize / channels, source as usize % channels);
            let plane = match position % 3 {
                0 => ShiftedPlane::Shifted(find((channel, NeighborSide::Left))),
                1 => ShiftedPlane::State(channel),
                _ => ShiftedPlane::Shifted(find((channel, NeighborSide::Right))),
            };
            RowSource { plane, row: position / 3 }
        };
        let sources = tape.sources.iter().map(source).collect();
        CompiledRule { tape, channels, sources, shifted }
    }

    /// Operations per word of cells in a step.
    pub(super) fn cost(&self) -> usize {
        self.tape.gates + self.shifted.len() + self.channels
    }
}

/// The size of a grid and how it is packed.
#[derive(Clone, Debug)]
pub(super) struct GridLayout {
    pub width: usize,
    pub height: usize,
    pub row_words: usize,
    pub tile_rows: usize,
    edge: Edge,
}

impl GridLayout {
    pub(super) fn new(rule: &CompiledRule, edge: Edge, width: usize, height: usize) -> GridLayout {
        let row_words = width.div_ceil(64);
        let tile_rows = tile_words(&rule.tape).div_ceil(row_words).clamp(1, height);
        GridLayout { width, height, row_words, tile_rows, edge }
    }

    /// The bits of a row's last word that are cells.
    pub(super) fn last_word_mask(&self) -> u64 {
        !0 >> ((64 - self.width % 64) % 64)
    }

    /// Clears the bits beyond the width in whole rows.
    pub(super) fn clear_beyond_width(&self, rows: &mut [u64]) {
        let mask = self.last_word_mask();
        if mask != !0 {
            rows.chunks_mut(self.row_words).for_each(|row| row[self.row_words - 1] &= mask);
        }
    }

    /// Fills the border rows with what cells see beyond the edge.
    pub(super) fn fill_rims(&self, planes: &mut [Aligned]) {
        let (row, last) = (self.row_words, self.row_words * self.height);
        for plane in planes {
            match self.edge {
                Edge::Zero => {
                    plane[..row].fill(0);
                    plane[last + row..].fill(0);
                }
                Edge::Wrap => {
                    plane.copy_within(last..last + row, 0);
                    plane.copy_within(row..2 * row, last + row);
                }
            }
        }
    }

    /// The bits that the first cell of a row sees to its left, and the last cell to its right, at their bit
    /// positions.
    #[inline(always)]
    fn beyond(&self, row: &[u64]) -> (u64, u64) {
        match self.edge {
            Edge::Zero => (0, 0),
            Edge::Wrap => {
                let last = (self.width - 1) % 64;
                (row[self.row_words - 1] >> last & 1, (row[0] & 1) << last)
            }
        }
    }
}

/// The buffers of one thread.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    scratch: WorkerSlots,
    /// The shifted planes of a tile, with a row above and below.
    shifted: Vec<Aligned>,
    arch: Arch,
}

impl Worker {
    pub(super) fn new(rule: &CompiledRule, layout: &GridLayout) -> Worker {
        let words = layout.tile_rows * layout.row_words;
        let shifted = vec![Aligned::zeros(words + 2 * layout.row_words); rule.shifted.len()];
        Worker { scratch: WorkerSlots::new(&rule.tape, words), shifted, arch: Arch::new() }
    }

    /// Computes whole rows: the words `words` of each plane, not counting the border. `store` gets the next
    /// state of each channel.
    pub(super) fn run(
        &mut self,
        rule: &CompiledRule,
        layout: &GridLayout,
        state: &[Aligned],
        words: Range<usize>,
        store: impl FnMut(usize, RootShown<'_>),
    ) {
        let row = layout.row_words;
        for (out, &(channel, side)) in self.shifted.iter_mut().zip(&rule.shifted) {
            let from = &state[channel][words.start..words.end + 2 * row];
            self.arch.dispatch(Shift { layout, side, from, out: &mut out[..from.len()] });
        }
        let plane = |&RowSource { plane, row: above }: &RowSource| match plane {
            ShiftedPlane::State(channel) => {
                &state[channel][words.start + above * row..words.end + above * row]
            }
            ShiftedPlane::Shifted(n) => &self.shifted[n][above * row..above * row + words.len()],
        };
        let planes: Vec<&[u64]> = rule.sources.iter().map(plane).collect();
        self.scratch.run(&rule.tape, &planes, words.len(), store);
    }
}

struct Shift<'a> {
    layout: &'a GridLayout,
    side: NeighborSide,
    from: &'a [u64],
    out: &'a mut [u64],
}

impl WithSimd for Shift<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Shift { layout, side, from, out } = self;
        let (words, row) = (from.len(), layout.row_words);
        // One long loop as if there were no rows, then a correction of the word at each row's end.
        match side {
            NeighborSide::Left => {
                for ((out, &word), &before) in out[1..].iter_mut().zip(&from[1..]).zip(&from[..words - 1]) {
                    *out = word << 1 | before >> 63;
                }
                for (out, from) in out.chunks_exact_mut(row).zip(from.chunks_exact(row)) {
                    out[0] = from[0] << 1 | layout.beyond(from).0;
                }
            }
            NeighborSide::Right => {
                for ((out, &word), &after) in out[..words - 1].iter_mut().zip(from).zip(&from[1..]) {
                    *out = word >> 1 | after << 63;
                }
                for (out, from) in out.chunks_exact_mut(row).zip(from.chunks_exact(row)) {
                    out[row - 1] = from[row - 1] >> 1 | layout.beyond(from).1;
                }
            }
        }
    }
}
