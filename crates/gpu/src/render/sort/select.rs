//! Selects the first k entries of an order: the launches of `wgsl/select.wgsl`, and the sort of the selected
//! keys.
//!
//! Histograms narrow down the k-th key digit by digit, highest digit first. They are summed with integer
//! atomics, so the order of additions does not matter. Then all keys before the k-th are gathered in order,
//! followed by as many keys equal to it as are needed. Only these k keys are sorted.
//!
//! Invariant: in scratch memory, equal selected keys are in the order of their positions. So a stable sort of
//! them gives the right order.

use farad_compile::program::{BufferId, Sort};

use super::{DIGIT, Dispatch, SortSizes, Sorting, WORD, WORDS, Word};

/// Digits of the longest keys; there is one set of counts for each.
const DIGITS: u32 = u32::BITS / DIGIT;

impl Sorting<'_> {
    /// Finds the last selected key, gathers the selected keys, and sorts them.
    pub(super) fn select(&self) -> Vec<Dispatch> {
        let sort = self.sort;
        let [selected @ .., histograms, tallies] = &sort.scratch[..] else {
            unreachable!("the planner gives selections their scratch memory")
        };
        let (histograms, tallies) = (*histograms, *tallies);
        let [keys, places] = self.gathered(selected);
        let passes = self.passes();
        let tiles = sort.rows * sort.tiles();
        let sizes = SortSizes { strips: sort.tile() / Sort::STRIP, tiles: sort.tiles(), ..self.sizes() };
        let done = SortSizes { passes, result_start: self.start(places), ..sizes };
        let read = self.all() * self.dtype.size();
        let groups = (DIGITS as usize).min(passes as usize) * sort.rows;
        let counted = groups * Sort::DIGITS * WORD;
        let mut list = vec![self.launch("clear", groups, &[(histograms, true)], sizes, counted)];
        let bindings =
            [(sort.operand, false), (histograms, true), (tallies, true), (keys, true), (places, true)];
        for pass in 0..passes {
            let sizes = SortSizes { shift: DIGIT * (passes - 1 - pass), passes: pass, ..sizes };
            list.push(self.launch("count_within", tiles, &bindings[..2], sizes, read));
        }
        list.push(self.launch("tally", tiles, &bindings[..3], done, read));
        let taken = sort.rows * sort.taken * WORD;
        list.push(self.launch("gather", tiles, &bindings, done, read + 2 * taken));
        list.extend(self.sort_selected(keys, places));
        list
    }

    /// Where the keys and positions of the selection are written: where the sort that follows reads them.
    fn gathered(&self, selected: &[BufferId]) -> [BufferId; 2] {
        match *selected {
            // With an even number of passes, the first pass reads positions from the result buffer.
            [_, keys, _, _, _] if self.passes().is_multiple_of(2) => [keys, self.sort.order],
            [_, keys, places, _, _] => [keys, places],
            [keys, places] => [keys, places],
            _ => unreachable!("the planner gives selections their scratch memory"),
        }
    }

    fn sort_selected(&self, keys: BufferId, places: BufferId) -> Vec<Dispatch> {
        let sort = self.sort.of_selected();
        let sorting = Sorting { sort: &sort, ..*self };
        if !sort.is_short() {
            let passes = self.passes();
            return (0..passes).flat_map(|pass| sorting.pass(pass, passes, false)).collect();
        }
        let plain = SortSizes {
            source_start: Word::Fixed(0),
            kind: WORDS,
            flip: 0,
            most: u32::MAX,
            ..sorting.sizes()
        };
        let bindings = [(keys, false), (places, false), (sort.order, true)];
        vec![sorting.sort_short("selected_rows", &bindings, plain, 3 * sorting.all() * WORD)]
    }
}
