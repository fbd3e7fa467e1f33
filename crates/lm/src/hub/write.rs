//! The way back: a folder as Hugging Face's, with the weights of a model.

use std::path::Path;

use farad::Tensor;
use serde_json::{Value, json};

use super::family::ModelFamily;
use super::weights;
use crate::error::{Error, Result};
use crate::model::{Positions, Transformer};

/// Files that go along unchanged, if they are there.
const ALONG: [&str; 8] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "generation_config.json",
    "vocab.json",
    "merges.txt",
    "LICENSE",
];

/// Writes a model into a new folder, with `config.json` and the tokenizer of the folder that it came from. The weights are
/// f32, in one file.
pub fn write_folder(model: &Transformer, origin: &Path, folder: &Path) -> Result<()> {
    let file = |path: &Path| {
        let path = path.to_path_buf();
        move |source| farad::Error::File { op: "export", path, source }
    };
    let source = origin.join("config.json");
    let text = std::fs::read_to_string(&source).map_err(file(&source))?;
    let wrong = |what: String| Error::Config { path: source.clone(), what };
    let mut config: Value =
        serde_json::from_str(&text).map_err(|error| wrong(format!("no JSON: {error}")))?;
    let family = config.get("model_type").and_then(Value::as_str).and_then(ModelFamily::named);
    let family = family.ok_or_else(|| wrong("model_type is not known".into()))?;
    std::fs::create_dir_all(folder).map_err(file(folder))?;
    let named = weights::named(model, family)?;
    let tensors: Vec<(&str, &Tensor)> = named.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    farad::save(folder.join("model.safetensors"), &tensors)?;
    // Newer files say `dtype`, older ones `torch_dtype`.
    let key = if config.get("torch_dtype").is_some() { "torch_dtype" } else { "dtype" };
    config[key] = json!("float32");
    if model.options().positions == Positions::Learned {
        config["n_positions"] = json!(model.options().context);
    }
    let path = folder.join("config.json");
    let text = serde_json::to_string_pretty(&config).expect("JSON is JSON") + "\n";
    std::fs::write(&path, text).map_err(file(&path))?;
    copy_along(origin, folder)
}

/// Copies everything but the weights.
pub(crate) fn copy_files(origin: &Path, folder: &Path) -> Result<()> {
    let fail = |path: &Path| {
        let path = path.to_path_buf();
        move |source| farad::Error::File { op: "train", path, source }
    };
    std::fs::create_dir_all(folder).map_err(fail(folder))?;
    let (from, to) = (origin.join("config.json"), folder.join("config.json"));
    std::fs::copy(&from, &to).map_err(fail(&to))?;
    copy_along(origin, folder)
}

/// Copies tokenizer and template.
fn copy_along(origin: &Path, folder: &Path) -> Result<()> {
    for name in ALONG {
        let (from, to) = (origin.join(name), folder.join(name));
        if from.exists() {
            std::fs::copy(&from, &to).map_err(|source| farad::Error::File {
                op: "export",
                path: to,
                source,
            })?;
        }
    }
    Ok(())
}
