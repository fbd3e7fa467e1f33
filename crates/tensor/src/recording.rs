//! Turns recorded nodes into a graph that can be hashed, differentiated and compiled.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use farad_ir::{DType, Graph, NodeId, Op, OpError, Shape, Span};

use crate::error::{Error, Result};
use crate::hashing::QuickMap;
use crate::node::{KnownValue, RecordedNode};
use crate::tensor::Tensor;
use farad_runtime::Memory;

/// A graph of recorded nodes with the memory and numbers that it needs.
#[derive(Default)]
pub struct Recording {
    pub graph: Graph,
    /// The memory of every input.
    pub inputs: Vec<Memory>,
    /// The numbers that the host gives, as register words.
    pub words: Vec<u32>,
    /// Where every node went.
    pub ids: QuickMap<*const RecordedNode, NodeId>,
    /// The nodes, in graph order; keeps them alive.
    pub nodes: Vec<(Arc<RecordedNode>, NodeId)>,
    /// Nodes recorded by their history whose value is known, with the input that holds it.
    pub known: Vec<(NodeId, NodeId)>,
    /// A tensor that stands for a carry or a slice while a scan's body is recorded, if one is needed.
    pub placeholder: Option<Arc<RecordedNode>>,
    /// Leaves whose history a step took away.
    pub spent: Vec<(NodeId, Arc<RecordedNode>)>,
    memories: QuickMap<(u64, DType), NodeId>,
    regions: QuickMap<u32, u32>,
}

impl Recording {
    /// Everything that `roots` need. Values end the search unless `through`: then history is
    /// followed wherever it is, as gradients need it.
    pub fn of(roots: &[Arc<RecordedNode>], through: bool) -> Result<Recording> {
        let mut recording = Recording::default();
        recording.graph.nodes.reserve(64);
        recording.nodes.reserve(64);
        recording.ids.reserve(64);
        recording.extend(roots, through)?;
        Ok(recording)
    }

    /// Adds everything that more roots need and that is not there yet.
    pub fn extend(&mut self, roots: &[Arc<RecordedNode>], through: bool) -> Result<()> {
        let mut stack: Vec<(Arc<RecordedNode>, bool)> =
            roots.iter().rev().map(|r| (r.clone(), false)).collect();
        while let Some((node, ready)) = stack.pop() {
            if self.ids.contains_key(&Arc::as_ptr(&node)) {
                continue;
            }
            let state = node.state();
            match (&state.value, &state.history) {
                (Some(value), history) if !(through && history.is_some()) => {
                    let id = self.leaf(value, node.shape, node.dtype);
                    self.locate(id, node.location);
                    if state.spent {
                        self.spent.push((id, node.clone()));
                    }
                    drop(state);
                    self.add(node, id);
                    continue;
                }
                (_, None) => {
                    let location = format!("{}:{}", node.location.file(), node.location.line());
                    return Err(Error::Failed { shape: node.shape, location });
                }
                (_, Some(history)) if !ready => {
                    let below =
                        history.operands.iter().rev().filter(|o| !self.ids.contains_key(&Arc::as_ptr(o)));
                    let operands: Vec<(Arc<RecordedNode>, bool)> =
                        below.map(|o| (o.clone(), false)).collect();
                    drop(state);
                    stack.push((node, true));
                    stack.extend(operands);
                    continue;
                }
                _ => {}
            }
            let history = state.history.as_ref().expect("matched above");
            if let Op::Input(_) = history.op {
                self.placeholder = Some(node.clone());
            }
            // Numbered by first appearance, so that every recording of the same code is the same.
            let count = self.regions.len() as u32;
            let region = node.region.map(|r| *self.regions.entry(r).or_insert(count));
            let operands = history.operands.iter().map(|o| self.ids[&Arc::as_ptr(o)]).collect();
            let id = self.graph.append(farad_ir::Node {
                op: history.op.clone(),
                operands,
                shape: node.shape,
                dtype: node.dtype,
                location: Some(node.location),
                region,
            });
            if let Some(value) = &state.value {
                let input = self.leaf(value, node.shape, node.dtype);
                self.locate(input, node.location);
                self.known.push((id, input));
            }
            drop(state);
            self.add(node, id);
        }
        Ok(())
    }

    /// The nodes of tensors, which errors call by their numbers, that `loss` is to be differentiated at.
    pub fn targets<'t>(
        &self,
        loss: NodeId,
        tensors: impl IntoIterator<Item = (usize, &'t Tensor)>,
    ) -> Result<Vec<NodeId>> {
        let mut targets = Vec::new();
        for (index, tensor) in tensors {
            let id = self.ids.get(&Arc::as_ptr(&tensor.node)).copied();
            if id.is_none() {
                // A step that took the path away is the better reason.
                self.refuse_spent(loss, &targets)?;
            }
            targets.push(id.ok_or(OpError::NoPath { index, shape: tensor.shape() })?);
        }
        self.refuse_spent(loss, &targets)?;
        Ok(targets)
    }

