//! Reductions, running sums and orders along axes.

use farad::{DType, Order, Tensor};

use super::ops;
use crate::arguments::{Along, AxesArg};
use crate::array::{ArrayArg, floating};
use crate::dtype::DTypeArg;

/// The dtype that sums and products have: their own of floats, of integers at least 32 bits.
fn summed(x: &Tensor, dtype: Option<DTypeArg>) -> Tensor {
    let own = x.dtype();
    let wider = match own {
        DType::Bool | DType::I8 | DType::I16 => DType::I32,
        DType::U8 | DType::U16 => DType::U32,
        own => own,
    };
    x.cast(dtype.map_or(wider, |dtype| dtype.0))
}

/// Largest or smallest along axes that are not empty.
fn extreme(x: &Tensor, along: Along, op: fn(&Tensor, Along) -> Tensor) -> Tensor {
    if x.dtype() == DType::Bool { op(&x.cast(DType::I32), along).cast(DType::Bool) } else { op(x, along) }
}

/// The order that a flag means.
fn order(descending: bool) -> Order {
    if descending { Order::Descending } else { Order::Ascending }
}

/// The position of an extreme along an axis, or in the whole array row by row.
fn position(x: &Tensor, axis: Option<isize>, keepdims: bool, op: fn(&Tensor, isize) -> Tensor) -> Tensor {
    let x = if x.dtype() == DType::Bool { x.cast(DType::I32) } else { x.clone() };
    match axis {
        Some(axis) if keepdims => op(&x, axis).unsqueeze(axis),
        Some(axis) => op(&x, axis),
        None => {
            let found = op(&x.reshape([x.numel()]), 0);
            if keepdims { found.reshape(vec![1; x.rank()]) } else { found }
        }
    }
}

ops! {
    /// The sum along axes, or of everything. Small integers are summed in 32 bits.
    [sum sum_axes] sum |x| (axis: Option<AxesArg> = None, dtype: Option<DTypeArg> = None, keepdims: bool = false) -> Tensor {
        summed(x, dtype).sum_axes(Along::new(axis, keepdims, x.rank()))
    }
    /// The mean along axes, or of everything.
    [mean mean_axes] mean |x| (axis: Option<AxesArg> = None, keepdims: bool = false) -> Tensor {
        match axis {
            None if !keepdims => floating(x).mean(),
            axis => floating(x).mean_axes(Along::new(axis, keepdims, x.rank())),
        }
    }
    /// The product along axes, or of everything. Small integers are multiplied in 32 bits.
    [prod prod_axes] prod |x| (axis: Option<AxesArg> = None, dtype: Option<DTypeArg> = None, keepdims: bool = false) -> Tensor {
        summed(x, dtype).prod_axes(Along::new(axis, keepdims, x.rank()))
    }
    /// The largest along axes, or of everything.
    [max max_axes] max |x| (axis: Option<AxesArg> = None, keepdims: bool = false) -> Tensor {
        extreme(x, Along::new(axis, keepdims, x.rank()), |x, along| x.max_axes(along))
    }
    /// The smallest along axes, or of everything.
    [min min_axes] min |x| (axis: Option<AxesArg> = None, keepdims: bool = false) -> Tensor {
        extreme(x, Along::new(axis, keepdims, x.rank()), |x, along| x.min_axes(along))
    }
    /// Whether any element is not zero.
    [any any_axes] any |x| (axis: Option<AxesArg> = None, keepdims: bool = false) -> Tensor {
        x.cast(DType::Bool).any_axes(Along::new(axis, keepdims, x.rank()))
    }
    /// Whether no element is zero.
    [all all_axes] all |x| (axis: Option<AxesArg> = None, keepdims: bool = false) -> Tensor {
        x.cast(DType::Bool).all_axes(Along::new(axis, keepdims, x.rank()))
    }
    /// Where the largest element stands (`int32`).
    [argmax] argmax |x| (axis: Option<isize> = None, keepdims: bool = false) -> Tensor {
        position(x, axis, keepdims, |x, axis| x.argmax(axis))
    }
    /// Where the smallest element stands (`int32`).
    [argmin] argmin |x| (axis: Option<isize> = None, keepdims: bool = false) -> Tensor {
        position(x, axis, keepdims, |x, axis| x.argmin(axis))
    }
    /// The variance along axes, or of everything.
    [variance] var |x| (axis: Option<AxesArg> = None, correction: usize = 0, keepdims: bool = false) -> Tensor {
        floating(x).variance(Along::new(axis, keepdims, x.rank()), correction)
    }
    /// The logarithm of the sum of exponentials, without overflow.
    [logsumexp] logsumexp |x| (axis: Option<AxesArg> = None, keepdims: bool = false) -> Tensor {
        x.logsumexp(Along::new(axis, keepdims, x.rank()))
    }
    /// Exponentials along an axis, divided by their sum.
    [softmax] softmax |x| (axis: isize = -1) -> Tensor { x.softmax(axis) }
    /// The logarithm of `softmax`, without underflow.
    [log_softmax] log_softmax |x| (axis: isize = -1) -> Tensor { x.log_softmax(axis) }
    /// The last axis with mean 0 and variance 1, scaled and shifted.
    [layer_norm] layer_norm |x| (scale: ArrayArg, shift: ArrayArg, epsilon: f64 = 1e-5) -> Tensor {
        x.layer_norm(&scale.0, &shift.0, epsilon)
    }
    /// Running sums along an axis.
    [cumsum] cumsum |x| (axis: isize = -1, dtype: Option<DTypeArg> = None) -> Tensor { summed(x, dtype).cumsum(axis) }
    /// Running sums from the end of an axis.
    [cumsum_from_end] cumsum_from_end |x| (axis: isize = -1) -> Tensor { summed(x, None).cumsum_from_end(axis) }
    /// Running products along an axis.
    [cumprod] cumprod |x| (axis: isize = -1, dtype: Option<DTypeArg> = None) -> Tensor { summed(x, dtype).cumprod(axis) }
    /// The elements in order along an axis, and where each of them stood (`int32`).
    [sort] sort_with_positions |x| (axis: isize = -1, descending: bool = false) -> (Tensor, Tensor) {
        let (values, positions) = if x.dtype() == DType::Bool { x.cast(DType::I32) } else { x.clone() }.sort(axis, order(descending));
        (values.cast(x.dtype()), positions)
    }
    /// The elements in order along an axis. Equal elements stay in order.
    [] sort |x| (axis: isize = -1, descending: bool = false) -> Tensor {
        let keys = if x.dtype() == DType::Bool { x.cast(DType::I32) } else { x.clone() };
        keys.sort(axis, order(descending)).0.cast(x.dtype())
    }
    /// Where the elements of an axis stand in their order (`int32`).
    [argsort] argsort |x| (axis: isize = -1, descending: bool = false) -> Tensor {
        let keys = if x.dtype() == DType::Bool { x.cast(DType::I32) } else { x.clone() };
        keys.argsort(axis, order(descending))
    }
    /// The first `k` elements of an axis in order, and where they stood: the largest unless `largest=False`.
    [topk] topk |x| (k: usize, axis: isize = -1, largest: bool = true) -> (Tensor, Tensor) {
        x.topk(k, axis, order(largest))
    }
    /// States of `h[t] = decay[t] · h[t - 1] + x[t]` along an axis.
    [linear_recurrence] linear_recurrence |x| (decay: ArrayArg, axis: isize = 0) -> Tensor {
        x.linear_recurrence(&decay.0, axis)
    }
}
