//! Rust: a function on words of 64 samples, in pieces that compile quickly.
//!
//! With `--cfg farad_test` the file is a program that reads and writes like the one in C.

use std::fmt::Write;

use super::meaning::{InputSource, Meaning};
use super::straight::{StraightLanguage, StraightProgram, heading, legend, operand, push_circuit};
use crate::automaton::{Automaton, Edge};
use crate::file::Circuit;
use crate::netlist::{Netlist, Wire};

const RUST: StraightLanguage =
    StraightLanguage { declare: "let", declare_sources: false, not: "!", zero: "0u64", one: "!0u64" };

pub(super) fn write(circuit: &Circuit, name: &str) -> String {
    let netlist = circuit.netlist();
    let mut text = String::with_capacity(4096 + 48 * netlist.wires());
    text.push_str(&heading(netlist, name, "//!"));
    let meaning = Meaning::of(netlist);
    push_usage(&mut text, circuit, name, meaning.as_ref());
    text.push_str("//! A word holds 64 samples, one per bit. The order of words:\n//!\n//! ```text\n");
    match &meaning {
        Some(meaning) => text.push_str(&meaning.legend("//!", |n| format!("inputs[{n}]"))),
        None => text.push_str(&legend(netlist, "//!")),
    }
    text.push_str("//! ```\n");
    text.push_str("#![allow(clippy::all, non_snake_case, unexpected_cfgs, unused)]\n\n");
    let (inputs, outputs, registers) = (netlist.inputs.len(), netlist.outputs.len(), netlist.registers.len());
    write!(
        text,
        "/// Words of inputs.\npub const INPUTS: usize = {inputs};\n/// Words of outputs.\npub const OUTPUTS: usize = {outputs};\n\
         /// Words of registers.\npub const REGISTERS: usize = {registers};\n"
    )
    .expect("a string");
    push_circuit(&mut text, circuit, name, [push_function, push_filter], [push_step, push_player]);
    text
}

/// How to call it, at the top of the file.
fn push_usage(text: &mut String, circuit: &Circuit, name: &str, meaning: Option<&Meaning>) {
    let lines = match (circuit, meaning) {
        (_, Some(meaning)) => {
            let sample = match &meaning.source {
                InputSource::Columns(_) => meaning.example().join(", "),
                InputSource::Pixels(_) => "&pixels".into(),
            };
            vec![
                format!("let number = {name}::{name}_class({sample});"),
                format!("println!(\"{{}}\", {name}::CLASSES[number]);"),
            ]
        }
        (Circuit::Automaton(_), None) => {
            vec![format!("{name}::{name}_step(&state, &mut next, width, height, None);")]
        }
        (Circuit::Netlist(netlist), None) => {
            let (state, argument) = match netlist.registers.is_empty() {
                true => (String::new(), ""),
                false => (format!(" let mut registers = {name}::START;"), "&mut registers, "),
            };
            vec![
                format!("let (inputs, mut outputs) = ([0; {name}::INPUTS], [0; {name}::OUTPUTS]);{state}"),
                format!("{name}::{name}({argument}&inputs, &mut outputs);"),
            ]
        }
    };
    writeln!(text, "//!\n//! Use, as `{name}.rs` beside `main.rs`:\n//!\n//! ```ignore\n//! mod {name};")
        .expect("a string");
    lines.iter().for_each(|line| writeln!(text, "//! {line}").expect("a string"));
    text.push_str("//! ```\n//!\n");
}

