//! Pointwise primitives: one method per table row.

use farad_ir::{Binary, DType, Op, OpError, Shape, Unary};

use super::operators::Operand;
use super::{Tensor, expect, meet, raise};

macro_rules! unary_methods {
    ($($(#[doc = $doc:literal])+ $method:ident $variant:ident ($input:expr => $output:expr);)*) => {
        impl Tensor {$(
            $(#[doc = $doc])+
            ///
            /// ```
            /// use farad::prelude::*;
            #[doc = concat!("let x = Tensor::from_vec(vec![", stringify!($input), "f32], [1], &Device::cpu());")]
            #[doc = concat!("let y = x.", stringify!($method), "().to_vec::<f32>()?[0];")]
            #[doc = concat!("assert!((y - (", stringify!($output), ")).abs() < 1e-5, \"{y}\");")]
            /// # Ok::<(), farad::Error>(())
            /// ```
            #[track_caller]
            pub fn $method(&self) -> Tensor {
                self.unary(Unary::$variant)
            }
        )*}
    };
}

unary_methods! {
    /// `|x|`, element by element.
    abs Abs (-2.0 => 2.0);
    /// -1, 0 or 1 by the sign. Its gradient is zero.
    sign Sign (-2.0 => -1.0);
    /// `e^x`.
    exp Exp (1.0 => 2.7182817);
    /// Natural logarithm.
    log Log (2.7182817 => 1.0);
    /// `2^x`.
    exp2 Exp2 (3.0 => 8.0);
    /// Logarithm to base 2.
    log2 Log2 (8.0 => 3.0);
    /// Square root.
    sqrt Sqrt (9.0 => 3.0);
    /// `1 / sqrt(x)`.
    rsqrt Rsqrt (4.0 => 0.5);
    /// `1 / x`.
    recip Recip (4.0 => 0.25);
    /// Sine.
    sin Sin (1.5707964 => 1.0);
    /// Cosine.
    cos Cos (0.0 => 1.0);
    /// Hyperbolic tangent.
    tanh Tanh (0.5 => 0.46211717);
    /// Error function.
    erf Erf (0.5 => 0.5204999);
    /// `1 / (1 + e^-x)`.
    sigmoid Sigmoid (1.0 => 0.7310586);
    /// `max(x, 0)`; NaN stays NaN.
    relu Relu (-2.0 => 0.0);
    /// Largest integer not above `x`. Its gradient is zero.
    floor Floor (1.7 => 1.0);
    /// `ln(1 + x)`, right also where `x` is so small that `1 + x` is 1.
    log1p Log1p (1.0 => 0.6931472);
    /// `e^x - 1`, right also where `x` is so small that `e^x` is 1.
    expm1 Expm1 (1.0 => 1.7182818);
    /// Smallest integer not below `x`. Its gradient is zero.
    ceil Ceil (1.2 => 2.0);
    /// Nearest integer, ties to even. Its gradient is zero.
    round Round (2.5 => 2.0);
}

macro_rules! comparison_methods {
    ($($(#[doc = $doc:literal])+ $method:ident $variant:ident $result:expr;)*) => {
        impl Tensor {$(
            $(#[doc = $doc])+
            ///
            /// ```
            /// use farad::prelude::*;
            /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &Device::cpu());
            #[doc = concat!("assert_eq!(x.", stringify!($method), "(2.0).to_vec::<bool>()?, ", stringify!($result), ");")]
            /// # Ok::<(), farad::Error>(())
            /// ```
            #[track_caller]
            pub fn $method(&self, other: impl super::operators::Operand) -> Tensor {
                Tensor::binary(Binary::$variant, self, &other.beside(stringify!($method), self))
            }
        )*}
    };
}

comparison_methods! {
    /// Where `self < other`, as `bool`.
    less Less [true, false, false];
    /// Where `self <= other`, as `bool`.
    less_equal LessEqual [true, true, false];
    /// Where `self > other`, as `bool`.
    greater Greater [false, false, true];
    /// Where `self >= other`, as `bool`.
    greater_equal GreaterEqual [false, true, true];
    /// Where `self == other`, as `bool`.
    equal Equal [false, true, false];
    /// Where `self != other`, as `bool`.
    not_equal NotEqual [true, false, true];
}

macro_rules! binary_methods {
    ($($(#[doc = $doc:literal])+ $method:ident $variant:ident $number:expr => $result:expr;)*) => {
        impl Tensor {$(
            $(#[doc = $doc])+
            ///
            /// ```
            /// use farad::prelude::*;
            /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &Device::cpu());
            #[doc = concat!("let y = x.", stringify!($method), "(", stringify!($number), ").to_vec::<f32>()?;")]
            #[doc = concat!("assert!(y.iter().zip(", stringify!($result), ").all(|(a, b)| (a - b as f32).abs() < 1e-4), \"{y:?}\");")]
            /// # Ok::<(), farad::Error>(())
            /// ```
            #[track_caller]
            pub fn $method(&self, other: impl super::operators::Operand) -> Tensor {
                Tensor::binary(Binary::$variant, self, &other.beside(stringify!($method), self))
            }
        )*}
    };
}

binary_methods! {
    /// The larger of the two, element by element, or NaN if one of them is; ties share the gradient.
    maximum Max 2.0 => [2.0, 2.0, 3.0];
    /// The smaller of the two, element by element, or NaN if one of them is; ties share the gradient.
    minimum Min 2.0 => [1.0, 2.0, 2.0];
    /// `self` to the power of `other`.
    pow Pow 2.0 => [1.0, 4.0, 9.0];
    /// Remainder with the divisor's sign; an infinite divisor leaves a number of its own sign as it is.
    remainder Rem 2.0 => [1.0, 0.0, 1.0];
}

macro_rules! bit_methods {
    ($($(#[doc = $doc:literal])+ $method:ident $variant:ident $a:expr, $b:expr => $result:expr;)*) => {
        impl Tensor {$(
            $(#[doc = $doc])+
            ///
            /// ```
            /// use farad::prelude::*;
            #[doc = concat!("let a = Tensor::from_vec(vec![", stringify!($a), "i32], [1], &Device::cpu());")]
            #[doc = concat!("let b = Tensor::from_vec(vec![", stringify!($b), "i32], [1], &Device::cpu());")]
            #[doc = concat!("assert_eq!(a.", stringify!($method), "(&b).to_vec::<i32>()?, [", stringify!($result), "]);")]
            /// # Ok::<(), farad::Error>(())
            /// ```
            #[track_caller]
            pub fn $method(&self, other: impl super::operators::Operand) -> Tensor {
                Tensor::binary(Binary::$variant, self, &other.beside(stringify!($method), self))
            }
        )*}
    };
}

bit_methods! {
    /// Bitwise and of integers, logical and of `bool`.
    and And 6, 3 => 2;
    /// Bitwise or of integers, logical or of `bool`.
    or Or 6, 3 => 7;
    /// Bitwise exclusive or of integers, logical of `bool`.
    xor Xor 6, 3 => 5;
    /// Bits shifted left; the count is taken modulo 32, or 64 for 64-bit integers.
    shift_left Shl 3, 2 => 12;
    /// Bits shifted right, keeping the sign; the count is taken modulo 32, or 64 for 64-bit integers.
    shift_right Shr 12, 2 => 3;
}

impl Tensor {
    #[track_caller]
    pub(crate) fn unary(&self, op: Unary) -> Tensor {
        if self.dtype().is_int() && !self.dtype().is_signed_int() {
            // Of integers, devices have these for signed ones only.
            match op {
                Unary::Neg => return Tensor::binary(Binary::Sub, &0u32.beside("neg", self), self),
                Unary::Sign => return Tensor::binary(Binary::Min, self, &1u32.beside("sign", self)),
                Unary::Abs | Unary::Relu => return self.clone(),
                _ => {}
            }
        }
        Tensor::record(Op::Unary(op), &[self])
    }

    /// A binary op after bringing both operands to one dtype and shape.
    #[track_caller]
    pub(crate) fn binary(op: Binary, a: &Tensor, b: &Tensor) -> Tensor {
        let dtype = meet(op.row().name, a.dtype(), b.dtype());
        let shape = a.broadcast_shape(op.row().name, b);
        let (a, b) = (a.cast(dtype).broadcast_to(shape), b.cast(dtype).broadcast_to(shape));
        Tensor::record(Op::Binary(op), &[&a, &b])
    }

    #[track_caller]
    pub(crate) fn broadcast_shape(&self, op: &'static str, other: &Tensor) -> Shape {
        let (lhs, rhs) = (self.shape(), other.shape());
        expect(lhs.broadcast(&rhs).map_err(|axis| {
            let rank = lhs.rank().max(rhs.rank());
            let pick = |s: &Shape| s[axis + s.rank() - rank];
            OpError::Broadcast { op, lhs, rhs, axis, a: pick(&lhs), b: pick(&rhs) }
        }))
    }

    /// The tensor repeated to `shape`, aligned at the last axis.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0], [2], &Device::cpu());
    /// assert_eq!(x.broadcast_to([2, 2]).to_vec::<f32>()?, [1.0, 2.0, 1.0, 2.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Tensor {
        let shape = shape.into();
        if self.shape() == shape {
            return self.clone();
        }
        if self.rank() > shape.rank() {
            raise(OpError::Ranks {
                op: "broadcast_to",
                lhs: self.shape(),
                rhs: shape,
                a: self.rank(),
                b: shape.rank(),
            });
        }
        let mut sizes = vec![1; shape.rank() - self.rank()];
        sizes.extend_from_slice(&self.shape());
        self.reshape(sizes).expand(shape)
    }

    /// Logical not of `bool`, bitwise not of integers.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![true, false], [2], &Device::cpu());
    /// assert_eq!(x.not().to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait)] // the operator `!` is there too
    pub fn not(&self) -> Tensor {
        self.unary(Unary::Not)
    }

    /// `a` where it is true, else `b`; all three broadcast.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![-1.0, 2.0], [2], &device);
    /// let y = x.greater(0.0).select(&x, &Tensor::zeros([2], &device));
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 2.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn select(&self, a: &Tensor, b: &Tensor) -> Tensor {
        let dtype = meet("select", a.dtype(), b.dtype());
        let inner = a.broadcast_shape("select", b);
        let lhs = self.shape();
        let shape = expect(lhs.broadcast(&inner).map_err(|axis| {
            let rank = lhs.rank().max(inner.rank());
            let pick = |s: &Shape| s[axis + s.rank() - rank];
            OpError::Broadcast { op: "select", lhs, rhs: inner, axis, a: pick(&lhs), b: pick(&inner) }
        }));
        let (a, b) = (a.cast(dtype).broadcast_to(shape), b.cast(dtype).broadcast_to(shape));
        Tensor::record(Op::Select, &[&self.broadcast_to(shape), &a, &b])
    }

    /// The elements as another dtype, by the same rules between all pairs and on every device:
    ///
    /// - a float to an integer truncates, is held inside the integer's range, and NaN becomes 0;
    /// - an integer to an integer keeps its low bits (it wraps);
    /// - anything to a float is rounded to the nearest, to `f16` and `bf16` by way of `f32`;
    /// - anything to `bool` asks whether it is not zero; `bool` gives 0 or 1.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.7, -1.7], [2], &Device::cpu());
    /// assert_eq!(x.cast(DType::I32).to_vec::<i32>()?, [1, -1]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn cast(&self, dtype: DType) -> Tensor {
        if dtype == self.dtype() {
            return self.clone();
        }
        if self.device().is_gpu() && !dtype.is_on_gpus() {
            raise(OpError::DType {
                op: "cast",
                dtype,
                help: "\nhelp: GPUs do not have this dtype; move the tensor to the CPU first",
            });
        }
        Tensor::record(Op::Cast(dtype), &[self])
    }

    /// Elements below `low` raised to it, above `high` lowered to it; both may be tensors. Elements at the bounds
    /// keep their gradients, and NaN stays NaN.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![-2.0, 0.5, 2.0], [3], &Device::cpu());
    /// assert_eq!(x.clamp(-1.0, 1.0).to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn clamp(&self, low: impl super::operators::Operand, high: impl super::operators::Operand) -> Tensor {
        let (low, high) = (low.beside("clamp", self), high.beside("clamp", self));
        let bounded = self.stop_gradient().maximum(&low).minimum(&high);
        let kept = self.greater_equal(&low) & self.less_equal(&high);
        let y = kept.select(self, &bounded);
        if !self.dtype().is_float() {
            return y;
        }
        // Drivers make a clamp of their own of these, which gives a number for NaN: it comes through by its bits.
        let given = [self.stop_gradient(), low, high].into_iter().filter(|x| !x.is_constant());
        given.fold(y, |y, x| x.is_nan().select(&x, &y))
    }

    /// `x · x`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::full(3.0, [1], &Device::cpu()).square().item()?, 9.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn square(&self) -> Tensor {
        self * self
    }

    /// The same values, through which no gradient flows.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::full(3.0, [], &Device::cpu());
    /// let y = &x * &x.stop_gradient();
    /// assert_eq!(y.gradient(&x)?.item()?, 3.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn stop_gradient(&self) -> Tensor {
        Tensor::record(Op::StopGradient, &[self])
    }

    /// The same values, computed once. Without this, every kernel that wants them may compute them again, which is what one
    /// wants where that is little work.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::full(3.0, [2], &Device::cpu());
    /// assert_eq!((&x * 2.0).computed_once().to_vec::<f32>()?, [6.0, 6.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn computed_once(&self) -> Tensor {
        Tensor::record(Op::Barrier(0), &[self])
    }
}
