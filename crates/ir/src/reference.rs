//! The reference for graphs: every op in double precision, written for clarity.
//!
//! Backends are tested against this. Floats are never rounded, whatever their dtype; integers are
//! wrapped to their dtype after every op. An index out of range is clamped by gather and skipped by
//! scatter-add, as devices do. Start at [`evaluate_outputs`].

mod pointwise;
pub(crate) mod positions;
mod reduce;
#[cfg(test)]
mod tests;

use crate::dtype::{DType, Scalar, truncate, wrap};
use crate::graph::{Graph, Node, NodeId};
use crate::op::Op;
use crate::ops::index::{gather, order, scatter_add};
use crate::ops::movement::{expand, flip, pad, permute, slice};
use crate::ops::{contraction, pack, select, source};
use crate::scan::Scan;
use crate::shape::Shape;

/// The elements of a tensor, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Elements of any float dtype, unrounded.
    Float(Vec<f64>),
    /// Integers wrapped to their dtype (a `u64` as its bits), or booleans as 0 and 1.
    Int(Vec<i64>),
}

impl Values {
    /// `elements` converted to `dtype`, as [`Op::Cast`] does.
    pub fn from_f64(dtype: DType, elements: &[f64]) -> Values {
        if dtype.is_float() {
            Values::Float(elements.to_vec())
        } else {
            Values::Int(elements.iter().map(|&x| truncate(dtype, x)).collect())
        }
    }

    /// `len` zeros of `dtype`.
    pub fn zeros(dtype: DType, len: usize) -> Values {
        if dtype.is_float() { Values::Float(vec![0.0; len]) } else { Values::Int(vec![0; len]) }
    }

    /// The elements as floats, whatever their kind; a `u64` of 2⁶³ or more comes out negative.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Values::Float(x) => x.clone(),
            Values::Int(x) => x.iter().map(|&x| x as f64).collect(),
        }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        match self {
            Values::Float(x) => x.len(),
            Values::Int(x) => x.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn one(dtype: DType, scalar: Scalar) -> Values {
        if dtype.is_float() {
            Values::Float(vec![scalar.as_f64()])
        } else {
            Values::Int(vec![wrap(dtype, scalar.as_i64())])
        }
    }

    /// Integers; panics on floats, which [`Op::infer`] rules out.
    pub(crate) fn ints(&self) -> &[i64] {
        match self {
            Values::Int(x) => x,
            Values::Float(_) => panic!("reference: integers expected: got floats"),
        }
    }

    /// Floats; panics on integers, which [`Op::infer`] rules out.
    pub(crate) fn floats(&self) -> &[f64] {
        match self {
            Values::Float(x) => x,
            Values::Int(_) => panic!("reference: floats expected: got integers"),
        }
    }

    /// The elements at the given positions; zero at a position that does not exist.
    pub(crate) fn take(&self, positions: &[usize]) -> Values {
        match self {
            Values::Float(x) => {
                Values::Float(positions.iter().map(|&p| x.get(p).copied().unwrap_or(0.0)).collect())
            }
            Values::Int(x) => {
                Values::Int(positions.iter().map(|&p| x.get(p).copied().unwrap_or(0)).collect())
            }
        }
    }

    /// `len` elements starting at `start`.
    fn part(&self, start: usize, len: usize) -> Values {
        match self {
            Values::Float(x) => Values::Float(x[start..start + len].to_vec()),
            Values::Int(x) => Values::Int(x[start..start + len].to_vec()),
        }
    }

    /// Overwrites elements, starting at `start`.
    pub(crate) fn write(&mut self, start: usize, part: &Values) {
        match self {
            Values::Float(x) => x[start..start + part.len()].copy_from_slice(part.floats()),
            Values::Int(x) => x[start..start + part.len()].copy_from_slice(part.ints()),
        }
    }
}

/// The value of a node: one tensor, or several that [`Op::Pick`] chooses from.
enum NodeValues {
    One(Values),
    Many(Vec<Values>),
}

impl NodeValues {
    /// The tensor itself; if there are several, the first, as in [`Op::infer`].
    fn first(&self) -> &Values {
        match self {
            NodeValues::One(values) => values,
            NodeValues::Many(values) => values.first().expect("reference: an op without outputs was used"),
        }
    }
}

