//! What can go wrong: out of memory, bad data, or a program that this device cannot run.

use std::panic::Location;

use farad_ir::DType;
use farad_runtime::Holdings;

/// Why the device could not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Error {
    #[error(
        "allocate: out of memory: asked {bytes} bytes ({} held{}): \
         tensors {}, plan blocks {}, pool {} bytes\n\
         help: use smaller batches or `checkpoint`, or drop tensors that are not needed",
        .holdings.tensors + .holdings.blocks + .holdings.pool, allowed(*.limit),
        .holdings.tensors, .holdings.blocks, .holdings.pool
    )]
    OutOfMemory { bytes: usize, limit: Option<usize>, holdings: Holdings },
    #[error("{op}: index out of range: {} ({index} vs {size})", built_at(.location))]
    Index { op: String, index: i64, size: usize, location: Option<&'static Location<'static>> },
    #[error("run: {what} {which} is too small: bytes ({got} vs {need})")]
    TooSmall { what: &'static str, which: usize, got: usize, need: usize },
    #[error("run: {what} {which} is misaligned: byte offset {offset} ({offset} vs a multiple of {size})")]
    Misaligned { what: &'static str, which: usize, offset: usize, size: usize },
    #[error("run: wrong number of {what} ({got} vs {need})")]
    Count { what: &'static str, got: usize, need: usize },
    #[error("load: {op} does not take {dtype} registers")]
    Register { op: String, dtype: DType },
    #[error("load: too many axes: {label} ({axes} vs at most {most})")]
    Axes { label: String, axes: usize, most: usize },
    #[error("load: a view goes beyond its buffer: {label} (index {index} vs {len} elements)")]
    View { label: String, index: i64, len: usize },
}

fn allowed(limit: Option<usize>) -> String {
    limit.map_or_else(String::new, |limit| format!(" vs {limit} allowed"))
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
        let location = Location::caller();
        let error = Error::Index { op: "gather".into(), index: 12, size: 10, location: Some(location) };
        let line = format!(
            "gather: index out of range: built at {}:{} (12 vs 10)",
            location.file(),
            location.line()
        );
        assert_eq!(error.to_string(), line);
        let holdings = Holdings { tensors: 8, blocks: 2, pool: 1, ..Holdings::default() };
        let error = Error::OutOfMemory { bytes: 64, limit: Some(70), holdings };
        assert_eq!(
            error.to_string().lines().next(),
            Some(
                "allocate: out of memory: asked 64 bytes (11 held vs 70 allowed): \
                 tensors 8, plan blocks 2, pool 1 bytes"
            )
        );
        let error = Error::TooSmall { what: "input", which: 2, got: 4, need: 8 };
        assert_eq!(error.to_string(), "run: input 2 is too small: bytes (4 vs 8)");
    }
}
