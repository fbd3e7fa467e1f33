//! Named tensors in safetensors files.

use std::collections::HashMap;
use std::path::Path;

use farad_ir::{DType, Shape};
use safetensors::tensor::{Dtype, TensorView};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// Writes named tensors to a safetensors file: whole or not at all (a temporary file, renamed).
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
    let mut stored = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let (shape, bytes) = tensor.stored()?;
        // Truth values are words on devices and bytes in files.
        let bytes =
            if tensor.dtype() == DType::Bool { bytes.chunks_exact(4).map(|w| w[0]).collect() } else { bytes };
        stored.push((*name, shape.to_vec(), file_type(tensor.dtype()), bytes));
    }
    let format = |message: String| Error::Format { path: path.into(), message };
    let mut views = Vec::with_capacity(stored.len());
    for (name, shape, dtype, bytes) in &stored {
        let view = TensorView::new(*dtype, shape.clone(), bytes).map_err(|e| format(e.to_string()))?;
        views.push((*name, view));
    }
    let bytes = safetensors::serialize(views, None).map_err(|e| format(e.to_string()))?;
    write_whole(path, &bytes)
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write;
    let fail = |source| Error::File { op: "save", path: path.into(), source };
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = std::fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&temporary, path));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    renamed.map_err(fail)
}

/// Reads all tensors of a safetensors file onto a device. Dtypes that a GPU cannot hold are
/// converted to the nearest that it can (`f64` and `bf16` to `f32`, `i64` to `i32`, `u8` to `u32`).
pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<HashMap<String, Tensor>> {
    let path = path.as_ref();
    let bytes =
        std::fs::read(path).map_err(|source| Error::File { op: "load", path: path.into(), source })?;
    let format = |message: String| Error::Format { path: path.into(), message };
    let file = safetensors::SafeTensors::deserialize(&bytes).map_err(|e| format(e.to_string()))?;
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
        let words: Vec<u8>;
        let data = match dtype {
            DType::Bool => {
                words = view.data().iter().flat_map(|&b| ((b != 0) as u32).to_le_bytes()).collect();
                &words
            }
            _ => view.data(),
        };
        let tensor = if device.is_gpu() && !dtype.is_compute() {
            Tensor::from_bytes(data, shape, dtype, &Device::cpu())?
                .cast(dtype.register())
                .to_device(device)?
        } else {
            Tensor::from_bytes(data, shape, dtype, device)?
        };
        tensors.insert(name, tensor);
    }
    Ok(tensors)
}

const TYPES: [(DType, Dtype); 9] = [
    (DType::F32, Dtype::F32),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F64, Dtype::F64),
    (DType::I32, Dtype::I32),
    (DType::U32, Dtype::U32),
    (DType::I64, Dtype::I64),
    (DType::U8, Dtype::U8),
    (DType::Bool, Dtype::BOOL),
];

fn file_type(dtype: DType) -> Dtype {
    TYPES.iter().find(|(own, _)| *own == dtype).expect("every dtype is in the table").1
}

fn own_type(dtype: Dtype) -> Option<DType> {
    TYPES.iter().find(|(_, file)| *file == dtype).map(|(own, _)| *own)
}
