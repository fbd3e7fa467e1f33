//! `farad sweep`: many trainings with different settings, several at once, and which of them are best.
//!
//! - [`plan`] is what is asked for, [`search`] makes settings of it: a list that depends on the file alone.
//! - [`trial`] is what is known of every trial. It is in `sweep.json`, which is written whole after every result.
//! - [`conduct`] runs trials, each as a [`process`] of its own: `farad train`, in a folder below that of the sweep.
//! - [`report`] tells what came out.
//!
//! Invariant: a sweep that was killed at any moment and resumed ends with the same table as one that was not. Results that
//! were not written down come again when the run that has them is resumed. Start at [`run`].

mod asked;
mod conduct;
mod file;
mod plan;
mod process;
mod report;
mod search;
mod space;
mod trial;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use farad::run::{Stop, json, write_whole};

use crate::arguments::SweepOptions;
use crate::error::{Error, Result};
use crate::look::{
    self, COMMAND, Closing, HEADING, Table, count, counted, itself, left, paint, right, typed,
};
use crate::processor::HostProcessor;
use crate::signals::on_ending;
use crate::source::RUNS;
use conduct::Conductor;
use plan::SweepPlan;
use trial::Records;

/// The file in the folder of a sweep that says what it is.
pub const PLAN: &str = "sweep.toml";
/// Runs on the CPU at once, unless more are asked for.
const MOST_JOBS: usize = 8;

/// Trains what the file asks for, or goes on with a sweep.
pub fn run(options: &SweepOptions) -> Result<()> {
    crate::ranks::one_process("sweep")?;
    if options.retry && options.resume.is_none() {
        return Err(Error::Needs { op: "sweep", flag: "--retry", other: "--resume" });
    }
    let place = options.resume.as_ref().map(|folder| folder.join(PLAN));
    let path = place.as_deref().or(options.file.as_deref()).expect("clap wants one of them");
    if let Some(folder) = options.resume.as_ref().filter(|_| !path.is_file()) {
        return Err(Error::NoSweep { path: folder.display().to_string() });
    }
    let (plan, text) = SweepPlan::read(path, options.resume.is_none())?;
    let mut records = Records::new(&plan)?;
    if options.list {
        return list(&plan, &records, options.output.json);
    }
    let device = options.device.device.clone();
    // Before there is a folder: what no trial could do is no sweep.
    if options.resume.is_none()
        && let Some(name) = device.as_ref().or(plan.device.as_ref())
    {
        farad::Device::named(name)?;
    }
    let folder = match &options.resume {
        Some(folder) => folder.clone(),
        None => create(options, path, &text)?,
    };
    let _lock = lock(&folder)?;
    records.device = device.clone().or_else(|| plan.device.clone());
    if options.resume.is_some() {
        records.take(&folder, &plan.score, device.as_deref(), options.retry)?;
    }
    let jobs = jobs(options, &plan, &records)?;
    begins(options, &plan, &records, &folder, jobs);
    let stop = Stop::new();
    let asked = stop.clone();
    // The second time the process ends at once.
    on_ending(move |ending| if asked.is_set() { ending.now() } else { asked.set() });
    let talk = options.output.talk();
    let moves = options.resume.is_some() && device.is_some();
    let done =
        Conductor { plan: &plan, folder: &folder, jobs, moves, talk, stop: &stop }.conduct(&mut records);
    if matches!(done, Err(Error::Interrupted)) {
        let stages = plan.search.stages().len();
        let whole = records.trials.iter().filter(|trial| trial.is_over(stages)).count();
        talk.say(format!(
            "stopped and saved; {} of {} are done",
            whole,
            counted(records.trials.len(), "trial")
        ));
        talk.fact("go on", paint(COMMAND, format!("{} sweep --resume {}", itself(), typed(&folder))));
    }
    done?;
    ends(options, &plan, &records, &folder)
}

/// Prints the trials.
fn list(plan: &SweepPlan, records: &Records, as_json: bool) -> Result<()> {
    let mut out = look::out();
    if as_json {
        for trial in &records.trials {
            writeln!(out, "{}", json!({ "trial": trial.number, "settings": trial.settings_json() }))?;
        }
        return Ok(out.flush()?);
    }
    let keys = plan.space.iter().map(|dimension| right(&dimension.key));
    let mut table = Table::new(std::iter::once(left("trial")).chain(keys));
    for trial in &records.trials {
        let values = trial.settings.iter().map(|(_, value)| space::text(value).into());
        table.row(std::iter::once(trial.name().into()).chain(values));
    }
    write!(out, "{table}")?;
    Ok(out.flush()?)
}

