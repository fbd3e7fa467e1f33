//! Arrays on the host: every ONNX element type, computed exactly.
//!
//! Floats are stored as f64 and rounded to their kind, integers and booleans as i64 and wrapped. Shape
//! arithmetic, and all kinds that devices do not compute in, are handled here.

use std::sync::OnceLock;

use farad_tensor::{DType, Device, Tensor};

use crate::error::Result;
use crate::kind::{Class, Kind};
use crate::refuse;
use crate::value::Limit;

/// The most elements of an array on the host.
const MOST_ELEMENTS: usize = 1 << 28;

/// The numbers of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Floats.
    Float(Vec<f64>),
    /// Integers and booleans.
    Int(Vec<i64>),
    /// Strings.
    Text(Vec<String>),
}

/// An array on the host, row-major.
#[derive(Debug)]
pub struct Array {
    /// The type of its elements.
    pub kind: Kind,
    /// Sizes of its axes.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: Data,
    /// Its last upload to a device, so that a constant is uploaded once.
    uploaded: OnceLock<Tensor>,
}

impl Clone for Array {
    fn clone(&self) -> Array {
        Array {
            kind: self.kind,
            shape: self.shape.clone(),
            data: self.data.clone(),
            uploaded: OnceLock::new(),
        }
    }
}

/// Number of elements of a shape; an error if that is too many for the host.
pub fn count(shape: &[usize]) -> Result<usize> {
    let product = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size.max(1)));
    let most = MOST_ELEMENTS.min(Limit::now());
    match product {
        Some(product) if product <= most => Ok(if shape.contains(&0) { 0 } else { product }),
        _ => refuse!("too many elements for the host: {shape:?} (at most {most})"),
    }
}

impl Array {
    /// An array whose elements are already valid for the kind, as many as the shape has.
    pub fn new(kind: Kind, shape: Vec<usize>, data: Data) -> Array {
        debug_assert_eq!(
            shape.iter().product::<usize>(),
            match &data {
                Data::Float(x) => x.len(),
                Data::Int(x) => x.len(),
                Data::Text(x) => x.len(),
            },
            "{kind} {shape:?}"
        );
        Array { kind, shape, data, uploaded: OnceLock::new() }
    }

    /// Floats rounded to the kind, or truncated if it is an integer kind.
    pub fn floats(kind: Kind, shape: Vec<usize>, mut data: Vec<f64>) -> Array {
        if !kind.is_float() {
            return Array::ints(kind, shape, data.into_iter().map(|x| x as i64).collect());
        }
        if kind != Kind::F64 {
            data.iter_mut().for_each(|x| *x = kind.round(*x));
        }
        Array::new(kind, shape, Data::Float(data))
    }

    /// Integers that wrap to the kind.
    pub fn ints(kind: Kind, shape: Vec<usize>, mut data: Vec<i64>) -> Array {
        if kind != Kind::I64 {
            data.iter_mut().for_each(|x| *x = kind.wrap(*x));
        }
        Array::new(kind, shape, Data::Int(data))
    }

    /// A list of i64: a shape, axes, counts.
    pub fn list(data: Vec<i64>) -> Array {
        Array::ints(Kind::I64, vec![data.len()], data)
    }

    /// One i64.
    pub fn whole(value: i64) -> Array {
        Array::ints(Kind::I64, vec![], vec![value])
    }

    /// One float.
    pub fn number(kind: Kind, value: f64) -> Array {
        Array::floats(kind, vec![], vec![value])
    }

