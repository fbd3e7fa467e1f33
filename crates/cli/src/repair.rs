//! `farad repair`: a discrete search on the circuits that a run has learned.

use std::time::Duration;

use farad::Device;
use farad::run::Run;
use farad::train::run_device;
use farad_logic::repair::{AutomatonSelection, Effort, device_after, repair};
use farad_logic::{classify, report, train};

use crate::arguments::RepairOptions;
use crate::error::{Error, Result};
use crate::source::resume_run;
use crate::training::{self, Screen};

/// Repairs the circuits of a run, judges them, and writes the report anew.
pub fn run(options: &RepairOptions) -> Result<()> {
    let run = resume_run(&options.run)?;
    let effort = Effort {
        candidates: options.candidates,
        time: Some(Duration::from_secs(options.seconds)),
        seed: options.seed,
        again: options.again,
    };
    match run.kind() {
        train::KIND => automata(&run, options, &effort),
        classify::KIND => classifier(&run, options, &effort),
        kind => {
            let (path, kind) = (options.run.display().to_string(), kind.to_string());
            Err(Error::NoRepair { path, kind })
        }
    }
}

fn automata(run: &Run, options: &RepairOptions, effort: &Effort) -> Result<()> {
    let which = if options.inexact { AutomatonSelection::Inexact } else { AutomatonSelection::All };
    let (talk, screen) = (options.output.talk(), Screen::new(options.output.talk()));
    let device = match options.device.asked()? {
        Some(device) => device,
        // A run from another machine is searched here all the same.
        None => run_device(run).map_or_else(|_| Device::cpu(), |device| device_after(&device)),
    };
    repair(run, effort, which, &device, &screen)?;
    screen.end();
    let verdicts = report::conclude(run, &screen)?;
    screen.end();
    let outcome = report::learned(&train::Configuration::of(run)?.recipe, &verdicts);
    training::show(&outcome, options.output.json)?;
    outcome.said.iter().for_each(|said| talk.say(training::toned(said)));
    Ok(())
}

fn classifier(run: &Run, options: &RepairOptions, effort: &Effort) -> Result<()> {
    refuse_flags_of_automata(options)?;
    let (talk, screen) = (options.output.talk(), Screen::new(options.output.talk()));
    let became =
        classify::repair::repair(run, effort, classify::repair::ClassifierSelection::Again, &screen)?;
    screen.end();
    let verdict = classify::report::conclude(run, &screen)?;
    screen.end();
    let outcome = farad::train::Outcome::new(verdict.json(), verdict.sentence());
    training::show(&outcome, options.output.json)?;
    talk.say(became.words());
    Ok(())
}

/// A classifier has one circuit, and the CPU searches it.
fn refuse_flags_of_automata(options: &RepairOptions) -> Result<()> {
    let device = options.device.device.as_ref().filter(|name| *name != "cpu");
    let given = [("--inexact", options.inexact), ("--again", options.again), ("--device", device.is_some())];
    match given.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Error::AutomataOnly { flag }),
        None => Ok(()),
    }
}
