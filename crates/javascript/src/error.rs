//! What cannot be written as JavaScript.

use farad_tensor::DType;

/// Why a computation cannot be written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum ScriptError {
    #[error("javascript: elements of dtype {dtype} cannot be written\nhelp: f32, i32, u32 and bool can")]
    DType { dtype: DType },
    #[error("javascript: {what} cannot be written: in the kernel `{label}`")]
    Form { what: &'static str, label: String },
}

impl From<ScriptError> for farad_tensor::Error {
    fn from(error: ScriptError) -> farad_tensor::Error {
        farad_tensor::Error::Part(Box::new(error))
    }
}
