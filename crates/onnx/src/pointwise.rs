//! Elementwise functions of values: one row per function, with its form on the host and on devices.

use farad_tensor::Tensor;

use crate::array::{Array, Data};
use crate::error::Result;
use crate::host::{StridedPositions, broadcast};
use crate::kind::{Class, Kind};
use crate::refuse;
use crate::value::Value;

/// A function of two values, with broadcasting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names are self-explanatory
pub enum BinaryFunction {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    /// Remainder with the divisor's sign.
    Mod,
    /// Remainder with the dividend's sign.
    Fmod,
    Max,
    Min,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// A comparison of two values, with broadcasting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names are self-explanatory
pub enum Compare {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

impl BinaryFunction {
    fn host(self, a: &Array, b: &Array) -> Result<Array> {
        let (kind, unsigned) = (a.kind, a.kind == Kind::U64);
        let float = |x: f64, y: f64| match self {
            BinaryFunction::Add => x + y,
            BinaryFunction::Sub => x - y,
            BinaryFunction::Mul => x * y,
            BinaryFunction::Div => x / y,
            BinaryFunction::Pow => x.powf(y),
            BinaryFunction::Mod => x - (x / y).floor() * y,
            BinaryFunction::Fmod => x % y,
            BinaryFunction::Max => {
                if x.is_nan() || y.is_nan() {
                    f64::NAN
                } else {
                    x.max(y)
                }
            }
            BinaryFunction::Min => {
                if x.is_nan() || y.is_nan() {
                    f64::NAN
                } else {
                    x.min(y)
                }
            }
            _ => f64::NAN,
        };
        let int = |x: i64, y: i64| -> Result<i64> {
            let zero =
                y == 0 && matches!(self, BinaryFunction::Div | BinaryFunction::Mod | BinaryFunction::Fmod);
            if zero {
                refuse!("an integer is divided by zero: {kind}");
            }
            let bits = kind.bits() as i64;
            Ok(match self {
                BinaryFunction::Add => x.wrapping_add(y),
                BinaryFunction::Sub => x.wrapping_sub(y),
                BinaryFunction::Mul => x.wrapping_mul(y),
                BinaryFunction::Div if unsigned => (x as u64 / y as u64) as i64,
                BinaryFunction::Div => x.wrapping_div(y),
                BinaryFunction::Mod | BinaryFunction::Fmod if unsigned => (x as u64 % y as u64) as i64,
                BinaryFunction::Mod => {
                    let rest = x.wrapping_rem(y);
                    if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }
                }
                BinaryFunction::Fmod => x.wrapping_rem(y),
                BinaryFunction::Pow if y < 0 => (x as f64).powf(y as f64) as i64,
                BinaryFunction::Pow => x.wrapping_pow(y.min(u32::MAX as i64) as u32),
                BinaryFunction::Max if unsigned => (x as u64).max(y as u64) as i64,
                BinaryFunction::Max => x.max(y),
                BinaryFunction::Min if unsigned => (x as u64).min(y as u64) as i64,
                BinaryFunction::Min => x.min(y),
                BinaryFunction::And => x & y,
                BinaryFunction::Or => x | y,
                BinaryFunction::Xor => x ^ y,
                BinaryFunction::ShiftLeft if y >= bits || y < 0 => 0,
                BinaryFunction::ShiftLeft => x.wrapping_shl(y as u32),
                BinaryFunction::ShiftRight if y >= bits || y < 0 => 0,
                BinaryFunction::ShiftRight => (x as u64).wrapping_shr(y as u32) as i64,
            })
        };
        a.zip(b, float, int)
    }

    fn device(self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Ok(match self {
            BinaryFunction::Add => a + b,
            BinaryFunction::Sub => a - b,
            BinaryFunction::Mul => a * b,
            BinaryFunction::Div => a / b,
            BinaryFunction::Pow => a.pow(b),
            BinaryFunction::Mod => a.remainder(b),
            BinaryFunction::Fmod => {
                let quotient = a / b;
                let cut = quotient.less(0.0).select(&quotient.ceil(), &quotient.floor());
                a - cut * b
            }
            BinaryFunction::Max => a.maximum(b),
            BinaryFunction::Min => a.minimum(b),
            BinaryFunction::And => a.and(b),
            BinaryFunction::Or => a.or(b),
            BinaryFunction::Xor => a.xor(b),
            BinaryFunction::ShiftLeft | BinaryFunction::ShiftRight => {
                refuse!("floats have no bitwise operations")
            }
        })
    }

