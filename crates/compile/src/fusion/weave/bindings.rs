//! Counts the buffers that a woven scan names, and finds those that can share an array.

use std::collections::HashSet;

use farad_ir::{DType, Graph, NodeId};

use super::Woven;
use crate::program::{Code, Level, Target};

impl Woven {
    /// Nodes that the kernel reads before its loop and not in it.
    pub fn once(&self) -> Vec<NodeId> {
        let again: HashSet<NodeId> = self
            .tape
            .iter()
            .filter(|instr| instr.level == Level::Full || matches!(instr.code, Code::Take { .. }))
            .filter_map(|instr| instr.code.buffer().map(|buffer| NodeId(buffer.0)))
            .collect();
        self.reads.iter().copied().filter(|id| !again.contains(id)).collect()
    }

    /// Nodes that it writes after its loop.
    pub fn last(&self) -> Vec<NodeId> {
        let mut picks: Vec<NodeId> =
            self.carries.iter().filter_map(|carry| carry.last.as_ref().map(|(pick, _)| *pick)).collect();
        picks.dedup();
        picks
    }

    /// Nodes that it writes in its loop.
    fn results(&self) -> HashSet<NodeId> {
        self.stores.iter().map(|store| store.node).collect()
    }

    /// Whether nodes that are read or written once must share arrays to stay within the target's bindings.
    pub fn staged(&self, target: &Target) -> bool {
        self.reads.len() + self.last().len() + self.results().len() > target.bindings
    }

    /// The fewest buffers that the kernel can name.
    pub(super) fn bindings(&self, graph: &Graph) -> usize {
        let (once, last) = (self.once(), self.last());
        let arrays =
            |nodes: &[NodeId]| nodes.iter().map(|id| graph.dtype(*id)).collect::<HashSet<DType>>().len();
        self.reads.len() - once.len() + self.results().len() + arrays(&once) + arrays(&last)
    }
}
