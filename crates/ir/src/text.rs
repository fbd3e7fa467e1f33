//! Graphs as text, one line per node. Tests and `FARAD_DEBUG=passes` print it, and tests parse it again.
//!
//! ```text
//! n0 = input(0) : f32[4, 8]
//! n1 = exp n0 : f32[4, 8]
//! n2 = sum(1) n1 : f32[4]
//! return n2
//! ```
//!
//! A line is a name, an op with its arguments in parentheses, its operands and, after a colon, its shape and
//! dtype. The body of a loop follows in braces. A checkpoint's number follows an `@`.
//!
//! Invariant: [`Graph::parse`] reads what [`Graph::show`] writes as the same graph, except for custom ops,
//! which only their own crates can make.

mod parse;
mod show;

pub use parse::GraphTextError;
pub use show::GraphText;

#[cfg(test)]
mod tests;

#[cfg(doc)]
use crate::Graph;
