//! Compiles a graph to a program: simplify, split, fuse, plan memory, schedule. Pure functions that know no
//! device: the same graph and target always give the same program.
//!
//! Start at [`compile`]. The modules below are its stages, in the order in which they run. [`program`] defines
//! the result, [`mod@program::verify`] checks its invariants, and [`costs`] counts the least work that it must
//! do.

mod passes;

mod fusion;

mod planning;

pub mod program;

#[cfg(test)]
mod golden;

pub use passes::{PassResult, PassWatcher, tiles};
pub use program::costs;

use farad_ir::{Graph, NodeId};

use passes::{COPIES, copies};
use program::{Program, Target};

/// Compiles what `outputs` need. A donation `(output, input)` allows the output to take over the
/// input's memory; it is used where that is safe.
pub fn compile(graph: &Graph, outputs: &[NodeId], donations: &[(usize, usize)], target: &Target) -> Program {
    compile_watched(graph, outputs, donations, target, &mut |_| {})
}

/// As [`compile`]. Calls `watcher` with the graph after each pass, and with that of every loop body after each
/// pass over it.
pub fn compile_watched(
    graph: &Graph,
    outputs: &[NodeId],
    donations: &[(usize, usize)],
    target: &Target,
    watcher: &mut PassWatcher<'_>,
) -> Program {
    let (mut graph, mut outputs) = passes::run_all(graph, outputs, target, watcher);
    let fused = loop {
        let fused = fusion::fuse(&graph, &outputs, target);
        let clashes = copies::clashes(&graph, &fused);
        if clashes.is_empty() {
            break fused;
        }
        (graph, outputs) = copies::copies(&graph, &outputs, &clashes, target);
        passes::finish(COPIES, &graph, &outputs, watcher);
    };
    planning::plan(&graph, &outputs, donations, fused, target, watcher)
}
