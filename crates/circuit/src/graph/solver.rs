//! Questions about nodes of a graph, answered by a SAT solver within a budget.
//!
//! A gate becomes three or four clauses, made from its truth table, when a question first needs it. The solver
//! stays valid as long as the functions of nodes do not change: gates may be rewritten, but only to the same
//! function. Start at [`Prover::equal`].

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Instant;

use batsat::callbacks::Callbacks;
use batsat::{ClauseKind, Lit, Solver, SolverInterface, SolverOpts, lbool};

use super::{LogicGraph, QuickMap, Signal};
use crate::gate::Gate;

/// An answer of the solver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SolverAnswer {
    /// It holds for all sources.
    Proved,
    /// It fails for these sources.
    Refuted(Vec<bool>),
    /// The budget ran out.
    Unknown,
}

/// Counts conflicts and checks the time.
struct SolverLimits {
    conflicts_left: u64,
    deadline: Option<Instant>,
    /// How often the solver asked whether to stop; reading the clock each time would be slow.
    asked: Cell<u32>,
    late: Cell<bool>,
}

impl SolverLimits {
    fn new(conflicts_left: u64, deadline: Option<Instant>) -> SolverLimits {
        SolverLimits { conflicts_left, deadline, asked: Cell::new(0), late: Cell::new(false) }
    }
}

impl Callbacks for SolverLimits {
    fn on_new_clause(&mut self, _: &[Lit], _: ClauseKind) {
        self.conflicts_left = self.conflicts_left.saturating_sub(1);
    }

    fn stop(&self) -> bool {
        self.asked.set(self.asked.get().wrapping_add(1));
        if self.asked.get() % 256 == 1 && self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            self.late.set(true);
        }
        self.conflicts_left == 0 || self.late.get()
    }
}

/// A solver with clauses for some nodes of one graph.
pub(crate) struct Prover {
    solver: Solver<SolverLimits>,
    literals: QuickMap<u32, Lit>,
    clause: Vec<Lit>,
    deadline: Option<Instant>,
    /// Gates that are encoded; if there is such a list, all others count as free variables.
    scope: Option<QuickMap<u32, ()>>,
}

impl Prover {
    pub(crate) fn new(deadline: Option<Instant>) -> Prover {
        let solver = Solver::new(SolverOpts::default(), SolverLimits::new(0, deadline));
        Prover { solver, literals: QuickMap::default(), clause: vec![], deadline, scope: None }
    }

    /// Encodes only the `gates` gates that are closest before some nodes. What holds for any value of the
    /// others holds in general; but nothing can be [refuted](SolverAnswer::Refuted) then, only unknown.
    pub(crate) fn within(mut self, graph: &LogicGraph, nodes: &[u32], gates: usize) -> Prover {
        let mut scope: QuickMap<u32, ()> = QuickMap::default();
        let mut near = VecDeque::from(nodes.to_vec());
        while let Some(node) = near.pop_front() {
            if graph.is_gate(node) && scope.insert(node, ()).is_none() {
                if scope.len() > gates {
                    self.scope = Some(scope);
                    return self;
                }
                near.extend([graph.vertex(node).a, graph.vertex(node).b]);
            }
        }
        self
    }

    fn is_free(&self, graph: &LogicGraph, node: u32) -> bool {
        !graph.is_gate(node) || self.scope.as_ref().is_some_and(|scope| !scope.contains_key(&node))
    }

    /// Whether two signals are equal for all sources.
    pub(crate) fn equal(&mut self, graph: &LogicGraph, x: Signal, y: Signal, conflicts: u64) -> SolverAnswer {
        let (x, y) = (self.literal(graph, x), self.literal(graph, y));
        for (x, y) in [(x, !y), (!x, y)] {
            match self.solve(graph, &[x, y], conflicts) {
                SolverAnswer::Proved => {
                    // What is proved now makes later questions easier.
                    self.add(&[!x, !y]);
                }
                other => return other,
            }
        }
        SolverAnswer::Proved
    }

    /// Whether a signal is false for all sources.
    pub(crate) fn never(&mut self, graph: &LogicGraph, signal: Signal, conflicts: u64) -> SolverAnswer {
        let literal = self.literal(graph, signal);
        self.solve(graph, &[literal], conflicts)
    }

    fn solve(&mut self, graph: &LogicGraph, assumptions: &[Lit], conflicts: u64) -> SolverAnswer {
        *self.solver.cb_mut() = SolverLimits::new(conflicts.max(1), self.deadline);
        match self.solver.solve_limited(assumptions) {
            answer if answer == lbool::FALSE => SolverAnswer::Proved,
            answer if answer == lbool::TRUE && self.scope.is_none() => {
                SolverAnswer::Refuted(self.model(graph))
            }
            _ => SolverAnswer::Unknown,
        }
    }

    fn model(&self, graph: &LogicGraph) -> Vec<bool> {
        let value = |node: u32| match self.literals.get(&node) {
            Some(&literal) => self.solver.value_lit(literal) == lbool::TRUE,
            None => false,
        };
        (1..=graph.sources() as u32).map(value).collect()
    }

    /// The literal of a signal; adds clauses for everything that it depends on.
    fn literal(&mut self, graph: &LogicGraph, signal: Signal) -> Lit {
        let mut pending = vec![signal.node()];
        while let Some(&node) = pending.last() {
            let before = pending.len();
            if !self.literals.contains_key(&node) && !self.is_free(graph, node) {
                let vertex = graph.vertex(node);
                let operands = [vertex.a, vertex.b].into_iter();
                pending.extend(operands.filter(|operand| !self.literals.contains_key(operand)));
            }
            if pending.len() == before {
                pending.pop();
                if !self.literals.contains_key(&node) {
                    self.define(graph, node);
                }
            }
        }
        let literal = self.literals[&signal.node()];
        if signal.is_negated() { !literal } else { literal }
    }

    fn define(&mut self, graph: &LogicGraph, node: u32) {
        let literal = Lit::new(self.solver.new_var_default(), true);
        self.literals.insert(node, literal);
        if node == 0 {
            self.add(&[!literal]);
        } else if !self.is_free(graph, node) {
            let vertex = graph.vertex(node);
            let (a, b) = (self.literals[&vertex.a], self.literals[&vertex.b]);
            self.define_gate(literal, vertex.gate, a, b);
        }
    }

    /// The rows of the truth table as clauses; an operand that decides alone merges two rows.
    fn define_gate(&mut self, literal: Lit, gate: Gate, a: Lit, b: Lit) {
        let when = |operand: Lit, value: bool| if value { operand } else { !operand };
        let output = |value: bool| if value { literal } else { !literal };
        let a_decides = |value: bool| gate.output(value, false) == gate.output(value, true);
        let b_decides = |value: bool| gate.output(false, value) == gate.output(true, value);
        for value in [false, true] {
            if a_decides(value) {
                self.add(&[!when(a, value), output(gate.output(value, false))]);
            }
            if b_decides(value) {
                self.add(&[!when(b, value), output(gate.output(false, value))]);
            }
        }
        for (p, q) in [(false, false), (false, true), (true, false), (true, true)] {
            if !a_decides(p) && !b_decides(q) {
                self.add(&[!when(a, p), !when(b, q), output(gate.output(p, q))]);
            }
        }
    }

    fn add(&mut self, clause: &[Lit]) {
        self.clause.clear();
        self.clause.extend_from_slice(clause);
        let mut clause = std::mem::take(&mut self.clause);
        self.solver.add_clause_reuse(&mut clause);
        self.clause = clause;
    }
}
