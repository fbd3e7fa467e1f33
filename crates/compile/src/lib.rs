//! From a graph to a program: simplify, split, fuse, plan memory, schedule. Pure functions, no
//! device: the same graph and target always give the same program.
//!
//! Start at [`compile`]: the modules below are its stages, in the order in which they work. [`program`] says what comes
//! out, and [`costs`] what it must do at least.

mod passes;

mod fusion;

mod planning;

pub mod program;

pub use passes::tiles;
pub use program::costs;

use std::collections::HashSet;

use farad_ir::{Graph, NodeId};

use program::{Program, Target};

/// Compiles what `outputs` need. A donation `(output, input)` allows the output to take over the
/// input's memory; it is used where that is safe.
pub fn compile(graph: &Graph, outputs: &[NodeId], donations: &[(usize, usize)], target: &Target) -> Program {
    let (graph, outputs) = passes::simplify::simplify(graph, outputs);
    let (graph, outputs) = passes::rotate_loops::rotate(&graph, &outputs, target);
    let (graph, outputs) = passes::split_sums::split(&graph, &outputs, target);
    let (graph, outputs) = passes::channels_last::channels_last(&graph, &outputs, target);
    let (mut graph, mut outputs) = passes::copies::copies(&graph, &outputs, &HashSet::new(), target);
    let fused = loop {
        let fused = fusion::fuse(&graph, &outputs, target);
        let clashes = passes::copies::clashes(&graph, &fused);
        if clashes.is_empty() {
            break fused;
        }
        (graph, outputs) = passes::copies::copies(&graph, &outputs, &clashes, target);
    };
    planning::plan(&graph, &outputs, donations, fused, target)
}
