//! What can go wrong on a GPU. All messages have one form:
//! `op: what is wrong: operands (the two numbers that disagree)`.

use std::panic::Location;
use std::sync::Arc;

use farad_runtime::Holdings;

/// Why the device could not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Error {
    #[error(
        "open: no such adapter: index {index} (index {index} vs {count} adapters)\n\
         help: install a Vulkan driver, or list the adapters with `farad devices`"
    )]
    NoAdapter { index: usize, count: usize },
    #[error("open: the adapter could not be opened: {name}: {message}")]
    Open { name: String, message: String },
    #[error("device lost: {message}\nhelp: the driver reset or removed the GPU; open the device again")]
    Lost { message: String },
    #[error(
        "{op}: out of device memory: {} ({} held{}): {holdings}\n\
         help: use smaller batches or `checkpoint`, or drop tensors that are not needed",
        asked(*.asked_bytes), .holdings.total(), allowed(*.limit)
    )]
    OutOfMemory { op: String, asked_bytes: Option<usize>, limit: Option<u64>, holdings: Holdings },
    #[error(
        "{op}: memory of another device: {memory}, used on {device}\n\
         help: move the tensor with `to_device`"
    )]
    Foreign { op: &'static str, memory: String, device: String },
    #[error("validation: {message}")]
    Validation { message: String },
    #[error("internal device error: {message}")]
    Internal { message: String },
    #[error("{op}: too large for the device ({asked} bytes vs at most {limit})")]
    TooLarge { op: &'static str, asked: usize, limit: usize },
    #[error("{label}: the shader does not compile: {message}")]
    Shader { label: String, message: String, wgsl: Arc<str> },
    #[error("{op}: index out of range{} (index {index} vs size {size}){}", built(*.location), heard(*.elsewhere))]
    Index {
        op: String,
        location: Option<&'static Location<'static>>,
        index: i64,
        size: usize,
        /// Whether other threads ran the program too, or only they.
        elsewhere: bool,
    },
    #[error("{op}: out of range: {bytes} bytes from {offset} (end {} vs size {size})", .offset.saturating_add(*.bytes))]
    Range { op: &'static str, offset: usize, bytes: usize, size: usize },
    #[error("{op}: offset not aligned: {offset} (remainder {} vs multiples of {alignment})", .offset % .alignment)]
    Alignment { op: &'static str, offset: usize, alignment: usize },
    #[error("run: wrong number of {what} ({got} vs {wanted})")]
    Arguments { what: &'static str, got: usize, wanted: usize },
    #[error(
        "{label}: slices of a loop start inside a word: custom op on {dtype} \
         ({bytes} bytes per slice vs multiples of 4)"
    )]
    Slice { label: String, dtype: &'static str, bytes: usize },
    #[error("{label}: too many storage buffers ({got} vs at most {limit})")]
    Bindings { label: String, got: usize, limit: usize },
}

fn asked(bytes: Option<usize>) -> String {
    bytes.map_or_else(
        || "asked an unknown number of bytes".to_string(),
        |bytes| format!("asked {bytes} bytes"),
    )
}

fn allowed(limit: Option<u64>) -> String {
    limit.map_or_else(String::new, |limit| format!(" vs {limit} allowed"))
}

/// A hint for a thread that may have received another thread's error.
fn heard(elsewhere: bool) -> &'static str {
    if elsewhere {
        "\nhelp: another thread ran this op, so the data of this thread may be valid; read it again"
    } else {
        ""
    }
}

impl Error {
    /// The same error, received by a thread other than the one that ran the op, or one of several.
    pub(crate) fn heard_elsewhere(self, other: bool) -> Error {
        match self {
            Error::Index { op, location, index, size, .. } => {
                Error::Index { op, location, index, size, elsewhere: other }
            }
            error => error,
        }
    }
}

fn built(location: Option<&'static Location<'static>>) -> String {
    location.map_or_else(String::new, |at| format!(": built at {}:{}", at.file(), at.line()))
}

impl Error {
    /// Converts wgpu's error; `refusal` describes the request if memory ran out.
    pub(crate) fn from_wgpu(error: wgpu::Error, refusal: impl FnOnce() -> Error) -> Error {
        match error {
            wgpu::Error::OutOfMemory { .. } => refusal(),
            wgpu::Error::Validation { description, .. } => Error::Validation { message: tidy(&description) },
            wgpu::Error::Internal { description, .. } => Error::Internal { message: tidy(&description) },
        }
    }
}

/// wgpu's message without its heading and indentation.
pub(crate) fn tidy(description: &str) -> String {
    let text = description.trim().strip_prefix("Validation Error").unwrap_or(description).trim();
    text.strip_prefix("Caused by:").unwrap_or(text).trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_house_form() {
        let large = Error::TooLarge { op: "allocate", asked: 10, limit: 4 };
        assert_eq!(large.to_string(), "allocate: too large for the device (10 bytes vs at most 4)");
        let here = Location::caller();
        let index =
            Error::Index { op: "gather".into(), location: Some(here), index: -1, size: 5, elsewhere: false };
        let at = format!("{}:{}", here.file(), here.line());
        assert_eq!(
            index.to_string(),
            format!("gather: index out of range: built at {at} (index -1 vs size 5)")
        );
        assert!(index.heard_elsewhere(true).to_string().ends_with(
            "(index -1 vs size 5)\nhelp: another thread ran this op, so the data of this thread may be valid; read it again"
        ));
        let range = Error::Range { op: "write", offset: 8, bytes: 300, size: 256 };
        assert_eq!(range.to_string(), "write: out of range: 300 bytes from 8 (end 308 vs size 256)");
        let alignment = Error::Alignment { op: "copy", offset: 6, alignment: 4 };
        assert_eq!(alignment.to_string(), "copy: offset not aligned: 6 (remainder 2 vs multiples of 4)");
        let holdings = Holdings { tensors: 9, blocks: 1, pool: 2, staging: 3, parameters: 4 };
        let memory =
            Error::OutOfMemory { op: "allocate".into(), asked_bytes: Some(7), limit: Some(20), holdings };
        assert_eq!(
            memory.to_string().lines().next().unwrap(),
            "allocate: out of device memory: asked 7 bytes (19 held vs 20 allowed): \
             tensors 9, plan blocks 1, pool 2, staging 3, parameters 4 bytes"
        );
        let foreign = Error::Foreign { op: "copy", memory: "one".into(), device: "other".into() };
        assert!(foreign.to_string().starts_with("copy: memory of another device: one, used on other"));
        assert_eq!(tidy("Validation Error\n\nCaused by:\n  In a pass\n"), "In a pass");
    }
}
