//! `farad generate`: text by a model, as it is made.

use std::io::Write;
use std::time::Instant;

use farad::train::run_device;
use farad_lm::Generator;
use farad_lm::train::{KIND, Learned};
use serde_json::json;

use crate::arguments::{DeviceFlag, GenerateOptions};
use crate::error::{Error, Result};
use crate::look;
use crate::profile::Profiling;
use crate::source::open_run;

/// Goes on with a prompt.
pub fn run(options: &GenerateOptions) -> Result<()> {
    let learned = opened(&options.run, &options.device)?;
    let profiling = Profiling::start(&options.profile, &learned.model.device());
    let prompt = options.prompt.as_deref().unwrap_or("\n");
    let mut generator = Generator::new(&learned.model, options.sampling.sampling())?;
    generator.push(&learned.prompted(prompt)?)?;
    let mut out = std::io::stdout().lock();
    let (mut decoder, mut text) = (learned.tokenizer.decoder(), String::new());
    let start = Instant::now();
    let mut tell = |more: &str| -> Result<()> {
        match options.output.json {
            true => text += more,
            false => {
                write!(out, "{}", look::by_a_model(more))?;
                out.flush()?;
            }
        }
        Ok(())
    };
    if !options.output.json && options.prompt.is_some() {
        tell(prompt)?;
    }
    // A word goes on after the prompt's last one.
    let mut first = needs_space(&learned, prompt);
    for token in generator.by_ref().take(options.tokens) {
        let more = decoder.push(token?);
        if std::mem::take(&mut first) && !more.starts_with('\n') {
            tell(" ")?;
        }
        tell(&more)?;
    }
    tell(&decoder.finish())?;
    if options.output.json {
        let seconds = start.elapsed().as_secs_f64();
        let rate = options.tokens as f64 / seconds.max(1e-9);
        let value = json!({
            "prompt": prompt, "text": text, "tokens": options.tokens, "seconds": seconds, "tokens_per_second": rate,
        });
        writeln!(out, "{value}")?;
    } else {
        writeln!(out)?;
    }
    out.flush()?;
    profiling.finish()
}

/// A model that is ready to make text.
pub fn opened(folder: &std::path::Path, device: &DeviceFlag) -> Result<Learned> {
    let run = open_run(folder)?;
    if run.kind() != KIND {
        return Err(Error::NoLanguageModel { path: folder.display().to_string(), kind: run.kind().into() });
    }
    let device = match device.asked()? {
        Some(device) => device,
        None => run_device(&run)?,
    };
    Ok(Learned::of(&run, &device)?)
}

/// Whether what comes next is a word of its own.
pub fn needs_space(learned: &Learned, prompt: &str) -> bool {
    learned.tokenizer.name() == "words" && prompt.ends_with(|last: char| !last.is_whitespace())
}
