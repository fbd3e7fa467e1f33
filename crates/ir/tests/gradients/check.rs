//! The driver: a case is some inputs and a function that builds a tensor from them.

use farad_ir::reference::{Values, evaluate_outputs};
use farad_ir::{DType, Graph, NodeId, OpError, Reduce, Shape, gradient};

/// Step of the central differences.
const STEP: f64 = 1e-5;
/// Norm-wise tolerance.
const TOLERANCE: f64 = 1e-6;

/// A small deterministic generator (splitmix64).
pub struct Draw(pub u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in a range.
    pub fn uniform(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `len` numbers of a range.
    pub fn list(&mut self, len: usize, range: (f64, f64)) -> Vec<f64> {
        (0..len).map(|_| self.uniform(range)).collect()
    }

    /// `len` numbers, no two closer than 0.2, in random order.
    pub fn distinct(&mut self, len: usize) -> Vec<f64> {
        let mut list: Vec<f64> = (0..len).map(|n| 0.3 * n as f64 - 1.0 + self.uniform((0.0, 0.1))).collect();
        for n in (1..len).rev() {
            list.swap(n, self.bits() as usize % (n + 1));
        }
        list
    }
}

/// An input of a case. Floats are differentiated, integers are not.
#[derive(Clone)]
pub struct Sample {
    pub shape: Shape,
    pub dtype: DType,
    pub values: Values,
}

impl Sample {
    /// Floats of the given values.
    pub fn new(shape: impl Into<Shape>, values: Vec<f64>) -> Sample {
        Sample { shape: shape.into(), dtype: DType::F32, values: Values::Float(values) }
    }

    /// Floats in (-2, 2).
    pub fn random(draw: &mut Draw, shape: impl Into<Shape>) -> Sample {
        let shape = shape.into();
        Sample::new(shape, draw.list(shape.numel(), (-2.0, 2.0)))
    }

    /// Integers, for indices.
    pub fn index(shape: impl Into<Shape>, values: &[i64]) -> Sample {
        Sample { shape: shape.into(), dtype: DType::I32, values: Values::Int(values.to_vec()) }
    }
}

/// `Σ weights · (y + y²/2)` over all elements, so that no second derivative of `y` vanishes.
fn curved_sum(graph: &mut Graph, y: NodeId, weights: NodeId) -> NodeId {
    let square = graph.mul(y, y);
    let half = graph.scale(square, 0.5);
    let sum = graph.add(y, half);
    weighted_sum(graph, sum, weights)
}

/// `Σ weights · y` over all elements.
fn weighted_sum(graph: &mut Graph, y: NodeId, weights: NodeId) -> NodeId {
    let product = graph.mul(y, weights);
    let axes: Vec<usize> = (0..graph.shape(y).rank()).collect();
    graph.reduce(Reduce::Sum, product, &axes)
}

/// A case being checked: its graph so far, and a value for each of its inputs.
struct Case<'a> {
    name: &'a str,
    draw: Draw,
    graph: Graph,
    inputs: Vec<Values>,
    /// The float samples.
    wrt: Vec<NodeId>,
}

/// Checks the first and second derivatives of what `build` makes of the samples, with respect to every float
/// sample.
pub fn check(name: &str, samples: &[Sample], build: impl Fn(&mut Graph, &[NodeId]) -> NodeId) {
    let (mut case, firsts) = Case::first(name, samples, build);
    case.second(&firsts);
}

/// As [`check`], but only the first derivatives.
pub fn check_first(name: &str, samples: &[Sample], build: impl Fn(&mut Graph, &[NodeId]) -> NodeId) {
    Case::first(name, samples, build);
}

