//! `farad train lm`, `eval`, `generate` and `chat`: language models.
//!
//! `generate` makes text; the training itself is [`farad_lm::train`]. Start at [`train()`].

pub mod chat;
pub mod generate;

use std::io::Write;
use std::path::Path;

use farad::Device;
use farad::run::{Run, Value};
use farad_lm::data::{Corpus, TokenFile, Tokens};
use farad_lm::train::report::{self, Outcome};
use farad_lm::train::{KIND, Learned, Parts, Prepared, Progress, Score, Settings, Training};
use serde_json::json;

use crate::arguments::{EvalOptions, TrainOptions};
use crate::error::{Error, Result};
use crate::profile::Profiling;
use crate::train;

/// What `farad train` calls it.
pub const NAME: &str = "lm";
/// What it is, for the list.
pub const ABOUT: &str = "a language model (transformer) on text files; needs --data";

/// Whether a run is one of these.
pub fn is_lm(run: &Run) -> bool {
    run.kind() == KIND
}

/// Trains on text, or goes on with a run if there is one.
pub fn train(options: &TrainOptions, resumed: Option<Run>) -> Result<()> {
    let say = |text: String| {
        if !options.quiet {
            eprintln!("{text}");
        }
    };
    refuse_other_flags(options)?;
    let (run, device) = match resumed {
        Some(run) => resume(options, run)?,
        None => start(options)?,
    };
    let mut training = Training::open(run, &device)?;
    let profiling = Profiling::start(&options.profile, &device);
    let folder = training.run().path().to_path_buf();
    let (settings, parameters) = (training.settings().clone(), training.trainer().model().parameter_count());
    let train_tokens = training.parts().train.len();
    say(format!("{}; {parameters} parameters, {train_tokens} tokens to train on", settings.shape()));
    say(format!("training on {}; the run is {}", device.name(), folder.display()));
    let (stop, ended) = train::interrupts();
    let bar = train::bar(options.quiet, training.trainer().updates_in_all(), training.trainer().updates());
    let trained = training.train(&stop, |progress| show(&bar, progress));
    bar.finish_and_clear();
    let summary = trained.map_err(|error| train::broken_off(&folder, error))?;
    ended.set();
    // The run stays locked until everything is written.
    let (run, parts) = training.into_parts();
    if summary.interrupted {
        let (updates, path) = (summary.updates, folder.display());
        say(format!("stopped and saved after {updates} updates\ngo on with: farad train --resume {path}"));
        return profiling.finish();
    }
    let learned = Learned::of(&run, &device)?;
    let (tokens, on) = parts.judged();
    let score = judge(&learned, tokens, on, options.quiet)?;
    let sample = generate::sample(&learned, settings.sample as usize)?;
    let (score, device) = ((score, on), device.name());
    let outcome = Outcome {
        settings: &settings,
        parameters,
        train_tokens,
        summary: &summary,
        score,
        sample: &sample,
        device,
    };
    report::write(&run, &outcome).map_err(|error| train::broken_off(&folder, error))?;
    print(options.json, &learned, score, summary.speed.tokens_per_second())?;
    let path = folder.display();
    outcome.speed().into_iter().for_each(&say);
    summary.breakdown.iter().for_each(|breakdown| say(breakdown.line()));
    say(format!("report   {path}/report.md\nnext: farad generate {path} --prompt \"…\""));
    profiling.finish()
}

/// Judges the model of a run again, on its own text or another.
pub fn eval(run: &Run, options: &EvalOptions) -> Result<()> {
    let device = device(run, options.device.as_deref())?;
    let profiling = Profiling::start(&options.profile, &device);
    let learned = Learned::of(run, &device)?;
    let (tokens, name) = match &options.data {
        Some(path) => (text(&learned, path, &device)?, path.display().to_string()),
        None => {
            let parts = Parts::open(run, &device)?;
            let (tokens, name) = parts.judged();
            (tokens.clone(), name.to_string())
        }
    };
    let score = judge(&learned, &tokens, &name, false)?;
    print(options.json, &learned, (score, &name), None)?;
    profiling.finish()
}

/// What a run is made of. Needs neither its data nor its device.
pub fn inspect(run: &Run) -> Result<Value> {
    let settings = Settings::of(run)?;
    let learned = Learned::of(run, &Device::cpu()).ok();
    let tensors: Vec<Value> = learned
        .iter()
        .flat_map(|learned| farad::nn::Module::state(&learned.model))
        .map(|(name, tensor)| json!({ "name": name, "shape": tensor.shape().to_string() }))
        .collect();
    Ok(json!({
        "run": run.path().display().to_string(),
        "kind": run.kind(),
        "data": settings.data,
        "device": settings.device,
        "tokeniser": learned.as_ref().map(|learned| learned.tokeniser.name()),
        "entries": learned.as_ref().map(|learned| learned.tokeniser.size()),
        "updates": learned.as_ref().map_or(0, |learned| learned.updates),
        "parameters": learned.as_ref().map(|learned| learned.model.parameter_count()),
        "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
        "tensors": tensors,
    }))
}

/// The keys and their values.
pub fn list() -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:20} {:>16}", "key", "default")?;
    for (key, value) in &Settings::default().table() {
        writeln!(out, "{key:20} {:>16}", value.to_string())?;
    }
    Ok(out.flush()?)
}

/// The device that is asked for, else the run's own.
fn device(run: &Run, asked: Option<&str>) -> Result<Device> {
    match asked {
        Some(name) => Ok(Device::named(name)?),
        None => {
            let settings = Settings::of(run)?;
            let device = settings.device.clone();
            settings.device().map_err(|source| Error::RunDevice { device, source })
        }
    }
}

