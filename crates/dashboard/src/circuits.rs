//! The newest circuit of a run: its page, its drawing and its numbers, even while the run still trains.
//!
//! A checkpoint contains the best hard gates so far, so nothing more needs to be written for this. Start at
//! [`RecentCircuits::get`].

use std::path::Path;
use std::sync::Arc;

use farad::run::{Run, Value, json};
use farad_circuit::{Circuit, Drawing, Format, Gate, Statistics, export};

use crate::recent::Recent;

/// Most gates of a circuit that is drawn: larger drawings would be a gray block of many megabytes.
const MOST_DRAWN: usize = 4000;

/// A circuit as the page shows it.
pub struct Shown {
    /// A page that runs it, the same as `farad export --format html` makes.
    pub page: String,
    /// Its drawing, unless it is too large for one.
    pub drawing: Option<String>,
    /// Its statistics.
    pub facts: Value,
}

/// The newest circuit of a run.
pub struct Newest {
    /// The circuit that the page runs.
    pub circuit: Circuit,
    /// The circuit that is drawn and counted instead, if that is another one with the same function.
    pub drawn: Option<Circuit>,
    /// Further facts about it.
    pub facts: Value,
}

/// Finds the newest circuit of a run, or why there is none yet; `None` if its kind never has one.
pub type Find = fn(&Run) -> Option<Result<Newest, String>>;

/// The circuits that were requested recently.
pub struct RecentCircuits {
    find: Find,
    recent: Recent<Shown>,
}

impl RecentCircuits {
    /// An empty cache.
    pub fn new(find: Find) -> RecentCircuits {
        RecentCircuits { find, recent: Recent::default() }
    }

    /// The newest circuit in a run's folder; `None` if it has none yet, or if its kind never has one.
    pub fn get(&self, folder: &Path) -> Option<Arc<Shown>> {
        self.recent.get(folder, || newest(folder, self.find))
    }
}

fn newest(folder: &Path, of: Find) -> Option<Shown> {
    let run = Run::open(folder).ok()?;
    match of(&run)?.and_then(|newest| shown(newest).map_err(|error| error.to_string())) {
        Ok(shown) => Some(shown),
        Err(error) => {
            // Usually there is simply no checkpoint yet.
            tracing::debug!("dashboard: no circuit of {}: {error}", folder.display());
            None
        }
    }
}

/// The page of a circuit; if there is a second one, that is drawn and counted.
fn shown(Newest { circuit, drawn: simplified, mut facts }: Newest) -> farad_circuit::Result<Shown> {
    let files = export(&circuit, Format::named("html")?)?;
    if facts["simplified"].is_null() {
        facts["simplified"] = simplified.is_some().into();
    }
    let counted = simplified.as_ref().unwrap_or(&circuit);
    let netlist = counted.netlist();
    let statistics = Statistics::of(netlist);
    facts["gates"] = statistics.active_live.into();
    facts["depth"] = statistics.depth.into();
    facts["inputs"] = statistics.inputs.into();
    facts["outputs"] = statistics.outputs.into();
    facts["counts"] = counts(&statistics);
    let drawing = (statistics.active_live <= MOST_DRAWN).then(|| drawn(counted));
    let page = files.into_iter().next().map(|(_, text)| text).unwrap_or_default();
    Ok(Shown { page, drawing, facts })
}

fn drawn(circuit: &Circuit) -> String {
    let drawing = Drawing::new("The circuit");
    match circuit {
        Circuit::Automaton(automaton) => drawing.automaton(&automaton.cell.name, automaton).svg(),
        Circuit::Netlist(netlist) => drawing.netlist(&netlist.name, netlist).svg(),
    }
}

/// The functions that gates compute, most frequent first.
fn counts(statistics: &Statistics) -> Value {
    let gates = (0..16).filter_map(Gate::new).filter(|gate| gate.is_active());
    let mut counts: Vec<(String, usize)> =
        gates.map(|gate| (gate.name().to_string(), statistics.live_counts[gate.number() as usize])).collect();
    counts.retain(|(_, count)| *count > 0);
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    json!(counts)
}
