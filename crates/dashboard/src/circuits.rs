//! The newest circuit of a run: its page, its drawing and its numbers, also while the run still trains.
//!
//! A checkpoint holds the best hard gates so far, so nothing more need be written for this. Invariant: a circuit is made
//! once for each state of the folder, and only a few are kept. Start at [`Circuits::get`].

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use farad::run::{Run, Value, json};
use farad_circuit::{Circuit, Drawing, Format, Gate, Statistics, export};
use farad_logic::{classify, report, train};

use crate::summary::stamp;

/// Circuits that are kept.
const KEPT: usize = 8;

/// Drawings of more gates than these are not made: they would be a gray block of many megabytes.
const MOST_DRAWN: usize = 4000;

/// A circuit as the page shows it.
pub struct Shown {
    /// A page that runs it, the same as `farad export --format html` makes.
    pub page: String,
    /// Its drawing, unless it is too large for one.
    pub drawing: Option<String>,
    /// What can be counted.
    pub facts: Value,
}

/// The circuits that were asked for lately.
#[derive(Default)]
pub struct Circuits {
    kept: Mutex<VecDeque<(Key, Option<Arc<Shown>>)>>,
}

/// The folder and when what the circuit is made of was written.
type Key = (std::path::PathBuf, [u64; 2]);

impl Circuits {
    /// The newest circuit in a run's folder; none if it has none yet, or is of a kind that never has one.
    pub fn get(&self, folder: &Path) -> Option<Arc<Shown>> {
        let stamps = ["checkpoint.safetensors", "circuits"].map(|name| stamp(&folder.join(name)));
        let key = (folder.to_path_buf(), stamps);
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, shown)) = kept.iter().find(|(other, _)| *other == key) {
            return shown.clone();
        }
        // Made under the lock: several frames of one page ask at once, and one answer does for all.
        let shown = newest(folder).map(Arc::new);
        kept.retain(|((other, _), _)| other != folder);
        kept.push_back((key, shown.clone()));
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
        shown
    }
}

fn newest(folder: &Path) -> Option<Shown> {
    let run = Run::open(folder).ok()?;
    let found = match run.kind() {
        train::KIND => automaton(&run),
        classify::KIND => network(&run),
        _ => return None,
    };
    match found {
        Ok(shown) => Some(shown),
        Err(error) => {
            // Most often there is simply no checkpoint yet.
            tracing::debug!("dashboard: no circuit of {}: {error}", folder.display());
            None
        }
    }
}

/// The kept circuit of an automaton; simplified once the run has proved that.
fn automaton(run: &Run) -> farad_logic::Result<Shown> {
    let learned = train::Learned::of(run)?;
    let circuit = &learned.circuits[learned.shown()];
    let simplified = report::stored(run, circuit);
    let is_simplified = simplified.is_some();
    let mut automaton = simplified.unwrap_or_else(|| circuit.automaton.clone());
    automaton.cell.meta.extend(learned.configuration.known());
    let facts = json!({
        "kind": "automaton",
        "seed": circuit.seed,
        "seeds": learned.circuits.len(),
        "update": circuit.update,
        "updates": learned.updates,
        "right": circuit.right,
        "simplified": is_simplified,
        "channels": automaton.channels,
    });
    shown(Circuit::Automaton(automaton), None, facts)
}

/// The network that was best so far. Its page needs the votes of every class, which only the circuit as it was learned has;
/// counted and drawn is the simplified one, once the run has written it.
fn network(run: &Run) -> farad_logic::Result<Shown> {
    let learned = classify::Learned::of(run)?;
    let mut netlist = learned.netlist_with_counts()?;
    netlist.meta.extend(learned.known()?);
    let facts = json!({
        "kind": "network",
        "update": learned.kept_after,
        "updates": learned.steps,
        "accuracy": learned.validation,
        "classes": learned.classes,
    });
    let written = run.path().join("circuits/simplified.json");
    let newest = stamp(&written) >= stamp(&run.checkpoint_path());
    let simplified = newest.then(|| Circuit::read(&written).ok()).flatten();
    shown(Circuit::Netlist(netlist), simplified, facts)
}

/// The page of a circuit; drawn and counted is the second one, if there is one.
fn shown(circuit: Circuit, simplified: Option<Circuit>, mut facts: Value) -> farad_logic::Result<Shown> {
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
