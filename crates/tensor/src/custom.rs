//! What a custom op may need beside [`CustomOp`](crate::CustomOp): a float as a field, and for its gradient the ops
//! that a [`Var`](crate::Var) can push.

pub use farad_ir::{Exact, GraphWriter, Op};
