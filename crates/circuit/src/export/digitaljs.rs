//! DigitalJS circuits: devices and connectors in JSON. Each of our gates becomes one of that simulator's gates,
//! preceded by a negation if it has no such gate.

use std::fmt::Write;

use super::meaning::Meaning;
use super::names::Names;
use crate::gate::Gate;
use crate::netlist::{GateNode, Netlist, Wire};

pub(super) fn write(netlist: &Netlist, _name: &str) -> String {
    let mut sheet =
        DigitalSheet { devices: String::new(), connectors: String::new(), made: vec![], count: 0 };
    let mut names = Names::new(&["clk"]);
    let mut order = 0;
    let mut port = |name: &str, label: &str| {
        order += 1;
        format!("\"net\":\"{name}\",\"label\":\"{label}\",\"order\":{},\"bits\":1", order - 1)
    };
    let meaning = Meaning::of(netlist);
    let clock = (!netlist.registers.is_empty())
        .then(|| sheet.device("Clock", "\"label\":\"clk\",\"propagation\":100"));
    for (n, input) in netlist.inputs.iter().enumerate() {
        let name = names.pick(input);
        let label = meaning.as_ref().map_or_else(|| name.clone(), |meaning| meaning.input(n));
        let device = sheet.device("Input", &port(&name, &label));
        sheet.made.push(device);
    }
    for register in &netlist.registers {
        let (label, initial) = (names.pick(&register.name), register.initial as u8);
        let rest = format!(
            "\"label\":\"{label}\",\"bits\":1,\"polarity\":{{\"clock\":true}},\"initial\":\"{initial}\""
        );
        let device = sheet.device("Dff", &rest);
        sheet.made.push(device);
        sheet.connect(clock.expect("registers have a clock"), device, "clk");
    }
    let live = netlist.live_wires();
    for (n, node) in netlist.gates.iter().enumerate() {
        let device = if live[netlist.sources() + n] { sheet.gate(node) } else { u32::MAX };
        sheet.made.push(device);
    }
    for (n, register) in netlist.registers.iter().enumerate() {
        let device = sheet.made[netlist.inputs.len() + n];
        sheet.connect(sheet.made[register.next.index()], device, "in");
    }
    for output in &netlist.outputs {
        let name = names.pick(&output.name);
        let device = sheet.device("Output", &port(&name, &name));
        sheet.connect(sheet.made[output.wire.index()], device, "in");
    }
    format!(
        "{{\"devices\":{{\n{}}},\n\"connectors\":[\n{}],\n\"subcircuits\":{{}}}}\n",
        sheet.devices, sheet.connectors
    )
}

/// A circuit under construction.
struct DigitalSheet {
    devices: String,
    connectors: String,
    /// For each wire the device that drives it.
    made: Vec<u32>,
    count: u32,
}

impl DigitalSheet {
    fn device(&mut self, kind: &str, rest: &str) -> u32 {
        let comma = if self.count > 0 { ",\n" } else { "" };
        write!(self.devices, "{comma}\"d{}\":{{\"type\":\"{kind}\",{rest}}}", self.count).expect("a string");
        self.count += 1;
        self.count - 1
    }

    fn connect(&mut self, from: u32, to: u32, port: &str) {
        let comma = if self.connectors.is_empty() { "" } else { ",\n" };
        write!(
            self.connectors,
            "{comma}{{\"from\":{{\"id\":\"d{from}\",\"port\":\"out\"}},\"to\":{{\"id\":\"d{to}\",\"port\":\"{port}\"}}}}"
        )
        .expect("a string");
    }

    fn unary(&mut self, kind: &str, operand: u32) -> u32 {
        let device = self.device(kind, "\"bits\":1");
        self.connect(operand, device, "in");
        device
    }

    fn gate(&mut self, node: &GateNode) -> u32 {
        let at = |wire: Wire| self.made[wire.index()];
        let (kind, negate_a, negate_b) = match node.gate {
            Gate::FALSE => return self.device("Constant", "\"constant\":\"0\""),
            Gate::TRUE => return self.device("Constant", "\"constant\":\"1\""),
            Gate::A => return at(node.a),
            Gate::B => return at(node.b),
            Gate::NOT_A => return self.unary("Not", at(node.a)),
            Gate::NOT_B => return self.unary("Not", at(node.b)),
            Gate::AND => ("And", false, false),
            Gate::OR => ("Or", false, false),
            Gate::XOR => ("Xor", false, false),
            Gate::NAND => ("Nand", false, false),
            Gate::NOR => ("Nor", false, false),
            Gate::XNOR => ("Xnor", false, false),
            Gate::A_AND_NOT_B => ("And", false, true),
            Gate::NOT_A_AND_B => ("And", true, false),
            Gate::A_OR_NOT_B => ("Or", false, true),
            _ => ("Or", true, false),
        };
        let (a, b) = (at(node.a), at(node.b));
        let a = if negate_a { self.unary("Not", a) } else { a };
        let b = if negate_b { self.unary("Not", b) } else { b };
        let device = self.device(kind, "\"bits\":1,\"inputs\":2");
        self.connect(a, device, "in1");
        self.connect(b, device, "in2");
        device
    }
}
