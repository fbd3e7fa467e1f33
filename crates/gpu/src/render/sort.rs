//! Sorting: launches of the entry points of `wgsl/sort.wgsl` and `wgsl/select.wgsl`.
//!
//! Every sort is stable, because keys carry their positions. Rows of up to 2048 elements are sorted by a
//! bitonic network in workgroup memory, in one launch. Longer rows use a radix sort, eight bits per pass:
//! count, prefix sum, move. There are only as many passes as the keys' bits need, with three launches per pass.
//! Scratch memory is 12 bytes per element plus the counts; the compiler plans it. Inverting a permutation takes
//! one launch and no sorting.
//!
//! Invariant: positions alternate between the result and one scratch buffer, so that the last pass writes the
//! result. Keys alternate between two buffers, and the first pass computes them from the operand.

mod select;

use std::sync::{Arc, OnceLock};

use farad_compile::costs::Costs;
use farad_compile::program::{BufferId, Keys, Sort};
use farad_ir::{DType, WgslText};

use super::RenderContext;
use super::module::fold;
use crate::dispatch::{Capabilities, Dispatch, StorageBinding, Word};
use crate::heuristics::sorts::{BUSY, FEW_TILES};
use crate::transfer::WORD;

const SORT: &str = include_str!("../wgsl/sort.wgsl");
const SELECT: &str = include_str!("../wgsl/select.wgsl");

/// Invocations per workgroup.
const THREADS: usize = Sort::STRIP;
/// Bits of a digit.
const DIGIT: u32 = Sort::DIGITS.trailing_zeros();

/// The kind of the source, as numbered in the WGSL.
const WORDS: u32 = 0;
const SIGNED: u32 = 1;
const FLOATS: u32 = 2;
const F16: u32 = 3;

fn text() -> Arc<str> {
    static TEXT: OnceLock<Arc<str>> = OnceLock::new();
    let text = || WgslText::new(SORT).region("select", WgslText::new(SELECT).region("sort", "")).into();
    TEXT.get_or_init(text).clone()
}

/// The words of the uniform, as the WGSL declares them, without the grid.
#[derive(Clone, Copy)]
struct SortSizes {
    source_start: Word,
    places_start: Word,
    result_start: Word,
    kind: u32,
    flip: u32,
    most: u32,
    shift: u32,
    strips: usize,
    tiles: usize,
    first: bool,
    last: bool,
    added: bool,
    passes: u32,
}

/// The launches of one sort.
struct Sorting<'a> {
    sort: &'a Sort,
    slots: &'a [(BufferId, usize)],
    capabilities: &'a Capabilities,
    dtype: DType,
}

/// The launches that sort.
pub(super) fn dispatches(sort: &Sort, context: RenderContext) -> Vec<Dispatch> {
    let RenderContext { program, slots, capabilities, .. } = context;
    let dtype = program.buffers[sort.operand.0 as usize].dtype;
    let sorting = Sorting { sort, slots, capabilities, dtype };
    match sort.keys {
        Keys::Permutation => vec![sorting.invert()],
        _ if sort.is_short() => vec![sorting.short_rows()],
        _ if sort.selects() => sorting.select(),
        _ => sorting.long_rows(),
    }
}

