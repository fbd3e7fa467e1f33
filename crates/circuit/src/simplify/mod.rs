//! Making a circuit smaller without changing its function.
//!
//! The passes contain no algebraic rules. Reading a netlist into a graph removes constants, copies, negations,
//! equal gates and dead gates. Nodes of equal function are merged after proof. Small cones are replaced by the
//! smallest circuits of their function (`rewrite`). Gates are expressed by existing ones (`resubstitute`). The
//! passes run in turn until none gains (`script`). Circuits of up to nine inputs are simplified once more from
//! their truth tables (`expand`). For automata, channels that cannot influence a visible one, now or later, are
//! removed first (`automaton`).
//!
//! The result is compared with the input, output by output ([`equivalence`](crate::equivalence)): exhaustively
//! if there are few inputs, otherwise by SAT, within a budget. An output that cannot be proved equal keeps its
//! old gates, and the report says so. Start at [`simplify`].

mod automaton;
mod clock;
mod cone;
mod cuts;
mod expand;
mod fallback;
mod library;
mod proposal;
mod report;
mod resubstitute;
mod rewrite;
mod script;
mod search;
mod start;
mod taste;

use std::time::Duration;

use clock::Deadline;
use library::Library;
use script::Script;

use crate::equivalence::{Budget, equivalent};
use crate::error::Result;
use crate::graph::LogicGraph;
use crate::netlist::Netlist;
use crate::progress::WorkProgress;

pub use automaton::{SimplifiedAutomaton, simplify_automaton};
pub use report::{Report, SimplifyStage};
pub use start::{Merged, Start};

/// The budget of a simplification.
#[derive(Clone, Debug)]
pub struct SimplifyOptions {
    /// Time limit of the passes, as a safeguard: if it is not reached, the same netlist always gives the same
    /// circuit.
    pub time: Option<Duration>,
    /// Conflicts of the SAT solver per question inside a pass.
    pub conflicts: u64,
    /// The budget for the proof of the whole.
    pub proof: Budget,
    /// What is known about the initial states of an automaton; unused for netlists.
    pub start: Start,
    /// Where it is written how far the simplification and its proof are.
    pub progress: WorkProgress,
}

impl Default for SimplifyOptions {
    fn default() -> SimplifyOptions {
        let minute = Some(Duration::from_secs(60));
        SimplifyOptions {
            time: minute,
            conflicts: 1_000,
            proof: Budget { time: minute, ..Budget::default() },
            start: Start::Any,
            progress: WorkProgress::default(),
        }
    }
}

impl SimplifyOptions {
    /// The budget for the proof, which tells of itself where the simplification does.
    fn proof(&self) -> Budget {
        Budget { progress: self.progress.clone(), ..self.proof.clone() }
    }
}

/// A smaller circuit, and how it was made.
#[derive(Clone, Debug)]
pub struct Simplified {
    /// The circuit; inputs, outputs and registers are those of the original.
    pub netlist: Netlist,
    /// What was done and what is proved.
    pub report: Report,
}

/// Makes a netlist smaller. Every output and register of the result is proved equal to the original's, or keeps
/// the original's gates, except for constants and copies.
///
/// ```
/// use farad_circuit::simplify::{SimplifyOptions, simplify};
/// use farad_circuit::{Gate, Netlist};
/// let mut netlist = Netlist::new("absorbed");
/// let (a, b) = (netlist.input("a"), netlist.input("b"));
/// let either = netlist.gate(Gate::OR, a, b);
/// let both = netlist.gate(Gate::AND, a, either);
/// netlist.output("just_a", both);
/// let simplified = simplify(&netlist, &SimplifyOptions::default())?;
/// assert!(simplified.netlist.gates.is_empty());
/// assert!(simplified.report.equivalence.is_proved());
/// # Ok::<(), farad_circuit::Error>(())
/// ```
pub fn simplify(netlist: &Netlist, options: &SimplifyOptions) -> Result<Simplified> {
    simplify_by(netlist, options, Library::get())
}

/// [`simplify`] with a given library, which may contain errors.
fn simplify_by(netlist: &Netlist, options: &SimplifyOptions, library: &Library) -> Result<Simplified> {
    netlist.check()?;
    let clock = Deadline::new(options.time);
    let graph = LogicGraph::of(netlist);
    let read = graph.write(netlist);
    let stages = vec![measure("original", netlist, &clock), measure("read", &read, &clock)];
    let mut script = Script {
        library,
        clock: &clock,
        progress: options.progress.clone(),
        conflicts: options.conflicts,
        stages,
        patterns: None,
        futile: Default::default(),
    };
    let mut result = script.run(graph).write(netlist);
    let (out_of_time, mut stages) = (clock.is_over(), script.stages);
    let mut equivalence = equivalent(netlist, &result, &options.proof())?;
    let unproved = equivalence.unproved();
    if !unproved.is_empty() {
        result = fallback::with_original(&read, &result, &unproved);
        if measure("", &result, &clock).gates > stages[1].gates {
            result = read;
        }
        equivalence = equivalent(netlist, &result, &options.proof())?;
    }
    stages.push(measure("prove", &result, &clock));
    let unproved = unproved.into_iter().map(|root| fallback::name(&result, root)).collect();
    let report = Report { stages, equivalence, unproved, out_of_time, time: clock.elapsed() };
    Ok(Simplified { netlist: result, report })
}

fn measure(pass: &'static str, netlist: &Netlist, clock: &Deadline) -> SimplifyStage {
    let gates = netlist.gates.iter().filter(|node| node.gate.is_active()).count();
    let levels = netlist.levels();
    let depth = netlist.roots().map(|wire| levels[wire.index()] as usize).max().unwrap_or(0);
    SimplifyStage { pass, gates, depth, time: clock.elapsed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equivalence::Verdict;

    #[test]
    fn wrong_rewrites_are_refused() {
        let library = Library::with_errors();
        let mut refused = 0;
        for seed in 0..20 {
            let netlist = Netlist::random_with_registers(seed, 12, 2, 80, 6);
            let Simplified { netlist: simplified, report } =
                simplify_by(&netlist, &SimplifyOptions::default(), &library).unwrap();
            refused += report.unproved.len();
            assert!(report.equivalence.is_proved());
            assert!(
                equivalent(&netlist, &simplified, &Budget::default()).unwrap().is_proved(),
                "seed {seed}"
            );
        }
        assert!(refused > 20, "only {refused} outputs were refused");
    }

    #[test]
    fn an_output_that_is_refused_has_the_gates_it_had() {
        let netlist = Netlist::random(3, 8, 60, 5);
        let mut candidate = simplify(&netlist, &SimplifyOptions::default()).unwrap().netlist;
        let wrong =
            candidate.gate(crate::gate::Gate::NOT_A, candidate.outputs[2].wire, crate::netlist::Wire::NONE);
        candidate.outputs[2].wire = wrong;
        let compared = equivalent(&netlist, &candidate, &Budget::default()).unwrap();
        assert_eq!(compared.unproved(), [2]);
        assert!(matches!(compared.verdicts[2], Verdict::Different(_)));
        let mended = fallback::with_original(&netlist, &candidate, &[2]);
        let verdicts = equivalent(&netlist, &mended, &Budget::default()).unwrap().verdicts;
        assert_eq!(verdicts[2], Verdict::Proved(crate::equivalence::Proof::Structural));
        assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Proved(_))));
    }
}
