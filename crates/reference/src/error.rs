//! What can go wrong: out of memory, bad data, or memory that does not fit a program.

use std::panic::Location;

/// Why the device could not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Error {
    #[error(
        "allocate: out of memory: asked {bytes} bytes ({held} held vs {limit} allowed)\n\
         help: use smaller batches, or drop tensors that are not needed"
    )]
    OutOfMemory { bytes: usize, held: usize, limit: usize },
    #[error("{op}: index out of range: {} ({index} vs {size})", built_at(.location))]
    Index { op: String, index: i64, size: usize, location: Option<&'static Location<'static>> },
    #[error("{op}: memory of another device\nhelp: move the tensor with `to_device`")]
    Foreign { op: &'static str },
    #[error("{op}: out of range: {bytes} bytes from {offset} (end {} vs size {size})", .offset.saturating_add(*.bytes))]
    Range { op: &'static str, offset: usize, bytes: usize, size: usize },
    #[error("run: {what} {which} is too small: bytes ({got} vs {need})")]
    TooSmall { what: &'static str, which: usize, got: usize, need: usize },
    #[error("run: wrong number of {what} ({got} vs {need})")]
    Count { what: &'static str, got: usize, need: usize },
}

fn built_at(location: &Option<&'static Location<'static>>) -> String {
    location
        .map_or_else(|| "built at an unknown line".into(), |l| format!("built at {}:{}", l.file(), l.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_house_form() {
        let error = Error::OutOfMemory { bytes: 64, held: 11, limit: 70 };
        let text = "allocate: out of memory: asked 64 bytes (11 held vs 70 allowed)";
        assert_eq!(error.to_string().lines().next(), Some(text));
        let error = Error::Count { what: "inputs", got: 1, need: 2 };
        assert_eq!(error.to_string(), "run: wrong number of inputs (1 vs 2)");
        let error = Error::Range { op: "read", offset: 8, bytes: 300, size: 256 };
        assert_eq!(error.to_string(), "read: out of range: 300 bytes from 8 (end 308 vs size 256)");
    }
}
