//! The three ops: the chosen values, and the gradients of their weights and of the inputs.

use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Tensor, Var, Words};

use super::{cpu, gpu, reference};

/// Weighted sums of candidates: row `r` is `Σ weights[r, k] · x[wires[r, k]]`. `arrays` are those of
/// [`Candidates::on`](super::Candidates::on). `[rows, count], [inputs, batch] -> [rows, batch]`
#[track_caller]
pub fn choose(weights: &Tensor, arrays: &[Tensor; 2], x: &Tensor) -> Tensor {
    let [wires, readers] = arrays;
    Tensor::custom(ChoiceOp, &[weights, wires, readers, x]).swap_remove(0)
}

/// The sizes of the ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceExtent {
    pub inputs: usize,
    pub rows: usize,
    pub count: usize,
    pub batch: usize,
}

impl ChoiceExtent {
    fn of(wires: Shape, readers: Shape, batch: usize) -> ChoiceExtent {
        let (rows, count) = (wires.to_vec()[0], wires.to_vec()[1]);
        ChoiceExtent { inputs: readers.numel().saturating_sub(1 + rows * count), rows, count, batch }
    }

    fn check(operands: &[(Shape, DType)]) -> Result<ChoiceExtent, OpError> {
        let op = "choose";
        let [weights, wires, readers, x] = operands else {
            return Err(OpError::Arity { op, got: operands.len(), least: 4 });
        };
        for shape in [weights.0, wires.0, x.0] {
            if shape.rank() != 2 {
                return Err(OpError::RankTooLow { op, shape, rank: shape.rank(), least: 2 });
            }
        }
        for (&(_, dtype), wanted) in operands.iter().zip([DType::F32, DType::U32, DType::U32, DType::F32]) {
            if dtype != wanted {
                return Err(OpError::DTypes { op, lhs: dtype, rhs: wanted });
            }
        }
        let extent = ChoiceExtent::of(wires.0, readers.0, x.0.to_vec()[1]);
        if weights.0 != wires.0 {
            let what = format!("weights do not match the candidates: {} and {}", weights.0, wires.0);
            return Err(OpError::Sizes { op, what, a: weights.0.numel(), b: wires.0.numel() });
        }
        if x.0.to_vec()[0] != extent.inputs {
            let what = format!("features do not match the candidates: {}", x.0);
            return Err(OpError::Sizes { op, what, a: x.0.to_vec()[0], b: extent.inputs });
        }
        Ok(extent)
    }

    fn places(&self) -> usize {
        self.rows * self.count
    }

    /// Bytes and operations of any of the three ops.
    fn costs(&self) -> Option<(u64, u64)> {
        let words = 2 * self.places() + (self.inputs + self.rows) * self.batch;
        Some((4 * words as u64, 2 * (self.places() * self.batch) as u64))
    }
}

/// Weights, wires, readers, x -> y.
#[derive(Clone, Copy, Debug, Hash)]
struct ChoiceOp;

/// Wires, readers, x, g -> gradients of the weights.
#[derive(Clone, Copy, Debug, Hash)]
struct ChoiceWeightGradients;

/// Weights, wires, readers, g -> gradients of x.
#[derive(Clone, Copy, Debug, Hash)]
struct ChoiceInputGradients;

impl CustomOp for ChoiceOp {
    fn name(&self) -> &str {
        "choose"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let extent = ChoiceExtent::check(operands)?;
        Ok(vec![(Shape::new(&[extent.rows, extent.batch]), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        vec![reference::forward(&forward_extent(shapes), &operands[0], &operands[1], &operands[3])]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let y = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::forward(&forward_extent(shapes), floats(operands[0]), operands[1], floats(operands[3]), y);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::forward(&forward_extent(shapes), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        forward_extent(shapes).costs()
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        _: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let &[weights, wires, readers, x] = operands else { unreachable!("checked by infer") };
        let g = upstream[0];
        let at_weights = Var::custom(ChoiceWeightGradients, &[wires, readers, x, g])?[0];
        let at_x = Var::custom(ChoiceInputGradients, &[weights, wires, readers, g])?[0];
        Ok(vec![Some(at_weights), None, None, Some(at_x)])
    }
}

fn forward_extent(shapes: &[Shape]) -> ChoiceExtent {
    ChoiceExtent::of(shapes[1], shapes[2], shapes[3].to_vec()[1])
}

impl CustomOp for ChoiceWeightGradients {
    fn name(&self) -> &str {
        "choose_weight_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![(operands[0].0, DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        vec![reference::weights(&weights_extent(shapes), &operands[0], &operands[2], &operands[3])]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let sums = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::weights(&weights_extent(shapes), operands[0], floats(operands[2]), floats(operands[3]), sums);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::weights(&weights_extent(shapes), limits)
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        gpu::weights_scratch(&weights_extent(shapes))
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        weights_extent(shapes).costs()
    }
}

fn weights_extent(shapes: &[Shape]) -> ChoiceExtent {
    ChoiceExtent::of(shapes[0], shapes[1], shapes[2].to_vec()[1])
}

impl CustomOp for ChoiceInputGradients {
    fn name(&self) -> &str {
        "choose_input_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let extent = inputs_extent(&operands.iter().map(|operand| operand.0).collect::<Vec<_>>());
        Ok(vec![(Shape::new(&[extent.inputs, extent.batch]), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        vec![reference::inputs(&inputs_extent(shapes), &operands[0], &operands[2], &operands[3])]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let result = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::inputs(&inputs_extent(shapes), floats(operands[0]), operands[2], floats(operands[3]), result);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::inputs(&inputs_extent(shapes), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        inputs_extent(shapes).costs()
    }
}

fn inputs_extent(shapes: &[Shape]) -> ChoiceExtent {
    ChoiceExtent::of(shapes[1], shapes[2], shapes[3].to_vec()[1])
}

fn floats(words: &[u32]) -> &[f32] {
    bytemuck::cast_slice(words)
}
