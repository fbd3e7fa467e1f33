//! Writes models as ONNX files: what `forward` records becomes nodes of opset 21.
//!
//! `forward` is recorded twice, with two batch sizes. Sizes that scale with the batch become dynamic in the
//! file; any other difference between the two graphs is an error. [`sizes`] compares them, [`writer`] holds the
//! file's nodes and constants, [`rules`] has one rule per family of ops, [`contraction`] handles products and
//! convolutions, [`recognize`] finds groups of ops that are one ONNX op, and [`scan`] handles loops.
//!
//! Invariant: a parameter is an initializer under its own name, and nothing in the file depends on the recorded
//! batch sizes.

mod contraction;
mod recognize;
mod rules;
mod scan;
mod sizes;
mod writer;

use std::cell::Cell;

use farad_nn::Result;
use farad_tensor::engine::{Traced, composing};
use farad_tensor::{DType, Device, Tensor};

use crate::proto::{DimensionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, data_type};
use sizes::BATCHES;
use writer::{ExportScope, Writer, element};

/// The opset version of written files.
const OPSET: i64 = 21;
/// The name of a dynamic batch size in files.
const BATCH: &str = "batch";

/// The input and the output of an exported model.
pub struct Ports<'a> {
    /// The input's name.
    pub input: &'a str,
    /// The shape of one sample.
    pub shape: &'a [usize],
    /// `F32`, or `I32` for tokens, which become 64-bit integers in the file.
    pub dtype: DType,
    /// The output's name.
    pub output: &'a str,
}

/// Writes what `forward` computes from `[batch, ..]` as a model. The tensors of `state` (see
/// [`Module::state`](farad_nn::layers::Module::state)) become initializers under their names; the batch may
/// have any size.
///
/// ```
/// use farad::prelude::*;
/// use farad_onnx::{Ports, export};
/// let model = Sequential::new((Linear::new(4, 8), Relu, Linear::new(8, 3)));
/// let ports = Ports { input: "x", shape: &[4], dtype: DType::F32, output: "y" };
/// let file = export(&model.state(), &ports, |x| model.forward(x))?;
/// let names: Vec<&str> = file.graph.as_ref().unwrap().initializer.iter().map(|one| one.name.as_str()).collect();
/// assert!(names.contains(&"0.weight"));
/// # Ok::<(), farad::Error>(())
/// ```
pub fn export(
    state: &[(String, Tensor)],
    ports: &Ports,
    forward: impl Fn(&Tensor) -> Tensor,
) -> Result<ModelProto> {
    let device = state.first().map_or_else(Device::cpu, |(_, tensor)| tensor.device().clone());
    let traced = |batch: usize| {
        let sizes: Vec<usize> = std::iter::once(batch).chain(ports.shape.iter().copied()).collect();
        let x = Tensor::zeros(sizes.as_slice(), &device).cast(ports.dtype);
        let y = {
            let _recording = ExportRecording::start();
            composing(|| forward(&x))
        };
        let leaves: Vec<&Tensor> =
            std::iter::once(&x).chain(state.iter().map(|(_, tensor)| tensor)).collect();
        Traced::of(&[&y], &leaves)
    };
    let [a, b] = [traced(BATCHES.0)?, traced(BATCHES.1)?];
    let mut scope = ExportScope::new(&a.graph, &b.graph)?;
    let mut writer = Writer::new(ports.input);
    let outputs = &a.outputs[..1];
    writer.leaves(&mut scope, &a, &b, state, outputs)?;
    writer.graph(&mut scope, outputs)?;
    let last = scope.name(outputs[0]).to_string();
    writer.nodes.push(NodeProto::new("Identity", &[&last], &[ports.output], vec![]));
    let result: Vec<Option<usize>> = scope.sizes(outputs[0])?.iter().map(|size| size.fixed()).collect();
    let wide = if ports.dtype.is_float() { element(ports.dtype)? } else { data_type::INT64 };
    let sample: Vec<Option<usize>> =
        std::iter::once(None).chain(ports.shape.iter().copied().map(Some)).collect();
    let graph = GraphProto {
        name: "farad".into(),
        input: vec![ValueInfoProto::batch(ports.input, wide, &sample)],
        output: vec![ValueInfoProto::batch(ports.output, element(a.graph.dtype(outputs[0]))?, &result)],
        node: writer.prelude.into_iter().chain(writer.nodes).collect(),
        initializer: writer.initializers,
        ..GraphProto::default()
    };
    Ok(ModelProto::new(graph, OPSET))
}

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is recording an export: an imported model must not read its values then.
pub fn is_recording() -> bool {
    RECORDING.get()
}

/// Recording is on until this is dropped.
struct ExportRecording;

impl ExportRecording {
    fn start() -> ExportRecording {
        RECORDING.set(true);
        ExportRecording
    }
}

impl Drop for ExportRecording {
    fn drop(&mut self) {
        RECORDING.set(false);
    }
}

impl ValueInfoProto {
    /// A tensor of this element type; an axis with `None` has the batch size.
    pub fn batch(name: &str, data_type: i64, shape: &[Option<usize>]) -> ValueInfoProto {
        let mut value = ValueInfoProto::tensor(name, data_type, shape);
        let shape = value.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()?.shape.as_mut());
        let free = |axis: &&mut DimensionProto| axis.dim_value.is_none();
        for axis in shape.into_iter().flat_map(|shape| &mut shape.dim).filter(free) {
            axis.dim_param = BATCH.into();
        }
        value
    }
}
