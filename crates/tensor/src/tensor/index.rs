//! Reading and adding at positions that are data. Positions out of range are an error with the line of the op, when the
//! result is computed (CPU) or at the device's next read, on whichever thread (GPU).

use farad_ir::{DType, Op, OpError, Shape};

use super::{Tensor, raise};

impl Tensor {
    #[track_caller]
    pub(crate) fn positions(&self, op: &'static str) -> Tensor {
        match self.dtype() {
            DType::I32 | DType::U32 => self.clone(),
            // A position that 32 bits do not hold stays out of range.
            DType::I64 => self.maximum(i32::MIN).minimum(i32::MAX).cast(DType::I32),
            DType::U64 => self.minimum(i32::MAX).cast(DType::I32),
            dtype if dtype.is_int() => self.cast(DType::I32),
            dtype => raise(OpError::DType {
                op,
                dtype,
                help: "\nhelp: positions are integers, e.g. `.cast(DType::I32)`",
            }),
        }
    }

    /// `y[.., j, ..] = x[.., index[.., j, ..], ..]` along an axis. The index has the tensor's rank;
    /// on the other axes it has the tensor's size, or 1 to be used for all.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &device);
    /// let index = Tensor::from_vec(vec![1, 0], [2, 1], &device);
    /// assert_eq!(x.gather(1, &index).to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn gather(&self, axis: isize, index: &Tensor) -> Tensor {
        let axis = self.axis("gather", axis);
        Tensor::record(Op::Gather(axis), &[self, &index.positions("gather")])
    }

    /// Whole slices at the positions of a one-axis index.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &device);
    /// let index = Tensor::from_vec(vec![1, 1], [2], &device);
    /// assert_eq!(x.index_select(0, &index).to_vec::<f32>()?, [3.0, 4.0, 3.0, 4.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn index_select(&self, axis: isize, index: &Tensor) -> Tensor {
        let axis = self.axis("index_select", axis);
        if index.rank() != 1 {
            raise(OpError::Sizes {
                op: "index_select",
                what: format!("the index has one axis: {}", index.shape()),
                a: index.rank(),
                b: 1,
            });
        }
        let mut sizes = vec![1; self.rank()];
        sizes[axis] = index.numel();
        Tensor::record(Op::Gather(axis), &[self, &index.positions("index_select").reshape(sizes)])
    }

    /// Rows of a table `[entries, width]` at positions of any shape: `[..] -> [.., width]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let table = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &device);
    /// let ids = Tensor::from_vec(vec![1, 0], [1, 2], &device);
    /// assert_eq!(table.embedding(&ids).shape()[..], [1, 2, 2]);
    /// ```
    #[track_caller]
    pub fn embedding(&self, ids: &Tensor) -> Tensor {
        if self.rank() != 2 {
            raise(OpError::Sizes {
                op: "embedding",
                what: format!("the table is [entries, width]: {}", self.shape()),
                a: self.rank(),
                b: 2,
            });
        }
        let index = ids.positions("embedding").reshape([ids.numel(), 1]);
        let rows = Tensor::record(Op::Gather(0), &[self, &index]);
        rows.reshape(ids.shape().iter().copied().chain([self.shape()[1]]).collect::<Vec<_>>())
    }

    /// 1 at the position and 0 elsewhere, along a new last axis of this size, as `f32`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1], [1], &Device::cpu());
    /// assert_eq!(x.one_hot(3).to_vec::<f32>()?, [0.0, 1.0, 0.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn one_hot(&self, classes: usize) -> Tensor {
        let own = self.positions("one_hot").cast(DType::I32).unsqueeze(-1);
        own.equal(Tensor::arange(classes, self.device())).cast(DType::F32)
    }

    /// The tensor with `source` added at the positions `index` along an axis, in order: the result
    /// is the same every time. The index has the source's shape, or 1 on axes other than `axis`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::zeros([3], &device);
    /// let index = Tensor::from_vec(vec![2, 2], [2], &device);
    /// let y = x.scatter_add(0, &index, &Tensor::ones([2], &device));
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.0, 2.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_add(&self, axis: isize, index: &Tensor, source: &Tensor) -> Tensor {
        let axis = self.axis("scatter_add", axis);
        let size = self.shape()[axis];
        let expected: Shape = source.shape();
        if expected.rank() == self.rank()
            && let Some(a) = (0..self.rank()).find(|&a| a != axis && expected[a] != self.shape()[a])
        {
            raise(OpError::Shapes {
                op: "scatter_add",
                lhs: self.shape(),
                rhs: expected,
                a: self.shape()[a],
                b: expected[a],
            });
        }
        let added = Tensor::record(Op::ScatterAdd(axis, size), &[source, &index.positions("scatter_add")]);
        self + &added
    }

    /// Sums of slices along the first axis by segment: `[n, ..]` with a segment's number for each of
    /// the `n` gives `[count, ..]`. Numbers come in any order, and segments may be empty; slices are
    /// added in order, so that the result is the same every time.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &device);
    /// let segments = Tensor::from_vec(vec![2, 0, 2], [3], &device);
    /// assert_eq!(x.segment_sum(&segments, 3).to_vec::<f32>()?, [2.0, 0.0, 4.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn segment_sum(&self, segments: &Tensor, count: usize) -> Tensor {
        let (lhs, rhs) = (self.shape(), segments.shape());
        if lhs.rank() == 0 || rhs.rank() != 1 || lhs[0] != rhs[0] {
            let what = format!("one segment a slice of the first axis: {lhs} and {rhs}");
            let (a, b) = (lhs.first().copied().unwrap_or(0), rhs.first().copied().unwrap_or(0));
            raise(OpError::Sizes { op: "segment_sum", what, a, b });
        }
        let mut sizes = vec![1; lhs.rank()];
        sizes[0] = lhs[0];
        let index = segments.positions("segment_sum").reshape(sizes);
        Tensor::record(Op::ScatterAdd(0, count), &[self, &index])
    }
}
