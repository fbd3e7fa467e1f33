//! Circuits of small rules, from their truth tables to their simplified form, as files for other tools.
//!
//! `rules OUT` writes `OUT/NAME.rule.blif` (the truth table), `OUT/NAME.rule.v` (the same as an expression),
//! `OUT/NAME.ours.blif` and `OUT/NAME.ours.json` (the simplified circuit), and one line per rule. Further
//! arguments come in pairs: a name and a learned automaton, which is simplified; its `rule` is the learned
//! gates of the kept channels. `scripts/circuits` uses this example.

use std::path::Path;
use std::time::Instant;

use farad_circuit::simplify::{SimplifyOptions, simplify, simplify_automaton};
use farad_circuit::{Circuit, Format, Gate, Netlist, Statistics, Wire, export};

/// A rule: its name, its numbers of input and output bits, its function, and the same as Verilog.
type Rule = (&'static str, usize, usize, fn(u32) -> u32, &'static str);

const RULES: [Rule; 14] = [
    ("life", 9, 1, life, "(x[0]+x[1]+x[2]+x[3]+x[5]+x[6]+x[7]+x[8] | x[4]) == 3"),
    ("rule_30", 3, 1, |bits| 30 >> bits & 1, "x[2] ^ (x[1] | x[0])"),
    ("rule_110", 3, 1, |bits| 110 >> bits & 1, "(x[1] | x[0]) & ~&x"),
    ("majority_5", 5, 1, |bits| (bits.count_ones() >= 3) as u32, "x[0]+x[1]+x[2]+x[3]+x[4] >= 3"),
    ("majority_7", 7, 1, |bits| (bits.count_ones() >= 4) as u32, "x[0]+x[1]+x[2]+x[3]+x[4]+x[5]+x[6] >= 4"),
    ("count_7", 7, 3, |bits| bits.count_ones(), "x[0]+x[1]+x[2]+x[3]+x[4]+x[5]+x[6]"),
    ("parity_8", 8, 1, |bits| bits.count_ones() & 1, "^x"),
    ("multiplexer_4", 6, 1, |bits| bits >> (2 + (bits & 3)) & 1, "x[5:2] >> x[1:0]"),
    ("compare_4", 8, 1, |bits| ((bits & 15) < bits >> 4) as u32, "x[3:0] < x[7:4]"),
    ("add_3", 6, 4, |bits| (bits & 7) + (bits >> 3), "x[2:0] + x[5:3]"),
    ("add_4", 8, 5, |bits| (bits & 15) + (bits >> 4), "x[3:0] + x[7:4]"),
    ("multiply_2", 4, 4, |bits| (bits & 3) * (bits >> 2), "x[1:0] * x[3:2]"),
    ("multiply_3", 6, 6, |bits| (bits & 7) * (bits >> 3), "x[2:0] * x[5:3]"),
    ("seven_segments", 4, 7, |bits| SEGMENTS[bits as usize], "112'he3e6f39f9df7ff0ff76e69f6c33f >> 7 * x"),
];

/// A cell is alive if three neighbors are, or if two are and it is alive itself.
fn life(bits: u32) -> u32 {
    (((bits & !16).count_ones() | bits >> 4 & 1) == 3) as u32
}

