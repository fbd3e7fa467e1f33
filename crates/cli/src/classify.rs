//! `farad train logic-mnist`, and the like: circuits that classify. The training itself is [`farad_logic::classify`].

use std::io::Write;
use std::time::Duration;

use farad::Device;
use farad::run::{Run, Value};
use farad_circuit::equivalence::Budget;
use farad_circuit::simplify::{Options, simplify};
use farad_circuit::{Netlist, Statistics};
use farad_logic::classify::report::{self, Verdict};
use farad_logic::classify::{Data, KIND, Learned, Progress, Settings, TaskKind, Training, measure};
use farad_logic::network::Block;
use serde_json::json;

use crate::arguments::{EvalOptions, TrainOptions};
use crate::error::{Error, Result};
use crate::profile::Profiling;
use crate::train;

/// Whether a run is one of these.
pub fn is_classify(run: &Run) -> bool {
    run.kind() == KIND
}

/// Trains a logic network, or goes on with a run if there is one.
pub fn train(options: &TrainOptions, resumed: Option<Run>) -> Result<()> {
    refuse_other_flags(options)?;
    let mut training = match resumed {
        Some(run) => resume(options, run)?,
        None => start(options)?,
    };
    let device = training.trainer().device().clone();
    let profiling = Profiling::start(&options.profile, &device);
    let folder = training.run().path().to_path_buf();
    let say = |text: String| {
        if !options.quiet {
            eprintln!("{text}");
        }
    };
    let (title, gates) = (Settings::of(training.run())?.title(), training.trainer().network().gates());
    say(format!("{title}: {gates} gates"));
    say(format!("training on {}; the run is {}", device.name(), folder.display()));
    let (stop, ended) = train::interrupts();
    let bar = train::bar(options.quiet, training.trainer().steps_in_all(), training.trainer().steps());
    let trained = training.train(&stop, |progress| show(&bar, progress));
    bar.finish_and_clear();
    let summary = trained.map_err(|error| train::broken_off(&folder, error))?;
    ended.set();
    // The run stays locked until everything is written.
    let run = training.into_run();
    let path = folder.display();
    if summary.interrupted {
        let steps = summary.steps;
        say(format!("stopped and saved after {steps} steps\ngo on with: farad train --resume {path}"));
        return profiling.finish();
    }
    say(format!("trained {} steps; now simplifying and judging the circuit", summary.steps));
    let verdict = report::conclude(&run).map_err(|error| train::broken_off(&folder, error))?;
    print(options.json, &verdict)?;
    say(format!("report   {path}/report.md\npictures {path}/plots\ncircuits {path}/circuits"));
    say(format!("next: farad export {path} --format c --out {path}/c"));
    profiling.finish()
}

/// Judges the circuit of a run on its test part again.
pub fn eval(run: &Run, options: &EvalOptions) -> Result<()> {
    let profiling = Profiling::start(&options.profile, &Device::cpu());
    let verdict = report::judge(run)?;
    print(options.json, &verdict)?;
    if options.speed {
        speed(options.json, &verdict)?;
    }
    profiling.finish()
}

/// How quickly the circuit classifies.
fn speed(json: bool, verdict: &Verdict) -> Result<()> {
    let data = Data::open(&mut verdict.learned.settings.clone())?;
    let thresholds = verdict.learned.network.encoding().levels()?;
    let gpu = Device::gpu(0).ok();
    let speed = measure(&verdict.simplified, &thresholds, &data.test, gpu.as_ref())?;
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_value(&speed).unwrap_or_default())?;
        return Ok(out.flush()?);
    }
    let (mean, best) = (speed.nanoseconds, speed.best_nanoseconds);
    writeln!(out, "one core, {} gates: {mean:.0} ns an image (quickest 512: {best:.0})", speed.gates)?;
    let (mean, best) = (speed.packed_nanoseconds, speed.best_packed_nanoseconds);
    writeln!(out, "with packing from bytes: {mean:.0} ns an image (quickest 512: {best:.0})")?;
    if let (Some(gpu), Some(rate)) = (&speed.gpu, speed.gpu_images_per_second) {
        writeln!(out, "{gpu}: {rate:.3e} images a second")?;
    }
    Ok(out.flush()?)
}

/// What a run is made of. Needs neither its data nor its device.
pub fn inspect(run: &Run) -> Result<Value> {
    let settings = Settings::of(run)?;
    let mut value = json!({
        "run": run.path().display().to_string(),
        "kind": run.kind(),
        "task": settings.task,
        "model": settings.model,
        "data": settings.data,
        "device": settings.device,
        "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
    });
    if run.checkpoint()?.is_some() {
        let learned = Learned::of(run)?;
        let statistics = Statistics::of(&learned.netlist()?);
        value["steps"] = json!(learned.steps);
        value["kept_after"] = json!(learned.kept_after);
        value["validation_accuracy"] = json!(learned.validation);
        value["classes"] = json!(learned.classes);
        value["layers"] = learned.network.layers().iter().map(layer).collect();
        value["circuit"] = json!({
            "inputs": statistics.inputs, "outputs": statistics.outputs, "gates": statistics.gates,
            "active": statistics.active, "active_and_live": statistics.active_live, "depth": statistics.depth,
        });
    } else {
        value["steps"] = json!(0);
    }
    Ok(value)
}

