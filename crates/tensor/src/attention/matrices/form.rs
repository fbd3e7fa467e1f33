//! The sizes of a kernel on tensor cores, and the memory that they take.

use super::super::extent::AttentionExtent;

/// Rows and columns of a matrix.
pub const SIDE: usize = 16;

/// What a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixKernel {
    /// The result, and the logarithms of the sums.
    Forward,
    /// Gradients at queries.
    Queries,
    /// Gradients at keys and values.
    Keys,
}

impl MatrixKernel {
    /// The rows that a workgroup has, as left operands.
    pub fn own(self) -> &'static [&'static str] {
        match self {
            MatrixKernel::Forward => &["q"],
            MatrixKernel::Queries => &["q", "g"],
            MatrixKernel::Keys => &["k", "v"],
        }
    }

    /// The rows that pass by; scores are products of those with the workgroup's own.
    pub fn streams(self) -> [&'static str; 2] {
        match self {
            MatrixKernel::Keys => ["q", "g"],
            _ => ["k", "v"],
        }
    }

    /// Which of the streams each total sums, weighted.
    pub fn totals(self) -> &'static [usize] {
        match self {
            MatrixKernel::Forward => &[1],
            MatrixKernel::Queries => &[0],
            MatrixKernel::Keys => &[0, 1],
        }
    }
}

/// What beyond queries, keys and values decides about scores and weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extras {
    /// A mask of keys.
    pub mask: bool,
    /// Numbers that are added to the scores.
    pub bias: bool,
    /// Weights are dropped at random.
    pub dropout: bool,
}

impl Extras {
    /// How many operands these are.
    pub fn count(&self) -> usize {
        [self.mask, self.bias, self.dropout].into_iter().filter(|is| *is).count()
    }
}

/// All that a text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixForm {
    pub kernel: MatrixKernel,
    pub extras: Extras,
    /// Whether operands are f16. If not, they are `f32`, each as the sum of two f16 numbers.
    pub is_f16: bool,
    /// Lanes of a subgroup.
    pub lanes: usize,
    /// Subgroups of a workgroup, and how many times 16 rows each of them has.
    pub subgroups: usize,
    pub groups: usize,
    /// Passing rows that arrive at once, and those of them that are multiplied at once.
    pub chunk: usize,
    pub stream: usize,
    /// `vec4`s of a row.
    pub vectors: usize,
}

impl MatrixForm {
    /// Elements of a row, in whole matrices.
    pub fn width(&self) -> usize {
        (4 * self.vectors).next_multiple_of(SIDE)
    }

    /// Matrices along a row.
    pub fn steps(&self) -> usize {
        self.width() / SIDE
    }

    /// Matrices along the rows that pass by.
    pub fn blocks(&self) -> usize {
        self.stream / SIDE
    }

    /// Rows of a subgroup.
    pub fn rows(&self) -> usize {
        SIDE * self.groups
    }

    /// Rows of a workgroup.
    pub fn own(&self) -> usize {
        self.rows() * self.subgroups
    }

    pub fn threads(&self) -> usize {
        self.subgroups * self.lanes
    }

    /// Elements from row to row in workgroup memory: neighbors start in different banks.
    pub fn stride(&self) -> usize {
        self.width() + 8
    }

    /// Elements from row to row of scores.
    pub fn room_stride(&self) -> usize {
        self.stream + 8
    }

    /// Elements of 16 rows of scores.
    pub fn room(&self) -> usize {
        SIDE * self.room_stride()
    }

    /// f16 numbers that make up one operand.
    pub fn parts(&self) -> usize {
        if self.is_f16 { 1 } else { 2 }
    }

    /// Bytes of workgroup memory.
    pub fn memory(&self) -> usize {
        let operands = 4 * self.parts() * self.chunk * self.stride();
        let weights = 2 * self.parts() * self.groups * self.room();
        let columns = if self.kernel == MatrixKernel::Keys { 16 * self.chunk } else { 0 };
        operands + self.subgroups * (4 * self.room() + weights) + columns
    }

    /// The kernel's rows, and how many heads of them there are.
    pub fn size(&self, extent: &AttentionExtent) -> (usize, usize) {
        match self.kernel {
            MatrixKernel::Keys => (extent.key_heads(), extent.keys),
            _ => (extent.heads, extent.queries),
        }
    }
}
