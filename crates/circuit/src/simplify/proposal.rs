//! A few gates that might take the place of one: what they would cost, and making them.

use crate::gate::Gate;
use crate::graph::{Graph, Signal};

/// Most steps of a proposal.
pub(super) const MOST_STEPS: usize = 8;

/// A small circuit over signals of a graph. Operands count the inputs first, then the steps; the output
/// is the last step, or the first input if there is none.
#[derive(Clone, Copy)]
pub(super) struct Proposal<'a> {
    pub(super) inputs: &'a [Signal],
    pub(super) steps: &'a [(Gate, u8, u8)],
    /// Whether the negation of the output is meant.
    pub(super) negated: bool,
}

/// A value on the way: a signal of the graph, or a step that would be new.
#[derive(Clone, Copy)]
enum Value {
    Old(Signal),
    New(usize),
}

impl Proposal<'_> {
    fn output(&self) -> usize {
        if self.steps.is_empty() { 0 } else { self.inputs.len() + self.steps.len() - 1 }
    }

    /// Gates that this would add while `node` is [released](Graph::release); `None` if it leads to the
    /// node itself.
    pub(super) fn added(&self, graph: &mut Graph, node: u32) -> Option<usize> {
        let mut values = [Value::New(0); 2 * MOST_STEPS];
        let inputs = self.inputs.len();
        for (value, &input) in values.iter_mut().zip(self.inputs) {
            *value = Value::Old(input);
        }
        for (step, &(gate, a, b)) in self.steps.iter().enumerate() {
            values[inputs + step] = match (values[a as usize], values[b as usize]) {
                (Value::Old(a), Value::Old(b)) => graph.find(gate, a, b).map_or(Value::New(step), Value::Old),
                _ => Value::New(step),
            };
            if matches!(values[inputs + step], Value::Old(signal) if signal.node() == node) {
                return None;
            }
        }
        Some(self.count(graph, &values))
    }

    fn count(&self, graph: &mut Graph, values: &[Value]) -> usize {
        let (mut added, mut referred, mut counted) = (0, vec![], [false; MOST_STEPS]);
        let mut needed = vec![values[self.output()]];
        while let Some(value) = needed.pop() {
            match value {
                Value::Old(signal) => {
                    added += graph.refer(signal.node());
                    referred.push(signal.node());
                }
                Value::New(step) if !counted[step] => {
                    counted[step] = true;
                    added += 1;
                    let (_, a, b) = self.steps[step];
                    needed.extend([values[a as usize], values[b as usize]]);
                }
                Value::New(_) => {}
            }
        }
        referred.into_iter().rev().for_each(|node| graph.unrefer(node));
        added
    }

    /// Makes the gates.
    pub(super) fn build(&self, graph: &mut Graph) -> Signal {
        let mut values = self.inputs.to_vec();
        for &(gate, a, b) in self.steps {
            let signal = graph.gate(gate, values[a as usize], values[b as usize]);
            values.push(signal);
        }
        values[self.output()].negated_if(self.negated)
    }
}
