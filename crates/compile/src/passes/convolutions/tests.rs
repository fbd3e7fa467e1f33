//! Every pass over convolutions and their gradients, compared with the contraction in f64.

use farad_ir::reference::{Values, evaluate_outputs};
use farad_ir::{Contraction, DType, Graph, IndexMap, NodeId, Op, Shape};

use super::{direct, phases, winograd};
use crate::program::Target;

/// A convolution of `[n, g·c, h, w]` by `[g·o, c, r, r]`.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    n: usize,
    g: usize,
    c: usize,
    o: usize,
    side: [usize; 2],
    r: usize,
    stride: usize,
    pad: usize,
}

/// Which array is computed.
const ARRAYS: [&str; 3] = ["result", "image", "windows"];

impl Sizes {
    const fn new([n, g, c, o]: [usize; 4], side: [usize; 2], [r, stride, pad]: [usize; 3]) -> Sizes {
        Sizes { n, g, c, o, side, r, stride, pad }
    }

    /// The contraction, and the shapes of image and windows. Axes: n, g, o, places, c, windows.
    fn contraction(&self) -> (Contraction, [Shape; 2]) {
        let Sizes { n, g, c, o, side: [h, w], r, stride, pad } = *self;
        let places = [h, w].map(|size| (size + 2 * pad - r) / stride + 1);
        let moving = |place, window| IndexMap {
            terms: vec![(place, stride as i64), (window, 1)],
            offset: -(pad as i64),
            divisor: 1,
        };
        let axis = IndexMap::axis;
        let contraction = Contraction {
            sizes: vec![n, g, o, places[0], places[1], c, r, r],
            out: vec![0, 1, 2, 3, 4],
            lhs: vec![axis(0), axis(1), axis(5), moving(3, 6), moving(4, 7)],
            rhs: vec![axis(1), axis(2), axis(5), axis(6), axis(7)],
            high: false,
        };
        (contraction, [Shape::new(&[n, g, c, h, w]), Shape::new(&[g, o, c, r, r])])
    }

    /// A graph that computes one of the arrays from the other two.
    fn graph(&self, array: &str) -> (Graph, NodeId) {
        let (contraction, [image, windows]) = self.contraction();
        let (contraction, shapes) = match array {
            "image" => (contraction.gradient_lhs(&image), [contraction.output(), windows]),
            "windows" => (contraction.gradient_rhs(&windows), [contraction.output(), image]),
            _ => (contraction, [image, windows]),
        };
        let mut graph = Graph::new();
        let operands = [0, 1].map(|n: usize| graph.input(n, shapes[n], DType::F32));
        let y = graph.contract(contraction, operands[0], operands[1]);
        (graph, y)
    }
}

fn small() -> Target {
    Target { parallel: 64, convolutions: 1, ..Target::cpu() }
}

fn value(graph: &Graph, output: NodeId) -> Vec<f64> {
    let inputs: Vec<Values> = graph
        .nodes
        .iter()
        .filter(|node| matches!(node.op, Op::Input(_)))
        .map(|node| {
            Values::Float(
                (0..node.shape.numel()).map(|i| ((i * 37 + 11) % 101) as f64 / 50.0 - 1.0).collect(),
            )
        })
        .collect();
    evaluate_outputs(graph, &inputs, &[], &[output]).remove(0).to_f64()
}

/// Runs a pass over the computation of an array; `None` if it does nothing.
fn difference(
    pass: fn(&Graph, &[NodeId], &Target) -> Option<(Graph, Vec<NodeId>)>,
    sizes: &Sizes,
    array: &str,
) -> Option<f64> {
    let (graph, y) = sizes.graph(array);
    let (new, outputs) = pass(&graph, &[y], &small())?;
    new.check(&outputs).unwrap_or_else(|error| panic!("{sizes:?}: {error}\n{}", new.show(&outputs)));
    assert_eq!(graph.shape(y), new.shape(outputs[0]));
    let (exact, found) = (value(&graph, y), value(&new, outputs[0]));
    let worst = exact.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    Some(worst / exact.iter().map(|x| x.abs()).fold(0.0, f64::max))
}

