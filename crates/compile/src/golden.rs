//! Golden tests: what every pass makes of a small graph, given as two texts.
//!
//! A test says `check(pass, target, before, after)`: the graph before and after, as [`Graph::show`] writes
//! them. For stages that work on kernels, `check_program(target, before, after)` takes the graph and the
//! program that it becomes. One file per pass.

mod align_rows;
mod bundle_sums;
mod channels_last;
mod convolutions;
mod copies;
mod cut_long_chains;
mod high_products;
mod merge_kernels;
mod rotate_loops;
mod simplify;
mod sorts;
mod split_sums;
mod staging;
mod unroll_axes;
mod waves;
mod weave;

use farad_ir::{Graph, NodeId};

use crate::passes::PASSES;
use crate::program::Target;

/// A large GPU, for which sums are split.
fn gpu() -> Target {
    Target {
        bindings: 7,
        parallel: 131_072,
        channels_last: 1 << 29,
        aligned: 1 << 27,
        convolutions: 1 << 24,
        scratch: true,
        ..Target::cpu()
    }
}

fn parse(text: &str) -> (Graph, Vec<NodeId>) {
    Graph::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Checks the graph that a pass returns against a text. A pass that changes nothing returns its input.
fn check(pass: &str, target: &Target, before: &str, after: &str) {
    let (graph, outputs) = parse(before);
    let pass = PASSES.iter().find(|row| row.name == pass).unwrap_or_else(|| panic!("no pass {pass}"));
    let (graph, outputs) = (pass.run)(&graph, &outputs, target).unwrap_or((graph, outputs));
    graph.check(&outputs).unwrap_or_else(|error| panic!("{error}\n{}", graph.show(&outputs)));
    compare(&graph.show(&outputs).to_string(), after);
}

/// Checks the program of a graph against a text.
fn check_program(target: &Target, before: &str, after: &str) {
    let (graph, outputs) = parse(before);
    compare(&crate::compile(&graph, &outputs, &[], target).to_string(), after);
}

/// Compares texts, ignoring common indentation.
fn compare(is: &str, wanted: &str) {
    let (is, wanted) = (dedented(is), dedented(wanted));
    assert!(is == wanted, "the text is\n{is}\nand should be\n{wanted}");
}

fn dedented(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().map(indent).min().unwrap_or(0);
    lines.iter().map(|line| &line[common..]).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_pass_over_graphs_is_checked() {
    let files = [
        include_str!("golden/align_rows.rs"),
        include_str!("golden/channels_last.rs"),
        include_str!("golden/convolutions.rs"),
        include_str!("golden/copies.rs"),
        include_str!("golden/high_products.rs"),
        include_str!("golden/rotate_loops.rs"),
        include_str!("golden/simplify.rs"),
        include_str!("golden/split_sums.rs"),
    ];
    for pass in &PASSES {
        let call = format!("\"{}\"", pass.name);
        assert!(files.iter().any(|file| file.contains(&call)), "no golden test of {}", pass.name);
    }
}

/// Files of planning that are no pass of their own: what kernels are put together from, numbers, and loops over kernels,
/// which `golden/weave.rs` shows beside loops in one kernel.
const NO_PASSES_OF_PLANNING: [&str; 3] = ["assemble", "limits", "loops"];

#[test]
fn every_pass_of_planning_is_checked() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = std::fs::read_dir(source.join("planning")).expect("the folder of planning");
    for file in files {
        let file = file.expect("a file").path();
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name").to_string();
        let golden = source.join("golden").join(format!("{name}.rs"));
        assert!(NO_PASSES_OF_PLANNING.contains(&&*name) || golden.exists(), "no golden test of {name}");
    }
}
