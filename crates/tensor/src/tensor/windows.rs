//! The windows of a pooling as views of a tensor, and which of their elements lie inside it.
//!
//! Invariant: no window is copied; all that is made are slices, reshapes and comparisons of positions. Start at
//! [`PlaneWindows::of`].

use farad_ir::DType;

use super::{Part, Tensor};
use crate::window::PoolOptions;

/// Windows over tensors `[planes, sizes..]`.
pub(super) struct PlaneWindows<'a, const N: usize> {
    pub(super) options: &'a PoolOptions<N>,
    pub(super) places: [usize; N],
}

impl<const N: usize> PlaneWindows<'_, N> {
    /// Elements of a window.
    pub(super) fn count(&self) -> usize {
        self.options.kernel.iter().product()
    }

    /// Whether an element may lie in several windows.
    pub(super) fn overlap(&self) -> bool {
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
    pub(super) fn of(&self, x: &Tensor) -> Vec<Tensor> {
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
    pub(super) fn inside(&self, x: &Tensor) -> Vec<Option<Tensor>> {
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
    pub(super) fn side_by_side(&self, x: &Tensor) -> Option<Tensor> {
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
    pub(super) fn counts_differ(&self, sizes: &[usize]) -> bool {
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
    pub(super) fn counts(&self, x: &Tensor) -> Tensor {
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
