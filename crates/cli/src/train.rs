//! `farad train`: learn an automaton, then turn it into a proved circuit. Networks on data sets are in [`fit`].

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use farad::Device;
use farad::run::{Run, Stop};
use farad_logic::classify::TaskKind;
use farad_logic::report::{self, Verdict};
use farad_logic::train::{Configuration, Progress, Training};
use farad_logic::{Error as LogicError, Recipe, Settings};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::{TrainOptions, Variant};
use crate::classify;
use crate::error::{Error, Result};
use crate::eval;
use crate::fit::{self, SetKind};
use crate::lm;
use crate::profile::Profiling;

/// Trains, or goes on training.
pub fn run(options: &TrainOptions) -> Result<()> {
    if options.list {
        return list(options.name.as_deref());
    }
    let resumed = options.resume.as_ref().map(Run::resume).transpose()?;
    if options.name.as_deref() == Some(lm::NAME) || resumed.as_ref().is_some_and(lm::is_lm) {
        return lm::train(options, resumed);
    }
    if let Some(flag) = options.language.first_given() {
        let what = options.name.clone().unwrap_or_else(|| "this run".into());
        return Err(Error::OtherFlag { what, flag, instead: "--set; these flags are for language models" });
    }
    let set = options.name.as_deref().and_then(SetKind::named);
    if set.is_some() || resumed.as_ref().is_some_and(fit::is_fit) {
        return fit::train(options, resumed);
    }
    let task = options.name.as_deref().and_then(TaskKind::named);
    if task.is_some() || resumed.as_ref().is_some_and(classify::is_classify) {
        return classify::train(options, resumed);
    }
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
    let seeds = training.trainer().seeds().len();
    let many = if seeds > 1 { format!(", {seeds} seeds at once") } else { String::new() };
    say(format!("training on {}{many}; the run is {}", device.name(), folder.display()));
    let (stop, ended) = interrupts();
    let bar = bar(options.quiet, training.updates_in_all(), training.trainer().updates());
    let trained = training.train(&stop, |progress| show(&bar, progress));
    bar.finish_and_clear();
    let summary = trained.map_err(|error| broken_off(&folder, error))?;
    ended.set();
    // The run stays locked until everything is written.
    let run = training.into_run();
    if summary.interrupted {
        let (updates, path) = (summary.updates, folder.display());
        say(format!("stopped and saved after {updates} updates\ngo on with: farad train --resume {path}"));
        return profiling.finish();
    }
    let early = if summary.early { ", as every circuit was right" } else { "" };
    if options.quick {
        say(format!("trained {} updates{early}; farad eval {} proves", summary.updates, folder.display()));
        glance(&run, options.json)?;
        return profiling.finish();
    }
    say(format!("trained {} updates{early}; now simplifying and proving", summary.updates));
    let verdicts = report::conclude(&run).map_err(|error| broken_off(&folder, error))?;
    if options.json {
        eval::print_json(&verdicts)?;
    } else {
        eval::print_table(&verdicts)?;
    }
    say(closing(&folder, &verdicts));
    profiling.finish()
}

/// What a quick look at the circuits finds, a line a seed.
fn glance(run: &Run, as_json: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let checks = report::check(run)?;
    for check in &checks {
        match as_json {
            true => writeln!(out, "{}", check.json())?,
            false => writeln!(out, "seed {}: {} of {} bits wrong", check.seed, check.wrong, check.of)?,
        }
    }
    if !as_json {
        let exact = checks.iter().filter(|check| check.wrong == 0).count();
        writeln!(out, "{exact} of {} exact", checks.len())?;
    }
    Ok(out.flush()?)
}

/// What broke a run off, and what of it is saved.
pub fn broken_off(folder: &Path, error: impl Into<Error>) -> Error {
    let saved = match Run::open(folder).and_then(|run| run.checkpoint()) {
        Ok(Some(checkpoint)) => format!("the checkpoint after {} steps is kept", checkpoint.step()),
        _ => "nothing was saved yet".into(),
    };
    Error::BrokenOff { source: Box::new(error.into()), saved, path: folder.display().to_string() }
}

/// Two flags: Ctrl-C sets the first; the caller sets the second when everything is saved.
pub fn interrupts() -> (Stop, Stop) {
    let (stop, ended) = (Stop::new(), Stop::new());
    let (asked, saved) = (stop.clone(), ended.clone());
    // A second Ctrl-C ends the process at once, and so does the first when everything is saved already.
    let _ = ctrlc::set_handler(move || match asked.is_set() || saved.is_set() {
        true => std::process::exit(130),
        false => asked.set(),
    });
    (stop, ended)
}

/// Goes on with a run, where it ran before if nothing else is asked for.
fn resume(options: &TrainOptions, run: Run) -> Result<Training> {
    refuse_network_flags(options, "a run of automata")?;
    let device = match &options.device {
        Some(name) => Device::named(name)?,
        None => {
            let configuration = Configuration::of(&run)?;
            let device = configuration.device_name().to_string();
            Device::named(&device).map_err(|source| Error::RunDevice { device, source })?
        }
    };
    Ok(Training::resume(run, options.updates, &device)?)
}

/// Flags of networks mean nothing to automata.
fn refuse_network_flags(options: &TrainOptions, what: &str) -> Result<()> {
    let epochs = options.network.epochs.map(|_| "--epochs");
    match options.network.first_given().or(epochs) {
        Some(flag) => Err(Error::OtherFlag { what: what.into(), flag, instead: "--updates and --set" }),
        None => Ok(()),
    }
}

