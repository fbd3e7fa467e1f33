//! Parses circuit files: checks the contents; gates may come in any order.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Circuit, FORMAT, VERSION};
use crate::automaton::{Automaton, Edge};
use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::netlist::{GateNode, Meta, Netlist, Output, Register, Wire};

/// The circuit in the text of a circuit file.
pub(super) fn circuit(text: &str) -> Result<Circuit> {
    let header: FileHeader = parse(text)?;
    if header.format != FORMAT {
        return Err(Error::Format { found: header.format.into() });
    }
    if header.version > VERSION {
        return Err(Error::Version { found: header.version, known: VERSION });
    }
    match header.kind {
        FileKind::Netlist => parse::<RawNetlist>(text)?.netlist().map(Circuit::Netlist),
        FileKind::Automaton => parse::<RawAutomaton>(text)?.automaton().map(Circuit::Automaton),
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => Error::Truncated { line: error.line(), column: error.column() },
        false => Error::Syntax { message: error.to_string() },
    })
}

#[derive(Deserialize)]
struct FileHeader<'a> {
    #[serde(borrow)]
    format: Cow<'a, str>,
    version: u64,
    kind: FileKind,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum FileKind {
    Netlist,
    Automaton,
}

#[derive(Deserialize)]
struct RawAutomaton<'a> {
    channels: usize,
    visible: Vec<usize>,
    #[serde(borrow)]
    edge: Cow<'a, str>,
    fire_rate: f32,
    #[serde(borrow)]
    cell: RawNetlist<'a>,
}

#[derive(Deserialize)]
struct RawNetlist<'a> {
    name: String,
    wires: usize,
    inputs: Vec<String>,
    registers: Vec<RawRegister>,
    #[serde(borrow)]
    gates: Vec<RawGate<'a>>,
    outputs: Vec<RawOutput>,
    #[serde(default)]
    meta: Meta,
}

#[derive(Deserialize)]
struct RawRegister {
    name: String,
    initial: bool,
    next: u32,
}

#[derive(Deserialize)]
struct RawOutput {
    name: String,
    wire: u32,
}

#[derive(Deserialize)]
struct RawGate<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(default)] Option<u32>,
    #[serde(default)] Option<u32>,
);

impl RawAutomaton<'_> {
    fn automaton(self) -> Result<Automaton> {
        let edge = Edge::ALL.into_iter().find(|edge| edge.name() == self.edge);
        let names = || Edge::ALL.map(Edge::name).join(" or ");
        let unknown = || Error::Syntax { message: format!("unknown edge `{}`, not {}", self.edge, names()) };
        let edge = edge.ok_or_else(unknown)?;
        let RawAutomaton { channels, visible, fire_rate, cell, .. } = self;
        let automaton = Automaton { cell: cell.netlist()?, channels, visible, edge, fire_rate };
        automaton.check()?;
        Ok(automaton)
    }
}

impl RawNetlist<'_> {
    fn netlist(self) -> Result<Netlist> {
        let sources = self.inputs.len() + self.registers.len();
        let found = sources + self.gates.len();
        if found != self.wires {
            return Err(Error::WireCount { stated: self.wires, found });
        }
        let gates: Result<Vec<GateNode>> =
            self.gates.into_iter().enumerate().map(|(n, gate)| gate.node(n, sources + n)).collect();
        let register = |RawRegister { name, initial, next }| Register { name, initial, next: Wire(next) };
        let mut netlist = Netlist {
            name: self.name,
            inputs: self.inputs,
            registers: self.registers.into_iter().map(register).collect(),
            gates: gates?,
            outputs: self.outputs.into_iter().map(|o| Output { name: o.name, wire: Wire(o.wire) }).collect(),
            meta: self.meta,
        };
        check_wires(&netlist)?;
        let ordered = |(n, node): (usize, &GateNode)| node.operands().all(|wire| wire.index() < sources + n);
        if !netlist.gates.iter().enumerate().all(ordered) {
            sort(&mut netlist)?;
        }
        Ok(netlist)
    }
}

