//! Automata to test: sizes, random data, and the results of devices and of the f64 reference.
#![allow(dead_code)] // every test file uses a part of it

use farad::prelude::*;
use farad_circuit::Edge;
use farad_logic::{GateTable, Policy, Recipe, RollOut, Topology, Wires, Wiring};

use crate::numbers::Draw;

/// A roll-out with all its data.
#[derive(Clone)]
pub struct Case {
    pub topology: Topology,
    pub steps: usize,
    /// Seeds, batch, height, width.
    pub sizes: [usize; 4],
    pub wires: Vec<Vec<Wires>>,
    /// `[seeds, gates, 4]`
    pub coefficients: Vec<f32>,
    pub states: Vec<f32>,
    pub fired: Option<Vec<f32>>,
    /// The loss is the sum of the last states, weighted by these.
    pub weights: Vec<f32>,
}

/// Last states, and gradients of the loss with respect to coefficients and first states.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<T> {
    pub states: Vec<T>,
    pub coefficients: Vec<T>,
    pub first: Vec<T>,
}

/// Wires as in the recipes, and random ones if a layer has too few gates for that.
fn wires(topology: &Topology, seed: u64) -> Vec<Wires> {
    let mut layers = vec![];
    for (circuit, widths) in [&topology.perception, &topology.update].into_iter().enumerate() {
        for (n, pair) in widths.windows(2).enumerate() {
            let stream = layers.len() as u64;
            layers.push(match (circuit, n) {
                (0, 0) => Wires::first_kernel(pair[1], seed, stream),
                _ if 2 * pair[1] < pair[0] => Wires::random(pair[0], pair[1], seed, stream),
                _ => Wires::unique(pair[0], pair[1], seed, stream),
            });
        }
    }
    layers
}

/// The coefficients of gates with random logits, the one for `a` increased by `strength`.
fn coefficients(gates: usize, strength: f32, draw: &mut Draw) -> Vec<f32> {
    let mut logits: Vec<f32> = draw.uniforms(gates * 16).iter().map(|u| 6.0 * u - 3.0).collect();
    logits.chunks_exact_mut(16).for_each(|row| row[3] += strength);
    let device = Device::cpu();
    GateTable::on(&device).soft(&Tensor::from_vec(logits, [gates, 16], &device)).to_vec().unwrap()
}

impl Case {
    /// With soft gates that prefer `a` by `strength`, states between 0 and 1, and all cells firing.
    pub fn new(topology: Topology, sizes: [usize; 4], steps: usize, strength: f32) -> Case {
        let mut draw = Draw(7);
        let [seeds, batch, height, width] = sizes;
        let count = seeds * batch * height * width * topology.channels;
        Case {
            wires: (0..seeds).map(|seed| wires(&topology, seed as u64)).collect(),
            coefficients: coefficients(seeds * topology.gates(), strength, &mut draw),
            states: draw.uniforms(count),
            weights: draw.uniforms(count).iter().map(|u| 2.0 * u - 1.0).collect(),
            fired: None,
            topology,
            steps,
            sizes,
        }
    }

    /// Makes cells fire with this probability.
    pub fn asynchronous(mut self, rate: f32) -> Case {
        let [seeds, _, height, width] = self.sizes;
        let draws = Draw(11).uniforms(seeds * self.steps * height * width);
        self.fired = Some(draws.iter().map(|&u| (u < rate) as u8 as f32).collect());
        self
    }

    /// Numbers in the states of one seed.
    pub fn seed_len(&self) -> usize {
        self.states.len() / self.sizes[0]
    }

    /// One seed of several.
    pub fn only_seed(&self, seed: usize) -> Case {
        fn part<T: Clone>(all: &[T], seed: usize, seeds: usize) -> Vec<T> {
            let len = all.len() / seeds;
            all[seed * len..(seed + 1) * len].to_vec()
        }
        let seeds = self.sizes[0];
        Case {
            sizes: [1, self.sizes[1], self.sizes[2], self.sizes[3]],
            wires: part(&self.wires, seed, seeds),
            coefficients: part(&self.coefficients, seed, seeds),
            states: part(&self.states, seed, seeds),
            weights: part(&self.weights, seed, seeds),
            fired: self.fired.as_ref().map(|fired| part(fired, seed, seeds)),
            ..self.clone()
        }
    }

    /// One grid of a batch, for a single seed.
    pub fn only_grid(&self, grid: usize) -> Case {
        let [_, batch, height, width] = self.sizes;
        let len = self.states.len() / batch;
        let part = |all: &[f32]| all[grid * len..(grid + 1) * len].to_vec();
        let (states, weights) = (part(&self.states), part(&self.weights));
        Case { sizes: [1, 1, height, width], states, weights, ..self.clone() }
    }

    /// The roll-out as a tensor, with its coefficients and first states.
    pub fn roll_out(&self, policy: Policy, device: &Device) -> [Tensor; 3] {
        let [seeds, batch, height, width] = self.sizes;
        let topology = &self.topology;
        let coefficients = Tensor::from_vec(self.coefficients.clone(), [seeds, topology.gates(), 4], device);
        let shape = [seeds, batch, height, width, topology.channels];
        let first = Tensor::from_vec(self.states.clone(), shape, device);
        [self.roll_out_from(&coefficients, &first, policy), coefficients, first]
    }

