//! Trains trials, several at once, rung by rung.
//!
//! Invariant: which trials go on after a rung depends on their scores alone, so it is decided again on resuming and never
//! stored. Start at [`Conductor::conduct`].

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use farad::TrainError;
use farad::run::{Run, Stop};

use super::plan::SweepPlan;
use super::process::{Ended, TrialProcess};
use super::space::text;
use super::trial::{Records, RungResult, Trial, TrialState, check_score, order};
use crate::arguments::{resumes, words_of};
use crate::error::{Error, Result};
use crate::look::{JobLine, SideBySide, Talk, counted};

/// The time between two looks at processes.
const PERIOD: Duration = Duration::from_millis(50);

/// Trains the trials of a sweep.
pub struct Conductor<'a> {
    /// What is asked for.
    pub plan: &'a SweepPlan,
    /// The folder of the sweep.
    pub folder: &'a Path,
    /// Trials at once.
    pub jobs: usize,
    /// Whether runs that go on do so on another device.
    pub moves: bool,
    /// What may be said.
    pub talk: Talk,
    /// Set by whoever wants to stop.
    pub stop: &'a Stop,
}

/// A trial that is being trained.
struct RunningTrial {
    /// Its place among the trials.
    at: usize,
    process: TrialProcess,
    line: JobLine,
}

