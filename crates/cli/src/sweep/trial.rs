//! Trials and what is known of them: the records of a sweep, in `sweep.json`.
//!
//! Invariant: the file is written whole after every result, and holds all figures of a trial, so that another figure can be
//! the score without training again.

use std::cmp::Ordering;
use std::path::Path;

use farad::run::{Events, Value, json, write_whole};
use farad::train::settings::TomlValue;

use super::plan::{Best, SweepPlan, SweepScore};
use super::space::text;
use crate::error::{Error, Result, did_you_mean};

/// The file of the records.
pub const RECORDS: &str = "sweep.json";

/// Why a trial failed that has another figure for a score.
const NO_NUMBER: &str = "is not a number";

/// How far a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialState {
    /// Not begun, stopped, or between two rungs.
    Waiting,
    /// Trained and judged.
    Done,
    /// Judged, and not good enough to go on.
    Dropped,
    /// It ended with an error.
    Failed,
}

impl TrialState {
    const ALL: [TrialState; 4] =
        [TrialState::Waiting, TrialState::Done, TrialState::Dropped, TrialState::Failed];

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            TrialState::Waiting => "waiting",
            TrialState::Done => "done",
            TrialState::Dropped => "dropped",
            TrialState::Failed => "failed",
        }
    }
}

/// What a trial came to, once.
#[derive(Clone, Debug)]
pub struct RungResult {
    /// The updates or epochs that it had by then; none where trials are trained in one go.
    pub until: Option<u64>,
    /// The objects that `farad train --json` printed.
    pub figures: Vec<Value>,
}

/// Settings that are tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Counted from 1.
    pub number: usize,
    /// What is varied, and the values here.
    pub settings: Vec<(String, TomlValue)>,
    /// How far it is.
    pub state: TrialState,
    /// What it came to, rung by rung.
    pub rungs: Vec<RungResult>,
    /// Seconds of training.
    pub seconds: f64,
    /// Why it failed.
    pub error: Option<String>,
}

impl Trial {
    /// Whether nothing of it is left to train, with this many stages; states are settled at the end of a stage only.
    pub fn is_over(&self, stages: usize) -> bool {
        self.state != TrialState::Waiting || self.rungs.len() >= stages
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        format!("{:03}", self.number)
    }

    /// `learning_rate 0.01, width 32`
    pub fn words(&self) -> String {
        let word = |(key, value): &(String, TomlValue)| format!("{key} {}", text(value));
        self.settings.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// How good it was at last.
    pub fn score(&self, score: &SweepScore) -> Option<f64> {
        self.score_at(score, self.rungs.len().checked_sub(1)?)
    }

    /// How good it was at a rung: the mean, where a run has several results.
    pub fn score_at(&self, score: &SweepScore, rung: usize) -> Option<f64> {
        let figures = &self.rungs.get(rung)?.figures;
        let numbers: Vec<f64> =
            figures.iter().map(|figures| number(figures, &score.figure)).collect::<Option<_>>()?;
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        mean.is_finite().then_some(mean)
    }

    /// The settings as an object.
    pub fn settings_json(&self) -> Value {
        let pair = |(key, value): &(String, TomlValue)| {
            (key.clone(), serde_json::to_value(value).unwrap_or_default())
        };
        Value::Object(self.settings.iter().map(pair).collect())
    }

    /// What `--json` has of it.
    pub fn json(&self, plan: &SweepPlan, run: &Path) -> Value {
        let rung = |(n, rung): (usize, &RungResult)| json!({ "until": rung.until, "score": self.score_at(&plan.score, n) });
        json!({
            "trial": self.number,
            "run": run.display().to_string(),
            "settings": self.settings_json(),
            "state": self.state.name(),
            "score": self.score(&plan.score),
            "rungs": self.rungs.iter().enumerate().map(rung).collect::<Vec<_>>(),
            "seconds": (self.seconds * 1e3).round() / 1e3,
            "error": self.error,
        })
    }

    /// Fails where the score is no number.
    pub fn fail_without(&mut self, score: &SweepScore) {
        if !self.rungs.is_empty() && self.score(score).is_none() {
            self.state = TrialState::Failed;
            self.error = Some(format!("{} {NO_NUMBER}", score.figure));
        }
    }

    /// Takes the time of its run.
    pub fn time(&mut self, run: &Path) {
        let events = Events::read(run.join("events.jsonl")).unwrap_or_default();
        self.seconds = Events::training_seconds(&events);
    }

    fn record(&self) -> Value {
        let rung = |rung: &RungResult| json!({ "until": rung.until, "figures": rung.figures });
        json!({
            "trial": self.number,
            "settings": self.settings_json(),
            "state": self.state.name(),
            "rungs": self.rungs.iter().map(rung).collect::<Vec<_>>(),
            "seconds": self.seconds,
            "error": self.error,
        })
    }

    /// Takes over what was recorded.
    fn take(&mut self, record: &Value) -> Option<()> {
        let state = record["state"].as_str()?;
        self.state = TrialState::ALL.into_iter().find(|known| known.name() == state)?;
        let rung = |rung: &Value| {
            Some(RungResult { until: rung["until"].as_u64(), figures: rung["figures"].as_array()?.clone() })
        };
        self.rungs = record["rungs"].as_array()?.iter().map(rung).collect::<Option<_>>()?;
        self.seconds = record["seconds"].as_f64()?;
        self.error = record["error"].as_str().map(String::from);
        if self.error.as_ref().is_some_and(|error| error.ends_with(NO_NUMBER)) {
            // The file may name another figure since.
            (self.state, self.error) = (TrialState::Waiting, None);
        }
        Some(())
    }
}

/// A number of a result; truth is one, its contrary zero.
fn number(figures: &Value, figure: &str) -> Option<f64> {
    match figure.split('.').try_fold(figures, |value, key| value.get(key))? {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        other => other.as_f64(),
    }
}

/// Refuses a score that results do not have.
pub fn check_score(score: &SweepScore, figures: &[Value], folder: &str) -> Result<()> {
    let there =
        |figures: &Value| score.figure.split('.').try_fold(figures, |value, key| value.get(key)).is_some();
    let Some(without) = figures.iter().find(|figures| !there(figures)) else { return Ok(()) };
    let keys: Vec<&str> =
        without.as_object().map_or(vec![], |object| object.keys().map(String::as_str).collect());
    Err(Error::SweepFigure {
        place: score.place.clone(),
        figure: score.figure.clone(),
        nearest: did_you_mean(&score.figure, keys.iter().copied()),
        keys: keys.join(", "),
        path: folder.into(),
    })
}

/// All trials of a sweep.
pub struct Records {
    /// In the order of their numbers.
    pub trials: Vec<Trial>,
    /// How many were asked for, where the space has fewer.
    pub missing: Option<usize>,
    /// The device that was asked for.
    pub device: Option<String>,
}

impl Records {
    /// Those that a file asks for, before anything was trained.
    pub fn new(plan: &SweepPlan) -> Result<Records> {
        let (chosen, missing) = plan.search.trials(&plan.space)?;
        let keys = || plan.space.iter().map(|dimension| dimension.key.clone());
        let trial = |(n, values): (usize, Vec<TomlValue>)| Trial {
            number: n + 1,
            settings: keys().zip(values).collect(),
            state: TrialState::Waiting,
            rungs: vec![],
            seconds: 0.0,
            error: None,
        };
        Ok(Records { trials: chosen.into_iter().enumerate().map(trial).collect(), missing, device: None })
    }

