//! A recorded computation as a graph with named ends, for those who write it down elsewhere.
//!
//! Invariant: two recordings of the same code with the same sizes give the same graph, node by node.

use std::cell::Cell;
use std::sync::Arc;

use farad_ir::{Graph, NodeId, Op};

use crate::error::{Error, Result};
use crate::hashing::QuickMap;
use crate::node::{KnownValue, RecordedNode};
use crate::tensor::Tensor;

thread_local! {
    static COMPOSING: Cell<bool> = const { Cell::new(false) };
}

/// Records `body` by the ops of the table alone where there is a choice: attention is matrix products and softmax.
pub fn composing<T>(body: impl FnOnce() -> T) -> T {
    struct RestoreTrace(bool);
    impl Drop for RestoreTrace {
        fn drop(&mut self) {
            COMPOSING.set(self.0);
        }
    }
    let _restore = RestoreTrace(COMPOSING.replace(true));
    body()
}

/// Whether ops recorded now are those of the table alone.
pub(crate) fn is_composing() -> bool {
    COMPOSING.get()
}

/// What tensors were computed by.
pub struct Traced {
    /// The ops. Input `n` is leaf `n`.
    pub graph: Graph,
    /// The nodes of the tensors that were asked for.
    pub outputs: Vec<NodeId>,
    /// The tensors that were named, then those without a history that were met.
    pub leaves: Vec<Tensor>,
}

impl Traced {
    /// Everything that `outputs` were computed by, down to `leaves` and to what has no history.
    ///
    /// ```
    /// use farad_tensor::engine::Traced;
    /// use farad_tensor::{Device, Tensor};
    /// let x = Tensor::ones([2], &Device::cpu());
    /// let traced = Traced::of(&[&x.exp()], &[&x])?;
    /// assert_eq!((traced.graph.nodes.len(), traced.leaves.len()), (2, 1));
    /// # Ok::<(), farad_tensor::Error>(())
    /// ```
    pub fn of(outputs: &[&Tensor], leaves: &[&Tensor]) -> Result<Traced> {
        let mut tracer = Tracer::default();
        for leaf in leaves {
            tracer.leaf(&leaf.node);
        }
        for output in outputs {
            tracer.follow(&output.node)?;
        }
        let outputs = outputs.iter().map(|output| tracer.ids[&Arc::as_ptr(&output.node)]).collect();
        Ok(Traced { graph: tracer.graph, outputs, leaves: tracer.leaves })
    }
}

#[derive(Default)]
struct Tracer {
    graph: Graph,
    ids: QuickMap<*const RecordedNode, NodeId>,
    leaves: Vec<Tensor>,
}

impl Tracer {
    fn leaf(&mut self, node: &Arc<RecordedNode>) -> NodeId {
        let id = self.graph.input(self.leaves.len(), node.shape, node.dtype);
        self.leaves.push(Tensor::of(node.clone()));
        *self.ids.entry(Arc::as_ptr(node)).or_insert(id)
    }

    fn follow(&mut self, root: &Arc<RecordedNode>) -> Result<()> {
        let mut stack = vec![(root.clone(), false)];
        while let Some((node, ready)) = stack.pop() {
            if self.ids.contains_key(&Arc::as_ptr(&node)) {
                continue;
            }
            let (history, value) = {
                let state = node.state();
                (state.history.clone(), state.value.clone())
            };
            let id = match (history, value) {
                (None, Some(KnownValue::Number(scalar))) => {
                    let constant = self.graph.push(Op::Constant(scalar), &[]);
                    self.graph.reshape(constant, node.shape)
                }
                (None, Some(_)) => {
                    self.leaf(&node);
                    continue;
                }
                (None, None) => {
                    let location = format!("{}:{}", node.location.file(), node.location.line());
                    return Err(Error::Failed { shape: node.shape, location });
                }
                (Some(history), _) if !ready => {
                    let operands: Vec<_> =
                        history.operands.iter().rev().map(|o| (o.clone(), false)).collect();
                    stack.push((node, true));
                    stack.extend(operands);
                    continue;
                }
                (Some(history), _) => self.graph.append(farad_ir::Node {
                    op: history.op,
                    operands: history.operands.iter().map(|o| self.ids[&Arc::as_ptr(o)]).collect(),
                    shape: node.shape,
                    dtype: node.dtype,
                    location: Some(node.location),
                    region: None,
                }),
            };
            self.ids.insert(Arc::as_ptr(&node), id);
        }
        Ok(())
    }
}
