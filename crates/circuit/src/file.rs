//! Circuits as files: JSON with a format name and a version.
//!
//! ```json
//! {"format": "farad-circuit", "version": 1, "kind": "netlist", "name": "half_adder", "wires": 4,
//!  "inputs": ["a", "b"], "registers": [], "gates": [["xor", 0, 1], ["and", 0, 1]],
//!  "outputs": [{"name": "sum", "wire": 2}, {"name": "carry", "wire": 3}]}
//! ```
//!
//! Gate `k` makes wire `inputs + registers + k`. A missing operand is `null` or left out at the end.
//! Files may list gates in any order; what is read is always a netlist that passes
//! [`Netlist::check`], or an error that says which gate and wire is wrong. Start at [`Circuit`].

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::automaton::{Automaton, Edge};
use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::netlist::{Netlist, Node, Output, Register, Wire};

const FORMAT: &str = "farad-circuit";
const VERSION: u64 = 1;

/// What a circuit file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Circuit {
    /// A netlist by itself.
    Netlist(Netlist),
    /// The cell of an automaton and how cells stand together.
    Automaton(Automaton),
}

impl Circuit {
    /// Reads a circuit file.
    pub fn read(path: impl AsRef<Path>) -> Result<Circuit> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| Error::File {
            op: "read",
            path: path.into(),
            source,
        })?;
        Circuit::from_json(&text)
            .map_err(|source| Error::InFile { path: path.into(), source: Box::new(source) })
    }

    /// Writes a circuit file. Whoever looks at the path sees the old file or the whole new one.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        write_whole(path, self.to_json().as_bytes()).map_err(|source| Error::File {
            op: "write",
            path: path.into(),
            source,
        })
    }

    /// The circuit in the text of a circuit file.
    pub fn from_json(text: &str) -> Result<Circuit> {
        let header: Header = parse(text)?;
        if header.format != FORMAT {
            return Err(Error::Format { found: header.format.into() });
        }
        if header.version > VERSION {
            return Err(Error::Version { found: header.version, known: VERSION });
        }
        match header.kind {
            Kind::Netlist => parse::<RawNetlist>(text)?.netlist().map(Circuit::Netlist),
            Kind::Automaton => parse::<RawAutomaton>(text)?.automaton().map(Circuit::Automaton),
        }
    }

    /// The text of the circuit file, one gate a line.
    pub fn to_json(&self) -> String {
        let mut text = String::with_capacity(256 + 24 * self.netlist().wires());
        let kind = match self {
            Circuit::Netlist(_) => "netlist",
            Circuit::Automaton(_) => "automaton",
        };
        write!(text, "{{\"format\":\"{FORMAT}\",\"version\":{VERSION},\"kind\":\"{kind}\",")
            .expect("a string");
        match self {
            Circuit::Netlist(netlist) => push_netlist(&mut text, netlist),
            Circuit::Automaton(Automaton { cell, channels, visible, edge, fire_rate }) => {
                let edge = match edge {
                    Edge::Zero => "zero",
                    Edge::Wrap => "wrap",
                };
                write!(
                    text,
                    "\"channels\":{channels},\"visible\":{visible:?},\"edge\":\"{edge}\",\
                     \"fire_rate\":{fire_rate:?},\n\"cell\":{{"
                )
                .expect("a string");
                push_netlist(&mut text, cell);
                text.push('}');
            }
        }
        text.push_str("}\n");
        text
    }

    /// The netlist: of the automaton, its cell.
    pub fn netlist(&self) -> &Netlist {
        match self {
            Circuit::Netlist(netlist) => netlist,
            Circuit::Automaton(automaton) => &automaton.cell,
        }
    }

    /// Its name, which is its netlist's.
    pub fn name(&self) -> &str {
        &self.netlist().name
    }

    /// Checks that every wire read is there and comes before its reader, and that a cell fits its channels.
    pub fn check(&self) -> Result<()> {
        match self {
            Circuit::Netlist(netlist) => netlist.check(),
            Circuit::Automaton(automaton) => automaton.check(),
        }
    }
}

impl From<Netlist> for Circuit {
    fn from(netlist: Netlist) -> Circuit {
        Circuit::Netlist(netlist)
    }
}

impl From<Automaton> for Circuit {
    fn from(automaton: Automaton) -> Circuit {
        Circuit::Automaton(automaton)
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().ok_or(std::io::ErrorKind::InvalidFilename)?;
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{}.part", std::process::id()));
    let draft = path.with_file_name(draft);
    let written = std::fs::File::create(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&draft, path)
    });
    if written.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&draft);
    }
    written?;
    // A rename is only sure to last once its folder is written; not all systems open folders.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).or(Ok(()))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn push_netlist(text: &mut String, netlist: &Netlist) {
    let Netlist { name, inputs, registers, gates, outputs } = netlist;
    write!(text, "\"name\":{},\"wires\":{},\n\"inputs\":", quoted(name), netlist.wires()).expect("a string");
    push_list(text, inputs, |text, input| text.push_str(&quoted(input)));
    text.push_str(",\n\"registers\":");
    push_list(text, registers, |text, Register { name, initial, next: Wire(next) }| {
        write!(text, "{{\"name\":{},\"initial\":{initial},\"next\":{next}}}", quoted(name))
            .expect("a string");
    });
    text.push_str(",\n\"gates\":[");
    for (n, node) in gates.iter().enumerate() {
        text.push_str(if n == 0 { "\n" } else { ",\n" });
        push_gate(text, node);
    }
    text.push_str("],\n\"outputs\":");
    push_list(text, outputs, |text, Output { name, wire: Wire(wire) }| {
        write!(text, "{{\"name\":{},\"wire\":{wire}}}", quoted(name)).expect("a string");
    });
}

