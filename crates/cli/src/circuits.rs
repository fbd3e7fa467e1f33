//! The kinds of training that learn circuits, one row each: where `farad export`, `farad simulate` and the dashboard get
//! them from.

use farad::run::{Run, json};
use farad::train::Watcher;
use farad_circuit::{Circuit, Statistics};
use farad_dashboard::Newest;
use farad_logic::{boolean, classify, report, train};
use farad_rl::controller;

use crate::error::{Error, Result};

/// Which circuit of a run.
pub struct Wanted<'a> {
    /// Who asks, for messages.
    pub op: &'static str,
    /// Of which seed; none: of the one that stands for the run.
    pub seed: Option<u64>,
    /// As it was learned, not simplified.
    pub raw: bool,
    /// With the votes of every class, for a page.
    pub votes: bool,
    /// Who sees how far it is, where the circuit is simplified first.
    pub watcher: &'a dyn Watcher,
}

/// A kind of training that learns circuits.
struct CircuitKind {
    kind: &'static str,
    /// Whether a run has a circuit for every seed.
    seeds: bool,
    circuit: fn(&Run, &Wanted) -> Result<Circuit>,
    /// The newest circuit, also while the run trains.
    newest: fn(&Run) -> farad_logic::Result<Newest>,
}

const SOURCES: [CircuitKind; 4] = [
    CircuitKind { kind: train::KIND, seeds: true, circuit: automaton, newest: newest_automaton },
    CircuitKind { kind: classify::KIND, seeds: false, circuit: network, newest: newest_network },
    CircuitKind { kind: boolean::KIND, seeds: false, circuit: function, newest: newest_function },
    CircuitKind { kind: controller::KIND, seeds: false, circuit: controls, newest: newest_controller },
];

fn source(run: &Run) -> Option<&'static CircuitKind> {
    SOURCES.iter().find(|source| source.kind == run.kind())
}

/// Whether a run's circuits could be those of automata.
pub fn may_be_automata(run: &Run) -> bool {
    source(run).is_none_or(|source| source.seeds)
}

/// The circuit of a run.
pub fn circuit(run: &Run, wanted: &Wanted) -> Result<Circuit> {
    let path = || run.path().display().to_string();
    let Some(source) = source(run) else {
        return Err(Error::NoCircuit { op: wanted.op, path: path(), kind: run.kind().into() });
    };
    if wanted.seed.is_some() && !source.seeds {
        return Err(Error::ExportFlag { flag: "--seed", path: path() });
    }
    (source.circuit)(run, wanted)
}

/// The newest circuit of a run, for the dashboard; none if its kind never has one.
pub fn newest(run: &Run) -> Option<std::result::Result<Newest, String>> {
    source(run).map(|source| (source.newest)(run).map_err(|error| error.to_string()))
}

/// The simplified circuit that stands for a run, if the run has written one; nothing is simplified for it.
pub fn simplified(run: &Run) -> Option<Circuit> {
    let newest = (source(run)?.newest)(run).ok()?;
    match newest.facts["simplified"].as_bool() {
        Some(true) => Some(newest.circuit),
        _ => newest.drawn,
    }
}

fn automaton(run: &Run, wanted: &Wanted) -> Result<Circuit> {
    let mut learned = train::LearnedAutomata::of(run)?;
    let index = pick(wanted.op, &learned, wanted.seed)?;
    let circuit = learned.circuits.swap_remove(index);
    let active = circuit.gates.iter().filter(|gate| gate.is_active()).count();
    let counts = json!({ "learned": circuit.gates.len(), "active": active });
    let mut automaton =
        if wanted.raw { circuit.learned } else { report::simplified(run, &circuit, wanted.watcher)? };
    automaton.cell.meta.extend(learned.configuration.known());
    automaton.cell.meta.insert("gates".into(), counts);
    Ok(Circuit::Automaton(automaton))
}

/// Which of a run's circuits: that of a seed, or the one that stands for the run.
fn pick(op: &'static str, learned: &train::LearnedAutomata, seed: Option<u64>) -> Result<usize> {
    let seeds: Vec<u64> = learned.circuits.iter().map(|circuit| circuit.seed).collect();
    match seed {
        None => Ok(learned.shown()),
        Some(seed) => seeds.iter().position(|&other| other == seed).ok_or_else(|| Error::NoSeed {
            op,
            seed,
            seeds: seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        }),
    }
}

fn network(run: &Run, wanted: &Wanted) -> Result<Circuit> {
    let learned = classify::LearnedClassifier::of(run)?;
    let mut netlist = match (wanted.raw, wanted.votes) {
        (true, true) => learned.netlist_with_counts()?,
        (true, false) => learned.netlist()?,
        (false, votes) => {
            let simplified = classify::report::simplified(run, &learned, wanted.watcher)?;
            simplified.with_counts.filter(|_| votes).unwrap_or(simplified.netlist)
        }
    };
    netlist.meta.extend(learned.known()?);
    let active = Statistics::of(&learned.netlist()?).active;
    netlist.meta.insert("gates".into(), json!({ "learned": learned.network.gates(), "active": active }));
    Ok(Circuit::Netlist(netlist))
}

/// The kept circuit of an automaton; simplified once the run has proved that.
fn newest_automaton(run: &Run) -> farad_logic::Result<Newest> {
    let learned = train::LearnedAutomata::of(run)?;
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
    Ok(Newest { circuit: Circuit::Automaton(automaton), drawn: None, facts })
}

/// The network that was best so far. Its page needs the votes of every class, which only the circuit as learned has;
/// counted and drawn is the simplified one, once the run has written it.
fn newest_network(run: &Run) -> farad_logic::Result<Newest> {
    let learned = classify::LearnedClassifier::of(run)?;
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
    let stamp = |path: &std::path::Path| path.metadata().and_then(|file| file.modified()).ok();
    let newest = stamp(&written) >= stamp(&run.checkpoint_path());
    let drawn = newest.then(|| Circuit::read(&written).ok()).flatten();
    Ok(Newest { circuit: Circuit::Netlist(netlist), drawn, facts })
}

fn function(run: &Run, wanted: &Wanted) -> Result<Circuit> {
    Ok(Circuit::Netlist(match wanted.raw {
        true => boolean::LearnedFunction::of(run)?.netlist,
        false => boolean::simplified(run, wanted.watcher)?,
    }))
}

/// The kept circuit of a Boolean function.
fn newest_function(run: &Run) -> farad_logic::Result<Newest> {
    let learned = boolean::LearnedFunction::of(run)?;
    let facts = json!({ "kind": "network", "update": learned.kept_after, "updates": learned.steps });
    Ok(Newest { circuit: Circuit::Netlist(learned.netlist), drawn: None, facts })
}

fn controls(run: &Run, wanted: &Wanted) -> Result<Circuit> {
    Ok(Circuit::Netlist(match wanted.raw {
        true => controller::repaired(run, wanted.watcher)?,
        false => controller::simplified(run, wanted.watcher)?,
    }))
}

/// The circuit of a controller.
fn newest_controller(run: &Run) -> farad_logic::Result<Newest> {
    let netlist = controller::simplified(run, &())?;
    let updates = run.checkpoint()?.map_or(0, |checkpoint| checkpoint.step());
    let facts = json!({ "kind": "network", "update": updates, "updates": updates, "simplified": true });
    Ok(Newest { circuit: Circuit::Netlist(netlist), drawn: None, facts })
}
