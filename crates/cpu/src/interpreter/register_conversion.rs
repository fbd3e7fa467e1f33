//! Conversions between register types, and small queries on the op tables.

use farad_ir::{Binary, DType, Scalar};

use crate::interpreter::bytecode::{Conversion, WordType};

/// The op with its operands swapped, if there is one.
pub fn turn(binary: Binary) -> Option<Binary> {
    match binary {
        Binary::Less => Some(Binary::Greater),
        Binary::LessEqual => Some(Binary::GreaterEqual),
        Binary::Greater => Some(Binary::Less),
        Binary::GreaterEqual => Some(Binary::LessEqual),
        _ => binary.commutes().then_some(binary),
    }
}

/// The bits of a constant in registers of `dtype`.
pub fn register_of(scalar: Scalar, dtype: DType) -> u64 {
    if scalar.dtype.register() == dtype.register() {
        scalar.register()
    } else {
        scalar.cast(dtype).register()
    }
}

/// The conversions from one kind of register to that of `to`, in order.
pub fn conversions(from: WordType, to: DType) -> Vec<Conversion> {
    use Conversion::*;
    let rounding = match to {
        DType::F16 => Some(RoundHalf),
        DType::BF16 => Some(RoundBrain),
        _ => None,
    };
    let first = match (from, to) {
        // Conversions between 64-bit integers change no bits.
        (WordType::Long | WordType::LongWord, DType::I64 | DType::U64) | (WordType::Double, DType::F64) => {
            None
        }
        (kind, to) if kind.is_wide() => Some(To(kind, if to.is_float() { to.register() } else { to })),
        (kind, to) if to.is_wide() => Some(To(kind, to)),
        (WordType::Bool, to) if !to.is_float() => None,
        (kind, DType::I8 | DType::I16 | DType::U16) => Some(To(kind, to)),
        (WordType::Float, DType::I32) => Some(FloatToInt),
        (WordType::Float, DType::U32) => Some(FloatToWord),
        (WordType::Float, DType::U8) => Some(FloatToByte),
        (WordType::Float, DType::Bool) => Some(FloatToBool),
        (WordType::Float, _) => None,
        (WordType::Int | WordType::Word, DType::Bool) => Some(WordToBool),
        (WordType::Int | WordType::Word, DType::U8) => Some(WordToByte),
        (WordType::Int, to) if to.is_float() => Some(IntToFloat),
        (_, to) if to.is_float() => Some(WordToFloat),
        _ => None,
    };
    first.into_iter().chain(rounding).collect()
}
