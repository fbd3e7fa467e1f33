//! The sizes of a stage of trees, and the positions of leaves.

use farad::{DType, OpError, Shape};

/// The sizes that the ops of a stage depend on, besides the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Input bits per pixel.
    pub channels: usize,
    /// How many of these are adjacent, pixel by pixel.
    pub beside: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Trees.
    pub kernels: usize,
    /// Levels of gates.
    pub depth: usize,
    /// Pixels by which windows extend beyond the upper and left edges.
    pub offset: usize,
    /// Cells from top to bottom: squares of positions that are combined by OR.
    pub rows: usize,
    /// Cells from left to right.
    pub columns: usize,
    /// Positions along a side of a cell.
    pub pool: usize,
}

impl Geometry {
    /// Leaves of a tree.
    pub fn leaves(&self) -> usize {
        1 << self.depth
    }

    /// Gates per tree. Gate `n` reads nodes `2n` and `2n + 1`, where nodes are the leaves and then the gates.
    pub fn gates(&self) -> usize {
        self.leaves() - 1
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.rows * self.columns
    }

    /// Input bits.
    pub fn inputs(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Output bits.
    pub fn outputs(&self) -> usize {
        self.kernels * self.cells()
    }

    /// The position of a square of a cell: down and right.
    pub fn position(&self, cell: usize, square: usize) -> (usize, usize) {
        let (row, column) = (cell / self.columns, cell % self.columns);
        (row * self.pool + square / self.pool, column * self.pool + square % self.pool)
    }

    /// The input that a leaf reads at a position; `None` beyond the edge, where it is zero.
    pub fn place(&self, leaf: Leaf, (down, right): (usize, usize)) -> Option<usize> {
        let y = (down + leaf.down).checked_sub(self.offset).filter(|&y| y < self.height)?;
        let x = (right + leaf.right).checked_sub(self.offset).filter(|&x| x < self.width)?;
        Some(self.start(leaf.channel) + (y * self.width + x) * self.beside)
    }

    /// The index of the first pixel of a channel.
    fn start(&self, channel: usize) -> usize {
        channel / self.beside * self.height * self.width * self.beside + channel % self.beside
    }

    /// A leaf as the kernels see it: the index of its channel, and its offset down and right from the window's
    /// corner.
    pub fn words(&self, leaf: Leaf) -> [u32; 3] {
        [self.start(leaf.channel), leaf.down, leaf.right].map(|word| word as u32)
    }

    /// The readers of each channel: the offsets of the lists and the end of the last, then all lists, three
    /// words per entry: the leaf's index over all trees, and its offset down and right.
    /// `[channels + 1 + 3 · kernels · leaves]`
    pub fn readers(&self, leaves: &[Leaf]) -> Vec<u32> {
        let mut lists = vec![vec![]; self.channels];
        for (number, leaf) in leaves.iter().enumerate() {
            lists[leaf.channel].extend([number, leaf.down, leaf.right].map(|word| word as u32));
        }
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len() as u32 / 3;
            Some(*end)
        });
        std::iter::once(0).chain(ends).chain(lists.iter().flatten().copied()).collect()
    }

    /// The channel, row and column of an input.
    pub fn pixel(&self, input: usize) -> (usize, usize, usize) {
        let (pixel, area) = (input / self.beside, self.height * self.width);
        let channel = pixel / area * self.beside + input % self.beside;
        (channel, pixel % area / self.width, pixel % self.width)
    }

    /// The cell and square at which a leaf with this offset reads a pixel, if there is one.
    pub fn cell_of(&self, (y, x): (usize, usize), (down, right): (usize, usize)) -> Option<(usize, usize)> {
        let y = (y + self.offset).checked_sub(down).filter(|&y| y < self.rows * self.pool)?;
        let x = (x + self.offset).checked_sub(right).filter(|&x| x < self.columns * self.pool)?;
        let cell = y / self.pool * self.columns + x / self.pool;
        Some((cell, y % self.pool * self.pool + x % self.pool))
    }

    /// The shapes of coefficients, slopes, leaves, readers and inputs for this many samples.
    pub fn operands(&self, batch: usize) -> [(Shape, DType); 5] {
        let gates = Shape::new(&[self.kernels, self.gates(), 4]);
        let leaves = self.kernels * self.leaves();
        [
            (gates, DType::F32),
            (gates, DType::F32),
            (Shape::new(&[leaves, 3]), DType::U32),
            (Shape::new(&[self.channels + 1 + 3 * leaves]), DType::U32),
            (Shape::new(&[self.inputs(), batch]), DType::F32),
        ]
    }

    /// The shapes of the outputs, and of the squares that they came from.
    pub fn results(&self, batch: usize) -> [(Shape, DType); 2] {
        let words = Packing::of(batch).words(batch);
        [
            (Shape::new(&[self.outputs(), batch]), DType::F32),
            (Shape::new(&[self.outputs(), words]), DType::U32),
        ]
    }

    /// The shape of the gradients of leaves.
    pub fn at_leaves(&self, batch: usize) -> Shape {
        Shape::new(&[self.kernels * self.leaves() * self.cells(), batch])
    }

    /// Gates times positions times samples.
    pub fn evaluations(&self, batch: usize) -> u64 {
        (self.outputs() * self.pool * self.pool * self.gates() * batch) as u64
    }

    /// Checks the operands of a stage.
    pub fn check(&self, operands: &[(Shape, DType)]) -> Result<usize, OpError> {
        let op = "trees";
        let [.., (x, _)] = operands else { return Err(OpError::Arity { op, got: 0, least: 5 }) };
        if operands.len() != 5 {
            return Err(OpError::Arity { op, got: operands.len(), least: 5 });
        }
        if x.rank() != 2 {
            return Err(OpError::RankTooLow { op, shape: *x, rank: x.rank(), least: 2 });
        }
        let batch = x[1];
        for (&(shape, dtype), (wanted, kind)) in operands.iter().zip(self.operands(batch)) {
            if dtype != kind {
                return Err(OpError::DTypes { op, lhs: dtype, rhs: kind });
            }
            if shape != wanted {
                let what = format!("an operand has the wrong shape: {shape}, expected {wanted}");
                return Err(OpError::Sizes { op, what, a: shape.numel(), b: wanted.numel() });
            }
        }
        Ok(batch)
    }
}

/// What a leaf reads: a channel, and the offset from the window's corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub channel: usize,
    pub down: usize,
    pub right: usize,
}

/// How the indices of the largest squares are stored: one byte each if the number of samples is a multiple of
/// four, otherwise one word each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Bytes,
    Words,
}

impl Packing {
    /// For this many samples.
    pub fn of(batch: usize) -> Packing {
        if batch.is_multiple_of(4) { Packing::Bytes } else { Packing::Words }
    }

    /// Words of a row.
    pub fn words(self, batch: usize) -> usize {
        match self {
            Packing::Bytes => batch / 4,
            Packing::Words => batch,
        }
    }

    /// Stores the square of a sample in a row of zeros.
    pub fn put(self, row: &mut [u32], sample: usize, square: usize) {
        match self {
            Packing::Bytes => row[sample / 4] |= (square as u32) << (8 * (sample % 4)),
            Packing::Words => row[sample] = square as u32,
        }
    }

    /// The square of a sample.
    pub fn get(self, row: &[u32], sample: usize) -> usize {
        match self {
            Packing::Bytes => (row[sample / 4] >> (8 * (sample % 4)) & 255) as usize,
            Packing::Words => row[sample] as usize,
        }
    }
}
