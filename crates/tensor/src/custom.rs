//! What a custom op with a gradient needs beside [`CustomOp`](crate::CustomOp): the graph that its backward pass is
//! appended to, and the ops that it may append. Ops without a gradient need nothing from here.

pub use farad_ir::{Graph, NodeId, Op};
