//! From a graph to a program: simplify, split, fuse, plan memory, schedule. Pure functions, no
//! device: the same graph and target always give the same program.
//!
//! Start at [`compile`]; [`program`] says what comes out, and [`costs`] what it must do at least.

mod access;
mod assemble;
mod bundle;
mod channels;
mod copies;
pub mod costs;
mod draft;
mod fuse;
mod merge;
mod plan;
mod product;
pub mod program;
mod pull;
mod rotate;
mod show;
mod simplify;
mod sort;
mod split;
mod tape;
pub mod tiles;
mod unroll;
mod weave;
mod works;

use std::collections::HashSet;

use farad_ir::{Graph, NodeId};

use program::{Program, Target};

/// Compiles what `outputs` need. A donation `(output, input)` allows the output to take over the
/// input's memory; it is used where that is safe.
pub fn compile(graph: &Graph, outputs: &[NodeId], donations: &[(usize, usize)], target: &Target) -> Program {
    let (graph, outputs) = simplify::simplify(graph, outputs);
    let (graph, outputs) = rotate::rotate(&graph, &outputs, target);
    let (graph, outputs) = split::split(&graph, &outputs, target);
    let (graph, outputs) = channels::channels_last(graph, outputs, target);
    let (mut graph, mut outputs) = copies::copies(graph, outputs, &HashSet::new(), target);
    let fused = loop {
        let fused = fuse::fuse(&graph, &outputs, target);
        let clashes = copies::clashes(&graph, &fused);
        if clashes.is_empty() {
            break fused;
        }
        (graph, outputs) = copies::copies(graph, outputs, &clashes, target);
    };
    plan::plan(&graph, &outputs, donations, fused, target)
}
