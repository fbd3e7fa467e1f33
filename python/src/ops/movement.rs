//! Ops that move elements: shapes, axes, parts by position.

use farad::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::ops;
use crate::arguments::{AxesArg, ShapeArg};
use crate::array::{ArrayArg, PyArray};

/// Axes of an argument, or all.
fn axes_or_all(axes: Option<AxesArg>, rank: usize) -> Vec<isize> {
    axes.map_or_else(|| (0..rank as isize).collect(), |axes| axes.0)
}

ops! {
    /// The axes in another order.
    [permute] permute_dims |x| (axes: Vec<isize>) -> Tensor { x.permute(&axes) }
    /// Two axes swapped.
    [transpose] swapaxes |x| (axis1: isize, axis2: isize) -> Tensor { x.transpose(axis1, axis2) }
    /// The array repeated to a shape, aligned at the last axis.
    [broadcast_to] broadcast_to |x| (shape: ShapeArg) -> Tensor { x.broadcast_to(shape.0) }
    /// Axes of size 1 repeated to the sizes of a shape of the same rank.
    [expand] expand |x| (shape: ShapeArg) -> Tensor { x.expand(shape.0) }
    /// Zeros before and after each axis.
    [pad] pad |x| (widths: Vec<(usize, usize)>) -> Tensor { x.pad(&widths) }
    /// Axes in reverse order.
    [flip] flip |x| (axis: Option<AxesArg> = None) -> Tensor { x.flip(&axes_or_all(axis, x.rank())) }
    /// A new axis of size 1.
    [unsqueeze] expand_dims |x| (axis: isize = 0) -> Tensor { x.unsqueeze(axis) }
    /// An axis of size 1 removed.
    [squeeze] squeeze_axis |x| (axis: isize) -> Tensor { x.squeeze(axis) }
    /// All axes from one on as one.
    [flatten] flatten |x| (start: usize = 0) -> Tensor { x.flatten(start) }
    /// Parts of these sizes along an axis.
    [split] split |x| (sizes: Vec<usize>, axis: isize = 0) -> Vec<Tensor> { x.split(&sizes, axis) }
    /// The lower triangle of the last two axes; zeros elsewhere.
    [tril] tril |x| (k: isize = 0) -> Tensor { x.tril(k) }
    /// The upper triangle of the last two axes; zeros elsewhere.
    [triu] triu |x| (k: isize = 0) -> Tensor { x.triu(k) }
    /// Elements at positions along an axis; the index has the array's rank.
    [gather] gather |x| (axis: isize, index: ArrayArg) -> Tensor { x.gather(axis, &index.0) }
    /// Whole slices at the positions of a one-axis index.
    [index_select] index_select |x| (axis: isize, index: ArrayArg) -> Tensor { x.index_select(axis, &index.0) }
    /// Rows at positions: `[entries, width]` at `[..]` gives `[.., width]`.
    [embedding] embedding |x| (ids: ArrayArg) -> Tensor { x.embedding(&ids.0) }
    /// Positions as rows with a single 1.
    [one_hot] one_hot |x| (classes: usize) -> Tensor { x.one_hot(classes) }
    /// Elements of a source added at positions along an axis.
    [scatter_add] scatter_add |x| (axis: isize, index: ArrayArg, source: ArrayArg) -> Tensor {
        x.scatter_add(axis, &index.0, &source.0)
    }
    /// Rows summed by segment.
    [segment_sum] segment_sum |x| (segments: ArrayArg, count: usize) -> Tensor { x.segment_sum(&segments.0, count) }
}

#[pymethods]
impl PyArray {
    /// The elements in another shape, row by row; one size may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let sizes = crate::arguments::free_shape(&crate::arguments::spread(shape)?)?;
        Ok(crate::errors::guarded(|| self.tensor.reshape(sizes))?.into())
    }

    /// The axes in another order; reversed if none is given.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let mut order = crate::arguments::spread(axes)?;
        if axes.is_empty() {
            order = (0..self.tensor.rank() as isize).rev().collect();
        }
        Ok(crate::errors::guarded(|| self.tensor.permute(&order))?.into())
    }
}
