//! Low-rank adapters under PEFT's names: `adapter_model.safetensors` and `adapter_config.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use farad::nn::{Module, Parameter};
use farad::{DType, Device, Tensor};
use serde_json::{Value, json};

use super::family::{ModelFamily, part_sizes};
use crate::error::{Error, Result};
use crate::model::Transformer;

const WEIGHTS: &str = "adapter_model.safetensors";
const CONFIG: &str = "adapter_config.json";
/// What PEFT puts before all names.
const PREFIX: &str = "base_model.model.";

/// What adapters a model gets.
#[derive(Clone, Debug, PartialEq)]
pub struct LoraOptions {
    /// Columns between the two small products.
    pub rank: usize,
    /// Results are multiplied with `alpha / rank`.
    pub alpha: f64,
    /// Which products, by the ends of their names in the family's files (`q_proj`); none: all of the blocks.
    pub targets: Vec<String>,
}

impl LoraOptions {
    /// Whether a product gets one, by its name in files without the leaf: `layers.0.self_attn.q_proj`.
    fn has(&self, name: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|target| ends_with(name, target))
    }
}

/// The parts of a product in files: names without the leaf, and outputs.
fn parts(
    family: &ModelFamily,
    model: &crate::ModelOptions,
    path: &str,
    outputs: usize,
) -> Vec<(String, usize)> {
    let stored = family.layout.stored(&format!("{path}.weight")).expect("products have a row");
    let sizes = part_sizes(model, path, stored.names.len()).unwrap_or_else(|| vec![outputs]);
    let name = |name: &String| name.strip_suffix(".weight").unwrap_or(name).to_string();
    stored.names.iter().map(name).zip(sizes).collect()
}

/// Refuses adapters for products that a model of so many layers does not have.
pub(crate) fn check_targets(family: &ModelFamily, layers: usize, options: &LoraOptions) -> Result<()> {
    let layout = family.layout;
    let products = layout.inside.iter().filter(|(own, _)| !own.starts_with("ln_"));
    let names: Vec<&str> = products.flat_map(|(_, names)| names.iter().copied()).collect();
    let is_one = |target: &str| {
        let of = |name: &&str| (0..layers).any(|n| ends_with(&format!("{}{n}.{name}", layout.layer), target));
        names.iter().any(of)
    };
    match options.targets.iter().find(|target| !is_one(target)) {
        None => Ok(()),
        Some(target) => Err(Error::NoLoraTarget { target: target.clone(), known: names.join(", ") }),
    }
}

/// Whether a name ends so, in whole parts.
fn ends_with(name: &str, end: &str) -> bool {
    name.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'))
}

/// Freezes a model and gives its blocks new adapters, on its device.
pub fn adapt(model: &mut Transformer, family: &ModelFamily, options: &LoraOptions) -> Result<()> {
    let (sizes, device) = (model.options().clone(), model.device());
    check_targets(family, sizes.layers, options)?;
    model.freeze();
    for (path, product) in model.products() {
        let parts = parts(family, &sizes, &path, product.weight.value().size(1));
        let has: Vec<(usize, bool)> =
            parts.iter().map(|(name, outputs)| (*outputs, options.has(name))).collect();
        product.adapt(&has, options.rank, options.alpha / options.rank as f64)?;
        for (_, parameter) in product.lora.iter().flat_map(|lora| lora.named_parameters()) {
            parameter.move_to(&device)?;
        }
    }
    Ok(())
}

/// The two small products of every part that has them, by its name in files without the leaf.
fn adapters(model: &mut Transformer, family: &ModelFamily) -> Vec<(String, [Parameter; 2])> {
    let sizes = model.options().clone();
    let mut all = vec![];
    for (path, product) in model.products() {
        let Some(lora) = &product.lora else { continue };
        let names = parts(family, &sizes, &path, product.weight.value().size(1));
        for ((name, _), part) in names.into_iter().zip(&lora.parts) {
            all.extend(part.as_ref().map(|part| (name, [part.a.clone(), part.b.clone()])));
        }
    }
    all
}

