//! Contents of buffers that are not computed yet: running statistics that a forward pass recorded.
//!
//! A step computes those that use something which it computes anyway, in its own submission. Afterwards they
//! are values, so no chain of them grows. Where no step comes, at most four contents of a buffer follow each
//! other. Then all pending buffers of the device are computed in one program ([`Unfinished::finish`]).
//!
//! Invariant: a step computes nothing else for pending buffers. Start at [`Unfinished::beside`].

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::device::Device;
use crate::evaluate::evaluate;
use crate::node::RecordedNode;
use crate::recording::Recording;
use crate::tensor::Tensor;

/// Beyond this many, notes that nobody needs any more are thrown away when another is added.
const MANY: usize = 1024;

/// Remembers that a buffer holds this tensor: a step that computes something which it uses computes it too.
pub fn note_pending(tensor: &Tensor) {
    tensor.device().0.unfinished.note(&tensor.node);
}

/// Whether a tensor is still to be computed.
pub fn is_pending(tensor: &Tensor) -> bool {
    tensor.node.value().is_none()
}

/// Computes what all buffers of a device hold that is still to be computed, in one program.
pub fn finish_pending(device: &Device) {
    device.0.unfinished.finish();
}

/// The pending contents of a device's buffers, in the order in which they were put there.
#[derive(Default)]
pub struct Unfinished(Mutex<Vec<Weak<RecordedNode>>>);

impl Unfinished {
    /// Remembers what was put into a buffer, if it is not computed yet.
    pub fn note(&self, node: &Arc<RecordedNode>) {
        if node.value().is_some() {
            return;
        }
        let mut notes = self.lock();
        if notes.len() >= MANY {
            notes.retain(|note| note.upgrade().is_some_and(|node| is_wanted(&node)));
        }
        notes.push(Arc::downgrade(node));
    }

    /// What is still wanted and uses something that the recording computes.
    pub fn beside(&self, recording: &Recording) -> Vec<Arc<RecordedNode>> {
        let mut wanted = self.wanted();
        wanted.retain(|node| meets(node, recording));
        wanted
    }

    /// Computes all that is still wanted, in one program: layers share what comes before them. What they were computed
    /// from is free afterwards.
    pub fn finish(&self) {
        let wanted = self.wanted();
        match evaluate(&wanted) {
            Ok(()) => wanted.iter().for_each(|node| node.cut(false)),
            Err(error) => tracing::warn!("pending buffers failed and stay pending: {error}"),
        }
    }

    /// What is still wanted; the other notes are thrown away.
    fn wanted(&self) -> Vec<Arc<RecordedNode>> {
        let mut wanted = Vec::new();
        self.lock().retain(|note| match note.upgrade().filter(is_wanted) {
            Some(node) => {
                wanted.push(node);
                true
            }
            None => false,
        });
        wanted
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<RecordedNode>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether somebody holds it and it is not computed yet.
fn is_wanted(node: &Arc<RecordedNode>) -> bool {
    node.handles.load(Ordering::Relaxed) > 0 && node.value().is_none()
}

/// Whether pending work below a node is in the recording.
fn meets(node: &Arc<RecordedNode>, recording: &Recording) -> bool {
    let (mut stack, mut seen) = (vec![node.clone()], HashSet::new());
    while let Some(next) = stack.pop() {
        let state = next.state();
        if state.value.is_some() || !seen.insert(Arc::as_ptr(&next)) {
            continue;
        }
        if recording.ids.contains_key(&Arc::as_ptr(&next)) {
            return true;
        }
        if let Some(history) = &state.history {
            stack.extend(history.operands.iter().cloned());
        }
    }
    false
}
