//! Sets in NumPy's files: inputs and targets as arrays.

use std::path::Path;

use super::TensorSet;
use crate::error::{Error, Result};
use farad_tensor::Device;
use farad_tensor::{read_npy, read_npz};

/// Inputs `[n, ..]` and targets `[n, ..]` from two `.npy` files.
pub fn npy_set(inputs: impl AsRef<Path>, targets: impl AsRef<Path>) -> Result<TensorSet> {
    TensorSet::new(&read_npy(inputs, &Device::cpu())?, &read_npy(targets, &Device::cpu())?)
}

/// Inputs `[n, ..]` and targets `[n, ..]` by their names in a `.npz` file.
pub fn npz_set(path: impl AsRef<Path>, inputs: &str, targets: &str) -> Result<TensorSet> {
    let path = path.as_ref();
    let mut arrays = read_npz(path, &Device::cpu())?;
    let mut take = |name: &str| {
        let place = path.display().to_string();
        arrays.remove(name).ok_or_else(|| Error::NoTensor { op: "npz", name: name.into(), place })
    };
    TensorSet::new(&take(inputs)?, &take(targets)?)
}