    /// Takes over what a folder has recorded. Its file may ask for more trials since, and for no others.
    pub fn take(
        &mut self,
        folder: &Path,
        score: &SweepScore,
        device: Option<&str>,
        retry: bool,
    ) -> Result<()> {
        let path = folder.join(RECORDS);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // It was killed before the first result.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(farad::Error::File { op: "sweep", path, source }.into()),
        };
        let damaged = || Error::SweepRecords { path: path.display().to_string() };
        let records: Value = serde_json::from_str(&text).map_err(|_| damaged())?;
        if device.is_none() {
            self.device = records["device"].as_str().map(String::from).or(self.device.take());
        }
        for record in records["trials"].as_array().ok_or_else(damaged)? {
            let number = record["trial"].as_u64().ok_or_else(damaged)? as usize;
            let trial = number.checked_sub(1).and_then(|at| self.trials.get_mut(at));
            let same = |trial: &&mut Trial| trial.settings_json() == record["settings"];
            let Some(trial) = trial.filter(same) else {
                return Err(Error::OtherSweep { path: folder.display().to_string(), number });
            };
            trial.take(record).ok_or_else(damaged)?;
            trial.fail_without(score);
            if retry && trial.state == TrialState::Failed {
                (trial.state, trial.error) = (TrialState::Waiting, None);
            }
        }
        Ok(())
    }

    /// Writes `sweep.json`.
    pub fn write(&self, plan: &SweepPlan, folder: &Path) -> Result<()> {
        let trials: Vec<Value> = self.trials.iter().map(Trial::record).collect();
        let best = self
            .ranked(plan)
            .first()
            .filter(|trial| trial.score(&plan.score).is_some())
            .map(|trial| trial.number);
        let all = json!({
            "train": plan.trained.name,
            "device": self.device,
            "figure": plan.score.figure,
            "best_is": plan.score.best.name(),
            "best": best,
            "trials": trials,
        });
        Ok(write_whole("sweep", &folder.join(RECORDS), format!("{all:#}\n").as_bytes())?)
    }

    /// The best first. Who came farther is better; failed ones come last.
    pub fn ranked(&self, plan: &SweepPlan) -> Vec<&Trial> {
        let mut ranked: Vec<&Trial> = self.trials.iter().collect();
        ranked.sort_by(|a, b| {
            let failed = |trial: &Trial| trial.state == TrialState::Failed;
            let [first, second] = [a, b].map(|trial| (failed(trial), std::cmp::Reverse(trial.rungs.len())));
            first.cmp(&second).then_with(|| order(plan, a.score(&plan.score), b.score(&plan.score)))
        });
        ranked
    }
}

/// The better score first, none last.
pub fn order(plan: &SweepPlan, a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if plan.score.best == Best::Max => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}
