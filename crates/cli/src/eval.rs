//! `farad eval`: how good the circuits or the network of a run are.

use farad::run::Run;
use farad::train::{Asked, TrainingKind};

use crate::arguments::{EVAL_FLAGS, EvalOptions};
use crate::error::Result;
use crate::kinds::KINDS;
use crate::lm::perplexity;
use crate::profile::{self, Profiling};
use crate::source::open_run;
use crate::training::{self, Screen};

/// Evaluates every seed of a run again, on the circuits of its checkpoint.
pub fn run(options: &EvalOptions) -> Result<()> {
    profile::check(&options.profile)?;
    options.weights.check("eval")?;
    match (&options.weights.weights, &options.run) {
        (Some(folder), _) => perplexity::run(folder, options),
        (None, Some(run)) => {
            let run = open_run(run)?;
            judge(KINDS.of(&run)?, &run, options)
        }
        (None, None) => unreachable!("the command line asks for one of them"),
    }
}

/// Judges what a run of a kind of the table has learned.
fn judge(kind: &dyn TrainingKind, run: &Run, options: &EvalOptions) -> Result<()> {
    let mut flags = vec![];
    for flag in &EVAL_FLAGS {
        let Some(text) = given(flag.name, options) else { continue };
        flag.check(run.kind())?;
        flags.push((flag.name.to_string(), text));
    }
    let screen = Screen::new(options.output.talk());
    let device = match options.device.asked()? {
        Some(device) => device,
        None => kind.judges_on(run)?,
    };
    let profiling = Profiling::start(&options.profile, &device);
    let asked = Asked { watcher: &screen, flags, ..Asked::new("") };
    let outcome = kind.judge(run, &asked, &device)?;
    screen.end();
    training::show(&outcome, options.output.json)?;
    profiling.finish()
}

/// The text of a flag that was given.
fn given(flag: &str, options: &EvalOptions) -> Option<String> {
    match flag {
        "speed" => options.speed.then(|| "true".into()),
        "data" => options.data.as_ref().map(|path| path.display().to_string()),
        _ => options.device.device.is_some().then(String::new),
    }
}
