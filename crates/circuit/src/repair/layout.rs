//! How bits of many cells, or of many starts, are packed into words.
//!
//! A *plane* holds one bit per sample, where a sample is a cell of a grid from one start. A neighbor's bits are
//! the same memory at another offset, so gates read planes without a copy. There are three packings:
//!
//! - with many starts, 32·n starts per cell;
//! - with one start, 32 cells of a row per word, and shifted copies of each plane;
//! - with given inputs, plain rows of samples.
//!
//! Words between and beyond samples have arbitrary contents.

use super::task::{RepairTask, StartingGrid};
use crate::automaton::Edge;

/// With many starts, gates process this many words at a time, so that all values stay in cache.
const TILE: usize = 128;
/// All sizes are multiples of this.
pub(super) const LANES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SamplePacking {
    /// This many words of starts per cell.
    Starts(usize),
    /// This many words per row of cells.
    Rows(usize),
    /// Samples, one by one.
    Table,
}

/// The layout of samples in planes.
#[derive(Clone, Debug)]
pub(super) struct SampleLayout {
    packing: SamplePacking,
    width: usize,
    height: usize,
    edge: Edge,
    /// Words of a plane.
    pub(super) plane: usize,
    /// The offset of the first sample.
    pub(super) first: usize,
    /// Words that hold samples, including gaps between them; a multiple of [`LANES`].
    pub(super) span: usize,
    /// Words that gates process at a time.
    pub(super) tile: usize,
}

impl SampleLayout {
    /// For a task; with many starts, this many words of 32 per cell.
    pub(super) fn new(task: &RepairTask, words: usize) -> SampleLayout {
        let (width, height, edge) = (task.width, task.height, task.edge);
        let round = |words: usize| words.next_multiple_of(LANES);
        let (packing, first, span, rim) = match task.origin {
            StartingGrid::Neighborhoods => (SamplePacking::Table, 0, 512 / 32, 0),
            _ if task.is_random() => {
                let row = (width + 2) * words;
                (SamplePacking::Starts(words), row + words, (height - 1) * row + width * words, row + words)
            }
            _ => {
                let row = (width + 2).div_ceil(32);
                (SamplePacking::Rows(row), row, height * row, row)
            }
        };
        let span = round(span);
        let tile = if let SamplePacking::Starts(_) = packing { TILE.min(span) } else { span };
        SampleLayout { packing, width, height, edge, plane: round(first + span + rim), first, span, tile }
    }

