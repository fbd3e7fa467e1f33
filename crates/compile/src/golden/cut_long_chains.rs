//! Chains that are too long for one kernel, cut where a tape is full.

use crate::compile;
use crate::golden::{compare, parse};
use crate::program::{Kernel, Program, Target};

/// `exp(exp(… x))`, nested `length` times.
fn chain(length: usize) -> String {
    let steps: String = (0..length).map(|n| format!("n{} = exp n{n}\n", n + 1)).collect();
    format!("n0 = input(0) : f32[8]\n{steps}return n{length}")
}

/// A line per kernel: its label, and how many instructions it has.
fn outline(program: &Program) -> String {
    let line = |step: &crate::program::ProgramStep| match &step.kernel {
        Kernel::Fused(fused) => format!("{}: {} instructions\n", step.label, fused.tape.len()),
        _ => format!("{}\n", step.label),
    };
    program.steps.iter().map(line).collect()
}

fn check_outline(before: &str, after: &str) {
    let (graph, outputs) = parse(before);
    compare(&outline(&compile(&graph, &outputs, &[], &Target::cpu())), after);
}

#[test]
fn what_one_tape_holds_is_one_kernel() {
    check_outline(&chain(200), "exp: 201 instructions");
}

#[test]
fn a_long_chain_is_several_kernels() {
    // Each piece stays within the cost limit for long programs; then pieces are merged again up to what one
    // kernel holds.
    check_outline(
        &chain(260),
        "
        exp: 161 instructions
        exp: 101 instructions",
    );
}
