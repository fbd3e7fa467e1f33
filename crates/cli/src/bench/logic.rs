//! Training steps of networks of soft gates on random wires, all layers equally wide.
//!
//! A step is compared with f64 gate by gate, for some gates of every layer: what such a gate's
//! gradient depends on is a small part of the network, and is followed through it.

use farad::nn::Layer as _;
use farad::prelude::*;
use farad_circuit::Gate;
use farad_logic::{Consumers, GateNetwork, Wires};

use super::case::{CaseWork, Workload, uniform};
use super::reference::{NormDifference, spread};

/// Gates a layer, and inputs.
const WIDTH: usize = 65_536;
/// Samples of a batch.
const BATCH: usize = 256;
/// The learning rate of Adam; nothing decays.
const RATE: f64 = 0.01;
/// What keeps Adam's division away from zero.
const EPSILON: f64 = 1e-8;
/// Gates of a layer that are compared.
const SAMPLES: usize = 16;

/// Steps of a network of so many layers.
pub fn train(layers: usize, device: &Device) -> farad::Result<Workload> {
    let mut training = LogicTraining::new(layers, device)?;
    let work = CaseWork { items: (layers * WIDTH * BATCH) as f64, ..CaseWork::default() };
    let iterate = Box::new(move || training.step());
    let device = device.clone();
    Ok(Workload { iterate, error: Box::new(move || LogicTraining::new(layers, &device)?.error()), work })
}

/// A network, its optimizer and its batch.
struct LogicTraining {
    network: GateNetwork,
    optimizer: AdamW,
    x: Tensor,
    y: Tensor,
}

impl LogicTraining {
    fn new(layers: usize, device: &Device) -> farad::Result<LogicTraining> {
        let network = GateNetwork::new(&vec![WIDTH; layers + 1], 1).try_to_device(device)?;
        let optimizer = AdamW::new(network.parameters())
            .learning_rate(RATE as f32)
            .epsilon(EPSILON as f32)
            .weight_decay(0.0);
        let (x, y) = (uniform(&[BATCH, WIDTH], device)?, uniform(&[BATCH, WIDTH], device)?);
        Ok(LogicTraining { network, optimizer, x, y })
    }

    /// One step, not waited for.
    fn step(&mut self) -> farad::Result<()> {
        let loss = self.network.forward(&self.x).mean_squared_error(&self.y);
        self.optimizer.step(&loss)
    }

    /// Makes one step; the relative error of how the logits of some gates changed.
    fn error(&mut self) -> farad::Result<f64> {
        let reference = LogicReference::new(self)?;
        self.step()?;
        let mut difference = NormDifference::default();
        for (layer, parameter) in self.network.parameters().iter().enumerate() {
            let after = parameter.value().to_vec::<f32>()?;
            for gate in spread(WIDTH, SAMPLES) {
                let before = &reference.layers[layer].logits[16 * gate..][..16];
                for (n, g) in reference.logit_gradients(layer, gate).into_iter().enumerate() {
                    let wanted = -RATE * g / (g.abs() + EPSILON);
                    difference.add(after[16 * gate + n] - before[n], wanted);
                }
            }
        }
        Ok(difference.relative())
    }
}

/// A layer on the host.
struct HostLayer {
    logits: Vec<f32>,
    wires: Wires,
    consumers: Consumers,
}

/// The network and its batch on the host, before the step.
struct LogicReference {
    layers: Vec<HostLayer>,
    x: Vec<f32>,
    y: Vec<f32>,
}

impl LogicReference {
    fn new(training: &LogicTraining) -> farad::Result<LogicReference> {
        let mut layers = Vec::new();
        for layer in training.network.layers() {
            let (logits, wires) = (layer.logits.value().to_vec::<f32>()?, layer.wires().clone());
            layers.push(HostLayer { logits, consumers: wires.consumers(), wires });
        }
        Ok(LogicReference { layers, x: training.x.to_vec::<f32>()?, y: training.y.to_vec::<f32>()? })
    }

    /// What a gate does with its operands for the whole batch, after `layers` layers; after none it
    /// is an input.
    fn values(&self, layers: usize, n: usize) -> Vec<f64> {
        let Some(before) = layers.checked_sub(1) else {
            return self.x.iter().skip(n).step_by(WIDTH).map(|&x| x as f64).collect();
        };
        let c = self.coefficients(before, n);
        let pairs = self.operands(before, n);
        pairs.into_iter().map(|(a, b)| c[0] + c[1] * a + c[2] * b + c[3] * a * b).collect()
    }

    /// What a gate reads for the whole batch.
    fn operands(&self, layer: usize, gate: usize) -> Vec<(f64, f64)> {
        let wires = &self.layers[layer].wires;
        let (a, b) = (wires.a[gate] as usize, wires.b[gate] as usize);
        self.values(layer, a).into_iter().zip(self.values(layer, b)).collect()
    }

    /// Gradients at the output of a gate for the whole batch.
    fn gradients(&self, layer: usize, gate: usize) -> Vec<f64> {
        let Some(next) = self.layers.get(layer + 1) else {
            let wanted = self.y.iter().skip(gate).step_by(WIDTH);
            let share = 2.0 / (WIDTH * BATCH) as f64;
            return self
                .values(layer + 1, gate)
                .iter()
                .zip(wanted)
                .map(|(y, &t)| share * (y - t as f64))
                .collect();
        };
        let mut sums = vec![0.0; BATCH];
        let (first, last) = (next.consumers.starts[gate] as usize, next.consumers.starts[gate + 1] as usize);
        for &entry in &next.consumers.entries[first..last] {
            let (reader, side) = (entry as usize / 2, entry as usize % 2);
            let other = if side == 0 { next.wires.b[reader] } else { next.wires.a[reader] };
            let c = self.coefficients(layer + 1, reader);
            let others = self.values(layer + 1, other as usize);
            for ((sum, g), other) in sums.iter_mut().zip(self.gradients(layer + 1, reader)).zip(others) {
                *sum += g * (c[1 + side] + c[3] * other);
            }
        }
        sums
    }

    /// Gradients at the logits of a gate.
    fn logit_gradients(&self, layer: usize, gate: usize) -> [f64; 16] {
        let mut sums = [0.0; 4];
        for (g, (a, b)) in self.gradients(layer, gate).into_iter().zip(self.operands(layer, gate)) {
            sums.iter_mut().zip([1.0, a, b, a * b]).for_each(|(sum, factor)| *sum += g * factor);
        }
        let shares = self.shares(layer, gate);
        let along = Gate::ALL.map(|gate| {
            gate.coefficients().into_iter().zip(sums).map(|(c, sum)| f64::from(c) * sum).sum::<f64>()
        });
        let mean: f64 = shares.iter().zip(along).map(|(share, g)| share * g).sum();
        std::array::from_fn(|n| shares[n] * (along[n] - mean))
    }

    /// How much of each of the sixteen functions a gate is.
    fn shares(&self, layer: usize, gate: usize) -> [f64; 16] {
        let logits = &self.layers[layer].logits[16 * gate..][..16];
        let weights: [f64; 16] = std::array::from_fn(|n| (logits[n] as f64).exp());
        let total: f64 = weights.iter().sum();
        weights.map(|weight| weight / total)
    }

    fn coefficients(&self, layer: usize, gate: usize) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for (share, gate) in self.shares(layer, gate).into_iter().zip(Gate::ALL) {
            sums.iter_mut().zip(gate.coefficients()).for_each(|(sum, c)| *sum += share * f64::from(c));
        }
        sums
    }
}
