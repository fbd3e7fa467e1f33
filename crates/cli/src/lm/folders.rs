//! `farad export --format huggingface` and `peft`: what a language model learned, for other tools.

use std::io::Write;

use farad::Device;
use farad_lm::hub::{HubFolder, write_adapter, write_folder};
use farad_lm::train::{KIND, Learned, PUBLISHED};
use serde_json::json;

use crate::arguments::ExportOptions;
use crate::error::{Error, Result};
use crate::look;
use crate::source::open_run;

/// A whole model, with adapters merged into its weights.
const WHOLE: &str = "huggingface";
/// Adapters alone.
const ADAPTER: &str = "peft";

/// Both.
pub const FORMATS: [&str; 2] = [WHOLE, ADAPTER];

/// Writes a folder; nothing of it may be there yet.
pub fn run(options: &ExportOptions) -> Result<()> {
    let (run, path) = (open_run(&options.source)?, options.source.display().to_string());
    if run.kind() != KIND {
        return Err(Error::NoLanguageModel { path, kind: run.kind().into() });
    }
    let origin = run.path().join(PUBLISHED);
    if !HubFolder::is_one(&origin) {
        return Err(Error::NotPublished { path });
    }
    let whole = options.format == WHOLE;
    let files = match whole {
        true => ["model.safetensors", "config.json"],
        false => ["adapter_model.safetensors", "adapter_config.json"],
    };
    if let Some(there) = files.map(|name| options.out.join(name)).into_iter().find(|path| path.exists()) {
        return Err(Error::FileExists { op: "export", path: there.display().to_string(), flag: "--out" });
    }
    let Learned { mut model, settings, .. } = Learned::of(&run, &Device::cpu())?;
    match (whole, settings.lora_options()) {
        (true, _) => {
            model.merge()?;
            write_folder(&model, &origin, &options.out)?;
        }
        (false, Some(lora)) => {
            write_adapter(&mut model, settings.family(), &lora, &settings.weights, &options.out)?;
        }
        (false, None) => return Err(Error::NoAdapter { path }),
    }
    let mut out = look::out();
    for path in files.map(|name| options.out.join(name)) {
        let bytes = std::fs::metadata(&path).map_or(0, |data| data.len());
        let path = path.display().to_string();
        match options.output.json {
            true => writeln!(out, "{}", json!({ "file": path, "format": options.format, "bytes": bytes }))?,
            false => writeln!(out, "{path}")?,
        }
    }
    Ok(out.flush()?)
}
