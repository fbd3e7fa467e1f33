//! An automaton on a bit-packed grid: one plane per channel, 64 cells of a row per word.
//!
//! Planes have a border row above and below, so that a neighbor's row is the same memory at another offset.
//! Left and right neighbors are shifted copies, made tile by tile. In a state, bits beyond the width are always
//! zero. Start at [`Grid::new`].

use rayon::prelude::*;

use super::aligned::Aligned;
use super::execute::RootShown;
use super::fire::fire_mask;
use super::neighborhood::{CompiledRule, GridLayout, Worker};
use super::samples::WORTH_THREADS;
use crate::automaton::Automaton;
use crate::error::{Error, Result};
use crate::random::RandomStream;

/// Most bits of state of a grid.
const LIMIT: u128 = 1 << 34;

/// A grid of cells of an automaton.
///
/// ```
/// use farad_circuit::{Automaton, Edge, Gate, Grid, Netlist, Wire};
/// // Every cell takes over what its left neighbor has.
/// let mut cell = Netlist::new("drift");
/// let inputs: Vec<Wire> = (0..9).map(|n| cell.input(format!("n{n}"))).collect();
/// let next = cell.gate(Gate::A, inputs[3], Wire::NONE);
/// cell.output("next", next);
/// let drift = Automaton { cell, channels: 1, visible: vec![0], edge: Edge::Wrap, fire_rate: 1.0 };
/// let mut grid = Grid::new(&drift, 100, 3)?;
/// grid.set(0, 98, 1, true);
/// grid.steps(3);
/// assert!(grid.get(0, 1, 1));
/// # Ok::<(), farad_circuit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Grid {
    rule: CompiledRule,
    layout: GridLayout,
    visible: Vec<usize>,
    fire_rate: f32,
    /// Planes with borders; `next` is overwritten at each step.
    state: Vec<Aligned>,
    next: Vec<Aligned>,
    worker: Worker,
    seed: u64,
    step: u64,
}

impl Grid {
    /// A grid of zeros.
    pub fn new(automaton: &Automaton, width: usize, height: usize) -> Result<Grid> {
        automaton.check()?;
        let channels = automaton.channels;
        let cells = width as u128 * height as u128;
        let bits = cells.saturating_mul(channels.max(1) as u128);
        if cells == 0 || cells > u32::MAX as u128 || bits > LIMIT {
            return Err(Error::GridSize { width, height, channels, bits, limit: LIMIT });
        }
        let rule = CompiledRule::new(automaton);
        let layout = GridLayout::new(&rule, automaton.edge, width, height);
        let planes = vec![Aligned::zeros((height + 2) * layout.row_words); channels];
        Ok(Grid {
            visible: automaton.visible.clone(),
            fire_rate: automaton.fire_rate,
            state: planes.clone(),
            next: planes,
            worker: Worker::new(&rule, &layout),
            rule,
            layout,
            seed: 0,
            step: 0,
        })
    }

    /// Cells in a row.
    pub fn width(&self) -> usize {
        self.layout.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.layout.height
    }

    /// Bits of state per cell.
    pub fn channels(&self) -> usize {
        self.rule.channels
    }

    /// Words of a packed row.
    pub fn row_words(&self) -> usize {
        self.layout.row_words
    }

    /// Steps taken since the start or the last [`Grid::set_seed`].
    pub fn steps_taken(&self) -> u64 {
        self.step
    }

    /// How many gates remain to be computed per word of cells.
    pub fn gates(&self) -> usize {
        self.rule.tape.gates
    }

    /// Seeds the random numbers that decide which cells fire, and resets the count of steps.
    pub fn set_seed(&mut self, seed: u64) {
        (self.seed, self.step) = (seed, 0);
    }

    /// A bit of a cell.
    ///
    /// # Panics
    /// Outside the grid.
    #[track_caller]
    pub fn get(&self, channel: usize, x: usize, y: usize) -> bool {
        let (word, bit) = self.place(x, y);
        self.state[channel][word] >> bit & 1 == 1
    }

