//! The axes of an op, and whether they stay.

/// The axes of a reduction. Negative ones count from the end. They are removed, unless [`kept`].
///
/// ```
/// use farad::prelude::*;
/// let x = Tensor::ones([2, 3], &Device::cpu());
/// assert_eq!(x.sum_axes([1]).shape()[..], [2]);
/// assert_eq!(x.sum_axes(kept([1])).shape()[..], [2, 1]);
/// ```
pub trait Axes {
    /// The axes.
    fn axes(&self) -> &[isize];

    /// Whether they stay, with size 1.
    fn keep(&self) -> bool {
        false
    }
}

/// Axes that stay after a reduction, with size 1, so that the result broadcasts against what was reduced.
pub fn kept<A: Axes>(axes: A) -> Kept<A> {
    Kept(axes)
}

/// What [`kept`] gives.
#[derive(Clone, Copy, Debug)]
pub struct Kept<A>(A);

impl<A: Axes> Axes for Kept<A> {
    fn axes(&self) -> &[isize] {
        self.0.axes()
    }

    fn keep(&self) -> bool {
        true
    }
}

impl<const N: usize> Axes for [isize; N] {
    fn axes(&self) -> &[isize] {
        self
    }
}

impl Axes for [isize] {
    fn axes(&self) -> &[isize] {
        self
    }
}

impl Axes for Vec<isize> {
    fn axes(&self) -> &[isize] {
        self
    }
}

impl<A: Axes + ?Sized> Axes for &A {
    fn axes(&self) -> &[isize] {
        (**self).axes()
    }

    fn keep(&self) -> bool {
        (**self).keep()
    }
}
