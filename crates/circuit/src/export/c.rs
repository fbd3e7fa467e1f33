//! C: a function on words of 64 samples, in pieces that compile quickly.
//!
//! With `FARAD_TEST` defined the file is a program. A netlist reads words of inputs from its standard input
//! and writes words of outputs. An automaton takes width, height and steps as arguments. It reads and writes
//! cells as the characters 0 and 1, channel by channel. For an asynchronous automaton the cells that fire
//! follow, step by step.

use std::fmt::Write;

use super::meaning::{InputSource, Meaning};
use super::straight::{StraightLanguage, StraightProgram, heading, legend, operand, push_circuit};
use crate::automaton::{Automaton, Edge};
use crate::file::Circuit;
use crate::netlist::{Netlist, Wire};

const C: StraightLanguage = StraightLanguage {
    declare: "const uint64_t",
    declare_sources: false,
    not: "~",
    zero: "0",
    one: "~UINT64_C(0)",
};

pub(super) fn write(circuit: &Circuit, name: &str) -> String {
    let netlist = circuit.netlist();
    let mut text = String::with_capacity(4096 + 48 * netlist.wires());
    text.push_str(&heading(netlist, name, "//"));
    let meaning = Meaning::of(netlist);
    push_usage(&mut text, circuit, name, meaning.as_ref());
    text.push_str("// A word holds 64 samples, one per bit. The order of words:\n");
    match &meaning {
        Some(meaning) => text.push_str(&meaning.legend("//", |n| format!("inputs[{n}]"))),
        None => text.push_str(&legend(netlist, "//")),
    }
    write!(text, "#include \"{name}.h\"\n\n").expect("a string");
    push_circuit(&mut text, circuit, name, [push_function, push_filter], [push_step, push_player]);
    text
}

/// How to call it, at the top of the file.
fn push_usage(text: &mut String, circuit: &Circuit, name: &str, meaning: Option<&Meaning>) {
    let big = name.to_uppercase();
    let lines = match (circuit, meaning) {
        (_, Some(meaning)) => {
            let sample = match &meaning.source {
                InputSource::Columns(_) => {
                    meaning.example().iter().map(|x| format!("{x}f")).collect::<Vec<_>>().join(", ")
                }
                InputSource::Pixels(_) => "pixels".into(),
            };
            vec![format!("int number = {name}_class({sample});"), format!("puts({name}_classes[number]);")]
        }
        (Circuit::Automaton(_), None) => {
            vec![format!("{name}_step(state, next, width, height, NULL);")]
        }
        (Circuit::Netlist(netlist), None) => {
            let (state, reset, argument) = match netlist.registers.is_empty() {
                true => (String::new(), String::new(), ""),
                false => (
                    format!(", registers[{big}_REGISTERS]"),
                    format!(" {name}_reset(registers);"),
                    "registers, ",
                ),
            };
            vec![
                format!("uint64_t inputs[{big}_INPUTS] = {{0}}, outputs[{big}_OUTPUTS]{state};{reset}"),
                format!("{name}({argument}inputs, outputs);"),
            ]
        }
    };
    writeln!(text, "// Use: cc -O2 -c {name}.c, then in a program:\n//   #include \"{name}.h\"")
        .expect("a string");
    lines.iter().for_each(|line| writeln!(text, "//   {line}").expect("a string"));
}

/// The parameters of the class function: a number per column, or the bytes of a picture.
pub(super) fn class_parameters(meaning: &Meaning) -> String {
    match &meaning.source {
        InputSource::Columns(columns) => {
            columns.iter().map(|(_, name)| format!("float {name}")).collect::<Vec<_>>().join(", ")
        }
        InputSource::Pixels(_) => format!("const uint8_t pixels[{}]", meaning.features()),
    }
}

/// The parameters of the function on words.
pub(super) fn function_parameters(netlist: &Netlist) -> &'static str {
    match netlist.registers.is_empty() {
        true => "const uint64_t *inputs, uint64_t *outputs",
        false => "uint64_t *registers, const uint64_t *inputs, uint64_t *outputs",
    }
}

