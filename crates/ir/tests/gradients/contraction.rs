//! Contractions: products in every arrangement, and convolutions compared with nested loops.

use farad_ir::reference::evaluate_outputs;
use farad_ir::{Contraction, Graph, IndexMap};

use crate::check::{Draw, Sample, check, check_first};

#[test]
fn products() {
    let mut draw = Draw(21);
    let plain = Contraction::matmul(&[], 3, 4, 2);
    let samples = [Sample::random(&mut draw, [3, 4]), Sample::random(&mut draw, [4, 2])];
    check("matmul", &samples, |graph, x| graph.contract(plain.clone(), x[0], x[1]));
    let samples = [Sample::random(&mut draw, [4, 3]), Sample::random(&mut draw, [2, 4])];
    check("matmul, both transposed", &samples, |graph, x| {
        let (a, b) = (graph.permute(x[0], &[1, 0]), graph.permute(x[1], &[1, 0]));
        graph.contract(plain.clone(), a, b)
    });
    let samples = [Sample::random(&mut draw, [2, 2, 3, 4]), Sample::random(&mut draw, [2, 2, 4, 2])];
    let batched = Contraction::matmul(&[2, 2], 3, 4, 2);
    check("matmul, batched", &samples, |graph, x| graph.contract(batched.clone(), x[0], x[1]));
    let samples = [Sample::random(&mut draw, [3, 3])];
    let square = Contraction::matmul(&[], 3, 3, 3);
    check("matmul with itself", &samples, |graph, x| graph.contract(square.clone(), x[0], x[0]));
}

#[test]
fn products_by_other_maps() {
    let mut draw = Draw(22);
    let axis = IndexMap::axis;
    // y[n, m] = Σ_k a[k, m] b[n, k]: transposed reads and a transposed result.
    let turned = Contraction {
        sizes: vec![3, 2, 4],
        out: vec![1, 0],
        lhs: vec![axis(2), axis(0)],
        rhs: vec![axis(1), axis(2)],
        high: false,
    };
    let samples = [Sample::random(&mut draw, [4, 3]), Sample::random(&mut draw, [2, 4])];
    check("turned", &samples, |graph, x| graph.contract(turned.clone(), x[0], x[1]));
    // The left operand has no batch axis, so its gradient sums over it.
    let shared = Contraction {
        sizes: vec![2, 3, 4, 5],
        out: vec![0, 1, 2],
        lhs: vec![axis(1), axis(3)],
        rhs: vec![axis(0), axis(3), axis(2)],
        high: false,
    };
    let samples = [Sample::random(&mut draw, [3, 5]), Sample::random(&mut draw, [2, 5, 4])];
    check("shared operand", &samples, |graph, x| graph.contract(shared.clone(), x[0], x[1]));
    // Every axis is kept, or none is.
    let outer = Contraction {
        sizes: vec![3, 2],
        out: vec![0, 1],
        lhs: vec![axis(0)],
        rhs: vec![axis(1)],
        high: false,
    };
    let samples = [Sample::random(&mut draw, [3]), Sample::random(&mut draw, [2])];
    check("outer", &samples, |graph, x| graph.contract(outer.clone(), x[0], x[1]));
    let inner =
        Contraction { sizes: vec![3], out: vec![], lhs: vec![axis(0)], rhs: vec![axis(0)], high: false };
    let samples = [Sample::random(&mut draw, [3]), Sample::random(&mut draw, [3])];
    check("inner", &samples, |graph, x| graph.contract(inner.clone(), x[0], x[1]));
}

/// A two-dimensional convolution: `[batch, groups · inputs, height, width]` by
/// `[groups · outputs, inputs, rows, columns]`.
#[derive(Clone, Copy, Debug)]
struct Convolution {
    batch: usize,
    groups: usize,
    inputs: usize,
    outputs: usize,
    image: [usize; 2],
    kernel: [usize; 2],
    stride: usize,
    padding: usize,
    dilation: usize,
}

const PLAIN: Convolution = Convolution {
    batch: 2,
    groups: 1,
    inputs: 2,
    outputs: 3,
    image: [4, 5],
    kernel: [3, 2],
    stride: 1,
    padding: 0,
    dilation: 1,
};

impl Convolution {
    fn result(&self) -> [usize; 2] {
        [0, 1].map(|n| {
            (self.image[n] + 2 * self.padding - self.dilation * (self.kernel[n] - 1) - 1) / self.stride + 1
        })
    }