/// The class of one sample.
fn push_class(text: &mut String, meaning: &Meaning, name: &str) {
    let features = meaning.features();
    let (parameters, values) = match &meaning.source {
        InputSource::Columns(columns) => {
            let parameters: Vec<String> = columns.iter().map(|(_, name)| format!("{name}: f32")).collect();
            let names: Vec<&str> = columns.iter().map(|(_, name)| name.as_str()).collect();
            (parameters.join(", "), format!("[{}]", names.join(", ")))
        }
        InputSource::Pixels(_) => (format!("pixels: &[u8; {features}]"), "pixels.map(f32::from)".into()),
    };
    write!(
        text,
        "\n/// The names of the classes.\npub const CLASSES: [&str; {}] = [{}];\n\n\
         /// Where the inputs' thresholds lie.\npub const THRESHOLDS: [f32; INPUTS] = [\n{}\n];\n\n\
         /// The class of one sample, as a number: see [`CLASSES`].\npub fn {name}_class({parameters}) -> usize {{\n    \
         let values: [f32; {features}] = {values};\n    \
         let inputs = std::array::from_fn(|n| (values[n / {}] >= THRESHOLDS[n]) as u64);\n    \
         let mut outputs = [0; OUTPUTS];\n    \
         {name}(&inputs, &mut outputs);\n    \
         (0..OUTPUTS).map(|n| ((outputs[n] & 1) as usize) << n).sum()\n}}\n",
        meaning.classes.len(),
        meaning.class_literals(),
        meaning.literals(""),
        meaning.levels,
    )
    .expect("a string");
}

fn push_function(text: &mut String, netlist: &Netlist, name: &str) {
    let program = StraightProgram::new(netlist);
    let operand = operand(netlist);
    let parameters = match netlist.registers.is_empty() {
        true => "inputs: &[u64; INPUTS]",
        false => "registers: &[u64; REGISTERS], inputs: &[u64; INPUTS]",
    };
    if program.kept > 0 {
        writeln!(text, "const KEPT: usize = {};", program.kept).expect("a string");
        for n in 0..program.pieces.len() {
            writeln!(text, "\n#[inline(never)]\nfn {name}_piece_{n}({parameters}, s: &mut [u64; KEPT]) {{")
                .expect("a string");
            program.push(text, &RUST, n, &operand);
            text.push_str("}\n");
        }
    }
    if netlist.registers.is_empty() {
        writeln!(
            text,
            "\n/// Outputs for inputs.\npub fn {name}({parameters}, outputs: &mut [u64; OUTPUTS]) {{"
        )
        .expect("a string");
    } else {
        let initial: Vec<&str> =
            netlist.registers.iter().map(|register| if register.initial { "!0" } else { "0" }).collect();
        writeln!(
            text,
            "\n/// Registers as they are at the start.\npub const START: [u64; REGISTERS] = [{}];\n\n\
             /// One step: outputs for inputs and the present registers, which then move on.\n\
             pub fn {name}(registers: &mut [u64; REGISTERS], inputs: &[u64; INPUTS], outputs: &mut [u64; OUTPUTS]) {{",
            initial.join(", ")
        )
        .expect("a string");
    }
    push_body(text, &program, name, &operand);
    text.push_str("}\n");
    if let Some(meaning) = Meaning::of(netlist) {
        push_class(text, &meaning, name);
    }
}

fn push_body(
    text: &mut String,
    program: &StraightProgram<'_>,
    name: &str,
    operand: &impl Fn(&mut String, Wire),
) {
    let netlist = program.netlist;
    if program.kept > 0 {
        text.push_str("    let mut s = [0u64; KEPT];\n");
        let arguments = if netlist.registers.is_empty() { "inputs" } else { "registers, inputs" };
        for n in 0..program.pieces.len() {
            writeln!(text, "    {name}_piece_{n}({arguments}, &mut s);").expect("a string");
        }
    } else {
        (0..program.pieces.len()).for_each(|n| program.push(text, &RUST, n, operand));
    }
    program.push_results(text, &RUST, operand);
}

/// A program that reads inputs and writes outputs.
fn push_filter(text: &mut String, netlist: &Netlist, name: &str) {
    let (state, argument) = match netlist.registers.is_empty() {
        true => ("", ""),
        false => ("    let mut registers = START;\n", "&mut registers, "),
    };
    write!(
        text,
        "\n#[cfg(farad_test)]\nfn main() -> std::io::Result<()> {{\n    \
         use std::io::{{Read, Write}};\n    \
         let (mut given, mut made) = (vec![], vec![]);\n    \
         std::io::stdin().read_to_end(&mut given)?;\n{state}    \
         let mut outputs = [0; OUTPUTS];\n    \
         for frame in given.chunks_exact(8 * INPUTS.max(1)) {{\n        \
         let word = |n: usize| u64::from_ne_bytes(frame[8 * n..8 * n + 8].try_into().unwrap());\n        \
         let inputs: [u64; INPUTS] = std::array::from_fn(word);\n        \
         {name}({argument}&inputs, &mut outputs);\n        \
         outputs.iter().for_each(|word| made.extend(word.to_ne_bytes()));\n    }}\n    \
         std::io::stdout().write_all(&made)\n}}\n"
    )
    .expect("a string");
}

