//! Tapes as WGSL: the regions of a kernel that interpret a tape are replaced by the unrolled tape.

use std::fmt::Write;

use farad::WgslText;

use super::tape::{InstructionTape, TapeInstruction};

/// The interpreter of a tape.
const INTERPRETER: &str = include_str!("tape.wgsl");

/// Most gates of a tape that is unrolled: beyond, compiling takes longer than it saves.
const LONGEST: usize = 1500;
/// Most bytes of slots of a kernel.
const SLOT_BYTES: usize = 64 << 20;

/// Whether a tape is unrolled.
pub fn written_out(tape: &InstructionTape) -> bool {
    tape.gates() <= LONGEST
}

/// Invocations for this many words: each needs its own slots if the tape is interpreted.
pub fn invocations(tape: &InstructionTape, words: usize) -> usize {
    let most = if written_out(tape) { usize::MAX } else { SLOT_BYTES / (4 * tape.slots) };
    words.min(most.max(64)).max(1)
}

/// The kernel's WGSL for a tape: with the unrolled tape in place of its regions, or with the interpreter.
pub fn with_tape(file: &str, tape: &InstructionTape) -> WgslText {
    let text = WgslText::new(file);
    match written_out(tape) {
        true => text.region("data", "").region("circuit", lines(tape)).region("interpreter", ""),
        false => text.region("interpreter", WgslText::new(INTERPRETER).region("kernel", "")),
    }
}

fn lines(tape: &InstructionTape) -> String {
    let mut text = String::with_capacity(40 * tape.code.len());
    let mut names = vec![String::from("0u"); tape.slots];
    for (n, instruction) in tape.code.iter().enumerate() {
        match *instruction {
            TapeInstruction::Load { source, target } => {
                writeln!(text, "    let v{n} = source({source}u);").expect("writing to a string never fails");
                names[target as usize] = format!("v{n}");
            }
            TapeInstruction::Gate { gate, a, b, target } => {
                let value = expression(gate.number(), &names[a as usize], &names[b as usize]);
                writeln!(text, "    let v{n} = {value};").expect("writing to a string never fails");
                names[target as usize] = format!("v{n}");
            }
            TapeInstruction::Store { value, sink } => {
                writeln!(text, "    sink({sink}u, {});", names[value as usize])
                    .expect("writing to a string never fails");
            }
        }
    }
    text
}

fn expression(number: u8, a: &str, b: &str) -> String {
    match number {
        0 => "0u".into(),
        1 => format!("{a} & {b}"),
        2 => format!("{a} & ~{b}"),
        3 => a.into(),
        4 => format!("~{a} & {b}"),
        5 => b.into(),
        6 => format!("{a} ^ {b}"),
        7 => format!("{a} | {b}"),
        8 => format!("~({a} | {b})"),
        9 => format!("~({a} ^ {b})"),
        10 => format!("~{b}"),
        11 => format!("{a} | ~{b}"),
        12 => format!("~{a}"),
        13 => format!("~{a} | {b}"),
        14 => format!("~({a} & {b})"),
        _ => "0xffffffffu".into(),
    }
}
