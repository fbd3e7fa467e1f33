//! Movement: where elements are, not what they are. All of these are free until something is
//! computed, and then they are index arithmetic.

use farad_ir::{Binary, DType, Op, OpError, Shape};

use super::{Tensor, raise};
use crate::sizes::Sizes;

/// Tensors that are joined at once, at most.
const MOST_JOINED: usize = 8;
/// Of more, so many at a time: what a kernel of any GPU can read beside what it writes.
const JOINED: usize = 6;

impl Tensor {
    /// Another shape with as many elements. One size may be left open: `-1`, or [`FREE`](crate::FREE) beside sizes that
    /// are `usize`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(6, &Device::cpu()).reshape([2, 3]);
    /// assert_eq!(x.shape()[..], [2, 3]);
    /// assert_eq!(x.reshape([3, -1]).shape()[..], [3, 2]);
    /// assert_eq!(x.reshape([x.shape()[0], FREE, 1]).shape()[..], [2, 3, 1]);
    /// ```
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Sizes>) -> Tensor {
        let shape = shape.into().shape(self.shape());
        if shape == self.shape() { self.clone() } else { Tensor::record(Op::Reshape(shape), &[self]) }
    }

    /// Axes in another order: axis `i` of the result is axis `order[i]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(6, &Device::cpu()).reshape([2, 3]);
    /// assert_eq!(x.permute(&[1, 0]).to_vec::<i32>()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn permute(&self, order: &[isize]) -> Tensor {
        let order = self.axes("permute", order);
        Tensor::record(Op::Permute(order), &[self])
    }

    /// Two axes exchanged; negative ones count from the end.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::zeros([2, 3, 4], &Device::cpu());
    /// assert_eq!(x.transpose(-1, -2).shape()[..], [2, 4, 3]);
    /// ```
    #[track_caller]
    pub fn transpose(&self, a: isize, b: isize) -> Tensor {
        let (a, b) = (self.axis("transpose", a), self.axis("transpose", b));
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.swap(a, b);
        Tensor::record(Op::Permute(order), &[self])
    }

    /// Axes of size 1 repeated to the sizes of `shape`, which has the same rank.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2, 1], &Device::cpu());
    /// assert_eq!(x.expand([2, 3]).shape()[..], [2, 3]);
    /// ```
    #[track_caller]
    pub fn expand(&self, shape: impl Into<Shape>) -> Tensor {
        let shape = shape.into();
        if shape == self.shape() { self.clone() } else { Tensor::record(Op::Expand(shape), &[self]) }
    }

    /// Zeros before and after, one pair of widths per axis.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2], &Device::cpu()).pad(&[(1, 2)]);
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 1.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn pad(&self, widths: &[(usize, usize)]) -> Tensor {
        Tensor::record(Op::Pad(widths.to_vec()), &[self])
    }

    /// The given axes reversed.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(3, &Device::cpu()).flip(&[0]);
    /// assert_eq!(x.to_vec::<i32>()?, [2, 1, 0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn flip(&self, axes: &[isize]) -> Tensor {
        let axes = self.axes("flip", axes);
        Tensor::record(Op::Flip(axes), &[self])
    }

    /// A new axis of size 1 before `axis`; -1 appends it.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::zeros([2, 3], &Device::cpu());
    /// assert_eq!(x.unsqueeze(0).shape()[..], [1, 2, 3]);
    /// assert_eq!(x.unsqueeze(-1).shape()[..], [2, 3, 1]);
    /// ```
    #[track_caller]
    pub fn unsqueeze(&self, axis: isize) -> Tensor {
        let rank = self.rank() as isize;
        if !(-rank - 1..=rank).contains(&axis) {
            raise(OpError::Axis { op: "unsqueeze", shape: self.shape(), axis, rank: self.rank() });
        }
        let mut sizes = self.shape().to_vec();
        if sizes.len() == farad_ir::MAX_RANK {
            raise(OpError::RankTooHigh { op: "unsqueeze", rank: sizes.len() + 1, sizes });
        }
        sizes.insert(axis.rem_euclid(rank + 1) as usize, 1);
        self.reshape(sizes)
    }

    /// The axis, of size 1, removed.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::zeros([2, 1, 3], &Device::cpu());
    /// assert_eq!(x.squeeze(1).shape()[..], [2, 3]);
    /// ```
    #[track_caller]
    pub fn squeeze(&self, axis: isize) -> Tensor {
        let axis = self.axis("squeeze", axis);
        if self.shape()[axis] != 1 {
            let what = format!("only an axis of size 1 goes: {} axis {axis}", self.shape());
            raise(OpError::Sizes { op: "squeeze", what, a: self.shape()[axis], b: 1 });
        }
        self.reshape(self.shape().without(&[axis]))
    }

    /// Axes from `axis` on folded into one.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::zeros([2, 3, 4], &Device::cpu());
    /// assert_eq!(x.flatten(1).shape()[..], [2, 12]);
    /// ```
    #[track_caller]
    pub fn flatten(&self, axis: usize) -> Tensor {
        let shape = self.shape();
        let kept = &shape[..axis.min(shape.rank())];
        let rest: usize = shape[kept.len()..].iter().product();
        self.reshape(kept.iter().copied().chain([rest]).collect::<Vec<_>>())
    }

    /// Tensors joined along an axis they have.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(2, &Device::cpu());
    /// assert_eq!(Tensor::concat(&[&x, &x], 0).to_vec::<i32>()?, [0, 1, 0, 1]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn concat(tensors: &[&Tensor], axis: isize) -> Tensor {
        let Some(first) = tensors.first() else { raise(OpError::Arity { op: "concat", got: 0, least: 1 }) };
        let axis = first.axis("concat", axis);
        for other in tensors {
            let (lhs, rhs) = (first.shape(), other.shape());
            if lhs.rank() != rhs.rank() {
                raise(OpError::Ranks { op: "concat", lhs, rhs, a: lhs.rank(), b: rhs.rank() });
            }
            if let Some(a) = (0..lhs.rank()).find(|&a| a != axis && lhs[a] != rhs[a]) {
                raise(OpError::Shapes { op: "concat", lhs, rhs, a: lhs[a], b: rhs[a] });
            }
        }
        let mut dtype = first.dtype();
        for other in tensors {
            dtype = super::meet("concat", dtype, other.dtype());
        }
        let mut parts: Vec<Tensor> = tensors.iter().map(|t| t.cast(dtype)).collect();
        // Many are joined a few at a time, so that no element is copied more often than there are levels.
        while parts.len() > MOST_JOINED {
            parts = parts.chunks(JOINED).map(|parts| join(parts, axis)).collect();
        }
        join(&parts, axis)
    }

    /// Tensors of one shape joined along a new axis.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(2, &Device::cpu());
    /// assert_eq!(Tensor::stack(&[&x, &x], 0).shape()[..], [2, 2]);
    /// ```
    #[track_caller]
    pub fn stack(tensors: &[&Tensor], axis: isize) -> Tensor {
        let parts: Vec<Tensor> = tensors.iter().map(|t| t.unsqueeze(axis)).collect();
        let axis = if axis < 0 { axis } else { axis.min(parts.first().map_or(0, |p| p.rank() as isize - 1)) };
        Tensor::concat(&parts.iter().collect::<Vec<_>>(), axis)
    }

    /// Consecutive parts of these sizes along an axis.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let parts = Tensor::arange(5, &Device::cpu()).split(&[2, 3], 0);
    /// assert_eq!(parts[1].to_vec::<i32>()?, [2, 3, 4]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn split(&self, sizes: &[usize], axis: isize) -> Vec<Tensor> {
        let a = self.axis("split", axis);
        let total = sizes.iter().fold(0usize, |sum, &size| sum.saturating_add(size));
        if total != self.shape()[a] {
            raise(OpError::Sizes {
                op: "split",
                what: format!("sizes {sizes:?} do not fill axis {a} of {}", self.shape()),
                a: total,
                b: self.shape()[a],
            });
        }
        let mut start = 0;
        let mut parts = Vec::with_capacity(sizes.len());
        for &size in sizes {
            parts.push(self.narrow(axis, start, size));
            start += size;
        }
        parts
    }
}

/// Tensors of one dtype that fit, side by side: each padded with zeros to the whole, and all joined.
#[track_caller]
fn join(tensors: &[Tensor], axis: usize) -> Tensor {
    let sizes = tensors.iter().map(|t| t.shape()[axis]);
    let total = sizes.clone().fold(0usize, |sum, size| {
        let what = format!("the whole axis {axis} would be larger than any memory");
        sum.checked_add(size).unwrap_or_else(|| raise(OpError::Sizes { op: "concat", what, a: sum, b: size }))
    });
    let mut before = 0;
    let mut whole: Option<Tensor> = None;
    for (tensor, size) in tensors.iter().zip(sizes) {
        let mut widths = vec![(0, 0); tensor.rank()];
        widths[axis] = (before, total - before - size);
        before += size;
        let part = tensor.pad(&widths);
        whole = Some(match whole {
            Some(whole) => match tensor.dtype() {
                DType::Bool => whole.or(&part),
                dtype if dtype.is_float() => Tensor::binary(Binary::Join, &whole, &part),
                _ => whole + part,
            },
            None => part,
        });
    }
    whole.expect("at least one tensor")
}
