//! The sort kernel: what it computes, and how a device that needs several launches divides it. Where only the
//! first few entries of an order are needed, they are selected first, and only they are sorted.
//!
//! Invariant: the sort is stable, so the result does not depend on the device or on the number of parts. The
//! division into tiles is a fixed rule on sizes. It is defined here because scratch memory is planned by it.

use farad_ir::DType;

use crate::program::BufferId;

/// The argsort of every row, or its beginning: `order[r, j]` is the position of the j-th smallest element (by
/// `keys`) of `operand[r, ..]`. Equal elements keep their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sort {
    /// How many rows.
    pub rows: usize,
    /// Elements of a row.
    pub len: usize,
    /// How many leading positions of a row's order are given; `len` for all.
    pub taken: usize,
    /// What is sorted, row-major.
    pub operand: BufferId,
    /// Positions (`i32`), row-major.
    pub order: BufferId,
    /// The order of the elements.
    pub keys: Keys,
    /// Memory between launches ([`Sort::scratch_words`]). Empty if rows are short or the device needs none.
    pub scratch: Vec<BufferId>,
}

/// What elements are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keys {
    /// Smallest first. NaN is larger than all numbers and equal to NaN; zeros are equal.
    Ascending,
    /// Largest first, NaN before all.
    Descending,
    /// Elements are positions below this bound; anything out of range counts as equal to the bound.
    Below(usize),
    /// Every row is a permutation of `0..len`, so its order is its inverse.
    Permutation,
}

impl Keys {
    /// How many low bits of a key are needed to tell elements of this type apart.
    pub fn bits(self, dtype: DType, len: usize) -> u32 {
        let above = match (self, dtype) {
            (Keys::Below(size), _) => size,
            (Keys::Permutation, _) => len.saturating_sub(1),
            (_, DType::Bool) => 1,
            (_, DType::F16) => 0xffff,
            _ => u32::MAX as usize,
        };
        (usize::BITS - above.leading_zeros()).clamp(1, 32)
    }
}

impl Sort {
    /// Rows up to this length are sorted in one launch, by one workgroup. Not measured by itself; its case:
    /// `argsort_4096x1024_f32`.
    pub const SHORT: usize = 2048;
    /// Number of digit values: each pass of the radix sort takes eight bits. Not measured by itself; its case:
    /// `sort_2p20_f32`.
    pub const DIGITS: usize = 256;
    /// Elements that a workgroup processes at once; tiles are multiples of it. Not measured by itself; its case: `sort_2p20_f32`.
    pub const STRIP: usize = 256;

    /// Elements per tile of a long row, which one workgroup moves in a pass. Longer rows get larger tiles, so
    /// that there are neither too few workgroups nor too many counts.
    pub fn tile(&self) -> usize {
        Sort::STRIP * (self.rows * self.len / (Sort::STRIP * Sort::STRIP)).clamp(4, 16)
    }

    /// Tiles per row.
    pub fn tiles(&self) -> usize {
        self.len.div_ceil(self.tile())
    }

    /// Whether rows are sorted in one launch.
    pub fn is_short(&self) -> bool {
        self.len <= Sort::SHORT
    }

    /// Whether the leading entries are selected first and only they are sorted. A short row is sorted as a
    /// whole.
    pub fn selects(&self) -> bool {
        self.taken < self.len && !self.is_short()
    }

    /// The sort of the selected elements: rows of `taken` elements, sorted completely.
    pub fn of_selected(&self) -> Sort {
        Sort { len: self.taken, ..self.clone() }
    }

    /// The size of every scratch buffer, in 32-bit words. A sort of long rows needs two buffers of keys, one of
    /// positions, and the digit counts with their sums. A selection needs what the sort of the selected
    /// elements needs (keys and positions, if they are few), then digit counts (four sets per row) and the
    /// number of selected elements per tile.
    pub fn scratch_words(&self) -> Vec<usize> {
        if self.is_short() || self.keys == Keys::Permutation {
            return vec![];
        }
        if self.selects() {
            let selected = self.of_selected();
            let mut words = selected.scratch_words();
            if words.is_empty() {
                words = vec![self.rows * self.taken; 2];
            }
            words.extend([4 * self.rows * Sort::DIGITS, 2 * self.rows * self.tiles()]);
            return words;
        }
        let (all, digits) = (self.rows * self.len, self.rows * Sort::DIGITS);
        vec![all, all, all, digits * self.tiles(), digits]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_need_few_bits() {
        assert_eq!(Keys::Ascending.bits(DType::F32, 9), 32);
        assert_eq!(Keys::Descending.bits(DType::F16, 9), 16);
        assert_eq!(Keys::Ascending.bits(DType::Bool, 9), 1);
        // Positions 0..=8191, and one more value for anything out of range.
        assert_eq!(Keys::Below(8191).bits(DType::I32, 9), 13);
        assert_eq!(Keys::Below(8192).bits(DType::I32, 9), 14);
        assert_eq!(Keys::Below(0).bits(DType::I32, 9), 1);
    }

    #[test]
    fn tiles_cover_rows() {
        for (rows, len) in [(1, 2049), (1, 70_001), (300, 5000), (1, 1 << 24)] {
            let (operand, order) = (BufferId(0), BufferId(1));
            let sort = Sort { rows, len, taken: len, operand, order, keys: Keys::Ascending, scratch: vec![] };
            assert!(sort.tiles() * sort.tile() >= len && (sort.tiles() - 1) * sort.tile() < len);
            assert!(sort.scratch_words()[3] <= 2 * rows * (len + sort.tile()), "{rows} {len}");
        }
    }

    #[test]
    fn a_selection_takes_little_memory() {
        let (operand, order) = (BufferId(0), BufferId(1));
        let sort = |len, taken| {
            let keys = Keys::Descending;
            Sort { rows: 256, len, taken, operand, order, keys, scratch: vec![] }
        };
        assert!(!sort(2048, 5).selects() && !sort(5000, 5000).selects());
        for taken in [1, 64, 2048, 5000] {
            let words: usize = sort(32_768, taken).scratch_words().iter().sum();
            assert!(
                words < sort(32_768, 32_768).scratch_words().iter().sum::<usize>() / 4,
                "{taken}: {words}"
            );
        }
    }
}
