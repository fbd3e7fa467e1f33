//! ONNX models at run time: read from a file, run on any device, trained like other modules.
//!
//! [`Model`] is a module of `nn`: float initializers are its parameters. [`proto`] has the messages of the file
//! format, to read and to write. `value` defines the values of a running model, and `ops` has one row per op.

mod array;
mod call;
mod decode;
mod error;
mod export;
mod graph;
mod host;
mod kind;
mod model;
mod movement;
mod ops;
mod pointwise;
pub mod proto;
mod reduce;
mod sort;
mod value;

pub use decode::numbers;
pub use error::{OnnxError, UnsupportedOp};
pub use export::{Ports, export};
pub use kind::{Class, Kind};
pub use model::{Model, Port};
