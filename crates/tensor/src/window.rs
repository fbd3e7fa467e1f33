//! How windows move over the spatial axes of a tensor: the options of convolutions and poolings.

use farad_ir::OpError;

use crate::tensor::raise;

/// One number for all spatial axes, or one for each.
pub trait PerAxis<const N: usize> {
    /// A number for each axis.
    fn per_axis(self) -> [usize; N];
}

impl<const N: usize> PerAxis<N> for usize {
    fn per_axis(self) -> [usize; N] {
        [self; N]
    }
}

impl<const N: usize> PerAxis<N> for [usize; N] {
    fn per_axis(self) -> [usize; N] {
        self
    }
}

/// How a kernel moves over `N` spatial axes. Starts with stride 1, no padding, dilation 1, one group.
///
/// ```
/// use farad::ConvOptions;
/// let options = ConvOptions::<2>::new().stride(2).padding([1, 0]);
/// assert_eq!((options.stride, options.padding), ([2, 2], [1, 0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvOptions<const N: usize> {
    /// How far the kernel moves from one output to the next.
    pub stride: [usize; N],
    /// Zeros around the input, on both sides of an axis.
    pub padding: [usize; N],
    /// How far apart the kernel's elements are.
    pub dilation: [usize; N],
    /// Channels are divided into this many groups that do not see each other.
    pub groups: usize,
    /// Transposed convolutions only: how much longer the output is at its end.
    pub output_padding: [usize; N],
}

impl<const N: usize> ConvOptions<N> {
    /// Stride 1, no padding, dilation 1, one group.
    pub fn new() -> ConvOptions<N> {
        ConvOptions { stride: [1; N], padding: [0; N], dilation: [1; N], groups: 1, output_padding: [0; N] }
    }

    /// How far the kernel moves from one output to the next.
    pub fn stride(self, stride: impl PerAxis<N>) -> ConvOptions<N> {
        ConvOptions { stride: stride.per_axis(), ..self }
    }

    /// Zeros around the input, on both sides of an axis.
    pub fn padding(self, padding: impl PerAxis<N>) -> ConvOptions<N> {
        ConvOptions { padding: padding.per_axis(), ..self }
    }

    /// How far apart the kernel's elements are.
    pub fn dilation(self, dilation: impl PerAxis<N>) -> ConvOptions<N> {
        ConvOptions { dilation: dilation.per_axis(), ..self }
    }

    /// Channels are divided into this many groups that do not see each other.
    pub fn groups(self, groups: usize) -> ConvOptions<N> {
        ConvOptions { groups, ..self }
    }

    /// Transposed convolutions only: how much longer the output is at its end.
    pub fn output_padding(self, padding: impl PerAxis<N>) -> ConvOptions<N> {
        ConvOptions { output_padding: padding.per_axis(), ..self }
    }

    /// What is wrong with the options alone.
    #[track_caller]
    pub(crate) fn check(&self, op: &'static str) {
        for (name, sizes) in [("stride", self.stride), ("dilation", self.dilation)] {
            check_steps(op, name, &sizes, 1);
        }
        for (name, sizes) in [("padding", self.padding), ("output padding", self.output_padding)] {
            check_steps(op, name, &sizes, 0);
        }
        check_steps(op, "number of groups", &[self.groups], 0);
        if self.groups == 0 {
            raise(OpError::Sizes { op, what: "there is at least one group".into(), a: 0, b: 1 });
        }
        for axis in 0..N {
            let (extra, step) = (self.output_padding[axis], self.stride[axis].max(self.dilation[axis]));
            if extra >= step {
                let what = format!("output padding is below stride or dilation: axis {axis}");
                raise(OpError::Sizes { op, what, a: extra, b: step });
            }
        }
    }
}

impl<const N: usize> Default for ConvOptions<N> {
    fn default() -> ConvOptions<N> {
        ConvOptions::new()
    }
}

