//! The sizes of a stage of trees, and where leaves lie.

use farad::{DType, OpError, Shape};

/// The sizes that the ops of a stage depend on, beside the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Bits of a pixel that come in.
    pub channels: usize,
    /// How many of these lie beside each other, pixel by pixel.
    pub beside: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Trees.
    pub kernels: usize,
    /// Levels of gates.
    pub depth: usize,
    /// Pixels by which windows reach over the edges above and left.
    pub offset: usize,
    /// Cells from top to bottom: squares of positions whose OR comes out.
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

    /// Gates of a tree. Gate `n` reads nodes `2n` and `2n + 1`, where nodes are the leaves and then the gates.
    pub fn gates(&self) -> usize {
        self.leaves() - 1
    }

    /// Squares of positions.
    pub fn cells(&self) -> usize {
        self.rows * self.columns
    }

    /// Bits that come in.
    pub fn inputs(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Bits that come out.
    pub fn outputs(&self) -> usize {
        self.kernels * self.cells()
    }

    /// Where a square's position lies: down and right.
    pub fn position(&self, cell: usize, square: usize) -> (usize, usize) {
        let (row, column) = (cell / self.columns, cell % self.columns);
        (row * self.pool + square / self.pool, column * self.pool + square % self.pool)
    }

    /// The input that a leaf reads at a position; none beyond the edge, where zeros are.
    pub fn place(&self, leaf: Leaf, (down, right): (usize, usize)) -> Option<usize> {
        let y = (down + leaf.down).checked_sub(self.offset).filter(|&y| y < self.height)?;
        let x = (right + leaf.right).checked_sub(self.offset).filter(|&x| x < self.width)?;
        Some(self.start(leaf.channel) + (y * self.width + x) * self.beside)
    }

    /// Where the first pixel of a channel lies.
    fn start(&self, channel: usize) -> usize {
        channel / self.beside * self.height * self.width * self.beside + channel % self.beside
    }

    /// A leaf as the kernels see it: where its channel begins, and how far down and right of the window's corner.
    pub fn words(&self, leaf: Leaf) -> [u32; 3] {
        [self.start(leaf.channel), leaf.down, leaf.right].map(|word| word as u32)
    }

    /// Who reads each channel: where its list begins and the last one ends, then all lists, three words per entry: the
    /// leaf's number among all trees', and how far down and right. `[channels + 1 + 3 · kernels · leaves]`
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

    /// The cell and its square whose window's corner lies so that a leaf reads a pixel, if there is one.
    pub fn cell_of(&self, (y, x): (usize, usize), (down, right): (usize, usize)) -> Option<(usize, usize)> {
        let y = (y + self.offset).checked_sub(down).filter(|&y| y < self.rows * self.pool)?;
        let x = (x + self.offset).checked_sub(right).filter(|&x| x < self.columns * self.pool)?;
        let cell = y / self.pool * self.columns + x / self.pool;
        Some((cell, y % self.pool * self.pool + x % self.pool))
    }

    /// The shapes of coefficients, slopes, leaves, readers and inputs for so many samples.
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

    /// The shapes of what comes out, and of which square of each cell it came from.
    pub fn results(&self, batch: usize) -> [(Shape, DType); 2] {
        let words = Packing::of(batch).words(batch);
        [
            (Shape::new(&[self.outputs(), batch]), DType::F32),
            (Shape::new(&[self.outputs(), words]), DType::U32),
        ]
    }

    /// The shape of the gradients at leaves.
    pub fn at_leaves(&self, batch: usize) -> Shape {
        Shape::new(&[self.kernels * self.leaves() * self.cells(), batch])
    }

    /// Gates times positions times samples.
    pub fn evaluations(&self, batch: usize) -> u64 {
        (self.outputs() * self.pool * self.pool * self.gates() * batch) as u64
    }

    /// Says what is wrong with the operands of a stage.
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
                let what = format!("an operand has the wrong shape: {shape} where {wanted} fits");
                return Err(OpError::Sizes { op, what, a: shape.numel(), b: wanted.numel() });
            }
        }
        Ok(batch)
    }
}

/// What a leaf reads: a channel, and how far from the window's corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub channel: usize,
    pub down: usize,
    pub right: usize,
}

/// How the squares that were largest are stored: a byte each if samples come by four, else a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Bytes,
    Words,
}

impl Packing {
    /// For so many samples.
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

    /// Puts the square of a sample into a row of zeros.
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
