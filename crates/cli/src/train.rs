//! `farad train`: learn an automaton, then turn it into a proved circuit. Language models are in [`lm`], all else is in the
//! table of kinds ([`crate::kinds`]).

mod list;

use std::io::Write;
use std::path::{Path, PathBuf};

use farad::Device;
use farad::run::{Run, Stop};
use farad_logic::recipe::Start;
use farad_logic::report::{self, Verdict};
use farad_logic::train::{Configuration, KIND, Progress as Trained, Training};
use farad_logic::{Error as LogicError, Recipe, Settings};

use crate::arguments::{TrainOptions, learnable};
use crate::error::{Error, Result, did_you_mean};
use crate::eval;
use crate::kinds::KINDS;
use crate::lm;
use crate::look::{
    self, Cell, Closing, DOUBTFUL, GOOD, Progress, Table, Talk, count, counted, left, paint, right, typed,
};
use crate::profile::{self, Profiling};
use crate::source::{RUNS, resume_run};
use crate::training;

/// What automata take instead of flags that they do not.
const INSTEAD: &str = "--updates and --set";

/// Trains, or goes on training.
pub fn run(options: &TrainOptions) -> Result<()> {
    if options.list {
        return list::run(options.name.as_deref(), options.output.json);
    }
    if options.flags.text("updates").is_some() && options.set.iter().any(|text| key(text) == "updates") {
        return Err(Error::Twice { flag: "--updates", key: "updates" });
    }
    profile::check(&options.profile)?;
    let resumed = options.resume.as_deref().map(resume_run).transpose()?;
    if options.name.as_deref() == Some(lm::NAME) || resumed.as_ref().is_some_and(lm::is_lm) {
        return lm::train(options, resumed);
    }
    let learned = options.name.as_deref().and_then(|name| KINDS.learning(name));
    let kind = resumed.as_ref().and_then(|run| KINDS.named(run.kind()));
    if let Some(kind) = learned.map(|(kind, _)| kind).or(kind) {
        let subject = learned.map_or("", |(_, subject)| subject.name);
        options.flags.check(kind, subject, resumed.as_ref())?;
        return training::train(kind, options, subject, resumed);
    }
    automaton(options, resumed)
}

/// The key of an assignment.
pub fn key(assignment: &str) -> &str {
    assignment.split('=').next().unwrap_or_default().trim()
}

/// Trains automata, or goes on with a run if there is one.
fn automaton(options: &TrainOptions, resumed: Option<Run>) -> Result<()> {
    let (talk, fresh) = (options.output.talk(), resumed.is_none());
    let mut training = match resumed {
        Some(run) => resume(options, run)?,
        None => start(options)?,
    };
    let device = training.trainer().device().clone();
    let profiling = Profiling::start(&options.profile, &device);
    let folder = training.run().path().to_path_buf();
    let recipe = Configuration::of(training.run())?.recipe;
    let seeds = training.trainer().seeds().len();
    let many = if seeds > 1 { format!(", {seeds} seeds at once") } else { String::new() };
    talk.begins(
        &format!("{}: {}{many}", recipe.name, recipe.about),
        &described(options, fresh, &device),
        &folder,
    );
    let (stop, ended) = interrupts(talk, &folder);
    let bar = talk.progress("updates", training.updates_in_all(), training.trainer().updates());
    let trained = training.train(&stop, |progress| show(&bar, progress));
    drop(bar);
    let summary = trained.map_err(|error| broken_off(&folder, error))?;
    ended.set();
    // The run stays locked until everything is written.
    let run = training.into_run();
    let updates = counted(summary.updates, "update");
    if summary.interrupted {
        talk.stopped(&updates, &folder);
        profiling.finish()?;
        return Err(Error::Interrupted);
    }
    let early = if summary.early { ", as every circuit was right" } else { "" };
    if options.flags.text("quick").is_some() {
        talk.say(format!("trained {updates}{early}; a look at the circuits:"));
        glance(&run, options.output.json)?;
        talk.ends(&Closing::new(&folder).next("eval RUN", "simplify and prove"));
        return profiling.finish();
    }
    talk.say(format!("trained {updates}{early}; now simplifying and proving"));
    let verdicts = report::conclude(&run).map_err(|error| broken_off(&folder, error))?;
    match options.output.json {
        true => eval::print_json(&verdicts)?,
        false => eval::print_table(&verdicts)?,
    }
    talk.say(learned(&recipe, &verdicts));
    talk.ends(&closing(&folder, &verdicts));
    profiling.finish()
}