    /// The roll-out from tensors other than the case's own.
    pub fn roll_out_from(&self, coefficients: &Tensor, first: &Tensor, policy: Policy) -> Tensor {
        let [seeds, _, height, width] = self.sizes;
        let device = first.device();
        let wiring = Wiring::new(&self.topology, &self.wires, device);
        let shape = [seeds, self.steps, height, width];
        let fired = self.fired.as_ref().map(|fired| Tensor::from_vec(fired.clone(), shape, device));
        let roll_out = RollOut::new(self.topology.clone(), self.steps).policy(policy);
        roll_out.run(coefficients, &wiring, first, fired.as_ref())
    }

    /// The loss of last states.
    pub fn loss(&self, last: &Tensor) -> Tensor {
        (last * Tensor::from_vec(self.weights.clone(), last.shape(), last.device())).sum()
    }

    /// Last states and both gradients, as tensors.
    fn tensors(&self, policy: Policy, device: &Device) -> [Tensor; 3] {
        let [last, coefficients, first] = self.roll_out(policy, device);
        let mut slopes = self.loss(&last).gradients_at(&[&coefficients, &first]).unwrap().into_iter();
        [last, slopes.next().unwrap(), slopes.next().unwrap()]
    }

    /// The result on a device.
    pub fn run(&self, policy: Policy, device: &Device) -> Outcome<f32> {
        let [states, coefficients, first] = self.tensors(policy, device).map(|t| t.to_vec().unwrap());
        Outcome { states, coefficients, first }
    }

    /// The result of the reference.
    pub fn reference(&self) -> Outcome<f64> {
        let found = farad::check::reference(&self.tensors(Policy::default(), &Device::cpu())).unwrap();
        let [states, coefficients, first] = [0, 1, 2].map(|n| found[n].to_f64());
        Outcome { states, coefficients, first }
    }
}

/// A cell with few of everything, and layers of odd sizes.
pub fn small(edge: Edge) -> Topology {
    Topology { channels: 3, kernels: 2, perception: vec![9, 8, 4, 2], update: vec![15, 13, 7, 5, 3], edge }
}

/// The checkerboard with a small cell, so that a software GPU manages many updates.
pub fn small_checkerboard() -> Recipe {
    Recipe { topology: small(Edge::Zero), ..Recipe::named("checkerboard").unwrap() }
}

/// The cell of the checkerboard recipe.
fn checkerboard() -> Topology {
    Topology {
        channels: 8,
        kernels: 16,
        perception: vec![9, 8, 4, 2],
        update: [vec![264], vec![256; 10], vec![128, 64, 32, 16, 8, 8]].concat(),
        edge: Edge::Zero,
    }
}

/// All cases that are compared with the reference.
pub fn cases() -> Vec<(String, Case)> {
    let perception = Topology {
        channels: 5,
        kernels: 6,
        perception: vec![9, 8, 4, 2, 1],
        update: vec![35, 5],
        edge: Edge::Wrap,
    };
    let update = Topology {
        channels: 6,
        kernels: 1,
        perception: vec![9, 1],
        update: vec![12, 30, 64, 50, 25, 13, 7, 6],
        edge: Edge::Zero,
    };
    let fan_out = Topology {
        channels: 1,
        kernels: 16,
        perception: vec![9, 8, 4, 2, 1],
        update: vec![17, 128, 128, 64, 32, 16, 8, 4, 2, 1],
        edge: Edge::Wrap,
    };
    let named = |name: &str, case: Case| (name.to_string(), case);
    let mut all = vec![
        named("perception alone", Case::new(perception, [1, 2, 6, 7], 1, 0.0)),
        named("update alone", Case::new(update, [1, 2, 6, 7], 1, 1.0)),
        named("fan-out 16", Case::new(fan_out, [1, 20, 3, 3], 2, 3.0)),
        named("one step of the checkerboard", Case::new(checkerboard(), [1, 2, 5, 4], 1, 4.0)),
        named("20 steps of the checkerboard", Case::new(checkerboard(), [1, 1, 4, 4], 20, 9.0)),
        named("several seeds", Case::new(small(Edge::Zero), [3, 2, 4, 5], 4, 3.0)),
        named("many tiles", Case::new(small(Edge::Wrap), [1, 2, 31, 35], 2, 3.0)),
        named("no cell fires", Case::new(small(Edge::Wrap), [1, 2, 5, 4], 3, 3.0).asynchronous(0.0)),
        named("cells fire", Case::new(small(Edge::Wrap), [2, 2, 5, 7], 6, 3.0).asynchronous(0.6)),
    ];
    for edge in [Edge::Zero, Edge::Wrap] {
        for [height, width] in [[1, 1], [1, 5], [3, 3], [7, 5]] {
            let case = Case::new(small(edge), [1, 3, height, width], 5, 3.0);
            all.push((format!("{height}×{width} {edge:?}"), case));
        }
    }
    all
}
