//! Slice: a span of every axis.

use crate::error::OpError;
use crate::ops::check_count;
use crate::reference::positions::positions;
use crate::shape::Shape;
use crate::var::Var;

/// The part of an axis that a slice takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// First position.
    pub start: usize,
    /// How many positions.
    pub len: usize,
    /// Distance between positions, at least 1.
    pub step: usize,
}

impl Span {
    /// The first `len` positions.
    pub fn first(len: usize) -> Span {
        Span { start: 0, len, step: 1 }
    }

    /// The least size that the axis must have; saturates on overflow, which is beyond every axis.
    fn end(&self) -> usize {
        let reach = |last: usize| last.saturating_mul(self.step).saturating_add(1);
        self.start.saturating_add(self.len.checked_sub(1).map_or(0, reach))
    }
}

pub(crate) fn shape(x: Shape, spans: &[Span]) -> Result<Shape, OpError> {
    check_count("slice", "one span per axis", x, spans.len())?;
    for (axis, span) in spans.iter().enumerate() {
        if span.step == 0 {
            return Err(OpError::Step { axis, step: 0 });
        }
        let (end, size) = (span.end(), x[axis]);
        if end > size {
            return Err(OpError::Slice { shape: x, axis, end, size });
        }
    }
    Ok(Shape::new(&spans.iter().map(|s| s.len).collect::<Vec<_>>()))
}

/// Zeros everywhere except at the span. A step is a pad of a new inner axis.
pub(crate) fn gradient<'g>(x: Var<'g>, g: Var<'g>, spans: &[Span]) -> Var<'g> {
    let (to, mut g) = (x.shape(), g);
    for (axis, span) in spans.iter().enumerate().filter(|(_, s)| s.step > 1) {
        g = spread_axis(g, axis, span.step);
    }
    let shape = g.shape();
    // A strided axis may now extend past the end by less than one step.
    let cut: Vec<Span> = (0..to.rank()).map(|a| Span::first(shape[a].min(to[a] - spans[a].start))).collect();
    if cut.iter().zip(shape.iter()).any(|(span, &size)| span.len != size) {
        g = g.slice(cut);
    }
    let shape = g.shape();
    let widths: Vec<(usize, usize)> =
        (0..to.rank()).map(|a| (spans[a].start, to[a] - spans[a].start - shape[a])).collect();
    if widths.iter().all(|&w| w == (0, 0)) { g } else { g.pad(widths) }
}

/// Puts `step - 1` zeros after every element of `axis`. A tensor of rank 8 has no room for another axis, so all
/// others are merged around it first.
fn spread_axis(g: Var<'_>, axis: usize, step: usize) -> Var<'_> {
    let shape = g.shape();
    let before: usize = shape[..axis].iter().product();
    let after: usize = shape[axis + 1..].iter().product();
    g.reshape(Shape::new(&[before, shape[axis], 1, after]))
        .pad(vec![(0, 0), (0, 0), (0, step - 1), (0, 0)])
        .reshape(shape.with(axis, shape[axis] * step))
}

pub(crate) fn positions_in(x: &Shape, spans: &[Span]) -> Vec<usize> {
    let of = x.strides();
    let sizes: Vec<usize> = spans.iter().map(|span| span.len).collect();
    let offset = of.iter().zip(spans).map(|(stride, span)| stride * span.start).sum();
    let strides: Vec<isize> =
        of.iter().zip(spans).map(|(stride, span)| (stride * span.step) as isize).collect();
    positions(&sizes, offset, &strides)
}
