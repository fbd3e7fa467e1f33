//! Maps a kernel's axes to elements of a buffer.
//!
//! Invariant: a view is affine in the axes, apart from its guards; where a guard fails there is no element.
//! Start at [`View`].

/// The index of an element as a function of a kernel's axes `i`:
/// `index = offset + Σ strides[a]·i[a] + Σ guard.stride · (guard's position)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// The index of the first element.
    pub offset: i64,
    /// Elements between neighbors, per kernel axis (zero: broadcast; negative: reversed).
    pub strides: Vec<i64>,
    /// Conditions under which the element exists; elsewhere a load gives zero. Empty for stores.
    pub guards: Vec<Guard>,
}

/// A condition on a kernel's axes. With `c = offset + Σ coefficients[a]·i[a]`, the element exists
/// where `divisor` divides `c` and `0 <= c / divisor < size`; the position is `c / divisor`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Per kernel axis.
    pub coefficients: Vec<i64>,
    /// Added to the sum.
    pub offset: i64,
    /// At least 1.
    pub divisor: i64,
    /// The exclusive upper bound of the position.
    pub size: i64,
    /// What the position adds to the index; not zero only where `divisor > 1` (otherwise the
    /// position is already in the view's strides).
    pub stride: i64,
}

impl View {
    /// Row-major over all axes.
    pub fn contiguous(axes: &[usize]) -> View {
        let mut strides = vec![1i64; axes.len()];
        for axis in (1..axes.len()).rev() {
            strides[axis - 1] = strides[axis] * axes[axis] as i64;
        }
        View { offset: 0, strides, guards: vec![] }
    }

    /// Whether the view is row-major over `axes`, without offset or guards.
    pub fn is_contiguous(&self, axes: &[usize]) -> bool {
        let mut stride = 1;
        self.offset == 0
            && self.guards.is_empty()
            && axes.iter().zip(&self.strides).rev().all(|(&size, &s)| {
                let fits = size == 1 || s == stride;
                stride *= size as i64;
                fits
            })
    }

    /// How many elements the view can address over `axes`; exact where windows do not overlap.
    pub fn reach(&self, axes: &[usize]) -> usize {
        let moved = self.strides.iter().zip(axes).enumerate().filter(|(axis, (stride, _))| {
            **stride != 0
                || self.guards.iter().any(|guard| guard.stride != 0 && guard.coefficients[*axis] != 0)
        });
        moved.map(|(_, (_, size))| *size).product()
    }
}
