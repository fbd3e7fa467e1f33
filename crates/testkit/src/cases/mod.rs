//! The table: every public op of [`farad::Tensor`], by family.
//!
//! The rows of the op tables are enumerated; the rest is at least one row per method. A test fails for a method
//! or a table row without a case.

mod activation;
mod attention;
mod binary;
mod cast;
mod contraction;
mod convolution;
mod create;
mod cumulative;
mod custom;
mod index;
mod loops;
mod loss;
mod mask;
mod matmul;
mod movement;
mod norm;
mod part;
mod pooling;
mod random;
mod reduce;
mod resample;
mod sequence;
mod sort;
mod unary;

pub(crate) use binary::method as binary_method;
pub use custom::CubeAndDouble;
pub(crate) use reduce::method as reduce_method;
pub(crate) use unary::method as unary_method;

use crate::case::Case;

/// The rounding error of `f64`.
const DOUBLE: f64 = 1e-14;

/// Every case.
pub fn all() -> Vec<Case> {
    [
        unary::cases(),
        binary::cases(),
        cast::cases(),
        create::cases(),
        activation::cases(),
        loss::cases(),
        reduce::cases(),
        cumulative::cases(),
        mask::cases(),
        norm::cases(),
        movement::cases(),
        part::cases(),
        index::cases(),
        sort::cases(),
        matmul::cases(),
        contraction::cases(),
        convolution::cases(),
        pooling::cases(),
        resample::cases(),
        attention::cases(),
        random::cases(),
        sequence::cases(),
        loops::cases(),
        custom::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Symmetric around zero.
const SIGNED: (f64, f64) = (-2.0, 2.0);

/// The error of rounding a result to `f16`, relative to the largest element.
const HALF: f64 = 1e-3;
