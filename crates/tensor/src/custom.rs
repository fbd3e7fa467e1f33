//! What a custom op may need beside [`CustomOp`](crate::CustomOp): a float as a field, and for its gradient the graph
//! that its backward pass is appended to, and the ops that it may append.

pub use farad_ir::{Exact, Graph, NodeId, Op};
