//! Whether two circuits compute the same, output by output, with a proof or an input on which they differ.
//!
//! Simulation looks for a difference first. Outputs that agree are proved equal: with all patterns if few
//! inputs matter, otherwise by SAT, after equal parts inside were merged. A counterexample is always run
//! through both netlists before it is returned. Start at [`equivalent`].

mod automata;
mod patterns;

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::graph::{self, LogicGraph, Prover, Signal, Simulation, SweepEffort};
use crate::netlist::Netlist;
use crate::progress::WorkProgress;

pub use automata::equivalent_automata;

/// Random patterns tried before any proof, in words of 64.
const RANDOM_WORDS: usize = 64;
/// Most inputs for which all patterns are tried after SAT has given up.
const LAST_RESORT_INPUTS: usize = 22;

/// Limits on the cost of a proof.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Most inputs of a cone for which all patterns are tried.
    pub exhaustive_inputs: usize,
    /// Most conflicts of the SAT solver per output.
    pub conflicts: u64,
    /// Time limit of the whole comparison. Without it the answer is the same on every machine.
    pub time: Option<Duration>,
    /// Where it is written how far the proof is.
    pub progress: WorkProgress,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { exhaustive_inputs: 16, conflicts: 200_000, time: None, progress: WorkProgress::default() }
    }
}

/// How an equality was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// Both sides are the same gates.
    Structural,
    /// All patterns of the inputs that matter were tried.
    Exhaustive,
    /// A SAT solver showed that no input distinguishes them.
    Sat,
}

/// The answer for one output or register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They are equal for every input.
    Proved(Proof),
    /// They differ for these values of the inputs, then of the registers.
    Different(Vec<bool>),
    /// The budget ran out.
    Unknown,
}

/// The answers for all [roots](Netlist::roots) of two netlists: outputs, then next values of registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivalence {
    /// One verdict per root, in order.
    pub verdicts: Vec<Verdict>,
}

impl Equivalence {
    /// Whether everything is proved.
    pub fn is_proved(&self) -> bool {
        self.verdicts.iter().all(|verdict| matches!(verdict, Verdict::Proved(_)))
    }

    /// The first input on which the two differ, with the root where they do.
    pub fn difference(&self) -> Option<(usize, &[bool])> {
        let different =
            |(root, verdict): (usize, &'_ Verdict)| matches!(verdict, Verdict::Different(_)).then_some(root);
        let root = self.verdicts.iter().enumerate().find_map(different)?;
        match &self.verdicts[root] {
            Verdict::Different(inputs) => Some((root, inputs)),
            _ => None,
        }
    }

    /// How many roots were proved in this way.
    pub fn proved_by(&self, proof: Proof) -> usize {
        self.verdicts.iter().filter(|verdict| **verdict == Verdict::Proved(proof)).count()
    }

    /// Roots that are not proved.
    pub fn unproved(&self) -> Vec<usize> {
        let is_unproved = |root: &usize| !matches!(self.verdicts[*root], Verdict::Proved(_));
        (0..self.verdicts.len()).filter(is_unproved).collect()
    }
}

/// Compares two netlists with the same inputs, registers and outputs, output by output and register by
/// register.
///
/// ```
/// use farad_circuit::equivalence::{Budget, equivalent};
/// use farad_circuit::{Gate, Netlist};
/// let build = |gate: Gate| {
///     let mut netlist = Netlist::new("pair");
///     let (a, b) = (netlist.input("a"), netlist.input("b"));
///     let wire = netlist.gate(gate, a, b);
///     netlist.output("out", wire);
///     netlist
/// };
/// assert!(equivalent(&build(Gate::OR), &build(Gate::OR), &Budget::default())?.is_proved());
/// let verdict = equivalent(&build(Gate::OR), &build(Gate::XOR), &Budget::default())?;
/// assert_eq!(verdict.difference(), Some((0, &[true, true][..])));
/// # Ok::<(), farad_circuit::Error>(())
/// ```
pub fn equivalent(lhs: &Netlist, rhs: &Netlist, budget: &Budget) -> Result<Equivalence> {
    lhs.check()?;
    rhs.check()?;
    same_shell(lhs, rhs)?;
    let mut comparison = Comparison {
        lhs,
        rhs,
        verdicts: vec![None; lhs.roots().count()],
        deadline: budget.time.map(|time| Instant::now() + time),
        progress: &budget.progress,
    };
    comparison.simulate();
    comparison.hash();
    comparison.run_all_patterns(budget.exhaustive_inputs);
    comparison.solve(budget.conflicts);
    comparison.run_all_patterns(LAST_RESORT_INPUTS);
    let verdicts = comparison.verdicts.into_iter().map(|verdict| verdict.unwrap_or(Verdict::Unknown));
    Ok(Equivalence { verdicts: verdicts.collect() })
}

/// Checks that inputs, outputs and registers correspond, so that functions can be compared.
fn same_shell(lhs: &Netlist, rhs: &Netlist) -> Result<()> {
    let sizes = [
        ("inputs", lhs.inputs.len(), rhs.inputs.len()),
        ("outputs", lhs.outputs.len(), rhs.outputs.len()),
        ("registers", lhs.registers.len(), rhs.registers.len()),
    ];
    for (what, left, right) in sizes {
        if left != right {
            return Err(Error::Incomparable { what, left: left.to_string(), right: right.to_string() });
        }
    }
    for (left, right) in lhs.registers.iter().zip(&rhs.registers) {
        if (&left.name, left.initial) != (&right.name, right.initial) {
            let show = |register: &crate::netlist::Register| {
                format!("{} = {}", register.name, register.initial as u8)
            };
            return Err(Error::Incomparable { what: "registers", left: show(left), right: show(right) });
        }
    }
    Ok(())
}

/// The two sides, and the verdicts so far.
struct Comparison<'a> {
    lhs: &'a Netlist,
    rhs: &'a Netlist,
    verdicts: Vec<Option<Verdict>>,
    deadline: Option<Instant>,
    progress: &'a WorkProgress,
}

