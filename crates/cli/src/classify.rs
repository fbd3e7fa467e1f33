//! `farad train logic-mnist`, and the like: circuits that classify. The training itself is [`farad_logic::classify`].

use std::io::Write;

use farad::Device;
use farad::run::{Run, Table, Value};
use farad_circuit::Statistics;
use farad_logic::classify::report::{self, Verdict};
use farad_logic::classify::{
    Data, KIND, Learned, Progress as Trained, Settings, TaskKind, Training, measure,
};
use farad_logic::network::Block;
use serde_json::json;

use crate::arguments::{EvalOptions, TrainOptions};
use crate::error::{Error, Result};
use crate::look::{self, Closing, Progress, counted, percent};
use crate::profile::Profiling;
use crate::train;

/// Whether a run is one of these.
pub fn is_classify(run: &Run) -> bool {
    run.kind() == KIND
}

/// Trains a logic network, or goes on with a run if there is one.
pub fn train(options: &TrainOptions, resumed: Option<Run>) -> Result<()> {
    let instead = "--set, e.g. --set model=medium";
    options.flags.refuse(KIND, "a logic network", instead, resumed.is_some())?;
    let (talk, fresh) = (options.output.talk(), resumed.is_none());
    let mut training = match resumed {
        Some(run) => resume(options, run)?,
        None => start(options)?,
    };
    let device = training.trainer().device().clone();
    let profiling = Profiling::start(&options.profile, &device);
    let folder = training.run().path().to_path_buf();
    let (title, gates) = (Settings::of(training.run())?.title(), training.trainer().network().gates());
    let learn = if gates == 1 { "learns" } else { "learn" };
    let what = format!("{title}: {} {learn} to tell classes apart", counted(gates, "gate"));
    talk.begins(&what, &train::described(options, fresh, &device), &folder);
    let (stop, ended) = train::interrupts(talk, &folder);
    let bar = talk.progress("steps", training.trainer().steps_in_all(), training.trainer().steps());
    let trained = training.train(&stop, |progress| show(&bar, progress));
    drop(bar);
    let summary = trained.map_err(|error| train::broken_off(&folder, error))?;
    ended.set();
    // The run stays locked until everything is written.
    let run = training.into_run();
    let steps = counted(summary.steps, "step");
    if summary.interrupted {
        talk.stopped(&steps, &folder);
        profiling.finish()?;
        return Err(Error::Interrupted);
    }
    talk.say(format!("trained {steps}; now simplifying and judging the circuit"));
    let verdict = report::conclude(&run).map_err(|error| train::broken_off(&folder, error))?;
    print(options.output.json, &verdict)?;
    let mut closing = Closing::new(&folder);
    if has_pictures(&verdict.learned.settings) {
        closing = closing.next("eval RUN --speed", "how quickly the circuit reads a sample");
    }
    let closing = closing
        .next("export RUN --format html --out RUN/page", "play with it in a browser")
        .next("export RUN --format c --out RUN/c", "use the circuit elsewhere");
    talk.ends(&closing);
    profiling.finish()
}

/// Judges the circuit of a run on its test part again.
pub fn eval(run: &Run, options: &EvalOptions) -> Result<()> {
    if options.speed && !has_pictures(&Settings::of(run)?) {
        let why = "it times circuits that read pictures, and this one reads a table";
        return Err(Error::EvalFlag { flag: "--speed", kind: run.kind().into(), why });
    }
    let profiling = Profiling::start(&options.profile, &Device::cpu());
    let verdict = report::judge(run)?;
    print(options.output.json, &verdict)?;
    if options.speed {
        speed(options.output.json, &verdict)?;
    }
    profiling.finish()
}

/// Whether samples are pictures, which is what speed is measured on.
fn has_pictures(settings: &Settings) -> bool {
    TaskKind::named(&settings.task) != Some(TaskKind::Table)
}

/// How quickly the circuit classifies.
fn speed(json: bool, verdict: &Verdict) -> Result<()> {
    let data = Data::open(&mut verdict.learned.settings.clone())?;
    let thresholds = verdict.learned.network.encoding().levels()?;
    let gpu = Device::gpu(0).ok();
    let speed = measure(&verdict.simplified, &thresholds, &data.test, gpu.as_ref())?;
    let mut out = look::out();
    if json {
        writeln!(out, "{}", serde_json::to_value(&speed).unwrap_or_default())?;
        return Ok(out.flush()?);
    }
    let (mean, best) = (speed.nanoseconds, speed.best_nanoseconds);
    let gates = counted(speed.gates, "gate");
    writeln!(out, "one core, {gates}: {mean:.0} ns an image (quickest 512: {best:.0})")?;
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

/// The keys of a task and their values, model by model.
pub fn defaults(task: TaskKind) -> Result<Vec<(&'static str, Table)>> {
    let models = ["small", "medium", "wired", "conv"].into_iter();
    models.map(|model| Ok((model, Settings::new(task, model)?.table()))).collect()
}

fn start(options: &TrainOptions) -> Result<Training> {
    let task = TaskKind::named(options.name.as_deref().unwrap_or_default()).expect("the caller looked");
    // The model is what everything else starts from, wherever it is given.
    let model = options.set.iter().rev().find_map(|text| text.trim().strip_prefix("model="));
    let mut settings = Settings::new(task, model.unwrap_or("small").trim())?;
    for (key, text) in options.flags.keys() {
        settings.set(&format!("{key}={text}"))?;
    }
    for assignment in &options.set {
        settings.set(assignment)?;
    }
    settings.check()?;
    let device = options.device.or_best()?;
    settings.device = device.name().to_string();
    let data = Data::open(&mut settings)?;
    // Only those who chose layers are held to them.
    if !options.set.iter().any(|text| train::key(text) == "layers") {
        settings.suit(data.classes.len());
    }
    let folder = train::folder(options, task.name(), settings.seed as u64);
    Ok(Training::start(&folder, &settings, &data, &device)?)
}

fn resume(options: &TrainOptions, run: Run) -> Result<Training> {
    let mut settings = Settings::of(&run)?;
    if let Some(epochs) = options.flags.number("epochs") {
        (settings.epochs, settings.updates) = (epochs, 0);
    }
    if let Some(updates) = options.flags.number("updates") {
        settings.updates = updates;
    }
    settings.check()?;
    let device = match options.device.asked()? {
        Some(device) => device,
        None => settings.device().map_err(|source| match source {
            farad_logic::Error::Farad(source) => {
                Error::RunDevice { device: settings.device_name().to_string(), source }
            }
            other => other.into(),
        })?,
    };
    settings.device = device.name().to_string();
    let data = Data::open(&mut settings)?;
    Ok(Training::resume(run, &settings, &data, &device)?)
}

fn show(bar: &Progress, progress: &Trained) {
    bar.set(progress.step, || {
        let shown = |share: Option<f64>| share.map_or("–".to_string(), percent);
        let (now, best) = (shown(progress.accuracy), shown(progress.best));
        let (epoch, loss) = (progress.epoch, progress.loss);
        format!("epoch {epoch}  soft loss {loss:.4}  validation accuracy of hard gates {now}, best {best}")
    });
}

fn print(json: bool, verdict: &Verdict) -> Result<()> {
    let mut out = look::out();
    match json {
        true => writeln!(out, "{}", verdict.json())?,
        false => writeln!(out, "{}", verdict.sentence())?,
    }
    Ok(out.flush()?)
}