    /// Rows and columns of cells.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.height, self.width)
    }

    /// Planes per channel.
    pub(super) fn copies(&self) -> usize {
        match self.packing {
            SamplePacking::Starts(_) => 1,
            SamplePacking::Rows(_) => 3,
            SamplePacking::Table => 9,
        }
    }

    /// The offset of an input's bits in the planes of all channels.
    pub(super) fn source(&self, input: usize, channels: usize) -> usize {
        let (position, channel) = (input / channels, input % channels);
        let (down, right) = (position / 3, position % 3);
        let back = |row: usize| self.first + down * row - row;
        match self.packing {
            SamplePacking::Starts(words) => {
                channel * self.plane + back((self.width + 2) * words) + right * words - words
            }
            SamplePacking::Rows(row) => (3 * channel + right) * self.plane + back(row),
            SamplePacking::Table => input * self.plane,
        }
    }

    /// The offset of a channel's own bits.
    pub(super) fn own(&self, channel: usize) -> usize {
        match self.packing {
            SamplePacking::Starts(_) => channel * self.plane + self.first,
            SamplePacking::Rows(_) => (3 * channel + 1) * self.plane + self.first,
            SamplePacking::Table => channel * self.plane,
        }
    }

    /// Starts that are processed together.
    pub(super) fn starts(&self) -> usize {
        match self.packing {
            SamplePacking::Starts(words) => 32 * words,
            SamplePacking::Rows(_) | SamplePacking::Table => 1,
        }
    }

    /// Whether bits that are not samples are always zero, so that planes need nothing but their samples.
    pub(super) fn has_empty_rim(&self) -> bool {
        matches!(self.packing, SamplePacking::Starts(_)) && self.edge == Edge::Zero
    }

    /// Words of starts per cell; `None` if there is one start.
    pub(super) fn words(&self) -> Option<usize> {
        match self.packing {
            SamplePacking::Starts(words) => Some(words),
            SamplePacking::Rows(_) | SamplePacking::Table => None,
        }
    }

    /// The words of every cell of a span; if a cell is a bit, that bit.
    pub(super) fn gather(&self, span: &[u32]) -> Vec<u32> {
        let cells = 0..self.width * self.height;
        match self.packing {
            SamplePacking::Starts(_) => {
                cells.flat_map(|cell| self.words_of(cell)).map(|(word, _)| span[word]).collect()
            }
            SamplePacking::Rows(_) | SamplePacking::Table => cells
                .flat_map(|cell| self.words_of(cell))
                .map(|(word, mask)| (span[word] & mask != 0) as u32)
                .collect(),
        }
    }

    /// The words and masks of a cell within the span: all starts, or one bit.
    pub(super) fn words_of(&self, cell: usize) -> impl Iterator<Item = (usize, u32)> + use<> {
        let (y, x) = (cell / self.width.max(1), cell % self.width.max(1));
        let (first, count, mask) = match self.packing {
            SamplePacking::Starts(words) => ((y * (self.width + 2) + x) * words, words, !0),
            SamplePacking::Rows(row) => (y * row + (x + 1) / 32, 1, 1 << ((x + 1) % 32)),
            SamplePacking::Table => (cell / 32, 1, 1 << (cell % 32)),
        };
        (first..first + count).map(move |word| (word, mask))
    }

    /// One bit per sample of a span, from one bit per cell.
    pub(super) fn spread(&self, cells: &[bool]) -> Vec<u32> {
        let mut words = vec![0; self.span];
        for (cell, _) in cells.iter().enumerate().filter(|(_, on)| **on) {
            self.words_of(cell).for_each(|(word, mask)| words[word] |= mask);
        }
        words
    }

    /// Completes a channel's plane after its cells were written: the border, and the shifted copies.
    #[inline(always)]
    pub(super) fn finish(&self, planes: &mut [u32], channel: usize) {
        match self.packing {
            SamplePacking::Starts(words) => {
                self.rim_of_starts(&mut planes[channel * self.plane..][..self.plane], words)
            }
            SamplePacking::Rows(1) => {
                self.shift_single(&mut planes[3 * channel * self.plane..][..3 * self.plane]);
            }
            SamplePacking::Rows(row) => {
                self.shift_rows(&mut planes[3 * channel * self.plane..][..3 * self.plane], row);
            }
            SamplePacking::Table => {}
        }
    }

    #[inline(always)]
    fn rim_of_starts(&self, plane: &mut [u32], words: usize) {
        let (width, height) = (self.width, self.height);
        let row = (width + 2) * words;
        for y in 1..=height {
            let cells = &mut plane[y * row..][..row];
            match self.edge {
                Edge::Zero => {
                    cells[..words].fill(0);
                    cells[row - words..].fill(0);
                }
                Edge::Wrap => {
                    cells.copy_within(width * words..row - words, 0);
                    cells.copy_within(words..2 * words, row - words);
                }
            }
        }
        // The span is rounded up and may have overwritten the border below.
        match self.edge {
            Edge::Zero => plane[(height + 1) * row..].fill(0),
            Edge::Wrap => {
                plane.copy_within(height * row..(height + 1) * row, 0);
                plane.copy_within(row..2 * row, (height + 1) * row);
            }
        }
    }

    /// Rows of up to 30 cells: bit `x + 1` is cell `x`.
    #[inline(always)]
    fn shift_single(&self, planes: &mut [u32]) {
        let (left, rest) = planes.split_at_mut(self.plane);
        let (own, right) = rest.split_at_mut(self.plane);
        let (width, height) = (self.width, self.height);
        let inner = (((1u64 << width) - 1) << 1) as u32;
        let wraps = self.edge == Edge::Wrap;
        for cells in &mut own[1..=height] {
            let row = *cells & inner;
            let rim = if wraps { row >> width & 1 | (row >> 1 & 1) << (width + 1) } else { 0 };
            *cells = row | rim;
        }
        (own[0], own[height + 1]) = if wraps { (own[height], own[1]) } else { (0, 0) };
        for ((left, right), &own) in left.iter_mut().zip(right).zip(&*own).take(height + 2) {
            (*left, *right) = (own << 1, own >> 1);
        }
    }

    fn shift_rows(&self, planes: &mut [u32], row: usize) {
        let (left, rest) = planes.split_at_mut(self.plane);
        let (own, right) = rest.split_at_mut(self.plane);
        let (width, height) = (self.width, self.height);
        let bit = |x: usize| (x / 32, 1u32 << (x % 32));
        let (last, beyond) = (bit(width), bit(width + 1));
        let wraps = self.edge == Edge::Wrap;
        for cells in own[row..(height + 1) * row].chunks_exact_mut(row) {
            cells[0] &= !1;
            for x in width + 1..32 * row {
                cells[bit(x).0] &= !bit(x).1;
            }
            if wraps {
                cells[0] |= (cells[last.0] & last.1 != 0) as u32;
                cells[beyond.0] |= if cells[0] & 2 != 0 { beyond.1 } else { 0 };
            }
        }
        match self.edge {
            Edge::Zero => {
                own[..row].fill(0);
                own[(height + 1) * row..(height + 2) * row].fill(0);
            }
            Edge::Wrap => {
                own.copy_within(height * row..(height + 1) * row, 0);
                own.copy_within(row..2 * row, (height + 1) * row);
            }
        }
        for y in 0..height + 2 {
            for n in 0..row {
                let at = |n: usize| own[y * row + n];
                let carried = if n > 0 { at(n - 1) >> 31 } else { 0 };
                left[y * row + n] = at(n) << 1 | carried;
                let carried = if n + 1 < row { at(n + 1) << 31 } else { 0 };
                right[y * row + n] = at(n) >> 1 | carried;
            }
        }
    }
}
