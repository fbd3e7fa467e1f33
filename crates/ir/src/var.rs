//! Formulas that append nodes to a graph: gradient rules are written as `g * (1.0 - y * y)`.
//!
//! A [`Var`] is a node of a graph under construction. Operators on it append nodes, in the order in which the
//! formula is evaluated. Start at [`Graph::write`].

use std::cell::RefCell;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

use crate::custom::CustomOp;
use crate::dtype::{DType, Scalar};
use crate::error::OpError;
use crate::graph::{Graph, NodeId};
use crate::op::Op;
use crate::ops::binary::Binary;
use crate::ops::contraction::Contraction;
use crate::ops::movement::slice::Span;
use crate::ops::reduce::Reduce;
use crate::ops::unary::Unary;
use crate::shape::Shape;

/// A graph while formulas append to it.
pub struct GraphWriter(RefCell<Graph>);

impl GraphWriter {
    /// The node as a value in formulas.
    pub fn var(&self, id: NodeId) -> Var<'_> {
        Var { writer: self, id }
    }

    /// The nodes as values in formulas.
    pub fn vars(&self, ids: &[NodeId]) -> Vec<Var<'_>> {
        ids.iter().map(|&id| self.var(id)).collect()
    }

    /// A constant of the given dtype and shape.
    pub fn fill(&self, scalar: Scalar, shape: Shape) -> Var<'_> {
        self.edit(|graph| graph.fill(scalar, shape))
    }

    /// `0, 1, …, count - 1` as `i32`.
    pub fn iota(&self, count: usize) -> Var<'_> {
        self.push(Op::Iota(count), &[])
    }

    /// An op on values; panics with the op's message if they do not match.
    #[track_caller]
    pub fn push(&self, op: Op, operands: &[Var]) -> Var<'_> {
        let ids: Vec<NodeId> = operands.iter().map(|x| x.id).collect();
        self.edit(|graph| graph.push(op, &ids))
    }

    /// Appends what some nodes of another graph need, with its inputs replaced.
    pub fn inline<'g>(
        &'g self,
        other: &Graph,
        inputs: &[Var<'g>],
        wanted: &[Option<NodeId>],
    ) -> Vec<Option<Var<'g>>> {
        let roots: Vec<NodeId> = wanted.iter().flatten().copied().collect();
        let map = other.rewrite(other.needed(&roots), |_, node| match node.op {
            Op::Input(n) => inputs[n].id,
            _ => self.0.borrow_mut().append(node),
        });
        wanted.iter().map(|id| id.map(|id| self.var(map.at(id)))).collect()
    }

    fn edit(&self, edit: impl FnOnce(&mut Graph) -> NodeId) -> Var<'_> {
        self.var(edit(&mut self.0.borrow_mut()))
    }
}

impl Graph {
    /// Lets `formula` append to the graph with [`Var`]s.
    ///
    /// ```
    /// use farad_ir::{DType, Graph, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input(0, Shape::new(&[3]), DType::F32);
    /// let y = graph.write(|writer| {
    ///     let x = writer.var(x);
    ///     (1.0 - x * x).id()
    /// });
    /// assert_eq!(graph.node(y).op.name(), "sub");
    /// ```
    pub fn write<R>(&mut self, formula: impl FnOnce(&GraphWriter) -> R) -> R {
        let writer = GraphWriter(RefCell::new(std::mem::take(self)));
        let result = formula(&writer);
        *self = writer.0.into_inner();
        result
    }
}

/// A node of a graph that is being written. Operators and methods append to the graph; a number means a
/// constant of the same shape and dtype.
#[derive(Clone, Copy)]
pub struct Var<'g> {
    writer: &'g GraphWriter,
    id: NodeId,
}

impl fmt::Debug for Var<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "%{}", self.id.0)
    }
}

