//! The three ops of a layer: its outputs, and the gradients of its coefficients and of its inputs.
//!
//! Everything is feature-major: rows are features and columns samples, because each gate reads two whole rows,
//! at any index. The two gradients are separate ops, so that a first layer, whose inputs need no gradient,
//! computes only one. Hard gates with soft gradients take their values from one set of coefficients and their
//! gradients from another.

use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Tensor, Var, Words};

use super::extent::LayerExtent;
use super::wiring::LayerWiring;
use super::{cpu, gpu, reference};
use crate::gates::{GATE_FLOPS, INPUT_FLOPS, WEIGHT_FLOPS};

/// The outputs of gates `c0 + ca·a + cb·b + cab·a·b` whose operands the wiring selects.
/// `[outputs, 4], [inputs, batch] -> [outputs, batch]`
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::{LayerWiring, Wires, gates};
/// let device = Device::cpu();
/// let wiring = LayerWiring::new(&Wires { inputs: 2, a: vec![0], b: vec![1] }, &device);
/// let exclusive_or = Tensor::from_vec(vec![0.0, 1.0, 1.0, -2.0], [1, 4], &device);
/// let x = Tensor::from_vec(vec![0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0], [2, 4], &device);
/// assert_eq!(gates(&exclusive_or, &wiring, &x).to_vec::<f32>()?, [0.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn gates(coefficients: &Tensor, wiring: &LayerWiring, x: &Tensor) -> Tensor {
    Tensor::custom(GateLayerOp, &[coefficients, wiring.wires(), wiring.readers(), x]).swap_remove(0)
}

/// The outputs of gates with the gradient of others: values come from `coefficients`, gradients of these and of
/// the inputs from `slopes`. So hard gates learn as soft ones do.
/// `[outputs, 4], [outputs, 4], [inputs, batch] -> [outputs, batch]`
#[track_caller]
pub fn straight_gates(coefficients: &Tensor, slopes: &Tensor, wiring: &LayerWiring, x: &Tensor) -> Tensor {
    let coefficients = coefficients.stop_gradient();
    let operands = [&coefficients, wiring.wires(), wiring.readers(), x, slopes];
    Tensor::custom(GateLayerOp, &operands).swap_remove(0)
}

/// Coefficients, wires, readers, x, and slopes if they differ -> y.
#[derive(Clone, Copy, Debug, Hash)]
struct GateLayerOp;

/// Wires, x, g -> gradients of the coefficients.
#[derive(Clone, Copy, Debug, Hash)]
struct GateWeightGradients;

/// Coefficients, readers, x, g -> gradients of x.
#[derive(Clone, Copy, Debug, Hash)]
struct GateInputGradients;

impl CustomOp for GateLayerOp {
    fn name(&self) -> &str {
        "gates"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let extent = LayerExtent::check(&operands[..operands.len().min(4)])?;
        if let Some(&(shape, _)) = operands.get(4).filter(|slopes| slopes.0 != extent.coefficients()) {
            let what = format!("slopes have the wrong shape: {shape}, expected {}", extent.coefficients());
            return Err(OpError::Sizes {
                op: "gates",
                what,
                a: shape.numel(),
                b: extent.coefficients().numel(),
            });
        }
        Ok(vec![(extent.y(), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let extent = LayerExtent::of(shapes[3], shapes[1]);
        vec![reference::forward(&extent, &operands[0], &operands[1], &operands[3])]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let extent = LayerExtent::of(shapes[3], shapes[1]);
        let y = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::forward(&extent, floats(operands[0]), operands[1], floats(operands[3]), y);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::forward(&LayerExtent::of(shapes[3], shapes[1]), shapes.len(), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = LayerExtent::of(shapes[3], shapes[1]);
        // Only the gradient uses the readers.
        let words =
            extent.coefficients().numel() + extent.wires().numel() + extent.x().numel() + extent.y().numel();
        Some((4 * words as u64, GATE_FLOPS * extent.evaluations()))
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        _: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let (&[coefficients, wires, readers, x], others) =
            operands.split_first_chunk().expect("checked by infer");
        let (slopes, g) = (others.first().copied(), upstream[0]);
        let weights = Var::custom(GateWeightGradients, &[wires, x, g])?[0];
        let inputs = Var::custom(GateInputGradients, &[slopes.unwrap_or(coefficients), readers, x, g])?[0];
        Ok(match slopes {
            None => vec![Some(weights), None, None, Some(inputs)],
            Some(_) => vec![None, None, None, Some(inputs), Some(weights)],
        })
    }
}

impl CustomOp for GateWeightGradients {
    fn name(&self) -> &str {
        "gates_weight_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![(LayerExtent::of(operands[1].0, operands[0].0).coefficients(), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let extent = LayerExtent::of(shapes[1], shapes[0]);
        vec![reference::weights(&extent, &operands[0], &operands[1], &operands[2])]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let extent = LayerExtent::of(shapes[1], shapes[0]);
        let sums = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::weights(&extent, operands[0], floats(operands[1]), floats(operands[2]), sums);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::weights(&LayerExtent::of(shapes[1], shapes[0]), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = LayerExtent::of(shapes[1], shapes[0]);
        let words =
            extent.coefficients().numel() + extent.wires().numel() + extent.x().numel() + extent.y().numel();
        Some((4 * words as u64, WEIGHT_FLOPS * extent.evaluations()))
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        gpu::weights_scratch(&LayerExtent::of(shapes[1], shapes[0]))
    }
}

impl CustomOp for GateInputGradients {
    fn name(&self) -> &str {
        "gates_input_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![(operands[2].0, DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let [coefficients, readers, x, g] = operands else { unreachable!("four operands") };
        vec![reference::inputs(&self.extent(shapes), coefficients, readers, x, g)]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let &[coefficients, readers, x, g] = operands else { unreachable!("four operands") };
        let result = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::inputs(&self.extent(shapes), floats(coefficients), readers, floats(x), floats(g), result);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::inputs(&self.extent(shapes), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = self.extent(shapes);
        let once = extent.coefficients().numel() + extent.readers().numel() + extent.y().numel();
        Some((4 * (once + 2 * extent.x().numel()) as u64, INPUT_FLOPS * extent.evaluations()))
    }
}

impl GateInputGradients {
    fn extent(&self, shapes: &[Shape]) -> LayerExtent {
        let (x, g) = (shapes[2].to_vec(), shapes[3].to_vec());
        LayerExtent { inputs: x[0], outputs: g[0], batch: x[1] }
    }
}

fn floats(words: &[u32]) -> &[f32] {
    bytemuck::cast_slice(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_say_what_they_cost() {
        let shape = |sizes: &[usize]| Shape::new(sizes);
        let (c, wires, readers, x) = (shape(&[8, 4]), shape(&[2, 8]), shape(&[6 + 1 + 32]), shape(&[6, 100]));
        let y = shape(&[8, 100]);
        assert_eq!(GateLayerOp.costs(&[c, wires, readers, x]), Some((4 * (32 + 16 + 600 + 800), 6 * 800)));
        assert_eq!(GateWeightGradients.costs(&[wires, x, y]), Some((4 * (32 + 16 + 600 + 800), 7 * 800)));
        let inputs = GateInputGradients.costs(&[c, readers, x, y]);
        assert_eq!(inputs, Some((4 * (32 + 39 + 2 * 600 + 800), 8 * 800)));
    }
}