fn layer(block: &Block) -> Value {
    json!({ "inputs": block.inputs(), "outputs": block.outputs(), "gates": block.gates() })
}

/// The circuit of a run, simplified or as it was learned.
pub fn circuit(run: &Run, raw: bool) -> Result<Netlist> {
    let learned = Learned::of(run)?;
    let mut netlist = if raw { learned.netlist()? } else { report::simplified(run, &learned)? };
    netlist.meta.extend(learned.known()?);
    Ok(netlist)
}

/// The circuit of a run for its page, which also shows how many votes every class has. The run keeps no simplified circuit
/// with counts, and a page does not need the smallest: a few seconds must do.
pub fn circuit_with_counts(run: &Run, raw: bool) -> Result<Netlist> {
    let learned = Learned::of(run)?;
    let mut netlist = learned.netlist_with_counts()?;
    if !raw {
        let time = Some(Duration::from_secs(10));
        let options = Options { time, proof: Budget { time, ..Budget::default() }, ..Options::default() };
        netlist = simplify(&netlist, &options)?.netlist;
    }
    netlist.meta.extend(learned.known()?);
    Ok(netlist)
}

/// The keys of a task and their values.
pub fn list(task: TaskKind) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let models = ["small", "medium", "wired", "conv"];
    let tables = models.map(|model| Settings::new(task, model).map(|settings| settings.table()));
    write!(out, "{:18}", "key")?;
    models.iter().try_for_each(|model| write!(out, " {model:>22}"))?;
    writeln!(out)?;
    let tables = tables.into_iter().collect::<std::result::Result<Vec<_>, _>>()?;
    for key in tables[0].keys() {
        write!(out, "{key:18}")?;
        tables.iter().try_for_each(|table| write!(out, " {:>22}", table[key].to_string()))?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// Flags of other trainings mean nothing here.
fn refuse_other_flags(options: &TrainOptions) -> Result<()> {
    let flags = &options.network;
    let given = [
        (flags.model.is_some(), "--model"),
        (flags.optimiser.is_some(), "--optimiser"),
        (flags.schedule.is_some(), "--schedule"),
        (flags.mixed, "--mixed"),
        (options.seeds != 1, "--seeds"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(Error::OtherFlag {
            what: "a logic network".into(),
            flag,
            instead: "--set, e.g. --set model=medium",
        }),
        None => Ok(()),
    }
}

fn start(options: &TrainOptions) -> Result<Training> {
    let task = TaskKind::named(options.name.as_deref().unwrap_or_default()).expect("the caller looked");
    // The model is what everything else starts from, wherever it is given.
    let model = options.set.iter().rev().find_map(|text| text.trim().strip_prefix("model="));
    let mut settings = Settings::new(task, model.unwrap_or("small").trim())?;
    let flags = &options.network;
    if let Some(data) = &flags.data {
        settings.data = data.display().to_string();
    }
    if let Some(epochs) = flags.epochs {
        settings.epochs = epochs as i64;
    }
    settings.updates = options.updates.map_or(0, |updates| updates as i64);
    settings.batch = flags.batch.map_or(settings.batch, |batch| batch as i64);
    settings.learning_rate = flags.learning_rate.unwrap_or(settings.learning_rate);
    if let Some(seed) = options.seed {
        settings.seed = i64::try_from(seed).map_err(|_| farad_logic::Error::Seed { seed })?;
    }
    for assignment in &options.set {
        settings.set(assignment)?;
    }
    settings.check()?;
    let device = Device::named(options.device.as_deref().unwrap_or("best"))?;
    settings.device = device.name().to_string();
    let data = Data::open(&mut settings)?;
    let folder = options.out.clone();
    let folder = folder.unwrap_or_else(|| train::free_folder(task.name(), settings.seed as u64));
    Ok(Training::start(&folder, &settings, &data, &device)?)
}

fn resume(options: &TrainOptions, mut run: Run) -> Result<Training> {
    let mut settings = Settings::of(&run)?;
    let before = settings.clone();
    if let Some(epochs) = options.network.epochs {
        (settings.epochs, settings.updates) = (epochs as i64, 0);
    }
    if let Some(updates) = options.updates {
        settings.updates = updates as i64;
    }
    settings.check()?;
    let device = match &options.device {
        Some(name) => Device::named(name)?,
        None => settings.device().map_err(|source| match source {
            farad_logic::Error::Farad(source) => {
                Error::RunDevice { device: settings.device_name().to_string(), source }
            }
            other => other.into(),
        })?,
    };
    let data = Data::open(&mut settings)?;
    if settings != before {
        run.set_config(settings.table())?;
    }
    Ok(Training::resume(run, &settings, &data, &device)?)
}

fn show(bar: &indicatif::ProgressBar, progress: &Progress) {
    bar.set_position(progress.step);
    let percent =
        |share: Option<f64>| share.map_or("–".to_string(), |share| format!("{:.2} %", 100.0 * share));
    let (now, best) = (percent(progress.accuracy), percent(progress.best));
    bar.set_message(format!(
        "epoch {}  soft loss {:.4}  hard {now}  best {best}",
        progress.epoch, progress.loss
    ));
}

fn print(json: bool, verdict: &Verdict) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match json {
        true => writeln!(out, "{}", verdict.json())?,
        false => writeln!(out, "{}", verdict.sentence())?,
    }
    Ok(out.flush()?)
}
