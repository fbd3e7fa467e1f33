//! A custom op, with its kernel and its gradient.

use farad::kept;
use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Tensor, Var};
use farad_ir::Words;

use super::SIGNED;
use crate::case::{Case, float};

/// `[..] -> [..], [..]`: the cube and the double of every element.
#[derive(Debug, Hash)]
pub struct CubeAndDouble;

const KERNEL: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> cube: array<f32>;
@group(0) @binding(2) var<storage, read_write> double: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) {
        cube[id.x] = x[id.x] * x[id.x] * x[id.x];
        double[id.x] = 2.0 * x[id.x];
    }
}";

impl CustomOp for CubeAndDouble {
    fn name(&self) -> &str {
        "cube_and_double"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![operands[0]; 2])
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        vec![operands[0].iter().map(|x| x * x * x).collect(), operands[0].iter().map(|x| 2.0 * x).collect()]
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        for (n, x) in operands[0].iter().map(|&x| f32::from_bits(x)).enumerate() {
            results[0][n] = (x * x * x).to_bits();
            results[1][n] = (2.0 * x).to_bits();
        }
    }

    fn wgsl(&self, shapes: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        let workgroups = [shapes[0].numel().div_ceil(64) as u32, 1, 1];
        vec![CustomKernel::new(KERNEL, "main", workgroups)]
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        _: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let x = operands[0];
        Ok(vec![Some(upstream[0] * (x * x * 3.0) + upstream[1] * 2.0)])
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::many("custom", "", vec![float([7, 33], SIGNED)], 2e-7, |x| {
            Tensor::custom(CubeAndDouble, &[&x[0]])
        }),
        Case::new("custom", "in the middle", vec![float([7, 33], SIGNED)], 5e-6, |x| {
            let both = Tensor::custom(CubeAndDouble, &[&x[0].tanh().transpose(0, 1)]);
            (&both[0] + both[1].sum_axes(kept([0]))).sin()
        }),
        Case::new("custom", "of a part", vec![float([70], SIGNED)], 2e-6, |x| {
            Tensor::custom(CubeAndDouble, &[&x[0].slice(3..68)])[0].clone()
        }),
    ]
}
