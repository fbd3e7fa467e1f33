//! A network of two convolutions on small images, trained by AdamW; its gradients are compared with plain f64.

use farad::prelude::*;

use super::case::{CaseWork, Workload, uniform};
use super::reference::NormDifference;

/// Different images of the batch that is compared with f64; the others repeat them, which changes no mean.
const DIFFERENT: usize = 2;
/// Rows and columns of an image.
const SIDE: usize = 28;
/// Hidden units and classes.
const LINEAR: [usize; 2] = [128, 10];

/// How large the network and its batch are.
#[derive(Clone, Copy)]
pub struct ImagesSize {
    /// Images of a batch.
    pub batch: usize,
    /// Channels behind the two convolutions.
    pub channels: [usize; 2],
}

impl ImagesSize {
    /// What the last pooling leaves of an image.
    fn pooled(&self) -> usize {
        self.channels[1] * (SIDE / 4) * (SIDE / 4)
    }
}

/// The layers in order: convolutions with padding 1, each with ReLU and pooling of 2×2, then two linear layers.
#[derive(Module)]
struct ImagesNetwork {
    first: Conv2d,
    second: Conv2d,
    hidden: Linear,
    output: Linear,
}

impl ImagesNetwork {
    fn new(size: ImagesSize, device: &Device) -> farad::Result<ImagesNetwork> {
        let [wide, wider] = size.channels;
        let network = ImagesNetwork {
            first: Conv2d::new(1, wide, 3).padding(1),
            second: Conv2d::new(wide, wider, 3).padding(1),
            hidden: Linear::new(size.pooled(), LINEAR[0]),
            output: Linear::new(LINEAR[0], LINEAR[1]),
        };
        network.try_to_device(device)
    }

    fn loss(&self, images: &Tensor, labels: &Tensor) -> Tensor {
        let pool = || PoolOptions::new(2);
        let x = self.first.forward(images).relu().max_pool2d(pool());
        let x = self.second.forward(&x).relu().max_pool2d(pool());
        let flat = x.shape().numel() / images.shape()[0];
        let x = self.hidden.forward(&x.reshape([images.shape()[0], flat])).relu();
        self.output.forward(&x).cross_entropy(labels)
    }
}

/// Steps with AdamW and cross-entropy.
pub fn train(size: ImagesSize, precision: Precision, device: &Device) -> farad::Result<Workload> {
    let network = ImagesNetwork::new(size, device)?;
    let mut optimizer = AdamW::new(network.parameters()).learning_rate(3e-4);
    let x = uniform(&[size.batch, 1, SIDE, SIDE], device)?;
    let labels: Vec<i32> = (0..size.batch).map(|n| (n * 7 % 64 % LINEAR[1]) as i32).collect();
    let y = Tensor::from_vec(labels, [size.batch], device);
    let iterate = move || {
        let loss = precision.scope(|| network.loss(&x, &y));
        optimizer.step(&loss)
    };
    let device = device.clone();
    Ok(Workload {
        iterate: Box::new(iterate),
        error: Box::new(move || error(size, precision, &device)),
        work: CaseWork { items: size.batch as f64, ..CaseWork::default() },
    })
}

/// The error of the gradients at all parameters.
fn error(size: ImagesSize, precision: Precision, device: &Device) -> farad::Result<f64> {
    let (batch, network) = (size.batch, ImagesNetwork::new(size, device)?);
    let few = uniform(&[DIFFERENT, 1, SIDE, SIDE], device)?;
    let labels = [3, 8];
    let repeat = batch / DIFFERENT;
    let x = few.unsqueeze(0).broadcast_to([repeat, DIFFERENT, 1, SIDE, SIDE]);
    let x = x.reshape([batch, 1, SIDE, SIDE]).detach()?;
    let y = Tensor::from_vec((0..batch).map(|n| labels[n % DIFFERENT] as i32).collect(), [batch], device);
    let parameters = network.parameters();
    let found = precision.scope(|| network.loss(&x, &y)).gradients(&parameters)?;
    let read = |t: &Tensor| Ok(t.to_vec::<f32>()?.into_iter().map(f64::from).collect());
    let weights = parameters.iter().map(|p| read(&p.value())).collect::<farad::Result<Vec<Vec<f64>>>>()?;
    let wanted = ImagesReference { parameters: weights }.gradients(&read(&few)?, &labels);
    let mut difference = NormDifference::default();
    for (found, wanted) in found.iter().zip(&wanted) {
        found.to_vec::<f32>()?.iter().zip(wanted).for_each(|(&got, &want)| difference.add(got, want));
    }
    Ok(difference.relative())
}

/// The network in plain f64: weight and bias of every layer, in order.
struct ImagesReference {
    parameters: Vec<Vec<f64>>,
}

/// An image of some channels behind its convolution, and where each maximum of its pooling was.
struct ImagesLevel {
    input: Vec<f64>,
    side: usize,
    pooled: Vec<f64>,
    places: Vec<usize>,
}

