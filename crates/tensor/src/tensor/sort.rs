//! Putting an axis in order: sorting, and the largest or smallest of it.
//!
//! Sorting is stable everywhere: of equal elements the first comes first, so results are the same on
//! every device. NaN counts as larger than every number, zeros of either sign as equal.

use farad_ir::{Op, OpError};

use super::{Tensor, raise};

impl Tensor {
    /// The elements in order along an axis, and where each of them stood (`i32`): smallest first, or
    /// largest first if `descending`. Equal elements stay in order; NaN is larger than all numbers.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![3.0, 1.0, 2.0, 1.0], [4], &Device::cpu());
    /// let (values, positions) = x.sort(0, false);
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 1.0, 2.0, 3.0]);
    /// assert_eq!(positions.to_vec::<i32>()?, [1, 3, 2, 0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn sort(&self, axis: isize, descending: bool) -> (Tensor, Tensor) {
        let axis = self.axis("sort", axis) as isize;
        let x = self.transpose(axis, -1);
        let order = Tensor::record(Op::Order(descending), &[&x]);
        let values = x.gather(-1, &order);
        (values.transpose(axis, -1), order.transpose(axis, -1))
    }

    /// Where the elements of an axis stand, in their order (`i32`): `x.gather(axis, &x.argsort(axis, false))`
    /// is sorted. Stable, as [`Tensor::sort`] is.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![3.0, 1.0, 2.0], [3], &Device::cpu());
    /// assert_eq!(x.argsort(0, true).to_vec::<i32>()?, [0, 2, 1]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort(&self, axis: isize, descending: bool) -> Tensor {
        let axis = self.axis("argsort", axis) as isize;
        Tensor::record(Op::Order(descending), &[&self.transpose(axis, -1)]).transpose(axis, -1)
    }

    /// The `k` largest elements of an axis (the smallest if not `largest`), in order, and where they
    /// stood (`i32`). Of equal elements the first ones are taken; NaN is larger than all numbers.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![3.0, 1.0, 2.0, 5.0], [2, 2], &Device::cpu());
    /// let (values, positions) = x.topk(1, 1, true);
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 5.0]);
    /// assert_eq!(positions.to_vec::<i32>()?, [0, 1]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize, largest: bool) -> (Tensor, Tensor) {
        let axis = self.axis("topk", axis);
        if k > self.shape()[axis] {
            let what = format!("axis {axis} of {} has fewer elements", self.shape());
            raise(OpError::Sizes { op: "topk", what, a: k, b: self.shape()[axis] });
        }
        let (values, positions) = self.sort(axis as isize, largest);
        (values.narrow(axis as isize, 0, k), positions.narrow(axis as isize, 0, k))
    }
}
