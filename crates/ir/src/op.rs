//! The closed set of primitives, by family, and what shapes and dtypes they give.
//!
//! Invariant: operands of pointwise ops have equal shapes (broadcasting is an explicit
//! [`Op::Expand`]), and [`Op::infer`] accepts exactly what the reference can compute.

use std::sync::Arc;

use crate::binary::Binary;
use crate::contraction::{Contraction, IndexMap};
use crate::custom::CustomOp;
use crate::dtype::{DType, Scalar};
use crate::error::{CAST_HELP, OpError};
use crate::reduce::Reduce;
use crate::scan::Scan;
use crate::shape::Shape;
use crate::unary::Unary;

/// The part of an axis that a slice takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// First position.
    pub start: usize,
    /// How many positions.
    pub len: usize,
    /// Distance between positions, at least 1.
    pub step: usize,
}

/// A primitive. Families are matched, not single ops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The n-th tensor that is given to the graph.
    Input(usize),
    /// The n-th number that the host gives with every run; shape `[]`.
    Parameter(usize),
    /// A number that never changes; shape `[]`.
    Constant(Scalar),
    /// `0, 1, …, n-1` as `i32`, shape `[n]`.
    Iota(usize),
    /// Philox bits as `u32` of this shape; operands: seed (low, high), counter (low, high), and, if there is a fifth, the
    /// stream (see [`crate::philox`]).
    Random(Shape),
    /// One element in, one out.
    Unary(Unary),
    /// Two elements in, one out.
    Binary(Binary),
    /// `condition ? a : b`.
    Select,
    /// Another dtype.
    Cast(DType),
    /// Same elements, other shape.
    Reshape(Shape),
    /// Axes in another order: output axis `i` is input axis `order[i]`.
    Permute(Vec<usize>),
    /// Axes of size 1 repeated.
    Expand(Shape),
    /// Zeros before and after, per axis.
    Pad(Vec<(usize, usize)>),
    /// A span of every axis.
    Slice(Vec<Span>),
    /// The given axes reversed.
    Flip(Vec<usize>),
    /// Reduction over axes, which leave the shape.
    Reduce(Reduce, Vec<usize>),
    /// `y[.., j, ..] = x[.., index[.., j, ..], ..]` along an axis; the index has `x`'s rank and is
    /// of size 1 or `x`'s size on the other axes.
    Gather(usize),
    /// The adjoint of gather: operands source and index, adds into zeros with this size on the axis.
    ScatterAdd(usize, usize),
    /// The stable order of the last axis: `y[.., j]` is where the j-th smallest element of `x` stands,
    /// or the j-th largest if set, as `i32`; of equal elements the first comes first. Every NaN is
    /// equal to every other and larger than all numbers; zeros of either sign are equal.
    Order(bool),
    /// The first positions of an order ([`Op::Order`]), this many: where the smallest elements of the last axis stand,
    /// or the largest if set.
    Top(bool, usize),
    /// Sum of products over index maps.
    Contract(Arc<Contraction>),
    /// Flattened operands laid into one axis of this length at these offsets, zeros elsewhere.
    Pack(Vec<usize>, usize),
    /// The value, without a gradient.
    StopGradient,
    /// The value of the first operand, computed after the second and never merged with an equal
    /// computation: what makes recomputation happen. The number tells barriers apart.
    Barrier(usize),
    /// A body run once per position of its sequences; outputs by [`Op::Pick`].
    Scan(Arc<Scan>),
    /// A user's op; outputs by [`Op::Pick`].
    Custom(Arc<dyn CustomOp>),
    /// The n-th output of a scan or custom op, with its shape and dtype.
    Pick(usize, Shape, DType),
}

impl Op {
    /// The name in errors, plans and profiles.
    pub fn name(&self) -> String {
        match self {
            Op::Input(_) => "input".into(),
            Op::Parameter(_) => "parameter".into(),
            Op::Constant(_) => "constant".into(),
            Op::Iota(_) => "iota".into(),
            Op::Random(_) => "random".into(),
            Op::Unary(u) => u.row().name.into(),
            Op::Binary(b) => b.row().name.into(),
            Op::Select => "select".into(),
            Op::Cast(d) => format!("cast_{d}"),
            Op::Reshape(_) => "reshape".into(),
            Op::Permute(_) => "permute".into(),
            Op::Expand(_) => "expand".into(),
            Op::Pad(_) => "pad".into(),
            Op::Slice(_) => "slice".into(),
            Op::Flip(_) => "flip".into(),
            Op::Reduce(r, _) => r.row().name.into(),
            Op::Gather(_) => "gather".into(),
            Op::ScatterAdd(..) => "scatter_add".into(),
            Op::Order(_) => "order".into(),
            Op::Top(..) => "topk".into(),
            Op::Contract(_) => "contract".into(),
            Op::Pack(..) => "pack".into(),
            Op::StopGradient => "stop_gradient".into(),
            Op::Barrier(_) => "barrier".into(),
            Op::Scan(_) => "scan".into(),
            Op::Custom(c) => c.name().into(),
            Op::Pick(n, ..) => format!("pick_{n}"),
        }
    }

