//! Rust types that tensors are made from and read into.

use bytemuck::Pod;
use farad_ir::DType;
use half::{bf16, f16};

/// A Rust type with its dtype and its form in device memory.
///
/// `f64` is left out on purpose, so that `vec![1.0, 2.0]` makes `f32`; see [`Tensor::from_f64`] for it.
///
/// [`Tensor::from_f64`]: super::Tensor::from_f64
pub trait Element: Copy + Send + Sync + 'static {
    /// The dtype.
    const DTYPE: DType;
    /// The bytes that hold these elements on a device.
    fn to_bytes(elements: &[Self]) -> Vec<u8>;
    /// The elements that these bytes hold.
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

fn plain_to<T: Pod>(elements: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(elements).to_vec()
}

fn plain_from<T: Pod>(bytes: &[u8]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(bytes)
}

macro_rules! plain {
    ($($type:ty => $dtype:ident),*) => {$(
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            fn to_bytes(elements: &[$type]) -> Vec<u8> {
                plain_to(elements)
            }
            fn from_bytes(bytes: &[u8]) -> Vec<$type> {
                plain_from(bytes)
            }
        }
    )*};
}

plain!(f32 => F32, f16 => F16, bf16 => BF16, i32 => I32, u32 => U32, i64 => I64, u64 => U64, i8 => I8, i16 => I16, u8 => U8, u16 => U16);

// Truth values take a word on every device.
impl Element for bool {
    const DTYPE: DType = DType::Bool;
    fn to_bytes(elements: &[bool]) -> Vec<u8> {
        elements.iter().flat_map(|&b| (b as u32).to_le_bytes()).collect()
    }
    fn from_bytes(bytes: &[u8]) -> Vec<bool> {
        bytes.chunks_exact(4).map(|w| w != [0; 4]).collect()
    }
}