    /// Fails if the loss depends on a tensor whose history a step took away.
    fn refuse_spent(&self, loss: NodeId, targets: &[NodeId]) -> Result<()> {
        match self.spent_below(loss, targets) {
            Some(node) => Err(Error::Spent {
                shape: node.shape,
                location: format!("{}:{}", node.location.file(), node.location.line()),
            }),
            None => Ok(()),
        }
    }

    /// Fails if something is needed that has a value only while a scan runs.
    pub fn refuse_placeholders(&self) -> Result<()> {
        match &self.placeholder {
            Some(node) => Err(Error::Placeholder {
                shape: node.shape,
                location: format!("{}:{}", node.location.file(), node.location.line()),
            }),
            None => Ok(()),
        }
    }

    fn add(&mut self, node: Arc<RecordedNode>, id: NodeId) {
        self.ids.insert(Arc::as_ptr(&node), id);
        self.nodes.push((node, id));
    }

    /// The node of a known value: an input, or the part of one that the value lies in. Every call makes a node of
    /// its own, so that two tensors in one memory (a tensor and what was detached from it) stay two in gradients.
    pub fn leaf(&mut self, value: &KnownValue, shape: Shape, dtype: DType) -> NodeId {
        match value {
            KnownValue::Number(scalar) => {
                let first = self.words.len();
                self.words.extend(scalar.words());
                let number = self.graph.parameter(first, dtype);
                self.graph.reshape(number, shape)
            }
            KnownValue::Memory { memory, offset, whole } => {
                let input = self.input(memory, *whole, dtype);
                if *offset == 0 && *whole == shape.numel() {
                    return self.graph.push(Op::Reshape(shape), &[input]);
                }
                let span = Span { start: *offset, len: shape.numel(), step: 1 };
                let part = self.graph.push(Op::Slice(vec![span]), &[input]);
                self.graph.reshape(part, shape)
            }
        }
    }

    /// Says where the tensor below a leaf was made; the first to use an input names it.
    fn locate(&mut self, leaf: NodeId, location: &'static std::panic::Location<'static>) {
        let mut at = leaf;
        loop {
            let node = &mut self.graph.nodes[at.index()];
            node.location.get_or_insert(location);
            let Some(&below) = node.operands.first() else { return };
            at = below;
        }
    }

    /// The input of some memory as one axis; the same memory is one input.
    pub fn input(&mut self, memory: &Memory, len: usize, dtype: DType) -> NodeId {
        if let Some(&id) = self.memories.get(&(memory.identity(), dtype)) {
            return id;
        }
        self.inputs.push(memory.clone());
        let id = self.graph.input(self.inputs.len() - 1, Shape::new(&[len]), dtype);
        self.memories.insert((memory.identity(), dtype), id);
        id
    }

    /// A number given with the run, as its word.
    pub fn word(&mut self, word: u32, dtype: DType) -> NodeId {
        self.words.push(word);
        self.graph.parameter(self.words.len() - 1, dtype)
    }

    /// Nodes without a value that a user still holds a handle to.
    pub fn live(&self) -> Vec<(Arc<RecordedNode>, NodeId)> {
        let live = |node: &Arc<RecordedNode>| {
            node.handles.load(Ordering::Relaxed) > 0 && node.state().value.is_none()
        };
        self.nodes.iter().filter(|(node, _)| live(node)).cloned().collect()
    }

    /// Uses known values instead of computing them again. Call after differentiating.
    pub fn substitute(graph: &mut Graph, known: &[(NodeId, NodeId)]) {
        let map: QuickMap<NodeId, NodeId> = known.iter().copied().collect();
        for index in 0..graph.nodes.len() {
            for operand in 0..graph.nodes[index].operands.len() {
                let from = graph.nodes[index].operands[operand];
                // An input stands after the node whose value it holds, so later users may switch.
                if let Some(&to) = map.get(&from).filter(|to| to.index() < index) {
                    graph.nodes[index].operands[operand] = to;
                }
            }
        }
    }

    /// A leaf without history that `root` depends on through floats, if any, apart from those that
    /// the gradient is asked at.
    fn spent_below(&self, root: NodeId, targets: &[NodeId]) -> Option<&Arc<RecordedNode>> {
        if self.spent.is_empty() {
            return None;
        }
        let mut reached = vec![false; self.graph.nodes.len()];
        reached[root.index()] = true;
        for id in self.graph.ids().rev() {
            let node = self.graph.node(id);
            if reached[id.index()] && node.dtype.is_float() && !matches!(node.op, Op::StopGradient) {
                node.operands.iter().for_each(|o| reached[o.index()] = true);
            }
        }
        self.spent.iter().find(|(id, _)| reached[id.index()] && !targets.contains(id)).map(|(_, node)| node)
    }
}
