//! The end of a run: circuits are judged, simplified and proved, then written with pictures.
//!
//! [`check`](fn@check) only counts wrong bits. [`judge`] also simplifies and proves. [`conclude`] also writes
//! `circuits/`, `plots/` and `report.md` to the run's folder. [`fn@learned`] puts the result in words. All
//! start from the run's checkpoint, so they may be called again at any time.

mod check;
mod outcome;
mod page;
mod pictures;
mod proof;

pub use check::{Check, check, note};
pub use outcome::{glance, learned, outcome};
pub use pictures::frame;
pub(crate) use pictures::last_frame;
pub use proof::SimplifyPass;

use farad::run::{Conclusion, Run, Value, count, counted, json};
use farad::train::Watcher;
use farad_circuit::{Automaton, Statistics, WorkProgress};
use rayon::prelude::*;

use crate::error::Result;
use crate::evaluate::{Evaluation, Examination};
use crate::recipe::Trial;
use crate::repair::RepairNote;
use crate::train::{LearnedAutomata, LearnedCircuit};
use crate::watched;
use proof::SimplifiedNote;
pub(crate) use proof::{hash, text};

/// The results for one seed's circuit.
pub struct SeedVerdict {
    /// The seed.
    pub seed: u64,
    /// The update after which the circuit was kept.
    pub update: u64,
    /// How good it is.
    pub evaluation: Evaluation,
    /// What repair did, if the circuit was repaired.
    pub repair: Option<RepairNote>,
    /// Gates that are neither constant nor copies: the learned ones or, after repair, those of the repaired
    /// circuit.
    pub active_gates: usize,
    /// Gates of the simplified cell.
    pub simplified_gates: usize,
    /// Channels of the simplified cell.
    pub simplified_channels: usize,
    /// Active gates on the longest path, before and after.
    pub depths: (usize, usize),
    /// Whether the simplified circuit is proved equal to the learned one.
    pub proved: bool,
    /// The simplified circuit.
    pub simplified: Automaton,
    /// What each simplification pass did.
    pub stages: Vec<SimplifyPass>,
    /// Whether the time ran out before simplification was done; then another run may find another circuit.
    pub out_of_time: bool,
    /// Outputs that keep their learned gates because nothing smaller could be proved.
    pub unproved: Vec<String>,
}

impl SeedVerdict {
    /// As one JSON object.
    pub fn json(&self) -> Value {
        let evaluation = &self.evaluation;
        json!({
            "seed": self.seed,
            "exact": evaluation.exact,
            "exact_before_repair": self.exact_before_repair(),
            "stable": evaluation.stable,
            "active_gates": self.active_gates,
            "simplified_gates": self.simplified_gates,
            "simplified_channels": self.simplified_channels,
            "proved": self.proved,
            "out_of_time": self.out_of_time,
            "depth": self.depths.0,
            "simplified_depth": self.depths.1,
            "update": self.update,
            "wrong": evaluation.wrong,
            "of": evaluation.of,
            "settles_at": evaluation.settles_at,
            "sizes": evaluation.sizes,
            "healed": evaluation.healed,
            "error_under_damage": evaluation.error_under_damage,
            "repair": self.repair,
        })
    }

    /// Whether the learned circuit was exact.
    pub fn exact_before_repair(&self) -> bool {
        self.repair.as_ref().map_or(self.evaluation.exact, |note| note.wrong_before == 0)
    }
}

/// Judges the kept circuits of a run, all seeds. Reuses earlier simplifications and proofs.
pub fn judge(run: &Run, watcher: &dyn Watcher) -> Result<Vec<SeedVerdict>> {
    let learned = LearnedAutomata::of(run)?;
    let circuits = &learned.circuits;
    watched(watcher, "", |progress| {
        if let [circuit] = &circuits[..] {
            return Ok(vec![judge_one(run, &learned, circuit, progress)?]);
        }
        progress.begin("simplifying and proving the circuits of all seeds", circuits.len(), None);
        let judged = circuits.par_iter().map(|circuit| {
            let verdict = judge_one(run, &learned, circuit, &WorkProgress::default());
            progress.step();
            verdict
        });
        judged.collect()
    })
}

