//! What tells optimisers apart: a rule, from parameters and gradients to new parameters.

use farad_ir::{Graph, NodeId};

/// How an optimiser turns parameters and gradients into new parameters.
pub trait Rule {
    /// Everything about the rule that changes its program; numbers that may change do not.
    fn kind(&self) -> String;
    /// The learning rate from the next step on.
    fn set_rate(&mut self, rate: f32);
    /// How many moments it keeps for every parameter.
    fn states(&self) -> usize;
    /// The numbers of step `step` (counted from 1), given with every run.
    fn numbers(&self, step: u64) -> Vec<f32>;
    /// New parameters and moments, all of one axis, from the old ones, the gradients and the
    /// numbers (already repeated to that axis).
    fn update(
        &self,
        graph: &mut Graph,
        p: NodeId,
        g: NodeId,
        states: &[NodeId],
        numbers: &[NodeId],
    ) -> (NodeId, Vec<NodeId>);
}
