//! ONNX models at run time: read from a file, run on any device, trained like other modules.
//!
//! [`Model`] is a module of `nn`: float initializers are its parameters. [`proto`] has the messages of the file, to read
//! and to write. What a value is while a model runs is in `value`, what every op does in `ops`, one row per op.

#[allow(dead_code)] // the ops will use it
mod array;
#[allow(dead_code)]
mod decode;
mod error;
mod export;
mod kind;
mod model;
pub mod proto;
mod sort;
#[allow(dead_code)]
mod value;

pub use error::{OnnxError, UnsupportedOp};
pub use export::{Ports, export};
pub use kind::{Class, Kind};
pub use model::{Model, Port};
