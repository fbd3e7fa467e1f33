//! The tensors of a folder: one safetensors file, or several with an index. They are mapped, not read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use farad::data::MappedFile;
use farad::{DType, Device, Shape, Tensor};
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

use crate::error::{Error, Result};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Tensors by name, in files that are mapped.
pub(super) struct Shards {
    files: Vec<(PathBuf, MappedFile)>,
    tensors: BTreeMap<String, Located>,
}

/// Where a tensor is.
struct Located {
    file: usize,
    dtype: DType,
    shape: Vec<usize>,
    bytes: Range<usize>,
}

impl Shards {
    /// Maps the weights of a folder. What the index names must be there.
    pub fn open(folder: &Path) -> Result<Shards> {
        let index = folder.join(INDEX);
        if index.exists() {
            return Shards::indexed(folder, &index);
        }
        let single = folder.join(SINGLE);
        if !single.exists() {
            return Err(Error::NoWeights { path: folder.into(), pickled: has_pickles(folder) });
        }
        let mut shards = Shards { files: vec![], tensors: BTreeMap::new() };
        shards.add(single)?;
        Ok(shards)
    }

    fn indexed(folder: &Path, index: &Path) -> Result<Shards> {
        let fail = |source| farad::Error::File { op: "weights", path: index.into(), source };
        let text = std::fs::read_to_string(index).map_err(fail)?;
        let wrong = |what: String| Error::Config { path: index.into(), what };
        let json: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("no JSON: {error}")))?;
        let map = json.get("weight_map").and_then(Value::as_object);
        let map = map.ok_or_else(|| wrong("there is no weight_map".into()))?;
        let mut wanted: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, file) in map {
            let file = file.as_str().filter(|file| !file.contains(['/', '\\']));
            let file = file.ok_or_else(|| wrong(format!("{name} is in no file of the folder")))?;
            wanted.entry(file).or_default().push(name);
        }
        let mut shards = Shards { files: vec![], tensors: BTreeMap::new() };
        for (file, names) in wanted {
            let path = folder.join(file);
            shards.add(path.clone())?;
            if let Some(name) = names.iter().find(|name| !shards.tensors.contains_key(**name)) {
                let what = format!("there is no {name} in it, which {INDEX} says");
                return Err(Error::DamagedShard { path, what });
            }
        }
        Ok(shards)
    }

    fn add(&mut self, path: PathBuf) -> Result<()> {
        let fail = |source| farad::Error::File { op: "weights", path: path.clone(), source };
        let file = MappedFile::open(&path).map_err(fail)?;
        let wrong = |what: String| Error::DamagedShard { path: path.clone(), what };
        let bytes = file.bytes();
        let parsed = SafeTensors::deserialize(bytes).map_err(|error| wrong(error.to_string()))?;
        let first = bytes.as_ptr() as usize;
        for (name, view) in parsed.tensors() {
            let dtype = dtype(view.dtype())
                .ok_or_else(|| wrong(format!("{name} has dtype {:?}, which is not read", view.dtype())))?;
            let start = view.data().as_ptr() as usize - first;
            let bytes = start..start + view.data().len();
            let located = Located { file: self.files.len(), dtype, shape: view.shape().to_vec(), bytes };
            if self.tensors.insert(name.clone(), located).is_some() {
                return Err(wrong(format!("{name} is in another file, too")));
            }
        }
        self.files.push((path, file));
        Ok(())
    }

    /// The names of all tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Bytes of all tensors in the files.
    pub fn bytes(&self) -> u64 {
        self.tensors.values().map(|located| located.bytes.len() as u64).sum()
    }

    /// A tensor of a shape, on the CPU, as the file has it.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let located = self
            .tensors
            .get(name)
            .ok_or_else(|| Error::HubWeights { path: self.folder(), what: format!("there is no {name}") })?;
        if located.shape != shape {
            // A damaged file may have more axes than a shape can.
            let what =
                format!("{name} has another shape than config.json says ({:?} vs {shape:?})", located.shape);
            return Err(Error::HubWeights { path: self.folder(), what });
        }
        let bytes = &self.files[located.file].1.bytes()[located.bytes.clone()];
        Ok(Tensor::from_bytes(bytes, Shape::new(shape), located.dtype, &Device::cpu())?)
    }

    fn folder(&self) -> PathBuf {
        self.files.first().and_then(|(path, _)| path.parent()).map(Path::to_path_buf).unwrap_or_default()
    }
}

/// Floats; weights of other kinds are quantized.
fn dtype(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::F32 => DType::F32,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F64 => DType::F64,
        // Masks of causal attention in older files.
        Dtype::U8 | Dtype::BOOL => DType::U8,
        _ => return None,
    })
}

/// Whether the folder has weights as Python objects.
fn has_pickles(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .into_iter()
        .any(|entry| entry.path().extension().is_some_and(|end| end == "bin" || end == "pt" || end == "pth"))
}