impl Comparison<'_> {
    fn open(&self) -> Vec<usize> {
        (0..self.verdicts.len()).filter(|&root| self.verdicts[root].is_none()).collect()
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    fn simulate(&mut self) {
        for (root, inputs) in patterns::random_differences(self.lhs, self.rhs, RANDOM_WORDS) {
            self.verdicts[root] = Some(Verdict::Different(inputs));
        }
    }

    /// Both sides over the same sources in one graph, and for each open root its two signals.
    fn merge(&self, open: &[usize]) -> (LogicGraph, Vec<(Signal, Signal)>) {
        let mut graph = LogicGraph::new(self.lhs.sources());
        let (left, right) = (graph.absorb(self.lhs), graph.absorb(self.rhs));
        let left: Vec<Signal> = self.lhs.roots().map(|wire| left[wire.index()]).collect();
        let right: Vec<Signal> = self.rhs.roots().map(|wire| right[wire.index()]).collect();
        let pairs = open.iter().map(|&root| (left[root], right[root])).collect();
        (graph, pairs)
    }

    fn hash(&mut self) {
        let open = self.open();
        let (_, pairs) = self.merge(&open);
        for (&root, (left, right)) in open.iter().zip(pairs) {
            if left == right {
                self.verdicts[root] = Some(Verdict::Proved(Proof::Structural));
            }
        }
    }

    fn run_all_patterns(&mut self, inputs: usize) {
        let open = self.open();
        self.progress.begin("proving", open.len(), None);
        for root in open {
            if self.is_late() {
                return;
            }
            self.progress.step();
            match patterns::all_patterns(self.lhs, self.rhs, root, inputs) {
                patterns::All::Equal => self.verdicts[root] = Some(Verdict::Proved(Proof::Exhaustive)),
                patterns::All::Different(inputs) => self.verdicts[root] = Some(Verdict::Different(inputs)),
                patterns::All::TooMany => {}
            }
        }
    }

    /// Merges equal parts of both sides, then asks about the roots that are still different nodes.
    fn solve(&mut self, conflicts: u64) {
        let open = self.open();
        if open.is_empty() {
            return;
        }
        let (mut graph, pairs) = self.merge(&open);
        for (left, right) in pairs {
            graph.add_root(left);
            graph.add_root(right);
        }
        let refutations = (20_000_000 / graph.limit()).clamp(50, 5_000);
        let effort = SweepEffort { conflicts: 1_000.min(conflicts), refutations, deadline: self.deadline };
        let (graph, _) = graph.swept(Simulation::sources(&graph), effort, self.progress);
        let mut prover = Prover::new(self.deadline);
        self.progress.begin("proving", open.len(), None);
        for (n, &root) in open.iter().enumerate() {
            self.progress.step();
            let (left, right) = (graph.roots()[2 * n], graph.roots()[2 * n + 1]);
            let verdict = match left == right {
                true => graph::SolverAnswer::Proved,
                false => prover.equal(&graph, left, right, conflicts),
            };
            self.verdicts[root] = match verdict {
                graph::SolverAnswer::Proved => Some(Verdict::Proved(Proof::Sat)),
                graph::SolverAnswer::Refuted(inputs)
                    if patterns::differs(self.lhs, self.rhs, root, &inputs) =>
                {
                    Some(Verdict::Different(inputs))
                }
                _ => None,
            };
        }
    }
}
