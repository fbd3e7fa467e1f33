//! Elements of eight bytes: `i64` and `f64`, which the CPU stores. Registers have four bytes, so they are converted and
//! moved here, on the host and at once.
//!
//! Invariant: no number is cut. What does not fit is refused, with the number and its place. Start at [`Tensor::cast`].

use bytemuck::{cast_slice, pod_collect_to_vec};
use farad_ir::{DType, Op, OpError, Shape, Span};
use half::{bf16, f16};
use std::panic::Location;

use super::{Element, Tensor, raise};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::node::Value;

/// Elements on the host, each with its whole value.
enum WideNumbers {
    Whole(Vec<i64>),
    Float(Vec<f64>),
}

/// Whether elements take more than a register.
pub(super) fn is_wide(dtype: DType) -> bool {
    matches!(dtype, DType::I64 | DType::F64)
}

/// Whether registers would cut what a cast between two dtypes has to keep.
pub(super) fn is_cut(from: DType, to: DType) -> bool {
    matches!(
        (from, to),
        (DType::I64, _)
            | (DType::F64, DType::I32 | DType::U32 | DType::U8 | DType::Bool | DType::I64)
            | (DType::F32 | DType::F16 | DType::BF16 | DType::U32, DType::I64)
            | (DType::I32 | DType::U32, DType::F64)
    )
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

    /// The tensor moved, in words of four bytes: its elements along one more axis of two.
    #[track_caller]
    pub(super) fn moved_wide(&self, op: Op, shape: Shape) -> Tensor {
        if let Op::Reshape(_) = op {
            return self.seen_as(self.dtype(), shape, 1, 1);
        }
        let rank = self.rank();
        if rank == farad_ir::MAX_RANK {
            let (op, dtype) = ("movement", self.dtype());
            raise(OpError::DType {
                op,
                dtype,
                help: "\nhelp: elements of eight bytes move in at most seven axes",
            });
        }
        let pairs: Vec<usize> = self.shape().iter().copied().chain([2]).collect();
        let op = match op {
            Op::Permute(order) => Op::Permute(order.into_iter().chain([rank]).collect()),
            Op::Expand(to) => Op::Expand(to.iter().copied().chain([2]).collect::<Vec<_>>().into()),
            Op::Pad(widths) => Op::Pad(widths.into_iter().chain([(0, 0)]).collect()),
            Op::Slice(spans) => {
                Op::Slice(spans.into_iter().chain([Span { start: 0, len: 2, step: 1 }]).collect())
            }
            other => other,
        };
        let words = self.seen_as(DType::U32, pairs.into(), 2, 1);
        Tensor::record(op, &[&words]).seen_as(self.dtype(), shape, 1, 2)
    }

    /// The same bytes as elements of another dtype, `times / per` as many.
    #[track_caller]
    fn seen_as(&self, dtype: DType, shape: Shape, times: usize, per: usize) -> Tensor {
        if let Err(error) = self.compute() {
            crate::inside::refuse(error);
        }
        match self.node.value() {
            Some(Value::Memory { memory, offset, whole }) => {
                let value =
                    Value::Memory { memory, offset: offset * times / per, whole: whole * times / per };
                Tensor::leaf(value, shape, dtype, self.device(), Location::caller())
            }
            _ => unreachable!("elements of eight bytes lie in memory"),
        }
    }

    /// All elements equal to a number of eight bytes.
    #[track_caller]
    pub(super) fn filled_wide(value: f64, shape: Shape, dtype: DType, device: &Device) -> Tensor {
        let numbers = WideNumbers::Float(vec![value; shape.numel()]);
        match Tensor::from_bytes(&numbers.bytes(dtype), shape, dtype, device) {
            Ok(tensor) => tensor,
            Err(error) => crate::inside::refuse(error),
        }
    }
}

/// Whether a dtype has this number, or rounds it. Any number can be a `bool`.
fn fits(x: i64, to: DType) -> bool {
    match to {
        DType::I32 => i32::try_from(x).is_ok(),
        DType::U32 => u32::try_from(x).is_ok(),
        DType::U8 => u8::try_from(x).is_ok(),
        _ => true,
    }
}

impl WideNumbers {
    fn of(dtype: DType, bytes: &[u8]) -> WideNumbers {
        fn whole<T: Element + Into<i64>>(bytes: &[u8]) -> WideNumbers {
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
            DType::U8 => whole::<u8>(bytes),
            DType::Bool => whole::<bool>(bytes),
        }
    }

    /// The elements in device form: floats truncate and saturate as in Rust, and NaN becomes zero.
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
            U8: |x| x as u8,
        }
    }
}
