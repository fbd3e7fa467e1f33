//! Pooling: the largest or the mean of every window.
//!
//! Where windows overlap, the position of the first maximum is kept: a `Barrier`, stored by the kernel that
//! computes the maximum. Else it is found again in the backward pass.
//!
//! Invariant: windows are views (a reshape into blocks of one stride and slices of it). So pooling fuses with
//! what is before and after it, and its gradient is a sum over the windows that contain an element, not a
//! scatter. Of equal largest elements the first in row-major order gets all of the gradient, of several NaN
//! the last. Padding is never chosen. Start at [`Tensor::max_pool2d`].

use crate::axes::kept;
use farad_ir::{DType, Op, OpError, Shape};

use super::windows::PlaneWindows;
use super::{Part, Tensor, raise};
use crate::device::Device;
use crate::window::{PerAxis, PoolOptions};

/// Windows that do not lie side by side have at most this many elements: each is an op.
const MOST_ELEMENTS: usize = 1 << 20;

/// Windows with more elements are reduced instead of compared one by one, if they lie side by side.
const MOST_COMPARED: usize = 16;
/// Adaptive windows along an axis that are slices side by side; more of them are gathered.
const FEW_WINDOWS: usize = 8;

impl Tensor {
    /// The largest of every window of a line: `[batch, channels, length] -> [batch, channels, length']`. The batch
    /// axis may be left out.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0, 5.0], [1, 1, 4], &Device::cpu());
    /// assert_eq!(x.max_pool1d(PoolOptions::new(2)).to_vec::<f32>()?, [3.0, 5.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn max_pool1d(&self, options: PoolOptions<1>) -> Tensor {
        self.max_pool("max_pool1d", &options)
    }

    /// The largest of every window of images: `[batch, channels, height, width] -> [batch, channels, height',
    /// width']`. The batch axis may be left out. Of equal elements the first gets the gradient; a window with NaN in it gives NaN.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2, 3, 8, 8], &Device::cpu());
    /// assert_eq!(x.max_pool2d(PoolOptions::new(3).stride(2).padding(1)).shape()[..], [2, 3, 4, 4]);
    /// ```
    #[track_caller]
    pub fn max_pool2d(&self, options: PoolOptions<2>) -> Tensor {
        self.max_pool("max_pool2d", &options)
    }

    /// The mean of every window of a line: `[batch, channels, length] -> [batch, channels, length']`. The batch axis
    /// may be left out.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0, 5.0], [1, 1, 4], &Device::cpu());
    /// assert_eq!(x.avg_pool1d(PoolOptions::new(2)).to_vec::<f32>()?, [2.0, 3.5]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn avg_pool1d(&self, options: PoolOptions<1>) -> Tensor {
        self.avg_pool("avg_pool1d", &options)
    }

    /// The mean of every window of images: `[batch, channels, height, width] -> [batch, channels, height', width']`.
    /// The batch axis may be left out.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2, 3, 8, 8], &Device::cpu());
    /// assert_eq!(x.avg_pool2d(PoolOptions::new(2)).shape()[..], [2, 3, 4, 4]);
    /// ```
    #[track_caller]
    pub fn avg_pool2d(&self, options: PoolOptions<2>) -> Tensor {
        self.avg_pool("avg_pool2d", &options)
    }

    /// Means of as many windows as asked for, which cover a line: `[batch, channels, length] -> [batch, channels,
    /// outputs]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0], [1, 1, 3], &Device::cpu());
    /// assert_eq!(x.adaptive_avg_pool1d(2).to_vec::<f32>()?, [2.0, 2.5]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn adaptive_avg_pool1d(&self, outputs: usize) -> Tensor {
        self.adaptive("adaptive_avg_pool1d", [outputs], Pooling::Mean)
    }

    /// Means of as many windows as asked for, which cover an image: `[batch, channels, height, width] ->
    /// [batch, channels, outputs, outputs]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2, 3, 7, 5], &Device::cpu());
    /// assert_eq!(x.adaptive_avg_pool2d([1, 2]).shape()[..], [2, 3, 1, 2]);
    /// ```
    #[track_caller]
    pub fn adaptive_avg_pool2d(&self, outputs: impl PerAxis<2>) -> Tensor {
        self.adaptive("adaptive_avg_pool2d", outputs.per_axis(), Pooling::Mean)
    }

    /// Largest elements of as many windows as asked for, which cover a line: `[batch, channels, length] ->
    /// [batch, channels, outputs]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0], [1, 1, 3], &Device::cpu());
    /// assert_eq!(x.adaptive_max_pool1d(2).to_vec::<f32>()?, [3.0, 3.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn adaptive_max_pool1d(&self, outputs: usize) -> Tensor {
        self.adaptive("adaptive_max_pool1d", [outputs], Pooling::Largest)
    }

    /// Largest elements of as many windows as asked for, which cover an image: `[batch, channels, height, width] ->
    /// [batch, channels, outputs, outputs]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2, 3, 7, 5], &Device::cpu());
    /// assert_eq!(x.adaptive_max_pool2d(2).shape()[..], [2, 3, 2, 2]);
    /// ```
    #[track_caller]
    pub fn adaptive_max_pool2d(&self, outputs: impl PerAxis<2>) -> Tensor {
        self.adaptive("adaptive_max_pool2d", outputs.per_axis(), Pooling::Largest)
    }

    #[track_caller]
    #[doc(hidden)]
    pub fn max_pool<const N: usize>(&self, op: &'static str, options: &PoolOptions<N>) -> Tensor {
        let planes = self.planes::<N>(op);
        let places = options.places(op, &planes.shape()[1..]);
        let windows = PlaneWindows { options, places };
        let y = match windows.side_by_side(&planes) {
            Some(rows) if windows.count() > MOST_COMPARED => rows.first_largest(),
            _ => {
                check_elements(op, &windows);
                let parts = windows.of(&planes);
                let inside = windows.inside(&planes);
                if windows.overlap() { first_of_many(&parts, &inside) } else { first_of_few(&parts, &inside) }
            }
        };
        y.reshape(self.pooled(&places))
    }

    #[track_caller]
    #[doc(hidden)]
    pub fn avg_pool<const N: usize>(&self, op: &'static str, options: &PoolOptions<N>) -> Tensor {
        let planes = self.planes::<N>(op).single();
        if options.dilation != [1; N] {
            let what = "averages are of windows without dilation".into();
            raise(OpError::Sizes { op, what, a: options.dilation.into_iter().max().unwrap_or(1), b: 1 });
        }
        let places = options.places(op, &planes.shape()[1..]);
        let windows = PlaneWindows { options, places };
        let y = match windows.side_by_side(&planes) {
            Some(rows) if windows.count() > MOST_COMPARED => rows.sum_axes([-1]),
            _ => {
                check_elements(op, &windows);
                windows.of(&planes).into_iter().reduce(|sum, part| sum + part).expect("kernels have elements")
            }
        };
        let y = match windows.counts_differ(&planes.shape()[1..]) {
            true => y / windows.counts(&planes),
            false => y * (1.0 / windows.count() as f64),
        };
        y.rounded_like(self).reshape(self.pooled(&places))
    }

    #[track_caller]
    #[doc(hidden)]
    pub fn adaptive<const N: usize>(&self, op: &'static str, outputs: [usize; N], kind: Pooling) -> Tensor {
        let planes = self.planes::<N>(op);
        let sizes: [usize; N] = std::array::from_fn(|axis| planes.shape()[axis + 1]);
        for axis in 0..N {
            if outputs[axis] == 0 || sizes[axis] == 0 {
                let what =
                    format!("there is at least one window and one element: {} axis {axis}", self.shape());
                raise(OpError::Sizes { op, what, a: 0, b: 1 });
            }
        }
        if (0..N).all(|axis| sizes[axis].is_multiple_of(outputs[axis])) {
            let options = PoolOptions::<N>::new(std::array::from_fn(|axis| sizes[axis] / outputs[axis]));
            return match kind {
                Pooling::Mean => self.avg_pool(op, &options),
                Pooling::Largest => self.max_pool(op, &options),
            };
        }
        let pooled = Shape::new(&[planes.shape()[0]]).iter().chain(&outputs).copied().collect::<Vec<_>>();
        for axis in 0..N {
            let ends = outputs[axis].checked_add(1).and_then(|ends| ends.checked_mul(sizes[axis]));
            if ends.is_none() || Shape::new(&pooled).count().is_none() {
                let what = format!("too many windows: {} to {outputs:?} axis {axis}", self.shape());
                raise(OpError::Sizes { op, what, a: outputs[axis], b: sizes[axis] });
            }
        }
        // The last axis first: so the first largest is the first of the first row that has it.
        let y = (0..N).rev().fold(planes, |x, axis| x.adapt(axis + 1, outputs[axis], kind));
        y.reshape(self.pooled(&outputs))
    }

    /// One axis covered by `count` windows.
    #[track_caller]
    fn adapt(&self, axis: usize, count: usize, kind: Pooling) -> Tensor {
        let size = self.shape()[axis];
        if count > FEW_WINDOWS {
            return self.gather_windows(axis, count, kind);
        }
        let mut windows = Vec::with_capacity(count);
        for window in 0..count {
            let (start, end) = (window * size / count, ((window + 1) * size).div_ceil(count));
            let part = |at: usize| self.part(axis, at..at + 1);
            let parts: Vec<Tensor> = (start..end).map(part).collect();
            windows.push(match kind {
                Pooling::Mean => self.part(axis, start..end).mean_axes(kept([axis as isize])),
                Pooling::Largest => first_of_few(&parts, &vec![None; parts.len()]),
            });
        }
        Tensor::concat(&windows.iter().collect::<Vec<_>>(), axis as isize)
    }

    /// One axis covered by many windows: the elements of all are gathered, as many per window as the widest has. Those
    /// past the end of a window are its last again, which no maximum minds and no mean counts.
    #[track_caller]
    fn gather_windows(&self, axis: usize, count: usize, kind: Pooling) -> Tensor {
        let size = self.shape()[axis];
        let (starts, ends) = window_bounds(size, count, self.device());
        let widest = size.div_ceil(count) + 1;
        let places = starts.unsqueeze(1) + Tensor::arange(widest, self.device()).unsqueeze(0);
        let last = ends.unsqueeze(1) - 1;
        let index = places.minimum(&last).reshape([count * widest]);
        let shape = self.shape();
        let split = [&shape[..axis], &[count, widest], &shape[axis + 1..]].concat();
        let rows = self.index_select(axis as isize, &index).reshape(split);
        // The elements of a window last.
        let rank = rows.rank() as isize;
        let mut order: Vec<isize> = (0..rank).filter(|&a| a != axis as isize + 1).collect();
        order.push(axis as isize + 1);
        match kind {
            Pooling::Largest => rows.permute(&order).first_largest(),
            Pooling::Mean => {
                let inside = places.less_equal(&last);
                let mut sizes = vec![1; rows.rank()];
                (sizes[axis], sizes[axis + 1]) = (count, widest);
                let rows = rows.single();
                let sums = inside.reshape(sizes).select(&rows, &rows.full_like(0.0));
                let sums = sums.sum_axes([axis as isize + 1]);
                let mut sizes = vec![1; sums.rank()];
                sizes[axis] = count;
                (sums / (ends - starts).cast(DType::F32).reshape(sizes)).rounded_like(self)
            }
        }
    }

    /// A range of one axis.
    #[track_caller]
    fn part(&self, axis: usize, range: std::ops::Range<usize>) -> Tensor {
        let mut parts = vec![Part::from(..); axis];
        parts.push(range.into());
        self.slice(parts)
    }

    /// Spatial axes with all others in one before them.
    #[track_caller]
    fn planes<const N: usize>(&self, op: &'static str) -> Tensor {
        let rank = self.rank();
        if rank != N + 1 && rank != N + 2 {
            let what = format!("input is [batch, channels, ..] with {N} more axes: {}", self.shape());
            raise(OpError::Sizes { op, what, a: rank, b: N + 2 });
        }
        let shape = self.shape();
        let lead: usize = shape[..rank - N].iter().product();
        self.reshape([&[lead], &shape[rank - N..]].concat())
    }

    fn pooled<const N: usize>(&self, places: &[usize; N]) -> Vec<usize> {
        [&self.shape()[..self.rank() - N], places].concat()
    }

    /// The first largest of the last axis, by comparison with its position.
    #[track_caller]
    fn first_largest(&self) -> Tensor {
        let at = self.stop_gradient().argmax(-1).unsqueeze(-1);
        let positions = Tensor::arange(self.size(-1), self.device());
        positions.equal(&at).select(self, &self.full_like(0.0)).sum_axes([-1])
    }
}

