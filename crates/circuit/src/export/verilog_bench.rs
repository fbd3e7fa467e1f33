//! Test benches in Verilog: the bench makes the stimulus, our simulator provides the expected values, and the
//! exit status is nonzero if a single bit differs.
//!
//! Circuits with few inputs are tested with all combinations, others with random ones.

use std::fmt::Write;

use super::names::{HardwarePort, HardwarePorts};
use super::stimulus::{SEED, Xorshift, hexadecimal};
use crate::automaton::Automaton;
use crate::file::Circuit;
use crate::netlist::Netlist;
use crate::simulate::{Grid, Simulator};

/// Most inputs for which all combinations are tested.
const ALL_INPUTS: usize = 12;
/// Most and fewest random vectors.
const VECTORS: (usize, usize) = (100_000, 64);
/// Most gates times vectors of a bench; an event-driven simulator handles some millions per second.
const EVENTS: usize = 10_000_000;
/// Most bits of expected values in a bench.
const EXPECTED: usize = 4_000_000;
/// Bits per row of expected values in the file.
const ROW: usize = 4096;

pub(super) fn write(circuit: &Circuit, name: &str) -> String {
    match circuit {
        Circuit::Netlist(netlist) => netlist_bench(netlist, name),
        Circuit::Automaton(automaton) => grid_bench(automaton, name),
    }
}

fn netlist_bench(netlist: &Netlist, name: &str) -> String {
    let (inputs, outputs) = (netlist.inputs.len(), netlist.outputs.len());
    let sequential = !netlist.registers.is_empty();
    let all = !sequential && inputs <= ALL_INPUTS;
    let vectors = match all {
        true => 1 << inputs,
        false => {
            VECTORS.0.min(EVENTS / (netlist.gates.len() + 1)).min(EXPECTED / outputs.max(1)).max(VECTORS.1)
        }
    };
    let expected = match (all, sequential) {
        (true, _) => every(netlist),
        (_, false) => at_random(netlist, vectors),
        (_, true) => in_sequence(netlist, vectors),
    };
    let HardwarePorts { input_ports, output_ports, .. } = HardwarePorts::of(netlist, name, true);
    let mut ports: Vec<String> = match sequential {
        true => vec![".clk(clk)".into(), ".rst(rst)".into()],
        false => vec![],
    };
    ports.extend(connected(&input_ports, "given"));
    ports.extend(connected(&output_ports, "made"));
    let bench = TestBench {
        module: name,
        tested: format!("{name} tested (\n        {}\n    );", ports.join(",\n        ")),
        given: inputs.max(1),
        made: outputs.max(1),
        vectors,
        start: if sequential {
            "rst = 1;\n        #1 clk = 1;\n        #1 clk = 0;\n        rst = 0;\n        "
        } else {
            ""
        },
        stimulus: if all { "given = vector;".into() } else { draw("given", inputs) },
        after: if sequential { "#1 clk = 1;\n            #1 clk = 0;\n            " } else { "" },
    };
    bench.write(&expected)
}

/// Ports connected to consecutive bits of a signal.
fn connected(ports: &[HardwarePort], signal: &str) -> Vec<String> {
    let mut first = 0;
    let one = |HardwarePort { name, width }: &HardwarePort| {
        let bits = width.unwrap_or(1);
        first += bits;
        match width {
            Some(_) => format!(".{name}({signal}[{}:{}])", first - 1, first - bits),
            None => format!(".{name}({signal}[{}])", first - 1),
        }
    };
    ports.iter().map(one).collect()
}

/// The parts in which benches differ.
struct TestBench<'a> {
    module: &'a str,
    tested: String,
    given: usize,
    made: usize,
    vectors: usize,
    /// The initial statements.
    start: &'a str,
    /// Makes the stimulus of a vector; the outputs are checked after it.
    stimulus: String,
    /// Statements after a vector.
    after: &'a str,
}

impl TestBench<'_> {
    /// `expected` has the outputs of all vectors, concatenated.
    fn write(&self, expected: &[bool]) -> String {
        let TestBench { module, tested, given, made, vectors, start, stimulus, after } = self;
        // Rows hold whole vectors.
        let in_row = (ROW / made).max(1);
        let rows = vectors.div_ceil(in_row);
        let mut text = String::with_capacity(4096 + expected.len() / 3);
        write!(
            text,
            "// Checks {module} on {vectors} vectors. Run: iverilog -o {module} {module}.v {module}_tb.v && vvp {module}\n\
             `timescale 1ns / 1ns\nmodule {module}_tb;\n    \
             localparam VECTORS = {vectors};\n    \
             reg clk = 0;\n    reg rst = 0;\n    \
             reg [{}:0] given = 0;\n    wire [{}:0] made;\n    reg [{}:0] wanted;\n    \
             reg [{}:0] rows [0:{}];\n    reg [63:0] word = 64'h{SEED:016x};\n    \
             integer vector, errors;\n    {tested}\n",
            given - 1,
            made - 1,
            made - 1,
            in_row * made - 1,
            rows - 1,
        )
        .expect("a string");
        text.push_str(
            "    task draw;\n        begin\n            word = word ^ (word << 13);\n            \
             word = word ^ (word >> 7);\n            word = word ^ (word << 17);\n        end\n    endtask\n    \
             initial begin\n",
        );
        for (n, row) in expected.chunks(in_row * made).enumerate() {
            writeln!(text, "        rows[{n}] = {}'h{};", in_row * made, hexadecimal(row)).expect("a string");
        }
        write!(
            text,
            "        errors = 0;\n        {start}\
             for (vector = 0; vector < VECTORS; vector = vector + 1) begin\n            \
             {stimulus}\n            #1;\n            \
             wanted = rows[vector / {in_row}][vector % {in_row} * {made} +: {made}];\n            \
             if (made !== wanted) begin\n                errors = errors + 1;\n                \
             if (errors <= 10) $display(\"FAIL vector %0d: given %h, made %h, wanted %h\", vector, given, made, wanted);\n            \
             end\n            {after}\
             end\n        \
             if (errors != 0) begin\n            $display(\"FAIL: %0d of %0d vectors\", errors, VECTORS);\n\
             `ifdef __ICARUS__\n            $finish_and_return(1);\n`else\n            $fatal;\n`endif\n        \
             end else begin\n            $display(\"PASS: %0d vectors\", VECTORS);\n            $finish;\n        \
             end\n    end\nendmodule\n"
        )
        .expect("a string");
        text
    }
}

