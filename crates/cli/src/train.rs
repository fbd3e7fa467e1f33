//! `farad train`: which kind of training is asked for, and what all of them share. The kinds are in the table
//! ([`crate::kinds`]), and are trained by [`training`].

mod list;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use farad::Device;
use farad::devices::use_threads;
use farad::group::Group;
use farad::run::{Run, Stop};
use farad::train::TrainingKind;

use crate::arguments::{TrainOptions, learnable};
use crate::error::{Error, Result, did_you_mean};
use crate::kinds::KINDS;
use crate::look::{Talk, counted, typed};
use crate::processor::HostProcessor;
use crate::profile;
use crate::ranks;
use crate::signals::{Ending, on_end_of_input, on_ending};
use crate::source::{RUNS, resume_run};
use crate::training;

/// Trains, or goes on training.
pub fn run(options: &TrainOptions) -> Result<()> {
    if options.list {
        if ranks::is_follower() {
            return Ok(());
        }
        return list::run(options.name.as_deref(), options.output.json);
    }
    if options.flags.text("updates").is_some() && options.set.iter().any(|text| key(text) == "updates") {
        return Err(Error::Twice { flag: "--updates", key: "updates" });
    }
    profile::check(&options.profile)?;
    if let Some(trainings) = options.among {
        use_threads(HostProcessor::here().cores / trainings);
        tie_to_input();
    }
    let group = ranks::world()?;
    let (kind, subject, resumed) = ranks::together(&group, chosen(options, &group))?;
    training::train(kind, options, subject, resumed, &group)
}

/// What is asked for: a kind of training, what it learns, and the run that goes on, which only the first rank writes to.
fn chosen(
    options: &TrainOptions,
    group: &Group,
) -> Result<(&'static dyn TrainingKind, &'static str, Option<Run>)> {
    let opened = |path: &Path| if group.is_first() { resume_run(path) } else { Ok(Run::open(path)?) };
    let resumed = options.resume.as_deref().map(opened).transpose()?;
    let name = options.name.as_deref().unwrap_or_default();
    let (kind, subject) = match &resumed {
        Some(run) => (KINDS.of(run)?, ""),
        None => KINDS
            .learning(subject_of(name))
            .map(|(kind, subject)| (kind, subject.name))
            .ok_or_else(|| unknown(name))?,
    };
    options.flags.check(kind, subject, resumed.as_ref())?;
    ranks::check(group, kind, subject)?;
    Ok((kind, subject, resumed))
}

/// The subject of a file that describes bodies.
const WORLD: &str = "world";

/// Whether a name is a file that describes bodies.
pub fn is_world(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "json")
}

/// What a name means: files that describe bodies have a subject of their own.
pub fn subject_of(name: &str) -> &str {
    if is_world(name) { WORLD } else { name }
}

/// The key of an assignment.
pub fn key(assignment: &str) -> &str {
    assignment.split('=').next().unwrap_or_default().trim()
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

/// The two flags of the training that is under way, once there is one.
static UNDER_WAY: Mutex<Option<(Stop, Stop)>> = Mutex::new(None);

/// Ends this process when its standard input ends: saved, as soon as there is something to save.
fn tie_to_input() {
    on_end_of_input(|| match &*UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((asked, saved)) if !saved.is_set() => asked.set(),
        // Nothing was begun, or only the report is missing; whoever goes on makes it.
        _ => Ending::Terminate.now(),
    });
}

/// Two flags: Ctrl-C or SIGTERM sets the first; the caller sets the second when the training of this folder is saved.
pub fn interrupts(talk: Talk, folder: &Path) -> (Stop, Stop) {
    let (stop, ended) = (Stop::new(), Stop::new());
    *UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) = Some((stop.clone(), ended.clone()));
    let (asked, saved) = (stop.clone(), ended.clone());
    let folder = folder.to_path_buf();
    // The second time the process ends at once, and so does it the first time when everything is saved already.
    on_ending(move |ending| {
        if !asked.is_set() && !saved.is_set() {
            return asked.set();
        }
        if saved.is_set() && !asked.is_set() {
            talk.left(&folder);
        }
        ending.now()
    });
    (stop, ended)
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
