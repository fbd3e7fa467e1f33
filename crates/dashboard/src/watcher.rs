//! The table of all runs, kept by one watcher for all pages.
//!
//! Invariant: while no page is open nothing is read, and however many are open the folder is read once. A row
//! has the number of the poll that changed it, so a page needs only rows newer than the last poll that it has
//! seen. Start at [`watch`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use farad::run::Value;
use farad::train::Kinds;
use tokio::sync::{Semaphore, watch};

use crate::library::RunLibrary;
use crate::load::LoadMeter;
use crate::summary::RunSummary;

/// The time between two polls.
pub const PERIOD: Duration = Duration::from_millis(500);

/// Most pages that may be open at the same time.
pub const MOST_PAGES: usize = 32;

/// Runs that are not training are polled once in this many polls.
const IDLE_LOOKS: u64 = 4;

/// The load of the machine is measured once in this many polls.
const LOAD_LOOKS: u64 = 4;

/// The runs at one poll.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// The number of the poll, starting at 1; 0 before the first.
    pub look: u64,
    /// Whether the folder has more runs than are shown.
    pub more: bool,
    /// By name: the poll that last changed the row, and the row.
    pub rows: BTreeMap<String, (u64, Value)>,
}

/// What the watcher remembers between polls.
struct WatcherState {
    kinds: Kinds,
    library: RunLibrary,
    runs: Runs,
    summaries: BTreeMap<String, RunSummary>,
    meter: LoadMeter,
    polls: u64,
}

impl WatcherState {
    fn new(library: RunLibrary, kinds: Kinds) -> WatcherState {
        let (runs, summaries, meter) = (Runs::default(), BTreeMap::new(), LoadMeter::default());
        WatcherState { kinds, library, runs, summaries, meter, polls: 0 }
    }

    /// The load of the machine, if it is due at this poll and the system tells it.
    fn load(&mut self) -> Option<Value> {
        self.polls += 1;
        let live = self.summaries.iter().filter(|(_, summary)| summary.is_live());
        let live = live.map(|(name, summary)| (name.as_str(), summary.folder()));
        self.polls.is_multiple_of(LOAD_LOOKS).then(|| self.meter.measure(live)).flatten()
    }

    /// Polls the folder once; returns whether anything changed.
    fn look(&mut self) -> bool {
        let look = self.runs.look + 1;
        let (names, more) = self.library.names();
        let mut changed = look == 1 || more != self.runs.more;
        let gone = |name: &String| names.binary_search(name).is_err();
        let before = self.summaries.len();
        self.summaries.retain(|name, _| !gone(name));
        self.runs.rows.retain(|name, _| !gone(name));
        changed |= self.summaries.len() != before;
        for name in names {
            let Some(folder) = self.library.folder(&name) else { continue };
            let known = self.summaries.get(&name).is_some_and(|summary| summary.folder() == folder);
            if !known {
                self.summaries.insert(name.clone(), RunSummary::new(folder, self.kinds));
            }
            let summary = self.summaries.get_mut(&name).expect("inserted above");
            let due = !known || summary.is_live() || look.is_multiple_of(IDLE_LOOKS);
            if due && summary.look() {
                self.runs.rows.insert(name, (look, summary.told().clone()));
                changed = true;
            }
        }
        (self.runs.look, self.runs.more) = (look, more);
        changed
    }
}

/// What receivers see: the newest table, and the newest load of the machine (null while it is unknown).
#[derive(Clone)]
pub struct Watched {
    /// The table of runs.
    pub runs: watch::Receiver<Arc<Runs>>,
    /// The load.
    pub load: watch::Receiver<Value>,
}

/// Starts the watcher. It polls while some of the permits for pages are taken.
pub fn watch(library: RunLibrary, places: Arc<Semaphore>, kinds: Kinds) -> Watched {
    let (sender, runs) = watch::channel(Arc::new(Runs::default()));
    let (load_sender, load) = watch::channel(Value::Null);
    let mut watcher = WatcherState::new(library, kinds);
    tokio::spawn(async move {
        loop {
            if places.available_permits() < MOST_PAGES {
                let looked =
                    tokio::task::spawn_blocking(move || (watcher.look(), watcher.load(), watcher)).await;
                let Ok((changed, load, back)) = looked else { return };
                watcher = back;
                if let Some(load) = load {
                    load_sender.send_replace(load);
                }
                if changed {
                    sender.send_replace(Arc::new(watcher.runs.clone()));
                }
            }
            tokio::time::sleep(PERIOD).await;
        }
    });
    Watched { runs, load }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    #[test]
    fn rows_come_change_and_go() {
        let scratch = ScratchFolder::new();
        scratch.run("runs/a", "fit");
        let library = RunLibrary::open(&scratch.path("runs")).unwrap();
        let mut watcher = WatcherState::new(library, Kinds(&[]));
        assert!(watcher.look());
        assert_eq!(watcher.runs.rows["a"].0, 1);
        scratch.run("runs/b", "fit");
        assert!(watcher.look());
        assert_eq!((watcher.runs.rows["a"].0, watcher.runs.rows["b"].0), (1, 2));
        scratch.write("runs/a/log.csv", "step,loss\n1,2\n");
        let looks = (0..IDLE_LOOKS).filter(|_| watcher.look()).count();
        assert_eq!(looks, 1, "a run that is not trained is seen soon, too");
        assert!(watcher.runs.rows["a"].0 > 2);
        std::fs::remove_dir_all(scratch.path("runs/a")).unwrap();
        assert!(watcher.look());
        assert_eq!(watcher.runs.rows.keys().collect::<Vec<_>>(), ["b"]);
    }
}