    /// The same number in every element.
    pub fn full(kind: Kind, shape: Vec<usize>, value: f64) -> Result<Array> {
        let n = count(&shape)?;
        Ok(match kind.class() {
            Class::Float => Array::floats(kind, shape, vec![value; n]),
            Class::Text => Array::new(kind, shape, Data::Text(vec![String::new(); n])),
            _ => Array::ints(kind, shape, vec![value as i64; n]),
        })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Float(x) => x.len(),
            Data::Int(x) => x.len(),
            Data::Text(x) => x.len(),
        }
    }

    /// The elements as integers; floats are truncated toward zero.
    pub fn to_ints(&self) -> Result<Vec<i64>> {
        match &self.data {
            Data::Int(x) => Ok(x.clone()),
            Data::Float(x) => Ok(x.iter().map(|&x| x as i64).collect()),
            Data::Text(_) => refuse!("integers are needed, got strings"),
        }
    }

    /// The elements as floats.
    pub fn to_floats(&self) -> Result<Vec<f64>> {
        match &self.data {
            Data::Float(x) => Ok(x.clone()),
            Data::Int(x) if self.kind == Kind::U64 => Ok(x.iter().map(|&x| x as u64 as f64).collect()),
            Data::Int(x) => Ok(x.iter().map(|&x| x as f64).collect()),
            Data::Text(_) => refuse!("numbers are needed, got strings"),
        }
    }

    /// The same elements in another shape of the same size.
    pub fn reshaped(&self, shape: Vec<usize>) -> Array {
        Array::new(self.kind, shape, self.data.clone())
    }

    /// Elements selected by position; `None` gives zero or an empty string.
    pub fn picked(&self, shape: Vec<usize>, places: impl Iterator<Item = Option<usize>>) -> Array {
        fn pick<T: Clone + Default>(from: &[T], places: impl Iterator<Item = Option<usize>>) -> Vec<T> {
            places.map(|place| place.map_or_else(T::default, |place| from[place].clone())).collect()
        }
        let data = match &self.data {
            Data::Float(x) => Data::Float(pick(x, places)),
            Data::Int(x) => Data::Int(pick(x, places)),
            Data::Text(x) => Data::Text(pick(x, places)),
        };
        Array::new(self.kind, shape, data)
    }

    /// The array on a device, in the dtype in which devices compute on its kind. The tensor is kept, so that it
    /// is uploaded once.
    pub fn upload(&self, device: &Device) -> Result<Tensor> {
        if let Some(tensor) = self.uploaded.get()
            && tensor.device() == device
        {
            return Ok(tensor.clone());
        }
        let Some(dtype) = self.kind.dtype() else {
            refuse!("devices do not compute in {}: {:?}", self.kind, self.shape);
        };
        let tensor = self.upload_as(dtype, device)?;
        let _ = self.uploaded.set(tensor.clone());
        Ok(tensor)
    }

    /// The array on a device in this dtype. Integers must fit.
    pub fn upload_as(&self, dtype: DType, device: &Device) -> Result<Tensor> {
        let shape = crate::value::shape_of(&self.shape)?;
        match dtype {
            // A uniform array is a constant of the program, and adapts to any batch size in an exported model.
            DType::F32 | DType::F16 if self.len() > 1 && self.is_uniform() => {
                Ok(Tensor::full(self.to_floats()?[0], shape, device).cast(dtype))
            }
            DType::F32 => {
                let data: Vec<f32> = self.to_floats()?.iter().map(|&x| x as f32).collect();
                Tensor::try_from_vec(&data, shape, device)
            }
            DType::F16 => {
                let data: Vec<half::f16> =
                    self.to_floats()?.iter().map(|&x| half::f16::from_f64(x)).collect();
                Tensor::try_from_vec(&data, shape, device)
            }
            DType::Bool => {
                let data: Vec<bool> = self.to_ints()?.iter().map(|&x| x != 0).collect();
                Tensor::try_from_vec(&data, shape, device)
            }
            DType::U32 => {
                let data = self.fitting(|x| u32::try_from(x).ok())?;
                Tensor::try_from_vec(&data, shape, device)
            }
            DType::I32 => {
                let data = self.fitting(|x| i32::try_from(x).ok())?;
                Tensor::try_from_vec(&data, shape, device)
            }
            other => refuse!("devices do not compute in {other}"),
        }
    }

    /// Whether all elements are the same float.
    fn is_uniform(&self) -> bool {
        matches!(&self.data, Data::Float(data) if data.windows(2).all(|pair| pair[0] == pair[1]))
    }

    fn fitting<T>(&self, fit: impl Fn(i64) -> Option<T>) -> Result<Vec<T>> {
        let mut fitted = Vec::with_capacity(self.len());
        for x in self.to_ints()? {
            match fit(x) {
                Some(x) => fitted.push(x),
                None => refuse!("the number does not fit in a device's 32 bits: {x}"),
            }
        }
        Ok(fitted)
    }
}
