//! Graphs as text: one line per node, which tests and `FARAD_DEBUG=passes` show and tests read again.
//!
//! ```text
//! n0 = input(0) : f32[4, 8]
//! n1 = exp n0 : f32[4, 8]
//! n2 = sum(1) n1 : f32[4]
//! return n2
//! ```
//!
//! A line is a name, an op with what belongs to it in parentheses, its operands, and behind a colon what it gives. The body of
//! a loop stands in braces behind it. A checkpoint's number follows an `@`.
//!
//! Invariant: what [`Graph::show`] writes, [`Graph::parse`] reads as the same graph, custom ops aside, which only their
//! own crates can make.

mod parse;
mod show;

pub use parse::GraphTextError;
pub use show::GraphText;

#[cfg(test)]
mod tests;

#[cfg(doc)]
use crate::Graph;
