//! Statistics of a netlist: size, depth, kinds of gates.
//!
//! A gate is *active* if it is neither a constant nor a copy, and *live* if some output or register
//! depends on it. Start at [`Statistics::of`].

use std::fmt::Write;

use crate::gate::Gate;
use crate::netlist::Netlist;

impl Netlist {
    /// For each wire, whether an output or a register's next value depends on it. The gates behind a register's
    /// present value count through its next value, which is a root itself.
    pub fn live_wires(&self) -> Vec<bool> {
        self.needed(self.roots())
    }

    /// For each wire, the number of active gates on the longest path to it from inputs and registers.
    pub fn levels(&self) -> Vec<u32> {
        let mut levels = vec![0; self.sources()];
        levels.reserve(self.gates.len());
        for node in &self.gates {
            let before = node.operands().map(|wire| levels[wire.index()]).max().unwrap_or(0);
            levels.push(before + node.gate.is_active() as u32);
        }
        levels
    }
}

/// The counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Inputs.
    pub inputs: usize,
    /// Registers.
    pub registers: usize,
    /// Outputs.
    pub outputs: usize,
    /// All gates.
    pub gates: usize,
    /// Gates that are neither constants nor copies.
    pub active: usize,
    /// Gates that outputs or registers depend on.
    pub live: usize,
    /// Gates that are both.
    pub active_live: usize,
    /// Active gates on the longest path to an output or a register.
    pub depth: usize,
    /// The number of readers of the most-read wire (gates, outputs, registers).
    pub fan_out: usize,
    /// Gates by their number.
    pub counts: [usize; 16],
    /// Live gates by their number.
    pub live_counts: [usize; 16],
}

impl Statistics {
    /// Counts everything.
    ///
    /// ```
    /// use farad_circuit::{Gate, Netlist, Statistics};
    /// let mut netlist = Netlist::new("nand");
    /// let (a, b) = (netlist.input("a"), netlist.input("b"));
    /// let both = netlist.gate(Gate::AND, a, b);
    /// let neither = netlist.gate(Gate::NOT_A, both, both);
    /// netlist.output("y", neither);
    /// let statistics = Statistics::of(&netlist);
    /// assert_eq!((statistics.active, statistics.depth, statistics.fan_out), (2, 2, 1));
    /// ```
    pub fn of(netlist: &Netlist) -> Statistics {
        let (live, levels) = (netlist.live_wires(), netlist.levels());
        let (mut counts, mut live_counts) = ([0; 16], [0; 16]);
        let mut readers = vec![0usize; netlist.wires()];
        for (n, node) in netlist.gates.iter().enumerate() {
            counts[node.gate.number() as usize] += 1;
            live_counts[node.gate.number() as usize] += live[netlist.sources() + n] as usize;
            node.operands().for_each(|wire| readers[wire.index()] += 1);
        }
        netlist.roots().for_each(|wire| readers[wire.index()] += 1);
        let active_of = |counts: &[usize; 16]| {
            Gate::ALL.iter().filter(|gate| gate.is_active()).map(|gate| counts[gate.number() as usize]).sum()
        };
        Statistics {
            inputs: netlist.inputs.len(),
            registers: netlist.registers.len(),
            outputs: netlist.outputs.len(),
            gates: netlist.gates.len(),
            active: active_of(&counts),
            live: live_counts.iter().sum(),
            active_live: active_of(&live_counts),
            depth: netlist.roots().map(|wire| levels[wire.index()] as usize).max().unwrap_or(0),
            fan_out: readers.into_iter().max().unwrap_or(0),
            counts,
            live_counts,
        }
    }

    /// The distribution of gates as CSV: a header line, then one line per gate.
    pub fn csv(&self) -> String {
        let mut text = String::from("gate,count,live\n");
        for gate in Gate::ALL {
            let n = gate.number() as usize;
            writeln!(text, "{},{},{}", gate.name(), self.counts[n], self.live_counts[n]).expect("a string");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlist::Wire;

    #[test]
    fn counts_active_live_and_depth() {
        let mut netlist = Netlist::new("n");
        let (a, b) = (netlist.input("a"), netlist.input("b"));
        let held = netlist.register("held", true);
        let x = netlist.gate(Gate::XOR, a, b);
        let copy = netlist.gate(Gate::A, x, Wire::NONE);
        let y = netlist.gate(Gate::NOT_B, Wire::NONE, copy);
        netlist.gate(Gate::AND, y, held);
        netlist.gate(Gate::TRUE, Wire::NONE, Wire::NONE);
        netlist.output("y", y);
        netlist.set_next(0, x);
        let found = Statistics::of(&netlist);
        assert_eq!((found.inputs, found.registers, found.outputs, found.gates), (2, 1, 1, 5));
        assert_eq!((found.active, found.live, found.active_live), (3, 3, 2));
        assert_eq!((found.depth, found.fan_out), (2, 2));
        assert_eq!(netlist.levels(), [0, 0, 0, 1, 1, 2, 3, 0]);
        assert!(found.csv().starts_with("gate,count,live\nfalse,0,0\nand,1,0\n"));
        assert!(found.csv().contains("\nnot_b,1,1\n") && found.csv().contains("\ntrue,1,0\n"));
        assert_eq!(found.csv().lines().count(), 17);
    }
}
