//! Named tensors in safetensors files.

use std::collections::HashMap;
use std::path::Path;

use farad_ir::{DType, Shape};
use safetensors::tensor::{Dtype, TensorView};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::whole::write_whole;

/// Writes named tensors to a safetensors file atomically (a temporary file, renamed).
///
/// ```
/// use farad::prelude::*;
/// let path = std::env::temp_dir().join(format!("farad-doc-{}.safetensors", std::process::id()));
/// let x = Tensor::from_vec(vec![1.0, 2.0], [2], &Device::cpu());
/// farad::save(&path, &[("x", &x)])?;
/// let back = farad::load(&path, &Device::cpu())?;
/// assert_eq!(back["x"].to_vec::<f32>()?, [1.0, 2.0]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), farad::Error>(())
/// ```
pub fn save(path: impl AsRef<Path>, tensors: &[(&str, &Tensor)]) -> Result<()> {
    let path = path.as_ref();
    write_whole("save", path, &encode(path, tensors, None)?)
}

/// The bytes of a safetensors file; the same tensors give the same bytes. Metadata has one entry
/// at most, because a map's order is not fixed; it gets the checksum of the tensors.
pub fn encode(
    path: &Path,
    tensors: &[(&str, &Tensor)],
    metadata: Option<(&str, &dyn Fn(u32) -> String)>,
) -> Result<Vec<u8>> {
    // All reads are under way before the first is waited for.
    let reads = tensors.iter().map(|(_, tensor)| tensor.read()).collect::<Result<Vec<_>>>()?;
    let mut stored = Vec::with_capacity(tensors.len());
    for ((name, tensor), read) in tensors.iter().zip(reads) {
        let bytes = read.wait()?;
        // Truth values are words on devices and bytes in files.
        let bytes =
            if tensor.dtype() == DType::Bool { bytes.chunks_exact(4).map(|w| w[0]).collect() } else { bytes };
        stored.push((*name, tensor.shape().to_vec(), file_type(tensor.dtype()), bytes));
    }
    let format = |message: String| Error::Format { path: path.into(), message };
    let mut views = Vec::with_capacity(stored.len());
    for (name, shape, dtype, bytes) in &stored {
        let view = TensorView::new(*dtype, shape.clone(), bytes).map_err(|e| format(e.to_string()))?;
        views.push((*name, view));
    }
    let metadata = metadata.map(|(key, value)| {
        let views = views.iter().map(|(name, view)| (*name, view)).collect();
        HashMap::from([(key.to_string(), value(checksum(views)))])
    });
    safetensors::serialize(views, metadata).map_err(|e| format(e.to_string()))
}

/// The checksum of named tensors, in any order: names, dtypes, shapes and bytes.
fn checksum(mut tensors: Vec<(&str, &TensorView)>) -> u32 {
    tensors.sort_by_key(|(name, _)| *name);
    let mut sum = crc32fast::Hasher::new();
    for (name, view) in tensors {
        sum.update(format!("{name} {:?} {:?}\n", view.dtype(), view.shape()).as_bytes());
        sum.update(view.data());
    }
    sum.finalize()
}

/// The checksum of the tensors in the bytes of a safetensors file.
pub fn checksum_of(path: &Path, bytes: &[u8]) -> Result<u32> {
    let format = |message: String| Error::Format { path: path.into(), message };
    let file = safetensors::SafeTensors::deserialize(bytes).map_err(|e| format(e.to_string()))?;
    let tensors = file.tensors();
    Ok(checksum(tensors.iter().map(|(name, view)| (name.as_str(), view)).collect()))
}

/// Reads all tensors of a safetensors file onto a device. Dtypes that a GPU cannot hold are
/// converted to the nearest that it can (`f64` to `f32`, `i64` and `i16` to `i32`, `u64` and `u16` to `u32`); an integer
/// that does not fit is an error.
pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<HashMap<String, Tensor>> {
    let path = path.as_ref();
    let bytes =
        std::fs::read(path).map_err(|source| Error::File { op: "load", path: path.into(), source })?;
    decode(path, &bytes, device)
}

/// The tensors in the bytes of a safetensors file.
pub fn decode(path: &Path, bytes: &[u8], device: &Device) -> Result<HashMap<String, Tensor>> {
    let format = |message: String| Error::Format { path: path.into(), message };
    let file = safetensors::SafeTensors::deserialize(bytes).map_err(|e| format(e.to_string()))?;
    let mut tensors = HashMap::new();
    for (name, view) in file.tensors() {
        let dtype = own_type(view.dtype())
            .ok_or_else(|| format(format!("{name} has dtype {:?}, which is not supported", view.dtype())))?;
        if view.shape().len() > farad_ir::MAX_RANK {
            return Err(format(format!(
                "{name} has rank {} (at most {})",
                view.shape().len(),
                farad_ir::MAX_RANK
            )));
        }
        let shape = Shape::new(view.shape());
        if shape.count().is_none() {
            return Err(format(format!("{name} has too many elements: {shape}")));
        }
        let words: Vec<u8>;
        let data = match dtype {
            DType::Bool => {
                words = view.data().iter().flat_map(|&b| ((b != 0) as u32).to_le_bytes()).collect();
                &words
            }
            _ => view.data(),
        };
        let home = if dtype.is_on_gpus() { device.clone() } else { Device::cpu() };
        let tensor = Tensor::from_bytes(data, shape, dtype, &home)?;
        let tensor = loaded_from(&tensor, device, ("load", path, &format!(": {name}")))?;
        tensors.insert(name, tensor);
    }
    Ok(tensors)
}

/// A tensor on a device, as the nearest dtype that the device can hold.
pub fn loaded(tensor: &Tensor, device: &Device) -> Result<Tensor> {
    match device.is_gpu() && !tensor.dtype().is_on_gpus() {
        // Not `cast`: a number that does not fit came from outside.
        true if tensor.dtype().is_wide() => {
            let to = match tensor.dtype() {
                DType::F64 => DType::F32,
                DType::U64 => DType::U32,
                _ => DType::I32,
            };
            tensor.converted(to)?.to_device(device)
        }
        true => tensor.cast(tensor.dtype().register()).to_device(device),
        false => tensor.to_device(device),
    }
}

/// As [`loaded`], with the op, the file and the place in it for a number that the device cannot hold.
pub fn loaded_from(
    tensor: &Tensor,
    device: &Device,
    (op, path, place): (&'static str, &Path, &str),
) -> Result<Tensor> {
    loaded(tensor, device).map_err(|error| match error {
        Error::DoesNotFit { .. } => {
            Error::InFile { op, path: path.into(), place: place.into(), source: Box::new(error) }
        }
        error => error,
    })
}

const TYPES: [(DType, Dtype); 13] = [
    (DType::F32, Dtype::F32),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F64, Dtype::F64),
    (DType::I32, Dtype::I32),
    (DType::U32, Dtype::U32),
    (DType::I64, Dtype::I64),
    (DType::U64, Dtype::U64),
    (DType::I8, Dtype::I8),
    (DType::I16, Dtype::I16),
    (DType::U8, Dtype::U8),
    (DType::U16, Dtype::U16),
    (DType::Bool, Dtype::BOOL),
];

fn file_type(dtype: DType) -> Dtype {
    TYPES.iter().find(|(own, _)| *own == dtype).expect("every dtype is in the table").1
}

fn own_type(dtype: Dtype) -> Option<DType> {
    TYPES.iter().find(|(_, file)| *file == dtype).map(|(own, _)| *own)
}
