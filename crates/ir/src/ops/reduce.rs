//! The reduce family: one row per op. Reduced axes are removed from the shape.
//!
//! `f16` is summed in `f32` and rounded once. NaN propagates through every reduction. To add an op, add a
//! variant to [`Reduce`] and a row at the same position.

use crate::dtype::{DType, Scalar};
use crate::error::OpError;
use crate::extremes::{INF, NAN, ROWS_AT_EDGES};
use crate::ops::movement::permute;
use crate::ops::movement::slice::Span;
use crate::ops::{TensorType, check_axes, check_dtype};
use crate::shape::Shape;
use crate::var::Var;

/// A gradient rule: a formula in `(x, y, g, axes)`, with `y` and `g` already expanded to `x`'s shape.
pub type ReduceRule = for<'g> fn(Var<'g>, Var<'g>, Var<'g>, &[usize]) -> Var<'g>;

/// Everything about a reduction.
pub struct ReduceRow {
    /// The op that the row belongs to.
    pub op: Reduce,
    /// The name in errors, plans and tests.
    pub name: &'static str,
    /// Whether the result is a position.
    pub index: bool,
    /// Whether combining rounds, so that partial results are kept in `f32`.
    pub rounds: bool,
    /// The identity element, given the lowest and highest values of the register type.
    pub identity: fn(f64, f64) -> f64,
    /// Whether that is also the result for no elements; other reductions reject empty axes.
    pub takes_nothing: bool,
    /// The gradient; `None` for positions, which carry none.
    pub gradient: Option<ReduceRule>,
    /// The range that tests sample from.
    pub range: (f64, f64),
    /// Norm-wise tolerance of a device against the f64 reference.
    pub tolerance: f64,
    /// The values of [`ROWS_AT_EDGES`], on every device.
    pub edges: [f64; ROWS_AT_EDGES.len()],
}

const SIGNED: (f64, f64) = (-2.0, 2.0);

/// A function of all elements along some axes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduce {
    /// Sum; zero for no elements.
    Sum,
    /// Product; one for no elements.
    Prod,
    /// Largest element.
    Max,
    /// Smallest element.
    Min,
    /// Position of the first largest element along one axis, as `i32`.
    ArgMax,
    /// Position of the first smallest element along one axis, as `i32`.
    ArgMin,
}

const ROWS: [ReduceRow; 6] = [
    ReduceRow {
        op: Reduce::Sum,
        name: "sum",
        index: false,
        rounds: true,
        identity: |_, _| 0.0,
        takes_nothing: true,
        gradient: Some(|_, _, g, _| g),
        range: SIGNED,
        tolerance: 2e-6,
        edges: [NAN, INF, -INF, -INF, INF, NAN],
    },
    ReduceRow {
        op: Reduce::Prod,
        name: "prod",
        index: false,
        rounds: true,
        identity: |_, _| 1.0,
        takes_nothing: true,
        gradient: Some(others),
        range: (0.5, 1.5),
        tolerance: 2e-6,
        edges: [NAN, INF, -INF, -INF, INF, -INF],
    },
    ReduceRow {
        op: Reduce::Max,
        name: "max",
        index: false,
        rounds: false,
        identity: |low, _| low,
        takes_nothing: false,
        gradient: Some(share),
        range: SIGNED,
        tolerance: 1e-7,
        edges: [NAN, INF, 2.0, -INF, INF, INF],
    },
    ReduceRow {
        op: Reduce::Min,
        name: "min",
        index: false,
        rounds: false,
        identity: |_, high| high,
        takes_nothing: false,
        gradient: Some(share),
        range: SIGNED,
        tolerance: 1e-7,
        edges: [NAN, 1.0, -INF, -INF, INF, -INF],
    },
    ReduceRow {
        op: Reduce::ArgMax,
        name: "argmax",
        index: true,
        rounds: false,
        identity: |low, _| low,
        takes_nothing: false,
        gradient: None,
        range: SIGNED,
        tolerance: 0.0,
        edges: [1.0, 1.0, 2.0, 0.0, 0.0, 1.0],
    },
    ReduceRow {
        op: Reduce::ArgMin,
        name: "argmin",
        index: true,
        rounds: false,
        identity: |_, high| high,
        takes_nothing: false,
        gradient: None,
        range: SIGNED,
        tolerance: 0.0,
        edges: [1.0, 0.0, 1.0, 0.0, 0.0, 2.0],
    },
];

/// Elements equal to the maximum or minimum share the gradient equally.
fn share<'g>(x: Var<'g>, y: Var<'g>, g: Var<'g>, axes: &[usize]) -> Var<'g> {
    let hit = x.equal(y);
    let (one, zero) = (g.like(1.0), g.like(0.0));
    let hit = hit.select(one, zero);
    let shape = x.shape();
    let count = hit.reduce(Reduce::Sum, axes).reshape(shape.ones_at(axes)).expand(shape);
    g * (hit / count)
}

