//! Pad: zeros before and after, per axis.

use crate::error::OpError;
use crate::ops::check_count;
use crate::ops::movement::slice::Span;
use crate::reference::positions::{NOWHERE, positions, strides};
use crate::shape::{MAX_NUMEL, Shape};
use crate::var::Var;

pub(crate) fn shape(x: Shape, widths: &[(usize, usize)]) -> Result<Shape, OpError> {
    check_count("pad", "one pair of widths per axis", x, widths.len())?;
    let mut padded = x;
    for (axis, &(low, high)) in widths.iter().enumerate() {
        let Some(size) = x[axis].checked_add(low).and_then(|size| size.checked_add(high)) else {
            let what = format!("padding is too wide: {x} axis {axis} by {low} and {high}");
            return Err(OpError::Sizes { op: "pad", what, a: low.max(high), b: MAX_NUMEL });
        };
        padded = padded.with(axis, size);
    }
    Ok(padded)
}

pub(crate) fn gradient<'g>(x: Var<'g>, g: Var<'g>, widths: &[(usize, usize)]) -> Var<'g> {
    let span = |(w, &len): (&(usize, usize), &usize)| Span { start: w.0, len, step: 1 };
    g.slice(widths.iter().zip(x.shape().iter()).map(span).collect())
}

pub(crate) fn positions_in(x: &Shape, widths: &[(usize, usize)]) -> Vec<usize> {
    let sizes: Vec<usize> = x.iter().zip(widths).map(|(size, (low, high))| size + low + high).collect();
    let padded = Shape::new(&sizes);
    let offset = padded.strides().iter().zip(widths).map(|(stride, (low, _))| stride * low).sum();
    let mut table = vec![NOWHERE; padded.numel()];
    for (from, to) in positions(x, offset, &strides(&padded)).into_iter().enumerate() {
        table[to] = from;
    }
    table
}
