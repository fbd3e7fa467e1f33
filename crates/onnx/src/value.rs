//! Values of a running model: an array on the host, a tensor on a device, or a list.
//!
//! Invariant: devices compute only f32, f16 and booleans, and hold positions; everything else is computed
//! exactly on the host. Methods check their inputs and return errors, so that a bad file never makes a tensor
//! op panic.

use std::cell::Cell;
use std::sync::Arc;

use farad_tensor::{DType, Device, Shape, Tensor};

use crate::array::{Array, Data};
use crate::error::Result;
use crate::kind::{Class, Kind};
use crate::refuse;

/// The highest rank of a tensor.
const MOST_AXES: usize = 8;
/// The most elements of a tensor that a model makes: this many in any case, or this many per input element,
/// including parameters. So a damaged file cannot make Farad allocate much more memory than its own size
/// justifies.
const MOST_ELEMENTS: (usize, usize) = (1 << 26, 1 << 12);

thread_local! {
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The limit on tensor sizes while a model runs, until this is dropped.
pub struct Limit {
    before: usize,
}

impl Limit {
    /// For a model with this many input elements.
    pub fn for_model(given: usize) -> Limit {
        let most = MOST_ELEMENTS.0.max(given.saturating_mul(MOST_ELEMENTS.1)).min(1 << 32);
        Limit { before: LIMIT.replace(most) }
    }

    /// The current limit on elements of a tensor.
    pub fn now() -> usize {
        LIMIT.get()
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        LIMIT.set(self.before);
    }
}

/// Checks a shape against the limits of tensors.
pub fn shape_of(sizes: &[usize]) -> Result<Shape> {
    if sizes.len() > MOST_AXES {
        refuse!("too many axes: {sizes:?} ({} vs at most {MOST_AXES})", sizes.len());
    }
    let shape = Shape::from(sizes);
    let most = Limit::now();
    if shape.count().is_none_or(|count| count > most) {
        refuse!("too many elements: {sizes:?} (at most {most})");
    }
    Ok(shape)
}

/// A value of a running model.
#[derive(Clone)]
pub enum Value {
    /// On the host.
    Host(Arc<Array>),
    /// On a device. Positions (i32 there) may represent another integer kind.
    Device(Tensor, Kind),
    /// A list of values.
    List(Arc<Vec<Value>>),
    /// A missing optional value.
    Nothing,
}

impl From<Array> for Value {
    fn from(array: Array) -> Value {
        Value::Host(Arc::new(array))
    }
}

impl Value {
    /// A tensor in a dtype in which devices compute.
    pub fn of(tensor: Tensor) -> Value {
        let kind = Kind::of_dtype(tensor.dtype());
        Value::Device(tensor, kind)
    }

    /// A tensor from the caller: floats, booleans and positions stay where they are, the rest is read to the
    /// host.
    pub fn given(tensor: &Tensor) -> Result<Value> {
        let kind = Kind::of_dtype(tensor.dtype());
        let value = Value::Device(tensor.clone(), kind);
        if kind.is_learned() || matches!(kind, Kind::Bool | Kind::I32) {
            Ok(value)
        } else {
            Ok(Value::Host(value.host()?))
        }
    }

    /// Positions that devices hold in 32 bits, as i64 values of the model.
    pub fn positions(tensor: Tensor) -> Value {
        Value::Device(tensor, Kind::I64)
    }

    /// Its element type.
    pub fn kind(&self) -> Result<Kind> {
        match self {
            Value::Host(array) => Ok(array.kind),
            Value::Device(_, kind) => Ok(*kind),
            Value::List(_) => refuse!("a tensor is needed, got a list"),
            Value::Nothing => refuse!("a tensor is needed, got nothing"),
        }
    }

    /// Sizes of its axes.
    pub fn shape(&self) -> Result<Vec<usize>> {
        match self {
            Value::Host(array) => Ok(array.shape.clone()),
            Value::Device(tensor, _) => Ok(tensor.shape().to_vec()),
            _ => self.kind().map(|_| Vec::new()),
        }
    }

    /// Number of axes.
    pub fn rank(&self) -> Result<usize> {
        Ok(self.shape()?.len())
    }

    /// Number of elements.
    pub fn len(&self) -> Result<usize> {
        Ok(self.shape()?.iter().product())
    }

    /// The size of an axis.
    pub fn size(&self, axis: usize) -> Result<usize> {
        let shape = self.shape()?;
        match shape.get(axis) {
            Some(&size) => Ok(size),
            None => refuse!("no axis {axis} in {shape:?}"),
        }
    }

    /// An axis, which may be negative (counted from the end).
    pub fn axis(&self, axis: i64) -> Result<usize> {
        resolve(axis, self.rank()?)
    }

    /// Whether it is a float or boolean on a device.
    pub fn is_device(&self) -> bool {
        matches!(self, Value::Device(_, Kind::F32 | Kind::F16 | Kind::Bool))
    }

    /// The value on the host; reads it from a device if needed.
    pub fn host(&self) -> Result<Arc<Array>> {
        let (tensor, kind) = match self {
            Value::Host(array) => return Ok(array.clone()),
            Value::Device(tensor, kind) => (tensor, *kind),
            _ => return self.kind().map(|_| unreachable!("a tensor has a kind")),
        };
        if crate::export::is_recording() {
            refuse!("the host reads a value here, so the exported model would be valid for this value only");
        }
        let data = match tensor.dtype() {
            DType::F32 => Data::Float(tensor.to_vec::<f32>()?.into_iter().map(f64::from).collect()),
            DType::F16 => Data::Float(tensor.to_vec::<half::f16>()?.into_iter().map(f64::from).collect()),
            DType::BF16 => Data::Float(tensor.to_vec::<half::bf16>()?.into_iter().map(f64::from).collect()),
            DType::F64 => Data::Float(tensor.to_f64()?),
            DType::Bool => Data::Int(tensor.to_vec::<bool>()?.into_iter().map(i64::from).collect()),
            DType::I32 => Data::Int(tensor.to_vec::<i32>()?.into_iter().map(i64::from).collect()),
            DType::U32 => Data::Int(tensor.to_vec::<u32>()?.into_iter().map(i64::from).collect()),
            DType::I64 => Data::Int(tensor.to_vec::<i64>()?),
            // By its bits.
            DType::U64 => Data::Int(tensor.to_vec::<u64>()?.into_iter().map(|x| x as i64).collect()),
            DType::I8 => Data::Int(tensor.to_vec::<i8>()?.into_iter().map(i64::from).collect()),
            DType::I16 => Data::Int(tensor.to_vec::<i16>()?.into_iter().map(i64::from).collect()),
            DType::U8 => Data::Int(tensor.to_vec::<u8>()?.into_iter().map(i64::from).collect()),
            DType::U16 => Data::Int(tensor.to_vec::<u16>()?.into_iter().map(i64::from).collect()),
        };
        Ok(Arc::new(Array::new(kind, tensor.shape().to_vec(), data)))
    }

    /// The value as a tensor of a dtype in which devices compute.
    pub fn tensor(&self, device: &Device) -> Result<Tensor> {
        match self {
            Value::Device(tensor, _) => Ok(tensor.clone()),
            Value::Host(array) => array.upload(device),
            _ => self.kind().map(|_| unreachable!("a tensor has a kind")),
        }
    }

    /// The value on a device, if devices compute on its kind; otherwise unchanged.
    pub fn on(&self, device: &Device) -> Result<Value> {
        match self {
            Value::Host(array) if array.kind.is_learned() => {
                Ok(Value::Device(array.upload(device)?, array.kind))
            }
            other => Ok(other.clone()),
        }
    }

    /// Integers, read from the device if needed.
    pub fn ints(&self) -> Result<Vec<i64>> {
        self.host()?.to_ints()
    }

    /// Floats, read from the device if needed.
    pub fn floats(&self) -> Result<Vec<f64>> {
        self.host()?.to_floats()
    }

    /// The single integer.
    pub fn int(&self) -> Result<i64> {
        match self.ints()?[..] {
            [one] => Ok(one),
            ref many => refuse!("one number is needed ({} vs 1)", many.len()),
        }
    }

    /// The single number.
    pub fn float(&self) -> Result<f64> {
        match self.floats()?[..] {
            [one] => Ok(one),
            ref many => refuse!("one number is needed ({} vs 1)", many.len()),
        }
    }

    /// The same number in every element, with this value's kind and on the same side (host or device).
    pub fn full_like(&self, shape: &[usize], number: f64) -> Result<Value> {
        match self {
            Value::Device(tensor, kind @ (Kind::F32 | Kind::F16)) => {
                let filled = Tensor::full(number, shape_of(shape)?, tensor.device());
                Ok(Value::Device(filled.cast(tensor.dtype()), *kind))
            }
            _ => Ok(Array::full(self.kind()?, shape.to_vec(), number)?.into()),
        }
    }

    /// Converted to another kind. With `saturate`, floats beyond the range of an 8-bit kind become its largest
    /// number.
    pub fn cast(&self, kind: Kind, saturate: bool) -> Result<Value> {
        let own = self.kind()?;
        if own == kind {
            return Ok(self.clone());
        }
        // Positions are held in 32 bits, whichever of the two they represent.
        if let (Value::Device(tensor, _), Kind::I32 | Kind::I64) = (self, kind)
            && tensor.dtype() == DType::I32
        {
            return Ok(Value::Device(tensor.clone(), kind));
        }
        if let Value::Device(tensor, _) = self
            && let Some(dtype @ (DType::F32 | DType::F16 | DType::Bool)) = kind.dtype()
        {
            return Ok(Value::Device(tensor.cast(dtype), kind));
        }
        Ok(cast(&*self.host()?, kind, saturate)?.into())
    }
}

/// An axis, which may be negative (counted from the end).
pub fn resolve(axis: i64, rank: usize) -> Result<usize> {
    let rank = rank as i64;
    if !(-rank..rank).contains(&axis) {
        refuse!("no such axis: {axis} (rank {rank})");
    }
    Ok(axis.rem_euclid(rank) as usize)
}

fn cast(from: &Array, kind: Kind, saturate: bool) -> Result<Array> {
    let shape = from.shape.clone();
    let texts = match (&from.data, kind.class()) {
        (Data::Text(texts), Class::Text) => return Ok(Array::new(kind, shape, Data::Text(texts.clone()))),
        (_, Class::Text) => return Ok(Array::new(kind, shape, Data::Text(texts_of(from)))),
        (Data::Text(texts), _) => texts,
        (Data::Float(data), Class::Float) => {
            let round = |&x: &f64| if saturate { kind.saturate(x) } else { kind.round(x) };
            return Ok(Array::new(kind, shape, Data::Float(data.iter().map(round).collect())));
        }
        (_, Class::Float) => {
            let round = |x: f64| if saturate { kind.saturate(x) } else { kind.round(x) };
            return Ok(Array::new(
                kind,
                shape,
                Data::Float(from.to_floats()?.into_iter().map(round).collect()),
            ));
        }
        (Data::Float(data), Class::Bool) => {
            return Ok(Array::ints(kind, shape, data.iter().map(|&x| (x != 0.0) as i64).collect()));
        }
        (Data::Float(data), Class::Int) => {
            return Ok(Array::ints(kind, shape, data.iter().map(|&x| whole(kind, x)).collect()));
        }
        (Data::Int(data), _) => return Ok(Array::ints(kind, shape, data.clone())),
    };
    let mut numbers = Vec::with_capacity(texts.len());
    for text in texts {
        match text.trim().parse::<f64>() {
            Ok(number) => numbers.push(number),
            Err(_) => refuse!("the string is not a number: {text:?}"),
        }
    }
    if kind.is_float() {
        return Ok(Array::floats(kind, shape, numbers));
    }
    let exact = texts.iter().zip(&numbers).map(|(text, &x)| text.trim().parse().unwrap_or(whole(kind, x)));
    Ok(Array::ints(kind, shape, exact.collect()))
}

/// A float truncated toward zero to an integer. A u64 is returned as its bits.
fn whole(kind: Kind, x: f64) -> i64 {
    if kind == Kind::U64 && x > 0.0 { x as u64 as i64 } else { x as i64 }
}

fn texts_of(from: &Array) -> Vec<String> {
    let plain = |x: f64| {
        if x.is_nan() {
            "NaN".to_string()
        } else if x.is_infinite() {
            if x > 0.0 { "INF".to_string() } else { "-INF".to_string() }
        } else if from.kind == Kind::F32 {
            format!("{}", x as f32)
        } else {
            format!("{x}")
        }
    };
    match &from.data {
        Data::Float(data) => data.iter().map(|&x| plain(x)).collect(),
        Data::Int(data) if from.kind == Kind::U64 => data.iter().map(|&x| (x as u64).to_string()).collect(),
        Data::Int(data) => data.iter().map(|x| x.to_string()).collect(),
        Data::Text(data) => data.clone(),
    }
}
