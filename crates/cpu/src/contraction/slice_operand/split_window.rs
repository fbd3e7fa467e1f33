//! Windows whose innermost positions are read with a stride: positions with the same remainder are stored next
//! to each other.

use farad_compile::program::{Guard, View};

use super::SliceRead;
use crate::heuristics::products::LARGEST_STRIDE;
use crate::memory::element_runs::{self, Binding};
use crate::memory::view_access::{DomainRange, ViewAccess};

/// The layout of a guard's positions: position `by · i + r` is the `i`-th of those with remainder `r`.
#[derive(Debug)]
pub struct ResidueSplit {
    /// The coefficient of the axis that tiles run along.
    pub by: i64,
    /// The one axis whose coefficient is not a multiple of that.
    pub table: Option<usize>,
    coefficient: usize,
    /// Which remainders are read, in the order of the copy.
    remainders: Vec<usize>,
    /// Floats of one remainder.
    room: usize,
}

impl ResidueSplit {
    /// Splits a guard with this many positions. `None` if more than one axis would need a table, or if that
    /// axis is not in `tables` or is cut.
    pub fn new(
        guard: &Guard,
        slices: &SliceRead,
        extent: &[usize],
        positions: usize,
    ) -> Option<ResidueSplit> {
        let (axes, by) = (slices.axes, guard.coefficients[slices.vector()]);
        let read = |&axis: &usize| axes[axis] > 1 && guard.coefficients[axis] != 0;
        let coefficients = (0..axes.len()).filter(read).map(|axis| (axis, guard.coefficients[axis]));
        let mut odd = coefficients.clone().filter(|(_, c)| c % by != 0);
        let (table, more) = (odd.next(), odd.next());
        let whole = |axis: usize| slices.tables.contains(&axis) && extent[axis] == axes[axis];
        let fits = table.is_none_or(|(axis, _)| whole(axis)) && more.is_none();
        if by > LARGEST_STRIDE || !fits || coefficients.clone().any(|(_, c)| c < 0) {
            return None;
        }
        let coefficient = table.map_or(0, |(_, c)| c as usize);
        let count = table.map_or(1, |(axis, _)| axes[axis]);
        let mut remainders: Vec<usize> = (0..count).map(|i| i * coefficient % by as usize).collect();
        remainders.sort_unstable();
        remainders.dedup();
        let room = positions.div_ceil(by as usize);
        Some(ResidueSplit { by, table: table.map(|(axis, _)| axis), coefficient, remainders, room })
    }

    /// Floats of the copy.
    pub fn floats(&self) -> usize {
        self.remainders.len() * self.room
    }

    /// The offset of position `i` of the axis with the table from its first position.
    pub fn place(&self, i: usize) -> isize {
        let (by, at) = (self.by as usize, self.coefficient * i);
        let number = self.remainders.iter().position(|&r| r == at % by).expect("a remainder that is read");
        (number * self.room + at / by) as isize
    }

    /// The stretches of a row.
    pub fn stretches(&self, row: RowPlaces) -> Vec<Stretch> {
        let stretch = |(n, &remainder): (usize, &usize)| {
            Stretch::new(n * self.room, PositionStep { by: self.by, remainder }, row)
        };
        self.remainders.iter().enumerate().map(stretch).collect()
    }
}

/// Positions of a row along one dimension of a window.
#[derive(Clone, Copy, Debug)]
pub struct RowPlaces {
    /// How many there are.
    pub count: usize,
    /// The first of them.
    pub low: i64,
    /// Positions `0..size` exist.
    pub size: i64,
}

/// Every `by`-th position, behind the first `remainder` ones.
#[derive(Clone, Copy, Debug)]
pub struct PositionStep {
    pub by: i64,
    pub remainder: usize,
}

/// A part of a row of a copy: elements at equal distance, with zeros in front and behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its offset in the row.
    at: usize,
    /// Its elements, and which of them exist.
    count: usize,
    begin: usize,
    end: usize,
    /// The position of the first that exists, and how far apart they are.
    first: i64,
    step: usize,
}

