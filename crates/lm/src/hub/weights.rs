//! Weights from the files of a family into a model, and back.

use std::collections::{BTreeSet, HashMap};

use farad::nn::{Module, Parameter};
use farad::{DType, Device, Tensor};

use super::family::{ModelFamily, part_sizes};
use super::shards::Shards;
use crate::error::{Error, Result};
use crate::model::{ModelOptions, Transformer, WeightFormat};

/// A model with the weights of files, on a device.
pub(super) fn load(
    shards: &Shards,
    family: &ModelFamily,
    options: &ModelOptions,
    places: usize,
    (format, device): (WeightFormat, &Device),
) -> Result<Transformer> {
    let layout = family.layout;
    // Some files leave the prefix out.
    let bare = !shards.names().any(|name| name.starts_with(layout.prefix));
    let full = |name: &str| if bare { name.to_string() } else { layout.full_name(name) };
    let mut model = Transformer::unsettled(options)?;
    let (mut used, mut scales) = (BTreeSet::new(), HashMap::new());
    for (path, parameter) in model.named_parameters() {
        let stored = layout.stored(&path).expect("every part of these models has a row");
        let shape = parameter.value().shape();
        let sizes = part_sizes(options, &path, stored.names.len());
        let mut parts = Vec::with_capacity(stored.names.len());
        for (n, name) in stored.names.iter().enumerate() {
            let outputs = sizes.as_ref().map_or(shape[shape.rank() - 1], |sizes| sizes[n]);
            let mut wanted = shape.to_vec();
            *wanted.last_mut().expect("no weight is a single number") = outputs;
            if stored.transposed {
                wanted.reverse();
            }
            if path.starts_with("wpe.") {
                wanted[0] = places;
            }
            let name = full(name);
            let part = shards.tensor(&name, &wanted)?.cast(DType::F32);
            parts.push(if stored.transposed { part.transpose(0, 1) } else { part });
            used.insert(name);
        }
        let whole = match &parts[..] {
            [one] => one.clone(),
            several => Tensor::concat(&several.iter().collect::<Vec<_>>(), -1),
        };
        // A smaller context needs fewer places.
        let whole = if path.starts_with("wpe.") { whole.narrow(0, 0, shape[0]) } else { whole };
        let (whole, scale) = match path.strip_suffix(".weight") {
            Some("wte" | "lm_head") => (format.table(&whole), None),
            Some(product) if product.contains(".c_") => format.product(&whole),
            _ => (whole, None),
        };
        if let Some(scale) = scale {
            scales.insert(path, Parameter::new(scale.detach()?.to_device(device)?));
        }
        parameter.set(whole.detach()?.to_device(device)?);
    }
    for (path, product) in model.products() {
        product.scale = scales.remove(&format!("{path}.weight"));
    }
    check_all_used(shards, family, options, &used)?;
    // Modes and what else is no parameter.
    Ok(model.try_to_device(device)?)
}

/// Refuses files with tensors that the model does not have.
fn check_all_used(
    shards: &Shards,
    family: &ModelFamily,
    options: &ModelOptions,
    used: &BTreeSet<String>,
) -> Result<()> {
    let repeated = |name: &str| options.tied && name == "lm_head.weight";
    let ignored = |name: &str| family.layout.ignored.iter().any(|end| name.ends_with(end));
    let left: Vec<&str> =
        shards.names().filter(|name| !used.contains(*name) && !repeated(name) && !ignored(name)).collect();
    match left.first() {
        None => Ok(()),
        Some(first) => Err(Error::ForeignTensors {
            first: first.to_string(),
            count: left.len(),
            family: family.name.into(),
        }),
    }
}

/// The weights of a model under the names of a family.
pub(super) fn named(model: &Transformer, family: &ModelFamily) -> Result<Vec<(String, Tensor)>> {
    let (layout, options) = (family.layout, model.options());
    let mut all = vec![];
    for (path, parameter) in model.named_parameters() {
        let Some(stored) = layout.stored(&path) else { continue };
        let (value, mut start) = (parameter.value().to_device(&Device::cpu())?, 0);
        let sizes = part_sizes(options, &path, stored.names.len());
        for (n, name) in stored.names.iter().enumerate() {
            let part = match &sizes {
                Some(sizes) => value.narrow(-1, start, sizes[n]),
                None => value.clone(),
            };
            start += sizes.as_ref().map_or(0, |sizes| sizes[n]);
            let part = if stored.transposed { part.transpose(0, 1) } else { part };
            all.push((layout.full_name(name), part.detach()?));
        }
    }
    Ok(all)
}
