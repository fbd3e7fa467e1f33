//! WGSL: a compute shader on words of 32 samples or cells.
//!
//! Small circuits are one function; larger ones are several functions that pass values in a private array.

use std::fmt::Write;

use super::meaning::Meaning;
use super::straight::{StraightLanguage, StraightProgram, heading, legend};
use crate::automaton::{Automaton, Edge};
use crate::file::Circuit;
use crate::netlist::{Netlist, Wire};

const WGSL: StraightLanguage =
    StraightLanguage { declare: "let", declare_sources: true, not: "~", zero: "0u", one: "4294967295u" };

pub(super) fn write(circuit: &Circuit, name: &str) -> String {
    let netlist = circuit.netlist();
    let mut text = String::with_capacity(4096 + 48 * netlist.wires());
    text.push_str(&heading(netlist, name, "//"));
    match circuit {
        Circuit::Netlist(netlist) => push_netlist(&mut text, netlist),
        Circuit::Automaton(automaton) => push_automaton(&mut text, automaton),
    }
    text
}

fn push_netlist(text: &mut String, netlist: &Netlist) {
    let (inputs, outputs) = (netlist.inputs.len(), netlist.outputs.len());
    let registers = if netlist.registers.is_empty() { "" } else { ", 2 the registers, which stay" };
    writeln!(
        text,
        "// Use: a compute pipeline of `main`; binding 0 holds the inputs, 1 takes the outputs{registers}.\n\
         // One invocation a word: dispatch ceil(words / 64) workgroups.\n\
         // A word holds 32 samples, one per bit. Each array holds all words of its first signal, then of the next:"
    )
    .expect("a string");
    match Meaning::of(netlist) {
        Some(meaning) => text.push_str(&meaning.legend("//", |n| format!("inputs[{n}]"))),
        None => text.push_str(&legend(netlist, "//")),
    }
    text.push_str(
        "\n\
         @group(0) @binding(0) var<storage, read> inputs: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> outputs: array<u32>;\n",
    );
    if !netlist.registers.is_empty() {
        text.push_str("@group(0) @binding(2) var<storage, read_write> registers: array<u32>;\n");
    }
    text.push_str("\nvar<private> word: u32;\nvar<private> words: u32;\n");
    let operand = move |text: &mut String, wire: Wire| {
        match wire.index().checked_sub(inputs) {
            None => write!(text, "inputs[{}u * words + word]", wire.0),
            Some(register) => write!(text, "registers[{register}u * words + word]"),
        }
        .expect("a string");
    };
    let program = StraightProgram::new(netlist);
    push_pieces(text, &program, &operand);
    // The number of words is that of the outputs, or of the inputs if there are no outputs.
    let (array, signals) = if outputs > 0 { ("outputs", outputs) } else { ("inputs", inputs.max(1)) };
    write!(
        text,
        "\n@compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         words = arrayLength(&{array}) / {signals}u;\n    word = id.x;\n    \
         if word >= words {{\n        return;\n    }}\n"
    )
    .expect("a string");
    push_calls(text, &program, &operand);
    for (n, register) in netlist.registers.iter().enumerate() {
        write!(text, "    let n{n} = ").expect("a string");
        program.push_root(text, register.next, &operand);
        text.push_str(";\n");
    }
    for (n, output) in netlist.outputs.iter().enumerate() {
        write!(text, "    outputs[{n}u * words + word] = ").expect("a string");
        program.push_root(text, output.wire, &operand);
        text.push_str(";\n");
    }
    for n in 0..netlist.registers.len() {
        writeln!(text, "    registers[{n}u * words + word] = n{n};").expect("a string");
    }
    text.push_str("}\n");
}