    fn is_logical(self) -> bool {
        matches!(self, BinaryFunction::And | BinaryFunction::Or | BinaryFunction::Xor)
    }
}

/// Both operands as tensors of one device, if one of them is on a device.
fn together(a: &Value, b: &Value) -> Result<Option<(Tensor, Tensor)>> {
    let device = match (a, b) {
        (Value::Device(tensor, _), _) if a.is_device() => tensor.device().clone(),
        (_, Value::Device(tensor, _)) if b.is_device() => tensor.device().clone(),
        _ => return Ok(None),
    };
    // A single number is a constant of the program and needs no memory.
    let constant = |value: &Value, other: &Value| -> Result<Tensor> {
        if let Value::Host(array) = value
            && let (Data::Float(data), true) = (&array.data, array.shape.len() <= other.rank()?)
            && let ([number], Some(dtype)) = (&data[..], array.kind.dtype())
            && array.shape.iter().all(|&size| size == 1)
        {
            return Ok(Tensor::full(*number, [], &device).cast(dtype));
        }
        value.tensor(&device)
    };
    Ok(Some((constant(a, b)?, constant(b, a)?)))
}

impl Value {
    /// A function of each float, for the host and for devices.
    pub fn apply(&self, host: impl Fn(f64) -> f64, device: impl Fn(&Tensor) -> Tensor) -> Result<Value> {
        match self {
            Value::Device(tensor, kind @ (Kind::F32 | Kind::F16)) => {
                Ok(Value::Device(device(tensor).cast(tensor.dtype()), *kind))
            }
            _ => {
                let array = self.host()?;
                if !array.kind.is_float() {
                    refuse!("floats are needed ({})", array.kind);
                }
                Ok(array.map(array.kind, host)?.into())
            }
        }
    }

    /// A function of each integer.
    pub fn apply_whole(&self, function: impl Fn(i64) -> i64) -> Result<Value> {
        let array = self.host()?;
        let Data::Int(data) = &array.data else { refuse!("integers are needed ({})", array.kind) };
        Ok(Array::ints(array.kind, array.shape.clone(), data.iter().map(|&x| function(x)).collect()).into())
    }

    /// A function of pairs of elements.
    pub fn binary(&self, op: BinaryFunction, other: &Value) -> Result<Value> {
        let (a, b) = (self.kind()?, other.kind()?);
        if a != b {
            refuse!("kinds differ: {a} vs {b}");
        }
        let strange = if op.is_logical() { a.is_float() } else { a == Kind::Bool };
        if strange || a == Kind::Text {
            refuse!("not defined for elements of this kind: {a}");
        }
        broadcast(&self.shape()?, &other.shape()?)?;
        match together(self, other)? {
            Some((x, y)) => Ok(Value::Device(op.device(&x, &y)?.cast(x.dtype()), a)),
            None => Ok(op.host(&*self.host()?, &*other.host()?)?.into()),
        }
    }

    /// The booleans of a comparison.
    pub fn compare(&self, op: Compare, other: &Value) -> Result<Value> {
        let (a, b) = (self.kind()?, other.kind()?);
        if a != b {
            refuse!("kinds differ: {a} vs {b}");
        }
        broadcast(&self.shape()?, &other.shape()?)?;
        if a.is_float()
            && let Some((x, y)) = together(self, other)?
        {
            let truth = match op {
                Compare::Less => x.less(&y),
                Compare::LessOrEqual => x.less_equal(&y),
                Compare::Greater => x.greater(&y),
                Compare::GreaterOrEqual => x.greater_equal(&y),
                Compare::Equal => x.equal(&y),
            };
            return Ok(Value::Device(truth, Kind::Bool));
        }
        let array = self.host()?.compare(&*other.host()?, |order, known| {
            known
                && match op {
                    Compare::Less => order.is_lt(),
                    Compare::LessOrEqual => order.is_le(),
                    Compare::Greater => order.is_gt(),
                    Compare::GreaterOrEqual => order.is_ge(),
                    Compare::Equal => order.is_eq(),
                }
        })?;
        Ok(array.into())
    }

