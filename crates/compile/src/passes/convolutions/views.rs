//! How tiles lie in an array: their elements as functions of eight indices. Kernels get them as numbers, so that one
//! text serves all sizes.

/// How many indices say which tile it is: outer ones, the tile's number, and inner ones.
pub const INDICES: usize = 8;
/// The index that is the tile's number.
pub const NUMBER: usize = 4;

/// How tiles lie in an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileView {
    /// Elements between neighbors, per index.
    pub strides: [i64; INDICES],
    /// Where the rows and the columns of a tile are.
    pub lines: [TileLines; 2],
}

/// Along an axis of an array: at which positions the rows (or columns) of a tile are. Element `a` is at `offset +
/// Σ coefficients[n] · index[n] + step · a`, if that is in `0..size`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileLines {
    /// Positions per step of an index.
    pub coefficients: [i64; INDICES],
    /// The position of the very first.
    pub offset: i64,
    /// Positions from one to the next.
    pub step: i64,
    /// How many positions the array has.
    pub size: usize,
    /// Elements of the array between positions.
    pub stride: i64,
}

impl TileLines {
    /// The position of the first, for these indices.
    fn first(&self, index: &[i64; INDICES]) -> i64 {
        self.offset + dot(&self.coefficients, index)
    }

    /// Element `a`, if it exists.
    fn element(&self, first: i64, a: usize) -> Option<i64> {
        let position = first + self.step * a as i64;
        (0..self.size as i64).contains(&position).then_some(position * self.stride)
    }

    fn words(&self) -> Vec<i64> {
        let fixed = [self.offset, self.step, self.size as i64, self.stride];
        [&self.coefficients[..], &fixed].concat()
    }

    /// Whether tiles of four start at multiples of four.
    fn in_fours(&self) -> bool {
        (self.step, self.stride) == (1, 1)
            && self.size.is_multiple_of(4)
            && self.coefficients.iter().chain([&self.offset]).all(|c| c % 4 == 0)
    }
}

impl TileView {
    /// Numbers that a kernel reads.
    pub fn words(&self) -> Vec<i64> {
        [self.strides.to_vec(), self.lines[0].words(), self.lines[1].words()].concat()
    }

    /// Whether the four columns of a tile are one aligned `vec4`, all of which exist or none.
    pub fn in_fours(&self) -> bool {
        self.lines[1].in_fours()
            && self.lines[0].stride % 4 == 0
            && self.strides.iter().all(|stride| stride % 4 == 0)
    }

    /// The element in row `a` and column `b` of a tile, if it exists.
    pub fn place(&self, index: &[i64; INDICES], a: usize, b: usize) -> Option<usize> {
        let [rows, columns] = &self.lines;
        let row = rows.element(rows.first(index), a)?;
        let column = columns.element(columns.first(index), b)?;
        Some((dot(&self.strides, index) + row + column) as usize)
    }
}

/// The sum of products.
pub fn dot(a: &[i64; INDICES], b: &[i64; INDICES]) -> i64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
