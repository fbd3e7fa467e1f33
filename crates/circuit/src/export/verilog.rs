//! Verilog: a module for a netlist; for an automaton, the module of a cell and one of a grid of any size.
//!
//! A netlist without registers is combinational; one with registers has `clk` and a synchronous `rst`. Numbered
//! inputs and outputs are vectors. A large classifier has one module per part: the votes, the count of each
//! class, the comparison.

use std::fmt::Write;
use std::ops::Range;

use farad_chart::counted;

use super::meaning::Meaning;
use super::names::{HardwarePort, HardwarePorts};
use super::straight::{StraightLanguage, heading};
use crate::automaton::{Automaton, Edge};
use crate::file::Circuit;
use crate::netlist::{Netlist, Wire};

const VERILOG: StraightLanguage =
    StraightLanguage { declare: "wire", declare_sources: false, not: "~", zero: "1'b0", one: "1'b1" };

pub(super) fn write(circuit: &Circuit, name: &str) -> String {
    let netlist = circuit.netlist();
    let mut text = String::with_capacity(4096 + 40 * netlist.wires());
    text.push_str(&heading(netlist, name, "//"));
    match circuit {
        Circuit::Netlist(netlist) => {
            let ports = HardwarePorts::of(netlist, name, true);
            push_usage(&mut text, netlist, name, &ports);
            match netlist.parts().filter(|_| netlist.registers.is_empty() && netlist.gates.len() > WHOLE) {
                Some(parts) => push_parts(&mut text, netlist, name, &ports, &parts),
                None => push_module(&mut text, netlist, name, &ports),
            }
        }
        Circuit::Automaton(automaton) => {
            let ports = HardwarePorts::of(netlist, name, false);
            push_grid_usage(&mut text, automaton, name);
            push_module(&mut text, netlist, &format!("{name}_cell"), &ports);
            push_grid(&mut text, automaton, name, &ports);
        }
    }
    text
}

/// Up to this many gates, a circuit is one module. Synthesis reasons about all gates of a module at once, which
/// takes forever if large counters depend on each other.
const WHOLE: usize = 2000;

/// A module per part, and one that connects them. The bits that a part reads are its vector `a`, the bits that
/// others read its vector `y`.
fn push_parts(
    text: &mut String,
    netlist: &Netlist,
    name: &str,
    ports: &HardwarePorts,
    parts: &[(String, usize)],
) {
    let sources = netlist.sources();
    let mut home: Vec<usize> = vec![usize::MAX; sources];
    parts.iter().enumerate().for_each(|(part, (_, length))| home.extend(std::iter::repeat_n(part, *length)));
    let mut reads: Vec<Vec<Wire>> = vec![vec![]; parts.len()];
    let mut shown = vec![false; netlist.wires()];
    for (n, node) in netlist.gates.iter().enumerate() {
        for wire in node.operands().filter(|wire| home[wire.index()] != home[sources + n]) {
            reads[home[sources + n]].push(wire);
            shown[wire.index()] = true;
        }
    }
    netlist.roots().for_each(|wire| shown[wire.index()] = true);
    let mut body = String::new();
    let top = |text: &mut String, wire: Wire| match wire.index() {
        n if n < sources => text.push_str(&ports.inputs[n]),
        n => write!(text, "w{n}").expect("a string"),
    };
    let mut first = sources;
    for ((part, length), mut reads) in parts.iter().zip(reads) {
        let gates = first..first + length;
        first += length;
        let made: Vec<Wire> = gates.clone().filter(|&n| shown[n]).map(|n| Wire(n as u32)).collect();
        if made.is_empty() {
            continue;
        }
        reads.sort_unstable();
        reads.dedup();
        push_part(text, netlist, &format!("{name}_{part}"), gates, &reads, &made);
        let list = |wires: &[Wire]| {
            let mut text = String::new();
            for (n, &wire) in wires.iter().rev().enumerate() {
                text.push_str(if n == 0 { "" } else { ", " });
                top(&mut text, wire);
            }
            text
        };
        writeln!(body, "    wire {};", list(&made)).expect("a string");
        let given = if reads.is_empty() { String::new() } else { format!(".a({{{}}}), ", list(&reads)) };
        writeln!(body, "    {name}_{part} part_{part} ({given}.y({{{}}}));", list(&made)).expect("a string");
    }
    push_ports(text, name, ports);
    text.push_str(&body);
    for (output, name) in netlist.outputs.iter().zip(&ports.outputs) {
        write!(text, "    assign {name} = ").expect("a string");
        top(text, output.wire);
        text.push_str(";\n");
    }
    text.push_str("endmodule\n");
}