fn push_gate(text: &mut String, Node { gate, a, b }: &Node) {
    write!(text, "[\"{}\"", gate.name()).expect("a string");
    match (*a, *b) {
        (Wire::NONE, Wire::NONE) => Ok(()),
        (Wire(a), Wire::NONE) => write!(text, ",{a}"),
        (Wire::NONE, Wire(b)) => write!(text, ",null,{b}"),
        (Wire(a), Wire(b)) => write!(text, ",{a},{b}"),
    }
    .expect("a string");
    text.push(']');
}

fn push_list<T>(text: &mut String, items: &[T], push: impl Fn(&mut String, &T)) {
    text.push('[');
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        push(text, item);
    }
    text.push(']');
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => Error::Truncated { line: error.line(), column: error.column() },
        false => Error::Syntax { message: error.to_string() },
    })
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    format: Cow<'a, str>,
    version: u64,
    kind: Kind,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Netlist,
    Automaton,
}

#[derive(Deserialize)]
struct RawAutomaton<'a> {
    channels: usize,
    visible: Vec<usize>,
    edge: RawEdge,
    fire_rate: f32,
    #[serde(borrow)]
    cell: RawNetlist<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawEdge {
    Zero,
    Wrap,
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
        let edge = match self.edge {
            RawEdge::Zero => Edge::Zero,
            RawEdge::Wrap => Edge::Wrap,
        };
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
        let gates: Result<Vec<Node>> =
            self.gates.into_iter().enumerate().map(|(n, gate)| gate.node(n, sources + n)).collect();
        let register = |RawRegister { name, initial, next }| Register { name, initial, next: Wire(next) };
        let mut netlist = Netlist {
            name: self.name,
            inputs: self.inputs,
            registers: self.registers.into_iter().map(register).collect(),
            gates: gates?,
            outputs: self.outputs.into_iter().map(|o| Output { name: o.name, wire: Wire(o.wire) }).collect(),
        };
        check_wires(&netlist)?;
        let ordered = |(n, node): (usize, &Node)| node.operands().all(|wire| wire.index() < sources + n);
        if !netlist.gates.iter().enumerate().all(ordered) {
            sort(&mut netlist)?;
        }
        Ok(netlist)
    }
}

impl RawGate<'_> {
    fn node(self, gate: usize, wire: usize) -> Result<Node> {
        let RawGate(name, a, b) = self;
        let found = Gate::named(&name).ok_or_else(|| Error::UnknownGate { gate, wire, name: name.into() })?;
        let operand = |wire: Option<u32>| wire.map_or(Wire::NONE, Wire);
        Ok(Node { gate: found, a: operand(a), b: operand(b) })
    }
}

/// Checks that all wires are there, in whatever order.
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

/// Puts gates behind what they read, otherwise in the order given, and renumbers the wires.
fn sort(netlist: &mut Netlist) -> Result<()> {
    let sources = netlist.sources();
    let order = order(netlist)?;
    let mut place: Vec<u32> = (0..netlist.wires() as u32).collect();
    for (new, &old) in order.iter().enumerate() {
        place[sources + old] = (sources + new) as u32;
    }
    let moved = |wire: Wire| place.get(wire.index()).map_or(Wire::NONE, |&wire| Wire(wire));
    let node = |&n: &usize| {
        let Node { gate, a, b } = netlist.gates[n];
        Node { gate, a: moved(a), b: moved(b) }
    };
    netlist.gates = order.iter().map(node).collect();
    netlist.outputs.iter_mut().for_each(|output| output.wire = moved(output.wire));
    netlist.registers.iter_mut().for_each(|register| register.next = moved(register.next));
    Ok(())
}

/// The gates, each after those that it reads.
fn order(netlist: &Netlist) -> Result<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let sources = netlist.sources();
    let mut seen = vec![Seen::No; netlist.gates.len()];
    let mut order = Vec::with_capacity(netlist.gates.len());
    let mut path: Vec<usize> = vec![];
    for start in 0..netlist.gates.len() {
        path.push(start);
        while let Some(&gate) = path.last() {
            if seen[gate] == Seen::Done {
                path.pop();
                continue;
            }
            seen[gate] = Seen::Open;
            let reads = netlist.gates[gate].operands().filter_map(|wire| wire.index().checked_sub(sources));
            let next = reads.into_iter().find(|&read| seen[read] != Seen::Done);
            match next {
                Some(read) if seen[read] == Seen::Open => return Err(cycle(netlist, &path, read)),
                Some(read) => path.push(read),
                None => {
                    seen[gate] = Seen::Done;
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
    // The path goes from reader to read; the circle is told the way signals go.
    let named = |&n: &usize| (n, netlist.gates[n].gate.name(), netlist.wire_of(n).0);
    Error::Cycle { gates: path[start..].iter().rev().map(named).collect() }
}

#[cfg(test)]
mod tests;