    /// Whether the op only says where elements are.
    pub fn is_movement(&self) -> bool {
        matches!(
            self,
            Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Pad(_) | Op::Slice(_) | Op::Flip(_)
        )
    }

    /// Whether each output element comes from the same element of every operand.
    pub fn is_pointwise(&self) -> bool {
        matches!(self, Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Cast(_) | Op::StopGradient)
    }

    /// The output's shape and dtype, or why there is none.
    pub fn infer(&self, operands: &[(Shape, DType)]) -> Result<(Shape, DType), OpError> {
        let (shape, dtype) = infer(self, operands)?;
        match shape.count() {
            Some(_) => Ok((shape, dtype)),
            None => Err(OpError::TooLarge { op: self.name(), shape, numel: shape.about() }),
        }
    }
}

/// The most positions that `i32` can name.
const MOST_POSITIONS: usize = 1 << 31;
/// The most elements that a random tensor tells apart.
const MOST_RANDOM: usize = 1 << 32;

/// A size as the sum of others; `None` if it does not fit.
fn sum(sizes: [usize; 3]) -> Option<usize> {
    sizes.into_iter().try_fold(0usize, usize::checked_add)
}

fn same_shapes(op: &'static str, lhs: Shape, rhs: Shape) -> Result<(), OpError> {
    if lhs == rhs {
        return Ok(());
    }
    if lhs.rank() != rhs.rank() {
        return Err(OpError::Ranks { op, lhs, rhs, a: lhs.rank(), b: rhs.rank() });
    }
    let axis = (0..lhs.rank()).find(|&a| lhs[a] != rhs[a]).unwrap_or(0);
    Err(OpError::Shapes { op, lhs, rhs, a: lhs[axis], b: rhs[axis] })
}

fn check_axes(op: &'static str, shape: Shape, axes: &[usize]) -> Result<(), OpError> {
    for (i, &axis) in axes.iter().enumerate() {
        if axis >= shape.rank() {
            return Err(OpError::Axis { op, shape, axis: axis as isize, rank: shape.rank() });
        }
        if axes[..i].contains(&axis) {
            return Err(OpError::AxisTwice { op, axes: axes.to_vec(), axis });
        }
    }
    Ok(())
}

fn check_dtype(op: &'static str, dtype: DType, ok: bool) -> Result<(), OpError> {
    let help = if dtype.is_compute() { "" } else { CAST_HELP };
    if ok { Ok(()) } else { Err(OpError::DType { op, dtype, help }) }
}

/// An operand has one map an axis, and an axis read plainly is read whole.
fn check_maps(contraction: &Contraction, maps: &[IndexMap], shape: Shape) -> Result<(), OpError> {
    if maps.len() != shape.rank() {
        let what = format!("one index map an axis: {shape}");
        return Err(OpError::Sizes { op: "contract", what, a: maps.len(), b: shape.rank() });
    }
    for (axis, map) in maps.iter().enumerate() {
        if let Some(size) = map.plain().map(|a| contraction.sizes[a]).filter(|&size| size != shape[axis]) {
            let what = format!("axis {axis} of {shape} is read whole");
            return Err(OpError::Sizes { op: "contract", what, a: size, b: shape[axis] });
        }
    }
    Ok(())
}