/// The gradient of a product with respect to an element is the product of the other elements. It is computed
/// without a division, so it is right where elements are zero, and can be differentiated again.
///
/// A tree of pairwise products is built from the elements up. On the way down, each node gets the product of
/// all elements that are not below it: its parent's such product, times the node's sibling.
fn others<'g>(x: Var<'g>, _: Var<'g>, g: Var<'g>, axes: &[usize]) -> Var<'g> {
    let shape = x.shape();
    if shape.numel() == 0 {
        return g;
    }
    let mut order: Vec<usize> = (0..shape.rank()).filter(|a| !axes.contains(a)).collect();
    order.extend((0..shape.rank()).filter(|a| axes.contains(a)));
    let length: usize = axes.iter().map(|&a| shape[a]).product();
    let rows = shape.numel() / length;
    let moved = x.permute(&order);
    let beside = beside(moved.reshape(Shape::new(&[rows, length])), rows, length);
    g * beside.reshape(moved.shape()).permute(&permute::inverse(&order))
}

/// For every element of `[rows, length]`, the product of the others in its row.
fn beside(x: Var<'_>, rows: usize, length: usize) -> Var<'_> {
    let width = length.next_power_of_two();
    let mut levels = vec![with_ones(x, rows, width)];
    for level in 1..=width.ilog2() {
        let pairs = levels[level as usize - 1].reshape(Shape::new(&[rows, width >> level, 2]));
        levels.push(pairs.reduce(Reduce::Prod, &[2]));
    }
    let top = levels.pop().expect("at least one level");
    let mut above = top.like(1.0);
    while let Some(own) = levels.pop() {
        let count = own.shape()[1] / 2;
        let pairs = Shape::new(&[rows, count, 2]);
        let sibling = own.reshape(pairs).flip(&[2]);
        let above_both = above.reshape(Shape::new(&[rows, count, 1])).expand(pairs);
        above = (above_both * sibling).reshape(Shape::new(&[rows, 2 * count]));
    }
    above.slice(vec![Span::first(rows), Span::first(length)])
}

/// Rows padded with ones.
fn with_ones(x: Var<'_>, rows: usize, width: usize) -> Var<'_> {
    let length = x.shape()[1];
    if width == length {
        return x;
    }
    let padded = x.pad(vec![(0, 0), (0, width - length)]);
    let position = x.iota(width);
    let beyond = position.greater_equal(position.like(length as f64));
    let ones = beyond.cast(x.dtype()).reshape(Shape::new(&[1, width])).expand(Shape::new(&[rows, width]));
    padded + ones
}

impl Reduce {
    /// Every reduction, in table order.
    pub const ALL: &'static [Reduce] = &{
        let (mut all, mut n) = ([ROWS[0].op; ROWS.len()], 0);
        while n < all.len() {
            all[n] = ROWS[n].op;
            assert!(all[n] as usize == n, "rows stand in the order of the variants");
            n += 1;
        }
        all
    };

    /// The op's row.
    pub fn row(self) -> &'static ReduceRow {
        static TABLE: [ReduceRow; ROWS.len()] = ROWS;
        &TABLE[self as usize]
    }

    /// The result's shape and dtype, or an error.
    pub(crate) fn kind(self, (shape, dtype): TensorType, axes: &[usize]) -> Result<TensorType, OpError> {
        let op = self.row().name;
        check_axes(op, shape, axes)?;
        check_dtype(op, dtype, dtype.is_compute() && dtype != DType::Bool)?;
        if self.is_index() && axes.len() != 1 {
            return Err(OpError::Sizes { op, what: "takes one axis".into(), a: axes.len(), b: 1 });
        }
        if !self.takes_nothing() && axes.iter().any(|&axis| shape[axis] == 0) {
            return Err(OpError::Empty { op, shape, axes: axes.to_vec() });
        }
        Ok((shape.without(axes), if self.is_index() { DType::I32 } else { dtype }))
    }

    /// The gradient with respect to `x`: its row's rule, with the result and its gradient expanded over the
    /// reduced axes.
    pub(crate) fn gradient<'g>(self, x: Var<'g>, y: Var<'g>, g: Var<'g>, axes: &[usize]) -> Option<Var<'g>> {
        let rule = self.row().gradient?;
        let spread = |of: Var<'g>| of.reshape(x.shape().ones_at(axes)).expand(x.shape());
        let (y, g) = (spread(y), spread(g));
        Some(rule(x, y, g, axes))
    }

    /// Whether the result is a position.
    pub fn is_index(self) -> bool {
        self.row().index
    }

    /// Whether the reduction of no elements has a value.
    pub fn takes_nothing(self) -> bool {
        self.row().takes_nothing
    }

    /// The identity element (of the register type); infinite for the maximum and minimum of floats.
    pub fn identity(self, dtype: DType) -> Scalar {
        let register = dtype.register();
        let (low, high) = match register {
            DType::F32 | DType::F64 => (-INF, INF),
            DType::I32 => (i32::MIN as f64, i32::MAX as f64),
            DType::U32 => (0.0, u32::MAX as f64),
            // These floats lie at or beyond the range, and are clamped to it.
            DType::I64 => (i64::MIN as f64, i64::MAX as f64),
            DType::U64 => (0.0, u64::MAX as f64),
            _ => (0.0, 1.0),
        };
        Scalar::of(register, (self.row().identity)(low, high))
    }
}
