//! Evaluation: what a read runs.

use std::sync::Arc;

use farad_runtime::profile::Phase;

use crate::device::Device;
use crate::error::Result;
use crate::hashing::key;
use crate::node::{Node, Value};
use crate::plan::Request;
use crate::recording::Recording;

/// Computes the given nodes, and only what they need; they keep their history. What is on one
/// device runs together.
pub fn evaluate(roots: &[Arc<Node>]) -> Result<()> {
    let mut pending: Vec<Arc<Node>> = roots.iter().filter(|r| r.state().value.is_none()).cloned().collect();
    while let Some(first) = pending.first() {
        let device = first.device.clone();
        let (here, elsewhere) = pending.into_iter().partition(|node| node.device == device);
        evaluate_on(&device, here)?;
        pending = elsewhere;
    }
    Ok(())
}

fn evaluate_on(device: &Device, pending: Vec<Arc<Node>>) -> Result<()> {
    let _phase = device.profiler().enter(Phase::Recording);
    let mut recording = Recording::of(&pending, false)?;
    recording.refuse_placeholders()?;
    let outputs: Vec<_> = pending.iter().map(|node| recording.ids[&Arc::as_ptr(node)]).collect();
    let plan_key = device.key(&mut recording, |graph| key(&("read", graph, &outputs)));
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
