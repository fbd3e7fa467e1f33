//! A shape: sizes per axis, row-major, at most [`MAX_RANK`] of them.

use std::fmt;
use std::ops::Deref;

use crate::error::OpError;

/// The highest rank of a tensor.
pub const MAX_RANK: usize = 8;

/// The most elements of a tensor, even if one of its axes is empty; so its size in bytes cannot overflow.
pub const MAX_NUMEL: usize = usize::MAX >> 4;

/// The sizes of a tensor's axes, outermost first. `[]` is a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    sizes: [usize; MAX_RANK],
    rank: u8,
}

impl Shape {
    /// A shape from its sizes. Panics above [`MAX_RANK`] axes.
    #[track_caller]
    pub fn new(sizes: &[usize]) -> Shape {
        assert!(
            sizes.len() <= MAX_RANK,
            "shape: rank too high: {sizes:?} ({} vs at most {MAX_RANK})",
            sizes.len()
        );
        let mut shape = Shape { sizes: [0; MAX_RANK], rank: sizes.len() as u8 };
        shape.sizes[..sizes.len()].copy_from_slice(sizes);
        shape
    }

    /// The shape of a scalar.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Number of elements. Panics if there are more than [`MAX_NUMEL`], so that no product of sizes can
    /// overflow.
    #[track_caller]
    pub fn numel(&self) -> usize {
        match self.count() {
            Some(count) => count,
            None => panic!("{}", OpError::TooLarge { op: "shape".into(), shape: *self, numel: self.about() }),
        }
    }

    /// Number of elements; `None` if the product of the nonzero sizes exceeds [`MAX_NUMEL`].
    pub fn count(&self) -> Option<usize> {
        let (mut product, mut empty) = (1usize, false);
        for &size in self.iter() {
            empty |= size == 0;
            product = product.checked_mul(size.max(1)).filter(|&product| product <= MAX_NUMEL)?;
        }
        Some(if empty { 0 } else { product })
    }

    /// The approximate number of elements, however large.
    pub(crate) fn about(&self) -> f64 {
        self.iter().map(|&size| size as f64).product()
    }

    /// Row-major strides, in elements.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.rank()];
        for axis in (1..self.rank()).rev() {
            strides[axis - 1] = strides[axis] * self[axis];
        }
        strides
    }

    /// The shape with `axis` set to `size`.
    pub fn with(&self, axis: usize, size: usize) -> Shape {
        let mut shape = *self;
        shape.sizes[axis] = size;
        shape
    }

    /// The shape without the given axes.
    pub fn without(&self, axes: &[usize]) -> Shape {
        let kept: Vec<usize> = (0..self.rank()).filter(|a| !axes.contains(a)).map(|a| self[a]).collect();
        Shape::new(&kept)
    }

    /// The shape with the given axes set to 1.
    pub fn ones_at(&self, axes: &[usize]) -> Shape {
        axes.iter().fold(*self, |shape, &axis| shape.with(axis, 1))
    }

    /// The common shape of two operands, aligned at the last axis. If they disagree, the error is the axis
    /// (counted in the result).
    pub fn broadcast(&self, other: &Shape) -> Result<Shape, usize> {
        let rank = self.rank().max(other.rank());
        let mut sizes = vec![1; rank];
        for (axis, size) in sizes.iter_mut().enumerate() {
            let pick = |s: &Shape| (axis + s.rank()).checked_sub(rank).map_or(1, |a| s[a]);
            *size = match (pick(self), pick(other)) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => return Err(axis),
            };
        }
        Ok(Shape::new(&sizes))
    }
}

// Only the axes that exist: shapes are hashed on every step.
impl std::hash::Hash for Shape {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self[..].hash(state);
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.sizes[..self.rank as usize]
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &**self)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &**self)
    }
}

impl From<&[usize]> for Shape {
    #[track_caller]
    fn from(sizes: &[usize]) -> Shape {
        Shape::new(sizes)
    }
}
impl From<&Vec<usize>> for Shape {
    #[track_caller]
    fn from(sizes: &Vec<usize>) -> Shape {
        Shape::new(sizes)
    }
}
impl From<Vec<usize>> for Shape {
    #[track_caller]
    fn from(sizes: Vec<usize>) -> Shape {
        Shape::new(&sizes)
    }
}
impl<const N: usize> From<[usize; N]> for Shape {
    #[track_caller]
    fn from(sizes: [usize; N]) -> Shape {
        Shape::new(&sizes)
    }
}
impl From<usize> for Shape {
    fn from(size: usize) -> Shape {
        Shape::new(&[size])
    }
}
impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Shape {
        *shape
    }
}
