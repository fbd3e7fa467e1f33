//! Contraction: a sum of products over index maps. Matmul, batched matmul and convolution all have this form,
//! and so do their gradients.
//!
//! `y[out axes] = Σ over the other axes of lhs[map] · rhs[map]`, where each operand axis is read at
//! `(Σ coefficient · axis + offset) / divisor`. A read outside of the operand, or at a position that the
//! divisor does not divide, gives zero. A stride is a coefficient, padding is an offset, and dilation is a
//! coefficient of the kernel axis. Divisors appear in the gradients of strided reads.

use crate::error::OpError;
use crate::ops::{TensorType, check_dtype, same_dtypes};
use crate::shape::Shape;
use crate::var::Var;

/// Where one operand axis is read, as a function of the contraction's axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IndexMap {
    /// `(contraction axis, coefficient)` pairs, each axis once.
    pub terms: Vec<(usize, i64)>,
    /// Added to the sum of terms.
    pub offset: i64,
    /// Divides the sum; if it leaves a remainder, the read gives zero.
    pub divisor: i64,
}

impl IndexMap {
    /// The map that reads at `axis` itself.
    pub fn axis(axis: usize) -> IndexMap {
        IndexMap { terms: vec![(axis, 1)], offset: 0, divisor: 1 }
    }

    /// The axis, if the map reads exactly one axis.
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
    /// Which axis each output axis is; all others are summed over.
    pub out: Vec<usize>,
    /// How each axis of the left operand is read.
    pub lhs: Vec<IndexMap>,
    /// How each axis of the right operand is read.
    pub rhs: Vec<IndexMap>,
    /// Whether a device may make a large f32 product out of products of f16 parts: quicker on tensor cores, and a
    /// little less accurate. Gradients have it too.
    pub high: bool,
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
            high: false,
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

    /// The contraction that computes the gradient with respect to the left operand (of the given shape). Its
    /// left operand is the upstream gradient, its right operand is `rhs`.
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
        Contraction { sizes, out, lhs: upstream, rhs: other, high: self.high }.without_axes(&gone)
    }

    /// Drops axes that nothing reads any more, and renumbers the rest.
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

/// What to do about integers: only `matmul` takes them, as a sum of products.
const FLOATS_HELP: &str =
    "\nhelp: convolutions and contractions are of floats; cast first, e.g. `.cast(DType::F32)`";

pub(crate) fn kind(
    contraction: &Contraction,
    (lhs, dtype): TensorType,
    (rhs, other): TensorType,
) -> Result<TensorType, OpError> {
    same_dtypes("matmul", dtype, other)?;
    if dtype.is_int() {
        return Err(OpError::DType { op: "contract", dtype, help: FLOATS_HELP });
    }
    check_dtype("matmul", dtype, dtype.is_float() && dtype.is_compute())?;
    check_maps(contraction, &contraction.lhs, lhs)?;
    check_maps(contraction, &contraction.rhs, rhs)?;
    Ok((contraction.output(), dtype))
}

/// Checks that an operand has one map per axis, and that an axis with a plain map is read completely.
fn check_maps(contraction: &Contraction, maps: &[IndexMap], shape: Shape) -> Result<(), OpError> {
    if maps.len() != shape.rank() {
        let what = format!("one index map per axis: {shape}");
        return Err(OpError::Sizes { op: "contract", what, a: maps.len(), b: shape.rank() });
    }
    for (axis, map) in maps.iter().enumerate() {
        if let Some(size) = map.plain().map(|a| contraction.sizes[a]).filter(|&size| size != shape[axis]) {
            let what = format!("axis {axis} of {shape} is read whole");
            return Err(OpError::Sizes { op: "contract", what, a: size, b: shape[axis] });
        }
    }
    Ok(())
}

/// The gradient with respect to the left or the right operand.
pub(crate) fn gradient<'g>(
    contraction: &Contraction,
    lhs: Var<'g>,
    rhs: Var<'g>,
    g: Var<'g>,
    at_left: bool,
) -> Var<'g> {
    if at_left {
        g.contract(contraction.gradient_lhs(&lhs.shape()), rhs)
    } else {
        g.contract(contraction.gradient_rhs(&rhs.shape()), lhs)
    }
}

/// How one operand axis is read, with a coefficient for every axis of the contraction.
struct AxisRead {
    coefficients: Vec<i64>,
    /// The coefficient of the inner axis.
    inner: i64,
    divisor: i64,
    size: i64,
    stride: i64,
    /// `Σ coefficient · axis + offset`, without the inner axis.
    sum: i64,
}

/// The positions of the inner axis at which every read exists: `first, first + step, …`, `count` of them.
struct InnerRun {
    first: i64,
    step: i64,
    count: usize,
}

