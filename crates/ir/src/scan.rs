//! Scan: a body graph that is compiled once and runs once per position of its sequences.
//!
//! The node's operands are the initial carries, then sequences (the first axis is time), then constants that
//! every position sees. The body's inputs are, in the same order, the carries, one slice of each sequence and
//! the constants. The body's outputs are the next carries, then one slice of each result sequence. The node's
//! outputs (by `Pick`) are the final carries, then the result sequences. Loops do not nest: a body that
//! contains a scan is rejected.

use crate::dtype::DType;
use crate::error::OpError;
use crate::graph::{Graph, NodeId};
use crate::op::Op;
use crate::shape::Shape;

/// A body and how its inputs and outputs are used; see the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// One step, with its inputs numbered as the module docs say.
    pub body: Graph,
    /// Next carries, then result slices.
    pub outputs: Vec<NodeId>,
    /// How many carries.
    pub carries: usize,
    /// How many sequences.
    pub sequences: usize,
    /// How many positions.
    pub steps: usize,
    /// Runs from the last position to the first.
    pub reverse: bool,
}

impl Scan {
    /// Shapes and dtypes of the node's outputs.
    pub fn results(&self) -> Vec<(Shape, DType)> {
        let of = |&id: &NodeId| (self.body.shape(id), self.body.dtype(id));
        self.outputs
            .iter()
            .enumerate()
            .map(|(i, id)| {
                let (shape, dtype) = of(id);
                if i < self.carries {
                    return (shape, dtype);
                }
                let sizes: Vec<usize> = std::iter::once(self.steps).chain(shape.iter().copied()).collect();
                (Shape::new(&sizes), dtype)
            })
            .collect()
    }

    pub(crate) fn infer(&self, operands: &[(Shape, DType)]) -> Result<(Shape, DType), OpError> {
        let inner = self.body.nodes.iter().filter(|node| matches!(node.op, Op::Scan(_))).count();
        if inner > 0 {
            return Err(OpError::Nested { inner });
        }
        let least = self.carries + self.sequences;
        if operands.len() < least {
            return Err(OpError::Arity { op: "scan", got: operands.len(), least });
        }
        for (shape, _) in &operands[self.carries..least] {
            if shape.rank() == 0 || shape[0] != self.steps {
                let a = shape.first().copied().unwrap_or(0);
                return Err(OpError::Sizes {
                    op: "scan",
                    what: format!("a sequence's first axis is time: {shape}"),
                    a,
                    b: self.steps,
                });
            }
        }
        for (carry, output) in operands[..self.carries].iter().zip(&self.outputs) {
            let (next, dtype) = (self.body.shape(*output), self.body.dtype(*output));
            if carry.1 != dtype {
                return Err(OpError::DTypes { op: "scan", lhs: carry.1, rhs: dtype });
            }
            if carry.0 != next {
                return Err(OpError::Sizes {
                    op: "scan",
                    what: format!("a carry keeps its shape: {} to {next}", carry.0),
                    a: carry.0.numel(),
                    b: next.numel(),
                });
            }
        }
        Ok(self.results().first().copied().unwrap_or((Shape::scalar(), DType::F32)))
    }
}
