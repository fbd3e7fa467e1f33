//! What a tensor handle points to: an op on other nodes, a value, or both.
//!
//! Invariant: a node has a value or a history (or both); only `step`, and the longest history that is kept, take a
//! history away that somebody could still ask for, and then mark the node as spent.

use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use farad_ir::{DType, Op, Scalar, Shape};

use crate::device::Device;
use farad_runtime::Memory;

/// A node of the recording.
pub struct RecordedNode {
    pub shape: Shape,
    pub dtype: DType,
    pub device: Device,
    pub location: &'static Location<'static>,
    pub region: Option<u32>,
    /// Tensor handles that users hold.
    pub handles: AtomicUsize,
    /// Longest chain of nodes without a value below this one.
    pub pending: AtomicU32,
    /// Longest chain of history below this one.
    pub depth: u32,
    state: Mutex<NodeState>,
}

/// What a node knows.
#[derive(Default)]
pub struct NodeState {
    pub history: Option<History>,
    pub value: Option<KnownValue>,
    /// The history was taken away while somebody might still want it.
    pub spent: bool,
}

/// An op and what it was applied to.
#[derive(Clone)]
pub struct History {
    pub op: Op,
    pub operands: Vec<Arc<RecordedNode>>,
}

/// A known value.
#[derive(Clone)]
pub enum KnownValue {
    /// Elements in device memory, from an element offset on.
    Memory { memory: Memory, offset: usize, whole: usize },
    /// One number that the host gives with every run.
    Number(Scalar),
}

impl RecordedNode {
    pub fn recorded(
        op: Op,
        operands: Vec<Arc<RecordedNode>>,
        shape: Shape,
        dtype: DType,
        device: Device,
        location: &'static Location<'static>,
        region: Option<u32>,
    ) -> Arc<RecordedNode> {
        let pending = 1 + operands.iter().map(|o| o.pending.load(Ordering::Relaxed)).max().unwrap_or(0);
        let depth = 1 + operands.iter().map(|o| o.depth).max().unwrap_or(0);
        Arc::new(RecordedNode {
            shape,
            dtype,
            device,
            location,
            region,
            handles: AtomicUsize::new(0),
            pending: AtomicU32::new(pending),
            depth,
            state: Mutex::new(NodeState { history: Some(History { op, operands }), ..NodeState::default() }),
        })
    }

    pub fn leaf(
        value: KnownValue,
        shape: Shape,
        dtype: DType,
        device: Device,
        location: &'static Location<'static>,
    ) -> Arc<RecordedNode> {
        Arc::new(RecordedNode {
            shape,
            dtype,
            device,
            location,
            region: None,
            handles: AtomicUsize::new(0),
            pending: AtomicU32::new(0),
            depth: 0,
            state: Mutex::new(NodeState { value: Some(value), ..NodeState::default() }),
        })
    }

    pub fn state(&self) -> MutexGuard<'_, NodeState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn value(&self) -> Option<KnownValue> {
        self.state().value.clone()
    }

    pub fn set_value(&self, value: KnownValue) {
        self.state().value = Some(value);
        self.pending.store(0, Ordering::Relaxed);
    }

    /// Makes the node a leaf; `spent` if a gradient through it must be refused from now on.
    pub fn cut(&self, spent: bool) {
        let history = {
            let mut state = self.state();
            state.spent |= spent && state.history.is_some();
            state.history.take()
        };
        self.pending.store(0, Ordering::Relaxed);
        drop(history); // outside the lock: dropping may reach far
    }

    /// Drops the history if no tensor handle can reach anything in it: nobody can ask for a
    /// gradient there, so it would only hold memory.
    pub fn prune(self: &Arc<RecordedNode>) {
        if !has_live_ancestor(self) {
            self.cut(false);
        }
    }
}

/// Whether a user holds a handle to something that this node was computed from.
pub fn has_live_ancestor(node: &Arc<RecordedNode>) -> bool {
    let mut stack: Vec<Arc<RecordedNode>> = operands(node);
    let mut seen = std::collections::HashSet::new();
    while let Some(next) = stack.pop() {
        if next.handles.load(Ordering::Relaxed) > 0 {
            return true;
        }
        if seen.insert(Arc::as_ptr(&next)) {
            stack.extend(operands(&next));
        }
    }
    false
}

fn operands(node: &RecordedNode) -> Vec<Arc<RecordedNode>> {
    node.state().history.as_ref().map(|h| h.operands.clone()).unwrap_or_default()
}

// Chains of history can be long: take them apart in a loop instead of by recursion.
impl Drop for RecordedNode {
    fn drop(&mut self) {
        let Some(history) = self.state.get_mut().ok().and_then(|s| s.history.take()) else { return };
        let mut stack = history.operands;
        while let Some(next) = stack.pop() {
            if let Ok(mut node) = Arc::try_unwrap(next)
                && let Some(history) = node.state.get_mut().ok().and_then(|s| s.history.take())
            {
                stack.extend(history.operands);
            }
        }
    }
}
