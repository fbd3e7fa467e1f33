//! `farad runs`: what was trained, a line a run, of whatever kind.
//!
//! Everything is read from `config.toml`, `log.csv` and `events.jsonl`; no checkpoint is opened, so a folder of large models
//! is listed at once.

use std::io::Write;
use std::path::Path;

use farad::run::{Events, LogTable, Run, Table, Value};
use serde_json::json;

use crate::arguments::RunsOptions;
use crate::error::{Error, Result};

/// The columns of the log that say how good a run is, the best to show first, and how they are shown.
const GOOD: [(&str, &str); 6] = [
    ("validation_goodness", "accuracy"),
    ("hard_accuracy", "accuracy"),
    ("validation_loss", "validation loss"),
    ("hard_loss", "hard loss"),
    ("loss", "loss"),
    ("soft_loss", "soft loss"),
];

/// Lists the runs of a folder.
pub fn run(options: &RunsOptions) -> Result<()> {
    let missing = |_| Error::NoRuns { path: options.folder.display().to_string() };
    let mut folders: Vec<_> =
        std::fs::read_dir(&options.folder).map_err(missing)?.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let runs: Vec<Value> = folders.iter().filter_map(|folder| described(folder)).collect();
    let mut out = std::io::stdout().lock();
    if options.json {
        runs.iter().try_for_each(|run| writeln!(out, "{run}"))?;
    } else {
        write!(out, "{}", table(&runs))?;
    }
    out.flush()?;
    if runs.is_empty() {
        eprintln!("no runs in {}", options.folder.display());
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
    let state = match last.and_then(|event| event["event"].as_str()) {
        Some("end") => "done",
        Some("interrupted") => "stopped",
        _ => "unfinished",
    };
    // Runs of several seeds have a column a seed; the first stands for all.
    let own = |column: &str| {
        let seeded = format!("{column}_");
        log.columns().iter().find(|name| *name == column || name.starts_with(&seeded)).cloned()
    };
    let good = GOOD.iter().find_map(|(column, name)| {
        let (_, value) = log.series(&own(column)?).last().copied()?;
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
fn what(config: &Table) -> String {
    let found = ["recipe", "set", "tokeniser", "task"].iter().map(|key| text(config, key));
    found.into_iter().find(|value| !value.is_empty()).unwrap_or_default()
}

/// The sizes of the model, as far as the configuration has some.
fn shape(config: &Table) -> String {
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

fn text(config: &Table, key: &str) -> String {
    config.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_string()
}

/// Columns as wide as their contents.
fn table(runs: &[Value]) -> String {
    let head = ["run", "kind", "learns", "updates", "state", "result", "time", "device", "shape"];
    let mut rows = vec![head.map(String::from)];
    for run in runs {
        let word = |key: &str| run[key].as_str().unwrap_or_default().to_string();
        let result = match (run["result"]["name"].as_str(), run["result"]["value"].as_f64()) {
            (Some("accuracy"), Some(share)) => format!("accuracy {:.2} %", 100.0 * share),
            (Some(name), Some(value)) => format!("{name} {value:.4}"),
            _ => "–".into(),
        };
        let (updates, time) = (run["updates"].to_string(), time(run["seconds"].as_f64().unwrap_or(0.0)));
        rows.push([
            word("name"),
            word("kind"),
            word("what"),
            updates,
            word("state"),
            result,
            time,
            word("device"),
            word("shape"),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        text += &format!("{}\n", cells.join("  ").trim_end());
    }
    text
}

/// Seconds, or minutes and hours where there are some.
fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds < 60.0 => format!("{seconds:.1} s"),
        _ if seconds < 3600.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!([3.0, 90.0, 5400.0].map(time), ["3.0 s", "1.5 min", "1.5 h"]);
    }
}
