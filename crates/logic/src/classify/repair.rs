//! Repair of a run's classifier: a discrete search on the hard circuit, and the storage of its result.
//!
//! The search itself is [`farad_circuit::repair::repair_classifier`]. Large circuits are searched as votes,
//! small ones as a whole, with the head. A repaired circuit is stored beside the learned one as
//! `circuits/repaired.json`, with its record in `circuits/repair.json`.
//!
//! Invariant: a stored repair belongs to this learned circuit, byte for byte. It gets no fewer samples of the
//! validation part right than the circuit before; if it gets as many right, it has fewer gates. The test part
//! is only counted, for the record. Start at [`repair`](fn@repair).

use farad::run::{Run, count, counted};
use farad::train::Watcher;
use farad_circuit::repair::{self as search, Reading, RepairedClassifier, SearchOptions, Suggestion};
use farad_circuit::{GateNode, Netlist, Statistics, Wire, WorkProgress};
use serde::{Deserialize, Serialize};

use super::data::{ClassifierData, HostSamples};
use super::learned::LearnedClassifier;
use super::packed::pack;
use super::report::{self, classify, hash, netlist_in, text};
use super::smaller::{CircuitForm, SMALL, smaller};
use crate::error::Result;
use crate::network::{LogicNetwork, NetworkBlock};
use crate::repair::Effort;
use crate::watched;

/// Most training samples that the search uses.
const MOST_SAMPLES: usize = 1 << 16;
/// A validation part with this many samples can judge alone; a smaller one is also searched with.
const ENOUGH: usize = 500;

const REPAIRED: &str = "circuits/repaired.json";
const NOTE: &str = "circuits/repair.json";

/// What repair did to a circuit: `repair.json`. Fractions are of samples that are right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassifierRepairNote {
    /// A hash of the files of the learned and the repaired circuit.
    #[serde(default)]
    circuits: u64,
    /// On the validation part, before and after.
    pub validation: [f64; 2],
    /// On the test part, before and after; it was not used for any choice.
    pub test: [f64; 2],
    /// Gates of the simplified circuit, before and after.
    pub gates: [usize; 2],
    /// Candidates tried.
    pub candidates: u64,
    /// Whether time ran out before the candidates did. Then another run may find another circuit.
    pub cut: bool,
}

impl ClassifierRepairNote {
    /// The same as a sentence.
    pub fn words(&self) -> String {
        let shares = |[before, after]: [f64; 2]| format!("{:.2} → {:.2} %", 100.0 * before, 100.0 * after);
        let [before, after] = self.gates.map(count);
        let cut = if self.cut { ", cut by time" } else { "" };
        format!(
            "repaired: {before} → {after} gates, validation {}, test {} ({}{cut})",
            shares(self.validation),
            shares(self.test),
            counted(self.candidates, "candidate")
        )
    }
}

/// A repaired circuit.
#[derive(Clone, Debug)]
pub(super) struct StoredRepair {
    pub form: CircuitForm,
    pub note: ClassifierRepairNote,
}

/// The repaired circuit from the run's folder; `None` if there is none, or if it belongs to another circuit.
pub(super) fn stored(run: &Run, learned: &Netlist) -> Option<StoredRepair> {
    let read = |name: &str| std::fs::read_to_string(run.path().join(name)).ok();
    let note: ClassifierRepairNote = serde_json::from_str(&read(NOTE)?).ok()?;
    let circuit = read(REPAIRED)?;
    match note.circuits == hash(&[&text(learned), &circuit]) {
        true => Some(StoredRepair { form: CircuitForm::read(netlist_in(&circuit)?)?, note }),
        false => None,
    }
}

/// Which circuits are repaired, and from what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassifierSelection {
    /// Small ones, from the learned circuit: a search that takes seconds.
    Small,
    /// Any, from the learned circuit.
    Any,
    /// Any, from the result of an earlier repair.
    Again,
}

/// The outcome of a repair.
#[derive(Clone, Debug, PartialEq)]
pub enum Became {
    /// A better circuit, which is kept.
    Better(ClassifierRepairNote),
    /// Nothing better was found.
    Same {
        /// Candidates tried.
        candidates: u64,
        /// Whether time ran out before the candidates did.
        cut: bool,
    },
}

