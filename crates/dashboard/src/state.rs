//! Whether a run is being trained, determined from outside without touching it.
//!
//! Invariant: checking takes no lock. A process that wants to resume a run tries its lock once, so a check that
//! held it for a moment could turn that process away. Where the system lists locks, they are read there;
//! elsewhere a run that wrote something recently counts as running. Start at [`state`].

use std::path::Path;
use std::time::{Duration, SystemTime};

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Updates are being made.
    Running,
    /// Training is over; circuits are proved, the report is written.
    Concluding,
    /// Everything is written.
    Finished,
    /// It was stopped, and saved.
    Interrupted,
    /// No process works on it, and it neither ended nor was stopped properly.
    Unfinished,
}

impl RunStatus {
    /// Its name in the page.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Concluding => "concluding",
            RunStatus::Finished => "finished",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Unfinished => "unfinished",
        }
    }
}

/// If locks are not listed, a run that wrote something this recently counts as running.
const RECENT: Duration = Duration::from_secs(60);

/// The state of a run, given the name of its last event.
pub fn state(folder: &Path, last: Option<&str>) -> RunStatus {
    match (last, is_held(folder)) {
        (Some("end"), Some(true)) => RunStatus::Concluding,
        (Some("end"), _) => RunStatus::Finished,
        (Some("interrupted"), Some(true)) => RunStatus::Running,
        (Some("interrupted"), _) => RunStatus::Interrupted,
        (_, Some(true)) => RunStatus::Running,
        (_, Some(false)) => RunStatus::Unfinished,
        (_, None) if is_recent(folder) => RunStatus::Running,
        (_, None) => RunStatus::Unfinished,
    }
}

/// Whether a process holds the run's lock; `None` if this cannot be known.
#[cfg(target_os = "linux")]
fn is_held(folder: &Path) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = std::fs::metadata(folder.join(".lock")) else { return Some(false) };
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // A container may see no locks at all, not even its own.
    let listed = lists(&locks, metadata.ino());
    (listed || !locks.is_empty()).then_some(listed)
}

#[cfg(not(target_os = "linux"))]
fn is_held(_folder: &Path) -> Option<bool> {
    None
}

/// Whether a list of locks (`1: FLOCK  ADVISORY  WRITE 4711 fd:01:123456 0 EOF`) has one on a file with this
/// inode.
#[cfg(any(target_os = "linux", test))]
fn lists(locks: &str, inode: u64) -> bool {
    let end = format!(":{inode}");
    let of = |line: &str| line.split_whitespace().nth(5).is_some_and(|file| file.ends_with(&end));
    locks.lines().any(|line| line.contains("FLOCK") && !line.contains("->") && of(line))
}

fn is_recent(folder: &Path) -> bool {
    ["log.csv", "events.jsonl", "checkpoint.safetensors"].iter().any(|name| {
        let written = std::fs::metadata(folder.join(name)).and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
        age.is_some_and(|age| age < RECENT)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;
    use farad::run::{Run, Table};

    #[test]
    fn locks_are_found_by_their_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 10 fd:01:77 0 EOF\n\
            2: FLOCK  ADVISORY  WRITE 4711 fd:01:123456 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 9 fd:01:99 0 EOF\n";
        assert!(lists(locks, 123456));
        assert!(!lists(locks, 77) && !lists(locks, 56) && !lists(locks, 99) && !lists("", 1));
    }

    #[test]
    fn a_run_runs_while_somebody_holds_it() {
        let scratch = ScratchFolder::new();
        let folder = scratch.path("run");
        let run = Run::create(&folder, "test", Table::new()).unwrap();
        if is_held(&folder) == Some(true) {
            assert_eq!(state(&folder, Some("start")), RunStatus::Running);
            assert_eq!(state(&folder, Some("end")), RunStatus::Concluding);
        }
        drop(run);
        if is_held(&folder) == Some(false) {
            assert_eq!(state(&folder, Some("checkpoint")), RunStatus::Unfinished);
        }
        assert_eq!(state(&folder, Some("end")), RunStatus::Finished);
        assert_eq!(state(&folder, Some("interrupted")), RunStatus::Interrupted);
        scratch.write("run/log.csv", "step\n");
        assert!(is_recent(&folder));
    }
}
