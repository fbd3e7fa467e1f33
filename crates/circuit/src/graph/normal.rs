//! The normal form of one gate, without constants, copies, negations and equal operands.

use super::{Signal, Vertex};
use crate::gate::Gate;

/// The result of normalizing a gate of two signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NormalForm {
    /// A signal that needs no gate.
    Signal(Signal),
    /// A gate in normal form, and whether its negation is meant.
    Gate(Vertex, bool),
}

/// The normal form of a gate, found from its truth table alone: an operand that is constant or equal to the
/// other selects entries of the table, a negated one swaps them.
pub(crate) fn normal_form(gate: Gate, a: Signal, b: Signal) -> NormalForm {
    let gate = if a.is_negated() { gate.with_negated_a() } else { gate };
    let gate = if b.is_negated() { gate.with_negated_b() } else { gate };
    let (a, b) = (a.node(), b.node());
    if a == b {
        return unary(gate.output(false, false), gate.output(true, true), a);
    }
    if a == 0 || !gate.reads_a() {
        return unary(gate.output(false, false), gate.output(false, true), b);
    }
    if b == 0 || !gate.reads_b() {
        return unary(gate.output(false, false), gate.output(true, false), a);
    }
    let (gate, a, b) = if a < b { (gate, a, b) } else { (gate.swapped(), b, a) };
    let negated = gate.output(false, false);
    let gate = if negated { gate.negated() } else { gate };
    NormalForm::Gate(Vertex { gate, a, b }, negated)
}

/// The function of `node` that is `at_false` where the node is false and `at_true` where it is true.
fn unary(at_false: bool, at_true: bool, node: u32) -> NormalForm {
    let varies = at_false != at_true && node != 0;
    NormalForm::Signal(Signal::new(if varies { node } else { 0 }, at_false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(form: NormalForm, nodes: [bool; 3]) -> bool {
        match form {
            NormalForm::Signal(signal) => nodes[signal.node() as usize] ^ signal.is_negated(),
            NormalForm::Gate(vertex, negated) => {
                vertex.gate.output(nodes[vertex.a as usize], nodes[vertex.b as usize]) ^ negated
            }
        }
    }

    #[test]
    fn every_normal_form_is_the_gate_it_came_from() {
        for gate in Gate::ALL {
            for (a, b) in (0..36).map(|n| (Signal(n / 6), Signal(n % 6))) {
                let form = normal_form(gate, a, b);
                for bits in 0..4 {
                    let nodes = [false, bits & 1 == 1, bits & 2 == 2];
                    let bit = |signal: Signal| nodes[signal.node() as usize] ^ signal.is_negated();
                    assert_eq!(value(form, nodes), gate.output(bit(a), bit(b)), "{gate:?} {a:?} {b:?}");
                }
                if let NormalForm::Gate(vertex, _) = form {
                    assert!(vertex.a < vertex.b && !vertex.gate.output(false, false));
                    assert!(vertex.gate.reads_a() && vertex.gate.reads_b() && vertex.a > 0);
                }
            }
        }
    }
}
