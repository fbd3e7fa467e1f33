//! Gradients as tensors.

use std::panic::Location;
use std::sync::Arc;

use farad_runtime::profile::Phase;

use crate::error::Result;
use crate::node::RecordedNode;
use crate::recording::Recording;
use crate::tensor::Tensor;

impl Tensor {
    /// The gradient of this tensor, which holds one number, at `x`: a tensor like any other, so it
    /// can be differentiated again.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::full(3.0, [], &Device::cpu());
    /// let y = &x * &x * &x;
    /// let slope = y.gradient(&x)?;
    /// assert_eq!(slope.item()?, 27.0);
    /// assert_eq!(slope.gradient(&x)?.item()?, 18.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn gradient(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.gradients_at(&[x])?.swap_remove(0))
    }

    /// The gradients of this tensor at several others, computed together.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let (x, y) = (Tensor::full(3.0, [], &Device::cpu()), Tensor::full(4.0, [], &Device::cpu()));
    /// let both = (&x * &y).gradients_at(&[&x, &y])?;
    /// assert_eq!((both[0].item()?, both[1].item()?), (4.0, 3.0));
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn gradients_at(&self, wrt: &[&Tensor]) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        let _phase = self.device().profiler().enter(Phase::Recording);
        let mut recording = Recording::of(std::slice::from_ref(&self.node), true)?;
        let loss = recording.ids[&Arc::as_ptr(&self.node)];
        let targets = recording.targets(loss, wrt.iter().copied().enumerate())?;
        let found = farad_ir::gradient(&mut recording.graph, loss, &targets)?;
        let nodes = replay(&recording, location, &self.node);
        Ok(found.into_iter().map(|id| Tensor::of(nodes[id.index()].clone().expect("replayed"))).collect())
    }
}

/// Records the nodes that differentiation added, on top of those that were there.
fn replay(
    recording: &Recording,
    location: &'static Location<'static>,
    like: &RecordedNode,
) -> Vec<Option<Arc<RecordedNode>>> {
    let mut nodes: Vec<Option<Arc<RecordedNode>>> = vec![None; recording.graph.nodes.len()];
    for (node, id) in &recording.nodes {
        nodes[id.index()] = Some(node.clone());
    }
    for id in recording.graph.ids() {
        if nodes[id.index()].is_some() {
            continue;
        }
        let node = recording.graph.node(id);
        let operands: Option<Vec<Arc<RecordedNode>>> =
            node.operands.iter().map(|o| nodes[o.index()].clone()).collect();
        // Inputs and slices of inputs stand below leaves that are there already.
        let Some(operands) = operands.filter(|_| !is_leaf(&node.op)) else { continue };
        let location = node.location.unwrap_or(location);
        let made = RecordedNode::recorded(
            node.op.clone(),
            operands,
            node.shape,
            node.dtype,
            like.device.clone(),
            location,
            node.region,
        );
        nodes[id.index()] = Some(made);
    }
    nodes
}

fn is_leaf(op: &farad_ir::Op) -> bool {
    matches!(op, farad_ir::Op::Input(_) | farad_ir::Op::Parameter(_))
}
