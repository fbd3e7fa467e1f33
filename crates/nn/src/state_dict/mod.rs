//! Named tensors on their way from a file (safetensors, npz) into a module: read, renamed by patterns, and
//! compared with what the module has.
//!
//! PyTorch's `.pt` files are not read: they are pickles, which are programs. Export to safetensors instead.
//! npy is read and written by `farad-tensor` (`numpy/`): the format is a line of text and bytes.
//!
//! Invariant: nothing is dropped silently. Two tensors with the same name are an error. Whatever does not
//! reach the module, or is missing for it, is in the [`Difference`]. Start at [`StateDict::read`].

mod difference;
mod pattern;

pub use difference::{Difference, Mismatch};

use std::collections::BTreeMap;
use std::path::Path;

use farad_ir::DType;

use crate::error::{NnError, Result};
use crate::layers::{Buffer, Module, Parameter};
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::{engine::loaded, load, save};
#[cfg(feature = "npz")]
use farad_tensor::{read_npz, write_npz};
use pattern::Pattern;

/// Named tensors, e.g. the weights of a model that was trained elsewhere.
///
/// Patterns are names in which `*` stands for some letters without a dot, and `**` for any. PyTorch's own `.pt` files
/// hold Python objects and are not read: write `safetensors.torch.save_file(model.state_dict(), "x.safetensors")` there.
///
/// ```
/// use farad::StateDict;
/// use farad::prelude::*;
/// let other = Sequential::new((Linear::new(3, 4), Relu, Linear::new(4, 2)));
/// let saved = StateDict::of(&other).add_prefix("model.")?;
///
/// let model = Sequential::new((Linear::new(3, 4), Linear::new(4, 2)));
/// let state = saved.strip_prefix("model.")?.rename("2.*", "1.*")?;
/// let difference = state.load_into(&model)?;
/// assert!(difference.is_complete(), "{difference}");
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    tensors: BTreeMap<String, Tensor>,
}

impl StateDict {
    /// All parameters and buffers of a module.
    pub fn of(module: &(impl Module + ?Sized)) -> StateDict {
        StateDict { tensors: module.state().into_iter().collect() }
    }

    /// These tensors.
    pub fn from_tensors(tensors: impl IntoIterator<Item = (String, Tensor)>) -> StateDict {
        StateDict { tensors: tensors.into_iter().collect() }
    }

    /// Reads a safetensors file or, by the ending `.npz`, NumPy's. The tensors are on the CPU.
    pub fn read(path: impl AsRef<Path>) -> Result<StateDict> {
        let path = path.as_ref();
        let tensors = match is_npz(path) {
            true => read_npz(path, &Device::cpu())?,
            false => load(path, &Device::cpu())?,
        };
        Ok(StateDict::from_tensors(tensors))
    }

    /// Writes a safetensors file or, by the ending `.npz`, NumPy's.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let tensors: Vec<(&str, &Tensor)> = self.tensors.iter().map(|(name, t)| (name.as_str(), t)).collect();
        if is_npz(path) { write_npz(path, &tensors) } else { save(path, &tensors) }
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// A tensor by name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Names that begin so go on without it; others stay.
    pub fn strip_prefix(self, prefix: &str) -> Result<StateDict> {
        self.renamed(|name| name.strip_prefix(prefix).unwrap_or(name).to_string())
    }

    /// All names begin so.
    pub fn add_prefix(self, prefix: &str) -> Result<StateDict> {
        self.renamed(|name| format!("{prefix}{name}"))
    }

    /// Names that match a pattern become another, with what its stars stood for in the other's places.
    ///
    /// # Panics
    /// If the other has more stars than the pattern.
    #[track_caller]
    pub fn rename(self, pattern: &str, to: &str) -> Result<StateDict> {
        let pattern = Pattern::new(pattern);
        pattern.check(to);
        self.renamed(|name| pattern.replaced(name, to).unwrap_or_else(|| name.to_string()))
    }

    /// Only tensors whose names match.
    pub fn select(mut self, pattern: &str) -> StateDict {
        let pattern = Pattern::new(pattern);
        self.tensors.retain(|name, _| pattern.matches(name));
        self
    }

    /// Without the tensors whose names match.
    pub fn ignore(mut self, pattern: &str) -> StateDict {
        let pattern = Pattern::new(pattern);
        self.tensors.retain(|name, _| !pattern.matches(name));
        self
    }