fn start(options: &TrainOptions) -> Result<(Run, Device)> {
    let mut settings = settings(options)?;
    if settings.data.is_empty() {
        return Err(Error::NeedsData { set: NAME });
    }
    if !options.quiet {
        eprintln!("reading {} as {}", settings.data, settings.tokeniser);
    }
    let prepared = Prepared::new(&mut settings)?;
    let device = Device::named(options.device.as_deref().unwrap_or("best"))?;
    settings.device = device.name().to_string();
    let folder = options.out.clone();
    let folder = folder.unwrap_or_else(|| train::free_folder(NAME, settings.seed as u64));
    let run = Run::create(&folder, KIND, settings.table())?;
    prepared.write(&run)?;
    Ok((run, device))
}

fn resume(options: &TrainOptions, mut run: Run) -> Result<(Run, Device)> {
    if let Some(flag) = options.language.first_given() {
        let what = "a run that goes on".to_string();
        return Err(Error::OtherFlag { what, flag, instead: "--updates or --epochs" });
    }
    let mut settings = Settings::of(&run)?;
    if options.updates.is_some() || options.network.epochs.is_some() {
        take_length(options, &mut settings);
        settings.check()?;
        run.set_config(settings.table())?;
    }
    let device = device(&run, options.device.as_deref())?;
    Ok((run, device))
}

/// Settings by file, then flags, then `--set`.
fn settings(options: &TrainOptions) -> Result<Settings> {
    let (flags, network) = (&options.language, &options.network);
    let mut settings = Settings::default();
    if let Some(path) = &flags.config {
        settings.take_file(path)?;
    }
    if let Some(data) = &network.data {
        settings.data = data.display().to_string();
    }
    if let Some(tokeniser) = &flags.tokeniser {
        settings.tokeniser = tokeniser.clone();
    }
    let model = &mut settings.model;
    model.vocabulary = flags.vocabulary.map_or(model.vocabulary, |entries| entries as usize);
    model.layers = flags.layers.unwrap_or(model.layers);
    model.heads = flags.heads.unwrap_or(model.heads);
    model.width = flags.width.unwrap_or(model.width);
    model.context = flags.context.unwrap_or(model.context);
    model.dropout = flags.dropout.unwrap_or(model.dropout);
    settings.batch = network.batch.map_or(settings.batch, |batch| batch as i64);
    settings.learning_rate = network.learning_rate.unwrap_or(settings.learning_rate);
    settings.warm_up = flags.warm_up.map_or(settings.warm_up, |updates| updates as i64);
    settings.accumulate = flags.accumulate.map_or(settings.accumulate, |batches| batches as i64);
    settings.mixed |= network.mixed;
    if let Some(seed) = options.seed {
        settings.seed = i64::try_from(seed).map_err(|_| farad_logic::Error::Seed { seed })?;
    }
    take_length(options, &mut settings);
    for assignment in &options.set {
        settings.set(assignment)?;
    }
    Ok(settings)
}

/// Epochs count only where updates do not.
fn take_length(options: &TrainOptions, settings: &mut Settings) {
    if let Some(epochs) = options.network.epochs {
        (settings.epochs, settings.updates) = (epochs as i64, 0);
    }
    settings.updates = options.updates.map_or(settings.updates, |updates| updates as i64);
}

fn refuse_other_flags(options: &TrainOptions) -> Result<()> {
    let network = &options.network;
    let given = [
        (network.model.is_some(), "--model"),
        (network.optimiser.is_some(), "--optimiser"),
        (network.schedule.is_some(), "--schedule"),
        (options.seeds != 1, "--seeds"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, flag)) => {
            Err(Error::OtherFlag { what: NAME.into(), flag, instead: "--set, --layers and the like" })
        }
        None => Ok(()),
    }
}

/// A text that a user names, as tokens of the model.
fn text(learned: &Learned, path: &Path, device: &Device) -> Result<Tokens> {
    let kind = learned.settings.tokeniser_kind()?;
    let text = Corpus::open(path, &kind, 0.0)?.judged();
    let tokens = learned.tokeniser.encode(&text.bytes)?;
    Ok(Tokens::new(TokenFile::in_memory(&tokens, learned.tokeniser.size()), device)?)
}

/// Goes through a whole text.
fn judge(learned: &Learned, tokens: &Tokens, name: &str, quiet: bool) -> Result<Score> {
    let bar = train::bar(quiet, 1, 0);
    bar.set_message(format!("judging on {name}"));
    let watch = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let score = Score::of(&learned.model, learned.settings.precision(), (tokens, name), usize::MAX, watch)?;
    bar.finish_and_clear();
    Ok(score)
}

fn show(bar: &indicatif::ProgressBar, progress: &Progress) {
    bar.set_position(progress.update);
    let validation = progress.validation.map_or("–".to_string(), |loss| format!("{loss:.4}"));
    let speed = progress.tokens_per_second.map_or("–".to_string(), |rate| format!("{rate:.0}"));
    let perplexity = f64::from(progress.loss).exp();
    bar.set_message(format!(
        "{speed} tokens/s  loss {:.4}  perplexity {perplexity:.2}  validation {validation}",
        progress.loss
    ));
}

fn print(json: bool, learned: &Learned, (score, on): (Score, &str), rate: Option<f64>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        let value = json!({
            "text": on, "tokens": score.tokens, "loss": score.loss, "perplexity": score.perplexity(),
            "updates": learned.updates, "validation_loss": learned.validation_loss,
            "parameters": learned.model.parameter_count(), "tokens_per_second": rate,
            "seed": learned.settings.seed,
        });
        writeln!(out, "{value}")?;
    } else {
        writeln!(out, "{}", report::sentence(&score, on))?;
    }
    Ok(out.flush()?)
}
