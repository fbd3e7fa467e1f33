//! Tapes as WGSL: regions of a kernel's text that go through a tape as data become the tape written out.

use std::fmt::Write;

use farad::WgslText;

use super::tape::{InstructionTape, TapeInstruction};

/// What goes through a tape as data.
const INTERPRETER: &str = include_str!("tape.wgsl");

/// Gates up to which a tape is written out: beyond, compiling takes longer than it saves.
const LONGEST: usize = 1500;
/// Bytes of slots that a kernel may have.
const SLOT_BYTES: usize = 64 << 20;

/// Whether a tape is written out.
pub fn written_out(tape: &InstructionTape) -> bool {
    tape.gates() <= LONGEST
}

/// Invocations for so many words: each needs slots of its own if the tape is data.
pub fn invocations(tape: &InstructionTape, words: usize) -> usize {
    let most = if written_out(tape) { usize::MAX } else { SLOT_BYTES / (4 * tape.slots) };
    words.min(most.max(64)).max(1)
}

/// The kernel's text for a tape: with the tape written out in place of its regions, or with what goes through
/// it as data.
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
                writeln!(text, "    let v{n} = source({source}u);").expect("strings take everything");
                names[target as usize] = format!("v{n}");
            }
            TapeInstruction::Gate { gate, a, b, target } => {
                let value = expression(gate.number(), &names[a as usize], &names[b as usize]);
                writeln!(text, "    let v{n} = {value};").expect("strings take everything");
                names[target as usize] = format!("v{n}");
            }
            TapeInstruction::Store { value, sink } => {
                writeln!(text, "    sink({sink}u, {});", names[value as usize])
                    .expect("strings take everything");
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