impl Conductor<'_> {
    /// Trains everything that is left to do.
    pub fn conduct(&self, records: &mut Records) -> Result<()> {
        let folder = self.folder.display().to_string();
        let known = records.trials.iter().flat_map(|trial| &trial.rungs);
        known.into_iter().try_for_each(|rung| check_score(&self.plan.score, &rung.figures, &folder))?;
        records.write(self.plan, self.folder)?;
        let rungs = self.plan.search.stages();
        let mut going: Vec<usize> = (0..records.trials.len()).collect();
        for (n, &until) in rungs.iter().enumerate() {
            let here = |trial: &Trial| trial.state != TrialState::Failed && trial.rungs.len() <= n;
            let queue = going.iter().copied().filter(|&at| here(&records.trials[at])).collect();
            self.stage(records, queue, until)?;
            going.retain(|&at| records.trials[at].score_at(&self.plan.score, n).is_some());
            if n + 1 < rungs.len() {
                self.choose(records, &mut going, n, until);
            }
            for &at in &going {
                let last = n + 1 == rungs.len();
                records.trials[at].state = if last { TrialState::Done } else { TrialState::Waiting };
            }
            records.write(self.plan, self.folder)?;
        }
        Ok(())
    }

    /// Lets the best of those that came so far go on.
    fn choose(&self, records: &mut Records, going: &mut Vec<usize>, rung: usize, until: Option<u64>) {
        let score = |at: usize| records.trials[at].score_at(&self.plan.score, rung);
        going.sort_by(|&a, &b| order(self.plan, score(a), score(b)).then(a.cmp(&b)));
        let dropped = going.split_off(self.plan.search.kept(going.len()));
        going.sort_unstable();
        let (by, until) = (self.plan.search.by, until.unwrap_or(0));
        self.talk.say(format!(
            "after {until} {by}: {} on, {} dropped",
            counted(going.len(), "trial goes"),
            dropped.len()
        ));
        dropped.into_iter().for_each(|at| records.trials[at].state = TrialState::Dropped);
    }

    /// Trains these trials until then.
    fn stage(&self, records: &mut Records, mut queue: VecDeque<usize>, until: Option<u64>) -> Result<()> {
        if queue.is_empty() {
            return Ok(());
        }
        let shown = self.talk.side_by_side("trials", queue.len() as u64);
        let (mut running, mut over): (Vec<RunningTrial>, u64) = (vec![], 0);
        let (mut failed, mut waits) = (None, false);
        loop {
            let stops = self.stop.is_set() || failed.is_some();
            while !stops && running.len() < self.jobs {
                let Some(at) = queue.iter().position(|&at| self.is_free(&records.trials[at])) else { break };
                let at = queue.remove(at).expect("it was found there");
                running.push(self.start(records, at, until, &shown)?);
            }
            if running.is_empty() && (stops || queue.is_empty()) {
                break;
            }
            if running.is_empty() && !std::mem::replace(&mut waits, true) {
                shown.say("other processes still write these trials: waiting for them to end");
            }
            let mut left = vec![];
            for mut trial in running {
                if stops {
                    trial.process.stop();
                }
                match trial.process.ended()? {
                    None => {
                        trial.line.set(&trial.process.progress());
                        left.push(trial);
                    }
                    Some(ended) => {
                        over += 1;
                        let done = self.note(records, trial.at, until, ended, &shown);
                        failed = failed.or(done.err());
                        shown.done(over);
                    }
                }
            }
            running = left;
            std::thread::sleep(PERIOD);
        }
        match failed {
            Some(error) => Err(error),
            None if self.stop.is_set() => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    /// Whether no process writes to the trial. One that a kill left behind saves and ends by itself.
    fn is_free(&self, trial: &Trial) -> bool {
        let folder = self.folder.join(trial.name());
        if !folder.join("config.toml").is_file() {
            return true;
        }
        let in_use = |error: farad::Error| matches!(error.part(), Some(TrainError::RunInUse { .. }));
        !Run::resume(folder).is_err_and(in_use)
    }

    /// Starts a trial, or lets it go on.
    fn start(
        &self,
        records: &Records,
        at: usize,
        until: Option<u64>,
        shown: &SideBySide,
    ) -> Result<RunningTrial> {
        let trial = &records.trials[at];
        let process = TrialProcess::start(&self.words(trial, records.device.as_deref(), until))?;
        let line = shown.line(&format!("{}  {}", trial.name(), trial.words()));
        Ok(RunningTrial { at, process, line })
    }

    /// The words of the command that trains a trial.
    fn words(&self, trial: &Trial, device: Option<&str>, until: Option<u64>) -> Vec<String> {
        let (plan, folder) = (self.plan, self.folder.join(trial.name()));
        let begun = folder.join("config.toml").is_file();
        let mut words = vec!["train".to_string()];
        match begun {
            true => words.push("--resume".into()),
            false => words.extend([plan.trained.name.clone(), "--out".into()]),
        }
        words.push(folder.display().to_string());
        for (key, value) in plan.fixed.iter().chain(&trial.settings) {
            let given = words_of(plan.trained.kind, key, &text(value)).unwrap_or_default();
            if !begun || resumes(plan.trained.kind, key) {
                words.extend(given);
            }
        }
        words.extend(until.map(|until| format!("--{}={until}", plan.search.by)));
        words.extend(device.filter(|_| !begun || self.moves).map(|device| format!("--device={device}")));
        words.extend(["--json".into(), format!("--among={}", self.jobs)]);
        words
    }

    /// Writes down how a trial ended. One that was stopped stays as it was.
    fn note(
        &self,
        records: &mut Records,
        at: usize,
        until: Option<u64>,
        ended: Ended,
        shown: &SideBySide,
    ) -> Result<()> {
        let score = &self.plan.score;
        let trial = &mut records.trials[at];
        trial.time(&self.folder.join(trial.name()));
        let whole = ended.status.success() && !ended.figures.is_empty();
        // Somebody may have stopped this trial alone; resuming goes on with it.
        let stopped = !whole && (ended.asked || matches!(ended.status.code(), Some(130 | 143)));
        if whole {
            let known = check_score(score, &ended.figures, &self.folder.display().to_string());
            trial.rungs.push(RungResult { until, figures: ended.figures });
            if known.is_err() {
                records.write(self.plan, self.folder)?;
                return known;
            }
            trial.fail_without(score);
        } else if !stopped {
            (trial.state, trial.error) = (TrialState::Failed, Some(ended.error));
        }
        let (name, words) = (trial.name(), trial.words());
        let came = match (&trial.error, trial.score(score)) {
            _ if stopped => "stopped and saved".to_string(),
            (Some(error), _) => format!("failed: {error}"),
            (None, found) => {
                format!("{} {}", score.figure, found.map_or(String::new(), super::report::figure))
            }
        };
        shown.say(format!("{name}  {words}: {came}"));
        records.write(self.plan, self.folder)
    }
}
