//! The shortest evaluation of a run: how many bits of each kept circuit are wrong.
//!
//! Nothing is simplified, proved or written, so that many runs can be compared quickly. Start at
//! [`check`](fn@check).

use farad::run::{Conclusion, Run, Value, json};
use rayon::prelude::*;

use super::{EXACT, inexact, trained};
use crate::error::Result;
use crate::evaluate::Examination;
use crate::train::LearnedAutomata;

/// The result for one seed's circuit.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The seed.
    pub seed: u64,
    /// The update after which the circuit was kept.
    pub update: u64,
    /// Wrong visible bits on fresh starts (life: wrong neighborhoods); 0 means that it is exact.
    pub wrong: usize,
    /// Bits that were checked.
    pub of: usize,
    /// Gates that are neither constant nor copies.
    pub active_gates: usize,
    /// Soft gates evaluated in the forward passes of all updates.
    pub gate_evaluations: u64,
}

impl Check {
    /// As one JSON object.
    pub fn json(&self) -> Value {
        json!({
            "seed": self.seed,
            "exact": self.wrong == 0,
            "wrong": self.wrong,
            "of": self.of,
            "update": self.update,
            "active_gates": self.active_gates,
            "gate_evaluations": self.gate_evaluations,
        })
    }
}

/// Writes the results to a run, for lists of runs.
pub fn note(run: &Run, checks: &[Check]) -> Result<()> {
    let exact = checks.iter().filter(|check| check.wrong == 0).count();
    let words = inexact(&checks.iter().map(|check| (check.wrong, check.of)).collect::<Vec<_>>());
    let updates = run.checkpoint()?.map_or(0, |checkpoint| checkpoint.step());
    Ok(Conclusion::new(updates, EXACT, exact as f64, words).write(run)?)
}

/// Counts the wrong bits of the kept circuits of a run, all seeds.
pub fn check(run: &Run) -> Result<Vec<Check>> {
    let learned = LearnedAutomata::of(run)?;
    let configuration = &learned.configuration;
    let gate_evaluations = configuration.gate_evaluations(learned.updates);
    let glance = |circuit: &crate::train::LearnedCircuit| {
        let examination = Examination {
            recipe: &configuration.recipe,
            automaton: &circuit.automaton,
            trained: trained(&learned),
            seed: circuit.seed,
        };
        let (wrong, of) = examination.count_wrong()?;
        let (seed, update, active_gates) = (circuit.seed, circuit.update, circuit.active_gates());
        Ok(Check { seed, update, wrong, of, active_gates, gate_evaluations })
    };
    learned.circuits.par_iter().map(glance).collect()
}
