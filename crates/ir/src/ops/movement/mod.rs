//! Ops that only change where elements are. Each file has three functions: `shape`, the shape rule; `gradient`;
//! and `positions_in`, the reference: for every element of the result, in order, its position in the operand.

pub mod expand;
pub mod flip;
pub mod pad;
pub mod permute;
pub mod reshape;
pub mod slice;
