//! Plans sorts: those that a graph asks for, and those of indices that make a large scatter faster.
//!
//! Their scratch memory comes from blocks that are free at that time; nothing in it outlives the op.

use farad_ir::{DType, NodeId, Op};

use super::{Planner, limits};
use crate::planning::assemble::PlannedMemory;
use crate::program::{BufferId, Kernel, Keys, Place, Sort, Spec, Target};

/// Rows to be sorted.
struct SortedRows {
    rows: usize,
    /// Elements of a row.
    len: usize,
    /// How many leading positions of each row's order are needed.
    asked: usize,
    /// How they are sorted.
    keys: Keys,
}

impl Planner<'_, '_> {
    /// Plans the sort that a node needs, if any, in free blocks. Returns the blocks, to be freed afterwards.
    pub(super) fn place_sort(&mut self, id: NodeId, free: &mut Vec<usize>, target: &Target) -> Vec<usize> {
        let mut taken = Vec::new();
        let Some(SortedRows { rows, len, asked, keys }) = self.sorted(id, target) else { return taken };
        let mut scratch = |planner: &mut Self, len: usize, dtype: DType| {
            let block = planner.take_block(free, (len * dtype.size()).next_multiple_of(limits::ALIGNMENT));
            taken.push(block);
            planner.add_buffer(Place::Block(block), 0, Spec { dtype, len })
        };
        let operands = &self.graph.node(id).operands;
        let (operand, order) = match keys {
            Keys::Below(_) => (self.buffer(operands[1]), scratch(self, rows * len, DType::I32)),
            _ => (self.buffer(operands[0]), self.buffer(id)),
        };
        let mut sort = Sort { rows, len, taken: asked, operand, order, keys, scratch: vec![] };
        if target.scratch {
            let words = sort.scratch_words().into_iter();
            sort.scratch = words.map(|words| scratch(self, words, DType::U32)).collect();
        }
        self.sorts.insert(id, sort);
        taken
    }

    /// What to sort for an argsort, a top-k or a large scatter.
    fn sorted(&self, id: NodeId, target: &Target) -> Option<SortedRows> {
        let node = self.graph.node(id);
        match node.op {
            Op::Top(descending, count) => {
                let from = self.graph.shape(node.operands[0]);
                let keys = if descending { Keys::Descending } else { Keys::Ascending };
                let rows = node.shape.numel() / count;
                Some(SortedRows { rows, len: from[from.rank() - 1], asked: count, keys })
            }
            Op::Order(descending) => {
                let inner = self.graph.node(node.operands[0]);
                let len = node.shape[node.shape.rank() - 1];
                let keys = match descending {
                    // An order is a permutation, so its own order is its inverse.
                    false if matches!(inner.op, Op::Order(_)) => Keys::Permutation,
                    false => Keys::Ascending,
                    true => Keys::Descending,
                };
                Some(SortedRows { rows: node.shape.numel() / len, len, asked: len, keys })
            }
            Op::ScatterAdd(axis, size) => {
                let index = self.graph.shape(node.operands[1]);
                let (rows, len) = (index[..axis].iter().product(), index[axis]);
                let whole_rows = index[axis + 1..].iter().all(|&size| size == 1);
                let large = len >= limits::SCANNED_SOURCES
                    && len * size >= limits::SCANNED_PAIRS
                    && !self.is_distinct(id);
                (target.scratch && whole_rows && large).then_some(SortedRows {
                    rows,
                    len,
                    asked: len,
                    keys: Keys::Below(size),
                })
            }
            _ => None,
        }
    }

    /// Whether a scatter's sources go to distinct, valid positions, because they are the leading entries of an
    /// order.
    pub(super) fn is_distinct(&self, scatter: NodeId) -> bool {
        let node = self.graph.node(scatter);
        let index = self.graph.node(node.operands[1]);
        let (Op::ScatterAdd(axis, size), Op::Top(..)) = (&node.op, &index.op) else { return false };
        let from = self.graph.shape(index.operands[0]);
        *axis + 1 == from.rank() && *size >= from[*axis]
    }

    /// Emits the step of a planned sort and returns the buffer of its order.
    pub(super) fn sort(&mut self, id: NodeId, label: &str) -> Option<BufferId> {
        let sort = self.sorts.remove(&id)?;
        let order = sort.order;
        self.push(label.into(), Kernel::Sort(sort));
        Some(order)
    }
}
