//! `farad repair`: a discrete search on the circuits that a run has learned. Several ranks share the circuits of an automaton.

use std::time::Duration;

use farad::Device;
use farad::group::Group;
use farad::run::Run;
use farad::train::run_device;
use farad_logic::repair::{AutomatonSelection, Effort, device_after, repair_in};
use farad_logic::{classify, report, train};

use crate::arguments::RepairOptions;
use crate::error::{Error, Result};
use crate::ranks;
use crate::source::resume_run;
use crate::training::{self, Screen};

/// Repairs the circuits of a run, judges them, and writes the report anew.
pub fn run(options: &RepairOptions) -> Result<()> {
    let group = ranks::world()?;
    let opened = match group.is_first() {
        true => resume_run(&options.run),
        false => Run::open(&options.run).map_err(Error::from),
    };
    let run = ranks::together(&group, opened.and_then(|run| check(&group, run)))?;
    let effort = Effort {
        candidates: options.candidates,
        time: Some(Duration::from_secs(options.seconds)),
        seed: options.seed,
        again: options.again,
    };
    match run.kind() {
        train::KIND => {
            let asked = format!("{effort:?} {}", options.inexact);
            let version = env!("CARGO_PKG_VERSION").to_string();
            group.agree(&[("version", version), ("what is asked for", asked)])?;
            ranks::unless_ended(&group, automata(&group, &run, options, &effort))
        }
        _ => classifier(&run, options, &effort),
    }
}

/// Refuses what cannot be repaired, or not by several ranks.
fn check(group: &Group, run: Run) -> Result<Run> {
    match run.kind() {
        train::KIND => Ok(run),
        classify::KIND if group.is_alone() => Ok(run),
        classify::KIND => Err(Error::OneProcess { op: "repair of a logic network", ranks: group.size() }),
        kind => Err(Error::NoRepair { path: run.path().display().to_string(), kind: kind.to_string() }),
    }
}

/// Where a rank searches.
fn device(group: &Group, run: &Run, options: &RepairOptions) -> Result<Device> {
    if !group.is_alone() {
        let own = ranks::device(group, &options.device, Some(run))?.unwrap_or_else(Device::cpu);
        return Ok(if options.device.device.is_some() { own } else { device_after(&own) });
    }
    Ok(match options.device.asked()? {
        Some(device) => device,
        // A run from another machine is searched here all the same.
        None => run_device(run).map_or_else(|_| Device::cpu(), |device| device_after(&device)),
    })
}

fn automata(group: &Group, run: &Run, options: &RepairOptions, effort: &Effort) -> Result<()> {
    let which = if options.inexact { AutomatonSelection::Inexact } else { AutomatonSelection::All };
    let (talk, screen) = (options.output.talk(), Screen::new(options.output.talk()));
    repair_in(group, run, effort, which, &device(group, run, options)?, &screen)?;
    screen.end();
    if !group.is_first() {
        return Ok(group.barrier()?);
    }
    let verdicts = report::conclude(run, &screen)?;
    screen.end();
    let outcome = report::learned(&train::Configuration::of(run)?.recipe, &verdicts);
    training::show(&outcome, options.output.json)?;
    outcome.said.iter().for_each(|said| talk.say(training::toned(said)));
    Ok(group.barrier()?)
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