    /// Sets a bit of a cell.
    ///
    /// # Panics
    /// Outside the grid.
    #[track_caller]
    pub fn set(&mut self, channel: usize, x: usize, y: usize, value: bool) {
        let (word, bit) = self.place(x, y);
        let word = &mut self.state[channel][word];
        *word = *word & !(1 << bit) | (value as u64) << bit;
    }

    #[track_caller]
    fn place(&self, x: usize, y: usize) -> (usize, usize) {
        let (width, height) = (self.layout.width, self.layout.height);
        assert!(x < width && y < height, "grid: no such cell: ({x}, {y}) in {width}x{height}");
        ((y + 1) * self.layout.row_words + x / 64, x % 64)
    }

    /// A channel, cell by cell: `[height, width]`.
    pub fn channel(&self, channel: usize) -> Vec<bool> {
        let row = |row: &[u64]| -> Vec<bool> {
            (0..self.layout.width).map(|x| row[x / 64] >> (x % 64) & 1 == 1).collect()
        };
        self.plane(channel).chunks(self.layout.row_words).flat_map(row).collect()
    }

    /// Sets a channel, cell by cell: `[height, width]`.
    ///
    /// # Panics
    /// If there is not one value per cell.
    #[track_caller]
    pub fn set_channel(&mut self, channel: usize, cells: &[bool]) {
        let wanted = self.layout.width * self.layout.height;
        assert_eq!(cells.len(), wanted, "set_channel: one value per cell ({} vs {wanted})", cells.len());
        let rows = self.layout.row_words..self.layout.row_words * (self.layout.height + 1);
        let plane = &mut self.state[channel][rows];
        plane.fill(0);
        for (row, cells) in plane.chunks_mut(self.layout.row_words).zip(cells.chunks(self.layout.width)) {
            for (word, cells) in row.iter_mut().zip(cells.chunks(64)) {
                *word = cells.iter().enumerate().fold(0, |word, (bit, &cell)| word | (cell as u64) << bit);
            }
        }
    }

    /// All channels, cell by cell: `[channels, height, width]`.
    pub fn cells(&self) -> Vec<bool> {
        (0..self.rule.channels).flat_map(|channel| self.channel(channel)).collect()
    }

    /// Sets all channels, cell by cell: `[channels, height, width]`.
    ///
    /// # Panics
    /// If there is not one value per cell and channel.
    #[track_caller]
    pub fn set_cells(&mut self, cells: &[bool]) {
        let (size, wanted) = (
            self.layout.width * self.layout.height,
            self.layout.width * self.layout.height * self.rule.channels,
        );
        assert_eq!(
            cells.len(),
            wanted,
            "set_cells: one value per cell and channel ({} vs {wanted})",
            cells.len()
        );
        cells.chunks(size).enumerate().for_each(|(channel, cells)| self.set_channel(channel, cells));
    }

    /// The visible picture: the first visible channel (the first of all, if none is visible), cell by cell:
    /// `[height, width]`.
    pub fn picture(&self) -> Vec<bool> {
        self.channel(self.visible.first().copied().unwrap_or(0))
    }

    /// All visible channels: `[visible, height, width]`.
    pub fn pictures(&self) -> Vec<bool> {
        self.visible.iter().flat_map(|&channel| self.channel(channel)).collect()
    }

    /// A channel as packed rows of [`Grid::row_words`] words; bits beyond the width are zero.
    pub fn plane(&self, channel: usize) -> &[u64] {
        &self.state[channel][self.layout.row_words..self.layout.row_words * (self.layout.height + 1)]
    }

    /// Sets a channel from packed rows; bits beyond the width are ignored.
    ///
    /// # Panics
    /// If there are not `height·row_words` words.
    #[track_caller]
    pub fn set_plane(&mut self, channel: usize, words: &[u64]) {
        let (rows, mask) = (
            self.layout.row_words..self.layout.row_words * (self.layout.height + 1),
            self.layout.last_word_mask(),
        );
        assert_eq!(
            words.len(),
            rows.len(),
            "set_plane: wrong number of words ({} vs {})",
            words.len(),
            rows.len()
        );
        let plane = &mut self.state[channel][rows];
        plane.copy_from_slice(words);
        plane.chunks_mut(self.layout.row_words).for_each(|row| row[self.layout.row_words - 1] &= mask);
    }

