//! `farad train mnist`, and the like: networks that learn from data sets.
//!
//! `settings` is what a user may set, `sets` opens data, `models` builds networks, `setup` puts them together; the
//! training itself is [`farad::fit`]. Start at [`train()`].

mod models;
mod scaled;
mod sets;
mod settings;
mod setup;

use std::io::Write;

use farad::Device;
use farad::fit::report::{self, Outcome};
use farad::fit::{KIND, Progress as Trained, Score, Task};
use farad::run::{Run, Table, Value};
use serde_json::json;

use crate::arguments::{EvalOptions, TrainOptions};
use crate::error::{Error, Result};
use crate::look::{self, Closing, Progress, count, counted, percent, typed};
use crate::profile::Profiling;
use crate::train;
pub use sets::SetKind;
use settings::Settings;
use setup::Setup;

/// Whether a run is one of these.
pub fn is_fit(run: &Run) -> bool {
    run.kind() == KIND
}

/// Trains on a data set, or goes on with a run if there is one.
pub fn train(options: &TrainOptions, resumed: Option<Run>) -> Result<()> {
    let fresh = resumed.is_none();
    refuse_other_flags(options, resumed.as_ref())?;
    let (setup, run) = match resumed {
        Some(run) => resume(options, run)?,
        None => start(options)?,
    };
    let talk = options.output.talk();
    let mut training = setup.training(run)?;
    let table = setup.settings.table();
    if *training.run().config() != table {
        training.set_config(table)?;
    }
    let device = training.fit().device();
    let profiling = Profiling::start(&options.profile, &device);
    let folder = training.run().path().to_path_buf();
    let settings = setup.settings.clone();
    let (title, samples) = (settings.title(), counted(setup.sets.train.len(), "sample"));
    let parameters = training.fit().model().summary().parameters;
    let what = format!("{title}: {} learn from {samples}", counted(parameters, "parameter"));
    talk.begins(&what, &train::described(options, fresh, &device), &folder);
    let (stop, ended) = train::interrupts(talk, &folder);
    let bar = talk.progress("steps", training.steps_in_all(), training.fit().steps());
    let task = setup.sets.task;
    let trained = training.train(&stop, |progress| show(&bar, progress, task));
    drop(bar);
    let summary = trained.map_err(|error| train::broken_off(&folder, error))?;
    ended.set();
    // The run stays locked until everything is written.
    let (run, fit) = training.into_parts();
    let made = counted(summary.steps, "step");
    if summary.interrupted {
        talk.stopped(&made, &folder);
        profiling.finish()?;
        return Err(Error::Interrupted);
    }
    talk.say(format!("trained {made}; now judging on the test set"));
    let score = setup.judge(&fit)?;
    let facts = facts(&settings, &setup, &parameters, device.name());
    let next = format!("farad eval {}", typed(&folder));
    let (dataset, task) = (&*setup.sets.test, setup.sets.task);
    let steps = summary.steps;
    let outcome = Outcome { title, facts, judged_on: "test", score: &score, dataset, task, steps, next };
    report::write(&run, &outcome).map_err(|error| train::broken_off(&folder, error))?;
    print(options.output.json, &settings, &score, summary.steps)?;
    let closing = Closing::new(&folder)
        .next("eval RUN", "judge it again")
        .next("train --resume RUN --epochs N", "train for longer")
        .next("inspect RUN", "what it is made of");
    talk.ends(&closing);
    profiling.finish()
}

/// Judges the model of a run on its test set again.
pub fn eval(run: &Run, options: &EvalOptions) -> Result<()> {
    let settings = Settings::of(run)?;
    let device = match options.device.asked()? {
        Some(device) => device,
        None => settings.device()?,
    };
    let profiling = Profiling::start(&options.profile, &device);
    let setup = Setup::new(settings, &device)?;
    let mut fit = setup.fit()?;
    let checkpoint = run.checkpoint()?.ok_or_else(|| Error::NothingLearned {
        path: run.path().display().to_string(),
        typed: typed(run.path()),
    })?;
    fit.restore_model(&checkpoint)?;
    let score = setup.judge(&fit)?;
    print(options.output.json, &setup.settings, &score, checkpoint.step())?;
    profiling.finish()
}

/// What a run is made of. Needs neither its data nor its device.
pub fn inspect(run: &Run) -> Result<Value> {
    let settings = Settings::of(run)?;
    let checkpoint = run.checkpoint()?;
    let tensors: Vec<Value> = checkpoint
        .iter()
        .flat_map(|checkpoint| checkpoint.tensors("model", &Device::cpu()))
        .flatten()
        .map(|(name, tensor)| json!({ "name": name, "shape": tensor.shape().to_string() }))
        .collect();
    Ok(json!({
        "run": run.path().display().to_string(),
        "kind": run.kind(),
        "set": settings.set,
        "model": settings.model,
        "data": settings.data,
        "device": settings.device,
        "steps": checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.step()),
        "epochs": settings.epochs,
        "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
        "tensors": tensors,
    }))
}

