//! Putting an axis in order: sorting, and the largest or smallest of it.
//!
//! Sorting is stable everywhere: of equal elements the first comes first, so results are the same on every
//! device. NaN counts as larger than every number, and zeros of either sign are equal. `topk` selects without
//! sorting if it takes no more than half of the axis; else it takes the first of the whole order.

use farad_ir::{Op, OpError};

use super::{Tensor, raise};

/// The first elements of an order are selected if they are no more than one in this many; otherwise all are sorted,
/// which then takes no longer.
const SELECTED: usize = 2;

/// Which elements come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The smallest first.
    #[default]
    Ascending,
    /// The largest first.
    Descending,
}

impl Order {
    fn op(self) -> Op {
        Op::Order(self == Order::Descending)
    }
}

impl Tensor {
    /// The elements in order along an axis, and where each of them stood (`i32`). Equal elements stay in order; NaN is larger than all numbers.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![3.0, 1.0, 2.0, 1.0], [4], &Device::cpu());
    /// let (values, positions) = x.sort(0, Order::Ascending);
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 1.0, 2.0, 3.0]);
    /// assert_eq!(positions.to_vec::<i32>()?, [1, 3, 2, 0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn sort(&self, axis: isize, order: Order) -> (Tensor, Tensor) {
        let axis = self.axis("sort", axis) as isize;
        let x = self.transpose(axis, -1);
        let positions = Tensor::record(order.op(), &[&x.keys()]);
        let values = x.gather(-1, &positions);
        (values.transpose(axis, -1), positions.transpose(axis, -1))
    }

    /// Where the elements of an axis stand, in their order (`i32`): `x.gather(axis, &x.argsort(axis, Order::Ascending))`
    /// is sorted. Stable, as [`Tensor::sort`] is.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![3.0, 1.0, 2.0], [3], &Device::cpu());
    /// assert_eq!(x.argsort(0, Order::Descending).to_vec::<i32>()?, [0, 2, 1]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort(&self, axis: isize, order: Order) -> Tensor {
        let axis = self.axis("argsort", axis) as isize;
        Tensor::record(order.op(), &[&self.transpose(axis, -1).keys()]).transpose(axis, -1)
    }

    /// The first `k` elements of an axis in order, and where they stood (`i32`): the largest ones if it is descending, the
    /// smallest if ascending. Of equal elements the first ones are taken; NaN is larger than all numbers.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![3.0, 1.0, 2.0, 5.0], [2, 2], &Device::cpu());
    /// let (values, positions) = x.topk(1, 1, Order::Descending);
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 5.0]);
    /// assert_eq!(positions.to_vec::<i32>()?, [0, 1]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize, order: Order) -> (Tensor, Tensor) {
        let axis = self.axis("topk", axis);
        if k > self.shape()[axis] {
            let what = format!("axis {axis} of {} has fewer elements", self.shape());
            raise(OpError::Sizes { op: "topk", what, a: k, b: self.shape()[axis] });
        }
        let (len, axis) = (self.shape()[axis], axis as isize);
        if SELECTED * k > len {
            let (values, positions) = self.sort(axis, order);
            return (values.narrow(axis, 0, k), positions.narrow(axis, 0, k));
        }
        let x = self.transpose(axis, -1);
        let positions = Tensor::record(Op::Top(order == Order::Descending, k), &[&x.keys()]);
        let values = x.gather(-1, &positions);
        (values.transpose(axis, -1), positions.transpose(axis, -1))
    }

    /// What is put in order: small integers as words, which sorting reads.
    #[track_caller]
    fn keys(&self) -> Tensor {
        let dtype = self.dtype();
        if dtype.is_int() && dtype.is_narrow() { self.cast(dtype.register()) } else { self.clone() }
    }
}