/// The module of a part.
fn push_part(
    text: &mut String,
    netlist: &Netlist,
    name: &str,
    gates: Range<usize>,
    reads: &[Wire],
    made: &[Wire],
) {
    let inputs =
        if reads.is_empty() { String::new() } else { format!("\n    input wire [{}:0] a,", reads.len() - 1) };
    writeln!(
        text,
        "(* keep_hierarchy *)\nmodule {name} ({inputs}\n    output wire [{}:0] y\n);",
        made.len() - 1
    )
    .expect("a string");
    let operand = |text: &mut String, wire: Wire| match reads.binary_search(&wire) {
        Ok(place) => write!(text, "a[{place}]").expect("a string"),
        Err(_) => write!(text, "w{}", wire.0).expect("a string"),
    };
    for wire in gates {
        write!(text, "    wire w{wire} = ").expect("a string");
        VERILOG.push(text, &netlist.gates[wire - netlist.sources()], &operand);
        text.push_str(";\n");
    }
    for (n, wire) in made.iter().enumerate() {
        writeln!(text, "    assign y[{n}] = w{};", wire.0).expect("a string");
    }
    text.push_str("endmodule\n\n");
}

/// How to use the module, and what its bits mean.
fn push_usage(text: &mut String, netlist: &Netlist, name: &str, ports: &HardwarePorts) {
    let clocks =
        if ports.registers.is_empty() { vec![] } else { vec![".clk(clk)".to_string(), ".rst(rst)".into()] };
    let own = ports.input_ports.iter().chain(&ports.output_ports);
    let few = ports.input_ports.len() + ports.output_ports.len() <= 8;
    let connections: Vec<String> =
        clocks.into_iter().chain(own.map(|HardwarePort { name, .. }| format!(".{name}({name})"))).collect();
    let connections = if few { connections.join(", ") } else { ".…".to_string() };
    writeln!(text, "// Use: {name} my_{name} ({connections});").expect("a string");
    if let Some(latency) = netlist.latency() {
        writeln!(text, "// Pipelined: outputs belong to the inputs of {} before.", counted(latency, "clock"))
            .expect("a string");
    }
    if let Some(meaning) = Meaning::of(netlist) {
        text.push_str(&meaning.legend("//", |n| ports.inputs[n].clone()));
    }
}

fn push_grid_usage(text: &mut String, automaton: &Automaton, name: &str) {
    let fire = if automaton.fire_rate < 1.0 { ".fire(fire), " } else { "" };
    writeln!(
        text,
        "// Use: {name} #(.WIDTH(64), .HEIGHT(64)) grid (.clk(clk), .load(load), .start(start), {fire}.state(state));"
    )
    .expect("a string");
}

/// The first lines of a module.
fn push_ports(
    text: &mut String,
    name: &str,
    HardwarePorts { registers, input_ports, output_ports, .. }: &HardwarePorts,
) {
    let mut ports = vec![];
    if !registers.is_empty() {
        ports.extend(["input wire clk".to_string(), "input wire rst".to_string()]);
    }
    ports.extend(input_ports.iter().map(|port| format!("input wire {}", port.declared())));
    ports.extend(output_ports.iter().map(|port| format!("output wire {}", port.declared())));
    writeln!(text, "module {name} (\n    {}\n);", ports.join(",\n    ")).expect("a string");
}

fn push_module(text: &mut String, netlist: &Netlist, name: &str, ports: &HardwarePorts) {
    push_ports(text, name, ports);
    let HardwarePorts { inputs, registers, outputs, .. } = ports;
    let initial = |n: usize| if netlist.registers[n].initial { "1'b1" } else { "1'b0" };
    for (n, name) in registers.iter().enumerate() {
        writeln!(text, "    reg {name} = {};", initial(n)).expect("a string");
    }
    let operand = |text: &mut String, wire: Wire| match wire.index() {
        n if n < inputs.len() => text.push_str(&inputs[n]),
        n if n < netlist.sources() => text.push_str(&registers[n - inputs.len()]),
        n => write!(text, "w{n}").expect("a string"),
    };
    let live = netlist.live_wires();
    for (n, node) in netlist.gates.iter().enumerate() {
        if live[netlist.sources() + n] {
            write!(text, "    wire w{} = ", netlist.sources() + n).expect("a string");
            VERILOG.push(text, node, &operand);
            text.push_str(";\n");
        }
    }
    for (output, name) in netlist.outputs.iter().zip(outputs) {
        write!(text, "    assign {name} = ").expect("a string");
        operand(text, output.wire);
        text.push_str(";\n");
    }
    if !registers.is_empty() {
        text.push_str("    always @(posedge clk) begin\n");
        for (n, (register, name)) in netlist.registers.iter().zip(registers).enumerate() {
            write!(text, "        {name} <= rst ? {} : ", initial(n)).expect("a string");
            operand(text, register.next);
            text.push_str(";\n");
        }
        text.push_str("    end\n");
    }
    text.push_str("endmodule\n");
}

