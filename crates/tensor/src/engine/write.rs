//! What a step's program is written with, on top of what was recorded.

use farad_ir::{Graph, NodeId};

use crate::error::Result;
use crate::recording::Recording;

/// The graph of a step that is new, to be added to.
pub struct StepWriter<'a> {
    /// What was recorded, and what was written so far.
    pub graph: Graph,
    /// Nodes recorded by their history whose value is known, with the input that holds it.
    pub(super) known: &'a [(NodeId, NodeId)],
}

/// A result of a step's program.
#[derive(Clone, Copy, Debug)]
pub struct StepOutput {
    /// What it is.
    pub node: NodeId,
    /// The array that it replaces: what [`EngineStep::overwrite`](super::EngineStep::overwrite) gave.
    pub replaces: Option<NodeId>,
}

impl StepWriter<'_> {
    /// The gradients of `loss` at nodes. Values that are known are not computed again.
    pub fn gradients(&mut self, loss: NodeId, at: &[NodeId]) -> Result<Vec<NodeId>> {
        let gradients = farad_ir::gradient(&mut self.graph, loss, at)?;
        Recording::substitute(&mut self.graph, self.known);
        Ok(gradients)
    }
}
