//! `farad runs`: what was trained, a line a run, of whatever kind.
//!
//! Everything is read from `config.toml`, `log.csv` and `events.jsonl`; no checkpoint is opened, so a folder of large models
//! is listed at once.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use farad::run::{Events, LogTable, Run, Table as Config, Value, shell_word};
use farad_dashboard::{State, state};
use serde_json::json;

use crate::arguments::RunsOptions;
use crate::error::{Error, Result};
use crate::look::Table;
use crate::look::{
    self, COMMAND, Cell, DOUBTFUL, GOOD, count, duration, itself, left, paint, percent, right,
};
use crate::source::{RUNS, runs_in};

/// The columns of the log that say how good a run is, the best to show first, and how they are shown.
const BEST: [(&str, &str); 7] = [
    ("wrong", "wrong bits"),
    ("validation_goodness", "accuracy"),
    ("hard_accuracy", "accuracy"),
    ("validation_loss", "validation loss"),
    ("hard_loss", "hard loss"),
    ("loss", "loss"),
    ("soft_loss", "soft loss"),
];

/// Lists the runs of a folder, or one run.
pub fn run(options: &RunsOptions) -> Result<()> {
    let folder = options.folder.as_deref().unwrap_or(Path::new(RUNS));
    // That nothing was trained here yet is no mistake; a folder that was named and is not there is one.
    if options.folder.is_some() && !folder.is_dir() {
        return Err(Error::NoRuns { path: folder.display().to_string() });
    }
    let folders = if folder.join("config.toml").is_file() { vec![folder.into()] } else { runs_in(folder) };
    let runs: Vec<Value> = folders.iter().filter_map(|folder| described(folder)).collect();
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

/// What is known of a run; none if the folder is no run.
fn described(folder: &Path) -> Option<Value> {
    let run = Run::open(folder).ok()?;
    let events = Events::read(run.events_path()).unwrap_or_default();
    let log = LogTable::read(run.log_path()).unwrap_or_default();
    let last = events.last();
    let logged = log.steps().last().copied();
    let step = last.and_then(|event| event["step"].as_u64()).max(logged).unwrap_or(0);
    let state = match state(folder, last.and_then(|event| event["event"].as_str())) {
        State::Running => "running",
        State::Concluding => "concluding",
        State::Finished => "done",
        State::Interrupted => "stopped",
        State::Unfinished => "unfinished",
    };
    // Runs of several seeds have a column a seed; the first stands for all.
    let own = |column: &str| {
        let seeded = format!("{column}_");
        log.columns().iter().find(|name| *name == column || name.starts_with(&seeded)).cloned()
    };
    let good = BEST.iter().find_map(|(column, name)| {
        let (_, value) = log.series(&own(column)?).last().copied()?;
        let numbers = *column == "validation_goodness" && text(run.config(), "target_kind") == "number";
        let name = if numbers { "variance explained" } else { name };
        Some(json!({ "name": name, "value": value }))
    });
    Some(json!({
        "name": folder.file_name()?.to_string_lossy(),
        "run": folder.display().to_string(),
        "kind": run.kind(),
        "what": what(run.config()),
        "device": text(run.config(), "device"),
        "shape": shape(run.config()),
        "updates": step,
        "state": state,
        "result": good,
        "seconds": Events::training_seconds(&events),
    }))
}

/// What is learned, by whatever key a kind of run has for it.
fn what(config: &Config) -> String {
    let found = ["recipe", "set", "tokeniser", "task"].iter().map(|key| text(config, key));
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
    let titles = ["run", "kind", "learns"].map(left).into_iter().chain([right("updates"), left("state")]);
    let titles = titles.chain([left("result"), right("time"), left("device"), left("shape")]);
    let mut table = Table::new(titles);
    for run in runs {
        let word = |key: &str| Cell::from(run[key].as_str().unwrap_or_default());
        let state = match run["state"].as_str().unwrap_or_default() {
            state @ ("done" | "running" | "concluding") => Cell::new(GOOD, state),
            other => Cell::new(DOUBTFUL, other),
        };
        let time = Duration::try_from_secs_f64(run["seconds"].as_f64().unwrap_or(0.0)).unwrap_or_default();
        table.row([
            word("name"),
            word("kind"),
            word("what"),
            count(run["updates"].as_u64().unwrap_or(0)).into(),
            state,
            result(run),
            duration(time).into(),
            word("device"),
            word("shape"),
        ]);
    }
    table
}

/// How good a run is, in a few words.
fn result(run: &Value) -> Cell {
    match (run["result"]["name"].as_str(), run["result"]["value"].as_f64()) {
        (Some(name @ ("accuracy" | "variance explained")), Some(share)) => {
            format!("{name} {}", percent(share)).into()
        }
        (Some("wrong bits"), Some(0.0)) => Cell::new(GOOD, "exact in training"),
        (Some("wrong bits"), Some(wrong)) => format!("{} wrong bits", count(wrong as u64)).into(),
        (Some(name), Some(value)) => format!("{name} {value:.4}").into(),
        _ => "–".into(),
    }
}
