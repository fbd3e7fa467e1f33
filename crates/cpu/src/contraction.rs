//! Products: matrix products, convolutions and their gradients.
//!
//! The order of the work, when a program is loaded: [`sliced_product`] decides whether a product over several axes is
//! done slice by slice, after [`merge_axes`] has made neighboring axes one and [`stride_phases`] has taken strided reads
//! apart. A sliced product runs along the columns of its result ([`row_slices`]) or along its terms ([`dot_slices`]).
//! Both cut it by [`slice_cuts`], read operands through [`slice_operand`] and multiply in a [`register_tile`]. Every
//! other product is a [`matrix_product`].
//!
//! Invariant: in which order an element adds its terms depends on sizes alone, never on threads. Start at
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
