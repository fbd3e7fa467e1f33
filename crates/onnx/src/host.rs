//! Iteration over host arrays: strides, broadcasting, and strided views.

use crate::array::{Array, Data, count};
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;

/// Row-major strides.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// The common shape of two operands.
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let rank = a.len().max(b.len());
    let pick =
        |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |at| shape[at]);
    let mut shape = Vec::with_capacity(rank);
    for axis in 0..rank {
        match (pick(a, axis), pick(b, axis)) {
            (x, y) if x == y => shape.push(x),
            (1, y) => shape.push(y),
            (x, 1) => shape.push(x),
            (x, y) => refuse!("shapes do not broadcast: {a:?}, {b:?} ({x} vs {y})"),
        }
    }
    Ok(shape)
}

/// Every position of a strided view, in row-major order.
pub struct StridedPositions {
    shape: Vec<usize>,
    strides: Vec<isize>,
    at: Vec<usize>,
    place: isize,
    left: usize,
}

impl StridedPositions {
    /// Positions over `shape` with these strides, starting at an offset.
    pub fn new(shape: &[usize], strides: Vec<isize>, offset: isize) -> StridedPositions {
        let left = shape.iter().product();
        StridedPositions { at: vec![0; shape.len()], shape: shape.to_vec(), strides, place: offset, left }
    }

    /// Positions in an array of shape `from` that is broadcast to `shape`.
    pub fn spread(from: &[usize], shape: &[usize]) -> StridedPositions {
        let own = strides(from);
        let missing = shape.len() - from.len();
        let stride = |axis: usize| match axis.checked_sub(missing) {
            Some(at) if from[at] != 1 => own[at] as isize,
            _ => 0,
        };
        StridedPositions::new(shape, (0..shape.len()).map(stride).collect(), 0)
    }
}

impl Iterator for StridedPositions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let place = self.place as usize;
        for axis in (0..self.shape.len()).rev() {
            self.at[axis] += 1;
            self.place += self.strides[axis];
            if self.at[axis] < self.shape[axis] {
                break;
            }
            self.place -= self.strides[axis] * self.shape[axis] as isize;
            self.at[axis] = 0;
        }
        Some(place)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl Array {
    /// Broadcast to a larger shape.
    pub fn spread(&self, shape: &[usize]) -> Result<Array> {
        count(shape)?;
        if broadcast(&self.shape, shape)? != shape {
            refuse!("{:?} does not broadcast to {shape:?}", self.shape);
        }
        Ok(self.picked(shape.to_vec(), StridedPositions::spread(&self.shape, shape).map(Some)))
    }

    /// Permutes the axes.
    pub fn permuted(&self, order: &[usize]) -> Array {
        let own = strides(&self.shape);
        let shape: Vec<usize> = order.iter().map(|&axis| self.shape[axis]).collect();
        let places = StridedPositions::new(&shape, order.iter().map(|&axis| own[axis] as isize).collect(), 0);
        self.picked(shape, places.map(Some))
    }

    /// Every `steps`-th element starting at `starts`, `counts` of them.
    pub fn sliced(&self, starts: &[usize], steps: &[isize], counts: &[usize]) -> Array {
        let own = strides(&self.shape);
        let offset: usize = starts.iter().zip(&own).map(|(start, stride)| start * stride).sum();
        let moves = own.iter().zip(steps).map(|(&stride, step)| stride as isize * step).collect();
        self.picked(counts.to_vec(), StridedPositions::new(counts, moves, offset as isize).map(Some))
    }

    /// Applies a function to each float and rounds to the kind.
    pub fn map(&self, kind: Kind, f: impl Fn(f64) -> f64) -> Result<Array> {
        Ok(Array::floats(kind, self.shape.clone(), self.to_floats()?.into_iter().map(f).collect()))
    }

    /// Applies one of two functions (for floats or integers) to pairs of elements, with broadcasting.
    pub fn zip(
        &self,
        other: &Array,
        float: impl Fn(f64, f64) -> f64,
        int: impl Fn(i64, i64) -> Result<i64>,
    ) -> Result<Array> {
        let shape = broadcast(&self.shape, &other.shape)?;
        count(&shape)?;
        let places =
            StridedPositions::spread(&self.shape, &shape).zip(StridedPositions::spread(&other.shape, &shape));
        match (&self.data, &other.data) {
            (Data::Float(a), Data::Float(b)) => {
                Ok(Array::floats(self.kind, shape, places.map(|(i, j)| float(a[i], b[j])).collect()))
            }
            (Data::Int(a), Data::Int(b)) => {
                let data: Result<Vec<i64>> = places.map(|(i, j)| int(a[i], b[j])).collect();
                Ok(Array::ints(self.kind, shape, data?))
            }
            _ => refuse!("kinds differ: {} vs {}", self.kind, other.kind),
        }
    }

    /// Compares pairs of elements, with broadcasting.
    pub fn compare(&self, other: &Array, test: impl Fn(std::cmp::Ordering, bool) -> bool) -> Result<Array> {
        use std::cmp::Ordering;
        let shape = broadcast(&self.shape, &other.shape)?;
        count(&shape)?;
        let places =
            StridedPositions::spread(&self.shape, &shape).zip(StridedPositions::spread(&other.shape, &shape));
        let unsigned = self.kind == Kind::U64;
        let data: Vec<i64> = match (&self.data, &other.data) {
            (Data::Float(a), Data::Float(b)) => places
                .map(|(i, j)| match a[i].partial_cmp(&b[j]) {
                    Some(order) => test(order, true) as i64,
                    None => test(Ordering::Less, false) as i64,
                })
                .collect(),
            (Data::Int(a), Data::Int(b)) => places
                .map(|(i, j)| {
                    let order = if unsigned { (a[i] as u64).cmp(&(b[j] as u64)) } else { a[i].cmp(&b[j]) };
                    test(order, true) as i64
                })
                .collect(),
            (Data::Text(a), Data::Text(b)) => {
                places.map(|(i, j)| test(a[i].cmp(&b[j]), true) as i64).collect()
            }
            _ => refuse!("kinds differ: {} vs {}", self.kind, other.kind),
        };
        Ok(Array::ints(Kind::Bool, shape, data))
    }
}
