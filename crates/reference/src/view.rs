//! Maps positions of a view to element indices.

use farad_compile::program::View;

/// The coordinates of positions over some axes, row-major, stored in one flat list.
pub struct Coordinates {
    axes: usize,
    count: usize,
    coordinates: Vec<usize>,
}

impl Coordinates {
    /// The coordinates of `count` positions over `axes`, starting at position `first`.
    pub fn new(axes: &[usize], first: usize, count: usize) -> Coordinates {
        let mut coordinates = Vec::with_capacity(axes.len() * count);
        let mut at = vec![0; axes.len()];
        let mut rest = first;
        for (c, &size) in at.iter_mut().zip(axes).rev() {
            (*c, rest) = if size == 0 { (0, rest) } else { (rest % size, rest / size) };
        }
        for _ in 0..count {
            coordinates.extend_from_slice(&at);
            for (c, &size) in at.iter_mut().zip(axes).rev() {
                *c += 1;
                if *c < size {
                    break;
                }
                *c = 0;
            }
        }
        Coordinates { axes: axes.len(), count, coordinates }
    }

    /// As [`Coordinates::new`], with `last` appended to every position as one more coordinate.
    pub fn behind(axes: &[usize], first: usize, count: usize, last: usize) -> Coordinates {
        let before = Coordinates::new(axes, first, count);
        let coordinates = before.iter().flat_map(|position| position.iter().copied().chain([last])).collect();
        Coordinates { axes: axes.len() + 1, count, coordinates }
    }

    /// All of them.
    pub fn all(axes: &[usize]) -> Coordinates {
        Coordinates::new(axes, 0, axes.iter().product())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The coordinates of the `n`-th position.
    pub fn get(&self, n: usize) -> &[usize] {
        &self.coordinates[n * self.axes..(n + 1) * self.axes]
    }

    /// Every position in order.
    pub fn iter(&self) -> impl Iterator<Item = &[usize]> {
        (0..self.count).map(|n| self.get(n))
    }
}

/// The index of a view's element at a position; `None` where a guard excludes it.
pub fn locate(view: &View, position: &[usize]) -> Option<i64> {
    let sum = |factors: &[i64]| factors.iter().zip(position).map(|(f, &c)| f * c as i64).sum::<i64>();
    view.guards.iter().try_fold(view.offset + sum(&view.strides), |index, guard| {
        let c = guard.offset + sum(&guard.coefficients);
        let exists = c % guard.divisor == 0 && (0..guard.size).contains(&(c / guard.divisor));
        exists.then(|| index + guard.stride * (c / guard.divisor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_compile::program::Guard;

    #[test]
    fn positions_are_row_major_from_anywhere() {
        let all: Vec<Vec<usize>> = Coordinates::all(&[2, 3]).iter().map(<[usize]>::to_vec).collect();
        assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        let some: Vec<Vec<usize>> = Coordinates::new(&[2, 3], 2, 2).iter().map(<[usize]>::to_vec).collect();
        assert_eq!(some, [[0, 2], [1, 0]]);
        assert_eq!((Coordinates::all(&[]).len(), Coordinates::all(&[3, 0]).len()), (1, 0));
    }

    #[test]
    fn guards_say_where_there_is_no_element() {
        let guard = Guard { coefficients: vec![1], offset: -1, divisor: 2, size: 2, stride: 10 };
        let view = View { offset: 5, strides: vec![0], guards: vec![guard] };
        let found: Vec<Option<i64>> = (0..6).map(|c| locate(&view, &[c])).collect();
        assert_eq!(found, [None, Some(5), None, Some(15), None, None]);
    }
}
