//! Evaluation: what a read runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::device::Device;
use crate::error::Result;
use crate::hashing::key;
use crate::node::{Node, Value};
use crate::plan::Request;
use crate::recording::Recording;

/// Computes the given nodes, and only what they need; they keep their history.
pub fn evaluate(roots: &[Arc<Node>]) -> Result<()> {
    let pending: Vec<Arc<Node>> = roots.iter().filter(|r| r.state().value.is_none()).cloned().collect();
    let Some(first) = pending.first() else { return Ok(()) };
    let device = first.device.clone();
    let recording = Recording::of(&pending, false)?;
    let outputs: Vec<_> = pending.iter().map(|node| recording.ids[&Arc::as_ptr(node)]).collect();
    let plan_key = key(&("read", &recording.graph, &outputs));
    let request = || Request { graph: recording.graph.clone(), outputs: outputs.clone(), donations: vec![] };
    if device.finds_not_finite() {
        device.find_not_finite(&request(), &recording.inputs, &recording.words)?;
    }
    let plan = device.plan(plan_key, &recording.graph, || Ok(request()))?;
    let memories = device.run(&plan, &recording.inputs, &recording.words)?;
    for (node, memory) in pending.iter().zip(memories) {
        node.set_value(Value::Memory { memory, offset: 0, whole: node.shape.numel() });
    }
    Ok(())
}

impl Device {
    /// Switches the search for values that are not finite on or off: while on, every run computes
    /// each op apart and stops with the op and the line that made the first bad value. Slow; what
    /// `FARAD_DEBUG=nan` does.
    pub fn find_first_not_finite(&self, on: bool) {
        self.0.finite.store(on, Ordering::Relaxed);
    }

    pub(crate) fn finds_not_finite(&self) -> bool {
        self.0.finite.load(Ordering::Relaxed) || crate::environment::ENVIRONMENT.nan
    }
}
