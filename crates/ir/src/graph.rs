//! A computation as a list of nodes, operands before users.
//!
//! Start at [`Graph::push`]; the small builders below it exist for gradient rules.

use std::panic::Location;

use crate::dtype::{DType, Scalar};
use crate::error::OpError;
use crate::op::Op;
use crate::ops::binary::Binary;
use crate::ops::contraction::Contraction;
use crate::ops::reduce::Reduce;
use crate::ops::unary::Unary;
use crate::shape::Shape;

/// A node's position in its graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An op applied to earlier nodes.
#[derive(Clone, Debug)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// Its operands.
    pub operands: Vec<NodeId>,
    /// The result's shape.
    pub shape: Shape,
    /// The result's dtype.
    pub dtype: DType,
    /// Where the user built it; `None` for nodes made by gradients and passes.
    pub location: Option<&'static Location<'static>>,
    /// The checkpoint that the node belongs to, if any: gradients recompute its values instead of keeping them.
    pub region: Option<u32>,
}

// The source location does not change what a node computes.
impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.op == other.op
            && self.operands == other.operands
            && self.shape == other.shape
            && self.dtype == other.dtype
            && self.region == other.region
    }
}
impl Eq for Node {}
impl std::hash::Hash for Node {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.op, &self.operands, &self.shape, self.dtype, self.region).hash(state);
    }
}

/// A list of nodes in which operands come before their users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Graph {
    /// The nodes; a [`NodeId`] is an index into it.
    pub nodes: Vec<Node>,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// The node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The node's shape.
    pub fn shape(&self, id: NodeId) -> Shape {
        self.nodes[id.index()].shape
    }

    /// The node's dtype.
    pub fn dtype(&self, id: NodeId) -> DType {
        self.nodes[id.index()].dtype
    }

    /// Every id, operands first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Appends a node without checks.
    pub fn append(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Appends an op after checking its operands.
    pub fn try_push(&mut self, op: Op, operands: &[NodeId]) -> Result<NodeId, OpError> {
        let of: Vec<(Shape, DType)> = operands.iter().map(|&id| (self.shape(id), self.dtype(id))).collect();
        let (shape, dtype) = op.infer(&of)?;
        Ok(self.append(Node { op, operands: operands.to_vec(), shape, dtype, location: None, region: None }))
    }

    /// As [`Graph::try_push`]; panics with the op's message.
    #[track_caller]
    pub fn push(&mut self, op: Op, operands: &[NodeId]) -> NodeId {
        self.try_push(op, operands).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The n-th tensor given to the graph.
    pub fn input(&mut self, n: usize, shape: Shape, dtype: DType) -> NodeId {
        self.append(Node { op: Op::Input(n), operands: vec![], shape, dtype, location: None, region: None })
    }

    /// The n-th parameter of a run.
    pub fn parameter(&mut self, n: usize, dtype: DType) -> NodeId {
        self.append(Node {
            op: Op::Parameter(n),
            operands: vec![],
            shape: Shape::scalar(),
            dtype,
            location: None,
            region: None,
        })
    }

    /// A constant of the given dtype and shape.
    pub fn fill(&mut self, scalar: Scalar, shape: Shape) -> NodeId {
        let constant = self.push(Op::Constant(scalar), &[]);
        self.spread(constant, shape)
    }

    /// A scalar node repeated to `shape`.
    pub fn spread(&mut self, scalar: NodeId, shape: Shape) -> NodeId {
        if shape.rank() == 0 {
            return scalar;
        }
        let ones = self.reshape(scalar, Shape::new(&vec![1; shape.rank()]));
        self.expand(ones, shape)
    }

    /// A constant with the shape and dtype of `like`.
    pub fn fill_like(&mut self, like: NodeId, value: f64) -> NodeId {
        self.fill(Scalar::of(self.dtype(like), value), self.shape(like))
    }

    /// A unary op.
    #[track_caller]
    pub fn unary(&mut self, op: Unary, x: NodeId) -> NodeId {
        self.push(Op::Unary(op), &[x])
    }

    /// A binary op on equal shapes.
    #[track_caller]
    pub fn binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        self.push(Op::Binary(op), &[a, b])
    }

    /// `-x`
    pub fn neg(&mut self, x: NodeId) -> NodeId {
        self.unary(Unary::Neg, x)
    }

    /// `a + b`
    pub fn add(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.binary(Binary::Add, a, b)
    }

    /// `a - b`
    pub fn sub(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.binary(Binary::Sub, a, b)
    }

    /// `a · b`
    pub fn mul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.binary(Binary::Mul, a, b)
    }

    /// `a / b`
    pub fn div(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.binary(Binary::Div, a, b)
    }

    /// `x · factor`
    pub fn scale(&mut self, x: NodeId, factor: f64) -> NodeId {
        let factor = self.fill_like(x, factor);
        self.mul(x, factor)
    }

    /// `condition ? a : b`
    #[track_caller]
    pub fn select(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        self.push(Op::Select, &[condition, a, b])
    }

    /// A cast to another dtype; the node itself if it already has that dtype.
    pub fn cast(&mut self, x: NodeId, dtype: DType) -> NodeId {
        if self.dtype(x) == dtype { x } else { self.push(Op::Cast(dtype), &[x]) }
    }

    /// A reshape; the node itself if it already has that shape.
    #[track_caller]
    pub fn reshape(&mut self, x: NodeId, shape: Shape) -> NodeId {
        if self.shape(x) == shape { x } else { self.push(Op::Reshape(shape), &[x]) }
    }

    /// Expands axes of size 1; the node itself if nothing changes.
    #[track_caller]
    pub fn expand(&mut self, x: NodeId, shape: Shape) -> NodeId {
        if self.shape(x) == shape { x } else { self.push(Op::Expand(shape), &[x]) }
    }

    /// A permutation of the axes.
    #[track_caller]
    pub fn permute(&mut self, x: NodeId, order: &[usize]) -> NodeId {
        self.push(Op::Permute(order.to_vec()), &[x])
    }

    /// A reduction; the node itself if there are no axes.
    #[track_caller]
    pub fn reduce(&mut self, op: Reduce, x: NodeId, axes: &[usize]) -> NodeId {
        if axes.is_empty() { x } else { self.push(Op::Reduce(op, axes.to_vec()), &[x]) }
    }

    /// A contraction.
    #[track_caller]
    pub fn contract(&mut self, contraction: Contraction, lhs: NodeId, rhs: NodeId) -> NodeId {
        self.push(Op::Contract(contraction.into()), &[lhs, rhs])
    }

    /// Which nodes the given roots need, including themselves.
    pub fn reachable(&self, roots: &[NodeId]) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        roots.iter().for_each(|root| needed[root.index()] = true);
        for id in self.ids().rev() {
            if needed[id.index()] {
                self.nodes[id.index()].operands.iter().for_each(|operand| needed[operand.index()] = true);
            }
        }
        needed
    }
}
