//! Convolutions and transposed convolutions over one, two or three axes.
//!
//! Invariant: each is one contraction whose index maps say where the input is read, so stride, padding, dilation and
//! groups copy nothing, and gradients are contractions again. Start at [`Tensor::conv2d`].

use farad_ir::{Contraction, IndexMap, MAX_NUMEL, OpError, Shape};

use super::{Tensor, raise};
use crate::window::ConvOptions;

impl Tensor {
    /// Convolution over one axis: `[batch, inputs, length] × [outputs, inputs / groups, kernel] ->
    /// [batch, outputs, length']`. The batch axis may be left out.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [1, 1, 3], &device);
    /// let weight = Tensor::from_vec(vec![1.0, 10.0], [1, 1, 2], &device);
    /// assert_eq!(x.conv1d(&weight, ConvOptions::new()).to_vec::<f32>()?, [21.0, 32.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn conv1d(&self, weight: &Tensor, options: ConvOptions<1>) -> Tensor {
        self.convolve("conv1d", weight, &options)
    }

    /// Convolution of images: `[batch, inputs, height, width] × [outputs, inputs / groups, kernel, kernel] ->
    /// [batch, outputs, height', width']`. The batch axis may be left out.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let (x, weight) = (Tensor::ones([1, 3, 8, 8], &device), Tensor::ones([4, 3, 3, 3], &device));
    /// let y = x.conv2d(&weight, ConvOptions::new().stride(2).padding(1));
    /// assert_eq!(y.shape()[..], [1, 4, 4, 4]);
    /// ```
    #[track_caller]
    pub fn conv2d(&self, weight: &Tensor, options: ConvOptions<2>) -> Tensor {
        self.convolve("conv2d", weight, &options)
    }

    /// Convolution of volumes: `[batch, inputs, depth, height, width] × [outputs, inputs / groups, kernel, kernel,
    /// kernel] -> [batch, outputs, depth', height', width']`. The batch axis may be left out.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let (x, weight) = (Tensor::ones([2, 1, 4, 4, 4], &device), Tensor::ones([3, 1, 2, 2, 2], &device));
    /// assert_eq!(x.conv3d(&weight, ConvOptions::new()).shape()[..], [2, 3, 3, 3, 3]);
    /// ```
    #[track_caller]
    pub fn conv3d(&self, weight: &Tensor, options: ConvOptions<3>) -> Tensor {
        self.convolve("conv3d", weight, &options)
    }

    /// Transposed convolution over one axis, what the gradient of [`Tensor::conv1d`] at its input is:
    /// `[batch, inputs, length] × [inputs, outputs / groups, kernel] -> [batch, outputs, length']`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![1.0, 2.0], [1, 1, 2], &device);
    /// let weight = Tensor::from_vec(vec![1.0, 10.0], [1, 1, 2], &device);
    /// let y = x.conv_transpose1d(&weight, ConvOptions::new().stride(2));
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 10.0, 2.0, 20.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn conv_transpose1d(&self, weight: &Tensor, options: ConvOptions<1>) -> Tensor {
        self.convolve_transposed("conv_transpose1d", weight, &options)
    }

    /// Transposed convolution of images: `[batch, inputs, height, width] × [inputs, outputs / groups, kernel, kernel]
    /// -> [batch, outputs, height', width']`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let (x, weight) = (Tensor::ones([1, 3, 4, 4], &device), Tensor::ones([3, 2, 3, 3], &device));
    /// let y = x.conv_transpose2d(&weight, ConvOptions::new().stride(2).padding(1).output_padding(1));
    /// assert_eq!(y.shape()[..], [1, 2, 8, 8]);
    /// ```
    #[track_caller]
    pub fn conv_transpose2d(&self, weight: &Tensor, options: ConvOptions<2>) -> Tensor {
        self.convolve_transposed("conv_transpose2d", weight, &options)
    }

    #[track_caller]
    #[doc(hidden)]
    pub fn convolve<const N: usize>(
        &self,
        op: &'static str,
        weight: &Tensor,
        options: &ConvOptions<N>,
    ) -> Tensor {
        options.check(op);
        if self.rank() == N + 1 {
            return self.unsqueeze(0).convolve(op, weight, options).squeeze(0);
        }
        self.check_ranks::<N>(op, weight);
        let (input, kernel, groups) = (self.shape(), weight.shape(), options.groups);
        check_groups(op, "outputs", kernel[0], groups);
        if kernel[1].checked_mul(groups) != Some(input[1]) {
            let of = if groups > 1 { format!(" of {groups} groups") } else { String::new() };
            let what = format!("channels differ: input {input}, weight {kernel}{of}");
            raise(OpError::Sizes { op, what, a: input[1], b: kernel[1].saturating_mul(groups) });
        }
        let mut outputs = [0; N];
        let mut maps = Vec::with_capacity(N);
        let spatial = Spatial::<N>::new(groups);
        for (axis, output) in outputs.iter_mut().enumerate() {
            *output = spread(op, input, kernel, axis, options);
            let step = |size: usize| size as i64;
            maps.push(IndexMap {
                terms: vec![
                    (spatial.out + axis, step(options.stride[axis])),
                    (spatial.kernel + axis, step(options.dilation[axis])),
                ],
                offset: -step(options.padding[axis]),
                divisor: 1,
            });
        }
        let sizes = (input[0], kernel[1], kernel[0] / groups);
        spatial.contract(self, weight, sizes, &outputs, maps, [spatial.outputs, spatial.inputs])
    }

    #[track_caller]
    #[doc(hidden)]
    pub fn convolve_transposed<const N: usize>(
        &self,
        op: &'static str,
        weight: &Tensor,
        options: &ConvOptions<N>,
    ) -> Tensor {
        options.check(op);
        if self.rank() == N + 1 {
            return self.unsqueeze(0).convolve_transposed(op, weight, options).squeeze(0);
        }
        self.check_ranks::<N>(op, weight);
        let (input, kernel, groups) = (self.shape(), weight.shape(), options.groups);
        check_groups(op, "inputs", kernel[0], groups);
        if input[1] != kernel[0] {
            let what = format!("channels differ: input {input}, weight {kernel}");
            raise(OpError::Sizes { op, what, a: input[1], b: kernel[0] });
        }
        let mut outputs = [0; N];
        let mut maps = Vec::with_capacity(N);
        let spatial = Spatial::<N>::new(groups);
        for (axis, output) in outputs.iter_mut().enumerate() {
            *output = spread_transposed(op, input, kernel, axis, options);
            // Output i meets input j where i = stride · j + dilation · k - padding.
            maps.push(IndexMap {
                terms: vec![
                    (spatial.out + axis, 1),
                    (spatial.kernel + axis, -(options.dilation[axis] as i64)),
                ],
                offset: options.padding[axis] as i64,
                divisor: options.stride[axis] as i64,
            });
        }
        let sizes = (input[0], kernel[0] / groups, kernel[1]);
        spatial.contract(self, weight, sizes, &outputs, maps, [spatial.inputs, spatial.outputs])
    }

    #[track_caller]
    fn check_ranks<const N: usize>(&self, op: &'static str, weight: &Tensor) {
        for (what, tensor) in [("input", self), ("weight", weight)] {
            if tensor.rank() != N + 2 {
                let what = format!("{what} has {} axes: {}", N + 2, tensor.shape());
                raise(OpError::Sizes { op, what, a: tensor.rank(), b: N + 2 });
            }
        }
    }
}