fn push_grid(text: &mut String, automaton: &Automaton, name: &str, ports: &HardwarePorts) {
    let channels = automaton.channels;
    let fire = match automaton.fire_rate < 1.0 {
        true => {
            "    // The cells that change, cell (x, y) at bit y * WIDTH + x.\n    input wire [WIDTH*HEIGHT-1:0] fire,\n"
        }
        false => "",
    };
    write!(
        text,
        "\n// A grid of cells. Channel c of cell (x, y) is bit (y * WIDTH + x) * {channels} + c of `state`.\n\
         module {name} #(\n    parameter WIDTH = 16,\n    parameter HEIGHT = 16\n) (\n    \
         input wire clk,\n    // Takes over `start` instead of a step.\n    input wire load,\n    \
         input wire [WIDTH*HEIGHT*{channels}-1:0] start,\n{fire}    \
         output reg [WIDTH*HEIGHT*{channels}-1:0] state\n);\n    \
         // The state with a rim of one cell, and what it becomes.\n    \
         wire [(WIDTH+2)*(HEIGHT+2)*{channels}-1:0] around;\n    \
         wire [WIDTH*HEIGHT*{channels}-1:0] next;\n    \
         genvar x, y;\n    generate\n"
    )
    .expect("a string");
    push_rim(text, automaton);
    push_cells(text, automaton, name, ports);
    text.push_str("    endgenerate\n    always @(posedge clk) state <= load ? start : next;\nendmodule\n");
}

/// The state with a border of one cell around it.
fn push_rim(text: &mut String, Automaton { channels, edge, .. }: &Automaton) {
    text.push_str(
        "        for (y = 0; y < HEIGHT + 2; y = y + 1) begin : rim_row\n            \
         for (x = 0; x < WIDTH + 2; x = x + 1) begin : rim_place\n",
    );
    let rim = format!("assign around[(y * (WIDTH + 2) + x) * {channels} +: {channels}]");
    match edge {
        Edge::Zero => write!(
            text,
            "                if (x == 0 || x == WIDTH + 1 || y == 0 || y == HEIGHT + 1)\n                    \
             {rim} = {{{channels}{{1'b0}}}};\n                else\n                    \
             {rim} = state[((y - 1) * WIDTH + x - 1) * {channels} +: {channels}];\n"
        ),
        Edge::Wrap => writeln!(
            text,
            "                {rim} =\n                    \
             state[((y + HEIGHT - 1) % HEIGHT * WIDTH + (x + WIDTH - 1) % WIDTH) * {channels} +: {channels}];"
        ),
    }
    .expect("a string");
    text.push_str("            end\n        end\n");
}

/// A cell at every position, with the cells around it as inputs.
fn push_cells(text: &mut String, automaton: &Automaton, name: &str, ports: &HardwarePorts) {
    let channels = automaton.channels;
    let row = |above: usize| {
        let three = 3 * channels;
        format!("around[((y + {above}) * (WIDTH + 2) + x) * {channels} +: {three}]")
    };
    let (last_near, last_made) = (9 * channels - 1, channels - 1);
    let [above, beside, below] = [row(0), row(1), row(2)];
    let inputs = ports.inputs.iter().enumerate().map(|(n, name)| format!(".{name}(near[{n}])"));
    let outputs = ports.outputs.iter().enumerate().map(|(n, name)| format!(".{name}(made[{n}])"));
    let connections = inputs.chain(outputs).collect::<Vec<String>>().join(",\n                    ");
    let place = format!("[(y * WIDTH + x) * {channels} +: {channels}]");
    let made = match automaton.fire_rate < 1.0 {
        true => format!("fire[y * WIDTH + x] ? made : state{place}"),
        false => "made".to_string(),
    };
    write!(
        text,
        "        for (y = 0; y < HEIGHT; y = y + 1) begin : row\n            \
         for (x = 0; x < WIDTH; x = x + 1) begin : place\n                \
         wire [{last_near}:0] near = {{{below},\n                    {beside},\n                    {above}}};\n                \
         wire [{last_made}:0] made;\n                \
         {name}_cell made_here (\n                    {connections}\n                );\n                \
         assign next{place} = {made};\n            end\n        end\n"
    )
    .expect("a string");
}
