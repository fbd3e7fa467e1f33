//! Parts of tensors, in Rust's range syntax.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

use farad_ir::{Op, OpError, Span};

use super::{Tensor, expect, raise};

/// What to take of one axis: a range, a single position (which removes the axis), or every n-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// From a position up to another; `None` is the end.
    Range(usize, Option<usize>),
    /// One position; the axis goes.
    At(isize),
    /// A range with a step.
    Step(usize, Option<usize>, usize),
}

impl From<Range<usize>> for Part {
    fn from(r: Range<usize>) -> Part {
        Part::Range(r.start, Some(r.end))
    }
}
impl From<RangeFrom<usize>> for Part {
    fn from(r: RangeFrom<usize>) -> Part {
        Part::Range(r.start, None)
    }
}
impl From<RangeTo<usize>> for Part {
    fn from(r: RangeTo<usize>) -> Part {
        Part::Range(0, Some(r.end))
    }
}
impl From<RangeFull> for Part {
    fn from(_: RangeFull) -> Part {
        Part::Range(0, None)
    }
}
impl From<isize> for Part {
    fn from(at: isize) -> Part {
        Part::At(at)
    }
}
impl From<i32> for Part {
    fn from(at: i32) -> Part {
        Part::At(at as isize)
    }
}

/// One part, or a tuple of parts for the first axes.
pub trait Parts {
    /// The parts, in axis order.
    fn parts(self) -> Vec<Part>;
}

impl<T: Into<Part>> Parts for T {
    fn parts(self) -> Vec<Part> {
        vec![self.into()]
    }
}

impl Parts for Vec<Part> {
    fn parts(self) -> Vec<Part> {
        self
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Into<Part>),*> Parts for ($($name,)*) {
            #[allow(non_snake_case)]
            fn parts(self) -> Vec<Part> {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        }
    };
}
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);

impl Tensor {
    /// A part of the tensor: ranges keep their axis, positions remove it, axes not named stay.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(12, &Device::cpu()).reshape([3, 4]);
    /// assert_eq!(x.slice((1.., 0..2)).to_vec::<i32>()?, [4, 5, 8, 9]);
    /// assert_eq!(x.slice((.., -1)).to_vec::<i32>()?, [3, 7, 11]);
    /// assert_eq!(x.slice((0, Part::Step(0, None, 2))).to_vec::<i32>()?, [0, 2]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn slice(&self, parts: impl Parts) -> Tensor {
        let parts = parts.parts();
        let shape = self.shape();
        if parts.len() > shape.rank() {
            raise(OpError::RankTooLow { op: "slice", shape, rank: shape.rank(), least: parts.len() });
        }
        let mut spans: Vec<Span> = shape.iter().map(|&len| Span { start: 0, len, step: 1 }).collect();
        let mut gone = Vec::new();
        for (axis, part) in parts.into_iter().enumerate() {
            let size = shape[axis];
            let range = |start: usize, end: Option<usize>, step: usize| {
                let end = end.unwrap_or(size);
                if end > size || start > end {
                    return Err(OpError::Slice { shape, axis, end: end.max(start), size });
                }
                if step == 0 {
                    return Err(OpError::Step { axis, step });
                }
                Ok(Span { start, len: (end - start).div_ceil(step), step })
            };
            spans[axis] = match part {
                Part::Range(start, end) => expect(range(start, end, 1)),
                Part::Step(start, end, step) => expect(range(start, end, step)),
                Part::At(at) => {
                    let position = if at < 0 { at + size as isize } else { at };
                    if !(0..size as isize).contains(&position) {
                        raise(OpError::Slice { shape, axis, end: position.unsigned_abs() + 1, size });
                    }
                    gone.push(axis);
                    Span { start: position as usize, len: 1, step: 1 }
                }
            };
        }
        let taken = Tensor::record(Op::Slice(spans), &[self]);
        if gone.is_empty() { taken } else { taken.reshape(taken.shape().without(&gone)) }
    }

    /// `len` positions of one axis from `start` on.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(5, &Device::cpu());
    /// assert_eq!(x.narrow(0, 1, 2).to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn narrow(&self, axis: isize, start: usize, len: usize) -> Tensor {
        let axis = self.axis("narrow", axis);
        let mut spans: Vec<Span> = self.shape().iter().map(|&len| Span { start: 0, len, step: 1 }).collect();
        spans[axis] = Span { start, len, step: 1 };
        Tensor::record(Op::Slice(spans), &[self])
    }
}
