//! Cuts long chains of pointwise ops into pieces that fit into kernels, before any kernel is drafted.
//!
//! Drafting a kernel pulls everything below its root into one tape. In a program of thousands of pointwise ops,
//! every root would pull in most of the program, and again after every attempt that turned out to be too large.
//! So if pulling would exceed what one tape holds, this pass chooses nodes to materialize. A node with several
//! readers (a state that the backward pass needs) is materialized once it is costly to recompute. A node with
//! one reader is materialized where the tape is full. Programs that fit are left alone.
//!
//! A kernel may also compute materialized nodes along the way and store them. Where very many of them follow
//! each other, some are set apart: no kernel looks past those.
//!
//! Invariant: afterwards, pulling any node of a long program computes at most [`MOST_PULLED`] nodes at most
//! [`DEEPEST_PULLED`] deep. Every pass over the nodes takes linear time. Start at [`cut`].

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use farad_ir::{Graph, NodeId, Op};

use super::cost;
use super::limits::{
    DEEPEST_PULLED, FURTHEST_OPS, FURTHEST_STORED, LONG, MOST_COST, MOST_PULLED, WORTH_KEEPING_LONG,
};
use crate::program::Target;

/// Limits on what one kernel may pull in.
pub struct TapeLimits {
    /// Nodes that are computed.
    pub nodes: usize,
    /// Nodes that are loaded.
    pub loads: usize,
    /// Longest chain of ops.
    pub depth: usize,
    /// Work of one element.
    pub cost: usize,
    /// Whether a node that is read at several different offsets counts once per offset.
    pub places: bool,
}

/// The result of this pass.
pub(super) struct Cuts {
    /// Nodes that belong to long programs.
    pub(super) long: Vec<bool>,
    /// Nodes that this pass chose to materialize. No other kernel may compute them along the way, or it would
    /// pull in what lies behind the cut.
    pub(super) apart: Vec<bool>,
}

/// What computing a node pulls into its kernel.
#[derive(Clone, Default)]
struct Pulled {
    /// Computed nodes, each with the offset at which it is needed, ascending. Movement ops are not listed
    /// because they cost no instruction, but a slice or a pad needs its operand at another offset.
    nodes: Vec<(NodeId, u32)>,
    /// Materialized nodes that are loaded, ascending.
    loads: Vec<NodeId>,
    /// Longest chain of ops, including movement ops.
    depth: usize,
    /// Work of one element.
    cost: usize,
    /// Whether it exceeds what a tape holds.
    over: bool,
}

impl Pulled {
    fn load(id: NodeId) -> Rc<Pulled> {
        Rc::new(Pulled { loads: vec![id], depth: 1, ..Pulled::default() })
    }

    /// What a node pulls, from what its operands pull.
    fn of(graph: &Graph, id: NodeId, operands: &[Rc<Pulled>], limits: &TapeLimits) -> Rc<Pulled> {
        let op = &graph.node(id).op;
        if let ([only], true) = (operands, op.is_movement()) {
            let depth = only.depth + 1;
            let mut moved = Pulled { depth, over: only.over || depth > limits.depth, ..(**only).clone() };
            if limits.places && matches!(op, Op::Slice(_) | Op::Pad(_) | Op::Flip(_)) {
                let way = place(op);
                moved.nodes.iter_mut().for_each(|(_, at)| *at = at.rotate_left(5).wrapping_add(way));
                moved.nodes.sort_unstable();
            }
            return Rc::new(moved);
        }
        let mut all = Pulled::default();
        for operand in operands {
            all.depth = all.depth.max(operand.depth);
            all.over |= operand.over;
            all.nodes = union(&all.nodes, &operand.nodes);
            all.loads = union(&all.loads, &operand.loads);
        }
        if !op.is_movement() {
            all.nodes.push((id, 0));
        }
        all.depth += 1;
        all.cost = all.nodes.iter().map(|(id, _)| cost(&graph.node(*id).op)).sum();
        all.over |= all.nodes.len() > limits.nodes || all.loads.len() > limits.loads;
        all.over |= all.depth > limits.depth || all.cost > limits.cost;
        if all.over {
            // By how much the limit is exceeded does not matter.
            (all.nodes, all.loads) = (vec![(id, 0)], Vec::new());
        }
        Rc::new(all)
    }
}

/// A number that identifies where a movement op reads.
fn place(op: &Op) -> u32 {
    let mut hasher = DefaultHasher::new();
    op.hash(&mut hasher);
    hasher.finish() as u32
}

/// The union of two ascending lists.
fn union<T: Copy + Ord>(a: &[T], b: &[T]) -> Vec<T> {
    if a.is_empty() || b.is_empty() || a == b {
        return if a.is_empty() { b.to_vec() } else { a.to_vec() };
    }
    let mut both = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let next = a[i].min(b[j]);
        i += (a[i] == next) as usize;
        j += (b[j] == next) as usize;
        both.push(next);
    }
    both.extend_from_slice(&a[i..]);
    both.extend_from_slice(&b[j..]);
    both
}