/// The class of one sample.
fn push_class(text: &mut String, meaning: &Meaning, name: &str) {
    let (bits, features) = (meaning.thresholds.len(), meaning.features());
    let outputs = meaning.classes.len().next_power_of_two().trailing_zeros();
    let values = match &meaning.source {
        InputSource::Columns(columns) => {
            let names: Vec<&str> = columns.iter().map(|(_, name)| name.as_str()).collect();
            format!("    const float values[{features}] = {{{}}};\n", names.join(", "))
        }
        InputSource::Pixels(_) => "    const uint8_t *values = pixels;\n".into(),
    };
    write!(
        text,
        "const char *const {name}_classes[{}] = {{{}}};\n\n\
         static const float {name}_thresholds[{bits}] = {{\n{}\n}};\n\n\
         // The class of one sample.\nint {name}_class({})\n{{\n{values}    \
         uint64_t inputs[{bits}], outputs[{outputs}];\n    \
         for (size_t n = 0; n < {bits}; n++)\n        \
         inputs[n] = (float)values[n / {}] >= {name}_thresholds[n];\n    \
         {name}(inputs, outputs);\n    int number = 0;\n    \
         for (size_t n = 0; n < {outputs}; n++)\n        \
         number |= (int)(outputs[n] & 1) << n;\n    return number;\n}}\n\n",
        meaning.classes.len(),
        meaning.class_literals(),
        meaning.literals("f"),
        class_parameters(meaning),
        meaning.levels,
    )
    .expect("a string");
}

fn push_function(text: &mut String, netlist: &Netlist, name: &str) {
    let program = StraightProgram::new(netlist);
    let operand = operand(netlist);
    let parameters = match netlist.registers.is_empty() {
        true => "const uint64_t *inputs",
        false => "const uint64_t *registers, const uint64_t *inputs",
    };
    let unused = match netlist.registers.is_empty() {
        true => "    (void)inputs;",
        false => "    (void)registers;\n    (void)inputs;",
    };
    if program.kept > 0 {
        // A compiler that inlined all pieces into one function would take minutes.
        text.push_str(
            "#ifdef __GNUC__\n#define FARAD_APART static __attribute__((noinline))\n#else\n\
             #define FARAD_APART static\n#endif\n\n",
        );
        for n in 0..program.pieces.len() {
            writeln!(text, "FARAD_APART void {name}_piece_{n}({parameters}, uint64_t *s)\n{{\n{unused}")
                .expect("a string");
            program.push(text, &C, n, &operand);
            text.push_str("}\n\n");
        }
    }
    if netlist.registers.is_empty() {
        writeln!(text, "// Outputs for inputs.\nvoid {name}({})\n{{", function_parameters(netlist))
            .expect("a string");
    } else {
        push_reset(text, netlist, name);
        writeln!(
            text,
            "// One step: outputs for inputs and the present registers, which then move on.\n\
             void {name}({})\n{{",
            function_parameters(netlist)
        )
        .expect("a string");
    }
    push_body(text, &program, name, &operand);
    text.push_str("}\n\n");
    if let Some(meaning) = Meaning::of(netlist) {
        push_class(text, &meaning, name);
    }
}

fn push_reset(text: &mut String, netlist: &Netlist, name: &str) {
    writeln!(text, "// Registers as they are at the start.\nvoid {name}_reset(uint64_t *registers)\n{{")
        .expect("a string");
    for (n, register) in netlist.registers.iter().enumerate() {
        writeln!(text, "    registers[{n}] = {};", if register.initial { C.one } else { C.zero })
            .expect("a string");
    }
    text.push_str("}\n\n");
}

fn push_body(
    text: &mut String,
    program: &StraightProgram<'_>,
    name: &str,
    operand: &impl Fn(&mut String, Wire),
) {
    let netlist = program.netlist;
    text.push_str("    (void)inputs;\n    (void)outputs;\n");
    if program.kept > 0 {
        writeln!(text, "    uint64_t s[{}];", program.kept).expect("a string");
        let arguments = if netlist.registers.is_empty() { "inputs" } else { "registers, inputs" };
        for n in 0..program.pieces.len() {
            writeln!(text, "    {name}_piece_{n}({arguments}, s);").expect("a string");
        }
    } else {
        (0..program.pieces.len()).for_each(|n| program.push(text, &C, n, operand));
    }
    program.push_results(text, &C, operand);
}

