//! Pooling: the largest or the mean of every window.
//!
//! Invariant: windows are views (a reshape into blocks of one stride and slices of it), so that pooling fuses with
//! what is before and after it, and its gradient is a sum over the windows that an element lies in, not a
//! scatter. Of equal largest elements the first in row-major order gets all of the gradient. Start at
//! [`Tensor::max_pool2d`].

use farad_ir::{DType, Op, OpError};

use super::{Part, Tensor, raise};
use crate::window::{PerAxis, PoolOptions};

/// Windows with more elements are reduced instead of compared one by one, if they lie side by side.
const MOST_COMPARED: usize = 16;

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
    /// width']`. The batch axis may be left out. Of equal elements the first gets the gradient; one that is no number is
    /// passed over, unless it is the first of its window.
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
        self.adaptive("adaptive_avg_pool1d", [outputs], Kind::Mean)
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
        self.adaptive("adaptive_avg_pool2d", outputs.per_axis(), Kind::Mean)
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
        self.adaptive("adaptive_max_pool1d", [outputs], Kind::Largest)
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
        self.adaptive("adaptive_max_pool2d", outputs.per_axis(), Kind::Largest)
    }

    #[track_caller]
    pub(crate) fn max_pool<const N: usize>(&self, op: &'static str, options: &PoolOptions<N>) -> Tensor {
        let planes = self.planes::<N>(op);
        let places = options.places(op, &planes.shape()[1..]);
        let windows = Windows { options, places };
        let y = match windows.side_by_side(&planes) {
            Some(rows) if windows.count() > MOST_COMPARED => rows.first_largest(),
            _ => {
                let parts = windows.of(&planes);
                let inside = windows.inside(&planes);
                if windows.overlap() { first_of_many(&parts, &inside) } else { first_of_few(&parts, &inside) }
            }
        };
        y.reshape(self.pooled(&places))
    }

    #[track_caller]
    pub(crate) fn avg_pool<const N: usize>(&self, op: &'static str, options: &PoolOptions<N>) -> Tensor {
        let planes = self.planes::<N>(op).single();
        if options.dilation != [1; N] {
            let what = "averages are of windows without dilation".into();
            raise(OpError::Sizes { op, what, a: options.dilation.into_iter().max().unwrap_or(1), b: 1 });
        }
        let places = options.places(op, &planes.shape()[1..]);
        let windows = Windows { options, places };
        let y = match windows.side_by_side(&planes) {
            Some(rows) if windows.count() > MOST_COMPARED => rows.sum_axes(&[-1], false),
            _ => {
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
    pub(crate) fn adaptive<const N: usize>(
        &self,
        op: &'static str,
        outputs: [usize; N],
        kind: Kind,
    ) -> Tensor {
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
                Kind::Mean => self.avg_pool(op, &options),
                Kind::Largest => self.max_pool(op, &options),
            };
        }
        // The last axis first: so the first largest is the first of the first row that has it.
        let y = (0..N).rev().fold(planes, |x, axis| x.adapt(axis + 1, outputs[axis], kind));
        y.reshape(self.pooled(&outputs))
    }

    /// One axis covered by `count` windows.
    #[track_caller]
    fn adapt(&self, axis: usize, count: usize, kind: Kind) -> Tensor {
        let size = self.shape()[axis];
        let mut windows = Vec::with_capacity(count);
        for window in 0..count {
            let (start, end) = (window * size / count, ((window + 1) * size).div_ceil(count));
            let part = |at: usize| self.part(axis, at..at + 1);
            let parts: Vec<Tensor> = (start..end).map(part).collect();
            windows.push(match kind {
                Kind::Mean => self.part(axis, start..end).mean_axes(&[axis as isize], true),
                Kind::Largest => first_of_few(&parts, &vec![None; parts.len()]),
            });
        }
        Tensor::concat(&windows.iter().collect::<Vec<_>>(), axis as isize)
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
        positions.equal(&at).select(self, &self.full_like(0.0)).sum_axes(&[-1], false)
    }
}

/// What is taken of a window.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Mean,
    Largest,
}

/// The first largest of several tensors, element by element, where they are inside. What is greater is found again for
/// the gradient.
#[track_caller]
fn first_of_few(parts: &[Tensor], inside: &[Option<Tensor>]) -> Tensor {
    let mut best = started(&parts[0], &inside[0]);
    for (part, inside) in parts.iter().zip(inside).skip(1) {
        best = greater(part, &best, inside).select(part, &best);
    }
    best
}