impl ImagesReference {
    /// Gradients of the mean cross-entropy.
    fn gradients(&self, images: &[f64], labels: &[usize]) -> Vec<Vec<f64>> {
        let mut sums: Vec<Vec<f64>> = self.parameters.iter().map(|p| vec![0.0; p.len()]).collect();
        for (image, &label) in images.chunks(SIDE * SIDE).zip(labels) {
            let first = self.level(0, image.to_vec(), SIDE);
            let second = self.level(2, first.pooled.clone(), SIDE / 2);
            let hidden: Vec<f64> = self.linear(4, &second.pooled).into_iter().map(|v| v.max(0.0)).collect();
            let logits = self.linear(6, &hidden);
            let total: f64 = logits.iter().map(|v| v.exp()).sum();
            let hit = |n: usize| f64::from(u8::from(n == label));
            let g: Vec<f64> = logits
                .iter()
                .enumerate()
                .map(|(n, v)| (v.exp() / total - hit(n)) / labels.len() as f64)
                .collect();
            let mut g = self.linear_back(6, &hidden, &g, &mut sums);
            g.iter_mut().zip(&hidden).filter(|(_, h)| **h == 0.0).for_each(|(g, _)| *g = 0.0);
            let g = self.linear_back(4, &second.pooled, &g, &mut sums);
            let g = self.level_back(2, &second, &g, &mut sums);
            self.level_back(0, &first, &g, &mut sums);
        }
        sums
    }

    fn linear(&self, index: usize, x: &[f64]) -> Vec<f64> {
        let dot = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        let (weight, bias) = (&self.parameters[index], &self.parameters[index + 1]);
        weight.chunks(x.len()).zip(bias).map(|(row, bias)| dot(row) + bias).collect()
    }

    fn linear_back(&self, index: usize, x: &[f64], g: &[f64], sums: &mut [Vec<f64>]) -> Vec<f64> {
        let mut back = vec![0.0; x.len()];
        for (o, &g) in g.iter().enumerate() {
            sums[index + 1][o] += g;
            let (row, own) = (&self.parameters[index][o * x.len()..], &mut sums[index][o * x.len()..]);
            for n in 0..x.len() {
                own[n] += g * x[n];
                back[n] += g * row[n];
            }
        }
        back
    }

    /// A convolution, ReLU and the largest of every four.
    fn level(&self, index: usize, input: Vec<f64>, side: usize) -> ImagesLevel {
        let outputs = self.parameters[index + 1].len();
        let mut values = vec![0.0; outputs * side * side];
        let bias = &self.parameters[index + 1];
        values.chunks_mut(side * side).zip(bias).for_each(|(plane, bias)| plane.fill(*bias));
        let weight = &self.parameters[index];
        each(input.len() / (side * side), outputs, side, |w, x, y| values[y] += weight[w] * input[x]);
        values.iter_mut().for_each(|v| *v = v.max(0.0));
        let half = side / 2;
        let (mut pooled, mut places) = (Vec::new(), Vec::new());
        for at in 0..outputs * half * half {
            let (plane, y, x) = (at / (half * half), at / half % half, at % half);
            let corner = plane * side * side + 2 * y * side + 2 * x;
            let window = [corner, corner + 1, corner + side, corner + side + 1];
            let best = window.into_iter().reduce(|a, b| if values[b] > values[a] { b } else { a });
            places.extend(best);
            pooled.extend(best.map(|place| values[place]));
        }
        ImagesLevel { input, side, pooled, places }
    }

    fn level_back(&self, index: usize, level: &ImagesLevel, g: &[f64], sums: &mut [Vec<f64>]) -> Vec<f64> {
        let (side, outputs) = (level.side, self.parameters[index + 1].len());
        let mut upstream = vec![0.0; outputs * side * side];
        for ((&place, &g), &value) in level.places.iter().zip(g).zip(&level.pooled) {
            upstream[place] = if value > 0.0 { g } else { 0.0 };
        }
        for (o, plane) in upstream.chunks(side * side).enumerate() {
            sums[index + 1][o] += plane.iter().sum::<f64>();
        }
        let mut back = vec![0.0; level.input.len()];
        each(level.input.len() / (side * side), outputs, side, |w, x, y| {
            back[x] += self.parameters[index][w] * upstream[y];
            sums[index][w] += level.input[x] * upstream[y];
        });
        back
    }
}

/// Calls `add` with the places in weight, input and result of every product of a convolution of 3×3 windows.
fn each(inputs: usize, outputs: usize, side: usize, mut add: impl FnMut(usize, usize, usize)) {
    for (o, c, k) in (0..outputs * inputs * 9).map(|w| (w / (inputs * 9), w / 9 % inputs, w % 9)) {
        for (y, x) in (0..side * side).map(|at| (at / side, at % side)) {
            let (row, column) = (y + k / 3, x + k % 3);
            if (1..=side).contains(&row) && (1..=side).contains(&column) {
                let source = (c * side + row - 1) * side + column - 1;
                add((o * inputs + c) * 9 + k, source, (o * side + y) * side + x);
            }
        }
    }
}
