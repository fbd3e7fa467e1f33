//! How weights are held in memory by a model that only writes.

use farad::{DType, Tensor, kept};

/// The numbers that weights are held as. Products are computed in f32 whatever they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightFormat {
    /// Four bytes each.
    #[default]
    F32,
    /// Two bytes each: 11 bits of precision, up to 65,504.
    F16,
    /// Two bytes each: 8 bits of precision, the range of f32; tables of tokens are f16.
    BF16,
    /// One byte each, with a scale per output of a product; tables of tokens are f16.
    I8,
}

impl WeightFormat {
    /// All of them.
    pub const ALL: [WeightFormat; 4] =
        [WeightFormat::F32, WeightFormat::F16, WeightFormat::BF16, WeightFormat::I8];

    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            WeightFormat::F32 => "f32",
            WeightFormat::F16 => "f16",
            WeightFormat::BF16 => "bf16",
            WeightFormat::I8 => "i8",
        }
    }

    /// By its name.
    pub fn named(name: &str) -> Option<WeightFormat> {
        WeightFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Bytes of a number of a product and of a table.
    pub fn bytes(self) -> [u128; 2] {
        match self {
            WeightFormat::F32 => [4, 4],
            WeightFormat::F16 | WeightFormat::BF16 => [2, 2],
            WeightFormat::I8 => [1, 2],
        }
    }

    /// A table of tokens as it is held: in f16 unless all is f32, as rows of bf16 and integers cannot be looked up.
    pub(crate) fn table(self, table: &Tensor) -> Tensor {
        match self {
            WeightFormat::F32 => table.clone(),
            _ => table.cast(DType::F16),
        }
    }

    /// The weight `[inputs, outputs]` of a product as it is held, and the scales `[outputs]` of integers.
    pub(crate) fn product(self, weight: &Tensor) -> (Tensor, Option<Tensor>) {
        match self {
            WeightFormat::F32 => (weight.clone(), None),
            WeightFormat::F16 => (weight.cast(DType::F16), None),
            WeightFormat::BF16 => (weight.cast(DType::BF16), None),
            WeightFormat::I8 => {
                // A column of zeros is zeros whatever its scale.
                let scale = (weight.abs().max_axes(kept([0])) / 127.0).maximum(f64::from(f32::MIN_POSITIVE));
                let whole = (weight / &scale).round().clamp(-127.0, 127.0).cast(DType::I8);
                (whole, Some(scale.reshape([weight.size(1)])))
            }
        }
    }
}

/// A weight to compute with.
#[track_caller]
pub(super) fn computed(weight: &Tensor) -> Tensor {
    if weight.dtype() == DType::F32 { weight.clone() } else { weight.cast(DType::F32) }
}
