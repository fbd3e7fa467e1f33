//! The three ops: the outputs of neurons, and the gradients of their weights and of the inputs.

use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Tensor, Var, Words};

use super::{CANDIDATES, cpu, gpu, reference};
use crate::gates::{GATE_FLOPS, INPUT_FLOPS, WEIGHT_FLOPS};

/// The outputs of neurons at all their positions: `Σ weights[n, k] · gate_k(a, b)`, where candidate `k` reads
/// its own two inputs. `arrays` are the table of the sixteen functions, wires and readers.
/// `[neurons, 16], [inputs, batch] -> [neurons · places, batch]`
#[track_caller]
pub fn neurons(weights: &Tensor, arrays: &[Tensor; 3], x: &Tensor) -> Tensor {
    let [table, wires, readers] = arrays;
    Tensor::custom(Neurons, &[weights, table, wires, readers, x]).swap_remove(0)
}

/// The sizes of the ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeuronExtent {
    pub inputs: usize,
    pub neurons: usize,
    pub places: usize,
    pub batch: usize,
}

impl NeuronExtent {
    fn of(neurons: usize, wires: Shape, x: Shape) -> NeuronExtent {
        let places = wires[0] / neurons.max(1);
        NeuronExtent { inputs: x[0], neurons, places, batch: x[1] }
    }

    /// Neurons times positions.
    pub fn rows(&self) -> usize {
        self.neurons * self.places
    }

    fn check(operands: &[(Shape, DType)]) -> Result<NeuronExtent, OpError> {
        let op = "neurons";
        let [weights, table, wires, readers, x] = operands else {
            return Err(OpError::Arity { op, got: operands.len(), least: 5 });
        };
        for (shape, least) in [(weights.0, 2), (table.0, 2), (wires.0, 3), (readers.0, 1), (x.0, 2)] {
            if shape.rank() != least {
                return Err(OpError::RankTooLow { op, shape, rank: shape.rank(), least });
            }
        }
        let kinds = [DType::F32, DType::F32, DType::U32, DType::U32, DType::F32];
        for (&(_, dtype), wanted) in operands.iter().zip(kinds) {
            if dtype != wanted {
                return Err(OpError::DTypes { op, lhs: dtype, rhs: wanted });
            }
        }
        let extent = NeuronExtent::of(weights.0[0], wires.0, x.0);
        let fits = weights.0[1] == CANDIDATES && wires.0[0] == extent.rows() && wires.0[1] == CANDIDATES;
        if !fits {
            let what = format!("weights do not match the candidates: {} and {}", weights.0, wires.0);
            return Err(OpError::Sizes { op, what, a: weights.0.numel(), b: wires.0.numel() });
        }
        Ok(extent)
    }

    fn y(&self) -> Shape {
        Shape::new(&[self.rows(), self.batch])
    }

    fn costs(&self, flops: u64) -> Option<(u64, u64)> {
        let words = 2 * CANDIDATES * self.rows() + (self.inputs + self.rows()) * self.batch;
        Some((4 * words as u64, flops * (CANDIDATES * self.rows() * self.batch) as u64))
    }
}

/// Weights, table, wires, readers, x -> y.
#[derive(Clone, Copy, Debug, Hash)]
struct Neurons;

/// Wires, x, g -> gradients of the weights of this many neurons.
#[derive(Clone, Copy, Debug, Hash)]
struct NeuronWeightGradients {
    neurons: usize,
}

/// Weights, table, readers, x, g -> gradients of x.
#[derive(Clone, Copy, Debug, Hash)]
struct NeuronInputGradients;

impl CustomOp for Neurons {
    fn name(&self) -> &str {
        "neurons"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![(NeuronExtent::check(operands)?.y(), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        vec![reference::forward(&forward_extent(shapes), &operands[0], &operands[2], &operands[4])]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let y = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::forward(&forward_extent(shapes), floats(operands[0]), operands[2], floats(operands[4]), y);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::forward(&forward_extent(shapes), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        forward_extent(shapes).costs(GATE_FLOPS)
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        _: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let &[weights, table, wires, readers, x] = operands else { unreachable!("checked by infer") };
        let g = upstream[0];
        let at_weights =
            Var::custom(NeuronWeightGradients { neurons: weights.shape()[0] }, &[wires, x, g])?[0];
        let at_x = Var::custom(NeuronInputGradients, &[weights, table, readers, x, g])?[0];
        Ok(vec![Some(at_weights), None, None, None, Some(at_x)])
    }
}

fn forward_extent(shapes: &[Shape]) -> NeuronExtent {
    NeuronExtent::of(shapes[0][0], shapes[2], shapes[4])
}

impl NeuronWeightGradients {
    fn extent(&self, shapes: &[Shape]) -> NeuronExtent {
        NeuronExtent::of(self.neurons, shapes[0], shapes[1])
    }
}

impl CustomOp for NeuronWeightGradients {
    fn name(&self) -> &str {
        "neurons_weight_gradients"
    }

    fn infer(&self, _: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![(Shape::new(&[self.neurons, CANDIDATES]), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        vec![reference::weights(&self.extent(shapes), &operands[0], &operands[1], &operands[2])]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let sums = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::weights(&self.extent(shapes), operands[0], floats(operands[1]), floats(operands[2]), sums);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::weights(&self.extent(shapes), limits)
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        gpu::weights_scratch(&self.extent(shapes))
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        self.extent(shapes).costs(WEIGHT_FLOPS)
    }
}

impl CustomOp for NeuronInputGradients {
    fn name(&self) -> &str {
        "neurons_input_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![(operands[3].0, DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let [weights, _, readers, x, g] = operands else { unreachable!("five operands") };
        vec![reference::inputs(&inputs_extent(shapes), weights, readers, x, g)]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let &[weights, _, readers, x, g] = operands else { unreachable!("five operands") };
        let result = bytemuck::cast_slice_mut(&mut results[0]);
        cpu::inputs(&inputs_extent(shapes), floats(weights), readers, floats(x), floats(g), result);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::inputs(&inputs_extent(shapes), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        inputs_extent(shapes).costs(INPUT_FLOPS)
    }
}

fn inputs_extent(shapes: &[Shape]) -> NeuronExtent {
    let (neurons, rows) = (shapes[0][0], shapes[4][0]);
    NeuronExtent { inputs: shapes[3][0], neurons, places: rows / neurons.max(1), batch: shapes[3][1] }
}

fn floats(words: &[u32]) -> &[f32] {
    bytemuck::cast_slice(words)
}
