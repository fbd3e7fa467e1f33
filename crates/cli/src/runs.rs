//! `farad runs`: what was trained, a line per run, of whatever kind.
//!
//! Everything is read from `config.toml`, `log.csv`, `events.jsonl` and `notes.json`; no checkpoint is opened, so a folder of large models
//! is listed at once.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use farad::run::{Conclusion, Events, LogTable, Notes, Run, Table as Config, Value, shell_word, visible};
use farad::train::{Measure, TrainingKind, Unit};
use farad_dashboard::{RunStatus, is_run, state};
use serde_json::json;

use crate::arguments::RunsOptions;
use crate::error::{Error, Result};
use crate::kinds::KINDS;
use crate::look::Table;
use crate::look::{
    self, BAD, COMMAND, DOUBTFUL, GOOD, TableCell, count, counted, duration, itself, left, paint, percent,
    right,
};
use crate::source::{RUNS, runs_in};

/// The columns of the log that say how good a run of a kind without a row in the table is, the best to show first, and what they
/// are.
const BEST: [Measure; 7] = [
    Measure { column: "wrong", name: "wrong bits in training", unit: Unit::Wrong },
    Measure { column: "validation_goodness", name: "validation accuracy", unit: Unit::Share },
    Measure { column: "hard_accuracy", name: "validation accuracy", unit: Unit::Share },
    Measure { column: "validation_loss", name: "validation loss", unit: Unit::Number },
    Measure { column: "hard_loss", name: "loss of hard gates", unit: Unit::Number },
    Measure { column: "loss", name: "training loss", unit: Unit::Number },
    Measure { column: "soft_loss", name: "training loss of soft gates", unit: Unit::Number },
];

/// Lists the runs of a folder, or one run.
pub fn run(options: &RunsOptions) -> Result<()> {
    let folder = options.folder.as_deref().unwrap_or(Path::new(RUNS));
    // That nothing was trained here yet is no mistake; a folder that was named and is not there is one.
    if options.folder.is_some() && !folder.is_dir() {
        return Err(Error::NoRuns { path: folder.display().to_string() });
    }
    if options.writes() {
        write_notes(folder, options)?;
    }
    let folders = if is_run(folder) { vec![folder.into()] } else { runs_in(folder) };
    let runs: Vec<Value> = folders.iter().map(|folder| described(folder)).collect();
    let talk = options.output.talk();
    if runs.is_empty() {
        talk.say(format!("no runs in {}: `farad train checkerboard` makes the first", folder.display()));
        return Ok(());
    }
    let mut out = look::out();
    match options.output.json {
        true => runs.iter().try_for_each(|run| writeln!(out, "{run}"))?,
        false => write!(out, "{}", table(&runs))?,
    }
    out.flush()?;
    if let Some(last) = runs.iter().find(|run| run["state"] == "stopped" || run["state"] == "unfinished") {
        let run = shell_word(last["run"].as_str().unwrap_or_default());
        talk.fact("go on", paint(COMMAND, format!("{} train --resume {run}", itself())));
    }
    Ok(())
}

/// Changes the tags and the note of one run.
fn write_notes(folder: &Path, options: &RunsOptions) -> Result<()> {
    if !is_run(folder) {
        return Err(Error::NotOneRun { path: folder.display().to_string() });
    }
    let old = Notes::of(folder)?;
    let kept = old.tags.iter().filter(|tag| !options.untag.contains(tag));
    let text = options.note.as_ref().unwrap_or(&old.text);
    Ok(Notes::new(kept.chain(&options.tag), text)?.write(folder)?)
}

/// What is known of a run, also of one that cannot be opened.
fn described(folder: &Path) -> Value {
    let (run, problem) = match Run::open(folder) {
        Ok(run) => (Some(run), None),
        Err(error) => (None, Some(farad_dashboard::problem(&error))),
    };
    let kind = run.as_ref().and_then(|run| KINDS.named(run.kind()));
    let empty = Config::new();
    let config = run.as_ref().map_or(&empty, Run::config);
    let events = Events::read(folder.join("events.jsonl")).unwrap_or_default();
    let log = LogTable::read(folder.join("log.csv")).unwrap_or_default();
    let last = events.last();
    let logged = log.steps().last().copied();
    let step = last.and_then(|event| event["step"].as_u64()).max(logged).unwrap_or(0);
    let state = match state(folder, last.and_then(|event| event["event"].as_str())) {
        _ if problem.is_some() => "damaged",
        RunStatus::Running => "running",
        RunStatus::Concluding => "concluding",
        RunStatus::Finished => "done",
        RunStatus::Interrupted => "stopped",
        RunStatus::Unfinished => "unfinished",
    };
    let judged = Conclusion::of(folder, step).map(|judged| judged.json());
    // What is wrong with a damaged file is told by who would change it.
    let notes = Notes::of(folder).unwrap_or_default();
    // A folder such as `.` has no name of its own.
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.into());
    json!({
        "name": whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy(),
        "run": folder.display().to_string(),
        "kind": run.as_ref().map_or("", Run::kind),
        "what": kind.map_or_else(|| what(config), |kind| kind.learns(config)),
        "device": text(config, "device"),
        "shape": shape(config),
        "updates": step,
        "state": state,
        "result": judged.or_else(|| logged_result(&log, config, kind)),
        "seconds": Events::training_seconds(&events),
        "tags": notes.tags,
        "note": notes.text,
        "problem": problem,
    })
}