impl<'g> Var<'g> {
    /// The node.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The graph that it belongs to.
    pub fn writer(self) -> &'g GraphWriter {
        self.writer
    }

    /// Its shape.
    pub fn shape(self) -> Shape {
        self.writer.0.borrow().shape(self.id)
    }

    /// How many elements it has.
    pub fn len(self) -> usize {
        self.shape().numel()
    }

    /// Whether it has no elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Its dtype.
    pub fn dtype(self) -> DType {
        self.writer.0.borrow().dtype(self.id)
    }

    /// The op that computes it, and its operands.
    pub fn made_by(self) -> (Op, Vec<Var<'g>>) {
        let node = self.writer.0.borrow().node(self.id).clone();
        (node.op, self.writer.vars(&node.operands))
    }

    /// A constant with its shape and dtype.
    pub fn like(self, value: f64) -> Var<'g> {
        self.edit(|graph, x| graph.fill_like(x, value))
    }

    /// `0, 1, …, count - 1` as `i32`.
    pub fn iota(self, count: usize) -> Var<'g> {
        self.writer.iota(count)
    }

    /// A unary op.
    #[track_caller]
    pub fn unary(self, op: Unary) -> Var<'g> {
        self.edit(|graph, x| graph.unary(op, x))
    }

    /// A binary op, with a value of the same shape and dtype or a number.
    #[track_caller]
    pub fn binary(self, op: Binary, other: impl VarOperand<'g>) -> Var<'g> {
        let other = other.beside(self);
        self.edit(|graph, x| graph.binary(op, x, other.id))
    }

    /// `a` where this is true, otherwise `b`.
    #[track_caller]
    pub fn select(self, a: Var<'g>, b: Var<'g>) -> Var<'g> {
        self.edit(|graph, x| graph.select(x, a.id, b.id))
    }

    /// A cast to another dtype; itself if it already has that dtype.
    pub fn cast(self, dtype: DType) -> Var<'g> {
        self.edit(|graph, x| graph.cast(x, dtype))
    }

    /// A reshape; itself if it already has that shape.
    #[track_caller]
    pub fn reshape(self, shape: impl Into<Shape>) -> Var<'g> {
        self.edit(|graph, x| graph.reshape(x, shape.into()))
    }

    /// Expands axes of size 1; itself if nothing changes.
    #[track_caller]
    pub fn expand(self, shape: Shape) -> Var<'g> {
        self.edit(|graph, x| graph.expand(x, shape))
    }

    /// A permutation of the axes.
    #[track_caller]
    pub fn permute(self, order: &[usize]) -> Var<'g> {
        self.edit(|graph, x| graph.permute(x, order))
    }

    /// Zeros before and after, per axis.
    #[track_caller]
    pub fn pad(self, widths: Vec<(usize, usize)>) -> Var<'g> {
        self.push(Op::Pad(widths), &[])
    }

    /// A span of every axis.
    #[track_caller]
    pub fn slice(self, spans: Vec<Span>) -> Var<'g> {
        self.push(Op::Slice(spans), &[])
    }

    /// The first `len` elements along the last axis. `[.., n] -> [.., len]`
    #[track_caller]
    pub fn first(self, len: usize) -> Var<'g> {
        let sizes = self.shape();
        let outer = &sizes[..sizes.len() - 1];
        self.slice(outer.iter().chain([&len]).map(|&len| Span::first(len)).collect())
    }

    /// A part of a one-dimensional value; itself if that is all. `[n] -> [len]`
    #[track_caller]
    pub fn part(self, start: usize, len: usize) -> Var<'g> {
        if self.len() == len { self } else { self.slice(vec![Span { start, len, step: 1 }]) }
    }

    /// Padded with zeros at the end of the last axis, up to `len`; itself if it already has that length.
    /// `[.., n] -> [.., len]`
    #[track_caller]
    pub fn padded(self, len: usize) -> Var<'g> {
        let sizes = self.shape();
        let (last, outer) = sizes.split_last().expect("an axis");
        match len - last {
            0 => self,
            rest => self.pad(outer.iter().map(|_| (0, 0)).chain([(0, rest)]).collect()),
        }
    }

    /// Parts placed into one axis of `len` elements, each at its offset, with zeros elsewhere. Offsets must be
    /// ascending, and there must be at least one part.
    #[track_caller]
    pub fn packed(parts: &[(usize, Var<'g>)], len: usize) -> Var<'g> {
        let (offsets, parts): (Vec<usize>, Vec<Var>) = parts.iter().copied().unzip();
        parts[0].writer.push(Op::Pack(offsets, len), &parts)
    }

    /// The given axes reversed.
    #[track_caller]
    pub fn flip(self, axes: &[usize]) -> Var<'g> {
        self.push(Op::Flip(axes.to_vec()), &[])
    }

    /// A reduction; itself if there are no axes.
    #[track_caller]
    pub fn reduce(self, op: Reduce, axes: &[usize]) -> Var<'g> {
        self.edit(|graph, x| graph.reduce(op, x, axes))
    }

    /// The sum along axes; itself if there are none.
    #[track_caller]
    pub fn sum(self, axes: &[usize]) -> Var<'g> {
        self.reduce(Reduce::Sum, axes)
    }

    /// A contraction with another operand.
    #[track_caller]
    pub fn contract(self, contraction: Contraction, rhs: Var<'g>) -> Var<'g> {
        self.edit(|graph, x| graph.contract(contraction, x, rhs.id))
    }

    /// Batched matrix product. `[count, m, k], [count, k, n] -> [count, m, n]`
    #[track_caller]
    pub fn matmul(self, rhs: Var<'g>) -> Var<'g> {
        let (lhs_shape, rhs_shape) = (self.shape(), rhs.shape());
        let [count, m, k] = lhs_shape[..] else { panic!("matmul: not matrices: {lhs_shape}") };
        self.contract(Contraction::matmul(&[count], m, k, rhs_shape[2]), rhs)
    }

    /// Matrices transposed. `[count, m, n] -> [count, n, m]`
    #[track_caller]
    pub fn transposed(self) -> Var<'g> {
        self.permute(&[0, 2, 1])
    }

    /// `x · x`
    pub fn square(self) -> Var<'g> {
        self * self
    }

    /// Any op with this as its first operand, followed by `others`.
    #[track_caller]
    pub fn push(self, op: Op, others: &[Var<'g>]) -> Var<'g> {
        let operands: Vec<Var> = std::iter::once(self).chain(others.iter().copied()).collect();
        self.writer.push(op, &operands)
    }

    /// All results of a custom op, which has at least one operand.
    pub fn custom(op: impl CustomOp + 'static, operands: &[Var<'g>]) -> Result<Vec<Var<'g>>, OpError> {
        let kinds: Vec<(Shape, DType)> = operands.iter().map(|x| (x.shape(), x.dtype())).collect();
        let results = op.infer(&kinds)?;
        let node = operands[0].writer.push(Op::Custom(Arc::new(op)), operands);
        let pick = |(n, (shape, dtype))| node.push(Op::Pick(n, shape, dtype), &[]);
        Ok(results.into_iter().enumerate().map(pick).collect())
    }

    fn edit(self, edit: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> Var<'g> {
        self.writer.edit(|graph| edit(graph, self.id))
    }
}