/// A program that reads inputs and writes outputs.
fn push_filter(text: &mut String, netlist: &Netlist, name: &str) {
    let (inputs, outputs, registers) = (netlist.inputs.len(), netlist.outputs.len(), netlist.registers.len());
    let (state, reset, argument) = match registers {
        0 => (String::new(), String::new(), ""),
        _ => (
            format!("    static uint64_t registers[{registers}];\n"),
            format!("    {name}_reset(registers);\n"),
            "registers, ",
        ),
    };
    write!(
        text,
        "#ifdef FARAD_TEST\n#include <stdio.h>\n\nint main(void)\n{{\n    \
         static uint64_t inputs[{inputs} + 1], outputs[{outputs} + 1];\n{state}{reset}    \
         do {{\n        if (fread(inputs, 8, {inputs}, stdin) != {inputs})\n            break;\n        \
         {name}({argument}inputs, outputs);\n        fwrite(outputs, 8, {outputs}, stdout);\n    }} while ({inputs} > 0);\n    \
         return 0;\n}}\n#endif\n"
    )
    .expect("a string");
}

/// A step of a grid of bytes.
fn push_step(text: &mut String, automaton: &Automaton, name: &str) {
    let channels = automaton.channels;
    let neighbor = match automaton.edge {
        Edge::Wrap => {
            "                    const size_t u = (x + width + p % 3 - 1) % width;\n                    \
             const size_t v = (y + height + p / 3 - 1) % height;\n                    \
             word |= (uint64_t)(state[(c * height + v) * width + u] & 1) << k;\n"
        }
        Edge::Zero => {
            "                    const size_t u = x + p % 3, v = y + p / 3;\n                    \
             if (u >= 1 && u <= width && v >= 1 && v <= height)\n                        \
             word |= (uint64_t)(state[(c * height + v - 1) * width + u - 1] & 1) << k;\n"
        }
    };
    write!(
        text,
        "// One step of a grid, a byte per bit: bit `c` of the cell at (x, y) is at (c * height + y) * width + x.\n\
         // If `fire` is given, only cells at (x, y) with fire[y * width + x] != 0 change.\n\
         void {name}_step(const uint8_t *state, uint8_t *next, size_t width, size_t height, const uint8_t *fire)\n{{\n    \
         for (size_t y = 0; y < height; y++)\n        \
         for (size_t first = 0; first < width; first += 64) {{\n            \
         const size_t cells = width - first < 64 ? width - first : 64;\n            \
         uint64_t inputs[9 * {channels} + 1], outputs[{channels} + 1];\n            \
         for (size_t p = 0; p < 9; p++)\n                \
         for (size_t c = 0; c < {channels}; c++) {{\n                \
         uint64_t word = 0;\n                \
         for (size_t k = 0; k < cells; k++) {{\n                    \
         const size_t x = first + k;\n{neighbor}                \
         }}\n                \
         inputs[p * {channels} + c] = word;\n                \
         }}\n            \
         {name}_cell(inputs, outputs);\n            \
         for (size_t c = 0; c < {channels}; c++)\n                \
         for (size_t k = 0; k < cells; k++) {{\n                    \
         const size_t at = y * width + first + k, bit = c * width * height + at;\n                    \
         next[bit] = !fire || fire[at] ? (uint8_t)(outputs[c] >> k & 1) : state[bit];\n                \
         }}\n        \
         }}\n}}\n\n"
    )
    .expect("a string");
}

/// A program that runs a grid.
fn push_player(text: &mut String, automaton: &Automaton, name: &str) {
    let channels = automaton.channels;
    let (fires, fire) = match automaton.fire_rate < 1.0 {
        true => {
            ("        for (size_t n = 0; n < size; n++)\n            fire[n] = getchar() == '1';\n", "fire")
        }
        false => ("", "NULL"),
    };
    write!(
        text,
        "#ifdef FARAD_TEST\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n\
         int main(int count, char **words)\n{{\n    \
         if (count != 4)\n        return 2;\n    \
         const size_t width = strtoul(words[1], NULL, 10), height = strtoul(words[2], NULL, 10);\n    \
         const size_t steps = strtoul(words[3], NULL, 10), size = width * height, bits = {channels} * size;\n    \
         uint8_t *state = calloc(bits + 1, 1), *next = calloc(bits + 1, 1), *fire = calloc(size + 1, 1);\n    \
         if (!state || !next || !fire)\n        return 2;\n    \
         for (size_t n = 0; n < bits; n++)\n        state[n] = getchar() == '1';\n    \
         for (size_t step = 0; step < steps; step++) {{\n{fires}        \
         {name}_step(state, next, width, height, {fire});\n        \
         memcpy(state, next, bits);\n    }}\n    \
         for (size_t n = 0; n < bits; n++)\n        putchar(state[n] ? '1' : '0');\n    \
         free(state);\n    free(next);\n    free(fire);\n    return 0;\n}}\n#endif\n"
    )
    .expect("a string");
}
