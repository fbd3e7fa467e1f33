//! Checks in double precision: what tensors mean, and gradients against differences.

use std::sync::Arc;

use farad_ir::reference::{Values, evaluate_outputs};
use farad_ir::{DType, Graph, Scalar};

use crate::error::Result;
use crate::node::KnownValue;
use crate::recording::Recording;
use crate::tensor::{Element, Tensor};

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
        let Some((at, offset)) = place(tensor, &recording) else { continue };
        for (n, g) in g.to_f64().into_iter().enumerate() {
            let d = draw();
            gradient += g * d;
            shift(&mut up[at], offset + n, STEP * d);
            shift(&mut down[at], offset + n, -STEP * d);
        }
    }
    let value =
        |inputs: &[Values]| evaluate_outputs(&recording.graph, inputs, &numbers, &ids[..1])[0].to_f64()[0];
    Ok(Agreement { slope: (value(&up) - value(&down)) / (2.0 * STEP), gradient })
}

/// What the tensors mean: everything they were computed from, evaluated in double precision by
/// [`farad_ir::reference`]. Nothing runs on their device but reads of the tensors they start from.
///
/// ```
/// use farad::prelude::*;
/// let x = Tensor::from_vec(vec![1.0, 3.0], [2], &Device::cpu());
/// assert_eq!(farad::check::reference(&[x.mean()])?[0].to_f64(), [2.0]);
/// # Ok::<(), farad::Error>(())
/// ```
pub fn reference(outputs: &[Tensor]) -> Result<Vec<Values>> {
    let roots: Vec<_> = outputs.iter().map(|t| t.node.clone()).collect();
    let recording = Recording::of(&roots, true)?;
    let ids: Vec<_> = roots.iter().map(|node| recording.ids[&Arc::as_ptr(node)]).collect();
    Ok(evaluate_outputs(&recording.graph, &leaves(&recording)?, &words(&recording), &ids))
}

/// The graph that the tensors were recorded as, from the tensors they start from.
pub fn graph(outputs: &[Tensor]) -> Result<Graph> {
    let roots: Vec<_> = outputs.iter().map(|t| t.node.clone()).collect();
    Ok(Recording::of(&roots, true)?.graph)
}

/// Where a tensor's elements are: in which input, from which element on.
fn place(tensor: &Tensor, recording: &Recording) -> Option<(usize, usize)> {
    let Some(KnownValue::Memory { memory, offset, .. }) = tensor.node.value() else { return None };
    let at = recording.inputs.iter().position(|input| input.identity() == memory.identity())?;
    Some((at, offset))
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
        let id = recording
            .graph
            .ids()
            .find(|&id| matches!(recording.graph.node(id).op, farad_ir::Op::Input(m) if m == n));
        let node = recording.graph.node(id.expect("every input has a node"));
        let device = recording.nodes[0].0.device.clone();
        let len = node.shape.numel() * node.dtype.size();
        let bytes =
            if len == 0 { vec![] } else { device.0.backend.read(&recording.inputs[n], 0, len).wait()? };
        all.push(widened(node.dtype, &bytes));
    }
    Ok(all)
}

/// Elements from their bytes on a device.
fn widened(dtype: DType, bytes: &[u8]) -> Values {
    fn of<T: Element>(bytes: &[u8], widen: impl Fn(T) -> f64) -> Values {
        Values::Float(T::from_bytes(bytes).into_iter().map(widen).collect())
    }
    fn whole<T: Element>(bytes: &[u8], widen: impl Fn(T) -> i64) -> Values {
        Values::Int(T::from_bytes(bytes).into_iter().map(widen).collect())
    }
    match dtype {
        DType::F32 => of(bytes, |x: f32| x as f64),
        DType::F16 => of(bytes, half::f16::to_f64),
        DType::BF16 => of(bytes, half::bf16::to_f64),
        DType::F64 => Values::Float(bytemuck::pod_collect_to_vec(bytes)),
        DType::I32 => whole(bytes, |x: i32| x as i64),
        DType::U32 => whole(bytes, |x: u32| x as i64),
        DType::I64 => whole(bytes, |x: i64| x),
        DType::U64 => whole(bytes, |x: u64| x as i64),
        DType::I8 => whole(bytes, |x: i8| x as i64),
        DType::I16 => whole(bytes, |x: i16| x as i64),
        DType::U8 => whole(bytes, |x: u8| x as i64),
        DType::U16 => whole(bytes, |x: u16| x as i64),
        DType::Bool => whole(bytes, |x: bool| x as i64),
    }
}

fn words(recording: &Recording) -> Vec<Scalar> {
    let mut numbers = vec![Scalar::f32(0.0); recording.words.len()];
    for node in &recording.graph.nodes {
        if let farad_ir::Op::Parameter(n) = node.op {
            numbers[n] = Scalar::from_words(node.dtype, &recording.words, n);
        }
    }
    numbers
}
