//! Products: matrix products, convolutions and their gradients.
//!
//! The order of the work, when a program is loaded: [`sliced_product`] decides whether a product over several
//! axes runs slice by slice. Before that, [`merge_axes`] merges neighboring axes and [`stride_phases`] splits
//! products with strided reads into one product per remainder. A sliced product runs along the columns of its
//! result ([`row_slices`]) or along its terms ([`dot_slices`]). Both cut it by [`slice_cuts`], read operands
//! through [`slice_operand`] and multiply in a [`register_tile`]. Every other product is a [`matrix_product`].
//!
//! Invariant: the order in which an element's terms are added depends only on sizes, never on threads. Start at
//! [`sliced_product::Sliced`], then [`matrix_product::MatrixPlan`].

pub mod matrix_product;
pub mod sliced_product;

pub mod merge_axes;
pub mod stride_phases;

pub mod dot_slices;
pub mod row_slices;

pub mod register_tile;
pub mod slice_cuts;
pub mod slice_operand;