#[test]
fn tiles_give_the_same_results_and_gradients() {
    let table = [
        Sizes::new([2, 1, 3, 5], [9, 7], [3, 1, 1]),
        Sizes::new([1, 2, 2, 3], [8, 8], [3, 1, 0]),
        Sizes::new([1, 1, 2, 3], [8, 6], [2, 1, 1]),
        Sizes::new([1, 1, 2, 3], [9, 9], [4, 1, 2]),
        Sizes::new([2, 1, 2, 3], [7, 11], [5, 1, 2]),
        Sizes::new([1, 1, 2, 2], [9, 12], [6, 1, 3]),
        Sizes::new([1, 1, 2, 2], [10, 9], [7, 1, 3]),
        Sizes::new([2, 1, 3, 2], [11, 10], [3, 2, 1]),
        Sizes::new([1, 2, 2, 3], [12, 13], [5, 2, 2]),
        Sizes::new([1, 1, 2, 2], [14, 13], [7, 3, 3]),
        Sizes::new([1, 1, 1, 2], [13, 12], [4, 2, 0]),
        // Sums in parts: over tiles, and over channels.
        Sizes::new([64, 1, 1, 2], [12, 11], [3, 1, 1]),
        Sizes::new([1, 1, 258, 2], [6, 5], [5, 1, 2]),
    ];
    for sizes in &table {
        for array in ARRAYS {
            let difference = difference(winograd::winograd, sizes, array);
            let difference = difference.unwrap_or_else(|| panic!("{array} of {sizes:?} is left as it was"));
            assert!(difference < 1e-12, "{array} of {sizes:?}: {difference}");
        }
    }
}

#[test]
fn few_channels_give_the_same_results_and_gradients() {
    let table = [
        Sizes::new([2, 6, 1, 1], [9, 7], [3, 1, 1]),
        Sizes::new([40, 4, 1, 2], [8, 6], [2, 1, 0]),
        Sizes::new([2, 3, 2, 1], [11, 10], [5, 1, 2]),
        Sizes::new([1, 3, 1, 1], [13, 12], [7, 1, 3]),
        Sizes::new([2, 4, 1, 1], [12, 11], [3, 2, 1]),
        Sizes::new([1, 3, 2, 2], [13, 12], [5, 3, 2]),
        Sizes::new([3, 3, 1, 1], [7, 9], [1, 1, 0]),
    ];
    for sizes in &table {
        for array in ARRAYS {
            let difference = difference(direct::direct, sizes, array);
            let difference = difference.unwrap_or_else(|| panic!("{array} of {sizes:?} is left as it was"));
            assert!(difference < 1e-12, "{array} of {sizes:?}: {difference}");
        }
    }
}

#[test]
fn phases_give_the_same_gradients() {
    let table = [
        Sizes::new([2, 1, 4, 5], [9, 8], [3, 2, 1]),
        Sizes::new([2, 2, 4, 5], [10, 11], [5, 3, 2]),
        Sizes::new([4, 1, 6, 7], [9, 9], [1, 2, 0]),
        Sizes::new([2, 1, 8, 8], [13, 12], [2, 3, 0]),
    ];
    for sizes in &table {
        let difference = difference(phases::phases, sizes, "image").expect("its map has a divisor");
        assert!(difference < 1e-12, "{sizes:?}: {difference}");
        assert_eq!(self::difference(phases::phases, sizes, "result"), None);
    }
}

#[test]
fn a_large_device_is_asked_what_gains() {
    let large = Target { parallel: 131_072, convolutions: 1 << 24, ..Target::cpu() };
    let runs = |sizes: Sizes, array: &str| {
        let (graph, y) = sizes.graph(array);
        winograd::winograd(&graph, &[y], &large).is_some()
    };
    let many = Sizes::new([32, 1, 128, 256], [56, 56], [3, 1, 1]);
    assert!(ARRAYS.iter().all(|array| runs(many, array)));
    // The transforms would move more than the product saves.
    assert!(!runs(Sizes { c: 4, o: 8, ..many }, "result"));
    assert!(!runs(Sizes { n: 1, side: [8, 8], ..many }, "result"));
}
