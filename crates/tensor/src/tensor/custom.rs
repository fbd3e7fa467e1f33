//! Custom ops.

use std::sync::Arc;

use farad_ir::{CustomOp, DType, Op, OpError, Shape};

use super::{Tensor, expect, raise};

impl Tensor {
    /// Applies a custom op; gives one tensor per result. See [`CustomOp`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// use farad::{CustomKernel, CustomLimits, CustomOp, OpError, Words};
    ///
    /// #[derive(Debug, Hash)]
    /// struct Twice;
    ///
    /// impl CustomOp for Twice {
    ///     fn name(&self) -> &str {
    ///         "twice"
    ///     }
    ///     fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
    ///         Ok(vec![operands[0]])
    ///     }
    ///     fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
    ///         vec![operands[0].iter().map(|x| 2.0 * x).collect()]
    ///     }
    ///     fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
    ///         for (y, &x) in results[0].iter_mut().zip(operands[0]) {
    ///             *y = (2.0 * f32::from_bits(x)).to_bits();
    ///         }
    ///     }
    ///     fn wgsl(&self, shapes: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
    ///         let text = "
    ///             @group(0) @binding(0) var<storage, read> x: array<f32>;
    ///             @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    ///             @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    ///                 if id.x < arrayLength(&x) { y[id.x] = 2.0 * x[id.x]; }
    ///             }";
    ///         vec![CustomKernel::new(text, "main", [shapes[0].numel().div_ceil(64) as u32, 1, 1])]
    ///     }
    /// }
    ///
    /// let x = Tensor::from_vec(vec![1.5, -2.0], [2], &Device::cpu());
    /// assert_eq!(Tensor::custom(Twice, &[&x])[0].to_vec::<f32>()?, [3.0, -4.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn custom(op: impl CustomOp + 'static, operands: &[&Tensor]) -> Vec<Tensor> {
        let kinds: Vec<(Shape, DType)> = operands.iter().map(|t| (t.shape(), t.dtype())).collect();
        let results = expect(op.infer(&kinds));
        if let Some((_, dtype)) = kinds.iter().chain(&results).copied().find(|(_, dtype)| dtype.is_wide()) {
            let help = "\nhelp: custom ops see registers of 32 bits; cast it first, e.g. `.cast(DType::F32)`";
            raise(OpError::DType { op: "custom", dtype, help });
        }
        let node = Tensor::record(Op::Custom(Arc::new(op)), operands);
        let pick = |(n, &(shape, dtype)): (usize, &(Shape, DType))| {
            Tensor::record(Op::Pick(n, shape, dtype), &[&node])
        };
        results.iter().enumerate().map(pick).collect()
    }
}