/// As [`first_of_few`]; which one it is is kept for the gradient, where every element is in several windows.
#[track_caller]
fn first_of_many(parts: &[Tensor], inside: &[Option<Tensor>]) -> Tensor {
    let mut best = started(&parts[0], &inside[0]);
    let mut at = best.full_like(0.0).cast(DType::I32);
    for (number, (part, inside)) in parts.iter().zip(inside).enumerate().skip(1) {
        let greater = greater(part, &best, inside);
        at = greater.select(&at.full_like(number as f64), &at);
        best = greater.select(part, &best);
    }
    let at = Tensor::record(Op::Barrier(0), &[&at]);
    // One of the terms is not zero. A sum, since the gradient of a term then asks about its own part only.
    let zero = best.full_like(0.0);
    let mut y = at.equal(0.0).select(&parts[0], &zero);
    for (number, part) in parts.iter().enumerate().skip(1) {
        y = y + at.equal(number as f64).select(part, &zero);
    }
    y
}

/// The first part, where it is inside; else less than all others.
#[track_caller]
fn started(part: &Tensor, inside: &Option<Tensor>) -> Tensor {
    let lowest = if part.dtype() == DType::F16 { -65504.0 } else { f32::MIN as f64 };
    match inside {
        Some(inside) => inside.select(part, &part.full_like(lowest)),
        None => part.clone(),
    }
}

#[track_caller]
fn greater(part: &Tensor, best: &Tensor, inside: &Option<Tensor>) -> Tensor {
    let greater = part.greater(best);
    match inside {
        Some(inside) => greater & inside,
        None => greater,
    }
}

/// Windows over tensors `[planes, sizes..]`.
struct Windows<'a, const N: usize> {
    options: &'a PoolOptions<N>,
    places: [usize; N],
}