impl Case<'_> {
    fn first<'a>(
        name: &'a str,
        samples: &[Sample],
        build: impl Fn(&mut Graph, &[NodeId]) -> NodeId,
    ) -> (Case<'a>, Vec<NodeId>) {
        let draw = Draw(name.bytes().fold(7, |seed, byte| seed * 31 % 1_000_003 + byte as u64));
        let mut graph = Graph::new();
        let inputs = samples.iter().map(|sample| sample.values.clone()).collect();
        let ids: Vec<NodeId> = samples
            .iter()
            .enumerate()
            .map(|(n, sample)| graph.input(n, sample.shape, sample.dtype))
            .collect();
        let wrt: Vec<NodeId> = ids.iter().copied().filter(|&id| graph.dtype(id).is_float()).collect();
        let y = build(&mut graph, &ids);
        let mut case = Case { name, draw, graph, inputs, wrt };
        let weights = case.weights(y);
        let loss = curved_sum(&mut case.graph, y, weights);
        let firsts =
            gradient(&mut case.graph, loss, &case.wrt).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (&first, &id) in firsts.iter().zip(&case.wrt) {
            assert_eq!(case.graph.shape(first), case.graph.shape(id), "{name}: gradient's shape");
            assert_eq!(case.graph.dtype(first), case.graph.dtype(id), "{name}: gradient's dtype");
        }
        case.compare("first", loss, &firsts);
        (case, firsts)
    }

    /// Checks the gradient of a weighted sum of the first gradients.
    fn second(&mut self, firsts: &[NodeId]) {
        let mut slope = None;
        for &first in firsts {
            let weights = self.weights(first);
            let part = weighted_sum(&mut self.graph, first, weights);
            slope = Some(slope.map_or(part, |sum| self.graph.add(sum, part)));
        }
        let slope = slope.unwrap_or_else(|| panic!("{}: no float input", self.name));
        let mut seconds = Vec::new();
        for id in self.wrt.clone() {
            seconds.push(match gradient(&mut self.graph, slope, &[id]) {
                Ok(second) => second[0],
                // Then the differences must be zero as well.
                Err(OpError::NoPath { .. }) => self.graph.fill_like(id, 0.0),
                Err(error) => panic!("{}, second order: {error}", self.name),
            });
        }
        self.compare("second", slope, &seconds);
    }

    /// A new input with the shape of `like`.
    fn weights(&mut self, like: NodeId) -> NodeId {
        let (shape, dtype) = (self.graph.shape(like), self.graph.dtype(like));
        self.inputs.push(Values::Float(self.draw.list(shape.numel(), (0.5, 1.5))));
        self.graph.input(self.inputs.len() - 1, shape, dtype)
    }

    /// Compares gradients with finite differences of `target` along a random direction of each float sample.
    fn compare(&mut self, order: &str, target: NodeId, gradients: &[NodeId]) {
        let Case { name, draw, graph, inputs, wrt } = self;
        let value = |inputs: &[Values]| evaluate_outputs(graph, inputs, &[], &[target])[0].to_f64()[0];
        let size = value(inputs).abs();
        let gradients = evaluate_outputs(graph, inputs, &[], gradients);
        let mut total = 0.0;
        for (id, g) in wrt.iter().zip(gradients) {
            // Samples are the graph's first nodes, so a node's index is its input's number.
            let (at, g) = (id.index(), g.to_f64());
            let direction = draw.list(g.len(), (-1.0, 1.0));
            let moved = |step: f64| {
                let mut inputs = inputs.to_vec();
                let from = inputs[at].to_f64();
                inputs[at] = Values::Float(from.iter().zip(&direction).map(|(x, d)| x + step * d).collect());
                value(&inputs)
            };
            let difference = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            let expected: f64 = g.iter().zip(&direction).map(|(g, d)| g * d).sum();
            let bound = TOLERANCE * norm(&g) * norm(&direction) + 1e-9 * (1.0 + size);
            let error = (difference - expected).abs();
            let text =
                format!("{name}, {order} order, input {at}: difference {difference}, gradient {expected}");
            assert!(error <= bound, "{text} ({error} vs {bound})");
            total += norm(&g);
        }
        assert!(total > 1e-3, "{name}, {order} order: no slope to check ({total} vs 0.001)");
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}