/// How good a run is by its log.
fn logged_result(log: &LogTable, config: &Config, kind: Option<&dyn TrainingKind>) -> Option<Value> {
    // Runs of several seeds have a column per seed; the first stands for all.
    let own = |column: &str| {
        let seeded = format!("{column}_");
        log.columns().iter().find(|name| *name == column || name.starts_with(&seeded)).cloned()
    };
    let measures = kind.map_or(BEST.to_vec(), |kind| kind.measures(config));
    let (Measure { name, unit, .. }, value) = measures.into_iter().find_map(|measure| {
        let (_, value) = log.series(&own(measure.column)?).last().copied()?;
        Some((measure, value))
    })?;
    let words = match unit {
        Unit::Share => format!("{name} {}", percent(value)),
        Unit::Wrong if value == 0.0 => "exact in training".into(),
        Unit::Wrong => format!("{} in training", counted(value as u64, "wrong bit")),
        Unit::Number => format!("{name} {value:.4}"),
    };
    Some(json!({ "name": name, "value": value, "words": words }))
}

/// What is learned, by whatever key a kind of run has for it.
fn what(config: &Config) -> String {
    let found = ["recipe", "set", "tokenizer", "task"].iter().map(|key| text(config, key));
    found.into_iter().find(|value| !value.is_empty()).unwrap_or_default()
}

/// The sizes of the model, as far as the configuration has some.
fn shape(config: &Config) -> String {
    let sizes = ["model", "sizes", "layers", "heads", "width", "context", "vocabulary", "batch"];
    let shown = |key: &&str| {
        let value = config.get(*key)?;
        Some(match value {
            toml::Value::String(text) => text.clone(),
            value => format!("{key} {value}"),
        })
    };
    sizes.iter().filter_map(shown).collect::<Vec<_>>().join(", ")
}

fn text(config: &Config, key: &str) -> String {
    config.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_string()
}

fn table(runs: &[Value]) -> Table {
    let titles =
        [left("run"), left("kind").optional(), left("learns").optional(), right("updates"), left("state")];
    let more =
        [left("result"), right("time").optional(), left("device").optional(), left("shape").optional()];
    let titles = titles.into_iter().chain(more);
    let is_tagged = runs.iter().any(|run| run["tags"].as_array().is_some_and(|tags| !tags.is_empty()));
    let titles = titles.chain(is_tagged.then(|| left("tags")));
    let mut table = Table::new(titles);
    for run in runs {
        let word = |key: &str| TableCell::from(run[key].as_str().unwrap_or_default());
        let state = match run["state"].as_str().unwrap_or_default() {
            state @ ("done" | "running" | "concluding") => TableCell::new(GOOD, state),
            "damaged" => TableCell::new(BAD, "damaged"),
            other => TableCell::new(DOUBTFUL, other),
        };
        let time = Duration::try_from_secs_f64(run["seconds"].as_f64().unwrap_or(0.0)).unwrap_or_default();
        let tags = run["tags"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let tags = visible(&tags.collect::<Vec<_>>().join(", ")).into_owned();
        let cells = [
            word("name"),
            word("kind"),
            word("what"),
            count(run["updates"].as_u64().unwrap_or(0)).into(),
            state,
            result(run),
            duration(time).into(),
            word("device"),
            word("shape"),
        ];
        table.row(cells.into_iter().chain(is_tagged.then(|| TableCell::from(tags.as_str()))));
    }
    table
}

/// How good a run is, in a few words, or what is wrong with it.
fn result(run: &Value) -> TableCell {
    match (run["problem"].as_str(), run["result"]["words"].as_str()) {
        (Some(problem), _) => TableCell::new(BAD, problem),
        (None, Some(words)) if words.starts_with("exact") => TableCell::new(GOOD, words),
        (None, words) => words.unwrap_or("–").into(),
    }
}