/// Where `count` windows that cover `size` elements start and end, as `i32`.
#[track_caller]
fn window_bounds(size: usize, count: usize, device: &Device) -> (Tensor, Tensor) {
    let (whole, rest) = (size / count, size % count);
    // `n·size/count`, rounded down or up, without products beyond 32 bits.
    if count <= u16::MAX as usize {
        let n = Tensor::arange(count + 1, device).cast(DType::U32);
        let part = &n * rest as u32;
        let (down, up) = (&part / count as u32, (&part + (count - 1) as u32) / count as u32);
        let at = |part: Tensor| (&n * whole as u32 + part).cast(DType::I32);
        return (at(down).narrow(0, 0, count), at(up).narrow(0, 1, count));
    }
    let list = |at: &dyn Fn(usize) -> usize| {
        Tensor::from_vec((0..count).map(|n| at(n) as i32).collect::<Vec<i32>>(), [count], device)
    };
    let down = |n: usize| n * whole + n * rest / count;
    (list(&down), list(&|n| (n + 1) * whole + ((n + 1) * rest).div_ceil(count)))
}

/// Panics if windows have too many elements to be looked at one by one.
#[track_caller]
fn check_elements<const N: usize>(op: &'static str, windows: &PlaneWindows<N>) {
    let kernel = &windows.options.kernel;
    match Shape::new(kernel).count() {
        Some(count) if count <= MOST_ELEMENTS => {}
        count => {
            let what = format!("windows that do not lie side by side are too large: {kernel:?}");
            raise(OpError::Sizes { op, what, a: count.unwrap_or(usize::MAX), b: MOST_ELEMENTS });
        }
    }
}

