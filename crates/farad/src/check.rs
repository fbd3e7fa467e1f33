//! Checks gradients of any function of tensors against differences, in double precision.

use std::sync::Arc;

use farad_ir::reference::{Values, evaluate_outputs};
use farad_ir::{DType, Scalar};

use crate::error::Result;
use crate::recording::Recording;
use crate::tensor::Tensor;

/// How far a gradient is from the slope along one random direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// By central differences.
    pub slope: f64,
    /// By the gradients.
    pub gradient: f64,
}

impl Agreement {
    /// The difference relative to the larger of the two (or to 1, if both are small).
    pub fn error(&self) -> f64 {
        (self.slope - self.gradient).abs() / self.slope.abs().max(self.gradient.abs()).max(1.0)
    }
}

/// Compares the gradients of `function` at all `inputs` with its slope along a random direction.
/// Everything is computed by the f64 reference, whatever the tensors' device. The function gives
/// one number.
///
/// ```
/// use farad::prelude::*;
/// let x = Tensor::from_vec(vec![0.5, -1.0], [2], &Device::cpu());
/// let agreement = farad::check::gradients(&[x], |x| (x[0].tanh() * &x[0]).sum())?;
/// assert!(agreement.error() < 1e-6);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn gradients(inputs: &[Tensor], function: impl Fn(&[Tensor]) -> Tensor) -> Result<Agreement> {
    let detached = inputs.iter().map(Tensor::detach).collect::<Result<Vec<Tensor>>>()?;
    let loss = function(&detached);
    let gradients = loss.gradients_at(&detached.iter().collect::<Vec<_>>())?;
    let roots: Vec<_> = std::iter::once(&loss).chain(&gradients).map(|t| t.node.clone()).collect();
    let recording = Recording::of(&roots, false)?;
    let leaves = leaves(&recording)?;
    let ids: Vec<_> = roots.iter().map(|node| recording.ids[&Arc::as_ptr(node)]).collect();
    let numbers: Vec<Scalar> = words(&recording);
    let found = evaluate_outputs(&recording.graph, &leaves, &numbers, &ids);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    };
    let (mut up, mut down, mut gradient) = (leaves.clone(), leaves.clone(), 0.0);
    const STEP: f64 = 1e-5;
    for (tensor, g) in detached.iter().zip(&found[1..]) {
        let at = recording.inputs.iter().position(|m| holds(tensor, m));
        let Some(at) = at else { continue };
        for (n, g) in g.to_f64().into_iter().enumerate() {
            let d = draw();
            gradient += g * d;
            shift(&mut up[at], n, STEP * d);
            shift(&mut down[at], n, -STEP * d);
        }
    }
    let value = |inputs: &[Values]| evaluate_outputs(&recording.graph, inputs, &numbers, &ids[..1])[0].to_f64()[0];
    Ok(Agreement { slope: (value(&up) - value(&down)) / (2.0 * STEP), gradient })
}

fn holds(tensor: &Tensor, memory: &crate::backend::Memory) -> bool {
    matches!(tensor.node.value(), Some(crate::node::Value::Memory { memory: own, .. }) if own.identity() == memory.identity())
}

fn shift(values: &mut Values, n: usize, by: f64) {
    if let Values::Float(list) = values {
        list[n] += by;
    }
}

/// The graph's inputs, read back and widened.
fn leaves(recording: &Recording) -> Result<Vec<Values>> {
    let mut all = Vec::new();
    for n in 0..recording.inputs.len() {
        let id = recording.graph.ids().find(|&id| matches!(recording.graph.node(id).op, farad_ir::Op::Input(m) if m == n));
        let node = recording.graph.node(id.expect("every input has a node"));
        let device = recording.nodes[0].0.device.clone();
        let bytes = device.0.backend.read(&recording.inputs[n], 0, node.shape.numel() * node.dtype.size()).wait()?;
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let values: Vec<f64> = match node.dtype {
            DType::F32 => bytes.chunks_exact(4).map(|b| f32::from_bits(word(b)) as f64).collect(),
            DType::I32 => bytes.chunks_exact(4).map(|b| word(b) as i32 as f64).collect(),
            DType::F16 => bytes.chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f64()).collect(),
            _ => bytes.chunks_exact(4).map(|b| word(b) as f64).collect(),
        };
        all.push(Values::from_f64(node.dtype, &values));
    }
    Ok(all)
}

fn words(recording: &Recording) -> Vec<Scalar> {
    let mut numbers = vec![Scalar::f32(0.0); recording.words.len()];
    for node in &recording.graph.nodes {
        if let farad_ir::Op::Parameter(n) = node.op {
            numbers[n] = match node.dtype {
                DType::F32 => Scalar::f32(f32::from_bits(recording.words[n])),
                dtype => Scalar::int(dtype, recording.words[n] as i64),
            };
        }
    }
    numbers
}
