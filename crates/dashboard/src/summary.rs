//! A run's row in the table of runs, updated by reading only what is new.
//!
//! Invariant: a poll costs a few file-system queries unless something changed. Start at [`RunSummary::look`].

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use farad::run::{Conclusion, Events, Notes, Run, Table, Value, json};
use farad::train::Kinds;

use crate::group::{group, seeds};
use crate::rows::LogRows;
use crate::state::{RunStatus, state};
use crate::tail::Tail;

/// Most columns whose newest value is sent; a run with many seeds has more, and its first ones represent them.
const MOST_COLUMNS: usize = 64;

/// Most letters of a note that the list of runs gets, to be found by.
const MOST_LETTERS: usize = 400;

/// Seconds over which the current speed is measured.
const WINDOW: f64 = 10.0;

/// A run as the table shows it.
pub struct RunSummary {
    kinds: Kinds,
    folder: PathBuf,
    config_stamp: u64,
    kind: String,
    config: Table,
    /// The same for runs that differ only in their seeds.
    group: String,
    notes_stamp: u64,
    notes: Notes,
    /// When it was begun, in milliseconds.
    begun: u64,
    /// Why the folder cannot be opened as a run, if it cannot.
    problem: Option<String>,
    rows: LogRows,
    newest: Vec<Option<f64>>,
    logged: u64,
    events: Tail,
    /// Events that determine the training time: those that [`Events::training_seconds`] uses.
    times: Vec<Value>,
    last: Value,
    tokens_per_second: Option<f64>,
    device_memory: Option<u64>,
    pace: VecDeque<(Instant, u64)>,
    /// What was sent last.
    told: Value,
}

