//! What tells optimizers apart: a rule, from parameters and gradients to new parameters.

use farad_ir::{Graph, NodeId, Shape};

use super::Slot;

/// How an optimizer turns parameters and gradients into new parameters. All its groups have the same kind of
/// rule, each with its own numbers.
pub trait Rule {
    /// Everything about the rule that changes its program; numbers that may change do not.
    fn kind(&self) -> String;

    /// The learning rate.
    fn rate(&self) -> f32;

    /// The learning rate from the next step on.
    fn set_rate(&mut self, rate: f32);

    /// How many moments it keeps.
    fn states(&self) -> usize;

    /// What every element of a moment begins with.
    fn start(&self, _state: usize) -> f32 {
        0.0
    }

    /// What kind of parameter one of this shape is, if the rule treats them differently. Lower ones come
    /// first in the arrays.
    fn class(&self, _shape: Shape) -> usize {
        0
    }

    /// Whether parameters of a class have a moment. The array of a moment ends with the last class that has it.
    fn keeps(&self, _state: usize, _class: usize) -> bool {
        true
    }

    /// The numbers of step `step` (counted from 1) for parameters of a class, given with every run. There are
    /// equally many for every class.
    fn numbers(&self, step: u64, class: usize) -> Vec<f32>;

    /// New parameters and moments from the old ones.
    fn update(&self, update: Update) -> (NodeId, Vec<NodeId>);
}

/// What a [`Rule`] is given to write the update of all parameters: nodes of one axis, with a place for every
/// element of every parameter.
pub struct Update<'a> {
    /// The graph of the step.
    pub graph: &'a mut Graph,
    /// The parameters.
    pub p: NodeId,
    /// Their gradients.
    pub g: NodeId,
    /// The moments.
    pub states: &'a [NodeId],
    /// The rule's numbers, each as long as the parameters.
    pub numbers: &'a [NodeId],
    /// Where each parameter lies.
    pub slots: &'a [Slot],
}

impl Update<'_> {
    /// `a · x + b · y`
    pub fn mix(&mut self, a: NodeId, x: NodeId, b: NodeId, y: NodeId) -> NodeId {
        let (ax, by) = (self.graph.mul(a, x), self.graph.mul(b, y));
        self.graph.add(ax, by)
    }

    /// Adds `decay · p` to the gradient: what weight decay means to optimizers that have it in the gradient.
    pub fn pull(&mut self, decay: NodeId) {
        let pull = self.graph.mul(decay, self.p);
        self.g = self.graph.add(self.g, pull);
    }
}
