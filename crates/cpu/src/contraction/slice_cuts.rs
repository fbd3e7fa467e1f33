//! Cuts the axes of a product into slices that stay in cache, and slices into vectors.

use crate::contraction::register_tile::Piece;

/// Axes that are cut into slices of a fixed size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisCut {
    sizes: Vec<usize>,
    steps: Vec<usize>,
}

impl AxisCut {
    /// Cuts `sizes` into the largest slices that `cost` allows: whole inner axes, then a part of the next one.
    pub fn new(sizes: &[usize], most: usize, cost: impl Fn(&[usize]) -> usize) -> AxisCut {
        let mut steps = vec![1; sizes.len()];
        for axis in (0..sizes.len()).rev() {
            let fits = |step: usize| {
                let mut trial = steps.clone();
                trial[axis] = step;
                cost(&trial) <= most
            };
            let (mut low, mut high) = (1, sizes[axis].max(1));
            while low < high {
                let middle = (low + high).div_ceil(2);
                if fits(middle) { low = middle } else { high = middle - 1 }
            }
            // Slices of equal size, rather than a small last one.
            let count = sizes[axis].div_ceil(low).max(1);
            steps[axis] = sizes[axis].div_ceil(count).max(1);
            if count > 1 {
                break;
            }
        }
        AxisCut { sizes: sizes.to_vec(), steps }
    }

    /// The largest slice.
    pub fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// How many slices.
    pub fn len(&self) -> usize {
        self.sizes.iter().zip(&self.steps).map(|(&size, &step)| size.div_ceil(step)).product()
    }

    /// Whether an axis is cut.
    pub fn cuts(&self, axis: usize) -> bool {
        self.steps[axis] < self.sizes[axis]
    }

    /// The first position and the extent of a slice, per axis.
    pub fn slice(&self, number: usize) -> (Vec<usize>, Vec<usize>) {
        let mut rest = number;
        let mut slice = (vec![0; self.sizes.len()], vec![0; self.sizes.len()]);
        for axis in (0..self.sizes.len()).rev() {
            let (size, step) = (self.sizes[axis], self.steps[axis]);
            let count = size.div_ceil(step);
            slice.0[axis] = rest % count * step;
            slice.1[axis] = step.min(size - slice.0[axis]);
            rest /= count;
        }
        slice
    }

    /// Every extent that occurs among the slices.
    pub fn extents(&self) -> Vec<Vec<usize>> {
        let mut all = vec![vec![]];
        for (&size, &step) in self.sizes.iter().zip(&self.steps) {
            let mut sizes = vec![step];
            if !size.is_multiple_of(step) {
                sizes.push(size % step);
            }
            let longer = |head: &Vec<usize>, last: usize| [&head[..], &[last]].concat();
            all = all.iter().flat_map(|head| sizes.iter().map(move |&last| longer(head, last))).collect();
        }
        all
    }
}

/// The offsets of all positions of some axes, in order.
pub fn offsets(sizes: &[usize], strides: &[i64]) -> Vec<isize> {
    let mut all = vec![0];
    for (&size, &stride) in sizes.iter().zip(strides) {
        all = all.iter().flat_map(|&at| (0..size).map(move |i| at + stride as isize * i as isize)).collect();
    }
    all
}

/// The positions of some axes grouped into vectors, given the strides of the two arrays that are read or
/// written. Along the last axis, both strides must be 1.
pub fn pieces(sizes: &[usize], first: &[i64], second: &[i64], lanes: usize) -> Vec<Piece> {
    // Inner axes that are contiguous in both arrays form one run.
    let mut inner = sizes.len();
    let mut run = 1;
    while inner > 0 {
        let axis = inner - 1;
        let follows = first[axis] == run as i64 && second[axis] == run as i64;
        if sizes[axis] != 1 && !follows {
            break;
        }
        run *= sizes[axis];
        inner = axis;
    }
    let starts = offsets(&sizes[..inner], &first[..inner]);
    let others = offsets(&sizes[..inner], &second[..inner]);
    let mut pieces = Vec::with_capacity(starts.len() * run.div_ceil(lanes));
    for (start, other) in starts.into_iter().zip(others) {
        for at in (0..run).step_by(lanes) {
            let len = lanes.min(run - at);
            pieces.push(Piece { first: start + at as isize, second: other + at as isize, len });
        }
    }
    pieces
}

/// The fraction of vector lanes that is used if runs have this length.
pub fn use_of_lanes(run: usize, lanes: usize) -> f64 {
    run as f64 / run.next_multiple_of(lanes) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_everything_once() {
        for most in [1, 5, 12, 30, 1000] {
            let cut = AxisCut::new(&[3, 7, 5], most, |extent| extent.iter().product());
            let mut seen = vec![0; 105];
            let extents = cut.extents();
            for number in 0..cut.len() {
                let (origin, extent) = cut.slice(number);
                assert!(extent.iter().product::<usize>() <= most);
                assert!(extents.contains(&extent), "{extent:?}");
                for at in offsets(&extent, &[35, 5, 1]) {
                    seen[at as usize + origin[0] * 35 + origin[1] * 5 + origin[2]] += 1;
                }
            }
            assert_eq!(seen, vec![1; 105]);
        }
    }

    #[test]
    fn runs_become_vectors() {
        let all = pieces(&[2, 3, 4], &[24, 4, 1], &[12, 4, 1], 8);
        let piece = |first, second, len| Piece { first, second, len };
        assert_eq!(all, [piece(0, 0, 8), piece(8, 8, 4), piece(24, 12, 8), piece(32, 20, 4)]);
        let apart = pieces(&[2, 3], &[6, 1], &[3, 1], 8);
        assert_eq!(apart, [piece(0, 0, 3), piece(6, 3, 3)]);
        assert_eq!(pieces(&[], &[], &[], 8), [piece(0, 0, 1)]);
    }
}
