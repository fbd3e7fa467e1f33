//! Where a training stands: named tensors and a JSON value of the caller's own, in one safetensors file.
//!
//! Invariant: the file is whole or the one before it, whenever the process is killed; the same contents give the
//! same bytes; and bytes that changed since are found by their checksum. Start at [`Checkpoint::new`] and [`Checkpoint::read`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use farad_ir::Shape;
use safetensors::{SafeTensorError, SafeTensors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::current_name;
use crate::error::{Error, Result, TrainError};
use crate::training::Standing;
use farad_nn::StateDict;
use farad_nn::layers::{Module, Parameter};
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::engine::{checksum_of, decode, encode, loaded};
use farad_tensor::engine::{remove_unfinished, write_and_keep};

/// The metadata's key; its value is JSON with version, kind, step and the caller's value.
const FORMAT: &str = "farad-checkpoint";
const VERSION: u64 = 1;
/// How the metadata's JSON ends, before the checksum of all that stands before it and of the tensors.
const CHECKSUM: &str = ",\"checksum\":";

/// Named tensors, the step that they belong to, and a value of the caller's own (position in the
/// data, schedule, random counters).
#[derive(Clone, Debug)]
pub struct Checkpoint {
    kind: String,
    step: u64,
    value: Value,
    tensors: BTreeMap<String, Tensor>,
    tuning: Option<String>,
    /// How the loop stood; none in files of earlier versions and of those who have a loop of their own.
    standing: Option<Value>,
    path: PathBuf,
}

impl Checkpoint {
    /// An empty checkpoint of a kind of run after `step` steps.
    pub fn new(kind: &str, step: u64) -> Checkpoint {
        let (value, tensors, path) = (Value::Null, BTreeMap::new(), PathBuf::new());
        Checkpoint { kind: kind.into(), step, value, tensors, tuning: None, standing: None, path }
    }

    /// Keeps how the loop stands.
    pub(crate) fn set_standing(&mut self, standing: &Standing) {
        self.standing = serde_json::to_value(standing).ok();
    }

    /// How the loop stood, if the file says it.
    pub(crate) fn standing(&self) -> Result<Option<Standing>> {
        let read = |standing: &Value| {
            serde_json::from_value(standing.clone()).map_err(|error| TrainError::CheckpointValue {
                path: self.path.clone(),
                message: error.to_string(),
            })
        };
        Ok(self.standing.as_ref().map(read).transpose()?)
    }

    /// The table of measured tiles that the tensors were computed under, by name; none if the fixed
    /// rule chose. Under another one a resumed run may end with other last bits.
    pub fn tuning(&self) -> Option<&str> {
        self.tuning.as_deref()
    }

    /// What is trained.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// How many steps were done.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Keeps a value of the caller's own, anything that turns into JSON.
    #[track_caller]
    pub fn set_value(&mut self, value: impl Serialize) {
        self.value = match serde_json::to_value(value) {
            Ok(value) => value,
            Err(error) => panic!("checkpoint: value does not turn into JSON: {error}"),
        };
    }

    /// The caller's own value.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T> {
        let fail = |e: serde_json::Error| TrainError::CheckpointValue {
            path: self.path.clone(),
            message: e.to_string(),
        };
        Ok(serde_json::from_value(self.value.clone()).map_err(fail)?)
    }

    /// Keeps a tensor under a name; it is read when the checkpoint is written.
    pub fn put(&mut self, name: &str, tensor: &Tensor) {
        self.tuning = self.tuning.take().or_else(|| tensor.device().tuning_name());
        self.tensors.insert(name.into(), tensor.clone());
    }

    /// Keeps tensors as `{prefix}.{name}`, e.g. an optimizer's state.
    pub fn put_all(&mut self, prefix: &str, tensors: Vec<(String, Tensor)>) {
        tensors.iter().for_each(|(name, tensor)| self.put(&format!("{prefix}.{name}"), tensor));
    }

    /// Keeps the current tensors of parameters as `{prefix}.{name}`.
    pub fn put_parameters(&mut self, prefix: &str, parameters: &[(String, Parameter)]) {
        for (name, parameter) in parameters {
            self.put(&format!("{prefix}.{name}"), &parameter.value());
        }
    }

    /// Keeps all parameters and buffers of a module as `{prefix}.{name}`.
    pub fn put_module(&mut self, prefix: &str, module: &(impl Module + ?Sized)) {
        self.put_all(prefix, module.state());
    }

    /// Puts the tensors `{prefix}.…` into a module, on its devices. Nothing changes unless both have the same
    /// names and shapes.
    pub fn restore_module(&self, prefix: &str, module: &(impl Module + ?Sized)) -> Result<()> {
        StateDict::from_tensors(self.tensors(prefix, &Device::cpu())?).load_exactly(module)
    }

    /// The names of all tensors, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// A tensor by name, of this shape, on a device.
    pub fn tensor(&self, name: &str, shape: impl Into<Shape>, device: &Device) -> Result<Tensor> {
        let (tensor, wanted) = (self.find(name)?, shape.into());
        if tensor.shape() != wanted {
            let found = tensor.shape();
            return Err(Error::TensorShape { op: "checkpoint", name: name.into(), found, wanted });
        }
        loaded(tensor, device)
    }

    /// All tensors called `{prefix}.…`, by what follows, on a device.
    pub fn tensors(&self, prefix: &str, device: &Device) -> Result<Vec<(String, Tensor)>> {
        let inside = |name: &str| {
            let (first, rest) = name.split_once('.')?;
            match current_name(first) == prefix {
                true => Some(rest.to_string()),
                false => Some(name.strip_prefix(prefix)?.strip_prefix('.')?.to_string()),
            }
        };
        let all = self.tensors.iter().filter_map(|(name, tensor)| Some((inside(name)?, tensor)));
        all.map(|(name, tensor)| Ok((name, loaded(tensor, device)?))).collect()
    }

    /// Names and shapes of the tensors called `{prefix}.…`, as `farad inspect` lists them. Empty if they cannot be read.
    pub fn listed(&self, prefix: &str) -> Vec<Value> {
        let tensors = self.tensors(prefix, &Device::cpu()).unwrap_or_default();
        let row =
            |(name, tensor): (String, Tensor)| json!({ "name": name, "shape": tensor.shape().to_string() });
        tensors.into_iter().map(row).collect()
    }

    /// Puts the tensors `{prefix}.{name}` into parameters, on the devices that these are on.
    /// Nothing changes if one is missing or does not fit.
    pub fn restore_parameters(&self, prefix: &str, parameters: &[(String, Parameter)]) -> Result<()> {
        let mut restored = Vec::with_capacity(parameters.len());
        for (name, parameter) in parameters {
            let (name, old) = (format!("{prefix}.{name}"), parameter.value());
            let tensor = self.tensor(&name, old.shape(), old.device())?;
            if tensor.dtype() != old.dtype() {
                let (found, wanted) = (tensor.dtype(), old.dtype());
                return Err(Error::TensorType { op: "checkpoint", name, found, wanted });
            }
            restored.push(tensor);
        }
        parameters.iter().zip(restored).for_each(|((_, parameter), tensor)| parameter.set(tensor));
        Ok(())
    }

    /// Writes the checkpoint: until it is whole, the file keeps what it had. One process at a time
    /// may write one file (a [`Run`](super::Run) sees to that); what killed ones left is removed.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write_and_keep(path.as_ref(), None)
    }

    /// As [`Checkpoint::write`]; what the file had is found under another name afterwards.
    pub(super) fn write_and_keep(&self, path: &Path, before: Option<&Path>) -> Result<()> {
        remove_unfinished(path);
        let mut head =
            json!({ "version": VERSION, "kind": self.kind, "step": self.step, "value": self.value });
        if let Some(tuning) = &self.tuning {
            head["tuning"] = json!(tuning);
        }
        if let Some(standing) = &self.standing {
            head["loop"] = standing.clone();
        }
        let tensors: Vec<(&str, &Tensor)> = self.tensors.iter().map(|(name, t)| (name.as_str(), t)).collect();
        let head = head.to_string();
        let head = head.strip_suffix('}').expect("an object");
        let text = |tensors: u32| format!("{head}{CHECKSUM}{}}}", checksum(head, tensors));
        write_and_keep("checkpoint", path, &encode(path, &tensors, Some((FORMAT, &text)))?, before)
    }

    /// Reads a checkpoint of a kind of run. Its tensors are on the CPU until they are asked for.
    pub fn read(path: impl AsRef<Path>, kind: &str) -> Result<Checkpoint> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::File {
            op: "checkpoint",
            path: path.into(),
            source,
        })?;
        let head = head(path, &bytes)?;
        let damaged = |why: &str| TrainError::NotCheckpoint { path: path.into(), why: why.into() };
        let version = head["version"].as_u64().ok_or_else(|| damaged("it has no version"))?;
        if version > VERSION {
            return Err(
                TrainError::CheckpointVersion { path: path.into(), found: version, reads: VERSION }.into()
            );
        }
        let found = head["kind"].as_str().ok_or_else(|| damaged("it has no kind"))?;
        if found != kind {
            let (path, found, wanted) = (path.into(), found.into(), kind.into());
            return Err(TrainError::CheckpointKind { path, found, wanted }.into());
        }
        let step = head["step"].as_u64().ok_or_else(|| damaged("it has no step"))?;
        let tensors = decode(path, &bytes, &Device::cpu())?.into_iter().collect();
        let (value, tuning) = (head["value"].clone(), head["tuning"].as_str().map(String::from));
        let standing = head.get("loop").cloned();
        Ok(Checkpoint { kind: kind.into(), step, value, tensors, tuning, standing, path: path.into() })
    }

    fn find(&self, name: &str) -> Result<&Tensor> {
        let no = || Error::NoTensor {
            op: "checkpoint",
            name: name.into(),
            place: self.path.display().to_string(),
        };
        self.tensors.get(name).ok_or_else(no)
    }
}