#[track_caller]
fn check_groups(op: &'static str, what: &str, channels: usize, groups: usize) {
    if !channels.is_multiple_of(groups) {
        raise(OpError::Sizes { op, what: format!("groups do not divide {what}"), a: channels, b: groups });
    }
}

/// How many places a kernel has along an axis.
#[track_caller]
fn spread<const N: usize>(
    op: &'static str,
    input: Shape,
    kernel: Shape,
    axis: usize,
    options: &ConvOptions<N>,
) -> usize {
    // What does not fit into a number does not fit into the input either.
    let reach = options.dilation[axis].saturating_mul(kernel[axis + 2].max(1) - 1).saturating_add(1);
    let padded = input[axis + 2] + 2 * options.padding[axis];
    if reach > padded || kernel[axis + 2] == 0 {
        let what =
            format!("kernel does not fit into the padded input: input {input}, weight {kernel} axis {axis}");
        raise(OpError::Sizes { op, what, a: if kernel[axis + 2] == 0 { 0 } else { reach }, b: padded });
    }
    (padded - reach) / options.stride[axis] + 1
}

/// How long the result of a transposed convolution is.
#[track_caller]
fn spread_transposed<const N: usize>(
    op: &'static str,
    input: Shape,
    kernel: Shape,
    axis: usize,
    options: &ConvOptions<N>,
) -> usize {
    let (size, taps) = (input[axis + 2], kernel[axis + 2]);
    let whole = match size.min(taps) {
        0 => 0,
        _ => {
            let (first, rest) = (
                (size - 1).checked_mul(options.stride[axis]),
                (taps - 1).checked_mul(options.dilation[axis]),
            );
            match first.zip(rest).and_then(|(first, rest)| first.checked_add(rest)) {
                Some(last) if last < MAX_NUMEL => last + 1,
                _ => {
                    let what = format!("the output is too long: input {input}, weight {kernel} axis {axis}");
                    raise(OpError::Sizes { op, what, a: options.stride[axis], b: MAX_NUMEL / size });
                }
            }
        }
    };
    let (whole, cut) = (whole + options.output_padding[axis], 2 * options.padding[axis]);
    if whole <= cut {
        let what =
            format!("padding leaves nothing of the output: input {input}, weight {kernel} axis {axis}");
        raise(OpError::Sizes { op, what, a: whole, b: cut });
    }
    whole - cut
}