    /// Over axes batch, group, output, row, column, input, kernel row, kernel column; operands
    /// `[batch, group, input, height, width]` and `[group, output, input, rows, columns]`.
    fn contraction(&self) -> Contraction {
        let axis = IndexMap::axis;
        let [rows, columns] = self.result();
        let window = |at: usize, tap: usize| IndexMap {
            terms: vec![(at, self.stride as i64), (tap, self.dilation as i64)],
            offset: -(self.padding as i64),
            divisor: 1,
        };
        let [height, width] = self.kernel;
        Contraction {
            sizes: vec![self.batch, self.groups, self.outputs, rows, columns, self.inputs, height, width],
            out: vec![0, 1, 2, 3, 4],
            lhs: vec![axis(0), axis(1), axis(5), window(3, 6), window(4, 7)],
            rhs: vec![axis(1), axis(2), axis(5), axis(6), axis(7)],
            high: false,
        }
    }

    /// The same with nested loops.
    fn direct(&self, x: &[f64], w: &[f64]) -> Vec<f64> {
        let (channels, [height, width], [rows, columns]) =
            (self.groups * self.inputs, self.image, self.kernel);
        let [down, across] = self.result();
        let mut y = Vec::new();
        for batch in 0..self.batch {
            for output in 0..self.groups * self.outputs {
                for (i, j) in (0..down).flat_map(|i| (0..across).map(move |j| (i, j))) {
                    let mut sum = 0.0;
                    for input in 0..self.inputs {
                        for (r, c) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                            let row = (i * self.stride + r * self.dilation).wrapping_sub(self.padding);
                            let column = (j * self.stride + c * self.dilation).wrapping_sub(self.padding);
                            if row < height && column < width {
                                let channel = output / self.outputs * self.inputs + input;
                                let pixel = x[((batch * channels + channel) * height + row) * width + column];
                                sum += pixel * w[((output * self.inputs + input) * rows + r) * columns + c];
                            }
                        }
                    }
                    y.push(sum);
                }
            }
        }
        y
    }

    fn samples(&self, draw: &mut Draw) -> [Sample; 2] {
        let ([height, width], [rows, columns]) = (self.image, self.kernel);
        [
            Sample::random(draw, [self.batch, self.groups, self.inputs, height, width]),
            Sample::random(draw, [self.groups, self.outputs, self.inputs, rows, columns]),
        ]
    }

    fn check_value(&self, contraction: Contraction, samples: &[Sample; 2]) {
        let mut graph = Graph::new();
        let ids = [0, 1].map(|n| graph.input(n, samples[n].shape, samples[n].dtype));
        let y = graph.contract(contraction, ids[0], ids[1]);
        let inputs = [samples[0].values.clone(), samples[1].values.clone()];
        let y = evaluate_outputs(&graph, &inputs, &[], &[y])[0].to_f64();
        let expected = self.direct(&inputs[0].to_f64(), &inputs[1].to_f64());
        assert_eq!(y.len(), expected.len(), "{self:?}");
        let error = y.iter().zip(&expected).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(error < 1e-12, "{self:?}: {error}");
    }
}

#[test]
fn convolutions() {
    let mut draw = Draw(23);
    let cases = [
        PLAIN,
        Convolution { stride: 2, ..PLAIN },
        Convolution { padding: 1, ..PLAIN },
        Convolution { dilation: 2, image: [5, 5], ..PLAIN },
        Convolution { groups: 2, ..PLAIN },
        Convolution { groups: 3, inputs: 1, outputs: 1, padding: 1, ..PLAIN },
        Convolution { stride: 2, padding: 2, dilation: 2, image: [6, 5], ..PLAIN },
        Convolution { stride: 3, padding: 1, kernel: [2, 2], image: [7, 6], ..PLAIN },
        Convolution { stride: 2, padding: 1, dilation: 2, groups: 2, image: [6, 7], ..PLAIN },
    ];
    for case in cases {
        let samples = case.samples(&mut draw);
        case.check_value(case.contraction(), &samples);
        check(&format!("{case:?}"), &samples, |graph, x| graph.contract(case.contraction(), x[0], x[1]));
    }
}

#[test]
fn groups_read_by_a_sum() {
    // Channels `group · inputs + input` of a flat image. The gradient divides by `inputs` on both sides, so it
    // cannot be differentiated again.
    let case = Convolution { groups: 2, padding: 1, stride: 2, ..PLAIN };
    let mut draw = Draw(24);
    let [mut image, weights] = case.samples(&mut draw);
    let [height, width] = case.image;
    image.shape = [case.batch, case.groups * case.inputs, height, width].into();
    let mut contraction = case.contraction();
    let channel = IndexMap { terms: vec![(1, case.inputs as i64), (5, 1)], offset: 0, divisor: 1 };
    contraction.lhs.splice(1..3, [channel]);
    let samples = [image, weights];
    case.check_value(contraction.clone(), &samples);
    check_first("groups by a sum", &samples, |graph, x| graph.contract(contraction.clone(), x[0], x[1]));
}
