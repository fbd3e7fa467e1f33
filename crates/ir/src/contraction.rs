//! Contraction: a sum of products over index maps. Matmul, batched matmul and convolution are all
//! of this form, and so are their gradients.
//!
//! `y[out axes] = Σ over the other axes of lhs[map] · rhs[map]`, where each operand axis is read at
//! `(Σ coefficient · axis + offset) / divisor`; a read outside the operand, or at a position that
//! the divisor does not divide, is zero. Strides are coefficients, padding is an offset, dilation a
//! coefficient of the kernel axis; a divisor appears in gradients of strided reads.

use crate::shape::Shape;

/// Where one operand axis is read, as a function of the contraction's axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IndexMap {
    /// `(contraction axis, coefficient)` pairs, each axis once.
    pub terms: Vec<(usize, i64)>,
    /// Added to the sum of terms.
    pub offset: i64,
    /// Divides the sum; where it leaves a remainder the read is zero.
    pub divisor: i64,
}

impl IndexMap {
    /// The map that reads at `axis` itself.
    pub fn axis(axis: usize) -> IndexMap {
        IndexMap { terms: vec![(axis, 1)], offset: 0, divisor: 1 }
    }

    /// The axis, if the map reads at exactly one axis.
    pub fn plain(&self) -> Option<usize> {
        match self.terms[..] {
            [(axis, 1)] if self.offset == 0 && self.divisor == 1 => Some(axis),
            _ => None,
        }
    }
}

/// A sum of products over index maps; see the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Contraction {
    /// The size of every axis.
    pub sizes: Vec<usize>,
    /// Which axis each output axis is; the others are summed over.
    pub out: Vec<usize>,
    /// How each axis of the left operand is read.
    pub lhs: Vec<IndexMap>,
    /// How each axis of the right operand is read.
    pub rhs: Vec<IndexMap>,
}

impl Contraction {
    /// `[batch.., m, k] × [batch.., k, n] -> [batch.., m, n]`.
    pub fn matmul(batch: &[usize], m: usize, k: usize, n: usize) -> Contraction {
        let b = batch.len();
        let read = |last: [usize; 2]| (0..b).chain(last).map(IndexMap::axis).collect();
        Contraction {
            sizes: batch.iter().copied().chain([m, n, k]).collect(),
            out: (0..b + 2).collect(),
            lhs: read([b, b + 2]),
            rhs: read([b + 2, b + 1]),
        }
    }

    /// The output's shape.
    pub fn output(&self) -> Shape {
        Shape::new(&self.out.iter().map(|&axis| self.sizes[axis]).collect::<Vec<_>>())
    }

    /// The axes that are summed over.
    pub fn reduced(&self) -> Vec<usize> {
        (0..self.sizes.len()).filter(|axis| !self.out.contains(axis)).collect()
    }

    /// The contraction that gives the gradient at the left operand (of the given shape) from the
    /// upstream gradient (its left operand) and `rhs` (its right operand).
    pub fn gradient_lhs(&self, lhs: &Shape) -> Contraction {
        self.gradient(&self.lhs, &self.rhs, lhs)
    }

    /// As [`Contraction::gradient_lhs`] for the right operand, from the upstream gradient and `lhs`.
    pub fn gradient_rhs(&self, rhs: &Shape) -> Contraction {
        self.gradient(&self.rhs, &self.lhs, rhs)
    }

    fn gradient(&self, target: &[IndexMap], other: &[IndexMap], shape: &Shape) -> Contraction {
        let mut sizes = self.sizes.clone();
        let mut upstream: Vec<IndexMap> = self.out.iter().map(|&axis| IndexMap::axis(axis)).collect();
        let mut other = other.to_vec();
        let mut out = Vec::with_capacity(target.len());
        let mut gone = Vec::new();
        for (dim, map) in target.iter().enumerate() {
            if let Some(axis) = map.plain().filter(|&axis| sizes[axis] == shape[dim] && !out.contains(&axis))
            {
                out.push(axis);
                continue;
            }
            // Solve the map for one of its axes, preferably one the upstream gradient has:
            // position = (c·axis + rest + offset)/d  =>  axis = (d·position - rest - offset)/c.
            let &(solved, c) = map
                .terms
                .iter()
                .find(|(axis, _)| self.out.contains(axis) && !gone.contains(axis))
                .or(map.terms.iter().find(|(axis, _)| !gone.contains(axis)))
                .expect("an index map names at least one axis");
            let position = sizes.len();
            sizes.push(shape[dim]);
            let sign = c.signum();
            let mut terms = vec![(position, sign * map.divisor)];
            terms.extend(
                map.terms.iter().filter(|(axis, _)| *axis != solved).map(|&(axis, k)| (axis, -sign * k)),
            );
            let solution = IndexMap { terms, offset: -sign * map.offset, divisor: c.abs() };
            for m in upstream.iter_mut().chain(other.iter_mut()) {
                if m.plain() == Some(solved) {
                    *m = solution.clone();
                } else {
                    assert!(
                        m.terms.iter().all(|(axis, _)| *axis != solved),
                        "contraction: axis {solved} is read by a sum on both sides"
                    );
                }
            }
            gone.push(solved);
            out.push(position);
        }
        Contraction { sizes, out, lhs: upstream, rhs: other }.without_axes(&gone)
    }

    /// Drops axes that nothing reads any more and renumbers the rest.
    fn without_axes(mut self, gone: &[usize]) -> Contraction {
        let mut number = vec![usize::MAX; self.sizes.len()];
        let mut sizes = Vec::new();
        for axis in (0..self.sizes.len()).filter(|axis| !gone.contains(axis)) {
            number[axis] = sizes.len();
            sizes.push(self.sizes[axis]);
        }
        self.sizes = sizes;
        self.out.iter_mut().for_each(|axis| *axis = number[*axis]);
        for map in self.lhs.iter_mut().chain(self.rhs.iter_mut()) {
            map.terms.iter_mut().for_each(|(axis, _)| *axis = number[*axis]);
        }
        self
    }
}