/// An operand beside a [`Var`]: another one, or a number.
pub trait VarOperand<'g> {
    /// The operand as a value with the shape and dtype of `beside`.
    fn beside(self, beside: Var<'g>) -> Var<'g>;
}

impl<'g> VarOperand<'g> for Var<'g> {
    fn beside(self, _: Var<'g>) -> Var<'g> {
        self
    }
}

impl<'g> VarOperand<'g> for f64 {
    fn beside(self, beside: Var<'g>) -> Var<'g> {
        beside.like(self)
    }
}

macro_rules! named_ops {
    (unary { $($(#[$doc:meta])* $unary:ident $op:ident,)* } binary { $($(#[$doc2:meta])* $binary:ident $op2:ident,)* }) => {
        impl<'g> Var<'g> {
            $($(#[$doc])* pub fn $unary(self) -> Var<'g> { self.unary(Unary::$op) })*
            $($(#[$doc2])* pub fn $binary(self, other: impl VarOperand<'g>) -> Var<'g> { self.binary(Binary::$op2, other) })*
        }
    };
}

named_ops! {
    unary {
    /// `|x|`
    abs Abs,
    /// -1, 0 or 1.
    sign Sign,
    /// `√x`
    sqrt Sqrt,
    /// `e^x`
    exp Exp,
    /// Natural logarithm.
    log Log,
    /// Sine.
    sin Sin,
    /// Cosine.
    cos Cos,
    /// Largest integer not above it.
    floor Floor,
    }
    binary {
    /// To the power of another.
    pow Pow,
    /// The larger.
    max Max,
    /// The smaller.
    min Min,
    /// `a < b`
    less Less,
    /// `a ≤ b`
    less_equal LessEqual,
    /// `a ≥ b`
    greater_equal GreaterEqual,
    /// `a = b`
    equal Equal,
    /// Both.
    and And,
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident,)*) => {$(
        impl<'g, R: VarOperand<'g>> $trait<R> for Var<'g> {
            type Output = Var<'g>;
            fn $method(self, other: R) -> Var<'g> { self.binary(Binary::$op, other) }
        }
        impl<'g> $trait<Var<'g>> for f64 {
            type Output = Var<'g>;
            fn $method(self, other: Var<'g>) -> Var<'g> { other.like(self).binary(Binary::$op, other) }
        }
    )*};
}

operators! {
    Add add Add,
    Sub sub Sub,
    Mul mul Mul,
    Div div Div,
}

impl<'g> Neg for Var<'g> {
    type Output = Var<'g>;
    fn neg(self) -> Var<'g> {
        self.unary(Unary::Neg)
    }
}