impl Stretch {
    /// Positions of a row, which begin at `at` in the copy.
    pub fn new(at: usize, step: PositionStep, row: RowPlaces) -> Stretch {
        let RowPlaces { count, low, size } = row;
        let PositionStep { by, remainder } = step;
        let step = by as usize;
        let count = count.saturating_sub(remainder).div_ceil(step);
        let low = low + remainder as i64;
        let below = |position: i64| {
            let distance = position.saturating_sub(low).max(0) as u64;
            distance.div_ceil(by as u64).min(count as u64) as usize
        };
        let (begin, end) = (below(0), below(size));
        Stretch { at, count, begin, end, first: low + by * begin as i64, step }
    }

    /// Fills its part of a row. `index` is the element at position 0; with `None`, no element exists.
    #[inline]
    pub fn fill(&self, index: Option<i64>, source: &StretchSource, out: &mut [u32]) {
        let out = &mut out[self.at..self.at + self.count];
        let StretchSource { binding, words, zeroed } = *source;
        let Some(index) = index.filter(|_| self.begin < self.end) else {
            if !zeroed {
                out.fill(0);
            }
            return;
        };
        if !zeroed {
            out[..self.begin].fill(0);
            out[self.end..].fill(0);
        }
        let out = &mut out[self.begin..self.end];
        let first = index + self.first;
        if !words {
            let access = ViewAccess::strided(binding.len, self.step as i64);
            let range = DomainRange { start: 0, count: out.len(), fixed: &[] };
            // SAFETY: the program says that this kernel may read the buffer; runs are checked.
            return unsafe { element_runs::load(&access, range, first, binding, out) };
        }
        let len = self.step * (out.len() - 1) + 1;
        let from = binding.words(first, len);
        if self.step == 1 {
            // SAFETY: the words were checked to be in the buffer; scratch never overlaps it.
            return unsafe { from.copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) };
        }
        // SAFETY: as above.
        let from = unsafe { std::slice::from_raw_parts(from.cast_const(), len) };
        match self.step {
            2 => every::<2>(from, out),
            3 => every::<3>(from, out),
            4 => every::<4>(from, out),
            step => from.iter().step_by(step).zip(out).for_each(|(&x, out)| *out = x),
        }
    }
}

/// Every `STEP`-th word, with a step that is known at compile time. The last one may be all of its chunk.
#[inline(always)]
fn every<const STEP: usize>(from: &[u32], out: &mut [u32]) {
    let (chunks, last) = from.as_chunks::<STEP>();
    for (chunk, out) in chunks.iter().zip(&mut *out) {
        *out = chunk[0];
    }
    if let (Some(&x), Some(out)) = (last.first(), out.last_mut()) {
        *out = x;
    }
}

/// What stretches are read of.
pub struct StretchSource {
    pub binding: Binding,
    /// Whether elements are stored as words.
    pub words: bool,
    /// Whether there are zeros already where nothing is read.
    pub zeroed: bool,
}

/// The view with a guard along `vector` that always holds, if the view has none there and reads with a stride.
/// It is what a window is split by.
pub fn guarded(view: &View, axes: &[usize], vector: usize) -> View {
    let mut view = view.clone();
    let free = |axis: usize| view.guards.iter().all(|guard| guard.coefficients[axis] == 0);
    let stride = view.strides[vector];
    if axes[vector] > 1 && (2..=LARGEST_STRIDE).contains(&stride) && free(vector) {
        let mut coefficients = vec![0; axes.len()];
        coefficients[vector] = stride;
        let within = |&axis: &usize| axes[axis] > 1 && view.strides[axis] == 1 && free(axis);
        if let Some(axis) = (0..axes.len()).find(within) {
            coefficients[axis] = 1;
        }
        view.guards.push(Guard { coefficients, offset: 0, divisor: 1, size: i64::MAX, stride: 0 });
    }
    view
}
