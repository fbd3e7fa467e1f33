//! `+ - * / % & | ^ << >> - !` on tensors and numbers, in every mix of references and values.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use farad_ir::{Binary, DType, Scalar, Shape, Unary};

use super::Tensor;

/// What may stand beside a tensor in an op: a tensor or a number.
pub trait Operand {
    /// The operand as a tensor, to stand beside `lhs` in an op of this name.
    fn beside(self, op: &'static str, lhs: &Tensor) -> Tensor;
}

impl Operand for &Tensor {
    fn beside(self, _: &'static str, _: &Tensor) -> Tensor {
        self.clone()
    }
}

impl Operand for Tensor {
    fn beside(self, _: &'static str, _: &Tensor) -> Tensor {
        self
    }
}

/// The number as a constant of the dtype that the tensor is computed in; a fraction or an infinity beside integers makes
/// floats. Panics if it is a whole number which the dtype does not have.
#[track_caller]
fn constant(op: &'static str, value: f64, beside: &Tensor) -> Tensor {
    let own = super::meet(op, beside.dtype(), beside.dtype());
    let dtype = if own.is_float() || value.fract() == 0.0 { own } else { DType::F32 };
    check_number(op, value, dtype);
    Tensor::filled(Scalar::of(dtype, value), Shape::scalar(), beside.device())
}

/// Panics unless the integer or `bool` dtype can hold this number.
#[track_caller]
pub(super) fn check_number(op: &'static str, value: f64, dtype: DType) {
    let (least, most) = match dtype {
        DType::I8 => (i8::MIN as f64, i8::MAX as f64),
        DType::I16 => (i16::MIN as f64, i16::MAX as f64),
        DType::U16 => (0.0, u16::MAX as f64),
        // The largest float below 2^64.
        DType::U64 => (0.0, 18_446_744_073_709_549_568.0),
        DType::I32 => (i32::MIN as f64, i32::MAX as f64),
        DType::U32 => (0.0, u32::MAX as f64),
        DType::U8 => (0.0, u8::MAX as f64),
        DType::Bool => (0.0, 1.0),
        // The largest float below 2^63.
        DType::I64 => (i64::MIN as f64, 9_223_372_036_854_774_784.0),
        _ => return,
    };
    crate::ensure!(
        (least..=most).contains(&value) && value.fract() == 0.0,
        "{op}: {dtype} does not have this number ({value} vs {least} to {most})\nhelp: cast the tensor first, e.g. `.cast(DType::F32)`"
    );
}

macro_rules! number_operands {
    ($($number:ty),*) => {$(
        impl Operand for $number {
            #[track_caller]
            fn beside(self, op: &'static str, lhs: &Tensor) -> Tensor {
                constant(op, self as f64, lhs)
            }
        }
    )*};
}
number_operands!(f32, f64, i32, u32);

/// Integers of 64 bits, which a float may not hold.
macro_rules! long_operands {
    ($($number:ty as $dtype:ident),*) => {$(
        impl Operand for $number {
            #[track_caller]
            fn beside(self, op: &'static str, lhs: &Tensor) -> Tensor {
                if lhs.dtype() == DType::$dtype {
                    let scalar = Scalar::int(DType::$dtype, self as i64);
                    return Tensor::filled(scalar, Shape::scalar(), lhs.device());
                }
                constant(op, self as f64, lhs)
            }
        }
    )*};
}
long_operands!(i64 as I64, u64 as U64);

macro_rules! operators {
    ($($trait:ident $method:ident $variant:ident),*) => {$(
        impl<T: Operand> $trait<T> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                Tensor::binary(Binary::$variant, self, &other.beside(stringify!($method), self))
            }
        }
        impl<T: Operand> $trait<T> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                Tensor::binary(Binary::$variant, &self, &other.beside(stringify!($method), &self))
            }
        }
    )*};
}

macro_rules! operators_on_numbers {
    ($($trait:ident $method:ident $variant:ident),*) => {$(
        operators_on_numbers!(@number $trait $method $variant f64);
    )*};
    (@number $trait:ident $method:ident $variant:ident $number:ty) => {
        impl $trait<&Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Tensor {
                Tensor::binary(Binary::$variant, &constant(stringify!($method), self, other), other)
            }
        }
        impl $trait<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                Tensor::binary(Binary::$variant, &constant(stringify!($method), self, &other), &other)
            }
        }
    };
}
operators!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem);
operators!(BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor, Shl shl Shl, Shr shr Shr);
operators_on_numbers!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem);

impl Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.unary(Unary::Neg)
    }
}

impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.unary(Unary::Neg)
    }
}

impl Not for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        self.unary(Unary::Not)
    }
}

impl Not for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        self.unary(Unary::Not)
    }
}
