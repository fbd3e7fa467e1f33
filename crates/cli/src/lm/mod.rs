//! `farad train lm`, `eval`, `generate` and `chat`: language models.
//!
//! `generate` makes text; the training itself is [`farad_lm::train`]. Start at [`train()`].

pub mod chat;
pub mod generate;

use std::io::Write;
use std::path::Path;

use farad::Device;
use farad::run::{Run, Table, Value, visible};
use farad_lm::data::{Corpus, TokenFile, Tokens};
use farad_lm::train::report::{self, Outcome};
use farad_lm::train::{KIND, Learned, Parts, Prepared, Progress as Trained, Score, Settings, Training};
use serde_json::json;

use crate::arguments::{DeviceFlag, EvalOptions, TrainOptions};
use crate::error::{Error, Result};
use crate::look::{self, Closing, FAINT, HEADING, Progress, Talk, count, counted, paint};
use crate::profile::Profiling;
use crate::train;

/// What `farad train` calls it.
pub const NAME: &str = "lm";
/// What it is, for the list.
pub const ABOUT: &str = "a language model (transformer) on text files; needs --data";

/// Characters of a sample that are shown at the end.
const EXCERPT: usize = 240;

/// Whether a run is one of these.
pub fn is_lm(run: &Run) -> bool {
    run.kind() == KIND
}

/// Trains on text, or goes on with a run if there is one.
pub fn train(options: &TrainOptions, resumed: Option<Run>) -> Result<()> {
    let (talk, fresh) = (options.output.talk(), resumed.is_none());
    options.flags.refuse(KIND, NAME, "--set, --layers and the like", resumed.is_some())?;
    let mut training = match resumed {
        Some(run) => resume(options, run)?,
        None => start(options)?,
    };
    let device = training.trainer().device().clone();
    let profiling = Profiling::start(&options.profile, &device);
    let folder = training.run().path().to_path_buf();
    let (settings, parameters) = (training.settings().clone(), training.trainer().model().parameter_count());
    let train_tokens = training.parts().train.len();
    let (shape, tokens) = (settings.shape(), counted(train_tokens, "token"));
    let what = format!("language model of {shape}: {} learn from {tokens}", counted(parameters, "parameter"));
    talk.begins(&what, &train::described(options, fresh, &device), &folder);
    let (stop, ended) = train::interrupts(talk, &folder);
    let bar = talk.progress("updates", training.trainer().updates_in_all(), training.trainer().updates());
    let trained = training.train(&stop, |progress| show(&bar, progress));
    drop(bar);
    let summary = trained.map_err(|error| train::broken_off(&folder, error))?;
    ended.set();
    // The run stays locked until everything is written.
    let (run, parts) = training.into_parts();
    let updates = counted(summary.updates, "update");
    if summary.interrupted {
        talk.stopped(&updates, &folder);
        profiling.finish()?;
        return Err(Error::Interrupted);
    }
    talk.say(format!("trained {updates}; now judging"));
    let learned = Learned::of(&run, &device)?;
    let (tokens, on) = parts.judged();
    let score = judge(&learned, tokens, on, talk)?;
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
    print(options.output.json, &learned, score, summary.speed.tokens_per_second())?;
    outcome.speed().into_iter().for_each(|line| talk.say(line));
    summary.breakdown.iter().for_each(|breakdown| talk.say(breakdown.line()));
    let excerpt: String = sample.trim().chars().take(EXCERPT).collect();
    if !excerpt.is_empty() {
        talk.say(format!("{}\n{}", paint(HEADING, "a sample of its text"), paint(FAINT, visible(&excerpt))));
    }
    let closing = Closing::new(&folder)
        .next("generate RUN --prompt \"The\"", "let it write")
        .next("chat RUN", "line by line")
        .next("train --resume RUN --updates N", "train for longer");
    talk.ends(&closing);
    profiling.finish()
}

/// Judges the model of a run again, on its own text or another.
pub fn eval(run: &Run, options: &EvalOptions) -> Result<()> {
    let device = device(run, &options.device)?;
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
    let score = judge(&learned, &tokens, &name, options.output.talk())?;
    print(options.output.json, &learned, (score, &name), None)?;
    profiling.finish()
}

