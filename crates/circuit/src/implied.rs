//! Inputs that never take certain values together: of two thresholds of a number, the higher one is never
//! exceeded alone.
//!
//! A gate of two such inputs reduces to a simpler one, or to none. Start at [`Netlist::with_implied_inputs`].

use crate::gate::Gate;
use crate::netlist::{GateNode, Netlist, Wire};

/// Simpler gates: constants, copies and negations.
const SIMPLER: [Gate; 6] = [Gate::FALSE, Gate::TRUE, Gate::A, Gate::B, Gate::NOT_A, Gate::NOT_B];

impl Netlist {
    /// The same circuit for inputs of which some imply others: whenever input `n` is set, so is every input `m`
    /// with `implies(n, m)`. For inputs that violate this, the result may differ.
    ///
    /// ```
    /// use farad_circuit::{Gate, Netlist, Statistics};
    /// let mut netlist = Netlist::new("thermometer");
    /// let (warm, hot) = (netlist.input("warm"), netlist.input("hot"));
    /// let both = netlist.gate(Gate::AND, warm, hot);
    /// netlist.output("both", both);
    /// let simpler = netlist.with_implied_inputs(|n, m| (n, m) == (1, 0));
    /// assert_eq!(Statistics::of(&simpler).active, 0, "hot is hot");
    /// ```
    pub fn with_implied_inputs(&self, implies: impl Fn(usize, usize) -> bool) -> Netlist {
        let mut netlist = self.clone();
        for n in 0..netlist.gates.len() {
            let GateNode { gate, a, b } = netlist.gates[n];
            let [a, b] = [a, b].map(|wire| source(&netlist, wire));
            let inputs = [a, b].iter().all(|wire| wire.index() < netlist.inputs.len());
            if gate.is_active() && gate.reads_a() && gate.reads_b() && inputs {
                let (a_implies, b_implies) = (implies(a.index(), b.index()), implies(b.index(), a.index()));
                let happens = |a: bool, b: bool| !(if a { a_implies && !b } else { b_implies && b });
                if let Some(gate) = simpler(gate, happens) {
                    netlist.gates[n] = GateNode { gate, a, b };
                }
            }
        }
        netlist
    }
}

/// The wire that a wire is a copy of.
fn source(netlist: &Netlist, mut wire: Wire) -> Wire {
    while let Some(node) = wire.index().checked_sub(netlist.sources()).and_then(|n| netlist.gates.get(n)) {
        wire = match node.gate {
            Gate::A => node.a,
            Gate::B => node.b,
            _ => break,
        };
    }
    wire
}

/// A simpler gate that is equal for all values that can occur.
fn simpler(gate: Gate, happens: impl Fn(bool, bool) -> bool) -> Option<Gate> {
    let all = [(false, false), (false, true), (true, false), (true, true)];
    let same = |other: &Gate| {
        all.into_iter().filter(|&(a, b)| happens(a, b)).all(|(a, b)| gate.output(a, b) == other.output(a, b))
    };
    SIMPLER.into_iter().find(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulator;

    #[test]
    fn nothing_changes_for_inputs_that_happen() {
        let mut fewer = 0;
        for seed in 0..40 {
            // Two numbers with three thresholds each.
            let netlist = Netlist::random(seed, 6, 40, 4);
            let simpler = netlist.with_implied_inputs(|n, m| n / 3 == m / 3 && n > m);
            let [before, after] = [&netlist, &simpler].map(|n| Simulator::new(n).unwrap().truth_table());
            for sample in 0..64usize {
                let legal = [sample & 7, sample >> 3]
                    .iter()
                    .all(|number| [0b000, 0b001, 0b011, 0b111].contains(number));
                for (before, after) in before.iter().zip(&after) {
                    assert!(!legal || before[0] >> sample & 1 == after[0] >> sample & 1, "seed {seed}");
                }
            }
            let active = |netlist: &Netlist| crate::Statistics::of(netlist).active;
            fewer += active(&netlist) - active(&simpler);
        }
        assert!(fewer > 10, "{fewer}");
    }
}
