//! `farad generate`: text by a model, as it is made.

use std::io::Write;
use std::time::Instant;

use farad_lm::tokenize::Decoder;
use farad_lm::{Generator, TextBatch};
use serde_json::json;

use super::speaker::Speaker;
use crate::arguments::GenerateOptions;
use crate::error::{Error, Result};
use crate::look;
use crate::profile::Profiling;

/// Goes on with a prompt, or with several.
pub fn run(options: &GenerateOptions) -> Result<()> {
    options.weights.check("generate")?;
    if options.speed && options.weights.weights.is_none() {
        return Err(Error::Needs { op: "generate", flag: "--speed", other: "--weights" });
    }
    if let (true, Some(folder)) = (options.speed, &options.weights.weights) {
        return super::speed::run(folder, options);
    }
    let texts = (options.prompt.len().max(1), options.output.talk());
    let speaker = Speaker::open(options.run.as_deref(), &options.weights, &options.device, texts)?;
    let profiling = Profiling::start(&options.profile, &speaker.model.device());
    match &options.prompt[..] {
        [] => one(&speaker, "\n", false, options)?,
        [prompt] => one(&speaker, prompt, true, options)?,
        several => side_by_side(&speaker, several, options)?,
    }
    profiling.finish()
}

/// Goes on with a prompt, and shows it first if it was given.
fn one(speaker: &Speaker, prompt: &str, given: bool, options: &GenerateOptions) -> Result<()> {
    let mut generator = Generator::new(&speaker.model, options.sampling.sampling())?;
    let prompted = speaker.prompted(prompt)?;
    generator.reserve(prompted.len().saturating_add(options.tokens))?;
    generator.push(&prompted)?;
    let mut out = std::io::stdout().lock();
    let (mut decoder, mut text, mut drawn) = (speaker.tokenizer.decoder(), String::new(), 0);
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
    if !options.output.json && given {
        tell(prompt)?;
    }
    // A word goes on after the prompt's last one.
    let mut first = speaker.needs_space(prompt);
    for token in generator.by_ref().take(options.tokens) {
        let token = token?;
        if speaker.ends(token) {
            break;
        }
        drawn += 1;
        let more = decoder.push(token);
        if std::mem::take(&mut first) && !more.starts_with('\n') {
            tell(" ")?;
        }
        tell(&more)?;
    }
    tell(&decoder.finish())?;
    if options.output.json {
        writeln!(out, "{}", written(prompt, &text, drawn, start.elapsed().as_secs_f64()))?;
    } else {
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// Goes on with several prompts at once. Texts are shown one after the other, as streams would run together.
fn side_by_side(speaker: &Speaker, prompts: &[String], options: &GenerateOptions) -> Result<()> {
    let mut batch = TextBatch::new(&speaker.model, options.sampling.sampling(), prompts.len())?;
    let prompted = prompts.iter().map(|prompt| speaker.prompted(prompt)).collect::<Result<Vec<_>>>()?;
    batch.reserve(prompted.iter().map(Vec::len).max().unwrap_or(0).saturating_add(options.tokens))?;
    for (n, tokens) in prompted.iter().enumerate() {
        batch.push(n, tokens)?;
    }
    let mut texts: Vec<(Decoder, String, usize)> =
        prompts.iter().map(|_| (speaker.tokenizer.decoder(), String::new(), 0)).collect();
    let start = Instant::now();
    for _ in 0..options.tokens {
        let drawn = batch.next_tokens()?;
        if drawn.iter().all(Option::is_none) {
            break;
        }
        for (n, token) in drawn.into_iter().enumerate() {
            match token {
                Some(token) if speaker.ends(token) => batch.end(n),
                Some(token) => {
                    let (decoder, text, count) = &mut texts[n];
                    let more = decoder.push(token);
                    if *count == 0 && speaker.needs_space(&prompts[n]) && !more.starts_with('\n') {
                        text.push(' ');
                    }
                    *text += &more;
                    *count += 1;
                }
                None => {}
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let mut out = std::io::stdout().lock();
    for (prompt, (mut decoder, mut text, count)) in prompts.iter().zip(texts) {
        text += &decoder.finish();
        match options.output.json {
            true => writeln!(out, "{}", written(prompt, &text, count, seconds))?,
            false => writeln!(out, "{}{}\n", look::by_a_model(prompt), look::by_a_model(&text))?,
        }
    }
    Ok(out.flush()?)
}

fn written(prompt: &str, text: &str, tokens: usize, seconds: f64) -> serde_json::Value {
    let rate = tokens as f64 / seconds.max(1e-9);
    json!({ "prompt": prompt, "text": text, "tokens": tokens, "seconds": seconds, "tokens_per_second": rate })
}