/// A step of a grid of booleans.
fn push_step(text: &mut String, automaton: &Automaton, name: &str) {
    let channels = automaton.channels;
    let neighbor = match automaton.edge {
        Edge::Wrap => {
            "                        let u = (first + k + width + p % 3 - 1) % width;\n                        \
             let v = (y + height + p / 3 - 1) % height;\n                        \
             let set = state[(c * height + v) * width + u];\n"
        }
        Edge::Zero => {
            "                        let (u, v) = (first + k + p % 3, y + p / 3);\n                        \
             let inside = u >= 1 && u <= width && v >= 1 && v <= height;\n                        \
             let set = inside && state[(c * height + v - 1) * width + u - 1];\n"
        }
    };
    write!(
        text,
        "\n/// One step of a grid: bit `c` of the cell at (x, y) is at `(c * height + y) * width + x`. If `fire` is\n\
         /// given, only cells at (x, y) with `fire[y * width + x]` change.\n\
         pub fn {name}_step(state: &[bool], next: &mut [bool], width: usize, height: usize, fire: Option<&[bool]>) {{\n    \
         for y in 0..height {{\n        \
         for first in (0..width).step_by(64) {{\n            \
         let cells = (width - first).min(64);\n            \
         let (mut inputs, mut outputs) = ([0u64; INPUTS], [0u64; OUTPUTS]);\n            \
         for p in 0..9 {{\n                \
         for c in 0..{channels} {{\n                    \
         for k in 0..cells {{\n{neighbor}                        \
         inputs[p * {channels} + c] |= (set as u64) << k;\n                    \
         }}\n                }}\n            }}\n            \
         {name}_cell(&inputs, &mut outputs);\n            \
         for c in 0..{channels} {{\n                \
         for k in 0..cells {{\n                    \
         let (at, bit) = (y * width + first + k, (c * height + y) * width + first + k);\n                    \
         next[bit] = if fire.is_none_or(|fire| fire[at]) {{ outputs[c] >> k & 1 == 1 }} else {{ state[bit] }};\n                \
         }}\n            }}\n        }}\n    }}\n}}\n"
    )
    .expect("a string");
}

/// A program that runs a grid.
fn push_player(text: &mut String, automaton: &Automaton, name: &str) {
    let channels = automaton.channels;
    let fire = match automaton.fire_rate < 1.0 {
        true => "Some(&cells[bits + step * size..][..size])",
        false => "None",
    };
    write!(
        text,
        "\n#[cfg(farad_test)]\nfn main() -> std::io::Result<()> {{\n    \
         use std::io::{{Read, Write}};\n    \
         let mut text = String::new();\n    \
         std::io::stdin().read_to_string(&mut text)?;\n    \
         let cells: Vec<bool> = text.bytes().map(|byte| byte == b'1').collect();\n    \
         let numbers: Vec<usize> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();\n    \
         let [width, height, steps] = numbers[..] else {{ std::process::exit(2) }};\n    \
         let (size, bits) = (width * height, {channels} * width * height);\n    \
         let mut state = cells[..bits].to_vec();\n    \
         let mut next = state.clone();\n    \
         for step in 0..steps {{\n        \
         {name}_step(&state, &mut next, width, height, {fire});\n        \
         state.copy_from_slice(&next);\n    }}\n    \
         let made: Vec<u8> = state.iter().map(|&bit| b'0' + bit as u8).collect();\n    \
         std::io::stdout().write_all(&made)\n}}\n"
    )
    .expect("a string");
}
