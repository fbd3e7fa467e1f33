//! The closed set of primitive ops, by family, and their shape rules.
//!
//! Invariant: operands of pointwise ops have equal shapes (broadcasting is an explicit
//! [`Op::Expand`]), and [`Op::infer`] accepts exactly what the reference can compute.

use std::sync::Arc;

use crate::custom::CustomOp;
use crate::dtype::{DType, Scalar};
use crate::error::OpError;
use crate::ops::binary::Binary;
use crate::ops::contraction::{self, Contraction};
use crate::ops::index::{gather, order, scatter_add};
use crate::ops::movement::slice::Span;
use crate::ops::movement::{expand, flip, pad, permute, reshape, slice};
use crate::ops::reduce::Reduce;
use crate::ops::unary::Unary;
use crate::ops::{TensorType, pack, select, source};
use crate::scan::Scan;
use crate::shape::Shape;

/// A primitive op. Code matches on families, not on single ops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The n-th input tensor of the graph.
    Input(usize),
    /// The n-th parameter, a number that the host passes with every run; shape `[]`.
    Parameter(usize),
    /// A constant number; shape `[]`.
    Constant(Scalar),
    /// `0, 1, …, n-1` as `i32`, shape `[n]`.
    Iota(usize),
    /// Philox bits as `u32` of this shape; operands are the seed (low, high), the counter (low, high) and an
    /// optional fifth, the stream (see [`crate::philox`]).
    Random(Shape),
    /// A function of one element.
    Unary(Unary),
    /// A function of two elements.
    Binary(Binary),
    /// `condition ? a : b`.
    Select,
    /// Conversion to another dtype.
    Cast(DType),
    /// The same elements in another shape.
    Reshape(Shape),
    /// Axes in another order: output axis `i` is input axis `order[i]`.
    Permute(Vec<usize>),
    /// Axes of size 1 expanded by repetition.
    Expand(Shape),
    /// Zeros before and after, per axis.
    Pad(Vec<(usize, usize)>),
    /// A span of every axis.
    Slice(Vec<Span>),
    /// The given axes reversed.
    Flip(Vec<usize>),
    /// Reduction over axes, which are removed from the shape.
    Reduce(Reduce, Vec<usize>),
    /// `y[.., j, ..] = x[.., index[.., j, ..], ..]` along an axis; the index has `x`'s rank and is
    /// of size 1 or `x`'s size on the other axes.
    Gather(usize),
    /// The adjoint of gather. Operands are source and index; adds the source into zeros that have this size on
    /// the axis.
    ScatterAdd(usize, usize),
    /// The stable argsort of the last axis: `y[.., j]` is the position of the j-th smallest element of `x` (the
    /// j-th largest if set), as `i32`. Equal elements keep their order. Every NaN is equal to every other and
    /// larger than all numbers; zeros of either sign are equal.
    Order(bool),
    /// The first entries of an argsort ([`Op::Order`]), this many: the positions of the smallest elements of
    /// the last axis (the largest if set).
    Top(bool, usize),
    /// Sum of products over index maps.
    Contract(Arc<Contraction>),
    /// Flattened operands copied into one axis of this length at these offsets, with zeros elsewhere.
    Pack(Vec<usize>, usize),
    /// The value, without a gradient.
    StopGradient,
    /// The value of the first operand, computed after the second and never merged with an equal computation. It
    /// forces recomputation. The number tells barriers apart.
    Barrier(usize),
    /// A body that runs once per position of its sequences; [`Op::Pick`] selects its outputs.
    Scan(Arc<Scan>),
    /// A custom op; [`Op::Pick`] selects its outputs.
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

    /// Whether the op only changes where elements are.
    pub fn is_movement(&self) -> bool {
        matches!(
            self,
            Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Pad(_) | Op::Slice(_) | Op::Flip(_)
        )
    }

    /// Whether each output element depends only on the same element of every operand.
    pub fn is_pointwise(&self) -> bool {
        matches!(self, Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Cast(_) | Op::StopGradient)
    }

    /// The output's shape and dtype, or an error.
    pub fn infer(&self, operands: &[TensorType]) -> Result<TensorType, OpError> {
        let (shape, dtype) = infer(self, operands)?;
        match shape.count() {
            Some(_) => Ok((shape, dtype)),
            None => Err(OpError::TooLarge { op: self.name(), shape, numel: shape.about() }),
        }
    }
}

/// The minimum number of operands.
fn arity(op: &Op) -> usize {
    match op {
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
    }
}

/// Looks up the shape rule; the rules themselves are with their ops.
fn infer(op: &Op, operands: &[TensorType]) -> Result<TensorType, OpError> {
    let least = arity(op);
    if operands.len() < least {
        return Err(OpError::Arity { op: "op", got: operands.len(), least });
    }
    let first = operands.first().copied().unwrap_or((Shape::scalar(), DType::F32));
    let (x, dtype) = first;
    Ok(match op {
        Op::Input(_) | Op::Parameter(_) => unreachable!("leaves carry their own shape"),
        Op::Constant(scalar) => (Shape::scalar(), scalar.dtype),
        Op::Iota(n) => source::iota(*n)?,
        Op::Random(shape) => source::random(*shape)?,
        Op::Unary(unary) => unary.kind(first)?,
        Op::Binary(binary) => binary.kind(first, operands[1])?,
        Op::Select => select::kind(first, operands[1], operands[2])?,
        Op::Cast(to) => (x, *to),
        Op::Reshape(to) => (reshape::shape(x, *to)?, dtype),
        Op::Permute(order) => (permute::shape(x, order)?, dtype),
        Op::Expand(to) => (expand::shape(x, *to)?, dtype),
        Op::Pad(widths) => (pad::shape(x, widths)?, dtype),
        Op::Slice(spans) => (slice::shape(x, spans)?, dtype),
        Op::Flip(axes) => (flip::shape(x, axes)?, dtype),
        Op::Reduce(reduce, axes) => reduce.kind(first, axes)?,
        Op::Gather(axis) => gather::kind(first, operands[1], *axis)?,
        Op::ScatterAdd(axis, size) => scatter_add::kind(first, operands[1], *axis, *size)?,
        Op::Order(_) => order::kind(first)?,
        Op::Top(_, count) => order::top_kind(first, *count)?,
        Op::Contract(contraction) => contraction::kind(contraction, first, operands[1])?,
        Op::Pack(offsets, len) => pack::kind(operands, offsets, *len)?,
        Op::StopGradient | Op::Barrier(_) => first,
        Op::Scan(scan) => scan.infer(operands)?,
        Op::Custom(custom) => custom.infer(operands)?.first().copied().unwrap_or(first),
        Op::Pick(_, shape, dtype) => (*shape, *dtype),
    })
}