    /// `a` where this boolean is true, otherwise `b`.
    pub fn select(&self, a: &Value, b: &Value) -> Result<Value> {
        let (kind, other, own) = (a.kind()?, b.kind()?, self.kind()?);
        if kind != other || own != Kind::Bool {
            refuse!("kinds differ: {own} ? {kind} : {other}");
        }
        let shape = broadcast(&broadcast(&self.shape()?, &a.shape()?)?, &b.shape()?)?;
        let beside = [self, a, b].into_iter().find(|value| value.is_device());
        if let (Some(Value::Device(tensor, _)), true) = (beside, kind.is_learned() || kind == Kind::Bool) {
            let device = tensor.device();
            let spread = |value: &Value| -> Result<Tensor> {
                Ok(value.tensor(device)?.broadcast_to(crate::value::shape_of(&shape)?))
            };
            return Ok(Value::Device(spread(self)?.select(&spread(a)?, &spread(b)?), kind));
        }
        crate::array::count(&shape)?;
        let (truth, a, b) = (self.host()?, a.host()?, b.host()?);
        let truth = truth.to_ints()?;
        let places = StridedPositions::spread(&self.shape()?, &shape)
            .zip(StridedPositions::spread(&a.shape, &shape))
            .zip(StridedPositions::spread(&b.shape, &shape));
        fn chosen<T: Clone>(
            truth: &[i64],
            a: &[T],
            b: &[T],
            places: impl Iterator<Item = ((usize, usize), usize)>,
        ) -> Vec<T> {
            places.map(|((t, i), j)| if truth[t] != 0 { a[i].clone() } else { b[j].clone() }).collect()
        }
        let data = match (&a.data, &b.data) {
            (Data::Float(a), Data::Float(b)) => Data::Float(chosen(&truth, a, b, places)),
            (Data::Int(a), Data::Int(b)) => Data::Int(chosen(&truth, a, b, places)),
            (Data::Text(a), Data::Text(b)) => Data::Text(chosen(&truth, a, b, places)),
            _ => refuse!("kinds differ"),
        };
        Ok(Array::new(kind, shape, data).into())
    }

    /// Logical not.
    pub fn not(&self) -> Result<Value> {
        match self {
            Value::Device(tensor, Kind::Bool) => Ok(Value::Device(tensor.not(), Kind::Bool)),
            _ => {
                let array = self.host()?;
                if array.kind.class() != Class::Bool {
                    refuse!("bool values are needed ({})", array.kind);
                }
                let data = array.to_ints()?.into_iter().map(|x| (x == 0) as i64).collect();
                Ok(Array::ints(Kind::Bool, array.shape.clone(), data).into())
            }
        }
    }

    /// A number of this value's kind.
    pub fn number(&self, number: f64) -> Result<Value> {
        Ok(Array::full(self.kind()?, vec![], number)?.into())
    }

    /// The sum with another value.
    pub fn add(&self, other: &Value) -> Result<Value> {
        self.binary(BinaryFunction::Add, other)
    }

    /// The difference to another value.
    pub fn sub(&self, other: &Value) -> Result<Value> {
        self.binary(BinaryFunction::Sub, other)
    }

    /// Times another value.
    pub fn mul(&self, other: &Value) -> Result<Value> {
        self.binary(BinaryFunction::Mul, other)
    }

    /// Divided by another value.
    pub fn div(&self, other: &Value) -> Result<Value> {
        self.binary(BinaryFunction::Div, other)
    }

    /// Times a number.
    pub fn scaled(&self, factor: f64) -> Result<Value> {
        self.mul(&self.number(factor)?)
    }

    /// The sum with a number.
    pub fn plus(&self, number: f64) -> Result<Value> {
        self.add(&self.number(number)?)
    }

    /// The square.
    pub fn squared(&self) -> Result<Value> {
        self.mul(self)
    }
}
