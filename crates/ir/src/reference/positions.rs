//! Lists of element positions, which movement, index and reduce ops are built on.
//!
//! A position that does not exist ([`NOWHERE`]) reads as zero.

use crate::shape::Shape;

/// A position outside every tensor.
pub(crate) const NOWHERE: usize = usize::MAX;

/// `offset + Σ strides[a]·i[a]` for every index `i` below `sizes`, row-major.
pub(crate) fn positions(sizes: &[usize], offset: usize, strides: &[isize]) -> Vec<usize> {
    let mut list = vec![offset];
    for (&size, &stride) in sizes.iter().zip(strides) {
        let along = |start: usize| (0..size).map(move |i| start.wrapping_add_signed(stride * i as isize));
        list = list.into_iter().flat_map(along).collect();
    }
    list
}

pub(crate) fn strides(shape: &Shape) -> Vec<isize> {
    shape.strides().into_iter().map(|stride| stride as isize).collect()
}

/// The strides of `shape`, with zero on axes of size 1, so that these broadcast.
pub(crate) fn repeating(shape: &Shape) -> Vec<isize> {
    strides(shape)
        .into_iter()
        .zip(shape.iter())
        .map(|(stride, &size)| if size == 1 { 0 } else { stride })
        .collect()
}