/// The value of every node; for a node with several outputs, the first.
///
/// `inputs[n]` belongs to [`Op::Input`]`(n)`, `parameters[n]` to [`Op::Parameter`]`(n)`.
pub fn evaluate(graph: &Graph, inputs: &[Values], parameters: &[Scalar]) -> Vec<Values> {
    let all: Vec<NodeId> = graph.ids().collect();
    let outcomes = run(graph, inputs, parameters, &all);
    let value = |outcome| match outcome {
        Some(NodeValues::One(values)) => values,
        Some(NodeValues::Many(values)) => values.into_iter().next().unwrap_or(Values::Float(vec![0.0])),
        None => unreachable!("every node was requested"),
    };
    outcomes.into_iter().map(value).collect()
}

/// The values of `outputs`; evaluates only what they need, and frees every value after its last use.
pub fn evaluate_outputs(
    graph: &Graph,
    inputs: &[Values],
    parameters: &[Scalar],
    outputs: &[NodeId],
) -> Vec<Values> {
    let outcomes = run(graph, inputs, parameters, outputs);
    let value = |id: &NodeId| outcomes[id.index()].as_ref().expect("outputs are kept").first().clone();
    outputs.iter().map(value).collect()
}

fn run(graph: &Graph, inputs: &[Values], parameters: &[Scalar], kept: &[NodeId]) -> Vec<Option<NodeValues>> {
    let needed = graph.reachable(kept);
    let mut last_use: Vec<usize> = vec![0; graph.nodes.len()];
    for id in graph.ids().filter(|id| needed[id.index()]) {
        graph.node(id).operands.iter().for_each(|operand| last_use[operand.index()] = id.index());
    }
    kept.iter().for_each(|id| last_use[id.index()] = usize::MAX);
    let mut outcomes: Vec<Option<NodeValues>> = (0..graph.nodes.len()).map(|_| None).collect();
    for id in graph.ids().filter(|id| needed[id.index()]) {
        let node = graph.node(id);
        let operands: Vec<&NodeValues> = node
            .operands
            .iter()
            .map(|o| outcomes[o.index()].as_ref().expect("operands come first"))
            .collect();
        let shapes: Vec<Shape> = node.operands.iter().map(|&o| graph.shape(o)).collect();
        let dtypes: Vec<DType> = node.operands.iter().map(|&o| graph.dtype(o)).collect();
        let outcome = step(node, &NodeOperands { outcomes: &operands, shapes, dtypes }, inputs, parameters);
        if let NodeValues::One(values) = &outcome {
            let (a, b) = (values.len(), node.shape.numel());
            assert_eq!(
                a,
                b,
                "{}: element count does not fit its shape: {} ({a} vs {b})",
                node.op.name(),
                node.shape
            );
        }
        outcomes[id.index()] = Some(outcome);
        for operand in &node.operands {
            if last_use[operand.index()] == id.index() {
                outcomes[operand.index()] = None;
            }
        }
    }
    outcomes
}

/// The operands of a node.
struct NodeOperands<'a> {
    outcomes: &'a [&'a NodeValues],
    shapes: Vec<Shape>,
    dtypes: Vec<DType>,
}

impl NodeOperands<'_> {
    fn value(&self, n: usize) -> &Values {
        self.outcomes[n].first()
    }

    fn values(&self) -> Vec<&Values> {
        self.outcomes.iter().map(|outcome| outcome.first()).collect()
    }
}