/// Segments a to g (bit 0 is a) of the digits 0 to F.
const SEGMENTS: [u32; 16] =
    [0x3f, 0x06, 0x5b, 0x4f, 0x66, 0x6d, 0x7d, 0x07, 0x7f, 0x6f, 0x77, 0x7c, 0x39, 0x5e, 0x79, 0x71];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (out, learned) = arguments.split_first().ok_or("rules: missing argument: the output folder")?;
    let out = Path::new(out);
    std::fs::create_dir_all(out)?;
    for rule in RULES {
        let begin = Instant::now();
        let starts = [minterms(rule), multiplexers(rule)];
        let simplified = starts.iter().map(|start| simplify(start, &SimplifyOptions::default()));
        let simplified = simplified.collect::<Result<Vec<_>, _>>()?;
        let best = simplified.into_iter().min_by_key(|made| size(&made.netlist)).expect("two starts");
        assert!(best.report.equivalence.is_proved(), "{}: not proved", rule.0);
        write(out, rule.0, "rule", &starts[0])?;
        write(out, rule.0, "ours", &best.netlist)?;
        std::fs::write(out.join(format!("{}.rule.v", rule.0)), verilog(rule))?;
        report(rule.0, &best.netlist, begin.elapsed().as_secs_f64());
    }
    for learned in learned.chunks_exact(2) {
        let begin = Instant::now();
        let Circuit::Automaton(raw) = Circuit::read(&learned[1])? else {
            return Err(format!("rules: not an automaton: {}", learned[1]).into());
        };
        let ours = simplify_automaton(&raw, &SimplifyOptions::default())?;
        assert!(ours.equivalence.is_proved(), "{}: not proved", learned[0]);
        let mut cell = raw.cell;
        cell.outputs.retain(|output| ours.automaton.cell.outputs.iter().any(|kept| kept.name == output.name));
        write(out, &learned[0], "rule", &cell)?;
        write(out, &learned[0], "ours", &over(&cell.inputs, &ours.automaton.cell))?;
        report(&learned[0], &ours.automaton.cell, begin.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Gates, then depth.
fn size(netlist: &Netlist) -> (usize, usize) {
    let statistics = Statistics::of(netlist);
    (statistics.active_live, statistics.depth)
}

fn report(name: &str, netlist: &Netlist, seconds: f64) {
    let ((gates, depth), inputs) = (size(netlist), netlist.inputs.len());
    // An xor takes three nodes of an and-inverter graph, a negation none.
    let nodes: usize = netlist
        .gates
        .iter()
        .map(|node| match node.gate {
            Gate::XOR | Gate::XNOR => 3,
            gate => (gate.reads_a() && gate.reads_b()) as usize,
        })
        .sum();
    println!("{name}\t{inputs}\t{}\t{gates}\t{depth}\t{nodes}\t{seconds:.1}", netlist.outputs.len());
}

fn write(out: &Path, name: &str, kind: &str, netlist: &Netlist) -> Result<(), Box<dyn std::error::Error>> {
    let circuit = Circuit::from(netlist.clone());
    circuit.write(out.join(format!("{name}.{kind}.json")))?;
    let files = export(&circuit, Format::named("blif")?)?;
    Ok(std::fs::write(out.join(format!("{name}.{kind}.blif")), &files[0].1)?)
}

/// The netlist over more inputs than it reads, so that tools can compare it with one that reads them.
fn over(inputs: &[String], netlist: &Netlist) -> Netlist {
    let mut made = Netlist::new(netlist.name.clone());
    for input in inputs {
        made.input(input.clone());
    }
    let place = |wire: Wire| match netlist.inputs.get(wire.index()) {
        Some(name) => Wire(inputs.iter().position(|input| input == name).expect("a kept input") as u32),
        None => Wire(wire.0 - netlist.inputs.len() as u32 + inputs.len() as u32),
    };
    let operand = |wire: Wire| if wire == Wire::NONE { wire } else { place(wire) };
    for node in &netlist.gates {
        made.gate(node.gate, operand(node.a), operand(node.b));
    }
    netlist.outputs.iter().for_each(|output| made.output(output.name.clone(), place(output.wire)));
    made
}

/// The rule as a module with one-bit ports, named as in the netlists.
fn verilog((name, inputs, outputs, _, expression): Rule) -> String {
    let list = |name: &str, count: usize| (0..count).map(|n| format!("{name}_{n}")).collect::<Vec<_>>();
    let (x, y) = (list("in", inputs), list("out", outputs));
    let reversed = |names: &[String]| names.iter().rev().cloned().collect::<Vec<_>>().join(", ");
    format!(
        "module {name}(input {}, output {});\n  wire [{}:0] x = {{{}}};\n  wire [{}:0] y = {expression};\n  \
         assign {{{}}} = y;\nendmodule\n",
        x.join(", "),
        y.join(", "),
        inputs - 1,
        reversed(&x),
        outputs - 1,
        reversed(&y)
    )
}

fn with_inputs((name, inputs, ..): Rule) -> (Netlist, Vec<Wire>) {
    let mut netlist = Netlist::new(name);
    let wires = (0..inputs).map(|n| netlist.input(format!("in_{n}"))).collect();
    (netlist, wires)
}

/// A sum of products, with one product for every row of the table in which an output is one.
fn minterms(rule: Rule) -> Netlist {
    let (mut netlist, inputs) = with_inputs(rule);
    let (_, count, outputs, function, _) = rule;
    let mut sums = vec![netlist.gate(Gate::FALSE, Wire::NONE, Wire::NONE); outputs];
    for row in (0..1 << count).filter(|&row| function(row) != 0) {
        let mut product = netlist.gate(Gate::TRUE, Wire::NONE, Wire::NONE);
        for (n, &input) in inputs.iter().enumerate() {
            let gate = if row >> n & 1 == 1 { Gate::AND } else { Gate::A_AND_NOT_B };
            product = netlist.gate(gate, product, input);
        }
        for (n, sum) in sums.iter_mut().enumerate() {
            if function(row) >> n & 1 == 1 {
                *sum = netlist.gate(Gate::OR, *sum, product);
            }
        }
    }
    sums.into_iter().enumerate().for_each(|(n, sum)| netlist.output(format!("out_{n}"), sum));
    netlist
}

/// A tree of multiplexers, with one input per level.
fn multiplexers(rule: Rule) -> Netlist {
    let (mut netlist, inputs) = with_inputs(rule);
    let (_, count, outputs, function, _) = rule;
    let constants = [Gate::FALSE, Gate::TRUE].map(|gate| netlist.gate(gate, Wire::NONE, Wire::NONE));
    for n in 0..outputs {
        let mut level: Vec<Wire> =
            (0..1 << count).map(|row| constants[(function(row) >> n & 1) as usize]).collect();
        for &input in &inputs {
            let pairs: Vec<[Wire; 2]> = level.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
            level = pairs.into_iter().map(|[zero, one]| choose(&mut netlist, input, zero, one)).collect();
        }
        netlist.output(format!("out_{n}"), level[0]);
    }
    netlist
}

fn choose(netlist: &mut Netlist, by: Wire, zero: Wire, one: Wire) -> Wire {
    let (low, high) = (netlist.gate(Gate::NOT_A_AND_B, by, zero), netlist.gate(Gate::AND, by, one));
    netlist.gate(Gate::OR, low, high)
}
