//! Gradients compared with central differences, in f64, to second order: every row of the op tables and every
//! family.
//!
//! Start at `check::check`, which all cases go through.

mod check;
mod contraction;
mod layout;
mod paths;
mod pointwise;
mod scan;
