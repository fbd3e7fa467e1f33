//! `farad eval --weights`: how well a published model predicts a text.

use std::time::Instant;

use farad::train::{Outcome, Watcher as _};
use farad::{Device, Precision};
use farad_lm::hub::read_adapter;
use farad_lm::train::{TextScore, text_of};
use serde_json::json;

use super::speaker::told;
use crate::arguments::EvalOptions;
use crate::error::{Error, Result};
use crate::look::count;
use crate::profile::Profiling;
use crate::training::{self, Screen};

/// Judges the model of a folder on a text.
pub fn run(folder: &std::path::Path, options: &EvalOptions) -> Result<()> {
    let Some(data) = &options.data else { return Err(Error::NeedsText) };
    if options.speed {
        return Err(Error::SpeedOfText);
    }
    let folder = options.weights.open(folder)?;
    let tokenizer = folder.tokenizer()?;
    let device = match options.device.asked()? {
        Some(device) => device,
        None => Device::best(),
    };
    let tokens = text_of(data, &tokenizer, folder.template()?.as_ref(), &device)?;
    told(&folder, 1, &device, options.output.talk());
    let mut model = folder.load(&device)?;
    if let Some(adapter) = &options.weights.adapter {
        read_adapter(&mut model, folder.family(), adapter)?;
    }
    let (screen, profiling) =
        (Screen::new(options.output.talk()), Profiling::start(&options.profile, &device));
    let (name, start) = (data.display().to_string(), Instant::now());
    let what = format!("judging on {name}");
    let watch = |done: usize, all: usize| screen.advanced(done as u64, all as u64, &what);
    let score = TextScore::of(&model, Precision::Single, (&tokens, &name), usize::MAX, watch)?;
    screen.end();
    let (loss, perplexity, tokens) = (score.loss, score.perplexity(), score.tokens);
    let json = json!({
        "text": name, "tokens": tokens, "loss": loss, "perplexity": perplexity, "family": folder.family().name,
        "parameters": model.parameter_count(), "seconds": start.elapsed().as_secs_f64(),
    });
    let line = format!("{name}: loss {loss:.4}, perplexity {perplexity:.2} on {} tokens", count(tokens));
    training::show(&Outcome::new(json, line), options.output.json)?;
    profiling.finish()
}