fn push_automaton(text: &mut String, automaton: &Automaton) {
    let channels = automaton.channels;
    let asynchronous = automaton.fire_rate < 1.0;
    text.push_str(
        "// Use: a compute pipeline of `main`, one dispatch per step; then `state` and `next` change places.\n\
         // One step of a grid. A word holds 32 cells of a row, the leftmost in its lowest bit; a row has\n\
         // ceil(width / 32) words, bits beyond the width are zero; a channel is its rows from the top.\n\
         // One invocation a word: dispatch ceil(row words / 8) x ceil(height / 8) workgroups.\n\n\
         struct Size {\n    width: u32,\n    height: u32,\n}\n\n\
         @group(0) @binding(0) var<uniform> size: Size;\n\
         @group(0) @binding(1) var<storage, read> state: array<u32>;\n\
         @group(0) @binding(2) var<storage, read_write> next: array<u32>;\n",
    );
    if asynchronous {
        text.push_str("// The cells that change, packed like a channel.\n");
        text.push_str("@group(0) @binding(3) var<storage, read> fire: array<u32>;\n");
    }
    text.push_str("\nvar<private> word: u32;\nvar<private> row: u32;\nvar<private> row_words: u32;\n\n");
    text.push_str(match automaton.edge {
        Edge::Zero => ZERO,
        Edge::Wrap => WRAP,
    });
    let operand = move |text: &mut String, wire: Wire| {
        let (position, channel) = (wire.index() / channels, wire.index() % channels);
        write!(text, "neighbor({}, {}, {channel}u)", position % 3, position / 3).expect("a string");
    };
    let program = StraightProgram::new(&automaton.cell);
    push_pieces(text, &program, &operand);
    text.push_str(
        "\n@compute @workgroup_size(8, 8)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {\n    \
         row_words = (size.width + 31u) / 32u;\n    word = id.x;\n    row = id.y;\n    \
         if word >= row_words || row >= size.height {\n        return;\n    }\n    \
         let plane = row_words * size.height;\n    let place = row * row_words + word;\n    \
         let rest = size.width - word * 32u;\n    \
         var cells = 4294967295u;\n    if rest < 32u {\n        cells = (1u << rest) - 1u;\n    }\n",
    );
    if asynchronous {
        text.push_str("    let fires = fire[place];\n");
    }
    push_calls(text, &program, &operand);
    for (n, output) in automaton.cell.outputs.iter().enumerate() {
        write!(text, "    let o{n} = ").expect("a string");
        program.push_root(text, output.wire, &operand);
        text.push_str(";\n");
        let made = match asynchronous {
            true => format!("((o{n} & fires) | (state[{n}u * plane + place] & ~fires))"),
            false => format!("o{n}"),
        };
        writeln!(text, "    next[{n}u * plane + place] = {made} & cells;").expect("a string");
    }
    text.push_str("}\n");
}

/// Neighbors beyond the edge are zero.
const ZERO: &str = "\
// The words of the neighbors to the left (x = 0) or right (x = 2), above (y = 0) or below (y = 2).
fn neighbor(x: i32, y: i32, channel: u32) -> u32 {
    let v = i32(row) + y - 1;
    if v < 0 || v >= i32(size.height) {
        return 0u;
    }
    let first = (channel * size.height + u32(v)) * row_words;
    var made = state[first + word];
    if x == 0 {
        made = made << 1u;
        if word > 0u {
            made = made | (state[first + word - 1u] >> 31u);
        }
    } else if x == 2 {
        made = made >> 1u;
        if word + 1u < row_words {
            made = made | (state[first + word + 1u] << 31u);
        }
    }
    return made;
}
";

/// Neighbors beyond the edge are on the opposite side.
const WRAP: &str = "\
// The words of the neighbors to the left (x = 0) or right (x = 2), above (y = 0) or below (y = 2).
fn neighbor(x: i32, y: i32, channel: u32) -> u32 {
    let v = (row + size.height + u32(y) - 1u) % size.height;
    let first = (channel * size.height + v) * row_words;
    let last = (size.width - 1u) % 32u;
    var made = state[first + word];
    if x == 0 {
        made = made << 1u;
        if word > 0u {
            made = made | (state[first + word - 1u] >> 31u);
        } else {
            made = made | ((state[first + row_words - 1u] >> last) & 1u);
        }
    } else if x == 2 {
        made = made >> 1u;
        if word + 1u < row_words {
            made = made | (state[first + word + 1u] << 31u);
        } else {
            made = made | ((state[first] & 1u) << last);
        }
    }
    return made;
}
";

fn push_pieces(text: &mut String, program: &StraightProgram<'_>, operand: &impl Fn(&mut String, Wire)) {
    if program.kept > 0 {
        writeln!(text, "var<private> s: array<u32, {}>;", program.kept).expect("a string");
        for n in 0..program.pieces.len() {
            writeln!(text, "\nfn piece_{n}() {{").expect("a string");
            program.push(text, &WGSL, n, operand);
            text.push_str("}\n");
        }
    }
}

fn push_calls(text: &mut String, program: &StraightProgram<'_>, operand: &impl Fn(&mut String, Wire)) {
    if program.kept > 0 {
        (0..program.pieces.len()).for_each(|n| writeln!(text, "    piece_{n}();").expect("a string"));
    } else {
        (0..program.pieces.len()).for_each(|n| program.push(text, &WGSL, n, operand));
    }
}