/// Statements that set a signal to random bits, 64 at a time.
fn draw(signal: &str, bits: usize) -> String {
    let mut text = String::new();
    for first in (0..bits).step_by(64) {
        let count = (bits - first).min(64);
        write!(text, "draw; {signal}[{first} +: {count}] = word[{}:0]; ", count - 1).expect("a string");
    }
    text
}

/// The outputs for all inputs.
fn every(netlist: &Netlist) -> Vec<bool> {
    let table = Simulator::new(netlist).expect("checked").truth_table();
    bits_of(&table, 1 << netlist.inputs.len())
}

/// Planes as bits, sample by sample.
fn bits_of(planes: &[Vec<u64>], samples: usize) -> Vec<bool> {
    let bit = |sample: usize| planes.iter().map(move |plane| plane[sample / 64] >> (sample % 64) & 1 == 1);
    let bits: Vec<bool> = (0..samples).flat_map(bit).collect();
    if planes.is_empty() { vec![false; samples] } else { bits }
}

/// The outputs for the bench's random inputs.
fn at_random(netlist: &Netlist, vectors: usize) -> Vec<bool> {
    let mut random = Xorshift(SEED);
    let mut planes = vec![vec![0u64; vectors.div_ceil(64)]; netlist.inputs.len()];
    for vector in 0..vectors {
        for (plane, bit) in planes.iter_mut().zip(random.bits(netlist.inputs.len())) {
            plane[vector / 64] |= (bit as u64) << (vector % 64);
        }
    }
    let inputs: Vec<&[u64]> = planes.iter().map(Vec::as_slice).collect();
    bits_of(&Simulator::new(netlist).expect("checked").run(&inputs), vectors)
}

/// The outputs for the bench's random inputs, step by step.
fn in_sequence(netlist: &Netlist, vectors: usize) -> Vec<bool> {
    let simulator = Simulator::new(netlist).expect("checked");
    let (mut random, mut state) = (Xorshift(SEED), simulator.start(1));
    let mut expected = vec![];
    for _ in 0..vectors {
        let words: Vec<[u64; 1]> =
            random.bits(netlist.inputs.len()).into_iter().map(|bit| [bit as u64]).collect();
        let inputs: Vec<&[u64]> = words.iter().map(|word| &word[..]).collect();
        expected.extend(bits_of(&simulator.step(&mut state, &inputs), 1));
    }
    expected
}

/// A bench that runs a small grid: vector 0 loads a random state, the others are steps.
fn grid_bench(automaton: &Automaton, name: &str) -> String {
    let channels = automaton.channels;
    let (width, height, vectors) = if automaton.cell.gates.len() <= 2000 { (12, 10, 32) } else { (5, 4, 16) };
    let (cells, asynchronous) = (width * height, automaton.fire_rate < 1.0);
    let mut random = Xorshift(SEED);
    let mut grid = Grid::new(automaton, width, height).expect("checked, and small");
    let start = random.bits(cells * channels);
    for (place, &bit) in start.iter().enumerate() {
        let (cell, channel) = (place / channels, place % channels);
        grid.set(channel, cell % width, cell / width, bit);
    }
    let mut expected = vec![];
    for _ in 0..vectors {
        for cell in 0..cells {
            expected.extend((0..channels).map(|channel| grid.get(channel, cell % width, cell / width)));
        }
        let fire = if asynchronous { random.bits(cells) } else { vec![true; cells] };
        let mut mask = vec![0; height];
        for (cell, _) in fire.iter().enumerate().filter(|&(_, &fires)| fires) {
            mask[cell / width] |= 1u64 << (cell % width);
        }
        grid.step_firing(&mask);
    }
    let fire = if asynchronous { format!("\n    reg [{}:0] fire;", cells - 1) } else { String::new() };
    let port = if asynchronous { ", .fire(fire)" } else { "" };
    let tested = format!(
        "reg load;{fire}\n    \
         {name} #(.WIDTH({width}), .HEIGHT({height})) tested (.clk(clk), .load(load), .start(given){port}, .state(made));"
    );
    let bits = cells * channels;
    let start = format!(
        "load = 1;\n        {}\n        #1 clk = 1;\n        #1 clk = 0;\n        load = 0;\n        ",
        draw("given", bits)
    );
    let stimulus = if asynchronous { draw("fire", cells) } else { String::new() };
    let after = "#1 clk = 1;\n            #1 clk = 0;\n            ";
    TestBench { module: name, tested, given: bits, made: bits, vectors, start: &start, stimulus, after }
        .write(&expected)
}