/// The JSON in a file's metadata, or what is wrong with the file.
fn head(path: &Path, bytes: &[u8]) -> Result<Value> {
    let not = |why: String| TrainError::NotCheckpoint { path: path.into(), why };
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| match error {
        SafeTensorError::HeaderTooSmall => truncated(path, bytes, 8),
        SafeTensorError::InvalidHeaderLength => truncated(path, bytes, header_end(bytes)),
        SafeTensorError::MetadataIncompleteBuffer => truncated_data(path, bytes),
        other => not(other.to_string()),
    })?;
    let text = metadata.metadata().as_ref().and_then(|all| all.get(FORMAT));
    let text = text.ok_or_else(|| not("it holds tensors and no training state".into()))?;
    let value: Value = serde_json::from_str(text).map_err(|e| not(e.to_string()))?;
    // Files of earlier builds have no checksum, and later ones may have another.
    let ours = value["version"].as_u64().is_none_or(|version| version <= VERSION);
    if let Some((head, sum)) = text.rsplit_once(CHECKSUM).filter(|_| ours) {
        let wanted = sum.strip_suffix('}').and_then(|sum| sum.parse().ok());
        let wanted = wanted.ok_or_else(|| not("its checksum is not a number".into()))?;
        let found = checksum(head, checksum_of(path, bytes)?);
        if found != wanted {
            return Err(TrainError::CheckpointChecksum { path: path.into(), found, wanted }.into());
        }
    }
    Ok(value)
}

