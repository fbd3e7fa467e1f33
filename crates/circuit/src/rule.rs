//! A small circuit as text, one line per output: `next c0 = (c3↗ | c3↙) & !c3↘`.
//!
//! Gates that are read once are written inline; others are named `t1`, `t2`, … and come first. Start at
//! [`Circuit::rule`].

use crate::automaton::Automaton;
use crate::export::Meaning;
use crate::file::Circuit;
use crate::gate::Gate;
use crate::netlist::{Netlist, Wire};

/// Most active gates of a circuit that is written as text.
const MOST_GATES: usize = 48;
/// Where the neighbors of a cell are, row by row; the cell itself has no arrow.
pub(crate) const ARROWS: [&str; 9] = ["↖", "↑", "↗", "←", "", "→", "↙", "↓", "↘"];

impl Circuit {
    /// The circuit as text, one line per output, if it is small: at most 48 gates. `!` is not, `&` is and, `|`
    /// is or, `^` is xor. A cell's neighbors are written as arrows after the names of its channels.
    ///
    /// ```
    /// use farad_circuit::{Circuit, Gate, Netlist};
    /// let mut netlist = Netlist::new("choice");
    /// let [a, b, c] = ["a", "b", "c"].map(|name| netlist.input(name));
    /// let either = netlist.gate(Gate::OR, a, b);
    /// let y = netlist.gate(Gate::A_AND_NOT_B, either, c);
    /// netlist.output("y", y);
    /// assert_eq!(Circuit::from(netlist).rule().unwrap(), ["y = (a | b) & !c"]);
    /// ```
    pub fn rule(&self) -> Option<Vec<String>> {
        let netlist = self.netlist();
        let live = netlist.live_wires();
        let is_read = |n: usize| live[netlist.sources() + n] && netlist.gates[n].gate.is_active();
        if (0..netlist.gates.len()).filter(|&n| is_read(n)).count() > MOST_GATES {
            return None;
        }
        Some(Teller::new(self).lines())
    }

    /// The name of a source: a neighbor's channel, the meaning of a classifier's bit, or its name.
    pub(crate) fn source_name(&self, source: usize) -> String {
        match self {
            Circuit::Automaton(Automaton { cell, channels, .. }) => {
                format!("{}{}", cell.outputs[source % channels].name, ARROWS[source / channels])
            }
            Circuit::Netlist(netlist) => match (netlist.inputs.get(source), Meaning::of(netlist)) {
                (Some(_), Some(meaning)) => format!("[{}]", meaning.input(source)),
                (Some(name), None) => name.clone(),
                (None, _) => netlist.registers[source - netlist.inputs.len()].name.clone(),
            },
        }
    }
}

/// A subexpression, and its outermost operator; `None` if it is a name.
#[derive(Clone)]
struct Phrase {
    text: String,
    by: Option<char>,
}

impl Phrase {
    fn name(text: impl Into<String>) -> Phrase {
        Phrase { text: text.into(), by: None }
    }

    fn not(self) -> Phrase {
        match (self.by, self.text.strip_prefix('!')) {
            (None, Some(text)) => Phrase::name(text),
            (None, None) => Phrase::name(format!("!{}", self.text)),
            (Some(_), _) => Phrase::name(format!("!({})", self.text)),
        }
    }

    fn not_if(self, negated: bool) -> Phrase {
        if negated { self.not() } else { self }
    }

    /// In parentheses, unless it is a name or has the same operator.
    fn within(self, by: char) -> String {
        if self.by.is_none_or(|own| own == by) { self.text } else { format!("({})", self.text) }
    }
}

struct Teller<'a> {
    circuit: &'a Circuit,
    netlist: &'a Netlist,
    /// The number of readers of each wire.
    readers: Vec<usize>,
    /// The expression of each wire.
    phrases: Vec<Phrase>,
    lines: Vec<String>,
}

