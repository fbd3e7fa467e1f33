//! The reduce family: one row an op. Reduced axes leave the shape.

use crate::dtype::{DType, Scalar};
use crate::extremes::{INF, NAN, ROWS_AT_EDGES};
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Span};
use crate::shape::Shape;

/// A gradient rule from `(graph, x, y, g, axes)`, `y` and `g` already expanded to `x`'s shape.
pub type ReduceRule = fn(&mut Graph, NodeId, NodeId, NodeId, &[usize]) -> NodeId;

/// What a reduction is.
pub struct ReduceRow {
    /// The name in errors, plans and tests.
    pub name: &'static str,
    /// Whether the result is a position.
    pub index: bool,
    /// Whether combining rounds, so that parts of a result are kept in `f32`.
    pub rounds: bool,
    /// The value that changes nothing when combined, given the register type's lowest and highest.
    pub identity: fn(f64, f64) -> f64,
    /// Whether that is also the value of no elements; the others refuse to reduce nothing.
    pub takes_nothing: bool,
    /// The gradient; `None`: an index, which carries none.
    pub gradient: Option<ReduceRule>,
    /// The range that tests sample from.
    pub range: (f64, f64),
    /// Norm-wise tolerance of a device against the f64 reference.
    pub tolerance: f64,
    /// The values of [`ROWS_AT_EDGES`], on every device.
    pub edges: [f64; ROWS_AT_EDGES.len()],
}

macro_rules! reduce_table {
    ($($(#[doc = $doc:literal])+ $variant:ident, $name:literal, $index:literal, $rounds:literal, $identity:expr, $nothing:literal, $gradient:expr, $range:expr, $tolerance:expr, $edges:expr;)*) => {
        /// A function of all elements along some axes.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Reduce { $($(#[doc = $doc])+ $variant,)* }

        impl Reduce {
            /// Every reduction, in table order.
            pub const ALL: &'static [Reduce] = &[$(Reduce::$variant),*];

            /// The op's row.
            pub fn row(self) -> &'static ReduceRow {
                const ROWS: &[ReduceRow] = &[$(ReduceRow {
                    name: $name, index: $index, rounds: $rounds, identity: $identity, takes_nothing: $nothing,
                    gradient: $gradient, range: $range, tolerance: $tolerance, edges: $edges,
                }),*];
                &ROWS[self as usize]
            }
        }
    };
}

const SIGNED: (f64, f64) = (-2.0, 2.0);

reduce_table! {
    /// Sum; zero for no elements.
    Sum, "sum", false, true, |_, _| 0.0, true, Some(|_, _, _, g, _| g), SIGNED, 2e-6, [NAN, INF, -INF, -INF, INF, NAN];
    /// Product; one for no elements.
    Prod, "prod", false, true, |_, _| 1.0, true, Some(others), (0.5, 1.5), 2e-6, [NAN, INF, -INF, -INF, INF, -INF];
    /// Largest element.
    Max, "max", false, false, |low, _| low, false, Some(share), SIGNED, 1e-7, [NAN, INF, 2.0, -INF, INF, INF];
    /// Smallest element.
    Min, "min", false, false, |_, high| high, false, Some(share), SIGNED, 1e-7, [NAN, 1.0, -INF, -INF, INF, -INF];
    /// Position of the first largest element along one axis, as `i32`.
    ArgMax, "argmax", true, false, |low, _| low, false, None, SIGNED, 0.0, [1.0, 1.0, 2.0, 0.0, 0.0, 1.0];
    /// Position of the first smallest element along one axis, as `i32`.
    ArgMin, "argmin", true, false, |_, high| high, false, None, SIGNED, 0.0, [1.0, 0.0, 1.0, 0.0, 0.0, 2.0];
}

/// Elements equal to the extreme share the gradient equally.
fn share(s: &mut Graph, x: NodeId, y: NodeId, g: NodeId, axes: &[usize]) -> NodeId {
    let hit = s.binary(crate::Binary::Equal, x, y);
    let (one, zero) = (s.fill_like(g, 1.0), s.fill_like(g, 0.0));
    let hit = s.select(hit, one, zero);
    let shape = s.shape(x);
    let count = s.reduce(Reduce::Sum, hit, axes);
    let count = s.reshape(count, shape.ones_at(axes));
    let count = s.expand(count, shape);
    let part = s.div(hit, count);
    s.mul(g, part)
}

/// The gradient of a product at an element is the product of the others, without a division: right
/// where elements are zero, and differentiable again.
///
/// A tree of products of pairs is built from the elements up; on the way down, what is beside a
/// node is all that lies under the node above it but not under itself, times the node's sibling.
fn others(s: &mut Graph, x: NodeId, _: NodeId, g: NodeId, axes: &[usize]) -> NodeId {
    let shape = s.shape(x);
    if shape.numel() == 0 {
        return g;
    }
    let mut order: Vec<usize> = (0..shape.rank()).filter(|a| !axes.contains(a)).collect();
    order.extend((0..shape.rank()).filter(|a| axes.contains(a)));
    let length: usize = axes.iter().map(|&a| shape[a]).product();
    let rows = shape.numel() / length;
    let moved = s.permute(x, &order);
    let flat = s.reshape(moved, Shape::new(&[rows, length]));
    let beside = beside(s, flat, rows, length);
    let beside = s.reshape(beside, s.shape(moved));
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &axis)| inverse[axis] = i);
    let beside = s.permute(beside, &inverse);
    s.mul(g, beside)
}

