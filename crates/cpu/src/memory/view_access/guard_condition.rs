//! When elements of a view exist: guards over a domain, and the part of a run where they hold.
//!
//! Invariant: a condition is linear in the coordinates, so along a run it holds on an interval, unless it
//! divides. Start at [`Condition`].

use farad_compile::program::Guard;

/// A guard over a domain.
#[derive(Clone, Debug)]
pub struct Condition {
    pub(super) offset: i64,
    pub(super) divisor: i64,
    pub(super) size: i64,
    pub(super) stride: i64,
    pub(super) dims: Vec<i64>,
    pub(super) fixed: Vec<i64>,
}

impl Condition {
    pub(super) fn new(
        guard: &Guard,
        domain: &[usize],
        fixed: &[usize],
        pick: &impl Fn(&[i64], &[usize]) -> Vec<i64>,
    ) -> Condition {
        Condition {
            offset: guard.offset,
            divisor: guard.divisor,
            size: guard.size,
            stride: guard.stride,
            dims: pick(&guard.coefficients, domain),
            fixed: pick(&guard.coefficients, fixed),
        }
    }

    /// The sum at these coordinates.
    pub(super) fn at(&self, coordinates: &[usize], fixed: &[usize]) -> i64 {
        self.offset + dot(&self.dims, coordinates) + dot(&self.fixed, fixed)
    }

    /// How much a step along the innermost axis adds to the sum.
    pub(super) fn step(&self) -> i64 {
        *self.dims.last().expect("a domain has at least one merged axis")
    }

    pub(super) fn position(&self, c: i64) -> Option<i64> {
        (c % self.divisor == 0).then_some(c / self.divisor).filter(|p| (0..self.size).contains(p))
    }
}

/// The steps `j` with `0 <= c + step·j < size`.
pub(super) fn interval(c: i64, step: i64, size: i64) -> (i64, i64) {
    let ceil = |a: i64, b: i64| -((-a).div_euclid(b));
    match step {
        1 => (-c, size - c),
        0 if (0..size).contains(&c) => (0, i64::MAX),
        0 => (0, 0),
        s if s > 0 => (ceil(-c, s), ceil(size - c, s)),
        s => (ceil(c - size + 1, -s), c.div_euclid(-s) + 1),
    }
}

/// The sum of coordinates times strides.
pub(super) fn dot(strides: &[i64], coordinates: &[usize]) -> i64 {
    strides.iter().zip(coordinates).map(|(&s, &c)| s * c as i64).sum()
}
