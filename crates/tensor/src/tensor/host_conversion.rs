//! Conversion on the host that cuts no number, for elements that come from outside.
//!
//! Invariant: an integer that the new dtype does not have is refused, with the number and its place. Start at
//! [`Tensor::converted`]; [`Tensor::cast`] is what wraps.

use bytemuck::{cast_slice, pod_collect_to_vec};
use farad_ir::DType;
use half::{bf16, f16};

use super::{Element, Tensor};
use crate::error::{Error, Result};

/// Elements on the host, each with its whole value.
enum WideNumbers {
    Whole(Vec<i128>),
    Float(Vec<f64>),
}

impl Tensor {
    /// The elements as another dtype, converted on the host; an integer that the dtype does not have is an error.
    #[doc(hidden)]
    pub fn converted(&self, to: DType) -> Result<Tensor> {
        let bytes = self.read()?.wait()?;
        let numbers = WideNumbers::of(self.dtype(), &bytes);
        if let WideNumbers::Whole(all) = &numbers
            && let Some(place) = all.iter().position(|&x| !fits(x, to))
        {
            return Err(Error::DoesNotFit { value: all[place], place, from: self.dtype(), to });
        }
        Tensor::from_bytes(&numbers.bytes(to), self.shape(), to, self.device())
    }
}

/// Whether a dtype has this number, or rounds it. Any number is a truth value.
fn fits(x: i128, to: DType) -> bool {
    match to {
        DType::I32 => i32::try_from(x).is_ok(),
        DType::U32 => u32::try_from(x).is_ok(),
        DType::I8 => i8::try_from(x).is_ok(),
        DType::I16 => i16::try_from(x).is_ok(),
        DType::I64 => i64::try_from(x).is_ok(),
        DType::U8 => u8::try_from(x).is_ok(),
        DType::U16 => u16::try_from(x).is_ok(),
        DType::U64 => u64::try_from(x).is_ok(),
        _ => true,
    }
}

impl WideNumbers {
    fn of(dtype: DType, bytes: &[u8]) -> WideNumbers {
        fn whole<T: Element + Into<i128>>(bytes: &[u8]) -> WideNumbers {
            WideNumbers::Whole(T::from_bytes(bytes).into_iter().map(Into::into).collect())
        }
        fn float<T: Element + Into<f64>>(bytes: &[u8]) -> WideNumbers {
            WideNumbers::Float(T::from_bytes(bytes).into_iter().map(Into::into).collect())
        }
        match dtype {
            DType::F32 => float::<f32>(bytes),
            DType::F16 => float::<f16>(bytes),
            DType::BF16 => float::<bf16>(bytes),
            DType::F64 => WideNumbers::Float(pod_collect_to_vec(bytes)),
            DType::I32 => whole::<i32>(bytes),
            DType::U32 => whole::<u32>(bytes),
            DType::I64 => whole::<i64>(bytes),
            DType::U64 => whole::<u64>(bytes),
            DType::I8 => whole::<i8>(bytes),
            DType::I16 => whole::<i16>(bytes),
            DType::U8 => whole::<u8>(bytes),
            DType::U16 => whole::<u16>(bytes),
            DType::Bool => WideNumbers::Whole(bool::from_bytes(bytes).into_iter().map(i128::from).collect()),
        }
    }

    /// The elements in device form: floats truncate and saturate as Rust's do, and what is no number becomes zero.
    fn bytes(&self, to: DType) -> Vec<u8> {
        macro_rules! each {
            ($($dtype:ident: |$x:ident| $element:expr),* $(,)?) => {
                match (to, self) {
                    $(
                        (DType::$dtype, WideNumbers::Whole(all)) => {
                            Element::to_bytes(&all.iter().map(|&$x| $element).collect::<Vec<_>>())
                        }
                        (DType::$dtype, WideNumbers::Float(all)) => {
                            Element::to_bytes(&all.iter().map(|&$x| $element).collect::<Vec<_>>())
                        }
                    )*
                    (DType::F64, WideNumbers::Whole(all)) => {
                        cast_slice(&all.iter().map(|&x| x as f64).collect::<Vec<_>>()).to_vec()
                    }
                    (DType::F64, WideNumbers::Float(all)) => cast_slice(all).to_vec(),
                    (DType::Bool, WideNumbers::Whole(all)) => {
                        Element::to_bytes(&all.iter().map(|&x| x != 0).collect::<Vec<_>>())
                    }
                    (DType::Bool, WideNumbers::Float(all)) => {
                        Element::to_bytes(&all.iter().map(|&x| x != 0.0).collect::<Vec<_>>())
                    }
                }
            };
        }
        each! {
            F32: |x| x as f32,
            F16: |x| f16::from_f64(x as f64),
            BF16: |x| bf16::from_f64(x as f64),
            I32: |x| x as i32,
            U32: |x| x as u32,
            I64: |x| x as i64,
            U64: |x| x as u64,
            I8: |x| x as i8,
            I16: |x| x as i16,
            U8: |x| x as u8,
            U16: |x| x as u16,
        }
    }
}