    /// The last two axes of tensors whose names match change places: for weights kept as `[inputs, outputs]`. A
    /// tensor of fewer axes stays as it is.
    pub fn transpose(mut self, pattern: &str) -> StateDict {
        let pattern = Pattern::new(pattern);
        let matching =
            self.tensors.iter_mut().filter(|(name, tensor)| pattern.matches(name) && tensor.rank() >= 2);
        matching.for_each(|(_, tensor)| *tensor = tensor.transpose(-2, -1));
        self
    }

    /// How these tensors and those of a module differ; nothing is loaded.
    pub fn compare(&self, module: &(impl Module + ?Sized)) -> Difference {
        let cells = cells(module);
        let mut difference = Difference::default();
        for (name, cell) in &cells {
            let wanted = cell.value().shape();
            match self.tensors.get(name) {
                None => difference.missing.push(name.clone()),
                Some(tensor) if tensor.shape() != wanted => {
                    difference.mismatched.push(Mismatch {
                        name: name.clone(),
                        found: tensor.shape(),
                        wanted,
                    });
                }
                Some(_) => difference.loaded.push(name.clone()),
            }
        }
        let known = |name: &String| cells.iter().any(|(other, _)| other == name);
        difference.unexpected = self.tensors.keys().filter(|name| !known(name)).cloned().collect();
        difference
    }

    /// Puts whatever fits into a module, cast to its dtypes and moved to its devices; the rest is in the difference.
    pub fn load_into(&self, module: &(impl Module + ?Sized)) -> Result<Difference> {
        let difference = self.compare(module);
        let mut ready = Vec::with_capacity(difference.loaded.len());
        for (name, cell) in cells(module).into_iter().filter(|(name, _)| difference.loaded.contains(name)) {
            let old = cell.value();
            ready.push((cell, cast(&self.tensors[&name], old.dtype(), old.device())?));
        }
        ready.into_iter().for_each(|(cell, tensor)| cell.set(tensor));
        Ok(difference)
    }

    /// As [`StateDict::load_into`], with an error, and nothing changed, unless both have the same tensors.
    pub fn load_exactly(&self, module: &(impl Module + ?Sized)) -> Result<()> {
        let difference = self.compare(module);
        match difference.is_complete() {
            true => self.load_into(module).map(drop),
            false => Err(NnError::StateDiffers { difference: Box::new(difference) }.into()),
        }
    }

    fn renamed(self, new: impl Fn(&str) -> String) -> Result<StateDict> {
        let mut tensors = BTreeMap::new();
        for (name, tensor) in self.tensors {
            let name = new(&name);
            if tensors.insert(name.clone(), tensor).is_some() {
                return Err(NnError::NameTwice { name }.into());
            }
        }
        Ok(StateDict { tensors })
    }
}

/// A cell of a module, whatever its kind.
enum CellRef {
    Parameter(Parameter),
    Buffer(Buffer),
}

impl CellRef {
    fn value(&self) -> Tensor {
        match self {
            CellRef::Parameter(parameter) => parameter.value(),
            CellRef::Buffer(buffer) => buffer.value(),
        }
    }

    fn set(&self, tensor: Tensor) {
        match self {
            CellRef::Parameter(parameter) => parameter.set(tensor),
            CellRef::Buffer(buffer) => buffer.set(tensor),
        }
    }
}

fn cells(module: &(impl Module + ?Sized)) -> Vec<(String, CellRef)> {
    let parameters = module.named_parameters().into_iter().map(|(name, p)| (name, CellRef::Parameter(p)));
    parameters.chain(module.named_buffers().into_iter().map(|(name, b)| (name, CellRef::Buffer(b)))).collect()
}

/// A tensor as a dtype on a device. Casts run where the tensor is: a GPU may not hold what it was.
fn cast(tensor: &Tensor, dtype: DType, device: &Device) -> Result<Tensor> {
    let tensor = match tensor.dtype() {
        own if own == dtype => tensor.clone(),
        // Not `cast`: a number that does not fit came from outside.
        DType::I64 | DType::U64 => tensor.converted(dtype)?,
        _ => tensor.cast(dtype),
    };
    loaded(&tensor, device)
}

fn is_npz(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"))
}

#[cfg(not(feature = "npz"))]
fn read_npz(path: &Path, _: &Device) -> Result<std::collections::HashMap<String, Tensor>> {
    Err(NnError::NoArchives { path: path.into() }.into())
}

#[cfg(not(feature = "npz"))]
fn write_npz(path: &Path, _: &[(&str, &Tensor)]) -> Result<()> {
    Err(NnError::NoArchives { path: path.into() }.into())
}
