//! What a computation is: shapes, dtypes, op tables by family, graphs, gradients, and the f64
//! reference that gives them their meaning.
//!
//! Nothing here knows a device. Start at [`Op`] for what can be computed, [`Graph`] for how it is
//! written down, [`gradient()`] for reverse mode and [`mod@reference`] for what it means.

mod binary;
mod contraction;
mod custom;
mod dtype;
mod error;
pub mod extremes;
mod gradient;
mod graph;
mod identity;
mod op;
pub mod philox;
mod reduce;
pub mod reference;
mod scan;
mod shape;
mod unary;

pub use binary::{Binary, BinaryKind, BinaryRow};
pub use contraction::{Contraction, IndexMap};
pub use custom::{CustomKernel, CustomLimits, CustomOp, Words};
pub use dtype::{DType, Scalar, truncate, wrap};
pub use error::OpError;
pub use gradient::{gradient, pull_back};
pub use graph::{Graph, Node, NodeId};
pub use identity::{Exact, Identity};
pub use op::{Op, Span};
pub use reduce::{Reduce, ReduceRow, ReduceRule};
pub use scan::Scan;
pub use shape::{MAX_NUMEL, MAX_RANK, Shape};
pub use unary::{Unary, UnaryRow, erf};