/// The keys of a set and their values.
pub fn defaults(kind: SetKind) -> Table {
    Settings::new(kind, kind.default_model()).table()
}

fn start(options: &TrainOptions) -> Result<(Setup, Run)> {
    let flags = &options.network;
    let kind = SetKind::named(options.name.as_deref().unwrap_or_default()).expect("the caller looked");
    let model = flags.model.unwrap_or(kind.default_model());
    let mut settings = Settings::new(kind, model);
    settings.take(options)?;
    let device = options.device.or_best()?;
    settings.device = device.name().to_string();
    let setup = Setup::new(settings, &device)?;
    // What cannot be built leaves no run behind.
    setup.check_memory()?;
    setup.fit()?;
    let folder = train::folder(options, kind.name(), setup.settings.seed as u64);
    let run = Run::create(&folder, KIND, setup.settings.table())?;
    Ok((setup, run))
}

fn resume(options: &TrainOptions, run: Run) -> Result<(Setup, Run)> {
    let mut settings = Settings::of(&run)?;
    if let Some(epochs) = options.network.epochs {
        settings.epochs = epochs as i64;
        settings.check()?;
    }
    let device = match options.device.asked()? {
        Some(device) => device,
        None => settings.device()?,
    };
    settings.device = device.name().to_string();
    let setup = Setup::new(settings, &device)?;
    setup.check_memory()?;
    Ok((setup, run))
}

/// Flags of other trainings mean nothing here, whether a run starts or goes on.
fn refuse_other_flags(options: &TrainOptions, resumed: Option<&Run>) -> Result<()> {
    let updates = options.updates.map(|_| "--updates");
    let Some(flag) = updates.or(options.automata.first_given()) else { return Ok(()) };
    let (what, instead) = match resumed {
        Some(run) => (Settings::of(run)?.set, "--epochs"),
        None => (options.name.clone().unwrap_or_default(), "--epochs, --seed and --set"),
    };
    Err(Error::OtherFlag { what, flag, instead })
}

fn show(bar: &Progress, progress: &Trained, task: Task) {
    bar.set(progress.step, || {
        let good = progress.goodness.map_or("–".to_string(), percent);
        let (epoch, epochs) = (progress.epoch, progress.epochs);
        let measure = if task == Task::Classify { "accuracy" } else { "explained variance" };
        format!("epoch {epoch}/{epochs}  loss {:.4}  validation {measure} {good}", progress.loss)
    });
}

fn facts(settings: &Settings, setup: &Setup, parameters: &usize, device: &str) -> Vec<(String, String)> {
    let sets = &setup.sets;
    let fact = |name: &str, value: String| (name.to_string(), value);
    let (mean, deviation) = (settings.target_mean, settings.target_deviation);
    let less = if mean < 0.0 { "+" } else { "-" };
    let scaled = format!(
        "learned as (y {less} {:.6}) / {deviation:.6}; losses in the curves are of that, errors above are of y",
        mean.abs()
    );
    let numbers = (sets.task == Task::Regress).then(|| fact("targets", scaled));
    let facts = vec![
        fact("data", format!("{} ({})", settings.set, settings.data)),
        fact("samples", format!("{} to train, {} to test", count(sets.train.len()), count(sets.test.len()))),
        fact("model", format!("{} with {}", settings.model, counted(*parameters, "parameter"))),
        fact("optimizer", format!("{}, {} schedule", settings.optimizer, settings.schedule)),
        fact("epochs", format!("{} of batches of {}", count(settings.epochs), count(settings.batch))),
        fact("precision", if settings.mixed { "mixed".into() } else { "f32".into() }),
        fact("seed", settings.seed.to_string()),
        fact("device", device.to_string()),
    ];
    facts.into_iter().chain(numbers).collect()
}

fn print(json: bool, settings: &Settings, score: &Score, steps: u64) -> Result<()> {
    let mut out = look::out();
    if json {
        let value = json!({
            "set": settings.set, "model": settings.model, "samples": score.samples, "loss": score.loss,
            "accuracy": score.accuracy, "explained_variance": score.explained, "steps": steps, "seed": settings.seed,
        });
        writeln!(out, "{value}")?;
    } else {
        writeln!(out, "{}", report::sentence("test", score))?;
    }
    Ok(out.flush()?)
}
