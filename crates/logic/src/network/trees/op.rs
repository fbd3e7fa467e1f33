//! The three ops of a stage: the outputs of its trees, the gradients of gates and leaves, and those of the
//! inputs.
//!
//! A whole tree is one invocation, and so are the squares of a cell. Between the inputs and the OR of a cell,
//! only the index of the largest square is stored. Only that square has a gradient; it is recomputed from the
//! inputs.

use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Tensor, Var, Words};

use super::geometry::{Geometry, Leaf};
use super::{cpu, gpu, reference};
use crate::gates::{GATE_FLOPS, INPUT_FLOPS, WEIGHT_FLOPS};

/// The largest outputs of trees over cells. Values come from `coefficients`, gradients from `slopes`: the same
/// for soft gates, different for hard gates that learn as soft ones do. `arrays` are leaves and readers.
/// `[kernels, gates, 4], [kernels, gates, 4], [inputs, batch] -> [outputs, batch]`
#[track_caller]
pub fn trees(
    geometry: Geometry,
    coefficients: &Tensor,
    slopes: &Tensor,
    arrays: &[Tensor; 2],
    x: &Tensor,
) -> Tensor {
    let [leaves, readers] = arrays;
    let coefficients = coefficients.stop_gradient();
    Tensor::custom(TreeStage(geometry), &[&coefficients, slopes, leaves, readers, x]).swap_remove(0)
}

/// Coefficients, slopes, leaves, readers, x -> y, the largest squares.
#[derive(Clone, Copy, Debug, Hash)]
struct TreeStage(Geometry);

/// Coefficients, slopes, leaves, x, the largest squares, g -> gradients of the slopes, and of leaves.
#[derive(Clone, Copy, Debug, Hash)]
struct TreeGradients(Geometry);

/// Readers, the largest squares, gradients of leaves -> gradients of x.
#[derive(Clone, Copy, Debug, Hash)]
struct TreeInputGradients(Geometry);

fn batch_of(shape: Shape) -> usize {
    shape[1]
}

impl CustomOp for TreeStage {
    fn name(&self) -> &str {
        "trees"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let batch = self.0.check(operands)?;
        Ok(self.0.results(batch).to_vec())
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let leaves = leaves_of(&self.0, &operands[2]);
        let (coefficients, x) = (&operands[0], &operands[4]);
        let batch = batch_of(shapes[4]);
        reference::ReferenceStage { geometry: &self.0, batch, coefficients, leaves: &leaves, x }
            .forward()
            .into()
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let [y, largest] = results else { unreachable!("two results") };
        let (coefficients, leaves, x) = (floats(operands[0]), operands[2], floats(operands[4]));
        let stage = cpu::Stage { geometry: &self.0, batch: batch_of(shapes[4]), coefficients, leaves, x };
        stage.forward(bytemuck::cast_slice_mut(y), largest);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::forward(&self.0, batch_of(shapes[4]), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let (batch, geometry) = (batch_of(shapes[4]), &self.0);
        let bytes = 4 * (geometry.inputs() + geometry.outputs()) * batch + geometry.outputs() * batch;
        Some((bytes as u64, GATE_FLOPS * geometry.evaluations(batch)))
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        results: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let &[coefficients, slopes, leaves, readers, x] = operands else { unreachable!("checked by infer") };
        let (largest, g) = (results[1], upstream[0]);
        let found = Var::custom(TreeGradients(self.0), &[coefficients, slopes, leaves, x, largest, g])?;
        let (weights, at_leaves) = (found[0], found[1]);
        let inputs = Var::custom(TreeInputGradients(self.0), &[readers, largest, at_leaves])?[0];
        Ok(vec![None, Some(weights), None, None, Some(inputs)])
    }
}

impl CustomOp for TreeGradients {
    fn name(&self) -> &str {
        "trees_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let at_leaves = self.0.at_leaves(batch_of(operands[3].0));
        Ok(vec![(operands[1].0, DType::F32), (at_leaves, DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let [coefficients, slopes, leaves, x, largest, g] = operands else { unreachable!("six operands") };
        let (leaves, batch) = (leaves_of(&self.0, leaves), batch_of(shapes[3]));
        let stage = reference::ReferenceStage { geometry: &self.0, batch, coefficients, leaves: &leaves, x };
        stage.backward(slopes, &words_of(largest), g).into()
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let &[coefficients, slopes, leaves, x, largest, g] = operands else { unreachable!("six operands") };
        let [sums, at_leaves] = results else { unreachable!("two results") };
        let (sums, at_leaves) = (bytemuck::cast_slice_mut(sums), bytemuck::cast_slice_mut(at_leaves));
        let (coefficients, x, batch) = (floats(coefficients), floats(x), batch_of(shapes[3]));
        let stage = cpu::Stage { geometry: &self.0, batch, coefficients, leaves, x };
        stage.backward(floats(slopes), largest, floats(g), sums, at_leaves);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::backward(&self.0, batch_of(shapes[3]), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let (batch, geometry) = (batch_of(shapes[3]), &self.0);
        let values = geometry.inputs() + geometry.outputs() * (1 + geometry.leaves());
        let gates = (geometry.outputs() * geometry.gates() * batch) as u64;
        Some(((4 * values * batch) as u64, (GATE_FLOPS + WEIGHT_FLOPS + INPUT_FLOPS) * gates))
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        gpu::backward_scratch(&self.0, batch_of(shapes[3]))
    }
}

impl CustomOp for TreeInputGradients {
    fn name(&self) -> &str {
        "trees_input_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![(Shape::new(&[self.0.inputs(), batch_of(operands[2].0)]), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let [readers, largest] = [&operands[0], &operands[1]].map(|words| words_of(words));
        vec![reference::inputs(&self.0, batch_of(shapes[2]), &readers, &largest, &operands[2])]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let result = bytemuck::cast_slice_mut(&mut results[0]);
        let &[readers, largest, at_leaves] = operands else { unreachable!("three operands") };
        cpu::inputs(&self.0, batch_of(shapes[2]), readers, largest, floats(at_leaves), result);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::inputs(&self.0, batch_of(shapes[2]), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let (batch, geometry) = (batch_of(shapes[2]), &self.0);
        let slopes = geometry.outputs() * geometry.leaves();
        Some(((4 * (slopes + geometry.inputs()) * batch) as u64, (slopes * batch) as u64))
    }
}

/// Leaves from the words that kernels use.
fn leaves_of(geometry: &Geometry, words: &[f64]) -> Vec<Leaf> {
    let channel = |start: usize| {
        let area = geometry.height * geometry.width * geometry.beside;
        start / area * geometry.beside + start % area
    };
    let leaf = |words: &[f64]| Leaf {
        channel: channel(words[0] as usize),
        down: words[1] as usize,
        right: words[2] as usize,
    };
    words.chunks_exact(3).map(leaf).collect()
}

fn words_of(numbers: &[f64]) -> Vec<u32> {
    numbers.iter().map(|&number| number as u32).collect()
}

fn floats(words: &[u32]) -> &[f32] {
    bytemuck::cast_slice(words)
}
