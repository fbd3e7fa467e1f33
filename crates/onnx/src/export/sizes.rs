//! Sizes in the file: numbers, or multiples of the batch size. `forward` is recorded with batches of 2 and 3;
//! sizes that differ must be multiples of the batch size.

use farad_ir::Shape;

use crate::error::OnnxError;

/// The two batch sizes that are recorded.
pub const BATCHES: (usize, usize) = (2, 3);

/// The size of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A fixed size.
    Fixed(usize),
    /// This many times the batch size.
    Batch(usize),
}

impl Size {
    /// From the size in both recordings.
    pub fn of(what: &str, a: usize, b: usize) -> Result<Size, OnnxError> {
        match a / BATCHES.0 {
            _ if a == b => Ok(Size::Fixed(a)),
            times if times * BATCHES.0 == a && times * BATCHES.1 == b => Ok(Size::Batch(times)),
            _ => Err(OnnxError::Export {
                what: format!("{what}: a size is not a multiple of the batch"),
                found: format!("{a} vs {b} for {} and {} samples", BATCHES.0, BATCHES.1),
            }),
        }
    }

    /// The sizes of all axes.
    pub fn all(what: &str, a: Shape, b: Shape) -> Result<Vec<Size>, OnnxError> {
        if a.rank() != b.rank() {
            return Err(differ(what, a.rank(), b.rank()));
        }
        a.iter().zip(b.iter()).map(|(&a, &b)| Size::of(what, a, b)).collect()
    }

    /// The number, if it is fixed.
    pub fn fixed(self) -> Option<usize> {
        match self {
            Size::Fixed(size) => Some(size),
            Size::Batch(_) => None,
        }
    }
}

/// The error for an op that behaves differently for another batch size.
pub fn differ(what: &str, a: impl std::fmt::Display, b: impl std::fmt::Display) -> OnnxError {
    OnnxError::Export {
        what: format!("{what}: it depends on the batch size"),
        found: format!("{a} vs {b} for {} and {} samples", BATCHES.0, BATCHES.1),
    }
}