/// How a pooling window moves over `N` spatial axes. Starts with the kernel as stride, no padding, dilation 1.
///
/// ```
/// use farad::PoolOptions;
/// let options = PoolOptions::<2>::new(3).stride(2).padding(1);
/// assert_eq!((options.kernel, options.stride), ([3, 3], [2, 2]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions<const N: usize> {
    /// The window's size.
    pub kernel: [usize; N],
    /// How far the window moves from one output to the next.
    pub stride: [usize; N],
    /// Nothing around the input, on both sides of an axis: no element for a maximum, zero for an average.
    pub padding: [usize; N],
    /// Maxima only: how far apart the window's elements are.
    pub dilation: [usize; N],
    /// Whether a last window that reaches beyond the input counts.
    pub ceil: bool,
    /// Averages only: whether padding is counted in what is divided by.
    pub count_padding: bool,
}

impl<const N: usize> PoolOptions<N> {
    /// Windows of this size side by side, without padding.
    pub fn new(kernel: impl PerAxis<N>) -> PoolOptions<N> {
        let kernel = kernel.per_axis();
        PoolOptions {
            kernel,
            stride: kernel,
            padding: [0; N],
            dilation: [1; N],
            ceil: false,
            count_padding: true,
        }
    }

    /// How far the window moves from one output to the next.
    pub fn stride(self, stride: impl PerAxis<N>) -> PoolOptions<N> {
        PoolOptions { stride: stride.per_axis(), ..self }
    }

    /// Nothing around the input, on both sides of an axis; at most half of what the kernel reaches over.
    pub fn padding(self, padding: impl PerAxis<N>) -> PoolOptions<N> {
        PoolOptions { padding: padding.per_axis(), ..self }
    }

    /// Maxima only: how far apart the window's elements are.
    pub fn dilation(self, dilation: impl PerAxis<N>) -> PoolOptions<N> {
        PoolOptions { dilation: dilation.per_axis(), ..self }
    }

    /// A last window that reaches beyond the input counts.
    pub fn ceil(self) -> PoolOptions<N> {
        PoolOptions { ceil: true, ..self }
    }

    /// Averages only: padding is not counted in what is divided by.
    pub fn without_padding_counted(self) -> PoolOptions<N> {
        PoolOptions { count_padding: false, ..self }
    }

    /// How many places the window has along each axis of these sizes. Where `ceil` is set, a window may reach beyond the
    /// input and its padding, but has to begin inside the input or the padding before it.
    #[track_caller]
    pub(crate) fn places(&self, op: &'static str, sizes: &[usize]) -> [usize; N] {
        check_steps(op, "kernel", &self.kernel, 1);
        check_steps(op, "stride", &self.stride, 1);
        check_steps(op, "dilation", &self.dilation, 1);
        check_steps(op, "padding", &self.padding, 0);
        let mut places = [0; N];
        for (axis, place) in places.iter_mut().enumerate() {
            let (size, stride, padding) = (sizes[axis], self.stride[axis], self.padding[axis]);
            // Both factors are below 2^31, and sizes below 2^60.
            let reach = self.dilation[axis] * (self.kernel[axis] - 1) + 1;
            if padding > reach / 2 {
                let what = format!("padding is at most half of the kernel: axis {axis}");
                raise(OpError::Sizes { op, what, a: padding, b: reach / 2 });
            }
            let (padded, beyond) = (size + 2 * padding, if self.ceil { stride - 1 } else { 0 });
            let fits = (padded + beyond).checked_sub(reach).map_or(0, |room| room / stride + 1);
            let begins = (size + padding).div_ceil(stride);
            *place = if self.ceil { fits.min(begins) } else { fits };
            if *place == 0 {
                let what = format!("kernel does not fit into the padded input: {sizes:?} axis {axis}");
                raise(OpError::Sizes { op, what, a: reach, b: padded });
            }
        }
        places
    }
}

/// Devices index with 32 bits, so steps that windows make are no longer than that.
const LONGEST_STEP: usize = i32::MAX as usize;

/// Panics if one of several steps is below `least` or too long.
#[track_caller]
fn check_steps(op: &'static str, name: &str, sizes: &[usize], least: usize) {
    for (axis, &size) in sizes.iter().enumerate() {
        if size < least {
            let what = format!("{name} is at least {least}: {sizes:?} axis {axis}");
            raise(OpError::Sizes { op, what, a: size, b: least });
        }
        if size > LONGEST_STEP {
            let what = format!("{name} is too large: {sizes:?} axis {axis}");
            raise(OpError::Sizes { op, what, a: size, b: LONGEST_STEP });
        }
    }
}
