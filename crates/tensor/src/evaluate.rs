//! Evaluation: what a read runs.

use std::sync::Arc;

use crate::engine::EngineStep;
use crate::error::Result;
use crate::node::RecordedNode;

/// Computes the given nodes, and only what they need; they keep their history. What is on one
/// device runs together.
pub fn evaluate(roots: &[Arc<RecordedNode>]) -> Result<()> {
    let mut pending: Vec<Arc<RecordedNode>> =
        roots.iter().filter(|r| r.state().value.is_none()).cloned().collect();
    while let Some(first) = pending.first() {
        let device = first.device.clone();
        let (here, elsewhere) = pending.into_iter().partition(|node| node.device == device);
        device.recording(|| EngineStep::reading(&device, here)?.run(&"read", |_| Ok(vec![])))?;
        pending = elsewhere;
    }
    Ok(())
}
