//! NumPy's files: `.npy` holds one array, `.npz` is a zip of them.
//!
//! Invariant: what is written reads back to the same bits, here and in NumPy; what a file says of its size is
//! checked against its length before anything is allocated. Start at [`read_npy`] and [`read_npz`].

mod header;
#[cfg(feature = "npz")]
mod npz;

#[cfg(feature = "npz")]
pub use npz::{read_npz, write_npz};

use std::path::Path;

use farad_ir::DType;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::save::loaded_from;
use crate::tensor::Tensor;
use crate::whole::write_whole;
use header::Header;

/// Reads an array from a `.npy` file onto a device. Small whole numbers become `i32`; dtypes that a GPU cannot
/// hold become the nearest that it can, and an `i64` that is no `i32` is an error there.
///
/// ```
/// use farad::prelude::*;
/// let path = std::env::temp_dir().join(format!("farad-doc-{}.npy", std::process::id()));
/// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &Device::cpu());
/// farad::write_npy(&path, &x)?;
/// assert_eq!(farad::read_npy(&path, &Device::cpu())?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), farad::Error>(())
/// ```
pub fn read_npy(path: impl AsRef<Path>, device: &Device) -> Result<Tensor> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| Error::File { op: "npy", path: path.into(), source })?;
    decode("npy", path, "", &bytes, device)
}

/// Writes an array to a `.npy` file, atomically. `bf16` is written as `f32`, since NumPy does not know it.
pub fn write_npy(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_whole("npy", path.as_ref(), &encode(tensor)?)
}

/// The array in the bytes of a file; `place` says where in it.
fn decode(op: &'static str, path: &Path, place: &str, bytes: &[u8], device: &Device) -> Result<Tensor> {
    let (header, data) = Header::read(op, path, place, bytes)?;
    let mut data = data.to_vec();
    if header.big_endian {
        data.chunks_exact_mut(header.size).for_each(<[u8]>::reverse);
    }
    if header.fortran_order {
        data = row_by_row(&data, &header.shape, header.size);
    }
    let dtype = header.dtype;
    let data = header.widened(data);
    let home = if dtype.is_on_gpus() { device.clone() } else { Device::cpu() };
    loaded_from(&Tensor::from_bytes(&data, (&header.shape).into(), dtype, &home)?, device, (op, path, place))
}

fn encode(tensor: &Tensor) -> Result<Vec<u8>> {
    let tensor = if tensor.dtype() == DType::BF16 { &tensor.cast(DType::F32) } else { tensor };
    let bytes = tensor.read()?.wait()?;
    let mut file = header::text(tensor.dtype(), &tensor.shape());
    match tensor.dtype() {
        // Truth values are words on devices and bytes in files.
        DType::Bool => file.extend(bytes.chunks_exact(4).map(|word| word[0])),
        _ => file.extend(bytes),
    }
    Ok(file)
}

/// Elements stored column by column, put in order row by row.
fn row_by_row(data: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let mut ordered = Vec::with_capacity(data.len());
    let mut place = vec![0; shape.len()];
    for _ in 0..data.len() / size {
        let at = place.iter().zip(shape).rev().fold(0, |at, (&index, &size)| at * size + index);
        ordered.extend_from_slice(&data[at * size..(at + 1) * size]);
        for axis in (0..shape.len()).rev() {
            place[axis] += 1;
            if place[axis] < shape[axis] {
                break;
            }
            place[axis] = 0;
        }
    }
    ordered
}