fn judge_one(
    run: &Run,
    learned: &LearnedAutomata,
    circuit: &LearnedCircuit,
    progress: &WorkProgress,
) -> Result<SeedVerdict> {
    let configuration = &learned.configuration;
    let examination = Examination {
        recipe: &configuration.recipe,
        automaton: &circuit.automaton,
        trained: trained(learned),
        seed: circuit.seed,
    };
    let evaluation = examination.evaluate()?;
    let simplified = SimplifiedNote::of(run, circuit, progress)?;
    let before = Statistics::of(&circuit.automaton.cell);
    let after = Statistics::of(&simplified.automaton.cell);
    Ok(SeedVerdict {
        seed: circuit.seed,
        update: circuit.update,
        evaluation,
        repair: circuit.repair.clone(),
        active_gates: circuit.active_gates(),
        simplified_gates: after.active,
        simplified_channels: simplified.automaton.channels,
        depths: (before.depth, after.depth),
        proved: simplified.proof.proved,
        simplified: simplified.automaton,
        stages: simplified.proof.passes,
        out_of_time: simplified.proof.out_of_time,
        unproved: simplified.proof.unproved,
    })
}

/// The grid and steps of training.
pub(crate) fn trained(learned: &LearnedAutomata) -> Trial {
    let settings = &learned.configuration.settings;
    Trial { height: settings.height, width: settings.width, steps: settings.steps }
}

/// Judges, and writes circuits, plots and the report to the run's folder.
pub fn conclude(run: &Run, watcher: &dyn Watcher) -> Result<Vec<SeedVerdict>> {
    let verdicts = judge(run, watcher)?;
    let learned = LearnedAutomata::of(run)?;
    for (circuit, verdict) in learned.circuits.iter().zip(&verdicts) {
        proof::write(run, circuit, verdict)?;
        let text = Statistics::of(&circuit.automaton.cell).csv();
        run.write_file(format!("circuits/seed-{}.gates.csv", circuit.seed), text.as_bytes())?;
    }
    pictures::write(run, &learned, &verdicts)?;
    judged(learned.updates, &verdicts).write(run)?;
    run.write_report(&page::text(run, &learned, &verdicts)?)?;
    Ok(verdicts)
}

/// The conclusion, for lists of runs.
fn judged(updates: u64, verdicts: &[SeedVerdict]) -> Conclusion {
    let exact: Vec<&SeedVerdict> = verdicts.iter().filter(|verdict| verdict.evaluation.exact).collect();
    let words = match (verdicts, &exact[..]) {
        ([verdict], [_]) => {
            let proved = if verdict.proved { "proved" } else { "not proved" };
            format!("exact, {}, {proved}", counted(verdict.simplified_gates, "gate"))
        }
        _ => inexact(&verdicts.iter().map(|v| (v.evaluation.wrong, v.evaluation.of)).collect::<Vec<_>>()),
    };
    Conclusion::new(updates, EXACT, exact.len() as f64, words)
}

/// The label of the number in a run's `result.json`.
const EXACT: &str = "exact circuits";

/// How many circuits are exact or, for a single one, how many of its bits are not; from wrong bits and total
/// bits of each.
fn inexact(circuits: &[(usize, usize)]) -> String {
    match circuits {
        [(0, _)] => "exact".into(),
        [(wrong, of)] => format!("not exact: {} of {} wrong", count(*wrong), counted(*of, "bit")),
        all => format!("{} of {} exact", all.iter().filter(|(wrong, _)| *wrong == 0).count(), all.len()),
    }
}

/// The simplified circuit of a seed: from its file if it belongs to this circuit, otherwise recomputed.
pub fn simplified(run: &Run, circuit: &LearnedCircuit, watcher: &dyn Watcher) -> Result<Automaton> {
    watched(watcher, "", |progress| Ok(SimplifiedNote::of(run, circuit, progress)?.automaton))
}

/// The simplified circuit of a seed from the run's folder; `None` if there is none, or if it belongs to another
/// circuit.
pub fn stored(run: &Run, circuit: &LearnedCircuit) -> Option<Automaton> {
    proof::stored(run, circuit).map(|simplified| simplified.automaton)
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}
