//! Integer and logical ops of recipes: wrapping, and exact everywhere. Named as in the tables.

use farad::Tensor;
use farad_ir::{Binary, DType};

pub(super) type WholeMap = (&'static str, fn(&Tensor) -> Tensor);
pub(super) type WholePair = (&'static str, fn(&Tensor, &Tensor) -> Tensor);

/// Functions of one tensor of a non-float dtype.
pub(super) fn unary(dtype: DType) -> &'static [WholeMap] {
    match dtype {
        DType::Bool => &[("not", Tensor::not)],
        _ => &[
            ("neg", |x| -x),
            ("abs", Tensor::abs),
            ("sign", Tensor::sign),
            ("relu", Tensor::relu),
            ("not", Tensor::not),
        ],
    }
}

/// Functions of two tensors of a non-float dtype.
pub(super) fn binary(dtype: DType) -> &'static [WholePair] {
    match dtype {
        DType::Bool => &[
            ("and", |a, b| a & b),
            ("or", |a, b| a | b),
            ("xor", |a, b| a ^ b),
            ("equal", |a, b| a.equal(b)),
            ("not_equal", |a, b| a.not_equal(b)),
        ],
        _ => &[
            ("add", |a, b| a + b),
            ("sub", |a, b| a - b),
            ("mul", |a, b| a * b),
            ("div", |a, b| a / b),
            ("rem", |a, b| a.remainder(b)),
            ("max", |a, b| a.maximum(b)),
            ("min", |a, b| a.minimum(b)),
            ("and", |a, b| a & b),
            ("or", |a, b| a | b),
            ("xor", |a, b| a ^ b),
            ("shl", |a, b| a << b),
            ("shr", |a, b| a >> b),
            ("less", |a, b| a.less(b)),
            ("less_equal", |a, b| a.less_equal(b)),
            ("greater", |a, b| a.greater(b)),
            ("greater_equal", |a, b| a.greater_equal(b)),
            ("equal", |a, b| a.equal(b)),
            ("not_equal", |a, b| a.not_equal(b)),
        ],
    }
}

/// Whether the named op gives booleans.
pub(super) fn compares(name: &str) -> bool {
    Binary::ALL.iter().any(|op| op.row().name == name && op.compares())
}

#[cfg(test)]
mod tests {
    use super::super::CPU_DTYPES;
    use super::super::float::{COMPARISONS, MAPS, PAIRS};
    use super::*;
    use farad_ir::Unary;

    #[test]
    fn recipes_know_every_row() {
        let mut missing = Vec::new();
        for &dtype in CPU_DTYPES {
            let float = dtype.is_float();
            let maps: Vec<&str> = match float {
                true => MAPS.iter().map(|map| map.name).collect(),
                false => unary(dtype).iter().map(|(name, _)| *name).collect(),
            };
            let pairs: Vec<&str> = match float {
                true => PAIRS.iter().map(|p| p.name).chain(COMPARISONS.iter().map(|c| c.0)).collect(),
                false => binary(dtype).iter().map(|(name, _)| *name).collect(),
            };
            let unary = Unary::ALL.iter().filter(|op| op.takes(dtype)).map(|op| op.row().name);
            // Joins are tested by concatenations.
            let binary = Binary::ALL.iter().filter(|op| op.takes(dtype) && **op != Binary::Join);
            let binary = binary.map(|op| op.row().name);
            missing.extend(unary.filter(|name| !maps.contains(name)).map(|name| (name, dtype)));
            missing.extend(binary.filter(|name| !pairs.contains(name)).map(|name| (name, dtype)));
        }
        assert!(missing.is_empty(), "not in the fuzz lists: {missing:?}");
    }
}
