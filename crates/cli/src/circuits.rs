//! The circuits of runs, for those who export or simulate them. Two kinds of training make circuits.

use std::time::Duration;

use farad::run::Run;
use farad_circuit::equivalence::Budget;
use farad_circuit::simplify::{Options, simplify};
use farad_circuit::{Automaton, Netlist};
use farad_logic::train::Learned;
use farad_logic::{classify, report};

use crate::error::{Error, Result};

/// The kind of runs whose circuits are cells of automata.
pub const AUTOMATON: &str = farad_logic::train::KIND;
/// The kind of runs whose circuits classify.
pub const NETWORK: &str = classify::KIND;

/// For how long a circuit is simplified that no run keeps.
const SIMPLIFIED: Duration = Duration::from_secs(10);

/// The circuit of a seed of a run of automata, simplified or as it was learned.
pub fn automaton(op: &'static str, run: &Run, seed: Option<u64>, raw: bool) -> Result<Automaton> {
    let mut learned = Learned::of(run)?;
    let index = pick(op, &learned, seed)?;
    let circuit = learned.circuits.swap_remove(index);
    let mut automaton = if raw { circuit.automaton } else { report::simplified(run, &circuit)? };
    automaton.cell.meta.extend(learned.configuration.known());
    Ok(automaton)
}

/// The circuit of a run that classifies, simplified or as it was learned. For its page it also says how many votes every
/// class has: the run keeps no simplified circuit with counts, and a page does not need the smallest.
pub fn network(run: &Run, raw: bool, counts: bool) -> Result<Netlist> {
    let learned = classify::Learned::of(run)?;
    let mut netlist = match (counts, raw) {
        (false, true) => learned.netlist()?,
        (false, false) => classify::report::simplified(run, &learned)?,
        (true, true) => learned.netlist_with_counts()?,
        (true, false) => {
            let time = Some(SIMPLIFIED);
            let options = Options { time, proof: Budget { time, ..Budget::default() }, ..Options::default() };
            simplify(&learned.netlist_with_counts()?, &options)?.netlist
        }
    };
    netlist.meta.extend(learned.known()?);
    Ok(netlist)
}

/// Which of a run's circuits: that of a seed, or the one that stands for the run.
fn pick(op: &'static str, learned: &Learned, seed: Option<u64>) -> Result<usize> {
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