fn step(node: &Node, from: &NodeOperands, inputs: &[Values], parameters: &[Scalar]) -> NodeValues {
    let x = |n: usize| from.value(n);
    let shape = |n: usize| &from.shapes[n];
    NodeValues::One(match &node.op {
        Op::Input(n) => input(node, *n, inputs),
        Op::Parameter(n) => Values::one(node.dtype, parameters[*n]),
        Op::Constant(scalar) => Values::one(node.dtype, *scalar),
        Op::Iota(n) => Values::Int((0..*n as i64).collect()),
        Op::Random(shape) => source::random_value(shape, &from.values()),
        Op::Unary(unary) => pointwise::unary(*unary, node.dtype, x(0)),
        Op::Binary(binary) => pointwise::binary(*binary, from.dtypes[0], x(0), x(1)),
        Op::Select => select::value(x(0), x(1), x(2)),
        Op::Cast(dtype) => pointwise::cast(*dtype, from.dtypes[0], x(0)),
        Op::Reshape(_) | Op::StopGradient | Op::Barrier(_) => x(0).clone(),
        Op::Permute(order) => x(0).take(&permute::positions_in(shape(0), order)),
        Op::Expand(to) => x(0).take(&expand::positions_in(shape(0), to)),
        Op::Pad(widths) => x(0).take(&pad::positions_in(shape(0), widths)),
        Op::Slice(spans) => x(0).take(&slice::positions_in(shape(0), spans)),
        Op::Flip(axes) => x(0).take(&flip::positions_in(shape(0), axes)),
        Op::Reduce(reduce, axes) => reduce::reduce(*reduce, from.dtypes[0], x(0), shape(0), axes),
        Op::Gather(axis) => gather::value(x(0), shape(0), x(1), shape(1), *axis),
        Op::ScatterAdd(axis, size) => {
            scatter_add::value(node.dtype, x(0), shape(0), x(1), shape(1), *axis, *size)
        }
        Op::Order(descending) => order::value(x(0), from.dtypes[0], shape(0), *descending, None),
        Op::Top(descending, count) => order::value(x(0), from.dtypes[0], shape(0), *descending, Some(*count)),
        Op::Contract(contraction) => {
            Values::Float(contraction::value(contraction, x(0).floats(), shape(0), x(1).floats(), shape(1)))
        }
        Op::Pack(offsets, len) => pack::value(node.dtype, &from.values(), offsets, *len),
        Op::Scan(scan) => return NodeValues::Many(self::scan(scan, &from.values(), parameters)),
        Op::Custom(custom) => {
            let kinds: Vec<(Shape, DType)> =
                from.shapes.iter().copied().zip(from.dtypes.iter().copied()).collect();
            let kinds = custom.infer(&kinds).unwrap_or_else(|error| panic!("{error}"));
            let operands: Vec<Vec<f64>> = from.values().iter().map(|x| x.to_f64()).collect();
            let results = custom.reference(&operands, &from.shapes);
            let typed = results.iter().zip(kinds).map(|(result, (_, dtype))| Values::from_f64(dtype, result));
            return NodeValues::Many(typed.collect());
        }
        Op::Pick(n, ..) => match from.outcomes[0] {
            NodeValues::Many(values) => values[*n].clone(),
            NodeValues::One(_) => panic!("pick: the operand has one output: {} (output {n} vs 1)", shape(0)),
        },
    })
}

fn input(node: &Node, n: usize, inputs: &[Values]) -> Values {
    let count = inputs.len();
    let values = inputs
        .get(n)
        .unwrap_or_else(|| panic!("reference: input missing: {} (input {n} vs {count})", node.shape));
    let (a, b) = (values.len(), node.shape.numel());
    assert_eq!(
        a, b,
        "reference: element count of input {n} does not fit its shape: {} ({a} vs {b})",
        node.shape
    );
    let is_float = matches!(values, Values::Float(_));
    assert_eq!(is_float, node.dtype.is_float(), "reference: input {n} is of the wrong kind: {}", node.dtype);
    values.clone()
}

fn scan(scan: &Scan, operands: &[&Values], parameters: &[Scalar]) -> Vec<Values> {
    let first_constant = scan.carries + scan.sequences;
    // The inputs of the body: carries, slices, constants. The first two change at every position.
    let mut inputs: Vec<Values> = operands.iter().map(|&x| x.clone()).collect();
    let kinds = scan.results();
    let mut results: Vec<Values> =
        kinds[scan.carries..].iter().map(|(shape, dtype)| Values::zeros(*dtype, shape.numel())).collect();
    for trip in 0..scan.steps {
        let position = if scan.reverse { scan.steps - 1 - trip } else { trip };
        for n in scan.carries..first_constant {
            let len = operands[n].len() / scan.steps;
            inputs[n] = operands[n].part(position * len, len);
        }
        let mut outputs = evaluate_outputs(&scan.body, &inputs, parameters, &scan.outputs);
        for (result, slice) in results.iter_mut().zip(outputs.drain(scan.carries..)) {
            result.write(position * slice.len(), &slice);
        }
        inputs.splice(..scan.carries, outputs);
    }
    inputs.truncate(scan.carries);
    inputs.extend(results);
    inputs
}
