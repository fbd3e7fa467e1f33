//! A trial as a process of its own: `farad train`, its words, and how it ends.
//!
//! Invariant: a trial does not outlive its sweep. Its standard input is a pipe that the sweep holds open; when that ends, for
//! whatever reason, the training saves and stops.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use farad::run::Value;

use crate::error::{Error, Result};

/// A trial that is being trained.
pub struct TrialProcess {
    child: Child,
    input: Option<ChildStdin>,
    said: Arc<Mutex<Said>>,
    readers: Option<(JoinHandle<()>, JoinHandle<String>)>,
}

/// What a process said on stderr.
#[derive(Default)]
struct Said {
    /// How far it is.
    progress: String,
    /// The first line of the error it ended with.
    error: Option<String>,
    last: String,
}

/// How a process ended.
pub struct Ended {
    /// Whether it trained to the end.
    pub status: ExitStatus,
    /// Whether it was asked to stop.
    pub asked: bool,
    /// The objects that it printed.
    pub figures: Vec<Value>,
    /// What went wrong, in a line.
    pub error: String,
}

impl TrialProcess {
    /// Starts the command with these words.
    pub fn start(words: &[String]) -> Result<TrialProcess> {
        let fail = |source| Error::Write { op: "sweep", path: "a process for a trial".into(), source };
        let mut command = Command::new(std::env::current_exe().map_err(fail)?);
        command.args(words).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(fail)?;
        let said = Arc::new(Mutex::new(Said::default()));
        let (input, errors, mut out) = (child.stdin.take(), child.stderr.take(), child.stdout.take());
        let heard = said.clone();
        let errors = std::thread::spawn(move || {
            let lines = BufReader::new(errors.expect("it is piped")).lines();
            lines
                .map_while(std::io::Result::ok)
                .for_each(|line| heard.lock().expect("nobody panics").hear(line));
        });
        let out = std::thread::spawn(move || {
            let mut text = String::new();
            // What is no text is no result.
            let _ = out.as_mut().expect("it is piped").read_to_string(&mut text);
            text
        });
        Ok(TrialProcess { child, input, said, readers: Some((errors, out)) })
    }

    /// How far it is, in its own words.
    pub fn progress(&self) -> String {
        self.said.lock().expect("nobody panics").progress.clone()
    }

    /// Asks it to save and stop.
    pub fn stop(&mut self) {
        self.input.take();
    }

    /// How it ended, once it has.
    pub fn ended(&mut self) -> Result<Option<Ended>> {
        let Some(status) = self.child.try_wait()? else { return Ok(None) };
        let (errors, out) = self.readers.take().expect("it ends once");
        let _ = errors.join();
        let text = out.join().unwrap_or_default();
        let figures = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let said = self.said.lock().expect("nobody panics");
        let error = match (&said.error, status.code()) {
            (Some(error), Some(_)) => error.clone(),
            _ if said.last.is_empty() => status.to_string(),
            _ => format!("{status}: {}", said.last),
        };
        Ok(Some(Ended { status, asked: self.input.is_none(), figures, error }))
    }
}

impl Said {
    fn hear(&mut self, line: String) {
        if let Some(error) = line.strip_prefix("error: ") {
            self.error = Some(error.into());
        }
        // `500 of 2,000 steps  loss 0.31  left 12 s`
        if line.contains("  left ") && line.contains(" of ") {
            self.progress = line.clone();
        }
        self.last = line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_progress_are_heard() {
        let mut said = Said::default();
        for line in ["csv by mlp", "10 of 20 steps  loss 1  left 3 s", "error: fit: not finite", "help: less"]
        {
            said.hear(line.into());
        }
        assert_eq!(said.progress, "10 of 20 steps  loss 1  left 3 s");
        assert_eq!(said.error.as_deref(), Some("fit: not finite"));
    }
}
