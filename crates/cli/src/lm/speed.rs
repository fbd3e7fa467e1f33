//! `farad generate --speed`: how fast a published model reads prompts and writes tokens.

use std::io::Write;
use std::time::Instant;

use farad::Device;
use farad::run::count;
use farad_lm::hub::read_adapter;
use farad_lm::{TextBatch, Transformer};
use serde_json::json;

use super::speaker::told;
use crate::arguments::GenerateOptions;
use crate::error::Result;
use crate::look;
use crate::profile::Profiling;

/// What one pass took.
struct Pass {
    /// Seconds up to the first token of every text.
    prompt: f64,
    /// Seconds of all others.
    rest: f64,
    /// What the first text got.
    tokens: Vec<u32>,
}

/// Times prompts of numbers, twice, and tells the second: the first compiles.
pub fn run(folder: &std::path::Path, options: &GenerateOptions) -> Result<()> {
    let (texts, length) = (options.texts, options.prompt_tokens);
    let mut weights = options.weights.clone();
    weights.context.get_or_insert(length.saturating_add(options.tokens));
    let folder = weights.open(folder)?;
    let device = match options.device.asked()? {
        Some(device) => device,
        None => Device::best(),
    };
    told(&folder, texts, &device, options.output.talk());
    folder.needs(texts).check(&device)?;
    let mut model = folder.load(&device)?;
    if let Some(adapter) = &options.weights.adapter {
        read_adapter(&mut model, folder.family(), adapter)?;
        model.merge()?;
    }
    pass(&model, options)?;
    let profiling = Profiling::start(&options.profile, &device);
    let Pass { prompt, rest, tokens } = pass(&model, options)?;
    let rate = |tokens: usize, seconds: f64| (tokens * texts) as f64 / seconds.max(1e-9);
    let (read, written) = (rate(length, prompt), rate(options.tokens.saturating_sub(1), rest));
    let mut out = look::out();
    match options.output.json {
        true => writeln!(
            out,
            "{}",
            json!({ "texts": texts, "prompt_tokens": length, "prompt_seconds": prompt, "prompt_tokens_per_second": read,
                "tokens": options.tokens, "seconds": rest, "tokens_per_second": written, "first": tokens })
        )?,
        false => writeln!(
            out,
            "{texts} x {length} tokens of prompt: {:.1} ms, {} tokens per second\n{texts} x {} tokens: {:.3} ms per token, {} tokens per second",
            prompt * 1e3,
            count(read as usize),
            options.tokens,
            rest * 1e3 / options.tokens.saturating_sub(1).max(1) as f64,
            count(written as usize),
        )?,
    }
    out.flush()?;
    profiling.finish()
}

fn pass(model: &Transformer, options: &GenerateOptions) -> Result<Pass> {
    let mut batch = TextBatch::new(model, options.sampling.sampling(), options.texts)?;
    batch.reserve(options.prompt_tokens.saturating_add(options.tokens))?;
    let vocabulary = model.options().vocabulary;
    for text in 0..options.texts {
        let token = |n: usize| ((n * 7919 + text * 104_729 + 13) % vocabulary) as u32;
        batch.push(text, &(0..options.prompt_tokens).map(token).collect::<Vec<_>>())?;
    }
    model.device().wait()?;
    let (start, mut tokens) = (Instant::now(), Vec::new());
    let mut prompt = 0.0;
    for n in 0..options.tokens {
        tokens.extend(batch.next_tokens()?[0]);
        if n == 0 {
            prompt = start.elapsed().as_secs_f64();
        }
    }
    Ok(Pass { prompt, rest: start.elapsed().as_secs_f64() - prompt, tokens })
}
