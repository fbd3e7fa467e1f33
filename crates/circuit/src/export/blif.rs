//! Berkeley logic interchange format: one table per gate, one latch per register.

use std::fmt::Write;

use farad_chart::counted;

use super::meaning::Meaning;
use super::names::HardwarePorts;
use super::straight::heading;
use crate::netlist::{Netlist, Wire};

pub(super) fn write(netlist: &Netlist, name: &str, vectors: bool) -> String {
    let HardwarePorts { inputs, registers, outputs, .. } = HardwarePorts::of(netlist, name, vectors);
    let mut text = String::with_capacity(256 + 40 * netlist.wires());
    text.push_str(&heading(netlist, name, "#"));
    writeln!(text, "# Use: yosys -p 'read_blif -wideports {name}.blif; synth_ice40', or read_blif in ABC.")
        .expect("a string");
    if let Some(latency) = netlist.latency() {
        writeln!(text, "# Pipelined: outputs belong to the inputs of {} before.", counted(latency, "clock"))
            .expect("a string");
    }
    if let Some(meaning) = Meaning::of(netlist) {
        text.push_str(&meaning.legend("#", |n| inputs[n].clone()));
    }
    writeln!(text, ".model {name}").expect("a string");
    let clock = (!registers.is_empty()).then(|| "clk".to_string());
    push_list(&mut text, ".inputs", clock.iter().chain(&inputs));
    push_list(&mut text, ".outputs", outputs.iter());
    let operand = |wire: Wire| match wire.index() {
        n if n < inputs.len() => inputs[n].clone(),
        n if n < netlist.sources() => registers[n - inputs.len()].clone(),
        n => format!("w{n}"),
    };
    for (register, name) in netlist.registers.iter().zip(&registers) {
        writeln!(text, ".latch {} {name} re clk {}", operand(register.next), register.initial as u8)
            .expect("a string");
    }
    let live = netlist.live_wires();
    for (n, node) in netlist.gates.iter().enumerate() {
        let wire = netlist.wire_of(n);
        if !live[wire.index()] {
            continue;
        }
        text.push_str(".names");
        node.operands().for_each(|wire| write!(text, " {}", operand(wire)).expect("a string"));
        writeln!(text, " {}", operand(wire)).expect("a string");
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            let (reads_a, reads_b) = (node.gate.reads_a(), node.gate.reads_b());
            // An operand that is not read has no column; one of its values represents both.
            if node.gate.output(a, b) && (reads_a || !a) && (reads_b || !b) {
                let column = |read: bool, bit: bool| if read { ["0", "1"][bit as usize] } else { "" };
                let inputs = [column(reads_a, a), column(reads_b, b)].concat();
                let gap = if inputs.is_empty() { "" } else { " " };
                writeln!(text, "{inputs}{gap}1").expect("a string");
            }
        }
    }
    for (output, name) in netlist.outputs.iter().zip(&outputs) {
        writeln!(text, ".names {} {name}\n1 1", operand(output.wire)).expect("a string");
    }
    text.push_str(".end\n");
    text
}

/// A list that is broken over several lines.
fn push_list<'a>(text: &mut String, title: &str, names: impl Iterator<Item = &'a String>) {
    text.push_str(title);
    let mut column = title.len();
    for name in names {
        if column + name.len() > 100 {
            text.push_str(" \\\n");
            column = 0;
        }
        text.push(' ');
        text.push_str(name);
        column += name.len() + 1;
    }
    text.push('\n');
}