impl<const N: usize> Windows<'_, N> {
    /// Elements of a window.
    fn count(&self) -> usize {
        self.options.kernel.iter().product()
    }

    /// Whether an element may lie in several windows.
    fn overlap(&self) -> bool {
        (0..N).any(|axis| self.reach(axis) > self.options.stride[axis])
    }

    fn reach(&self, axis: usize) -> usize {
        self.options.dilation[axis] * (self.options.kernel[axis] - 1) + 1
    }

    /// Whether a window reaches beyond an axis of this size.
    fn leaves(&self, axis: usize, size: usize) -> bool {
        let padding = self.options.padding[axis];
        padding > 0 || (self.places[axis] - 1) * self.options.stride[axis] + self.reach(axis) > size
    }

    /// Padding before an axis: whole strides, so that positions and blocks stay aligned.
    fn before(&self, axis: usize) -> usize {
        let (padding, stride) = (self.options.padding[axis], self.options.stride[axis]);
        padding.next_multiple_of(stride)
    }

    /// Blocks of one stride that hold all windows of an axis.
    fn blocks(&self, axis: usize) -> usize {
        let shift = self.before(axis) - self.options.padding[axis];
        self.places[axis] + (shift + self.reach(axis) - 1) / self.options.stride[axis]
    }

    /// The tensor with zeros around it, or without what no window reads, so that blocks fill it.
    #[track_caller]
    fn padded(&self, x: &Tensor) -> Tensor {
        let shape = x.shape();
        let (mut widths, mut parts, mut cut) = (vec![(0, 0)], vec![Part::from(..)], false);
        for axis in 0..N {
            let (size, before) = (shape[axis + 1], self.before(axis));
            let whole = self.blocks(axis) * self.options.stride[axis];
            let kept = size.min(whole - before);
            cut |= kept < size;
            parts.push((..kept).into());
            widths.push((before, whole - before - kept));
        }
        let x = if cut { x.slice(parts) } else { x.clone() };
        if widths.iter().all(|&width| width == (0, 0)) { x } else { x.pad(&widths) }
    }

    /// One tensor `[planes, places..]` for every element of a window, in row-major order.
    #[track_caller]
    fn of(&self, x: &Tensor) -> Vec<Tensor> {
        let x = self.padded(x);
        let mut sizes = vec![x.shape()[0]];
        (0..N).for_each(|axis| sizes.extend([self.blocks(axis), self.options.stride[axis]]));
        let x = x.reshape(sizes);
        self.elements().map(|place| self.one(&x, &place)).collect()
    }

    /// The places in a window, in row-major order.
    fn elements(&self) -> impl Iterator<Item = [usize; N]> {
        let kernel = self.options.kernel;
        (0..self.count()).map(move |number| {
            let mut rest = number;
            let mut place = [0; N];
            for axis in (0..N).rev() {
                place[axis] = rest % kernel[axis];
                rest /= kernel[axis];
            }
            place
        })
    }

    /// For every element of a window, at which places it is an element of the tensor: `[places..]`, or `None` for all.
    #[track_caller]
    fn inside(&self, x: &Tensor) -> Vec<Option<Tensor>> {
        let sizes = x.shape();
        let mut all = Vec::with_capacity(self.count());
        for place in self.elements() {
            let mut inside: Option<Tensor> = None;
            for (axis, &at) in place.iter().enumerate() {
                let (stride, padding) = (self.options.stride[axis], self.options.padding[axis]);
                let position = at * self.options.dilation[axis];
                // Window number w reads at w · stride + position - padding.
                let first = padding.saturating_sub(position).div_ceil(stride);
                let end = (sizes[axis + 1] + padding).saturating_sub(position).div_ceil(stride);
                let shape: Vec<usize> =
                    std::iter::once(self.places[axis]).chain(vec![1; N - 1 - axis]).collect();
                let number = || Tensor::arange(self.places[axis], x.device());
                let mut conditions = Vec::new();
                if first > 0 {
                    conditions.push(number().greater_equal(first as f64));
                }
                if end < self.places[axis] {
                    conditions.push(number().less(end as f64));
                }
                for condition in conditions {
                    let condition = condition.reshape(shape.clone());
                    inside = Some(match inside {
                        Some(others) => others & condition,
                        None => condition,
                    });
                }
            }
            all.push(inside);
        }
        all
    }

    /// The element at `place` of every window, from blocks.
    #[track_caller]
    fn one(&self, blocks: &Tensor, place: &[usize; N]) -> Tensor {
        let mut parts = vec![Part::from(..)];
        for (axis, &at) in place.iter().enumerate() {
            let stride = self.options.stride[axis];
            let shift = self.before(axis) - self.options.padding[axis];
            let position = shift + at * self.options.dilation[axis];
            let first = position / stride;
            parts.push((first..first + self.places[axis]).into());
            parts.push(Part::At((position % stride) as isize));
        }
        blocks.slice(parts)
    }

    /// Windows as rows `[planes, places.., elements]`, if they lie side by side and fill the tensor.
    #[track_caller]
    fn side_by_side(&self, x: &Tensor) -> Option<Tensor> {
        let whole = |axis: usize| {
            let kernel = self.options.kernel[axis];
            self.options.stride[axis] == kernel && x.shape()[axis + 1] == self.places[axis] * kernel
        };
        let plain = self.options.padding == [0; N] && self.options.dilation == [1; N];
        if !plain || !(0..N).all(whole) {
            return None;
        }
        let mut sizes = vec![x.shape()[0]];
        (0..N).for_each(|axis| sizes.extend([self.places[axis], self.options.kernel[axis]]));
        let order: Vec<isize> = std::iter::once(0)
            .chain((0..N).map(|axis| 1 + 2 * axis as isize))
            .chain((0..N).map(|axis| 2 + 2 * axis as isize))
            .collect();
        let rows = [&[x.shape()[0]], &self.places[..], &[self.count()]].concat();
        Some(x.reshape(sizes).permute(&order).reshape(rows))
    }

    /// Whether windows are divided by different numbers.
    fn counts_differ(&self, sizes: &[usize]) -> bool {
        (0..N).any(|axis| match self.options.count_padding {
            true => {
                let end = (self.places[axis] - 1) * self.options.stride[axis] + self.reach(axis);
                end > sizes[axis] + 2 * self.options.padding[axis]
            }
            false => self.leaves(axis, sizes[axis]),
        })
    }

    /// How many elements are in every window: `[places..]`.
    #[track_caller]
    fn counts(&self, x: &Tensor) -> Tensor {
        let mut product: Option<Tensor> = None;
        for axis in 0..N {
            let (size, padding) = (x.shape()[axis + 1] as f64, self.options.padding[axis] as f64);
            let border = if self.options.count_padding { padding } else { 0.0 };
            let place = Tensor::arange(self.places[axis], x.device()).cast(DType::F32);
            let start = place * self.options.stride[axis] as f64 - padding;
            let end = (&start + self.options.kernel[axis] as f64).minimum(size + border);
            let count = end - start.maximum(-border);
            let shape: Vec<usize> = std::iter::once(self.places[axis]).chain(vec![1; N - 1 - axis]).collect();
            let count = count.reshape(shape);
            product = Some(match product {
                Some(others) => others * count,
                None => count,
            });
        }
        product.expect("there is an axis")
    }
}
