//! Passes from graph to graph, which run before kernels are drafted. Every pass takes a graph and its outputs
//! and returns both.
//!
//! [`PASSES`] lists all of them, in the order in which they run. [`simplify`] removes redundant work.
//! Convolutions have three passes of their own ([`convolutions`]). [`align_rows`] copies what products read to where it
//! can be read in groups. [`rotate_loops`] and [`split_sums`] cut long sums so that the device has enough to do. [`channels_last`]
//! changes the layout of what convolutions read. [`copies`] copies every value that needs two locations in
//! memory.
//!
//! Invariant: every pass returns a valid graph ([`Graph::check`]); debug builds check after each pass.

pub mod align_rows;
pub mod channels_last;
pub mod convolutions;
pub mod copies;
pub mod high_products;
mod limits;
pub mod rotate_loops;
pub mod simplify;
pub mod split_sums;
pub mod tiles;

use std::collections::HashSet;
use std::fmt;

use farad_ir::{Graph, NodeId};

use crate::program::Target;

/// A pass by name. It returns a new graph and its outputs; `None` if it changes nothing.
pub struct GraphPass {
    /// What `FARAD_DEBUG=passes` and golden tests call it.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&Graph, &[NodeId], &Target) -> Option<(Graph, Vec<NodeId>)>,
}

/// All passes, in the order in which they run.
pub const PASSES: [GraphPass; 10] = [
    GraphPass { name: "simplify", run: |graph, outputs, _| Some(simplify::simplify(graph, outputs)) },
    GraphPass { name: "high_products", run: high_products::split },
    GraphPass { name: "rotate_loops", run: rotate_loops::rotate },
    GraphPass { name: "direct", run: convolutions::direct::direct },
    GraphPass { name: "winograd", run: convolutions::winograd::winograd },
    GraphPass { name: "phases", run: convolutions::phases::phases },
    GraphPass { name: "align_rows", run: align_rows::align },
    GraphPass { name: "split_sums", run: split_sums::split },
    GraphPass { name: "channels_last", run: channels_last::channels_last },
    GraphPass {
        name: COPIES,
        run: |graph, outputs, target| Some(copies::copies(graph, outputs, &HashSet::new(), target)),
    },
];

/// The name of the pass that runs again if a kernel turns out to read and write one array.
pub const COPIES: &str = "copies";

/// The result of a pass, for a [`PassWatcher`]. It displays as the pass's name and the graph.
#[derive(Clone, Copy)]
pub struct PassResult<'a> {
    /// The pass.
    pub pass: &'static str,
    /// The graph that it gave back.
    pub graph: &'a Graph,
    /// Its outputs.
    pub outputs: &'a [NodeId],
    /// Whether the graph is a loop body, which is compiled by itself.
    pub in_loop: bool,
}

impl fmt::Display for PassResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = if self.in_loop { " (the body of a loop)" } else { "" };
        write!(f, "after {}{body}:\n{}", self.pass, self.graph.show(self.outputs))
    }
}

/// Called with the result of each pass.
pub type PassWatcher<'a> = dyn FnMut(&PassResult<'_>) + 'a;

/// Runs all passes over what `outputs` need.
pub fn run_all(
    graph: &Graph,
    outputs: &[NodeId],
    target: &Target,
    watcher: &mut PassWatcher<'_>,
) -> (Graph, Vec<NodeId>) {
    check("the recording", graph, outputs);
    let mut made: Option<(Graph, Vec<NodeId>)> = None;
    for pass in &PASSES {
        let (graph, outputs) = made.as_ref().map_or((graph, outputs), |(graph, outputs)| (graph, outputs));
        let Some((graph, outputs)) = (pass.run)(graph, outputs, target) else { continue };
        finish(pass.name, &graph, &outputs, watcher);
        made = Some((graph, outputs));
    }
    made.expect("the first pass always returns a graph")
}

/// Checks the result of a pass and shows it to the watcher.
pub fn finish(pass: &'static str, graph: &Graph, outputs: &[NodeId], watcher: &mut PassWatcher<'_>) {
    check(pass, graph, outputs);
    watcher(&PassResult { pass, graph, outputs, in_loop: false });
}

/// Panics in debug builds if a graph is invalid: its maker has a bug.
fn check(maker: &str, graph: &Graph, outputs: &[NodeId]) {
    if cfg!(debug_assertions)
        && let Err(error) = graph.check(outputs)
    {
        panic!("compile: {maker} returned an invalid graph: {error}\n{}", graph.show(outputs));
    }
}