impl Became {
    /// The same as a sentence.
    pub fn words(&self) -> String {
        match self {
            Became::Better(note) => note.words(),
            Became::Same { candidates, cut } => {
                let cut = if *cut { ", cut by time" } else { "" };
                format!("nothing better was found ({}{cut})", counted(*candidates, "candidate"))
            }
        }
    }
}

/// Repairs the circuit of a run and keeps the result if it is better. From the learned circuit, the result is
/// the same every time.
pub fn repair(
    run: &Run,
    effort: &Effort,
    which: ClassifierSelection,
    watcher: &dyn Watcher,
) -> Result<Became> {
    let nothing = Became::Same { candidates: 0, cut: false };
    if effort.candidates == 0 {
        return Ok(nothing);
    }
    let learned = LearnedClassifier::of(run)?;
    let data = ClassifierData::open(&mut learned.settings.clone())?;
    let netlist = learned.netlist()?;
    watcher.advanced(0, 2, "simplifying");
    let former = stored(run, &netlist).filter(|_| which == ClassifierSelection::Again);
    let before = match report::stored(run, &netlist, former.as_ref()) {
        Some(stored) => stored,
        None => {
            let form = report::form(&learned, former.as_ref(), Some(&data))?;
            watched(watcher, "", |progress| smaller(&learned, &form, progress))?
        }
    };
    if which == ClassifierSelection::Small && Statistics::of(&before.netlist).active > SMALL {
        return Ok(nothing);
    }
    watcher.advanced(1, 2, "repairing");
    let (form, suggestions) = begin(&learned, former.as_ref(), &before.netlist, &data)?;
    let found =
        watched(watcher, "", |progress| run_search(&learned, &form, &suggestions, &data, effort, progress))?;
    let RepairedClassifier { candidates, cut, .. } = found;
    let form = match form {
        CircuitForm::Votes { of, .. } => CircuitForm::Votes { netlist: found.netlist, of },
        CircuitForm::Number(_) => CircuitForm::Number(found.netlist),
    };
    let after = watched(watcher, "", |progress| smaller(&learned, &form, progress))?;
    let judged = |part: &HostSamples| -> Result<[f64; 2]> {
        Ok([share(&learned, &before.netlist, part)?, share(&learned, &after.netlist, part)?])
    };
    let (validation, test) = (judged(&data.validation)?, judged(&data.test)?);
    let gates = [&before.netlist, &after.netlist].map(|netlist| Statistics::of(netlist).active);
    watcher.advanced(2, 2, "repaired");
    let better = validation[1] > validation[0] || validation[1] == validation[0] && gates[1] < gates[0];
    if !better {
        return Ok(Became::Same { candidates, cut });
    }
    // A repeated repair adds to the record of the earlier one.
    let first = former.map(|former| former.note);
    let note = ClassifierRepairNote {
        circuits: hash(&[&text(&netlist), &text(form.netlist())]),
        validation: [first.as_ref().map_or(validation[0], |note| note.validation[0]), validation[1]],
        test: [first.as_ref().map_or(test[0], |note| note.test[0]), test[1]],
        gates: [first.as_ref().map_or(gates[0], |note| note.gates[0]), gates[1]],
        candidates: candidates + first.as_ref().map_or(0, |note| note.candidates),
        cut: cut || first.is_some_and(|note| note.cut),
    };
    let repaired = StoredRepair { form, note: note.clone() };
    // The circuit first: it counts only once its record exists.
    run.write_file(REPAIRED, text(repaired.form.netlist()).as_bytes())?;
    run.write_file(NOTE, (serde_json::to_string(&note).expect("numbers") + "\n").as_bytes())?;
    report::write(run, &netlist, Some(&repaired), &after)?;
    Ok(Became::Better(note))
}

/// The initial circuit of the search, and changes that are likely to help.
fn begin(
    learned: &LearnedClassifier,
    former: Option<&StoredRepair>,
    simplified: &Netlist,
    data: &ClassifierData,
) -> Result<(CircuitForm, Vec<Suggestion>)> {
    if Statistics::of(simplified).active <= SMALL {
        return Ok((CircuitForm::Number(simplified.clone().without_parts()), vec![]));
    }
    if let Some(former) = former {
        return Ok((former.form.clone(), vec![]));
    }
    let form = report::form(learned, None, Some(data))?;
    let suggestions = suggestions(&learned.network, form.netlist())?;
    Ok((form, suggestions))
}

