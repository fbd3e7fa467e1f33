//! A circuit as data: gates in an order in which each reads only what came before.

use crate::error::{Error, Result};
use crate::gate::Gate;

/// A signal of a netlist. Wires are numbered: first the inputs, then the present values of the
/// registers, then the outputs of the gates in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wire(pub u32);

impl Wire {
    /// Means that a gate needs no operand here.
    pub const NONE: Wire = Wire(u32::MAX);

    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One gate of a netlist and what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GateNode {
    /// The function.
    pub gate: Gate,
    /// The first operand; arbitrary, preferably [`Wire::NONE`], if the gate does not read it.
    pub a: Wire,
    /// The second operand; likewise.
    pub b: Wire,
}

impl GateNode {
    /// The wires that the gate actually reads: zero to two.
    pub fn operands(&self) -> impl Iterator<Item = Wire> + use<> {
        let a = self.gate.reads_a().then_some(self.a);
        let b = self.gate.reads_b().then_some(self.b);
        a.into_iter().chain(b)
    }
}

/// A bit of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name in files.
    pub name: String,
    /// Its initial value.
    pub initial: bool,
    /// The wire whose value it takes at the end of a step.
    pub next: Wire,
}

/// A named output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name in files.
    pub name: String,
    /// The wire that it shows.
    pub wire: Wire,
}

/// A circuit of two-input gates, with registers if it has state.
///
/// ```
/// use farad_circuit::{Gate, Netlist};
/// let mut adder = Netlist::new("half_adder");
/// let (a, b) = (adder.input("a"), adder.input("b"));
/// let sum = adder.gate(Gate::XOR, a, b);
/// let carry = adder.gate(Gate::AND, a, b);
/// adder.output("sum", sum);
/// adder.output("carry", carry);
/// adder.check()?;
/// # Ok::<(), farad_circuit::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netlist {
    /// Its name: an identifier in exports.
    pub name: String,
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// The state.
    pub registers: Vec<Register>,
    /// The gates; each reads only wires before its own.
    pub gates: Vec<GateNode>,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// Further information by name: how its inputs are made from a picture, where an automaton starts. Circuit
    /// files store it ([`Circuit`](crate::Circuit) documents the names), and passes preserve it.
    pub meta: Meta,
}

/// Values of any kind by name, as in JSON.
pub type Meta = serde_json::Map<String, serde_json::Value>;

impl Netlist {
    /// An empty netlist.
    pub fn new(name: impl Into<String>) -> Netlist {
        Netlist {
            name: name.into(),
            inputs: vec![],
            registers: vec![],
            gates: vec![],
            outputs: vec![],
            meta: Meta::new(),
        }
    }

    /// Adds an input.
    ///
    /// # Panics
    /// After the first register or gate, because wires would be renumbered.
    #[track_caller]
    pub fn input(&mut self, name: impl Into<String>) -> Wire {
        assert!(
            self.registers.is_empty() && self.gates.is_empty(),
            "input: comes before registers and gates"
        );
        self.inputs.push(name.into());
        Wire(self.inputs.len() as u32 - 1)
    }

    /// Adds a register that holds its value until [`Netlist::set_next`] is called.
    ///
    /// # Panics
    /// After the first gate, because wires would be renumbered.
    #[track_caller]
    pub fn register(&mut self, name: impl Into<String>, initial: bool) -> Wire {
        assert!(self.gates.is_empty(), "register: comes before gates");
        let wire = Wire((self.inputs.len() + self.registers.len()) as u32);
        self.registers.push(Register { name: name.into(), initial, next: wire });
        wire
    }

    /// Sets the wire whose value a register takes at the end of a step.
    pub fn set_next(&mut self, register: usize, next: Wire) {
        self.registers[register].next = next;
    }

    /// Adds a gate.
    pub fn gate(&mut self, gate: Gate, a: Wire, b: Wire) -> Wire {
        self.gates.push(GateNode { gate, a, b });
        Wire(self.wires() as u32 - 1)
    }

    /// Adds an output.
    pub fn output(&mut self, name: impl Into<String>, wire: Wire) {
        self.outputs.push(Output { name: name.into(), wire });
    }

    /// The number of inputs and registers: the wires that no gate makes.
    pub fn sources(&self) -> usize {
        self.inputs.len() + self.registers.len()
    }

    /// How many wires there are.
    pub fn wires(&self) -> usize {
        self.sources() + self.gates.len()
    }

    /// The wire of a gate.
    pub fn wire_of(&self, gate: usize) -> Wire {
        Wire((self.sources() + gate) as u32)
    }

    /// The wires that are visible outside: outputs, then the next values of registers.
    pub fn roots(&self) -> impl Iterator<Item = Wire> + '_ {
        let outputs = self.outputs.iter().map(|output| output.wire);
        outputs.chain(self.registers.iter().map(|register| register.next))
    }

    /// For each wire, whether one of these wires depends on it within a step.
    pub fn needed(&self, wires: impl IntoIterator<Item = Wire>) -> Vec<bool> {
        let mut needed = vec![false; self.wires()];
        wires.into_iter().for_each(|wire| needed[wire.index()] = true);
        for (n, node) in self.gates.iter().enumerate().rev() {
            if needed[self.sources() + n] {
                node.operands().for_each(|wire| needed[wire.index()] = true);
            }
        }
        needed
    }

    /// Checks that every wire that is read exists and comes before its reader.
    pub fn check(&self) -> Result<()> {
        let missing = |reader: String, wire: Wire, wires: usize| {
            if wire.index() < wires {
                Ok(())
            } else {
                Err(Error::MissingWire { reader, wire: wire.0, wires })
            }
        };
        for (n, node) in self.gates.iter().enumerate() {
            let before = self.sources() + n;
            for wire in node.operands() {
                if wire.index() >= before {
                    missing(format!("gate {n} ({})", node.gate.name()), wire, before)?;
                }
            }
        }
        for output in &self.outputs {
            missing(format!("output {}", output.name), output.wire, self.wires())?;
        }
        for register in &self.registers {
            missing(format!("register {}", register.name), register.next, self.wires())?;
        }
        Ok(())
    }
}
