//! The program of a step: gradients, clipping and the rule, written as one graph.
//!
//! Invariant: the graph depends on nothing but what [`StepProgram`] hashes; numbers are its inputs.

use std::hash::{Hash, Hasher};

use farad_ir::{Binary, DType, Graph, NodeId, Op};

use super::layout::ParameterLayout;
use super::noise::Noise;
use super::rule::AnyRule;
use super::scale::{Scale, all_finite, counted};
use super::{Clip, Update, Var};
use farad_tensor::Result;
use farad_tensor::engine::{StepOutput, StepWriter};

/// What decides a step's program, beside what was recorded.
pub(super) struct StepProgram<'a> {
    pub parts: StepParts,
    pub layout: &'a ParameterLayout,
    pub clip: Clip,
    pub rule: &'a dyn AnyRule,
}

impl Hash for StepProgram<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let StepProgram { parts, layout, clip, rule } = self;
        (parts, layout, std::mem::discriminant(clip)).hash(state);
        rule.identify(state);
    }
}

/// What gradients are made of.
#[derive(Hash)]
pub(super) enum Seeds {
    /// They are taken of a loss.
    Loss(NodeId),
    /// They are there, in the order of slots.
    Gradients(Vec<NodeId>),
    /// They are there in one array, perhaps those of a loss that was multiplied by the scale.
    Packed { array: NodeId, scaled: bool },
}

/// The nodes that a step's graph starts from.
#[derive(Hash)]
pub(super) struct StepParts {
    pub seeds: Seeds,
    /// The parameters, in the order of slots.
    pub ids: Vec<NodeId>,
    pub array: Option<NodeId>,
    pub states: Vec<NodeId>,
    /// The rule's numbers, segment by segment.
    pub numbers: Vec<NodeId>,
    /// The numbers of clipping.
    pub limits: Vec<NodeId>,
    pub noise: Option<Noise>,
    pub scale: Option<Scale>,
    /// The norm of all gradients where these are a share of them; not finite if one of them is not.
    pub norm: Option<NodeId>,
    /// How many steps were skipped so far, where clipping judges gradients and no scale does.
    pub skipped: Option<NodeId>,
}

impl StepProgram<'_> {
    /// Writes the program behind what was recorded.
    pub fn write(&self, writer: &mut StepWriter) -> Result<Vec<StepOutput>> {
        let (parts, scale) = (&self.parts, self.parts.scale);
        let g = packed_gradients(writer, &parts.seeds, &parts.ids, scale, self.layout)?;
        let graph = &mut writer.graph;
        let (g, fine) = self.judged(graph, g);
        let p = match parts.array {
            Some(array) => array,
            None => graph.push(Op::Pack(self.layout.offsets(), self.layout.len), &parts.ids),
        };
        let (new, states) = self.updated(graph, p, g, fine);
        let replaced = parts.states.iter().map(|&state| Some(state));
        let mut outputs = vec![StepOutput { node: new, replaces: parts.array }];
        outputs
            .extend(states.into_iter().zip(replaced).map(|(node, replaces)| StepOutput { node, replaces }));
        let mut more = |node: NodeId| outputs.push(StepOutput { node, replaces: None });
        if let (Some(scale), Some(fine)) = (scale, fine) {
            more(scale.next(graph, fine));
        }
        if let (Some(skipped), Some(fine)) = (parts.skipped, fine) {
            more(counted(graph, skipped, fine));
        }
        Ok(outputs)
    }

    /// All gradients as the rule gets them, and whether all are finite: a bool value, if anybody asks.
    fn judged(&self, graph: &mut Graph, g: NodeId) -> (NodeId, Option<NodeId>) {
        let (parts, scale) = (&self.parts, self.parts.scale);
        let fine = scale.map(|_| all_finite(graph, parts.norm.unwrap_or(g)));
        let scaled = matches!(parts.seeds, Seeds::Loss(_) | Seeds::Packed { scaled: true, .. });
        let (g, norm) = match scale.filter(|_| scaled) {
            Some(scale) => (scale.divide(graph, g), parts.norm.map(|norm| scale.divide(graph, norm))),
            None => (g, parts.norm),
        };
        let (mut g, clipped) = self.clip.apply(graph, g, norm, &parts.limits);
        let fine = match (fine, clipped) {
            (Some(a), Some(b)) => Some(graph.binary(Binary::And, a, b)),
            (a, b) => a.or(b),
        };
        if let Some(noise) = parts.noise {
            g = noise.add(graph, g);
        }
        (g, fine)
    }

    /// New parameters and moments by the rule; the old ones where gradients are not `fine`.
    fn updated(
        &self,
        graph: &mut Graph,
        p: NodeId,
        g: NodeId,
        fine: Option<NodeId>,
    ) -> (NodeId, Vec<NodeId>) {
        // Hyperparameters are `f32`, whatever the parameters are.
        let dtype = graph.dtype(p);
        let numbers: Vec<NodeId> = self.parts.numbers.iter().map(|&n| graph.cast(n, dtype)).collect();
        let numbers = self.layout.spread(graph, &numbers);
        let (new, moved) = self.formula(graph, p, g, &numbers);
        let Some(fine) = fine else { return (new, moved) };
        let mut kept = |new: NodeId, old: NodeId| {
            let fine = graph.spread(fine, graph.shape(old));
            graph.select(fine, new, old)
        };
        let states = moved.into_iter().zip(&self.parts.states);
        (kept(new, p), states.map(|(state, &old)| kept(state, old)).collect())
    }

    /// What the rule writes.
    fn formula(&self, graph: &mut Graph, p: NodeId, g: NodeId, numbers: &[NodeId]) -> (NodeId, Vec<NodeId>) {
        graph.write(|writer| {
            let (states, numbers) = (writer.vars(&self.parts.states), writer.vars(numbers));
            let slots = &self.layout.slots;
            let update = Update { p: writer.var(p), g: writer.var(g), states, numbers, slots };
            let (new, moved) = self.rule.update(&update);
            (new.id(), moved.into_iter().map(Var::id).collect())
        })
    }
}

/// All gradients in one array, those of the scaled loss if there is a scale.
pub(super) fn packed_gradients(
    writer: &mut StepWriter,
    seeds: &Seeds,
    ids: &[NodeId],
    scale: Option<Scale>,
    layout: &ParameterLayout,
) -> Result<NodeId> {
    if let &Seeds::Packed { array, .. } = seeds {
        return Ok(array);
    }
    let gradients = slot_gradients(writer, seeds, ids, scale)?;
    Ok(writer.graph.push(Op::Pack(layout.offsets(), layout.len), &gradients))
}

/// The gradient of every slot, those of the scaled loss if there is a scale.
pub(super) fn slot_gradients(
    writer: &mut StepWriter,
    seeds: &Seeds,
    ids: &[NodeId],
    scale: Option<Scale>,
) -> Result<Vec<NodeId>> {
    let gradients = match seeds {
        &Seeds::Loss(loss) => {
            let loss = scale.map_or(loss, |scale| scale.multiply(&mut writer.graph, loss));
            writer.gradients(loss, ids)?
        }
        Seeds::Gradients(gradients) => gradients.clone(),
        Seeds::Packed { .. } => unreachable!("these lie in one array"),
    };
    let graph = &mut writer.graph;
    let dtype = ids.first().map_or(DType::F32, |&id| graph.dtype(id));
    Ok(gradients.into_iter().map(|g| graph.cast(g, dtype)).collect())
}
