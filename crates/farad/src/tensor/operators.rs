//! `+ - * / % & | ^ << >> - !` on tensors and numbers, in every mix of references and values.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use farad_ir::{Binary, Scalar, Unary};

use super::Tensor;

/// What may stand beside a tensor in an op: a tensor or a number.
pub trait Operand {
    /// The operand as a tensor, to stand beside `lhs`.
    fn beside(self, lhs: &Tensor) -> Tensor;
}

impl Operand for &Tensor {
    fn beside(self, _: &Tensor) -> Tensor {
        self.clone()
    }
}

impl Operand for Tensor {
    fn beside(self, _: &Tensor) -> Tensor {
        self
    }
}

/// The number as a constant of the tensor's dtype; a fraction beside integers makes floats.
#[track_caller]
fn constant(value: f64, beside: &Tensor) -> Tensor {
    let whole = value.fract() == 0.0;
    let dtype = if beside.dtype().is_float() || whole { beside.dtype() } else { farad_ir::DType::F32 };
    Tensor::filled(Scalar::of(dtype, value), farad_ir::Shape::scalar(), beside.device())
}

macro_rules! number_operands {
    ($($number:ty),*) => {$(
        impl Operand for $number {
            #[track_caller]
            fn beside(self, lhs: &Tensor) -> Tensor {
                constant(self as f64, lhs)
            }
        }
    )*};
}
number_operands!(f32, f64, i32, u32);

macro_rules! operators {
    ($($trait:ident $method:ident $variant:ident),*) => {$(
        impl<T: Operand> $trait<T> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                Tensor::binary(Binary::$variant, self, &other.beside(self))
            }
        }
        impl<T: Operand> $trait<T> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                Tensor::binary(Binary::$variant, &self, &other.beside(&self))
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
                Tensor::binary(Binary::$variant, &constant(self as f64, other), other)
            }
        }
        impl $trait<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                Tensor::binary(Binary::$variant, &constant(self as f64, &other), &other)
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