/// The value in f64, by direct evaluation over all axes.
///
/// One axis, the longest, is the inner loop. For each position of the others, it computes the range of the
/// inner axis on which every read exists, so that the loop itself needs no tests.
pub(crate) fn value(
    c: &Contraction,
    lhs: &[f64],
    lhs_shape: &Shape,
    rhs: &[f64],
    rhs_shape: &Shape,
) -> Vec<f64> {
    let mut y = vec![0.0; c.output().numel()];
    if c.sizes.contains(&0) {
        return y;
    }
    let mut y_strides = vec![0i64; c.sizes.len()];
    for (&axis, stride) in c.out.iter().zip(c.output().strides()) {
        y_strides[axis] = stride as i64;
    }
    let inner = (0..c.sizes.len()).max_by_key(|&axis| c.sizes[axis]);
    let inner_size = inner.map_or(1, |axis| c.sizes[axis]);
    let y_step = inner.map_or(0, |axis| y_strides[axis]);
    let mut reads = reads(c, &c.lhs, lhs_shape, inner);
    let split = reads.len();
    reads.extend(self::reads(c, &c.rhs, rhs_shape, inner));
    // The distance along the inner axis after which divisibility repeats.
    let period =
        reads.iter().fold(1, |period, read| lcm(period, read.divisor / gcd(read.inner, read.divisor)));
    let (mut at, mut y_base) = (vec![0usize; c.sizes.len()], 0i64);
    loop {
        if let Some(run) = solve(&reads, inner_size as i64, period) {
            let (left, right) = (locate(&reads[..split], &run), locate(&reads[split..], &run));
            let result = StridedWalk { at: y_base + y_step * run.first, step: y_step * run.step };
            accumulate(&mut y, result, lhs, left, rhs, right, run.count);
        }
        // The next position of the other axes, the last one fastest.
        let mut others = (0..c.sizes.len()).rev().filter(|&axis| Some(axis) != inner);
        let more = others.any(|axis| {
            let more = at[axis] + 1 < c.sizes[axis];
            let change = if more { 1 } else { -(at[axis] as i64) };
            at[axis] = at[axis].wrapping_add_signed(change as isize);
            y_base += change * y_strides[axis];
            reads.iter_mut().for_each(|read| read.sum += change * read.coefficients[axis]);
            more
        });
        if !more {
            return y;
        }
    }
}

fn reads(c: &Contraction, maps: &[IndexMap], shape: &Shape, inner: Option<usize>) -> Vec<AxisRead> {
    let (a, b) = (maps.len(), shape.rank());
    assert_eq!(a, b, "contract: one index map per operand axis: {shape} ({a} vs {b})");
    let mut reads = Vec::with_capacity(maps.len());
    for ((map, &size), stride) in maps.iter().zip(shape.iter()).zip(shape.strides()) {
        let mut coefficients = vec![0; c.sizes.len()];
        map.terms.iter().for_each(|&(axis, k)| coefficients[axis] += k);
        let (inner, size, stride) = (inner.map_or(0, |axis| coefficients[axis]), size as i64, stride as i64);
        reads.push(AxisRead { coefficients, inner, divisor: map.divisor, size, stride, sum: map.offset });
    }
    reads
}

/// The positions in `0..size` of the inner axis at which all reads exist; `period` is the distance after which
/// divisibility repeats.
fn solve(reads: &[AxisRead], size: i64, period: i64) -> Option<InnerRun> {
    let (mut low, mut high) = (0, size - 1);
    for read in reads {
        // 0 <= sum + k·i <= last
        let (k, last) = (read.inner, (read.size - 1) * read.divisor);
        match k {
            0 if (0..=last).contains(&read.sum) => {}
            0 => return None,
            k if k > 0 => {
                low = low.max(-(read.sum.div_euclid(k)));
                high = high.min((last - read.sum).div_euclid(k));
            }
            k => {
                low = low.max(-((last - read.sum).div_euclid(-k)));
                high = high.min(read.sum.div_euclid(-k));
            }
        }
    }
    if low > high {
        return None;
    }
    let divides = |i: i64| reads.iter().all(|read| (read.sum + read.inner * i) % read.divisor == 0);
    let first = if period == 1 && reads.iter().all(|read| read.divisor == 1) {
        low
    } else {
        (low..=high.min(low + period - 1)).find(|&i| divides(i))?
    };
    Some(InnerRun { first, step: period, count: ((high - first) / period + 1) as usize })
}

/// An index, and how far the next one is.
#[derive(Clone, Copy)]
struct StridedWalk {
    at: i64,
    step: i64,
}

/// The operand's indices over a run.
fn locate(reads: &[AxisRead], run: &InnerRun) -> StridedWalk {
    let (mut index, mut step) = (0, 0);
    for read in reads {
        let k = read.inner;
        index += (read.sum + k * run.first) / read.divisor * read.stride;
        step += k * run.step / read.divisor * read.stride;
    }
    StridedWalk { at: index, step }
}

/// `y[i] += lhs[j] · rhs[k]` for `count` steps from given starts, each with its own stride.
fn accumulate(
    y: &mut [f64],
    result: StridedWalk,
    lhs: &[f64],
    left: StridedWalk,
    rhs: &[f64],
    right: StridedWalk,
    count: usize,
) {
    let StridedWalk { at: mut i, step: i_step } = result;
    let StridedWalk { at: mut j, step: j_step } = left;
    let StridedWalk { at: mut k, step: k_step } = right;
    if i_step == 0 {
        let mut sum = 0.0;
        for _ in 0..count {
            sum += lhs[j as usize] * rhs[k as usize];
            (j, k) = (j + j_step, k + k_step);
        }
        y[i as usize] += sum;
        return;
    }
    for _ in 0..count {
        y[i as usize] += lhs[j as usize] * rhs[k as usize];
        (i, j, k) = (i + i_step, j + j_step, k + k_step);
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn lcm(a: i64, b: i64) -> i64 {
    a / gcd(a, b) * b
}
