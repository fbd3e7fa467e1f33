//! Ops of networks: products, convolutions, pooling, attention, losses.

use farad::loss::{
    AbsoluteError, BinaryCrossEntropy, BinaryCrossEntropyWithLogits, CosineEmbedding, CrossEntropy, Focal,
    HingeEmbedding, Huber, KlDivergence, NegativeLogLikelihood, Reduction, SmoothL1, SquaredError,
};
use farad::{Attention, ConvOptions, Corners, PoolOptions, Tensor};

use super::ops;
use crate::arguments::{EachAxis, ReductionArg};
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

fn mean() -> ReductionArg {
    ReductionArg(Reduction::Mean)
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
    /// Cross entropy of logits `[batch, classes]` with labels `[batch]`, or with probabilities `[batch, classes]`.
    [cross_entropy CrossEntropy] cross_entropy |x| (labels: ArrayArg, smoothing: f64 = 0.0, weights: Option<ArrayArg> = None, ignore: Option<i32> = None, reduction: ReductionArg = mean()) -> Tensor {
        let mut loss = CrossEntropy::new().smoothing(smoothing).reduction(reduction.0);
        if let Some(weights) = &weights {
            loss = loss.weights(&weights.0);
        }
        if let Some(index) = ignore {
            loss = loss.ignore(index);
        }
        loss.loss(x, &labels.0)
    }
    /// Mean of the negative logarithms at the labels.
    [negative_log_likelihood NegativeLogLikelihood] negative_log_likelihood |x| (labels: ArrayArg, weights: Option<ArrayArg> = None, ignore: Option<i32> = None, reduction: ReductionArg = mean()) -> Tensor {
        let mut loss = NegativeLogLikelihood::new().reduction(reduction.0);
        if let Some(weights) = &weights {
            loss = loss.weights(&weights.0);
        }
        if let Some(index) = ignore {
            loss = loss.ignore(index);
        }
        loss.loss(x, &labels.0)
    }
    /// Mean of squared differences.
    [mean_squared_error SquaredError] mean_squared_error |x| (target: ArrayArg, reduction: ReductionArg = mean()) -> Tensor {
        SquaredError::new().reduction(reduction.0).loss(x, &target.0)
    }
    /// Mean of differences without their signs.
    [mean_absolute_error AbsoluteError] mean_absolute_error |x| (target: ArrayArg, reduction: ReductionArg = mean()) -> Tensor {
        AbsoluteError::new().reduction(reduction.0).loss(x, &target.0)
    }
    /// Squares for small differences, straight lines beyond `delta`.
    [huber Huber] huber |x| (target: ArrayArg, delta: f64 = 1.0, reduction: ReductionArg = mean()) -> Tensor {
        Huber::new(delta).reduction(reduction.0).loss(x, &target.0)
    }
    /// As `huber`, divided by `beta`.
    [smooth_l1 SmoothL1] smooth_l1 |x| (target: ArrayArg, beta: f64 = 1.0, reduction: ReductionArg = mean()) -> Tensor {
        SmoothL1::new(beta).reduction(reduction.0).loss(x, &target.0)
    }
    /// Cross entropy of probabilities with targets between 0 and 1.
    [binary_cross_entropy BinaryCrossEntropy] binary_cross_entropy |x| (target: ArrayArg, weights: Option<ArrayArg> = None, reduction: ReductionArg = mean()) -> Tensor {
        let loss = BinaryCrossEntropy::new().reduction(reduction.0);
        match &weights {
            Some(weights) => loss.weights(&weights.0),
            None => loss,
        }
        .loss(x, &target.0)
    }
    /// Cross entropy of logits with targets between 0 and 1.
    [binary_cross_entropy_with_logits BinaryCrossEntropyWithLogits] binary_cross_entropy_with_logits |x| (target: ArrayArg, weights: Option<ArrayArg> = None, positive_weights: Option<ArrayArg> = None, reduction: ReductionArg = mean()) -> Tensor {
        let mut loss = BinaryCrossEntropyWithLogits::new().reduction(reduction.0);
        if let Some(weights) = &weights {
            loss = loss.weights(&weights.0);
        }
        if let Some(weights) = &positive_weights {
            loss = loss.positive_weights(&weights.0);
        }
        loss.loss(x, &target.0)
    }
    /// Focal loss of logits: confident right answers count little. `alpha=None` weighs yes and no alike.
    [Focal] focal |x| (target: ArrayArg, alpha: Option<f64> = Some(0.25), gamma: f64 = 2.0, reduction: ReductionArg = mean()) -> Tensor {
        let loss = Focal::new().gamma(gamma).reduction(reduction.0);
        match alpha {
            Some(alpha) => loss.alpha(alpha),
            None => loss.without_alpha(),
        }
        .loss(x, &target.0)
    }
    /// Divergence of log-probabilities from targets. `batch_mean` divides the sum by the samples.
    [kl_divergence KlDivergence] kl_divergence |x| (target: ArrayArg, log_target: bool = false, batch_mean: bool = false, reduction: ReductionArg = mean()) -> Tensor {
        let mut loss = KlDivergence::new().reduction(reduction.0);
        if log_target {
            loss = loss.log_target();
        }
        if batch_mean {
            loss = loss.batch_mean();
        }
        loss.loss(x, &target.0)
    }
    /// Pairs of vectors `[batch, width]`: a target of 1 brings their directions together, -1 drives them apart.
    [CosineEmbedding] cosine_embedding |x| (other: ArrayArg, target: ArrayArg, margin: f64 = 0.0, reduction: ReductionArg = mean()) -> Tensor {
        CosineEmbedding::new().margin(margin).reduction(reduction.0).loss(x, &other.0, &target.0)
    }
    /// Distances: a target of 1 makes them small, -1 drives them apart up to a margin.
    [HingeEmbedding] hinge_embedding |x| (target: ArrayArg, margin: f64 = 1.0, reduction: ReductionArg = mean()) -> Tensor {
        HingeEmbedding::new().margin(margin).reduction(reduction.0).loss(x, &target.0)
    }
}