fn start(options: &TrainOptions) -> Result<Training> {
    let name = options.name.as_deref().unwrap_or_default();
    let recipe = Recipe::named(name).map_err(|error| match error {
        LogicError::UnknownRecipe { .. } => {
            let names = Recipe::all().map(|recipe| recipe.name).into_iter();
            let names = names
                .chain(TaskKind::ALL.map(TaskKind::name))
                .chain(SetKind::ALL.map(SetKind::name))
                .chain([lm::NAME]);
            let names: Vec<&str> = names.collect();
            let nearest = farad::nearest(name, names.iter().copied());
            let nearest = nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            Error::UnknownName { name: name.into(), nearest, names: names.join(", ") }
        }
        error => error.into(),
    })?;
    refuse_network_flags(options, recipe.name)?;
    let mut settings = settings(&recipe, options.recipe);
    for assignment in &options.set {
        settings.set(assignment)?;
    }
    if let Some(updates) = options.updates {
        settings.updates = updates;
    }
    let first = options.seed.unwrap_or(recipe.seed);
    let seeds: Vec<u64> = (0..options.seeds).map(|n| first.wrapping_add(n)).collect();
    if seeds.iter().any(|&seed| seed > i64::MAX as u64) {
        return Err(LogicError::Seed { seed: first }.into());
    }
    let folder = options.out.clone().unwrap_or_else(|| free_folder(recipe.name, first));
    let device = Device::named(options.device.as_deref().unwrap_or("best"))?;
    let configuration = Configuration { recipe, settings, seeds, device: device.name().to_string() };
    Ok(Training::start(&folder, configuration, &device)?)
}

fn settings(recipe: &Recipe, variant: Variant) -> Settings {
    match variant {
        Variant::Default => (recipe.settings)(),
        Variant::Reference => (recipe.reference)(),
    }
}

/// The first of `runs/NAME-SEED`, `runs/NAME-SEED-2`, … that is free.
pub fn free_folder(name: &str, seed: u64) -> PathBuf {
    let named = |n: u32| match n {
        1 => PathBuf::from(format!("runs/{name}-{seed}")),
        _ => PathBuf::from(format!("runs/{name}-{seed}-{n}")),
    };
    (1..).map(named).find(|path| !path.exists()).expect("there are enough numbers")
}

/// A progress bar for so many steps, of which some are done.
pub fn bar(quiet: bool, steps: u64, done: u64) -> ProgressBar {
    let hidden = quiet || !std::io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    let style = "{bar:30} {pos}/{len}  {per_sec}  {msg}  left {eta}";
    bar.set_style(ProgressStyle::with_template(style).expect("a fixed text").progress_chars("=> "));
    bar.set_position(done);
    bar.reset_eta();
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_position(progress.update);
    let hard = progress.hard_loss.map_or("–".to_string(), |loss| format!("{loss:.1}"));
    let wrong = progress.wrong.map_or("–".to_string(), |wrong| format!("{wrong}"));
    let exact = format!("{}/{}", progress.exact, progress.seeds);
    bar.set_message(format!(
        "soft {:.3}  hard {hard}  wrong bits {wrong}  exact {exact}",
        progress.soft_loss
    ));
}

fn closing(folder: &Path, verdicts: &[Verdict]) -> String {
    let path = folder.display();
    // Cells that fire at random may be late on a start or two, and right from then on.
    let good = |verdict: &&Verdict| verdict.evaluation.exact || verdict.evaluation.stable;
    let next = if verdicts.iter().any(|verdict| good(&verdict)) {
        format!("next: farad export {path} --format verilog --out {path}/verilog")
    } else {
        format!(
            "no circuit is exact: try more seeds (--seeds 16), or go on: farad train --resume {path} --updates N"
        )
    };
    format!("report   {path}/report.md\npictures {path}/plots\ncircuits {path}/circuits\n{next}")
}

fn list(name: Option<&str>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let Some(name) = name else {
        for recipe in Recipe::all() {
            writeln!(out, "{:20} {}", recipe.name, recipe.about)?;
        }
        writeln!(out, "\nlogic networks")?;
        for task in TaskKind::ALL {
            writeln!(out, "{:20} {}", task.name(), task.about())?;
        }
        writeln!(out, "\ndata sets")?;
        for kind in SetKind::ALL {
            writeln!(out, "{:20} {}", kind.name(), kind.about())?;
        }
        writeln!(out, "{:20} {}", lm::NAME, lm::ABOUT)?;
        writeln!(out, "\nfarad train RECIPE --list shows the keys of one")?;
        return Ok(());
    };
    if name == lm::NAME {
        return lm::list();
    }
    if let Some(kind) = SetKind::named(name) {
        return fit::list(kind);
    }
    if let Some(task) = TaskKind::named(name) {
        return classify::list(task);
    }
    let recipe = Recipe::named(name)?;
    let (own, published) = ((recipe.settings)().table(), (recipe.reference)().table());
    writeln!(out, "{:20} {:>16} {:>16}", "key", "default", "reference")?;
    for (key, value) in &own {
        let (value, other) = (value.to_string(), published[key].to_string());
        let mark = if value == other { "" } else { "  *" };
        writeln!(out, "{key:20} {value:>16} {other:>16}{mark}")?;
    }
    Ok(())
}
