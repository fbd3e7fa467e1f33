//! Simplified circuits and their proofs, stored beside the learned ones in `circuits/` (`seed-N.proof.json`).
//!
//! Invariant: a proof is used only for the circuits that it was made for, byte for byte. In any other case (an
//! older circuit, a changed file) the circuit is simplified and proved again. Start at [`SimplifiedNote::of`].

use farad::run::Run;
use farad_circuit::simplify::{SimplifyOptions, SimplifyStage, simplify_automaton};
use farad_circuit::{Automaton, Circuit, WorkProgress};
use serde::{Deserialize, Serialize};

use super::SeedVerdict;
use crate::error::Result;
use crate::train::LearnedCircuit;

/// A simplification pass, and the size of the circuit after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimplifyPass {
    /// Its name.
    pub pass: String,
    /// Active gates after it.
    pub gates: usize,
    /// Gates on the longest path after it.
    pub depth: usize,
    /// Seconds from the start to its end.
    pub seconds: f64,
}

impl From<&SimplifyStage> for SimplifyPass {
    fn from(stage: &SimplifyStage) -> SimplifyPass {
        let seconds = stage.time.as_secs_f64();
        SimplifyPass { pass: stage.pass.into(), gates: stage.gates, depth: stage.depth, seconds }
    }
}

/// The proof of a simplified circuit, and how it was made: `seed-N.proof.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProofNote {
    /// A hash of the two circuits' files.
    circuits: u64,
    pub proved: bool,
    pub out_of_time: bool,
    pub unproved: Vec<String>,
    pub passes: Vec<SimplifyPass>,
}

/// A simplified circuit.
pub struct SimplifiedNote {
    pub automaton: Automaton,
    pub proof: ProofNote,
}

impl SimplifiedNote {
    /// For a learned circuit: from the run's folder if it is there, otherwise computed now.
    pub fn of(run: &Run, circuit: &LearnedCircuit, progress: &WorkProgress) -> Result<SimplifiedNote> {
        match stored(run, circuit) {
            Some(stored) => Ok(stored),
            None => made(circuit, progress),
        }
    }
}

/// Writes the kept circuit, the simplified one and, last, the proof of both.
pub fn write(run: &Run, circuit: &LearnedCircuit, verdict: &SeedVerdict) -> Result<()> {
    let texts = [text(&circuit.automaton), text(&verdict.simplified)];
    let proof = ProofNote {
        circuits: hash(&texts),
        proved: verdict.proved,
        out_of_time: verdict.out_of_time,
        unproved: verdict.unproved.clone(),
        passes: verdict.stages.clone(),
    };
    let proof = serde_json::to_string(&proof).expect("numbers and texts") + "\n";
    if circuit.repair.is_some() {
        // The learned circuit stays beside the repaired one.
        run.write_file(format!("circuits/seed-{}.json", circuit.seed), text(&circuit.learned).as_bytes())?;
    }
    for (name, text) in names(circuit).iter().zip(texts.iter().chain([&proof])) {
        run.write_file(name, text.as_bytes())?;
    }
    Ok(())
}

fn made(circuit: &LearnedCircuit, progress: &WorkProgress) -> Result<SimplifiedNote> {
    let options = SimplifyOptions { progress: progress.clone(), ..SimplifyOptions::default() };
    let simplified = simplify_automaton(&circuit.automaton, &options)?;
    let proof = ProofNote {
        circuits: hash(&[text(&circuit.automaton), text(&simplified.automaton)]),
        proved: simplified.equivalence.is_proved(),
        out_of_time: simplified.report.out_of_time,
        unproved: simplified.report.unproved,
        passes: simplified.report.stages.iter().map(SimplifyPass::from).collect(),
    };
    Ok(SimplifiedNote { automaton: simplified.automaton, proof })
}

/// The contents of the run's folder, if all of it belongs to this circuit.
pub fn stored(run: &Run, circuit: &LearnedCircuit) -> Option<SimplifiedNote> {
    let [raw, simplified, proof] = names(circuit);
    let read = |name: &str| std::fs::read_to_string(run.path().join(name)).ok();
    let texts = [read(&raw)?, read(&simplified)?];
    let proof: ProofNote = serde_json::from_str(&read(&proof)?).ok()?;
    if texts[0] != text(&circuit.automaton) || proof.circuits != hash(&texts) {
        return None;
    }
    match Circuit::from_json(&texts[1]).ok()? {
        Circuit::Automaton(automaton) => Some(SimplifiedNote { automaton, proof }),
        Circuit::Netlist(_) => None,
    }
}

/// The files of the kept circuit, the simplified one and the proof.
fn names(circuit: &LearnedCircuit) -> [String; 3] {
    let kept = if circuit.repair.is_some() { "repaired.json" } else { "json" };
    [kept, "simplified.json", "proof.json"].map(|end| format!("circuits/seed-{}.{end}", circuit.seed))
}

/// A circuit in the format of its file.
pub fn text(automaton: &Automaton) -> String {
    Circuit::Automaton(automaton.clone()).to_json()
}

/// FNV-1a: the same on every platform and in every version.
pub fn hash(texts: &[String]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