/// What is taken of a window.
#[derive(Clone, Copy, PartialEq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The largest.
    Largest,
}

/// The largest of several tensors so far, element by element.
struct LargestSoFar {
    value: Tensor,
    /// Where a part was inside yet; `None`: everywhere.
    begun: Option<Tensor>,
}

impl LargestSoFar {
    /// The first part, where it is inside; else less than all others.
    #[track_caller]
    fn new(part: &Tensor, inside: &Option<Tensor>) -> LargestSoFar {
        let value = match inside {
            Some(inside) => inside.select(part, &part.full_like(f64::NEG_INFINITY)),
            None => part.clone(),
        };
        LargestSoFar { value, begun: inside.clone() }
    }

    /// Takes a part in; gives where it is chosen: where it is greater or NaN, or the first that is inside.
    #[track_caller]
    fn take(&mut self, part: &Tensor, inside: &Option<Tensor>) -> Tensor {
        let mut chosen = part.greater(&self.value) | part.is_nan();
        if let Some(begun) = &self.begun {
            chosen = chosen | begun.not();
        }
        if let Some(inside) = inside {
            chosen = chosen & inside;
        }
        self.begun = match (self.begun.take(), inside) {
            (Some(begun), Some(inside)) => Some(begun | inside),
            _ => None,
        };
        self.value = chosen.select(part, &self.value);
        chosen
    }
}

