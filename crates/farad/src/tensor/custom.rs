//! Ops that users bring.

use std::sync::Arc;

use farad_ir::{CustomOp, DType, Op, Shape};

use super::{Tensor, expect};

impl Tensor {
    /// Applies an op of the user's own; one tensor a result. See [`CustomOp`].
    #[track_caller]
    pub fn custom(op: impl CustomOp + 'static, operands: &[&Tensor]) -> Vec<Tensor> {
        let kinds: Vec<(Shape, DType)> = operands.iter().map(|t| (t.shape(), t.dtype())).collect();
        let results = expect(op.infer(&kinds));
        let node = Tensor::record(Op::Custom(Arc::new(op)), operands);
        let pick = |(n, &(shape, dtype)): (usize, &(Shape, DType))| {
            Tensor::record(Op::Pick(n, shape, dtype), &[&node])
        };
        results.iter().enumerate().map(pick).collect()
    }
}
