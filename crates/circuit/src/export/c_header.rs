//! The header for the C file: which functions can be called, and how.

use std::fmt::Write;

use super::c::{class_parameters, function_parameters};
use super::meaning::Meaning;
use super::straight::heading;
use crate::file::Circuit;

pub(super) fn write(circuit: &Circuit, name: &str) -> String {
    let netlist = circuit.netlist();
    let mut text = heading(netlist, name, "//");
    let guard = format!("{}_H", name.to_uppercase());
    let (inputs, outputs, registers) = (netlist.inputs.len(), netlist.outputs.len(), netlist.registers.len());
    write!(
        text,
        "#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         // Words of inputs, outputs and registers; a word holds 64 samples, one per bit.\n\
         #define {0}_INPUTS {inputs}\n#define {0}_OUTPUTS {outputs}\n#define {0}_REGISTERS {registers}\n\n",
        name.to_uppercase(),
    )
    .expect("a string");
    if let Some(meaning) = Meaning::of(netlist) {
        write!(
            text,
            "// The class of one sample: a number below {}, whose name is {name}_classes[number].\n\
             int {name}_class({});\nextern const char *const {name}_classes[{0}];\n\n",
            meaning.classes.len(),
            class_parameters(&meaning),
        )
        .expect("a string");
    }
    let function = match circuit {
        Circuit::Netlist(_) => name.to_string(),
        Circuit::Automaton(_) => format!("{name}_cell"),
    };
    if registers > 0 {
        writeln!(
            text,
            "// Registers as they are at the start.\nvoid {function}_reset(uint64_t *registers);\n"
        )
        .expect("a string");
    }
    writeln!(
        text,
        "// Outputs for inputs, 64 samples at once{}.\nvoid {function}({});",
        if registers > 0 { "; registers then move on" } else { "" },
        function_parameters(netlist)
    )
    .expect("a string");
    if matches!(circuit, Circuit::Automaton(_)) {
        writeln!(
            text,
            "\n// One step of a grid, a byte per bit: bit `c` of the cell at (x, y) is at (c * height + y) * width + x.\n\
             // If `fire` is given, only cells at (x, y) with fire[y * width + x] != 0 change.\n\
             void {name}_step(const uint8_t *state, uint8_t *next, size_t width, size_t height, const uint8_t *fire);"
        )
        .expect("a string");
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}