impl<'a> Teller<'a> {
    fn new(circuit: &'a Circuit) -> Teller<'a> {
        let netlist = circuit.netlist();
        let live = netlist.live_wires();
        let mut readers = vec![0; netlist.wires()];
        for (_, node) in netlist.gates.iter().enumerate().filter(|(n, _)| live[netlist.sources() + n]) {
            node.operands().for_each(|wire| readers[wire.index()] += 1);
        }
        netlist.roots().for_each(|wire| readers[wire.index()] += 1);
        let phrases =
            (0..netlist.sources()).map(|source| Phrase::name(circuit.source_name(source))).collect();
        Teller { circuit, netlist, readers, phrases, lines: vec![] }
    }

    fn lines(mut self) -> Vec<String> {
        let mut named = 0;
        for n in 0..self.netlist.gates.len() {
            let mut phrase = self.phrase(n);
            let wire = self.netlist.wire_of(n).index();
            if self.readers[wire] > 1 && phrase.by.is_some() {
                named += 1;
                self.lines.push(format!("t{named} = {}", phrase.text));
                phrase = Phrase::name(format!("t{named}"));
            }
            self.phrases.push(phrase);
        }
        let next = if matches!(self.circuit, Circuit::Automaton(_)) { "next " } else { "" };
        for output in &self.netlist.outputs {
            self.lines.push(format!("{next}{} = {}", output.name, self.phrases[output.wire.index()].text));
        }
        for register in &self.netlist.registers {
            self.lines.push(format!("next {} = {}", register.name, self.phrases[register.next.index()].text));
        }
        self.lines
    }

    fn phrase(&self, gate: usize) -> Phrase {
        let node = self.netlist.gates[gate];
        let of = |wire: Wire| self.phrases[wire.index()].clone();
        let two = |a_not: bool, by: char, b_not: bool| {
            let (a, b) = (of(node.a).not_if(a_not).within(by), of(node.b).not_if(b_not).within(by));
            Phrase { text: format!("{a} {by} {b}"), by: Some(by) }
        };
        match node.gate {
            Gate::FALSE => Phrase::name("0"),
            Gate::TRUE => Phrase::name("1"),
            Gate::A => of(node.a),
            Gate::B => of(node.b),
            Gate::NOT_A => of(node.a).not(),
            Gate::NOT_B => of(node.b).not(),
            Gate::AND => two(false, '&', false),
            Gate::A_AND_NOT_B => two(false, '&', true),
            Gate::NOT_A_AND_B => two(true, '&', false),
            Gate::NOR => two(true, '&', true),
            Gate::OR => two(false, '|', false),
            Gate::A_OR_NOT_B => two(false, '|', true),
            Gate::NOT_A_OR_B => two(true, '|', false),
            Gate::NAND => two(true, '|', true),
            Gate::XOR => two(false, '^', false),
            _ => two(false, '^', false).not(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::Edge;

    #[test]
    fn a_cell_reads_its_neighbors_by_arrows() {
        let mut cell = Netlist::new("board");
        for input in 0..18 {
            cell.input(format!("n{}_{}", input / 2, input % 2));
        }
        let at = |position: u32, channel: u32| Wire(2 * position + channel);
        let either = cell.gate(Gate::OR, at(2, 1), at(6, 1));
        let next = cell.gate(Gate::A_AND_NOT_B, either, at(8, 1));
        cell.output("c0", next);
        let held = cell.gate(Gate::NOR, at(4, 0), either);
        cell.output("c3", held);
        let board = Automaton { cell, channels: 2, visible: vec![0], edge: Edge::Zero, fire_rate: 1.0 };
        let wanted = ["t1 = c3↗ | c3↙", "next c0 = t1 & !c3↘", "next c3 = !c0 & !t1"];
        assert_eq!(Circuit::from(board).rule().unwrap(), wanted);
    }

    #[test]
    fn parentheses_stand_where_they_are_needed() {
        let mut netlist = Netlist::new("n");
        let [a, b, c] = ["a", "b", "c"].map(|name| netlist.input(name));
        let all = netlist.gate(Gate::AND, a, b);
        let all = netlist.gate(Gate::AND, all, c);
        netlist.output("all", all);
        let not = netlist.gate(Gate::NOT_A, a, Wire::NONE);
        let mixed = netlist.gate(Gate::NAND, not, b);
        let mixed = netlist.gate(Gate::XNOR, mixed, c);
        netlist.output("mixed", mixed);
        let one = netlist.gate(Gate::TRUE, Wire::NONE, Wire::NONE);
        netlist.output("one", one);
        let wanted = ["all = a & b & c", "mixed = !((a | !b) ^ c)", "one = 1"];
        assert_eq!(Circuit::from(netlist).rule().unwrap(), wanted);
        assert!(Circuit::from(Netlist::random(1, 8, 300, 8)).rule().is_none(), "it is too long to read");
    }
}