fn infer(op: &Op, operands: &[(Shape, DType)]) -> Result<(Shape, DType), OpError> {
    let arity = match op {
        Op::Binary(_) | Op::Gather(_) | Op::ScatterAdd(..) | Op::Contract(_) => 2,
        Op::Select => 3,
        Op::Input(_)
        | Op::Parameter(_)
        | Op::Constant(_)
        | Op::Iota(_)
        | Op::Random(_)
        | Op::Scan(_)
        | Op::Custom(_)
        | Op::Pack(..) => 0,
        _ => 1,
    };
    if operands.len() < arity {
        return Err(OpError::Arity { op: "op", got: operands.len(), least: arity });
    }
    let first = operands.first().copied().unwrap_or((Shape::scalar(), DType::F32));
    let (shape, dtype) = first;
    Ok(match op {
        Op::Input(_) | Op::Parameter(_) => unreachable!("leaves carry their own shape"),
        Op::Constant(scalar) => (Shape::scalar(), scalar.dtype),
        Op::Iota(n) => {
            if *n > MOST_POSITIONS {
                let what = "positions are i32".into();
                return Err(OpError::Sizes { op: "arange", what, a: *n, b: MOST_POSITIONS });
            }
            (Shape::new(&[*n]), DType::I32)
        }
        Op::Random(shape) => {
            if let Some(numel) = shape.count().filter(|&numel| numel > MOST_RANDOM) {
                let what = format!("too many elements for one draw: {shape}");
                return Err(OpError::Sizes { op: "random", what, a: numel, b: MOST_RANDOM });
            }
            (*shape, DType::U32)
        }
        Op::Unary(unary) => {
            check_dtype(unary.row().name, dtype, unary.takes(dtype))?;
            first
        }
        Op::Binary(binary) => {
            let name = binary.row().name;
            let (rhs, other) = operands[1];
            if dtype != other {
                return Err(OpError::DTypes { op: name, lhs: dtype, rhs: other });
            }
            check_dtype(name, dtype, binary.takes(dtype))?;
            same_shapes(name, shape, rhs)?;
            (shape, if binary.compares() { DType::Bool } else { dtype })
        }
        Op::Select => {
            let ((a, ta), (b, tb)) = (operands[1], operands[2]);
            check_dtype("select", dtype, dtype == DType::Bool)?;
            if ta != tb {
                return Err(OpError::DTypes { op: "select", lhs: ta, rhs: tb });
            }
            check_dtype("select", ta, ta.is_compute())?;
            same_shapes("select", shape, a)?;
            same_shapes("select", shape, b)?;
            (shape, ta)
        }
        Op::Cast(to) => (shape, *to),
        Op::Reshape(to) => {
            let Some(numel) = to.count() else {
                return Err(OpError::TooLarge { op: "reshape".into(), shape: *to, numel: to.about() });
            };
            if shape.numel() != numel {
                return Err(OpError::Reshape { from: shape, to: *to, a: shape.numel(), b: numel });
            }
            (*to, dtype)
        }
        Op::Permute(order) => {
            check_axes("permute", shape, order)?;
            if order.len() != shape.rank() {
                return Err(OpError::Sizes {
                    op: "permute",
                    what: format!("every axis is named once: {shape} by {order:?}"),
                    a: order.len(),
                    b: shape.rank(),
                });
            }
            (Shape::new(&order.iter().map(|&axis| shape[axis]).collect::<Vec<_>>()), dtype)
        }
        Op::Expand(to) => {
            if shape.rank() != to.rank() {
                return Err(OpError::Ranks {
                    op: "expand",
                    lhs: shape,
                    rhs: *to,
                    a: shape.rank(),
                    b: to.rank(),
                });
            }
            for axis in 0..shape.rank() {
                if shape[axis] != to[axis] && shape[axis] != 1 {
                    return Err(OpError::Expand { from: shape, to: *to, axis, a: shape[axis], b: to[axis] });
                }
            }
            (*to, dtype)
        }
        Op::Pad(widths) => {
            if widths.len() != shape.rank() {
                return Err(OpError::Sizes {
                    op: "pad",
                    what: format!("one pair of widths an axis: {shape}"),
                    a: widths.len(),
                    b: shape.rank(),
                });
            }
            let mut padded = shape;
            for (axis, &(low, high)) in widths.iter().enumerate() {
                let Some(size) = sum([shape[axis], low, high]) else {
                    let what = format!("padding is too wide: {shape} axis {axis} by {low} and {high}");
                    return Err(OpError::Sizes {
                        op: "pad",
                        what,
                        a: low.max(high),
                        b: crate::shape::MAX_NUMEL,
                    });
                };
                padded = padded.with(axis, size);
            }
            (padded, dtype)
        }
        Op::Slice(spans) => {
            if spans.len() != shape.rank() {
                return Err(OpError::Sizes {
                    op: "slice",
                    what: format!("one span an axis: {shape}"),
                    a: spans.len(),
                    b: shape.rank(),
                });
            }
            for (axis, span) in spans.iter().enumerate() {
                if span.step == 0 {
                    return Err(OpError::Step { axis, step: 0 });
                }
                // A sum that does not fit is beyond every axis.
                let reach = span
                    .len
                    .checked_sub(1)
                    .map_or(0, |last| last.saturating_mul(span.step).saturating_add(1));
                let end = span.start.saturating_add(reach);
                if end > shape[axis] {
                    return Err(OpError::Slice { shape, axis, end, size: shape[axis] });
                }
            }
            (Shape::new(&spans.iter().map(|s| s.len).collect::<Vec<_>>()), dtype)
        }
        Op::Flip(axes) => {
            check_axes("flip", shape, axes)?;
            first
        }
        Op::Reduce(reduce, axes) => {
            let name = reduce.row().name;
            check_axes(name, shape, axes)?;
            check_dtype(name, dtype, dtype.is_compute() && dtype != DType::Bool)?;
            if reduce.is_index() && axes.len() != 1 {
                return Err(OpError::Sizes { op: name, what: "takes one axis".into(), a: axes.len(), b: 1 });
            }
            if !reduce.takes_nothing() && axes.iter().any(|&axis| shape[axis] == 0) {
                return Err(OpError::Empty { op: name, shape, axes: axes.clone() });
            }
            (shape.without(axes), if reduce.is_index() { DType::I32 } else { dtype })
        }
        Op::Gather(axis) => {
            let (index, kind) = operands[1];
            check_axes("gather", shape, &[*axis])?;
            check_dtype("gather", kind, matches!(kind, DType::I32 | DType::U32))?;
            check_dtype("gather", dtype, dtype.is_compute())?;
            check_index("gather", shape, index, *axis)?;
            check_room("gather", shape, shape[*axis], index, *axis)?;
            (shape.with(*axis, index[*axis]), dtype)
        }
        Op::ScatterAdd(axis, size) => {
            let (index, kind) = operands[1];
            check_axes("scatter_add", shape, &[*axis])?;
            check_dtype("scatter_add", kind, matches!(kind, DType::I32 | DType::U32))?;
            check_dtype("scatter_add", dtype, dtype.is_compute() && dtype != DType::Bool)?;
            check_index("scatter_add", shape, index, *axis)?;
            if index[*axis] != shape[*axis] {
                return Err(OpError::Index {
                    op: "scatter_add",
                    shape,
                    index,
                    axis: *axis,
                    a: shape[*axis],
                    b: index[*axis],
                });
            }
            check_room("scatter_add", shape.with(*axis, *size), *size, index, *axis)?;
            (shape.with(*axis, *size), dtype)
        }
        Op::Order(_) => {
            check_dtype("sort", dtype, dtype.is_compute())?;
            if shape.rank() == 0 {
                return Err(OpError::Axis { op: "sort", shape, axis: -1, rank: 0 });
            }
            (shape, DType::I32)
        }
        Op::Top(_, count) => {
            check_dtype("topk", dtype, dtype.is_compute())?;
            let Some(axis) = shape.rank().checked_sub(1) else {
                return Err(OpError::Axis { op: "topk", shape, axis: -1, rank: 0 });
            };
            if *count > shape[axis] {
                let what = format!("axis {axis} of {shape} has fewer elements");
                return Err(OpError::Sizes { op: "topk", what, a: *count, b: shape[axis] });
            }
            (shape.with(axis, *count), DType::I32)
        }
        Op::Contract(contraction) => {
            let (_, other) = operands[1];
            if dtype != other {
                return Err(OpError::DTypes { op: "matmul", lhs: dtype, rhs: other });
            }
            check_dtype("matmul", dtype, matches!(dtype, DType::F32 | DType::F16))?;
            check_maps(contraction, &contraction.lhs, shape)?;
            check_maps(contraction, &contraction.rhs, operands[1].0)?;
            (contraction.output(), dtype)
        }
        Op::Pack(offsets, len) => {
            if offsets.len() != operands.len() {
                return Err(OpError::Arity { op: "pack", got: operands.len(), least: offsets.len() });
            }
            let dtype = operands.first().map_or(DType::F32, |o| o.1);
            (Shape::new(&[*len]), dtype)
        }
        Op::StopGradient | Op::Barrier(_) => first,
        Op::Scan(scan) => scan.infer(operands)?,
        Op::Custom(custom) => custom.infer(operands)?.first().copied().unwrap_or(first),
        Op::Pick(_, shape, dtype) => (*shape, *dtype),
    })
}

fn check_index(op: &'static str, shape: Shape, index: Shape, axis: usize) -> Result<(), OpError> {
    if shape.rank() != index.rank() {
        return Err(OpError::Ranks { op, lhs: shape, rhs: index, a: shape.rank(), b: index.rank() });
    }
    for other in (0..shape.rank()).filter(|&other| other != axis) {
        if index[other] != shape[other] && index[other] != 1 {
            return Err(OpError::Index { op, shape, index, axis: other, a: shape[other], b: index[other] });
        }
    }
    Ok(())
}

/// An axis without elements has no place that an index could name.
fn check_room(op: &'static str, shape: Shape, size: usize, index: Shape, axis: usize) -> Result<(), OpError> {
    if size > 0 || index.numel() == 0 {
        return Ok(());
    }
    let what = format!("axis {axis} of {shape} has no elements to index: by {index}");
    Err(OpError::Sizes { op, what, a: 0, b: 1 })
}