impl RawGate<'_> {
    fn node(self, gate: usize, wire: usize) -> Result<GateNode> {
        let RawGate(name, a, b) = self;
        let found = Gate::named(&name).ok_or_else(|| Error::UnknownGate { gate, wire, name: name.into() })?;
        let operand = |wire: Option<u32>| wire.map_or(Wire::NONE, Wire);
        Ok(GateNode { gate: found, a: operand(a), b: operand(b) })
    }
}

/// Checks that all wires exist, in any order.
fn check_wires(netlist: &Netlist) -> Result<()> {
    let wires = netlist.wires();
    let there = |wire: Wire, reader: &dyn Fn() -> String| match wire.index() < wires {
        true => Ok(()),
        false => Err(Error::MissingWire { reader: reader(), wire: wire.0, wires }),
    };
    for (n, node) in netlist.gates.iter().enumerate() {
        let (name, wire) = (node.gate.name(), netlist.wire_of(n).0);
        let (wanted, found) =
            (node.operands().count(), node.operands().filter(|&read| read != Wire::NONE).count());
        if found < wanted {
            return Err(Error::MissingOperand { gate: n, name, wire, found, wanted });
        }
        for read in node.operands() {
            there(read, &|| format!("gate {n} ({name}), which makes wire {wire},"))?;
        }
    }
    for output in &netlist.outputs {
        there(output.wire, &|| format!("output {}", output.name))?;
    }
    for register in &netlist.registers {
        there(register.next, &|| format!("register {}", register.name))?;
    }
    Ok(())
}

/// Moves gates after what they read, otherwise in the given order, and renumbers the wires.
fn sort(netlist: &mut Netlist) -> Result<()> {
    let sources = netlist.sources();
    let order = order(netlist)?;
    let mut place: Vec<u32> = (0..netlist.wires() as u32).collect();
    for (new, &old) in order.iter().enumerate() {
        place[sources + old] = (sources + new) as u32;
    }
    let moved = |wire: Wire| place.get(wire.index()).map_or(Wire::NONE, |&wire| Wire(wire));
    let node = |&n: &usize| {
        let GateNode { gate, a, b } = netlist.gates[n];
        GateNode { gate, a: moved(a), b: moved(b) }
    };
    netlist.gates = order.iter().map(node).collect();
    netlist.outputs.iter_mut().for_each(|output| output.wire = moved(output.wire));
    netlist.registers.iter_mut().for_each(|register| register.next = moved(register.next));
    Ok(())
}

/// The gates, each after those that it reads.
fn order(netlist: &Netlist) -> Result<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum SeenWire {
        No,
        Open,
        Done,
    }
    let sources = netlist.sources();
    let mut seen = vec![SeenWire::No; netlist.gates.len()];
    let mut order = Vec::with_capacity(netlist.gates.len());
    let mut path: Vec<usize> = vec![];
    for start in 0..netlist.gates.len() {
        path.push(start);
        while let Some(&gate) = path.last() {
            if seen[gate] == SeenWire::Done {
                path.pop();
                continue;
            }
            seen[gate] = SeenWire::Open;
            let reads = netlist.gates[gate].operands().filter_map(|wire| wire.index().checked_sub(sources));
            let next = reads.into_iter().find(|&read| seen[read] != SeenWire::Done);
            match next {
                Some(read) if seen[read] == SeenWire::Open => return Err(cycle(netlist, &path, read)),
                Some(read) => path.push(read),
                None => {
                    seen[gate] = SeenWire::Done;
                    order.push(gate);
                    path.pop();
                }
            }
        }
    }
    Ok(order)
}

fn cycle(netlist: &Netlist, path: &[usize], first: usize) -> Error {
    let start = path.iter().position(|&gate| gate == first).expect("an open gate is on the path");
    // The path goes from reader to operand; the cycle is reported in the direction of signals.
    let named = |&n: &usize| (n, netlist.gates[n].gate.name(), netlist.wire_of(n).0);
    Error::Cycle { gates: path[start..].iter().rev().map(named).collect() }
}