/// Chooses nodes to materialize, so that no kernel pulls in more than it can hold. `ends` are the last nodes of
/// product kernels, which other kernels load.
pub(super) fn cut(
    graph: &Graph,
    materialized: &mut [bool],
    ends: &HashMap<NodeId, NodeId>,
    target: &Target,
) -> Cuts {
    let count = graph.nodes.len();
    let mut cuts = Cuts { long: vec![false; count], apart: vec![false; count] };
    if count > LONG.loads {
        mark_long(graph, materialized, ends, &mut cuts.long);
        if cuts.long.contains(&true) {
            Cutting::of(graph, ends, target).run(materialized, &mut cuts);
        }
        set_apart(graph, materialized, ends, &mut cuts.apart);
    }
    cuts
}

/// Sets materialized nodes apart where a kernel would otherwise pass through too many of them.
fn set_apart(graph: &Graph, materialized: &[bool], ends: &HashMap<NodeId, NodeId>, apart: &mut [bool]) {
    // Materialized nodes and ops on the longest path from each node down to its loads.
    let mut ways: Vec<(u32, u32)> = Vec::with_capacity(graph.nodes.len());
    for id in graph.ids() {
        let stored = materialized[id.index()];
        let mut way = (stored as u32, 1);
        if !is_loaded(graph, ends, id) {
            for operand in &graph.node(id).operands {
                let below = ways[operand.index()];
                way = (way.0.max(below.0 + stored as u32), way.1.max(below.1 + 1));
            }
        }
        if stored && (way.0 > FURTHEST_STORED || way.1 > FURTHEST_OPS || apart[id.index()]) {
            apart[id.index()] = true;
            way = (0, 0);
        }
        ways.push(way);
    }
}

/// Whether kernels always load the node, whatever they do with it.
fn is_loaded(graph: &Graph, ends: &HashMap<NodeId, NodeId>, id: NodeId) -> bool {
    let op = &graph.node(id).op;
    let pulled = op.is_pointwise()
        || op.is_movement()
        || matches!(op, Op::Reduce(..) | Op::Gather(_) | Op::Random(_) | Op::Barrier(_))
        || matches!(op, Op::Iota(_) | Op::Constant(_) | Op::Parameter(_));
    !pulled || ends.contains_key(&id)
}

/// What every node pulls in, kept until its last reader is done.
struct ChainMemory {
    pulled: Vec<Option<Rc<Pulled>>>,
    readers: Vec<u32>,
}

impl ChainMemory {
    fn of(graph: &Graph) -> ChainMemory {
        let mut readers = vec![0; graph.nodes.len()];
        graph.nodes.iter().flat_map(|node| &node.operands).for_each(|operand| readers[operand.index()] += 1);
        ChainMemory { pulled: vec![None; graph.nodes.len()], readers }
    }

    fn get(&self, id: NodeId) -> Rc<Pulled> {
        self.pulled[id.index()].clone().expect("operands come first and are kept for their readers")
    }

    fn forget(&mut self, operands: &[NodeId]) {
        for operand in operands {
            self.readers[operand.index()] -= 1;
            if self.readers[operand.index()] == 0 {
                self.pulled[operand.index()] = None;
            }
        }
    }
}

/// Marks the nodes of programs that exceed one tape: nodes that pull in too much, and all nodes that these pull
/// in.
fn mark_long(graph: &Graph, materialized: &[bool], ends: &HashMap<NodeId, NodeId>, long: &mut [bool]) {
    let mut memory = ChainMemory::of(graph);
    for id in graph.ids() {
        let operands = &graph.node(id).operands;
        let below: Vec<Rc<Pulled>> = operands.iter().map(|&operand| memory.get(operand)).collect();
        // The kernel of a product pulls in what follows it; its operands are loaded.
        let own = match graph.node(id).op {
            Op::Contract(_) => Pulled::load(id),
            _ => Pulled::of(graph, id, &below, &LONG),
        };
        long[id.index()] = own.over;
        let loaded = materialized[id.index()] || is_loaded(graph, ends, id);
        memory.pulled[id.index()] = Some(if loaded { Pulled::load(id) } else { own });
        memory.forget(operands);
    }
    for id in graph.ids().rev() {
        if long[id.index()] {
            let pulled =
                |operand: &&NodeId| !materialized[operand.index()] && !is_loaded(graph, ends, **operand);
            graph.node(id).operands.iter().filter(pulled).for_each(|operand| long[operand.index()] = true);
        }
    }
}

/// Cuts the long programs of a graph.
struct Cutting<'a> {
    graph: &'a Graph,
    ends: &'a HashMap<NodeId, NodeId>,
    limits: TapeLimits,
    memory: ChainMemory,
    /// How many nodes read each node, directly or through movement ops.
    readers: Vec<u32>,
}