impl RunSummary {
    /// A run that was not polled yet.
    pub fn new(folder: PathBuf, kinds: Kinds) -> RunSummary {
        RunSummary {
            kinds,
            config_stamp: 0,
            kind: String::new(),
            config: Table::new(),
            group: String::new(),
            notes_stamp: 0,
            notes: Notes::default(),
            begun: 0,
            problem: None,
            rows: LogRows::new(&folder),
            newest: vec![],
            logged: 0,
            events: Tail::new(&folder.join("events.jsonl")),
            times: vec![],
            last: Value::Null,
            tokens_per_second: None,
            device_memory: None,
            pace: VecDeque::new(),
            told: Value::Null,
            folder,
        }
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The result of the last poll.
    pub fn told(&self) -> &Value {
        &self.told
    }

    /// Whether the run is being trained.
    pub fn is_live(&self) -> bool {
        matches!(self.told["state"].as_str(), Some("running" | "concluding"))
    }

    /// Polls the folder; returns whether anything changed.
    pub fn look(&mut self) -> bool {
        self.look_at_config();
        self.look_at_log();
        self.look_at_events();
        self.look_at_notes();
        let now = self.describe();
        let changed = now != self.told;
        self.told = now;
        changed
    }

    fn look_at_config(&mut self) {
        let now = stamp(&self.folder.join("config.toml"));
        if now == self.config_stamp && now != 0 {
            return;
        }
        match Run::open(&self.folder) {
            Ok(run) => {
                (self.config_stamp, self.kind, self.config) = (now, run.kind().into(), run.config().clone());
                self.group = group(&self.kind, &self.config);
                self.problem = None;
                // Events of earlier versions have no time; the settings are written first.
                self.begun = if self.begun == 0 { now } else { self.begun };
            }
            // It is read again at the next poll, because it may be repaired.
            Err(error) => self.problem = Some(problem(&error)),
        }
    }

    fn look_at_notes(&mut self) {
        let now = stamp(&self.folder.join("notes.json"));
        if now != self.notes_stamp {
            // What is wrong with a damaged file is told where notes are shown.
            (self.notes_stamp, self.notes) = (now, Notes::of(&self.folder).unwrap_or_default());
        }
    }

    fn look_at_log(&mut self) {
        loop {
            let new = self.rows.look();
            if new.restarted {
                (self.newest, self.logged) = (vec![], 0);
                self.pace.clear();
            }
            self.newest.resize(self.rows.columns().len(), None);
            for (step, values) in new.rows {
                self.logged = step;
                let both = self.newest.iter_mut().zip(values);
                both.for_each(|(newest, value)| *newest = value.or(*newest));
            }
            if !new.more {
                break;
            }
        }
        let now = Instant::now();
        if self.pace.back().is_none_or(|(_, step)| *step != self.logged) {
            self.pace.push_back((now, self.logged));
        }
        while self.pace.len() > 2 && now.duration_since(self.pace[0].0).as_secs_f64() > WINDOW {
            self.pace.pop_front();
        }
    }

    fn look_at_events(&mut self) {
        loop {
            let look = self.events.look();
            if look.restarted {
                (self.times, self.last, self.tokens_per_second) = (vec![], Value::Null, None);
            }
            for event in look.lines.iter().filter_map(|line| parsed(line)) {
                self.tokens_per_second = event["tokens_per_second"].as_f64().or(self.tokens_per_second);
                if self.last.is_null()
                    && let Some(time) = event["time"].as_f64()
                {
                    self.begun = (time * 1e3) as u64;
                }
                self.device_memory = event["device_memory"].as_u64().or(self.device_memory);
                self.note_time(&event);
                self.last = event;
            }
            if !look.more {
                break;
            }
        }
    }

    /// Keeps the events that determine the training time; only the last one of each process, so that the list
    /// stays short.
    fn note_time(&mut self, event: &Value) {
        let begins = |event: &Value| matches!(event["event"].as_str(), Some("start" | "resume"));
        let kept = json!({ "event": event["event"], "training_seconds": event["training_seconds"] });
        match self.times.last_mut() {
            Some(last) if !begins(event) && !begins(last) => {
                if kept["training_seconds"].is_number() {
                    *last = kept;
                }
            }
            _ => self.times.push(kept),
        }
    }

    /// Updates per second over the last seconds, if the run makes progress.
    fn pace(&self) -> Option<f64> {
        let (first, last) = (self.pace.front()?, self.pace.back()?);
        // The first poll finds all rows at once, which is not a speed.
        let seconds = last.0.duration_since(first.0).as_secs_f64();
        (self.pace.len() > 2 && seconds > 0.5).then(|| (last.1 - first.1) as f64 / seconds)
    }

    fn describe(&self) -> Value {
        let state = state(&self.folder, self.last["event"].as_str());
        let step = self.last["step"].as_u64().unwrap_or(0).max(self.logged);
        let trained = Events::training_seconds(&self.times);
        let average = (trained > 0.0).then(|| self.last["step"].as_f64().unwrap_or(0.0) / trained);
        let live = state == RunStatus::Running;
        let rate = if live { self.pace().or(average) } else { average };
        let begun = self.last["seconds"].as_f64().unwrap_or(0.0);
        let seconds = if trained > 0.0 { trained } else { begun };
        let judged = Conclusion::of(&self.folder, step).map(|judged| judged.json());
        let state = if self.problem.is_some() { "damaged" } else { state.name() };
        json!({
            "kind": self.kind,
            "what": self.what(),
            "device": self.text("device"),
            "group": self.group,
            "seed": seeds(&self.config).join(", "),
            "tags": self.notes.tags,
            "note": self.notes.text.chars().take(MOST_LETTERS).collect::<String>(),
            "noted": self.notes_stamp,
            "begun": self.begun,
            "state": state,
            "problem": self.problem,
            "judged": judged,
            // Validation measures explained variance if numbers are learned, otherwise accuracy.
            "regression": self.text("target_kind") == "number",
            "updates": step,
            "planned": self.planned(),
            "columns": self.rows.columns().iter().take(MOST_COLUMNS).collect::<Vec<_>>(),
            "newest": self.newest.iter().take(MOST_COLUMNS).copied().map(number).collect::<Vec<_>>(),
            "rate": rate.map(rounded),
            "tokens_per_second": self.tokens_per_second,
            "device_memory": self.device_memory,
            "seconds": seconds,
            // A running run has trained longer than its last event says.
            "since": live.then(|| stamp(&self.folder.join("events.jsonl")) / 1000),
            "learned": stamp(&self.folder.join("checkpoint.safetensors")),
            "concluded": stamp(&self.folder.join("report.md")),
        })
    }

    /// What is learned, under whichever key the kind of run has.
    fn what(&self) -> String {
        if let Some(kind) = self.kinds.named(&self.kind) {
            return kind.learns(&self.config);
        }
        let found = ["recipe", "set", "task", "tokenizer"].iter().map(|key| self.text(key));
        found.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// The total number of updates, if the configuration says so.
    fn planned(&self) -> Option<u64> {
        if let Some(kind) = self.kinds.named(&self.kind) {
            return kind.planned(&self.config);
        }
        let settings = self.config.get("settings").and_then(|settings| settings.as_table());
        let updates =
            settings.unwrap_or(&self.config).get("updates").and_then(|updates| updates.as_integer());
        updates.and_then(|updates| u64::try_from(updates).ok()).filter(|&updates| updates > 0)
    }

    fn text(&self, key: &str) -> String {
        self.config.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_string()
    }
}

/// What is wrong with a run that cannot be opened, in one line.
pub fn problem(error: &farad::Error) -> String {
    let text = error.to_string();
    match error.part() {
        Some(farad::TrainError::RunConfig { message, .. }) => {
            format!("config.toml is damaged: {}", message.lines().next().unwrap_or_default())
        }
        Some(farad::TrainError::NotRun { why, .. }) => why.clone(),
        _ => text.lines().next().unwrap_or_default().to_string(),
    }
}

/// A line of `events.jsonl`, if it is an event.
pub fn parsed(line: &str) -> Option<Value> {
    line.parse::<Value>().ok().filter(Value::is_object)
}

/// JSON has no value for non-finite numbers, and a loss that is not finite must be visible.
fn number(value: Option<f64>) -> Value {
    match value {
        Some(value) if !value.is_finite() => value.to_string().into(),
        value => json!(value),
    }
}

/// Rounded to three digits, so that the table does not flicker.
fn rounded(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powf(value.log10().floor() - 2.0);
    (value / unit).round() * unit
}

/// When a file was last written, in milliseconds; 0 if it is not there.
pub fn stamp(path: &Path) -> u64 {
    let written = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    written
        .and_then(|time: SystemTime| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    #[test]
    fn a_run_is_told_as_it_stands() {
        let scratch = ScratchFolder::new();
        scratch.run("run", "automaton");
        let mut summary = RunSummary::new(scratch.path("run"), Kinds(&[]));
        assert!(summary.look() && !summary.look());
        assert_eq!(summary.told()["kind"], "automaton");
        assert_eq!(summary.told()["updates"], 0);
        scratch.write("run/log.csv", "step,loss,wrong\n10,0.5,4\n20,0.25,\n30,inf,\n");
        assert!(summary.look());
        assert_eq!(summary.told()["newest"], json!(["inf", 4.0]));
        assert_eq!(summary.told()["updates"], 30);
        let events = "{\"event\":\"start\",\"seconds\":0,\"step\":0}\n\
            {\"event\":\"checkpoint\",\"seconds\":2,\"step\":20,\"training_seconds\":2}\n\
            {\"event\":\"resume\",\"seconds\":2,\"step\":20}\n\
            {\"event\":\"checkpoint\",\"seconds\":3,\"step\":30,\"training_seconds\":1}\n\
            {\"event\":\"end\",\"seconds\":4,\"step\":40,\"training_seconds\":2}\n";
        scratch.write("run/events.jsonl", events);
        assert!(summary.look());
        let told = summary.told();
        assert_eq!((&told["state"], &told["updates"]), (&json!("finished"), &json!(40)));
        assert_eq!((&told["seconds"], &told["rate"]), (&json!(4.0), &json!(10.0)));
    }

    #[test]
    fn what_a_run_was_judged_to_be_is_told_until_it_goes_on() {
        let scratch = ScratchFolder::new();
        scratch.run("run", "fit");
        let mut summary = RunSummary::new(scratch.path("run"), Kinds(&[]));
        let end = |step: u64| format!("{{\"event\":\"end\",\"seconds\":1,\"step\":{step}}}\n");
        scratch.write("run/events.jsonl", &end(40));
        scratch.write(
            "run/result.json",
            "{\"step\":40,\"name\":\"test accuracy\",\"value\":0.5,\"words\":\"test accuracy 50.00 %\"}",
        );
        summary.look();
        assert_eq!(summary.told()["judged"]["words"], "test accuracy 50.00 %");
        scratch.write("run/events.jsonl", &(end(40) + &end(50)));
        summary.look();
        assert_eq!(summary.told()["judged"], Value::Null);
    }

    #[test]
    fn notes_are_told_as_they_change() {
        let scratch = ScratchFolder::new();
        scratch.run("run", "fit");
        let mut summary = RunSummary::new(scratch.path("run"), Kinds(&[]));
        summary.look();
        assert_eq!((&summary.told()["tags"], &summary.told()["note"]), (&json!([]), &json!("")));
        scratch.write("run/notes.json", "{\"tags\":[\"a\"],\"text\":\"b\"}");
        assert!(summary.look());
        assert_eq!((&summary.told()["tags"], &summary.told()["note"]), (&json!(["a"]), &json!("b")));
        std::fs::remove_file(scratch.path("run/notes.json")).unwrap();
        assert!(summary.look());
        assert_eq!(summary.told()["tags"], json!([]));
    }

    #[test]
    fn damage_is_told_and_goes_once_it_is_mended() {
        let scratch = ScratchFolder::new();
        scratch.write("run/config.toml", "format = ");
        let mut summary = RunSummary::new(scratch.path("run"), Kinds(&[]));
        summary.look();
        assert_eq!(summary.told()["state"], "damaged");
        let problem = summary.told()["problem"].as_str().unwrap().to_string();
        assert!(problem.starts_with("config.toml is damaged: "), "{problem}");
        scratch.run("run", "fit");
        summary.look();
        assert_eq!((&summary.told()["problem"], &summary.told()["kind"]), (&Value::Null, &json!("fit")));
    }

    #[test]
    fn speeds_have_three_digits() {
        assert_eq!([0.0, 12345.0, 1.23456].map(|n| format!("{}", rounded(n) as f32)), ["0", "12300", "1.23"]);
    }
}
