//! The program of a step: gradients, clipping and the rule, written as one graph.
//!
//! Invariant: the graph depends on nothing but what [`Structure`] hashes; numbers are its inputs.

use std::panic::Location;

use farad_ir::{Binary, DType, Graph, NodeId, Op};

use super::flat::Flat;
use super::layout::Layout;
use super::noise::Noise;
use super::scale::{Scale, all_finite, counted};
use super::{Rule, Update};
use farad_tensor::Result;
use farad_tensor::engine::Recording;
use farad_tensor::engine::Request;

/// What decides a step's program.
#[derive(Hash)]
pub(super) struct Structure<'a> {
    pub graph: &'a Graph,
    pub parts: Parts<'a>,
    pub known: &'a [(NodeId, NodeId)],
    pub layout: &'a Layout,
    pub kind: &'a str,
    pub clip: &'a str,
}

/// The nodes that a step's graph starts from.
#[derive(Clone, Copy, Hash)]
pub(super) struct Parts<'a> {
    /// Whether the seed is a loss, or the seeds are gradients.
    pub from_loss: bool,
    pub seeds: &'a [NodeId],
    /// The parameters, in the order of slots.
    pub ids: &'a [NodeId],
    pub array: Option<NodeId>,
    pub states: &'a [NodeId],
    /// The rule's numbers, segment by segment.
    pub numbers: &'a [NodeId],
    /// The numbers of clipping.
    pub limits: &'a [NodeId],
    pub noise: Option<Noise>,
    pub scale: Option<Scale>,
    /// How many steps were skipped so far, where clipping judges gradients and no scale does.
    pub skipped: Option<NodeId>,
    pub live: &'a [NodeId],
}

impl Flat {
    pub(super) fn build(
        &self,
        rule: &dyn Rule,
        (mut graph, known): (Graph, &[(NodeId, NodeId)]),
        parts: Parts,
        location: &'static Location<'static>,
    ) -> Result<Request> {
        let scale = parts.scale;
        let gradients = match parts.from_loss {
            true => {
                let loss = scale.map_or(parts.seeds[0], |s| s.multiply(&mut graph, parts.seeds[0]));
                farad_ir::gradient(&mut graph, loss, parts.ids)?
            }
            false => parts.seeds.to_vec(),
        };
        Recording::substitute(&mut graph, known);
        let gradients: Vec<NodeId> = gradients.into_iter().map(|g| graph.cast(g, DType::F32)).collect();
        let g = graph.push(Op::Pack(self.layout.offsets(), self.layout.len), &gradients);
        let mut fine = scale.map(|_| all_finite(&mut graph, g));
        let g = match scale.filter(|_| parts.from_loss) {
            Some(scale) => scale.divide(&mut graph, g),
            None => g,
        };
        let (mut g, clipped) = self.clip.apply(&mut graph, g, parts.limits);
        fine = match (fine, clipped) {
            (Some(a), Some(b)) => Some(graph.binary(Binary::And, a, b)),
            (a, b) => a.or(b),
        };
        if let Some(noise) = parts.noise {
            g = noise.add(&mut graph, g);
        }
        let p = match parts.array {
            Some(array) => array,
            None => graph.push(Op::Pack(self.layout.offsets(), self.layout.len), parts.ids),
        };
        let numbers = self.layout.spread(&mut graph, parts.numbers);
        let slots = &self.layout.slots;
        let (mut new, mut states) =
            rule.update(Update { graph: &mut graph, p, g, states: parts.states, numbers: &numbers, slots });
        if let Some(fine) = fine {
            let mut kept = |new: NodeId, old: NodeId| {
                let fine = graph.spread(fine, graph.shape(old));
                graph.select(fine, new, old)
            };
            new = kept(new, p);
            states = states.into_iter().zip(parts.states).map(|(state, &old)| kept(state, old)).collect();
        }
        let mut outputs = parts.live.to_vec();
        let mut donations = Vec::new();
        for (output, from) in std::iter::once((new, parts.array))
            .chain(states.into_iter().zip(parts.states.iter().map(|s| Some(*s))))
        {
            if let Some(from) = from {
                donations.push((outputs.len(), input_number(&graph, from)));
            }
            // What has no line of its own is made by the step's.
            graph.nodes[output.index()].location.get_or_insert(location);
            outputs.push(output);
        }
        if let (Some(scale), Some(fine)) = (scale, fine) {
            outputs.push(scale.next(&mut graph, fine));
        }
        if let (Some(skipped), Some(fine)) = (parts.skipped, fine) {
            outputs.push(counted(&mut graph, skipped, fine));
        }
        Ok(Request { graph, outputs, donations })
    }
}

/// Which nodes are computed from the given ones.
pub(super) fn users(graph: &Graph, from: &[NodeId]) -> Vec<bool> {
    let mut depends = vec![false; graph.nodes.len()];
    from.iter().for_each(|id| depends[id.index()] = true);
    for id in graph.ids() {
        depends[id.index()] |= graph.node(id).operands.iter().any(|o| depends[o.index()]);
    }
    depends
}

pub(super) fn input_number(graph: &Graph, id: NodeId) -> usize {
    match graph.node(id).op {
        Op::Input(n) => n,
        ref other => unreachable!("{} is no input", other.name()),
    }
}