impl Sorting<'_> {
    /// The offset of a buffer's current slice.
    fn start(&self, buffer: BufferId) -> Word {
        let moves = self.slots.iter().any(|(id, _)| *id == buffer);
        if moves { Word::Slot(buffer) } else { Word::Fixed(0) }
    }

    /// Uniform words for a launch that reads the operand and writes the result.
    fn sizes(&self) -> SortSizes {
        let (kind, ones) = match self.dtype {
            DType::F16 => (F16, 0xffff),
            DType::F32 => (FLOATS, u32::MAX),
            DType::I32 => (SIGNED, u32::MAX),
            DType::Bool => (WORDS, 1),
            _ => (WORDS, u32::MAX),
        };
        let (kind, most) = match self.sort.keys {
            Keys::Below(size) => (WORDS, size as u32),
            _ => (kind, u32::MAX),
        };
        SortSizes {
            source_start: self.start(self.sort.operand),
            places_start: Word::Fixed(0),
            result_start: self.start(self.sort.order),
            kind,
            flip: if self.sort.keys == Keys::Descending { ones } else { 0 },
            most,
            shift: 0,
            strips: 0,
            tiles: 0,
            first: true,
            last: true,
            added: false,
            passes: 0,
        }
    }

    fn all(&self) -> usize {
        self.sort.rows * self.sort.len
    }

    fn invert(&self) -> Dispatch {
        let bindings = [(self.sort.operand, false), (self.sort.order, true)];
        self.launch("invert", self.all().div_ceil(THREADS), &bindings, self.sizes(), 2 * self.all() * WORD)
    }

    fn short_rows(&self) -> Dispatch {
        let bindings = [(self.sort.operand, false), (self.sort.order, true)];
        let bytes = self.all() * self.dtype.size() + self.sort.rows * self.sort.taken * WORD;
        self.sort_short("rows", &bindings, self.sizes(), bytes)
    }

    /// Sorts rows in workgroup memory; several rows share a workgroup if enough workgroups remain to keep the
    /// device busy.
    fn sort_short(
        &self,
        entry: &'static str,
        bindings: &[(BufferId, bool)],
        sizes: SortSizes,
        bytes: usize,
    ) -> Dispatch {
        let padded = self.sort.len.next_power_of_two();
        let held = (Sort::SHORT / padded).min(self.sort.rows.div_ceil(BUSY));
        let sizes = SortSizes { strips: padded, tiles: held, ..sizes };
        self.launch(entry, self.sort.rows.div_ceil(held), bindings, sizes, bytes)
    }

    fn passes(&self) -> u32 {
        self.sort.keys.bits(self.dtype, self.sort.len).div_ceil(DIGIT)
    }

    fn long_rows(&self) -> Vec<Dispatch> {
        let passes = self.passes();
        (0..passes).flat_map(|pass| self.pass(pass, passes, pass == 0)).collect()
    }

    /// Counts digits, sums the counts, moves elements. The first pass has no keys and positions from an earlier
    /// pass.
    fn pass(&self, pass: u32, passes: u32, first: bool) -> Vec<Dispatch> {
        let sort = self.sort;
        let [one, other, places, counts, totals, ..] = sort.scratch[..] else {
            unreachable!("the planner gives long rows their scratch memory")
        };
        let last = pass + 1 == passes;
        let [from, to] = if pass.is_multiple_of(2) { [other, one] } else { [one, other] };
        let source = if first { sort.operand } else { from };
        let [places_from, places_to] =
            if (passes - pass) % 2 == 1 { [places, sort.order] } else { [sort.order, places] };
        let mut sizes = SortSizes {
            shift: DIGIT * pass,
            strips: sort.tile() / Sort::STRIP,
            tiles: sort.tiles(),
            first,
            last,
            added: sort.tiles() > FEW_TILES,
            places_start: self.start(places_from),
            result_start: Word::Fixed(0),
            ..self.sizes()
        };
        if !first {
            // Keys that an earlier pass wrote.
            sizes = SortSizes { source_start: Word::Fixed(0), kind: WORDS, flip: 0, most: u32::MAX, ..sizes };
        }
        let (all, tiles) = (self.all(), sort.rows * sort.tiles());
        let read = all * if first { self.dtype.size() } else { WORD };
        let counted = tiles * Sort::DIGITS * WORD;
        let mut list =
            vec![self.launch("count", tiles, &[(source, false), (counts, true)], sizes, read + counted)];
        if sizes.added {
            let groups = sort.rows * Sort::DIGITS;
            list.push(self.launch("add", groups, &[(counts, true), (totals, true)], sizes, 2 * counted));
        }
        let moved = all * WORD * (3 - first as usize - last as usize);
        let bindings = [
            (source, false),
            // Nothing is there before the first pass, and it is not read.
            (if first { source } else { places_from }, false),
            (counts, false),
            (totals, false),
            (to, true),
            (places_to, true),
        ];
        sizes.result_start = self.start(places_to);
        list.push(self.launch("move_tile", tiles, &bindings, sizes, read + moved + counted));
        list
    }

    fn launch(
        &self,
        entry: &'static str,
        groups: usize,
        bindings: &[(BufferId, bool)],
        sizes: SortSizes,
        bytes: usize,
    ) -> Dispatch {
        let grid = fold(groups, self.capabilities.workgroups);
        let fixed = |size: usize| Word::Fixed(size as u32);
        let parameters = vec![
            Word::Fixed(grid[0]),
            fixed(groups),
            fixed(self.sort.rows),
            fixed(self.sort.len),
            sizes.source_start,
            sizes.places_start,
            sizes.result_start,
            Word::Fixed(sizes.kind),
            Word::Fixed(sizes.flip),
            Word::Fixed(sizes.most),
            Word::Fixed(sizes.shift),
            fixed(sizes.strips),
            fixed(sizes.tiles),
            fixed(sizes.first as usize),
            fixed(sizes.last as usize),
            fixed(sizes.added as usize),
            fixed(self.sort.taken),
            Word::Fixed(sizes.passes),
        ];
        Dispatch {
            wgsl: text(),
            entry,
            bindings: bindings.iter().map(|&(buffer, write)| StorageBinding { buffer, write }).collect(),
            parameters,
            reports: false,
            workgroups: grid,
            costs: Costs { bytes: bytes as u64, ..Costs::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of `Sizes` that a text declares, in order.
    fn declared(text: &str) -> Vec<&str> {
        let (_, rest) = text.split_once("struct Sizes {").expect("the uniform");
        let (fields, _) = rest.split_once('}').expect("its end");
        let lines = fields.lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect()
    }

    #[test]
    fn the_selection_stands_beside_the_sort_that_it_is_part_of() {
        // `select.wgsl` repeats the uniform so that it is valid by itself.
        assert_eq!(declared(SELECT), declared(SORT));
    }
}
