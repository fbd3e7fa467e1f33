//! The kinds of training whose results are ONNX models, too, one row each: where `farad export --format onnx` gets them from.

mod gates;

use farad::fit::Trained;
use farad::nn::Module;
use farad::run::Run;
use farad::train::{Inputs, Outputs, Predictor, Signature};
use farad::{DType, Device};
use farad_lm::train::Learned;
use farad_logic::{boolean, classify};
use farad_onnx::proto::{Message, ModelProto, StringStringEntryProto, data_type};
use farad_onnx::{Ports, export};

use crate::error::{Error, Result};
use crate::kinds::KINDS;
use gates::GateSheet;

/// The note of an exported model that says what it takes and says, as JSON.
pub const SIGNATURE: &str = "farad.signature";
/// The note that has the names of classes, as JSON.
pub const CLASSES: &str = "classes";

/// A kind of training with a model.
struct NetworkKind {
    kind: &'static str,
    /// What the file is called, and the model.
    model: fn(&Run) -> Result<(String, ModelProto)>,
}

const NETWORKS: [NetworkKind; 4] = [
    NetworkKind { kind: farad::fit::KIND, model: fitted },
    NetworkKind { kind: farad_lm::train::KIND, model: language },
    NetworkKind { kind: classify::KIND, model: classifier },
    NetworkKind { kind: boolean::KIND, model: function },
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
    let output = match &signature.outputs {
        Outputs::Classes(_) => "probabilities",
        Outputs::Numbers(_) => "values",
    };
    let ports = Ports { input: "input", shape: &shape, dtype: DType::F32, output };
    let mut model = export(&trained.state(), &ports, |x| trained.forward(x))?;
    describe(&mut model, signature);
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

/// The circuit of a classifier: numbers in, the number of the class out.
fn classifier(run: &Run) -> Result<(String, ModelProto)> {
    let (circuit, name) = (classify::CircuitInUse::of(run)?, classify::LearnedClassifier::of(run)?.name());
    let (signature, netlist) = (circuit.signature(), circuit.netlist());
    let shape = signature.inputs.shape();
    let brightest = matches!(signature.inputs, Inputs::Pictures { .. }).then_some(classify::BRIGHTEST);
    let mut sheet = GateSheet::default();
    let bits = sheet.encoded("input", shape.numel(), circuit.thresholds(), brightest);
    let wires: Vec<_> = netlist.outputs.iter().map(|output| output.wire).collect();
    let class = sheet.gates(netlist, &bits, &wires);
    let class = sheet.number(&class, wires.len());
    let mut model = sheet.model(("input", &shape), &class, ("class", data_type::INT64, &[]));
    describe(&mut model, signature);
    Ok((name, model))
}

/// A Boolean function: bits in, bits out, both as numbers.
fn function(run: &Run) -> Result<(String, ModelProto)> {
    let (netlist, predictor) =
        (boolean::simplified(run, &())?, KINDS.of(run)?.predictor(run, &Device::cpu())?);
    let mut sheet = GateSheet::default();
    let bits = sheet.bits("input");
    let wires: Vec<_> = netlist.outputs.iter().map(|output| output.wire).collect();
    let values = sheet.gates(&netlist, &bits, &wires);
    let values = sheet.numbers(&values);
    let output = ("values", data_type::FLOAT, &[wires.len()][..]);
    let mut model = sheet.model(("input", &[netlist.inputs.len()]), &values, output);
    describe(&mut model, predictor.signature());
    Ok((netlist.name.clone(), model))
}

/// Notes of what goes in and comes out.
fn describe(model: &mut ModelProto, signature: &Signature) {
    let classes = match &signature.outputs {
        Outputs::Classes(classes) => Some((CLASSES, classes)),
        Outputs::Numbers(_) => None,
    };
    let features = signature.inputs.features();
    let columns = match &signature.inputs {
        Inputs::Table { .. } => Some(("columns", &features)),
        Inputs::Pictures { .. } | Inputs::Array { .. } => None,
    };
    let lists = classes.into_iter().chain(columns);
    let notes = lists.map(|(key, names)| (key, serde_json::to_string(names).unwrap_or_default()));
    note(model, notes.chain([(SIGNATURE, serde_json::to_string(signature).unwrap_or_default())]));
}

fn note<'a>(model: &mut ModelProto, notes: impl IntoIterator<Item = (&'a str, String)>) {
    let notes = notes.into_iter().map(|(key, value)| StringStringEntryProto { key: key.into(), value });
    model.metadata_props.extend(notes);
    model.producer_version = env!("CARGO_PKG_VERSION").into();
}