/// The first largest of several tensors, element by element, where they are inside. What is greater is found again for
/// the gradient.
#[track_caller]
fn first_of_few(parts: &[Tensor], inside: &[Option<Tensor>]) -> Tensor {
    let mut best = LargestSoFar::new(&parts[0], &inside[0]);
    for (part, inside) in parts.iter().zip(inside).skip(1) {
        best.take(part, inside);
    }
    best.value
}

/// As [`first_of_few`]; which one it is is kept for the gradient, where every element is in several windows.
#[track_caller]
fn first_of_many(parts: &[Tensor], inside: &[Option<Tensor>]) -> Tensor {
    let mut best = LargestSoFar::new(&parts[0], &inside[0]);
    let mut at = best.value.full_like(0.0).cast(DType::I32);
    for (number, (part, inside)) in parts.iter().zip(inside).enumerate().skip(1) {
        let chosen = best.take(part, inside);
        at = chosen.select(&at.full_like(number as f64), &at);
    }
    let at = Tensor::record(Op::Barrier(0), &[&at]);
    // One of the terms is not zero. A sum, since the gradient of a term then asks about its own part only.
    let zero = parts[0].full_like(0.0);
    let mut y = at.equal(0.0).select(&parts[0], &zero);
    for (number, part) in parts.iter().enumerate().skip(1) {
        y = y + at.equal(number as f64).select(part, &zero);
    }
    y
}