/// What a run is made of. Needs neither its data nor its device.
pub fn inspect(run: &Run) -> Result<Value> {
    let settings = Settings::of(run)?;
    let learned = match Learned::of(run, &Device::cpu()) {
        Ok(learned) => Some(learned),
        Err(farad_lm::Error::NothingLearned { .. }) => None,
        Err(error) => return Err(error.into()),
    };
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
        "tokenizer": learned.as_ref().map(|learned| learned.tokenizer.name()),
        "entries": learned.as_ref().map(|learned| learned.tokenizer.size()),
        "updates": learned.as_ref().map_or(0, |learned| learned.updates),
        "parameters": learned.as_ref().map(|learned| learned.model.parameter_count()),
        "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
        "tensors": tensors,
    }))
}

/// The keys and their values.
pub fn defaults() -> Table {
    Settings::default().table()
}

/// The device that is asked for, else the run's own.
fn device(run: &Run, flag: &DeviceFlag) -> Result<Device> {
    match flag.asked()? {
        Some(device) => Ok(device),
        None => {
            let settings = Settings::of(run)?;
            let device = settings.device.clone();
            settings.device().map_err(|source| Error::RunDevice { device, source })
        }
    }
}

fn start(options: &TrainOptions) -> Result<Training> {
    let mut settings = settings(options)?;
    if settings.data.is_empty() {
        return Err(Error::NeedsData { set: NAME });
    }
    options.output.talk().say(format!("reading {} as {}", settings.data, settings.tokenizer));
    let prepared = Prepared::new(&mut settings)?;
    let device = options.device.or_best()?;
    settings.device = device.name().to_string();
    // What cannot be built leaves no run behind.
    settings.check_memory(&device)?;
    let folder = train::folder(options, NAME, settings.seed as u64);
    let made = !folder.exists();
    let run = Run::create(&folder, KIND, settings.table())?;
    let opened = prepared.write(&run).and_then(|()| Training::open(run, &device));
    if opened.is_err() && made {
        // Nothing is in it but what was just written; what is left may be looked at and removed by hand.
        let _ = std::fs::remove_dir_all(&folder);
    }
    Ok(opened?)
}

fn resume(options: &TrainOptions, run: Run) -> Result<Training> {
    let mut settings = Settings::of(&run)?;
    if options.flags.text("updates").is_some() || options.flags.text("epochs").is_some() {
        take_length(options, &mut settings);
        settings.check()?;
    }
    let device = device(&run, &options.device)?;
    settings.device = device.name().to_string();
    Ok(Training::open_with(run, settings, &device)?)
}

/// Settings by file, then flags, then `--set`.
fn settings(options: &TrainOptions) -> Result<Settings> {
    let mut settings = Settings::default();
    if let Some(path) = options.flags.text("config") {
        settings.take_file(path.as_ref())?;
    }
    for (key, text) in options.flags.keys().iter().filter(|(key, _)| key != "config") {
        settings.set(&format!("{key}={text}"))?;
    }
    take_length(options, &mut settings);
    for assignment in &options.set {
        settings.set(assignment)?;
    }
    Ok(settings)
}

/// Epochs count only where updates do not.
fn take_length(options: &TrainOptions, settings: &mut Settings) {
    if let Some(epochs) = options.flags.number("epochs") {
        (settings.epochs, settings.updates) = (epochs, 0);
    }
    settings.updates = options.flags.number("updates").unwrap_or(settings.updates);
}

/// A text that a user names, as tokens of the model.
fn text(learned: &Learned, path: &Path, device: &Device) -> Result<Tokens> {
    let kind = learned.settings.tokenizer_kind()?;
    let text = Corpus::open(path, &kind, 0.0)?.judged();
    let tokens = learned.tokenizer.encode(&text.bytes)?;
    Ok(Tokens::new(TokenFile::in_memory(&tokens, learned.tokenizer.size()), device)?)
}

/// Goes through a whole text.
fn judge(learned: &Learned, tokens: &Tokens, name: &str, talk: Talk) -> Result<Score> {
    let bar = talk.progress("windows judged", 1, 0);
    let watch = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set(done as u64, || format!("judging on {name}"));
    };
    Ok(Score::of(&learned.model, learned.settings.precision(), (tokens, name), usize::MAX, watch)?)
}

fn show(bar: &Progress, progress: &Trained) {
    bar.set(progress.update, || {
        let validation = progress.validation.map_or("–".to_string(), |loss| format!("{loss:.4}"));
        let speed = progress.tokens_per_second.map_or("–".to_string(), |rate| count(rate as u64));
        let (loss, perplexity) = (progress.loss, f64::from(progress.loss).exp());
        format!("{speed} tokens/s  loss {loss:.4}  perplexity {perplexity:.2}  validation loss {validation}")
    });
}

fn print(json: bool, learned: &Learned, (score, on): (Score, &str), rate: Option<f64>) -> Result<()> {
    let mut out = look::out();
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
