//! `events.jsonl`: what happened in a run and when, one JSON object per line.
//!
//! Every line has `event`, `seconds` (of running time since the run was made, without the time it
//! lay still), `step` and `time` (seconds since 1970), then the event's own fields. The file is history: nothing in it is ever taken back,
//! and a line that a kill tore is dropped when the next writer opens it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use farad_chart::{bytes, counted};
use serde_json::Value;

use crate::error::{Error, Result};

/// The field of the last event that has the most bytes that the device of every rank held.
pub(crate) const MEMORY_OF_RANKS: &str = "memory_of_ranks";

/// The writer of `events.jsonl`. Every event is in the file when [`Events::write`] returns.
pub struct Events {
    path: PathBuf,
    file: File,
    start: Instant,
    /// Running time of earlier processes.
    before: f64,
}

impl Events {
    /// Opens the file to add to it, or makes it.
    pub fn open(path: impl AsRef<Path>) -> Result<Events> {
        let path = path.as_ref();
        let fail = |source| Error::File { op: "events", path: path.into(), source };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(fail)?;
        let bytes = std::fs::read(path).map_err(fail)?;
        let whole = whole_lines(&bytes);
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(fail)?;
            file.flush().map_err(fail)?;
        }
        let seconds = |event: &Value| event["seconds"].as_f64();
        let before = parse(&bytes[..whole]).iter().rev().find_map(seconds).unwrap_or(0.0);
        Ok(Events { path: path.into(), file, start: Instant::now(), before })
    }

    /// Adds an event. `fields` is an object (or null for none) without `event`, `seconds`, `step` and `time`.
    #[track_caller]
    pub fn write(&mut self, event: &str, step: u64, fields: Value) -> Result<()> {
        let fields = match fields {
            Value::Object(fields) => fields,
            Value::Null => serde_json::Map::new(),
            other => panic!("events: fields are an object: {other}"),
        };
        let seconds = (self.seconds() * 1e3).round() / 1e3;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let time = (now * 1e3).round() / 1e3;
        let mut line = format!(
            r#"{{"event":{},"seconds":{seconds},"step":{step},"time":{time}"#,
            Value::String(event.into())
        );
        for (name, value) in &fields {
            assert!(
                !["event", "seconds", "step", "time"].contains(&name.as_str()),
                "events: field is reserved: {name}"
            );
            line += &format!(",{}:{value}", Value::String(name.clone()));
        }
        line += "}\n";
        // One call, so that a reader sees whole lines.
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|source| Error::File { op: "events", path: self.path.clone(), source })
    }

    /// Seconds that the run has been running, over all processes.
    pub fn seconds(&self) -> f64 {
        self.before + self.start.elapsed().as_secs_f64()
    }

    /// The time that a run was trained for, over all its processes: of each, what the field `training_seconds` of its
    /// last event says.
    pub fn training_seconds(events: &[Value]) -> f64 {
        let (mut before, mut current) = (0.0, 0.0);
        for event in events {
            if matches!(event["event"].as_str(), Some("start" | "resume")) {
                (before, current) = (before + current, 0.0);
            }
            current = event["training_seconds"].as_f64().unwrap_or(current);
        }
        before + current
    }

    /// On how many ranks a run was last trained and how much memory each of their devices held, for a line about its time; empty
    /// for a rank alone.
    pub fn on_ranks(events: &[Value]) -> String {
        let memory = events.iter().rev().find_map(|event| event[MEMORY_OF_RANKS].as_array());
        let memory: Vec<u64> = memory.into_iter().flatten().filter_map(Value::as_u64).collect();
        let (Some(least), Some(most)) = (memory.iter().min(), memory.iter().max()) else {
            return String::new();
        };
        let [least, most] = [least, most].map(|&held| bytes(held.into()));
        format!(" on {}, {least} to {most} of memory each", counted(memory.len(), "rank"))
    }

    /// All events of a file; invalid lines are skipped; empty if there is no file.
    pub fn read(path: impl AsRef<Path>) -> Result<Vec<Value>> {
        let path = path.as_ref();
        match std::fs::read(path) {
            Ok(bytes) => Ok(parse(&bytes[..whole_lines(&bytes)])),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(vec![]),
            Err(source) => Err(Error::File { op: "events", path: path.into(), source }),
        }
    }
}

/// How many bytes the whole lines take.
pub(super) fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1)
}

fn parse(bytes: &[u8]) -> Vec<Value> {
    bytes.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_time_of_a_killed_process_counts_up_to_its_last_event() {
        let event =
            |event: &str, seconds: Option<f64>| json!({ "event": event, "training_seconds": seconds });
        let events = [
            event("start", None),
            event("checkpoint", Some(2.0)),
            event("checkpoint", Some(4.0)),
            event("resume", None),
            event("resume", None),
            event("checkpoint", Some(1.0)),
            event("end", Some(1.5)),
        ];
        assert_eq!(Events::training_seconds(&events), 5.5);
    }

    #[test]
    fn the_memory_of_ranks_is_told() {
        let event = json!({ "event": "end", MEMORY_OF_RANKS: [3 << 20, 2 << 20, 5 << 19] });
        assert_eq!(Events::on_ranks(&[event]), " on 3 ranks, 2 MiB to 3 MiB of memory each");
        assert_eq!(Events::on_ranks(&[json!({ "event": "end" })]), "");
    }
}