fn run_search(
    learned: &LearnedClassifier,
    form: &CircuitForm,
    suggestions: &[Suggestion],
    data: &ClassifierData,
    effort: &Effort,
    progress: &WorkProgress,
) -> Result<RepairedClassifier> {
    let thresholds = learned.network.encoding().levels()?;
    let samples = |part: &HostSamples| search::PanelSamples {
        planes: pack(part, &thresholds).planes,
        labels: part.labels.iter().map(|&label| label as usize).collect(),
    };
    let validation = samples(&data.validation);
    let train = match data.validation.len() < ENOUGH {
        true => samples(&data.train.with(&data.validation)),
        false => samples(&data.train).first(MOST_SAMPLES),
    };
    let reading = match form {
        CircuitForm::Number(_) => Reading::Number,
        CircuitForm::Votes { of, .. } => {
            let (classes, scale) = (learned.classes.len(), learned.network.head().tau());
            Reading::Votes { of: of.clone(), classes, scale }
        }
    };
    let circuit = search::ClassifierCircuit { netlist: form.netlist(), reading, suggestions };
    let seed = (learned.settings.seed as u64).wrapping_add(effort.seed);
    let (candidates, time, progress) = (effort.candidates, effort.time, progress.clone());
    let options = SearchOptions { candidates, time, seed, progress };
    Ok(search::repair_classifier(&circuit, &train, &validation, &options)?)
}

/// The fraction of samples that a circuit gets right.
fn share(learned: &LearnedClassifier, netlist: &Netlist, part: &HostSamples) -> Result<f64> {
    let seen = classify(netlist, &learned.network.encoding().levels()?, part)?;
    let right = seen.iter().zip(&part.labels).filter(|(seen, label)| **seen == **label as usize).count();
    Ok(right as f64 / part.len().max(1) as f64)
}

/// What gates nearly became, the closest first: another function, or another of their candidate wires. Layers
/// of trees and of neurons with candidates suggest nothing.
fn suggestions(network: &LogicNetwork, netlist: &Netlist) -> Result<Vec<Suggestion>> {
    let mut unsure: Vec<(f32, Suggestion)> = vec![];
    let (mut first, mut below) = (0, 0..netlist.sources());
    for block in network.layers() {
        let gates = block.gates();
        let nodes = netlist.gates.get(first..first + gates).unwrap_or_default();
        let mut suggest = |margin: f32, n: usize, node: GateNode| {
            unsure.push((margin, Suggestion { gate: first + n, node }));
        };
        if let Some(logits) = logits(block)? {
            for (n, (node, logits)) in nodes.iter().zip(logits.chunks_exact(FUNCTIONS)).enumerate() {
                let (margin, gate) = crate::repair::second_best(node.gate, logits);
                suggest(margin, n, GateNode { gate, ..*node });
            }
        }
        if let NetworkBlock::Wired(layer) = block {
            let second = layer.second_wires()?;
            for (row, (margin, wire)) in second.into_iter().enumerate() {
                let (n, wire) = (row % gates, Wire((below.start + wire as usize) as u32));
                let Some(&node) = nodes.get(n) else { continue };
                let node =
                    if row < gates { GateNode { a: wire, ..node } } else { GateNode { b: wire, ..node } };
                suggest(margin, n, node);
            }
        }
        below = netlist.sources() + first..netlist.sources() + first + gates;
        first += gates;
    }
    unsure.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.gate.cmp(&b.1.gate)));
    Ok(unsure.into_iter().map(|(_, suggestion)| suggestion).collect())
}

/// Functions of a gate, with one logit each.
const FUNCTIONS: usize = 16;

/// The logits of a layer's gates, one row each, if it has its own gates.
fn logits(block: &NetworkBlock) -> Result<Option<Vec<f32>>> {
    Ok(match block {
        NetworkBlock::Gates(layer) => Some(layer.gates().logits.value().to_vec::<f32>()?),
        NetworkBlock::Wired(layer) => Some(layer.gates().logits.value().to_vec::<f32>()?),
        _ => None,
    })
}
