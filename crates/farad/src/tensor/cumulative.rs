//! Running sums and products along an axis.
//!
//! An axis is cut into blocks. Inside a block every position reduces what comes up to it, all
//! positions at once; the blocks' last values are run over in the same way, and each block goes on
//! from what came before it. The work is the axis times the block size, in two kernels or so for
//! every factor of the block size.

use farad_ir::{Binary, DType, OpError, Reduce};

use super::{Tensor, raise};

/// Positions in a block.
const BLOCK: usize = 16;

/// What is accumulated.
struct Running {
    reduce: Reduce,
    combine: Binary,
    /// What stands where nothing comes before.
    nothing: f64,
}

const SUMS: Running = Running { reduce: Reduce::Sum, combine: Binary::Add, nothing: 0.0 };
const PRODUCTS: Running = Running { reduce: Reduce::Prod, combine: Binary::Mul, nothing: 1.0 };

impl Tensor {
    /// Running sums along an axis: every element with all before it.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &Device::cpu());
    /// assert_eq!(x.cumsum(0).to_vec::<f32>()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn cumsum(&self, axis: isize) -> Tensor {
        self.cumulative("cumsum", &SUMS, axis)
    }

    /// Running sums from the end of an axis: every element with all after it.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &Device::cpu());
    /// assert_eq!(x.cumsum_from_end(0).to_vec::<f32>()?, [6.0, 5.0, 3.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn cumsum_from_end(&self, axis: isize) -> Tensor {
        self.flip(&[axis]).cumulative("cumsum_from_end", &SUMS, axis).flip(&[axis])
    }

    /// Running products along an axis: every element with all before it.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [4], &Device::cpu());
    /// assert_eq!(x.cumprod(0).to_vec::<f32>()?, [1.0, 2.0, 6.0, 24.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn cumprod(&self, axis: isize) -> Tensor {
        self.cumulative("cumprod", &PRODUCTS, axis)
    }

    #[track_caller]
    fn cumulative(&self, op: &'static str, running: &Running, axis: isize) -> Tensor {
        let (axis, dtype) = (self.axis(op, axis), self.dtype());
        if dtype == DType::Bool || !dtype.is_compute() {
            raise(OpError::DType { op, dtype, help: "\nhelp: cast it first, e.g. `.cast(DType::I32)`" });
        }
        if self.numel() == 0 {
            return self.clone();
        }
        let shape = self.shape();
        let (before, after) = (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
        let x = self.single().reshape([before, shape[axis], after]);
        x.blocks(running).reshape(shape).rounded_like(self)
    }

    /// `[before, length, after]`, accumulated along the middle axis.
    #[track_caller]
    fn blocks(&self, running: &Running) -> Tensor {
        let [before, length, after] = self.shape()[..] else { unreachable!("made of three axes") };
        if length == 1 {
            return self.clone();
        }
        let block = BLOCK.min(length);
        let count = length.div_ceil(block);
        // What is appended comes after everything, so its value does not matter.
        let whole = self.pad(&[(0, 0), (0, count * block - length), (0, 0)]);
        let terms =
            whole.reshape([before, count, block, 1, after]).expand([before, count, block, block, after]);
        let position = Tensor::arange(block, self.device());
        let seen = position.reshape([block, 1, 1]).less_equal(position.reshape([1, block, 1]));
        let terms = seen.select(&terms, &terms.full_like(running.nothing));
        let mut sums = match running.reduce {
            Reduce::Prod => terms.prod_axes(&[2], false),
            _ => terms.sum_axes(&[2], false),
        };
        if count > 1 {
            let last =
                sums.narrow(2, block - 1, 1).narrow(1, 0, count - 1).reshape([before, count - 1, after]);
            let earlier = last.blocks(running).pad(&[(0, 0), (1, 0), (0, 0)]);
            let first = Tensor::arange(count, self.device()).equal(0).reshape([count, 1]);
            let earlier = match running.reduce {
                Reduce::Sum => earlier,
                _ => first.select(&earlier.full_like(running.nothing), &earlier),
            };
            sums = Tensor::binary(running.combine, &sums, &earlier.reshape([before, count, 1, after]));
        }
        sums.reshape([before, count * block, after]).narrow(1, 0, length)
    }
}