    /// Makes every bit of every channel random.
    pub fn randomize(&mut self, seed: u64) {
        let mut stream = RandomStream::new(seed);
        for channel in 0..self.rule.channels {
            let words = stream.words(self.layout.row_words * self.layout.height);
            self.set_plane(channel, &words);
        }
    }

    /// Sets all channels of a block of cells to zero; ignores the part outside of the grid.
    pub fn damage(&mut self, x: usize, y: usize, width: usize, height: usize) {
        let (right, bottom) = (
            x.saturating_add(width).min(self.layout.width),
            y.saturating_add(height).min(self.layout.height),
        );
        for row in y..bottom {
            for word in x / 64..right.div_ceil(64) {
                let (from, to) = (x.max(word * 64) - word * 64, right.min(word * 64 + 64) - word * 64);
                let mask = if to > from { (!0u64 >> (64 - (to - from))) << from } else { 0 };
                let place = (row + 1) * self.layout.row_words + word;
                self.state.iter_mut().for_each(|plane| plane[place] &= !mask);
            }
        }
    }

    /// One step. In an asynchronous automaton, the cells of [`fire_mask`] fire, drawn with the grid's seed and
    /// the number of steps taken.
    pub fn step(&mut self) {
        if self.fire_rate < 1.0 {
            let fire = fire_mask(self.layout.width, self.layout.height, self.fire_rate, self.seed, self.step);
            self.advance(Some(&fire));
        } else {
            self.advance(None);
        }
    }

    /// Several steps.
    pub fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step());
    }

    /// One step in which the cells of a mask fire, packed in rows like [`Grid::plane`]; the others keep
    /// their state.
    ///
    /// # Panics
    /// If there are not `height·row_words` words.
    #[track_caller]
    pub fn step_firing(&mut self, fire: &[u64]) {
        let wanted = self.layout.height * self.layout.row_words;
        assert_eq!(fire.len(), wanted, "step_firing: wrong number of words ({} vs {wanted})", fire.len());
        self.advance(Some(fire));
    }

    fn advance(&mut self, fire: Option<&[u64]>) {
        let Grid { rule, layout, state, next, worker, .. } = self;
        layout.fill_rims(state);
        let (tile, words) = (layout.tile_rows * layout.row_words, layout.row_words * layout.height);
        let rim = layout.row_words;
        // Writes a tile of a channel's next rows.
        let write = |start: usize, channel: usize, shown: RootShown<'_>, to: &mut [u64]| {
            shown.write(to);
            if let Some(fire) = fire {
                let old = &state[channel][start + rim..][..to.len()];
                for ((to, &old), &fire) in to.iter_mut().zip(old).zip(&fire[start..]) {
                    *to = *to & fire | old & !fire;
                }
            }
            layout.clear_beyond_width(to);
        };
        if words * rule.cost() < WORTH_THREADS || words <= tile {
            for start in (0..words).step_by(tile) {
                let end = words.min(start + tile);
                worker.run(rule, layout, state, start..end, |channel, shown| {
                    write(start, channel, shown, &mut next[channel][start + rim..end + rim]);
                });
            }
        } else {
            let mut tiles: Vec<Vec<&mut [u64]>> = (0..words.div_ceil(tile)).map(|_| vec![]).collect();
            for plane in next.iter_mut() {
                let parts = plane[rim..rim + words].chunks_mut(tile);
                tiles.iter_mut().zip(parts).for_each(|(tile, part)| tile.push(part));
            }
            let run = |worker: &mut Worker, (n, mut part): (usize, Vec<&mut [u64]>)| {
                let start = n * tile;
                worker.run(rule, layout, state, start..words.min(start + tile), |channel, shown| {
                    write(start, channel, shown, part[channel]);
                });
            };
            tiles.into_par_iter().enumerate().for_each_init(|| Worker::new(rule, layout), run);
        }
        std::mem::swap(state, next);
        self.step += 1;
    }
}
