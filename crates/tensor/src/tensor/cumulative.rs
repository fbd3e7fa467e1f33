//! Running sums and products along an axis.
//!
//! An axis is cut into blocks of 16. Inside a block every position reduces what comes up to it, all positions
//! at once. The totals of the blocks are scanned in the same way, and each block continues from what came
//! before it. That is two kernels per level, and the work is the length of the axis times the block size.

use farad_ir::{Binary, DType, OpError, Reduce};

use super::{Tensor, raise};

/// Most positions in a block.
const BLOCK: usize = 16;

/// Sizes of blocks, innermost first, whose product is `length` or a little more.
fn radices(length: usize) -> Vec<usize> {
    let mut levels = 1;
    while BLOCK.pow(levels) < length {
        levels += 1;
    }
    let mut rest = length;
    let block = |level: u32| {
        let size = (1..=BLOCK).find(|size| size.pow(level) >= rest).unwrap_or(BLOCK);
        rest = rest.div_ceil(size);
        size
    };
    (1..=levels).rev().map(block).collect()
}

/// What is accumulated.
struct Running {
    reduce: Reduce,
    combine: Binary,
    /// What stands where nothing comes before.
    nothing: f64,
    /// Whether it runs from the last position to the first.
    reverse: bool,
}

const SUMS: Running = Running { reduce: Reduce::Sum, combine: Binary::Add, nothing: 0.0, reverse: false };
const SUMS_FROM_END: Running = Running { reverse: true, ..SUMS };
const PRODUCTS: Running =
    Running { reduce: Reduce::Prod, combine: Binary::Mul, nothing: 1.0, reverse: false };

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
        self.cumulative("cumsum_from_end", &SUMS_FROM_END, axis)
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
        let radices = radices(shape[axis]);
        let beyond = radices.iter().product::<usize>() - shape[axis];
        // What is appended comes after everything, so its value does not matter.
        let widths = if running.reverse { (beyond, 0) } else { (0, beyond) };
        let x = self.single().reshape([before, shape[axis], after]).pad(&[(0, 0), widths, (0, 0)]);
        let sums = x.blocks(running, &radices, true);
        sums.narrow(1, widths.0, shape[axis]).reshape(shape).rounded_like(self)
    }

    /// `[before, length, after]`, accumulated along the middle axis in blocks of these sizes, each
    /// position itself included or not.
    #[track_caller]
    fn blocks(&self, running: &Running, radices: &[usize], included: bool) -> Tensor {
        let [before, length, after] = self.shape()[..] else { unreachable!("made of three axes") };
        let (block, count) = (radices[0], length / radices[0]);
        let terms = self.reshape([before, count, block, 1, after]);
        let terms = terms.expand([before, count, block, block, after]);
        let position = Tensor::arange(block, self.device());
        let (from, to) = (position.reshape([block, 1, 1]), position.reshape([1, block, 1]));
        let (first, second) = if running.reverse { (&to, &from) } else { (&from, &to) };
        let seen = if included { first.less_equal(second) } else { first.less(second) };
        let terms = seen.select(&terms, &terms.full_like(running.nothing));
        let mut sums = terms.reduced(running.reduce, [2]);
        if count > 1 {
            let whole = self.reshape([before, count, block, after]).reduced(running.reduce, [2]);
            let earlier = whole.blocks(running, &radices[1..], false);
            sums = Tensor::binary(running.combine, &sums, &earlier.reshape([before, count, 1, after]));
        }
        sums.reshape([before, length, after])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_the_axis_and_little_more() {
        for length in (1..600).chain([4096, 5003, 70_001, 1 << 20, 123_456_789]) {
            let radices = radices(length);
            let product: usize = radices.iter().product();
            assert!(product >= length && radices.iter().all(|&r| r <= BLOCK), "{length}: {radices:?}");
            assert!(product as f64 <= 1.3 * length as f64 + 3.0, "{length}: {radices:?}");
            assert!(BLOCK.pow(radices.len() as u32 - 1) < length.max(2), "{length}: {radices:?}");
        }
    }
}
