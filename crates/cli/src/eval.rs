//! `farad eval`: how good the circuits or the network of a run are.

use farad::run::Run;
use farad::train::{Asked, Kind};

use crate::arguments::EvalOptions;
use crate::error::{Error, Result};
use crate::kinds::KINDS;
use crate::profile::{self, Profiling};
use crate::source::open_run;
use crate::training::{self, Screen};

/// Evaluates every seed of a run again, on the circuits of its checkpoint.
pub fn run(options: &EvalOptions) -> Result<()> {
    profile::check(&options.profile)?;
    let run = open_run(&options.run)?;
    judge(KINDS.of(&run)?, &run, options)
}

/// Judges what a run of a kind of the table has learned.
fn judge(kind: &dyn Kind, run: &Run, options: &EvalOptions) -> Result<()> {
    let data = options.data.as_ref().map(|path| path.display().to_string());
    let device = options.device.device.is_some().then(String::new);
    let given = [
        ("speed", "--speed", options.speed.then(|| "true".to_string())),
        ("data", "--data", data),
        ("device", "--device", device),
    ];
    let mut flags = vec![];
    for (key, flag, text) in given {
        let Some(text) = text else { continue };
        if let Some(why) = kind.refuses(run.config(), key) {
            return Err(Error::EvalFlag { flag, kind: run.kind().into(), why });
        }
        flags.push((key.to_string(), text));
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