/// What a quick look at the circuits finds, a line a seed.
fn glance(run: &Run, as_json: bool) -> Result<()> {
    let mut out = look::out();
    let checks = report::check(run)?;
    report::note(run, &checks)?;
    if as_json {
        checks.iter().try_for_each(|check| writeln!(out, "{}", check.json()))?;
        return Ok(out.flush()?);
    }
    let mut table = Table::new([right("seed"), left("exact"), right("wrong bits"), right("of")]);
    for check in &checks {
        table.row([
            check.seed.into(),
            Cell::yes(check.wrong == 0),
            count(check.wrong).into(),
            count(check.of).into(),
        ]);
    }
    let exact = checks.iter().filter(|check| check.wrong == 0).count();
    writeln!(out, "{table}{exact} of {} exact", checks.len())?;
    Ok(out.flush()?)
}

/// What broke a run off, and what of it is saved.
pub fn broken_off(folder: &Path, error: impl Into<Error>) -> Error {
    let saved = match Run::open(folder).and_then(|run| run.checkpoint()) {
        Ok(Some(checkpoint)) => {
            format!("the checkpoint after {} is kept", counted(checkpoint.step(), "step"))
        }
        _ => "nothing was saved yet".into(),
    };
    Error::BrokenOff { source: Box::new(error.into()), saved, path: typed(folder) }
}

/// Two flags: Ctrl-C sets the first; the caller sets the second when the training of this folder is saved.
pub fn interrupts(talk: Talk, folder: &Path) -> (Stop, Stop) {
    let (stop, ended) = (Stop::new(), Stop::new());
    let (asked, saved) = (stop.clone(), ended.clone());
    let folder = folder.to_path_buf();
    // A second Ctrl-C ends the process at once, and so does the first when everything is saved already.
    let _ = ctrlc::set_handler(move || {
        if !asked.is_set() && !saved.is_set() {
            return asked.set();
        }
        if saved.is_set() && !asked.is_set() {
            talk.left(&folder);
        }
        std::process::exit(130)
    });
    (stop, ended)
}

/// Goes on with a run, where it ran before if nothing else is asked for.
fn resume(options: &TrainOptions, run: Run) -> Result<Training> {
    if run.kind() != KIND {
        let why = format!("its kind is `{}`, which this farad does not train", run.kind());
        return Err(farad::Error::from(farad::TrainError::NotRun { path: run.path().into(), why }).into());
    }
    options.flags.refuse(KIND, "a run of automata", INSTEAD, true)?;
    let device = match options.device.asked()? {
        Some(device) => device,
        None => {
            let configuration = Configuration::of(&run)?;
            let device = configuration.device_name().to_string();
            Device::named(&device).map_err(|source| Error::RunDevice { device, source })?
        }
    };
    Ok(Training::resume(run, options.flags.number("updates"), &device)?)
}

fn start(options: &TrainOptions) -> Result<Training> {
    let name = options.name.as_deref().unwrap_or_default();
    let recipe = Recipe::named(name).map_err(|error| match error {
        LogicError::UnknownRecipe { .. } => unknown(name),
        error => error.into(),
    })?;
    options.flags.refuse(KIND, recipe.name, INSTEAD, false)?;
    let mut settings = settings(&recipe, options.flags.text("recipe"));
    for assignment in &options.set {
        settings.set(assignment)?;
    }
    if let Some(updates) = options.flags.number("updates") {
        settings.updates = updates;
    }
    let first = options.flags.number("seed").unwrap_or(recipe.seed);
    let seeds: Vec<u64> =
        (0..options.flags.number("seeds").unwrap_or(1)).map(|n| first.wrapping_add(n)).collect();
    if seeds.iter().any(|&seed| seed > i64::MAX as u64) {
        return Err(LogicError::Seed { seed: first }.into());
    }
    let folder = folder(options, recipe.name, first);
    let device = options.device.or_best()?;
    let configuration = Configuration { recipe, settings, seeds, device: device.name().to_string() };
    Ok(Training::start(&folder, configuration, &device)?)
}

fn settings(recipe: &Recipe, variant: Option<&str>) -> Settings {
    match variant {
        Some("reference") => (recipe.reference)(),
        _ => (recipe.settings)(),
    }
}

