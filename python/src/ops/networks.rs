//! Ops of networks: products, convolutions, pooling, attention, losses.

use farad::{Attention, ConvOptions, Corners, PoolOptions, Tensor};

use super::ops;
use crate::arguments::EachAxis;
use crate::array::ArrayArg;

/// Options of a convolution.
fn windows<const N: usize>(
    stride: EachAxis,
    padding: EachAxis,
    dilation: EachAxis,
    groups: usize,
    output_padding: EachAxis,
) -> ConvOptions<N> {
    ConvOptions::new()
        .stride(stride)
        .padding(padding)
        .dilation(dilation)
        .groups(groups)
        .output_padding(output_padding)
}

/// Options of a pooling.
fn pooling<const N: usize>(kernel: EachAxis, stride: Option<EachAxis>, padding: EachAxis) -> PoolOptions<N> {
    let options = PoolOptions::new(kernel).padding(padding);
    match stride {
        Some(stride) => options.stride(stride),
        None => options,
    }
}

fn one() -> EachAxis {
    EachAxis(vec![1])
}

fn zero() -> EachAxis {
    EachAxis(vec![0])
}

ops! {
    /// Matrix product: `[.., m, k] @ [.., k, n]` gives `[.., m, n]`.
    [matmul] matmul |x| (other: ArrayArg) -> Tensor {
        let (a, b) = crate::operand::met(x.clone(), other.0);
        a.matmul(&b)
    }
    /// Convolution over one axis: `[batch, channels, size]` with `[outputs, channels / groups, kernel]`.
    [conv1d] conv1d |x| (weight: ArrayArg, stride: EachAxis = one(), padding: EachAxis = zero(), dilation: EachAxis = one(), groups: usize = 1) -> Tensor {
        x.conv1d(&weight.0, windows(stride, padding, dilation, groups, zero()))
    }
    /// Convolution over two axes.
    [conv2d] conv2d |x| (weight: ArrayArg, stride: EachAxis = one(), padding: EachAxis = zero(), dilation: EachAxis = one(), groups: usize = 1) -> Tensor {
        x.conv2d(&weight.0, windows(stride, padding, dilation, groups, zero()))
    }
    /// Convolution over three axes.
    [conv3d] conv3d |x| (weight: ArrayArg, stride: EachAxis = one(), padding: EachAxis = zero(), dilation: EachAxis = one(), groups: usize = 1) -> Tensor {
        x.conv3d(&weight.0, windows(stride, padding, dilation, groups, zero()))
    }
    /// Transposed convolution over one axis.
    [conv_transpose1d] conv_transpose1d |x| (weight: ArrayArg, stride: EachAxis = one(), padding: EachAxis = zero(), output_padding: EachAxis = zero(), dilation: EachAxis = one(), groups: usize = 1) -> Tensor {
        x.conv_transpose1d(&weight.0, windows(stride, padding, dilation, groups, output_padding))
    }
    /// Transposed convolution over two axes.
    [conv_transpose2d] conv_transpose2d |x| (weight: ArrayArg, stride: EachAxis = one(), padding: EachAxis = zero(), output_padding: EachAxis = zero(), dilation: EachAxis = one(), groups: usize = 1) -> Tensor {
        x.conv_transpose2d(&weight.0, windows(stride, padding, dilation, groups, output_padding))
    }
    /// The largest of each window over one axis.
    [max_pool1d] max_pool1d |x| (kernel: EachAxis, stride: Option<EachAxis> = None, padding: EachAxis = zero()) -> Tensor {
        x.max_pool1d(pooling(kernel, stride, padding))
    }
    /// The largest of each window over two axes.
    [max_pool2d] max_pool2d |x| (kernel: EachAxis, stride: Option<EachAxis> = None, padding: EachAxis = zero()) -> Tensor {
        x.max_pool2d(pooling(kernel, stride, padding))
    }
    /// The mean of each window over one axis.
    [avg_pool1d] avg_pool1d |x| (kernel: EachAxis, stride: Option<EachAxis> = None, padding: EachAxis = zero()) -> Tensor {
        x.avg_pool1d(pooling(kernel, stride, padding))
    }
    /// The mean of each window over two axes.
    [avg_pool2d] avg_pool2d |x| (kernel: EachAxis, stride: Option<EachAxis> = None, padding: EachAxis = zero()) -> Tensor {
        x.avg_pool2d(pooling(kernel, stride, padding))
    }
    /// Means of so many windows that divide an axis.
    [adaptive_avg_pool1d] adaptive_avg_pool1d |x| (outputs: usize) -> Tensor { x.adaptive_avg_pool1d(outputs) }
    /// Means of so many windows that divide two axes.
    [adaptive_avg_pool2d] adaptive_avg_pool2d |x| (outputs: EachAxis) -> Tensor { x.adaptive_avg_pool2d(outputs) }
    /// The largest of so many windows that divide an axis.
    [adaptive_max_pool1d] adaptive_max_pool1d |x| (outputs: usize) -> Tensor { x.adaptive_max_pool1d(outputs) }
    /// The largest of so many windows that divide two axes.
    [adaptive_max_pool2d] adaptive_max_pool2d |x| (outputs: EachAxis) -> Tensor { x.adaptive_max_pool2d(outputs) }
    /// Pictures in another size, by the nearest pixel.
    [resize_nearest] resize_nearest |x| (size: EachAxis) -> Tensor { x.resize_nearest(size) }
    /// Pictures in another size, by the four nearest pixels.
    [resize_bilinear] resize_bilinear |x| (size: EachAxis, align_corners: bool = false) -> Tensor {
        x.resize_bilinear(size, if align_corners { Corners::Centers } else { Corners::Edges })
    }
    /// Channels as finer pixels: `[n, c · f², h, w]` gives `[n, c, h · f, w · f]`.
    [pixel_shuffle] pixel_shuffle |x| (factor: usize) -> Tensor { x.pixel_shuffle(factor) }
    /// Attention of queries `[.., heads, queries, width]` to keys and values.
    [attention] attention |x| (keys: ArrayArg, values: ArrayArg, causal: bool = false, scale: Option<f64> = None, mask: Option<ArrayArg> = None, dropout: f64 = 0.0) -> Tensor {
        let mut options = Attention::new();
        if causal {
            options = options.causal();
        }
        if let Some(scale) = scale {
            options = options.scale(scale);
        }
        if let Some(mask) = &mask {
            options = options.mask(&mask.0);
        }
        if dropout != 0.0 {
            options = options.dropout(dropout);
        }
        x.attention(&keys.0, &values.0, &options)
    }
    /// Cross entropy of logits `[batch, classes]` with labels `[batch]`.
    [cross_entropy] cross_entropy |x| (labels: ArrayArg) -> Tensor { x.cross_entropy(&labels.0) }
    /// Mean of the negative logarithms at the labels.
    [negative_log_likelihood] negative_log_likelihood |x| (labels: ArrayArg) -> Tensor { x.negative_log_likelihood(&labels.0) }
    /// Mean of squared differences.
    [mean_squared_error] mean_squared_error |x| (target: ArrayArg) -> Tensor { x.mean_squared_error(&target.0) }
    /// Mean of differences without their signs.
    [mean_absolute_error] mean_absolute_error |x| (target: ArrayArg) -> Tensor { x.mean_absolute_error(&target.0) }
    /// Squares for small differences, straight lines beyond `delta`.
    [huber] huber |x| (target: ArrayArg, delta: f64 = 1.0) -> Tensor { x.huber(&target.0, delta) }
    /// As `huber`, divided by `beta`.
    [smooth_l1] smooth_l1 |x| (target: ArrayArg, beta: f64 = 1.0) -> Tensor { x.smooth_l1(&target.0, beta) }
    /// Cross entropy of probabilities with targets between 0 and 1.
    [binary_cross_entropy] binary_cross_entropy |x| (target: ArrayArg) -> Tensor { x.binary_cross_entropy(&target.0) }
    /// Cross entropy of logits with targets between 0 and 1.
    [binary_cross_entropy_with_logits] binary_cross_entropy_with_logits |x| (target: ArrayArg) -> Tensor {
        x.binary_cross_entropy_with_logits(&target.0)
    }
    /// Divergence of log-probabilities from targets.
    [kl_divergence] kl_divergence |x| (target: ArrayArg) -> Tensor { x.kl_divergence(&target.0) }
}