/// The numbers of a contraction's axes: batch, group if there are several, outputs, one per place; then
/// inputs and one per kernel axis, which are summed over.
struct Spatial<const N: usize> {
    groups: usize,
    outputs: usize,
    out: usize,
    inputs: usize,
    kernel: usize,
}

impl<const N: usize> Spatial<N> {
    fn new(groups: usize) -> Spatial<N> {
        let outputs = if groups > 1 { 2 } else { 1 };
        let inputs = outputs + 1 + N;
        Spatial { groups, outputs, out: outputs + 1, inputs, kernel: inputs + 1 }
    }

    /// The sum of products. `maps` says where the input is read along its spatial axes, `order` which channel
    /// axis of the weight is which; sizes are batch, inputs and outputs of a group.
    #[track_caller]
    fn contract(
        &self,
        input: &Tensor,
        weight: &Tensor,
        (batch, inputs, outputs): (usize, usize, usize),
        places: &[usize; N],
        maps: Vec<IndexMap>,
        order: [usize; 2],
    ) -> Tensor {
        let taps = &weight.shape()[2..];
        let group: &[usize] = if self.groups > 1 { &[self.groups] } else { &[] };
        let join = |parts: &[&[usize]]| parts.concat();
        let sizes = join(&[&[batch], group, &[outputs], places, &[inputs], taps]);
        let axis = IndexMap::axis;
        let lead = if self.groups > 1 { vec![axis(1)] } else { vec![] };
        let mut lhs = vec![axis(0)];
        lhs.extend(lead.iter().cloned().chain([axis(self.inputs)]).chain(maps));
        let mut rhs = lead;
        rhs.extend(order.map(axis).into_iter().chain((0..N).map(|n| axis(self.kernel + n))));
        let x = input.reshape(join(&[&[batch], group, &[inputs], &input.shape()[2..]]));
        let own = order.map(|axis| if axis == self.outputs { outputs } else { inputs });
        let weight = weight.reshape(join(&[group, &own, taps]));
        let contraction = Contraction { sizes, out: (0..self.inputs).collect(), lhs, rhs, high: false };
        x.contract(&weight, contraction).reshape(join(&[&[batch], &[self.groups * outputs], places]))
    }
}