/// The checksum of the metadata's text and of that of the tensors.
fn checksum(head: &str, tensors: u32) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head.as_bytes());
    sum.update(&tensors.to_le_bytes());
    sum.finalize()
}

/// Where the header ends: a length, then as many bytes.
fn header_end(bytes: &[u8]) -> u64 {
    let length: [u8; 8] = bytes[..8].try_into().expect("eight bytes");
    u64::from_le_bytes(length).saturating_add(8)
}

fn truncated(path: &Path, bytes: &[u8], wanted: u64) -> TrainError {
    TrainError::CheckpointTruncated { path: path.into(), found: bytes.len() as u64, wanted }
}

/// The header is whole and the data are not as long as it says.
fn truncated_data(path: &Path, bytes: &[u8]) -> TrainError {
    let start = header_end(bytes);
    let header: Value = serde_json::from_slice(&bytes[8..start as usize]).unwrap_or_default();
    let ends = header.as_object().into_iter().flat_map(|tensors| tensors.values());
    let end = ends.filter_map(|tensor| tensor["data_offsets"][1].as_u64()).max().unwrap_or(0);
    let end = start.saturating_add(end);
    match end > bytes.len() as u64 {
        true => truncated(path, bytes, end),
        false => TrainError::NotCheckpoint {
            path: path.into(),
            why: format!("bytes after its end ({} vs {end})", bytes.len()),
        },
    }
}