/// The folder of a new sweep, with its file in it.
fn create(options: &SweepOptions, file: &Path, text: &str) -> Result<PathBuf> {
    let stem = file.file_stem().map_or("sweep".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = match &options.out {
        Some(folder) => folder.clone(),
        None => free(&format!("{RUNS}/{stem}"), options),
    };
    let shown = || folder.display().to_string();
    let fail = |source| Error::Write { op: "sweep", path: shown(), source };
    if folder.is_dir() && std::fs::read_dir(&folder).map_err(fail)?.next().is_some() {
        return Err(Error::SweepExists { path: shown() });
    }
    std::fs::create_dir_all(&folder).map_err(fail)?;
    write_whole("sweep", &folder.join(PLAN), text.as_bytes())?;
    Ok(folder)
}

/// The first of `NAME`, `NAME-2`, … that is free.
fn free(name: &str, options: &SweepOptions) -> PathBuf {
    let first = PathBuf::from(name);
    if !first.exists() {
        return first;
    }
    let named = |n: u32| PathBuf::from(format!("{name}-{n}"));
    let free = (2..).map(named).find(|path| !path.exists()).expect("there are enough numbers");
    let (first, other) = (first.display(), free.display());
    options.output.talk().say(format!(
        "{first} is there already and stays; this sweep is {other} (`{} sweep --resume {first}` goes on with the other)",
        itself()
    ));
    free
}

/// Keeps other processes from the sweep. The system takes the lock away when the process ends, however it ends.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
    let fail = |source| Error::Write { op: "sweep", path: path.display().to_string(), source };
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(fail)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::SweepInUse { path: folder.display().to_string() }),
        // Where nothing can be locked, one must see to it oneself.
        Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(fail(error)),
    }
}

/// How many runs there are at once: as many as asked for, else what the device is good for.
fn jobs(options: &SweepOptions, plan: &SweepPlan, records: &Records) -> Result<usize> {
    let device = farad::Device::named(records.device.as_deref().unwrap_or("best"))?;
    let cores = HostProcessor::here().cores;
    let usual = if device.is_gpu() { 1 } else { (cores / 2).clamp(1, MOST_JOBS) };
    tracing::debug!("sweep: {} on {}", plan.trained.name, device.name());
    Ok(options.jobs.unwrap_or(usual).min(records.trials.len()).max(1))
}

/// What is about to happen, in a few lines.
fn begins(options: &SweepOptions, plan: &SweepPlan, records: &Records, folder: &Path, jobs: usize) {
    let talk = options.output.talk();
    let trials = counted(records.trials.len(), "trial");
    talk.say(paint(HEADING, format!("{} of {}: {}", trials, plan.trained.name, plan.search.words())));
    talk.fact("score", format!("{} ({} is best)", plan.score.figure, plan.score.best.name()));
    talk.fact("at once", count(jobs));
    let (shown, again) = (look::shown(folder), typed(folder));
    let resumes = format!("Ctrl-C saves, `{} sweep --resume {again}` goes on", itself());
    talk.fact("folder", format!("{} ({resumes})", shown.display()));
    if let Some(wanted) = records.missing {
        talk.say(format!(
            "the space has no more than {trials} ({} vs {} asked for)",
            records.trials.len(),
            wanted
        ));
    }
}

/// The table, the summary in the folder, and what to do next.
fn ends(options: &SweepOptions, plan: &SweepPlan, records: &Records, folder: &Path) -> Result<()> {
    report::write(plan, records, folder)?;
    let mut out = look::out();
    match options.output.json {
        true => records
            .ranked(plan)
            .iter()
            .try_for_each(|trial| writeln!(out, "{}", trial.json(plan, &folder.join(trial.name()))))?,
        false => write!(out, "{}", report::table(plan, records))?,
    }
    out.flush()?;
    drop(out);
    let ranked = records.ranked(plan);
    let best = ranked.first().filter(|trial| trial.score(&plan.score).is_some());
    let closing = Closing::new(folder).next("runs RUN", "the trials as runs");
    let closing = match best {
        Some(best) => closing.next(&format!("eval RUN/{}", best.name()), "the best trial again"),
        None => closing,
    };
    options.output.talk().ends(&closing.dashboard());
    match best {
        Some(_) => Ok(()),
        None => {
            let why = ranked.iter().find_map(|trial| trial.error.clone()).unwrap_or_default();
            Err(Error::NoTrial { count: records.trials.len(), why, path: typed(folder) })
        }
    }
}