/// The folder that was asked for, else the first of `runs/NAME-SEED`, `runs/NAME-SEED-2`, … that is free.
pub fn folder(options: &TrainOptions, name: &str, seed: u64) -> PathBuf {
    if let Some(folder) = &options.out {
        return folder.clone();
    }
    let first = PathBuf::from(format!("{RUNS}/{name}-{seed}"));
    if !first.exists() {
        return first;
    }
    let named = |n: u32| PathBuf::from(format!("{RUNS}/{name}-{seed}-{n}"));
    let free = (2..).map(named).find(|path| !path.exists()).expect("there are enough numbers");
    let say = format!("{} is there already and stays; this run is {}", first.display(), free.display());
    options.output.talk().say(say);
    free
}

/// The device of a training in words. A run that goes on computes where it did, and that is no surprise.
pub fn described(options: &TrainOptions, fresh: bool, device: &Device) -> String {
    if fresh { options.device.described(device) } else { device.name().to_string() }
}

/// There is nothing of this name to learn.
pub fn unknown(name: &str) -> Error {
    let names: Vec<&str> = learnable().map(|(name, _)| name).collect();
    let nearest = did_you_mean(name, names.iter().copied());
    Error::UnknownName { name: name.into(), nearest, names: names.join(", ") }
}

fn show(bar: &Progress, progress: &Trained) {
    bar.set(progress.update, || {
        let hard = progress.hard_loss.map_or("–".to_string(), |loss| format!("{loss:.1}"));
        let wrong = progress.wrong.map_or("–".to_string(), |wrong| count(wrong as u64));
        let (soft, exact, seeds) = (progress.soft_loss, progress.exact, progress.seeds);
        format!("soft loss {soft:.3}  hard loss {hard}  wrong bits {wrong}  exact {exact}/{seeds}")
    });
}

/// What came out, for those who read about it for the first time.
fn learned(recipe: &Recipe, verdicts: &[Verdict]) -> String {
    let exact: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.evaluation.exact).collect();
    let tried =
        if recipe.start == Start::Boards { "all 512 neighborhoods" } else { "64 starts it never saw" };
    match (verdicts, &exact[..]) {
        ([verdict], [_]) => {
            let proved = if verdict.proved { "proved to do the same" } else { "not proved to do the same" };
            paint(
                GOOD,
                format!(
                    "exact: no wrong bit on {tried} ({} looked at); a cell's {} became {}, {proved}",
                    count(verdict.evaluation.of),
                    counted(verdict.active_gates, "active gate"),
                    count(verdict.simplified_gates)
                ),
            )
        }
        ([verdict], []) => {
            let (wrong, of) = (verdict.evaluation.wrong, counted(verdict.evaluation.of, "bit"));
            let are = if wrong == 1 { "is" } else { "are" };
            paint(DOUBTFUL, format!("not exact: {} of {of} {are} wrong on {tried}", count(wrong)))
        }
        (_, []) => paint(DOUBTFUL, format!("no seed of {} is exact on {tried}", verdicts.len())),
        _ => {
            let smallest = exact.iter().map(|verdict| verdict.simplified_gates).min().unwrap_or(0);
            let (good, all) = (exact.len(), verdicts.len());
            paint(
                GOOD,
                format!(
                    "{good} of {} {} exact on {tried}; the smallest cell has {}",
                    counted(all, "seed"),
                    if good == 1 { "is" } else { "are" },
                    counted(smallest, "gate")
                ),
            )
        }
    }
}

fn closing<'a>(folder: &'a Path, verdicts: &[Verdict]) -> Closing<'a> {
    // Cells that fire at random may be late on a start or two, and right from then on.
    let good = |verdict: &&Verdict| verdict.evaluation.exact || verdict.evaluation.stable;
    let closing = Closing::new(folder);
    match verdicts.iter().any(|verdict| good(&verdict)) {
        true => closing
            .next("simulate RUN --grid 128x128 --steps 200 --gif", "watch it on a larger grid")
            .next("export RUN --format html --out RUN/page", "play with it in a browser")
            .next("export RUN --format verilog --out RUN/verilog", "use the circuit elsewhere"),
        false => closing
            .next("train --resume RUN --updates N", "train for longer")
            .next("train --list", "other recipes; --seeds 16 tries many seeds at once"),
    }
}
