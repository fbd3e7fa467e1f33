//! A profile as a trace: the JSON that Perfetto (<https://ui.perfetto.dev>) and Chrome's `about:tracing` read.
//!
//! One process holds the host's threads, another the device; all times are microseconds since the profile began.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::Profile;
use crate::error::Result;
use crate::whole::write_whole;

const HOST: u32 = 1;
const DEVICE: u32 = 2;

impl Profile {
    /// Writes the trace to a file, whole or not at all.
    pub fn write_trace(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole("profile", path.as_ref(), self.trace().to_string().as_bytes())
    }

    /// The trace as JSON.
    pub fn trace(&self) -> Value {
        let mut events =
            vec![named("process_name", HOST, 0, "host"), named("process_name", DEVICE, 0, &self.device)];
        let mut threads: Vec<u32> = self.spans.iter().map(|span| span.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        events.extend(threads.iter().map(|&n| named("thread_name", HOST, n, &format!("thread {n}"))));
        events.push(named("thread_name", HOST, 0, "whole profile"));
        events.push(named("thread_name", DEVICE, 1, "kernels"));
        events.push(span("profile", "host", (HOST, 0), Duration::ZERO, self.wall));
        for phase in &self.spans {
            events.push(span(phase.phase, "host", (HOST, phase.thread), phase.start, phase.duration));
        }
        for launch in &self.launches {
            events.push(span(&launch.label, "kernel", (DEVICE, 1), launch.start, launch.duration));
        }
        json!({ "traceEvents": events, "displayTimeUnit": "ns" })
    }
}

fn named(what: &str, process: u32, thread: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": what, "pid": process, "tid": thread, "args": { "name": name } })
}

fn span(name: &str, category: &str, track: (u32, u32), start: Duration, duration: Duration) -> Value {
    let microseconds = |duration: Duration| duration.as_nanos() as f64 / 1e3;
    json!({
        "ph": "X", "name": name, "cat": category, "pid": track.0, "tid": track.1,
        "ts": microseconds(start), "dur": microseconds(duration),
    })
}