/// For every element of `[rows, length]` the product of the others in its row.
fn beside(s: &mut Graph, x: NodeId, rows: usize, length: usize) -> NodeId {
    let width = length.next_power_of_two();
    let mut levels = vec![with_ones(s, x, rows, width)];
    for level in 1..=width.ilog2() {
        let below = levels[level as usize - 1];
        let pairs = s.reshape(below, Shape::new(&[rows, width >> level, 2]));
        levels.push(s.reduce(Reduce::Prod, pairs, &[2]));
    }
    let top = levels.pop().expect("at least one level");
    let mut above = s.fill_like(top, 1.0);
    while let Some(own) = levels.pop() {
        let count = s.shape(own)[1] / 2;
        let pairs = Shape::new(&[rows, count, 2]);
        let own = s.reshape(own, pairs);
        let sibling = s.push(Op::Flip(vec![2]), &[own]);
        let above_both = s.reshape(above, Shape::new(&[rows, count, 1]));
        let above_both = s.expand(above_both, pairs);
        let product = s.mul(above_both, sibling);
        above = s.reshape(product, Shape::new(&[rows, 2 * count]));
    }
    let span = |len: usize| Span { start: 0, len, step: 1 };
    s.push(Op::Slice(vec![span(rows), span(length)]), &[above])
}

/// Rows made longer by ones.
fn with_ones(s: &mut Graph, x: NodeId, rows: usize, width: usize) -> NodeId {
    let length = s.shape(x)[1];
    if width == length {
        return x;
    }
    let padded = s.push(Op::Pad(vec![(0, 0), (0, width - length)]), &[x]);
    let position = s.push(Op::Iota(width), &[]);
    let first = s.fill_like(position, length as f64);
    let beyond = s.binary(crate::Binary::GreaterEqual, position, first);
    let ones = s.cast(beyond, s.dtype(x));
    let ones = s.reshape(ones, Shape::new(&[1, width]));
    let ones = s.expand(ones, Shape::new(&[rows, width]));
    s.add(padded, ones)
}

impl Reduce {
    /// Whether the result is a position.
    pub fn is_index(self) -> bool {
        self.row().index
    }

    /// Whether an empty set of elements has a value.
    pub fn takes_nothing(self) -> bool {
        self.row().takes_nothing
    }

    /// The value that changes nothing when combined (of the register type); infinite for the extremes of floats.
    pub fn identity(self, dtype: DType) -> Scalar {
        let register = dtype.register();
        let (low, high) = match register {
            DType::F32 => (-INF, INF),
            DType::I32 => (i32::MIN as f64, i32::MAX as f64),
            DType::U32 => (0.0, u32::MAX as f64),
            _ => (0.0, 1.0),
        };
        Scalar::of(register, (self.row().identity)(low, high))
    }
}
