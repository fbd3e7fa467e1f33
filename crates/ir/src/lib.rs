//! Computations as data: shapes, dtypes, op tables by family, graphs, gradients, and the f64 reference that
//! defines what they mean.
//!
//! Nothing here knows a device. Start at [`Op`] for what can be computed, [`Graph`] for how it is written down,
//! [`gradient()`] for reverse-mode differentiation, and [`mod@reference`] for what graphs compute.
//! [`Graph::show`] prints a graph as text, [`Graph::rewrite`] makes one graph from another, and
//! [`Graph::check`] checks a graph's invariants.

mod check;
mod custom;
mod dtype;
mod error;
pub mod extremes;
mod gradient;
mod graph;
mod identity;
mod op;
mod ops;
pub mod philox;
pub mod reference;
mod rewrite;
mod scan;
mod shape;
mod text;
mod var;
mod wgsl_text;

pub use check::GraphError;
pub use custom::{CustomKernel, CustomLimits, CustomOp, Words};
pub use dtype::{DType, Scalar, truncate, wrap};
pub use error::OpError;
pub use gradient::{gradient, pull_back};
pub use graph::{Graph, Node, NodeId};
pub use identity::{Exact, OpIdentity};
pub use op::Op;
pub use ops::TensorType;
pub use ops::binary::{Binary, BinaryKind, BinaryRow, BinaryRule};
pub use ops::contraction::{Contraction, IndexMap};
pub use ops::movement::slice::Span;
pub use ops::reduce::{Reduce, ReduceRow, ReduceRule};
pub use ops::unary::{Unary, UnaryRow, UnaryRule, erf};
pub use rewrite::NodeMap;
pub use scan::Scan;
pub use shape::{MAX_NUMEL, MAX_RANK, Shape};
pub use text::{GraphText, GraphTextError};
pub use var::{GraphWriter, Var, VarOperand};
pub use wgsl_text::{WgslText, WgslValue};
