//! Circuits as straight-line code, split into functions of a size that compilers can handle.
//!
//! A [`StraightProgram`] has the live gates in pieces of bounded length. A gate that is read in another piece,
//! or is an output, is stored in an array `s`, whose entries are reused once they are dead. Every language
//! writes the same pieces in its own syntax. Start at [`StraightProgram::new`].

use std::fmt::Write;

use farad_chart::counted;

use crate::automaton::Automaton;
use crate::file::Circuit;
use crate::gate::Gate;
use crate::netlist::{GateNode, Netlist, Wire};

/// Gates per piece, if there are several. The compile time grows faster than the length.
const PIECE: usize = 60;
/// Up to this many gates, a single function holds all.
const WHOLE: usize = 1000;

/// Live gates in pieces.
pub(super) struct StraightProgram<'a> {
    pub netlist: &'a Netlist,
    /// The gates of each piece, by number.
    pub pieces: Vec<Vec<u32>>,
    /// The length of the array `s`; 0 if there is only one piece.
    pub kept: usize,
    /// For each wire its index in the array, if it has one.
    places: Vec<u32>,
    /// For each wire the piece that computes it.
    homes: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl<'a> StraightProgram<'a> {
    /// Splits a netlist into pieces.
    pub(super) fn new(netlist: &'a Netlist) -> StraightProgram<'a> {
        let gates = order(netlist);
        let pieces: Vec<&[u32]> = gates.chunks(if gates.len() <= WHOLE { WHOLE } else { PIECE }).collect();
        let (places, homes) = (vec![NONE; netlist.wires()], vec![NONE; netlist.wires()]);
        let mut program = StraightProgram { netlist, pieces: vec![], kept: 0, places, homes };
        let last = last_readers(netlist, &pieces);
        let mut free: Vec<u32> = vec![];
        for (n, gates) in pieces.iter().enumerate() {
            gates.iter().for_each(|&gate| program.homes[netlist.sources() + gate as usize] = n as u32);
            if pieces.len() > 1 {
                program.give_places(n as u32, gates, &last, &mut free);
            }
            program.pieces.push(gates.to_vec());
        }
        program
    }

    /// Assigns array entries to wires that later pieces read, and frees those of wires that nobody reads any
    /// more.
    fn give_places(&mut self, piece: u32, gates: &[u32], last: &[u32], free: &mut Vec<u32>) {
        let netlist = self.netlist;
        for wire in gates.iter().map(|&n| netlist.wire_of(n as usize)) {
            if last[wire.index()] > piece {
                self.places[wire.index()] = free.pop().unwrap_or_else(|| {
                    self.kept += 1;
                    self.kept as u32 - 1
                });
            }
        }
        let mut read: Vec<Wire> = gates.iter().flat_map(|&n| netlist.gates[n as usize].operands()).collect();
        read.retain(|wire| self.places[wire.index()] != NONE && last[wire.index()] == piece);
        read.sort_unstable();
        read.dedup();
        free.extend(read.iter().map(|wire| self.places[wire.index()]));
    }

    /// Writes piece `number`, one gate per line; `operand` writes inputs and registers.
    pub(super) fn push(
        &self,
        text: &mut String,
        language: &StraightLanguage,
        number: usize,
        operand: &impl Fn(&mut String, Wire),
    ) {
        let (sources, declare) = (self.netlist.sources(), language.declare);
        let mut declared = vec![false; if language.declare_sources { sources } else { 0 }];
        for &n in &self.pieces[number] {
            let (node, wire) = (&self.netlist.gates[n as usize], self.netlist.wire_of(n as usize));
            for source in node.operands() {
                if declared.get(source.index()) != Some(&false) {
                    continue;
                }
                write!(text, "    {declare} w{} = ", source.0).expect("a string");
                operand(text, source);
                text.push_str(";\n");
                declared[source.index()] = true;
            }
            write!(text, "    {declare} w{} = ", wire.0).expect("a string");
            language.push(text, node, &|text: &mut String, wire: Wire| match wire.index() {
                n if n < sources && !language.declare_sources => operand(text, wire),
                n if n >= sources && self.homes[n] != number as u32 => {
                    write!(text, "s[{}]", self.places[n]).expect("a string")
                }
                n => write!(text, "w{n}").expect("a string"),
            });
            text.push_str(";\n");
            if self.places[wire.index()] != NONE {
                writeln!(text, "    s[{}] = w{};", self.places[wire.index()], wire.0).expect("a string");
            }
        }
    }

    /// Writes the expression of a root at the end.
    pub(super) fn push_root(&self, text: &mut String, root: Wire, operand: &impl Fn(&mut String, Wire)) {
        match root.index() {
            n if n < self.netlist.sources() => operand(text, root),
            n if self.places[n] != NONE => write!(text, "s[{}]", self.places[n]).expect("a string"),
            n => write!(text, "w{n}").expect("a string"),
        }
    }

    /// Writes outputs and the next values of registers into their arrays.
    pub(super) fn push_results(
        &self,
        text: &mut String,
        language: &StraightLanguage,
        operand: &impl Fn(&mut String, Wire),
    ) {
        // All next values are computed before the first register changes.
        for (n, register) in self.netlist.registers.iter().enumerate() {
            write!(text, "    {} n{n} = ", language.declare).expect("a string");
            self.push_root(text, register.next, operand);
            text.push_str(";\n");
        }
        for (n, output) in self.netlist.outputs.iter().enumerate() {
            write!(text, "    outputs[{n}] = ").expect("a string");
            self.push_root(text, output.wire, operand);
            text.push_str(";\n");
        }
        for n in 0..self.netlist.registers.len() {
            writeln!(text, "    registers[{n}] = n{n};").expect("a string");
        }
    }
}

/// The gates that roots need, each soon after its operands, so that few values cross pieces.
fn order(netlist: &Netlist) -> Vec<u32> {
    let sources = netlist.sources();
    let mut done = vec![false; netlist.wires()];
    done[..sources].fill(true);
    let (mut order, mut open) = (vec![], vec![]);
    for root in netlist.roots() {
        open.push(root);
        while let Some(&wire) = open.last() {
            let needed = |wire: &Wire| !done[wire.index()];
            let next = needed(&wire).then(|| netlist.gates[wire.index() - sources].operands().find(needed));
            match next {
                Some(Some(operand)) => open.push(operand),
                Some(None) => {
                    done[wire.index()] = true;
                    order.push((wire.index() - sources) as u32);
                    open.pop();
                }
                None => {
                    open.pop();
                }
            }
        }
    }
    order
}

/// For each wire the last piece that reads it; the number of pieces for outputs.
fn last_readers(netlist: &Netlist, pieces: &[&[u32]]) -> Vec<u32> {
    let mut last = vec![0; netlist.wires()];
    for (n, gates) in pieces.iter().enumerate() {
        for wire in gates.iter().flat_map(|&gate| netlist.gates[gate as usize].operands()) {
            last[wire.index()] = n as u32;
        }
    }
    for root in netlist.roots() {
        last[root.index()] = pieces.len() as u32;
    }
    last
}

/// How a language declares a word and writes negation and constants; and, or and xor are the same in all of
/// them.
pub(super) struct StraightLanguage {
    pub declare: &'static str,
    /// Whether inputs and registers are first read into local variables in each piece.
    pub declare_sources: bool,
    pub not: &'static str,
    pub zero: &'static str,
    pub one: &'static str,
}

impl StraightLanguage {
    /// Writes a gate's expression; `operand` writes a wire.
    pub(super) fn push(&self, text: &mut String, node: &GateNode, operand: &impl Fn(&mut String, Wire)) {
        let StraightLanguage { not, zero, one, .. } = self;
        let mut two = |before: &str, a_not: &str, between: &str, b_not: &str, after: &str| {
            text.push_str(before);
            text.push_str(a_not);
            operand(text, node.a);
            text.push_str(between);
            text.push_str(b_not);
            operand(text, node.b);
            text.push_str(after);
        };
        let negated = |text: &str| format!("{not}{text}");
        match node.gate {
            Gate::AND => two("", "", " & ", "", ""),
            Gate::OR => two("", "", " | ", "", ""),
            Gate::XOR => two("", "", " ^ ", "", ""),
            Gate::NAND => two(&negated("("), "", " & ", "", ")"),
            Gate::NOR => two(&negated("("), "", " | ", "", ")"),
            Gate::XNOR => two(&negated("("), "", " ^ ", "", ")"),
            Gate::A_AND_NOT_B => two("", "", " & ", not, ""),
            Gate::NOT_A_AND_B => two("", not, " & ", "", ""),
            Gate::A_OR_NOT_B => two("", "", " | ", not, ""),
            Gate::NOT_A_OR_B => two("", not, " | ", "", ""),
            Gate::A => operand(text, node.a),
            Gate::B => operand(text, node.b),
            Gate::NOT_A | Gate::NOT_B => {
                text.push_str(not);
                operand(text, if node.gate == Gate::NOT_A { node.a } else { node.b });
            }
            Gate::FALSE => text.push_str(zero),
            _ => text.push_str(one),
        }
    }
}

/// The heading of a file: a description of the circuit, in lines that begin with `comment`.
pub(super) fn heading(netlist: &Netlist, name: &str, comment: &str) -> String {
    let live = netlist.live_wires()[netlist.sources()..].iter().filter(|&&live| live).count();
    format!(
        "{comment} {name}: {}, {}, {}, {}. Written by farad.\n",
        counted(netlist.inputs.len(), "input"),
        counted(netlist.registers.len(), "register"),
        counted(live, "gate"),
        counted(netlist.outputs.len(), "output")
    )
}

/// A list of the names of inputs, registers and outputs, in lines that begin with `comment`.
pub(super) fn legend(netlist: &Netlist, comment: &str) -> String {
    let mut text = String::new();
    let mut names = super::names::Names::new(&[]);
    let inputs = netlist.inputs.iter().map(|name| ("inputs", name));
    let registers = netlist.registers.iter().map(|register| ("registers", &register.name));
    let outputs = netlist.outputs.iter().map(|output| ("outputs", &output.name));
    let mut last = ("", 0);
    for (list, name) in inputs.chain(registers).chain(outputs) {
        last = (list, if last.0 == list { last.1 + 1 } else { 0 });
        writeln!(text, "{comment}   {list}[{}] {}", last.1, names.pick(name)).expect("a string");
    }
    text
}

/// Writes everything for a netlist or an automaton, with the given functions: the function and a program around
/// it; for automata also a step of a grid and a program that runs it.
pub(super) fn push_circuit(
    text: &mut String,
    circuit: &Circuit,
    name: &str,
    [function, filter]: [fn(&mut String, &Netlist, &str); 2],
    [step, player]: [fn(&mut String, &Automaton, &str); 2],
) {
    match circuit {
        Circuit::Netlist(netlist) => {
            function(text, netlist, name);
            filter(text, netlist, name);
        }
        Circuit::Automaton(automaton) => {
            function(text, &automaton.cell, &format!("{name}_cell"));
            step(text, automaton, name);
            player(text, automaton, name);
        }
    }
}

/// Writes an input or a register as an element of its array.
pub(super) fn operand(netlist: &Netlist) -> impl Fn(&mut String, Wire) + use<> {
    let inputs = netlist.inputs.len();
    move |text, wire| {
        match wire.index().checked_sub(inputs) {
            None => write!(text, "inputs[{}]", wire.0),
            Some(register) => write!(text, "registers[{register}]"),
        }
        .expect("a string");
    }
}
