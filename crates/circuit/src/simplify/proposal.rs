//! A small circuit that might replace a gate: its cost, and building it.

use crate::gate::Gate;
use crate::graph::{LogicGraph, Signal};

/// Most steps of a proposal.
pub(super) const MOST_STEPS: usize = 8;

/// A small circuit over signals of a graph. Operand numbers count the inputs first, then the steps; the output
/// is the last step, or the first input if there are no steps.
#[derive(Clone, Copy)]
pub(super) struct SmallCircuit<'a> {
    pub(super) inputs: &'a [Signal],
    pub(super) steps: &'a [(Gate, u8, u8)],
    /// Whether the output is negated.
    pub(super) negated: bool,
}

/// An intermediate value: a signal of the graph, or a step that would be new.
#[derive(Clone, Copy)]
enum ProposedValue {
    Old(Signal),
    New(usize),
}

impl SmallCircuit<'_> {
    fn output(&self) -> usize {
        if self.steps.is_empty() { 0 } else { self.inputs.len() + self.steps.len() - 1 }
    }

    /// How many gates this would add while `node` is [released](LogicGraph::release); `None` if it depends on the
    /// node itself.
    pub(super) fn added(&self, graph: &mut LogicGraph, node: u32) -> Option<usize> {
        let mut values = [ProposedValue::New(0); 2 * MOST_STEPS];
        let inputs = self.inputs.len();
        for (value, &input) in values.iter_mut().zip(self.inputs) {
            *value = ProposedValue::Old(input);
        }
        for (step, &(gate, a, b)) in self.steps.iter().enumerate() {
            values[inputs + step] = match (values[a as usize], values[b as usize]) {
                (ProposedValue::Old(a), ProposedValue::Old(b)) => {
                    graph.find(gate, a, b).map_or(ProposedValue::New(step), ProposedValue::Old)
                }
                _ => ProposedValue::New(step),
            };
            if matches!(values[inputs + step], ProposedValue::Old(signal) if signal.node() == node) {
                return None;
            }
        }
        Some(self.count(graph, &values))
    }

    fn count(&self, graph: &mut LogicGraph, values: &[ProposedValue]) -> usize {
        let (mut added, mut referred, mut counted) = (0, vec![], [false; MOST_STEPS]);
        let mut needed = vec![values[self.output()]];
        while let Some(value) = needed.pop() {
            match value {
                ProposedValue::Old(signal) => {
                    added += graph.refer(signal.node());
                    referred.push(signal.node());
                }
                ProposedValue::New(step) if !counted[step] => {
                    counted[step] = true;
                    added += 1;
                    let (_, a, b) = self.steps[step];
                    needed.extend([values[a as usize], values[b as usize]]);
                }
                ProposedValue::New(_) => {}
            }
        }
        referred.into_iter().rev().for_each(|node| graph.unrefer(node));
        added
    }

    /// Builds the gates.
    pub(super) fn build(&self, graph: &mut LogicGraph) -> Signal {
        let mut values = self.inputs.to_vec();
        for &(gate, a, b) in self.steps {
            let signal = graph.gate(gate, values[a as usize], values[b as usize]);
            values.push(signal);
        }
        values[self.output()].negated_if(self.negated)
    }
}