impl<'a> Cutting<'a> {
    fn of(graph: &'a Graph, ends: &'a HashMap<NodeId, NodeId>, target: &Target) -> Cutting<'a> {
        let mut readers = vec![0; graph.nodes.len()];
        for id in graph.ids().rev() {
            let node = graph.node(id);
            let reads = if node.op.is_movement() { readers[id.index()] } else { 1 };
            node.operands.iter().for_each(|operand| readers[operand.index()] += reads);
        }
        let (nodes, depth, cost) = (MOST_PULLED, DEEPEST_PULLED, MOST_COST);
        let limits = TapeLimits { nodes, loads: target.bindings - 1, depth, cost, places: true };
        Cutting { graph, ends, limits, memory: ChainMemory::of(graph), readers }
    }

    fn run(mut self, materialized: &mut [bool], cuts: &mut Cuts) {
        for id in self.graph.ids() {
            let operands = &self.graph.node(id).operands;
            let pulled = if is_loaded(self.graph, self.ends, id) {
                Pulled::load(id)
            } else if cuts.long[id.index()] {
                self.pull(id, materialized, cuts)
            } else {
                let below: Vec<Rc<Pulled>> = operands.iter().map(|&o| self.memory.get(o)).collect();
                Pulled::of(self.graph, id, &below, &LONG)
            };
            let loaded = materialized[id.index()];
            self.memory.pulled[id.index()] = Some(if loaded { Pulled::load(id) } else { pulled });
            self.memory.forget(operands);
        }
    }

    /// What a node of a long program pulls in, after cutting off what is too much.
    fn pull(&mut self, id: NodeId, materialized: &mut [bool], cuts: &mut Cuts) -> Rc<Pulled> {
        let node = self.graph.node(id);
        loop {
            let below: Vec<Rc<Pulled>> = node.operands.iter().map(|&o| self.memory.get(o)).collect();
            let pulled = Pulled::of(self.graph, id, &below, &self.limits);
            if !pulled.over {
                let dear = pulled.cost >= WORTH_KEEPING_LONG || matches!(node.op, Op::Reduce(..));
                if dear && self.readers[id.index()] > 1 && !node.op.is_movement() {
                    (materialized[id.index()], cuts.apart[id.index()]) = (true, true);
                    return Pulled::load(id);
                }
                return pulled;
            }
            let most = (0..below.len()).filter(|&n| below[n].depth > 1).max_by_key(|&n| {
                let Pulled { nodes, loads, depth, over, .. } = &*below[n];
                (*over, nodes.len() + loads.len(), *depth)
            });
            let Some(most) = most else { return pulled };
            self.cut_off(node.operands[most], materialized, cuts);
        }
    }

    /// Materializes the source of an operand; movement ops stay views of it.
    fn cut_off(&mut self, operand: NodeId, materialized: &mut [bool], cuts: &mut Cuts) {
        let mut at = operand;
        let mut moves = Vec::new();
        while self.graph.node(at).op.is_movement() && moves.len() < DEEPEST_PULLED / 2 {
            moves.push(at);
            at = self.graph.node(at).operands[0];
        }
        if !is_loaded(self.graph, self.ends, at) {
            (materialized[at.index()], cuts.apart[at.index()]) = (true, true);
        }
        let load = Pulled::load(at);
        for id in moves.into_iter().chain([at]) {
            // Entries without remaining readers were dropped and stay dropped.
            if let Some(slot) = &mut self.memory.pulled[id.index()] {
                *slot = load.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_ir::{DType, Shape, Unary};

    fn chain(op: Unary, length: usize) -> Graph {
        let mut graph = Graph::new();
        let mut x = graph.input(0, Shape::new(&[8]), DType::F32);
        for _ in 0..length {
            x = graph.unary(op, x);
        }
        graph
    }

    fn cuts(graph: &Graph) -> (Vec<bool>, Cuts) {
        let mut materialized = vec![false; graph.nodes.len()];
        let cuts = cut(graph, &mut materialized, &HashMap::new(), &Target::cpu());
        (materialized, cuts)
    }

    #[test]
    fn what_fits_is_left_alone() {
        let (materialized, cuts) = cuts(&chain(Unary::Exp, LONG.nodes));
        assert!(!materialized.contains(&true) && !cuts.long.contains(&true));
    }

    #[test]
    fn a_long_chain_is_cut_into_full_tapes() {
        for (op, each) in [(Unary::Neg, MOST_PULLED), (Unary::Exp, MOST_COST / 8)] {
            let graph = chain(op, 10 * each);
            let (materialized, cuts) = cuts(&graph);
            let at: Vec<usize> = (0..graph.nodes.len()).filter(|&n| materialized[n]).collect();
            assert_eq!(at, (1..10).map(|n| n * each).collect::<Vec<_>>(), "{op:?}");
            assert_eq!(materialized, cuts.apart);
        }
    }

    #[test]
    fn moves_alone_are_cut_where_they_are_too_deep() {
        let mut graph = chain(Unary::Exp, 1);
        let mut x = NodeId(1);
        for n in 0..5000 {
            let op = if n % 2 == 0 { Op::Pad(vec![(1, 0)]) } else { Op::Flip(vec![0]) };
            x = graph.push(op, &[x]);
        }
        let (materialized, _) = cuts(&graph);
        assert!(materialized.iter().filter(|m| **m).count() >= 10);
    }
}