/// Writes the adapters of a model as PEFT does. `base` is what the model was before: a name or a folder.
pub fn write_adapter(
    model: &mut Transformer,
    family: &ModelFamily,
    options: &LoraOptions,
    base: &str,
    folder: &Path,
) -> Result<()> {
    let file = |path: PathBuf| move |source| farad::Error::File { op: "export", path, source };
    std::fs::create_dir_all(folder).map_err(file(folder.into()))?;
    let (mut tensors, mut targets) = (vec![], vec![]);
    for (name, parameters) in adapters(model, family) {
        // The name of a part within its layer, which suffices to find it again.
        let within = name.split('.').skip(2).collect::<Vec<_>>().join(".");
        if !targets.contains(&within) {
            targets.push(within);
        }
        for (leaf, parameter) in ["lora_A", "lora_B"].into_iter().zip(parameters) {
            let value = parameter.value().to_device(&Device::cpu())?.transpose(0, 1).detach()?;
            tensors.push((format!("{PREFIX}{}.{leaf}.weight", family.layout.full_name(&name)), value));
        }
    }
    let named: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    farad::save(folder.join(WEIGHTS), &named)?;
    let config = json!({
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": options.rank,
        "lora_alpha": options.alpha,
        "lora_dropout": 0.0,
        "target_modules": targets,
        "fan_in_fan_out": !family.layout.transposed,
        "bias": "none",
        "inference_mode": true,
    });
    let path = folder.join(CONFIG);
    let text = serde_json::to_string_pretty(&config).expect("JSON is JSON") + "\n";
    Ok(std::fs::write(&path, text).map_err(file(path.clone()))?)
}

/// Reads adapters that PEFT or this crate wrote, and gives them to a model. They stay beside the weights; see
/// [`Transformer::merge`].
pub fn read_adapter(model: &mut Transformer, family: &ModelFamily, folder: &Path) -> Result<()> {
    let options = read_config(folder)?;
    let path = folder.join(WEIGHTS);
    let mut tensors = BTreeMap::new();
    for (name, tensor) in farad::load(&path, &Device::cpu())? {
        let plain = name.strip_prefix(PREFIX).unwrap_or(&name);
        let plain = plain.strip_prefix(family.layout.prefix).unwrap_or(plain).to_string();
        tensors.insert(plain, tensor);
    }
    let wrong = |what: String| Error::Adapter { path: path.clone(), what };
    let targets = tensors.keys().filter_map(|name| name.strip_suffix(".lora_A.weight"));
    let mut exact: Vec<String> = targets.map(str::to_string).collect();
    // All parts have names of their own here, so whole names are the targets.
    exact
        .iter_mut()
        .for_each(|name| *name = name.strip_prefix(family.layout.layer).unwrap_or(name).to_string());
    adapt(model, family, &LoraOptions { targets: exact, ..options })?;
    let device = model.device();
    for (name, parameters) in adapters(model, family) {
        for (leaf, parameter) in ["lora_A", "lora_B"].into_iter().zip(parameters) {
            let name = format!("{name}.{leaf}.weight");
            let tensor = tensors.remove(&name).ok_or_else(|| wrong(format!("there is no {name}")))?;
            let (found, wanted) = (tensor.shape(), parameter.value().transpose(0, 1).shape());
            if found != wanted {
                return Err(wrong(format!("{name} has another shape ({found} vs {wanted})")));
            }
            parameter.set(tensor.cast(DType::F32).transpose(0, 1).detach()?.to_device(&device)?);
        }
    }
    match tensors.keys().next() {
        None => Ok(()),
        Some(name) => Err(wrong(format!("{name} is of nothing that the model has"))),
    }
}

/// Rank and scale of an adapter.
fn read_config(folder: &Path) -> Result<LoraOptions> {
    let path = folder.join(CONFIG);
    let fail = |source| farad::Error::File { op: "adapter", path: path.clone(), source };
    let text = std::fs::read_to_string(&path).map_err(fail)?;
    let wrong = |what: String| Error::Adapter { path: path.clone(), what };
    let json: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("no JSON: {error}")))?;
    let rank = json.get("r").and_then(Value::as_u64).filter(|rank| (1..=1 << 16).contains(rank));
    let rank = rank.ok_or_else(|| wrong("there is no r".into()))? as usize;
    let alpha = json.get("lora_alpha").and_then(Value::as_f64).unwrap_or(rank as f64);
    let is_set = |key: &&&str| match json.get(**key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Object(all)) => !all.is_empty(),
        Some(Value::Array(all)) => !all.is_empty(),
        Some(Value::String(text)) => text != "none",
        Some(_) => true,
    };
    let unknown =
        ["rank_pattern", "alpha_pattern", "modules_to_save", "use_dora", "bias", "use_qalora", "use_bdlora"];
    if let Some(key) = unknown.iter().find(is_set) {
        return Err(wrong(format!("{key} is not supported")));
    }
    let stabilized = json.get("use_rslora") == Some(&Value::Bool(true));
    let alpha = if stabilized { alpha * (rank as f64).sqrt() } else { alpha };
    Ok(LoraOptions { rank, alpha, targets: vec![] })
}
