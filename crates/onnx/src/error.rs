//! What can be wrong with a model, or with its inputs.

use std::fmt;
use std::path::PathBuf;

pub use farad_tensor::{Error, Result};

/// Why a model could not be read or run.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum OnnxError {
    #[error("onnx: damaged file: {what} (byte {place})\nhelp: download or export it again")]
    Damaged { what: &'static str, place: usize },
    #[error("onnx: not a model: {what}")]
    NotAModel { what: &'static str },
    #[error("onnx: opset version is out of range: {domain} {version} (7 to {newest} are supported)")]
    Opset { domain: String, version: i64, newest: i64 },
    #[error("onnx: tensor {name}: {what}")]
    Tensor { name: String, what: String },
    #[error("onnx: tensor {name}: file {}: {what}", path.display())]
    External { name: String, path: PathBuf, what: String },
    #[error("onnx: the graph has a cycle: through {nodes}")]
    Cycle { nodes: String },
    #[error("onnx: no such value: {name}: needed by {place}")]
    NoValue { name: String, place: String },
    #[error("onnx: two values of one name: {name}")]
    NameTwice { name: String },
    #[error("onnx: the model is too large when its functions are inlined ({found} vs at most {most} nodes)")]
    TooManyNodes { found: usize, most: usize },
    #[error("onnx: functions or graphs nest too deep: {name} ({found} vs at most {most})")]
    TooDeep { name: String, found: usize, most: usize },
    #[error("onnx: not supported: {}\nhelp: docs/onnx.md lists what is", list(.ops))]
    Unsupported { ops: Vec<UnsupportedOp> },
    #[error("onnx: {node}: {what}")]
    Node { node: String, what: String },
    #[error("onnx: cannot be exported: {what} ({found})")]
    Export { what: String, found: String },
    #[error("onnx: {what}")]
    Refused { what: String },
    #[error("onnx: input {name}: {what}")]
    Input { name: String, what: String },
    #[error("onnx: the model has {found} {what}, and one was asked for: {names}")]
    NotOne { found: usize, what: &'static str, names: String },
}

/// An op that has neither a rule nor a function body, with the nodes that use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedOp {
    /// Its domain and name, like `ai.onnx.ml.TreeEnsemble`.
    pub op: String,
    /// The version of the opset that the model uses.
    pub version: i64,
    /// The nodes.
    pub nodes: Vec<String>,
}

/// Returns an error from a rule; the caller adds the node's name.
#[macro_export]
#[doc(hidden)]
macro_rules! refuse {
    ($($text:tt)*) => {
        return Err($crate::OnnxError::Refused { what: format!($($text)*) }.into())
    };
}

fn list(ops: &[UnsupportedOp]) -> String {
    let row = |op: &UnsupportedOp| {
        let shown = op.nodes.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more =
            if op.nodes.len() > 3 { format!(" and {} more", op.nodes.len() - 3) } else { String::new() };
        format!("{} (version {}) at {shown}{more}", op.op, op.version)
    };
    ops.iter().map(row).collect::<Vec<_>>().join("; ")
}

/// The same as `Display`.
impl fmt::Debug for OnnxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<OnnxError> for Error {
    fn from(error: OnnxError) -> Error {
        Error::Part(Box::new(error))
    }
}

impl From<crate::proto::WireError> for OnnxError {
    fn from(error: crate::proto::WireError) -> OnnxError {
        OnnxError::Damaged { what: error.what, place: error.place }
    }
}
