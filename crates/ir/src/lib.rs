//! What a computation is: shapes, dtypes, op tables by family, graphs, gradients, and the f64
//! reference that gives them their meaning.
//!
//! Nothing here knows a device. Start at [`Op`] for what can be computed, [`Graph`] for how it is
//! written down, [`gradient()`] for reverse mode and [`reference`] for what it means.

mod dtype;
mod shape;
mod error;
mod unary;
mod binary;
mod reduce;
mod contraction;
mod custom;
mod scan;
mod op;
mod graph;
mod gradient;
pub mod philox;
pub mod reference;

pub use binary::{Binary, BinaryRow};
pub use contraction::{Contraction, IndexMap};
pub use custom::{CustomKernel, CustomOp, Words};
pub use dtype::{DType, Scalar, wrap};
pub use error::OpError;
pub use gradient::{gradient, pull_back};
pub use graph::{Graph, Node, NodeId};
pub use op::{Op, Span};
pub use reduce::{Reduce, ReduceRow};
pub use scan::Scan;
pub use shape::{MAX_RANK, Shape};
pub use unary::{Unary, UnaryRow, erf};
