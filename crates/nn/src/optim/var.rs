//! Formulas over a graph: nodes with operators, so that a rule reads as it is written on paper.
//!
//! Invariant: every operator and method appends its nodes when it is evaluated, so the order of a formula is the order
//! of the graph.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Sub};

use farad_ir::{Binary, Contraction, Graph, NodeId, Op, Reduce, Scalar, Shape, Span, Unary};

/// A node of a step's graph, in formulas. Operands have one shape; numbers take that of the other side.
#[derive(Clone, Copy)]
pub struct Var<'g> {
    graph: &'g RefCell<Graph>,
    id: NodeId,
}

/// What may stand beside a [`Var`]: another, or a number.
pub trait Operand<'g> {
    /// It as a node, like `beside` in shape and dtype.
    fn beside(self, beside: Var<'g>) -> Var<'g>;
}

impl<'g> Operand<'g> for Var<'g> {
    fn beside(self, _: Var<'g>) -> Var<'g> {
        self
    }
}

impl<'g> Operand<'g> for f64 {
    fn beside(self, beside: Var<'g>) -> Var<'g> {
        beside.of(|graph| graph.fill_like(beside.id, self))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident,)*) => {$(
        impl<'g, R: Operand<'g>> $trait<R> for Var<'g> {
            type Output = Var<'g>;
            fn $method(self, rhs: R) -> Var<'g> {
                self.binary(Binary::$op, rhs)
            }
        }

        impl<'g> $trait<Var<'g>> for f64 {
            type Output = Var<'g>;
            fn $method(self, rhs: Var<'g>) -> Var<'g> {
                self.beside(rhs).binary(Binary::$op, rhs)
            }
        }
    )*};
}

operators! {
    Add add Add,
    Sub sub Sub,
    Mul mul Mul,
    Div div Div,
}

impl<'g> Var<'g> {
    /// A node of a graph.
    pub fn new(graph: &'g RefCell<Graph>, id: NodeId) -> Var<'g> {
        Var { graph, id }
    }

    /// The node.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// Its sizes.
    pub fn shape(self) -> Shape {
        self.graph.borrow().shape(self.id)
    }

    /// How many elements it has.
    pub fn len(self) -> usize {
        self.shape().numel()
    }

    /// Whether it has no elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// What a function of the graph appends.
    fn of(self, append: impl FnOnce(&mut Graph) -> NodeId) -> Var<'g> {
        Var { graph: self.graph, id: append(&mut self.graph.borrow_mut()) }
    }

    fn unary(self, op: Unary) -> Var<'g> {
        self.of(|graph| graph.unary(op, self.id))
    }

    fn binary(self, op: Binary, rhs: impl Operand<'g>) -> Var<'g> {
        let rhs = rhs.beside(self);
        self.of(|graph| graph.binary(op, self.id, rhs.id))
    }

    /// `√x`
    pub fn sqrt(self) -> Var<'g> {
        self.unary(Unary::Sqrt)
    }

    /// `x · x`
    pub fn square(self) -> Var<'g> {
        self * self
    }

    /// `|x|`
    pub fn abs(self) -> Var<'g> {
        self.unary(Unary::Abs)
    }

    /// -1, 0 or 1.
    pub fn sign(self) -> Var<'g> {
        self.unary(Unary::Sign)
    }

    /// The larger of the two.
    pub fn max(self, rhs: impl Operand<'g>) -> Var<'g> {
        self.binary(Binary::Max, rhs)
    }

    /// The smaller of the two.
    pub fn min(self, rhs: impl Operand<'g>) -> Var<'g> {
        self.binary(Binary::Min, rhs)
    }

    /// Whether it is less: a truth value, for [`Var::select`].
    pub fn less(self, rhs: impl Operand<'g>) -> Var<'g> {
        self.binary(Binary::Less, rhs)
    }

    /// `a` where this truth value holds, else `b`.
    pub fn select(self, a: Var<'g>, b: Var<'g>) -> Var<'g> {
        self.of(|graph| graph.select(self.id, a.id, b.id))
    }

    /// The sum along axes.
    pub fn sum(self, axes: &[usize]) -> Var<'g> {
        self.of(|graph| graph.reduce(Reduce::Sum, self.id, axes))
    }

    /// Other sizes for the same elements.
    pub fn reshape(self, sizes: &[usize]) -> Var<'g> {
        self.of(|graph| graph.reshape(self.id, Shape::new(sizes)))
    }

    /// Axes of size 1 repeated.
    pub fn expand(self, shape: Shape) -> Var<'g> {
        self.of(|graph| graph.expand(self.id, shape))
    }

    /// The first elements along the last axis. `[.., n] -> [.., len]`
    pub fn first(self, len: usize) -> Var<'g> {
        let sizes = self.shape();
        let outer = &sizes[..sizes.len() - 1];
        let spans = outer.iter().chain([&len]).map(|&len| Span { start: 0, len, step: 1 }).collect();
        self.of(|graph| graph.push(Op::Slice(spans), &[self.id]))
    }

    /// A part of one axis; itself if that is all. `[n] -> [len]`
    pub fn part(self, start: usize, len: usize) -> Var<'g> {
        match self.len() == len {
            true => self,
            false => {
                let span = Span { start, len, step: 1 };
                self.of(|graph| graph.push(Op::Slice(vec![span]), &[self.id]))
            }
        }
    }

    /// Zeros behind, along the last axis, up to `len`; itself if it is as long. `[.., n] -> [.., len]`
    pub fn padded(self, len: usize) -> Var<'g> {
        let sizes = self.shape();
        let (last, outer) = sizes.split_last().expect("an axis");
        match len - last {
            0 => self,
            rest => {
                let pads = outer.iter().map(|_| (0, 0)).chain([(0, rest)]).collect();
                self.of(|graph| graph.push(Op::Pad(pads), &[self.id]))
            }
        }
    }

    /// Rows and columns of matrices exchanged. `[count, m, n] -> [count, n, m]`
    pub fn turned(self) -> Var<'g> {
        self.of(|graph| graph.permute(self.id, &[0, 2, 1]))
    }

    /// Products of matrices. `[count, m, k], [count, k, n] -> [count, m, n]`
    pub fn matmul(self, rhs: Var<'g>) -> Var<'g> {
        let (lhs_shape, rhs_shape) = (self.shape(), rhs.shape());
        let [count, m, k] = lhs_shape[..] else { panic!("matmul: no matrices: {lhs_shape}") };
        let contraction = Contraction::matmul(&[count], m, k, rhs_shape[2]);
        self.of(|graph| graph.contract(contraction, self.id, rhs.id))
    }

    /// Parts laid side by side into one axis of `len` elements, each from its offset on; zeros elsewhere. Offsets are in
    /// order; there is at least one part.
    pub fn packed(parts: &[(usize, Var<'g>)], len: usize) -> Var<'g> {
        let (offsets, ids) = parts.iter().map(|(offset, part)| (*offset, part.id)).unzip();
        let ids: Vec<NodeId> = ids;
        parts[0].1.of(|graph| graph.push(Op::Pack(offsets, len), &ids))
    }

    /// No elements at all, beside this one in its graph.
    pub fn none(self) -> Var<'g> {
        self.of(|graph| graph.fill(Scalar::f32(0.0), Shape::new(&[0])))
    }
}
