//! The kinds of training that learn networks, one row each: where `farad export --format onnx` gets models from.

use farad::fit::Trained;
use farad::nn::Module;
use farad::run::Run;
use farad::train::{Inputs, Outputs, Predictor};
use farad::{DType, Device};
use farad_lm::train::Learned;
use farad_onnx::proto::{Message, ModelProto, StringStringEntryProto};
use farad_onnx::{Ports, export};

use crate::error::{Error, Result};

/// The note of an exported model that says what it takes and says, as JSON.
pub const SIGNATURE: &str = "farad.signature";

/// A kind of training that learns networks.
struct Network {
    kind: &'static str,
    /// What the file is called, and the model.
    model: fn(&Run) -> Result<(String, ModelProto)>,
}

const NETWORKS: [Network; 2] = [
    Network { kind: farad::fit::KIND, model: fitted },
    Network { kind: farad_lm::train::KIND, model: language },
];

/// The network of a run as an ONNX file: its name and its bytes.
pub fn onnx(run: &Run) -> Result<(String, Vec<u8>)> {
    let path = || run.path().display().to_string();
    let network = NETWORKS.iter().find(|network| network.kind == run.kind());
    let network = network.ok_or_else(|| Error::NoNetwork { path: path(), kind: run.kind().into() })?;
    let (name, model) = (network.model)(run)?;
    Ok((format!("{name}.onnx"), model.encode()))
}

/// A network on a data set: scaling is part of the graph, names are notes.
fn fitted(run: &Run) -> Result<(String, ModelProto)> {
    let trained = Trained::of(run, &Device::cpu())?;
    let signature = trained.signature();
    let shape = signature.inputs.shape();
    let (output, classes) = match &signature.outputs {
        Outputs::Classes(classes) => ("probabilities", Some(("classes", classes))),
        Outputs::Numbers(_) => ("values", None),
    };
    let ports = Ports { input: "input", shape: &shape, dtype: DType::F32, output };
    let mut model = export(&trained.state(), &ports, |x| trained.forward(x))?;
    let columns = match &signature.inputs {
        Inputs::Table { columns, .. } => Some(("columns", columns)),
        Inputs::Pictures { .. } => None,
    };
    let lists = classes.into_iter().chain(columns);
    let notes = lists.map(|(key, names)| (key, serde_json::to_string(names).unwrap_or_default()));
    note(&mut model, notes.chain([(SIGNATURE, serde_json::to_string(signature).unwrap_or_default())]));
    Ok((trained.name(), model))
}

/// A language model: tokens `[batch, context]` in, logits of the next token at every place out.
fn language(run: &Run) -> Result<(String, ModelProto)> {
    let learned = Learned::of(run, &Device::cpu())?;
    let context = learned.model.options().context;
    let ports = Ports { input: "tokens", shape: &[context], dtype: DType::I32, output: "logits" };
    let mut model = export(&learned.model.state(), &ports, |tokens| learned.model.forward(tokens))?;
    note(&mut model, [("farad.tokenizer", serde_json::to_string(&learned.tokenizer).unwrap_or_default())]);
    Ok(("lm".into(), model))
}

fn note<'a>(model: &mut ModelProto, notes: impl IntoIterator<Item = (&'a str, String)>) {
    let notes = notes.into_iter().map(|(key, value)| StringStringEntryProto { key: key.into(), value });
    model.metadata_props.extend(notes);
    model.producer_version = env!("CARGO_PKG_VERSION").into();
}
