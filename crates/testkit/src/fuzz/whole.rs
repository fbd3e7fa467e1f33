//! Integer and logical ops of recipes: wrapping, and exact everywhere.

use farad::Tensor;
use farad_ir::DType;

pub(super) type Unary = (&'static str, fn(&Tensor) -> Tensor);
pub(super) type Binary = (&'static str, fn(&Tensor, &Tensor) -> Tensor);

/// Functions of one tensor of a dtype that is no float.
pub(super) fn unary(dtype: DType) -> &'static [Unary] {
    match dtype {
        DType::I32 => &[
            ("neg", |x| -x),
            ("abs", Tensor::abs),
            ("sign", Tensor::sign),
            ("relu", Tensor::relu),
            ("not", Tensor::not),
        ],
        _ => &[("not", Tensor::not)],
    }
}

/// Functions of two tensors of a dtype that is no float.
pub(super) fn binary(dtype: DType) -> &'static [Binary] {
    match dtype {
        DType::Bool => &[
            ("and", Tensor::and),
            ("or", Tensor::or),
            ("xor", Tensor::xor),
            ("equal", |a, b| a.equal(b)),
            ("not_equal", |a, b| a.not_equal(b)),
        ],
        _ => &[
            ("add", |a, b| a + b),
            ("sub", |a, b| a - b),
            ("mul", |a, b| a * b),
            ("div", |a, b| a / b),
            ("remainder", |a, b| a.remainder(b)),
            ("maximum", |a, b| a.maximum(b)),
            ("minimum", |a, b| a.minimum(b)),
            ("and", Tensor::and),
            ("or", Tensor::or),
            ("xor", Tensor::xor),
            ("shift_left", Tensor::shift_left),
            ("shift_right", Tensor::shift_right),
            ("less", |a, b| a.less(b)),
            ("greater_equal", |a, b| a.greater_equal(b)),
            ("equal", |a, b| a.equal(b)),
        ],
    }
}

/// Whether the named op gives truth values.
pub(super) fn compares(name: &str) -> bool {
    ["less", "greater_equal", "equal", "not_equal"].contains(&name)
}
