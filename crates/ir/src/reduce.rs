//! The reduce family: one row an op. Reduced axes leave the shape.

use crate::dtype::{DType, Scalar};
use crate::graph::{Graph, NodeId};

/// What a reduction is.
pub struct ReduceRow {
    /// The name in errors, plans and tests.
    pub name: &'static str,
    /// The gradient from `(graph, x, y, g)`, `y` and `g` already expanded to `x`'s shape, with the
    /// reduced axes; `None`: an index, which carries none.
    pub gradient: Option<fn(&mut Graph, NodeId, NodeId, NodeId, &[usize]) -> NodeId>,
    /// Norm-wise tolerance of a device against the f64 reference.
    pub tolerance: f64,
}

/// A function of all elements along some axes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduce {
    /// Sum; zero for no elements.
    Sum,
    /// Largest element.
    Max,
    /// Smallest element.
    Min,
    /// Position of the first largest element along one axis, as `i32`.
    ArgMax,
    /// Position of the first smallest element along one axis, as `i32`.
    ArgMin,
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

impl Reduce {
    /// Every reduction.
    pub const ALL: &'static [Reduce] =
        &[Reduce::Sum, Reduce::Max, Reduce::Min, Reduce::ArgMax, Reduce::ArgMin];

    /// The op's row.
    pub fn row(self) -> &'static ReduceRow {
        const ROWS: &[ReduceRow] = &[
            ReduceRow { name: "sum", gradient: Some(|_, _, _, g, _| g), tolerance: 2e-6 },
            ReduceRow { name: "max", gradient: Some(share), tolerance: 1e-7 },
            ReduceRow { name: "min", gradient: Some(share), tolerance: 1e-7 },
            ReduceRow { name: "argmax", gradient: None, tolerance: 0.0 },
            ReduceRow { name: "argmin", gradient: None, tolerance: 0.0 },
        ];
        &ROWS[self as usize]
    }

    /// Whether the result is a position.
    pub fn is_index(self) -> bool {
        matches!(self, Reduce::ArgMax | Reduce::ArgMin)
    }

    /// Whether an empty set of elements has a value.
    pub fn takes_nothing(self) -> bool {
        self == Reduce::Sum
    }

    /// The value that changes nothing when combined (of the register type). Finite on purpose:
    /// WGSL may assume that infinities do not occur.
    pub fn identity(self, dtype: DType) -> Scalar {
        let register = dtype.register();
        let (low, high) = match register {
            DType::F32 => (f32::MIN as f64, f32::MAX as f64),
            DType::I32 => (i32::MIN as f64, i32::MAX as f64),
            DType::U32 => (0.0, u32::MAX as f64),
            _ => (0.0, 1.0),
        };
        match self {
            Reduce::Sum => Scalar::of(register, 0.0),
            Reduce::Max | Reduce::ArgMax => Scalar::of(register, low),
            Reduce::Min | Reduce::ArgMin => Scalar::of(register, high),
        }
    }
}
