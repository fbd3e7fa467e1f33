//! Neurons that choose among sixteen candidates, each with its own function and two wires.
//!
//! Candidate `k` computes function number `k` of its own two operands. While the neuron learns, it is a softmax
//! mixture of all sixteen. The most likely one is the gate that it becomes. [`Reach`] defines what candidates
//! may read. A frozen layer is a plain layer of gates.
//!
//! [`CompactLayer::review`] examines the neurons on the host every few hundred steps. Neurons whose entropy no
//! longer changes draw new candidates. So a neuron tries many wires without paying for all of them at once. The
//! lists of readers are rebuilt; shapes do not change, so nothing is recompiled.
//!
//! Invariant: what a layer draws depends only on its seed and the number of the review, and is stored with it.

mod cpu;
mod gpu;
mod op;
mod reach;
mod reference;

use std::sync::{Arc, Mutex};

use farad::data::Random;
use farad::nn::{Buffer, Module, Parameter};
use farad::{Device, Tensor};
use farad_circuit::{Gate, Netlist, Wire};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::gates::hard_gates;
use crate::layer::{LayerWiring, Pass, gates};
use crate::wires::Wires;
use op::neurons;
use reach::OUTSIDE;
pub use reach::Reach;

/// Candidates per neuron: one for every function of two operands.
pub const CANDIDATES: usize = 16;
/// The initial logit of a neuron's first candidate: nine tenths against fifteen others.
const STRENGTH: f32 = 4.905_275;
/// The random stream of drawn candidates.
const DRAWN: u32 = 0x6c64_7277;
/// The decay of a neuron's average entropy per step.
const MEMORY: f32 = 0.99;
/// An average that moves less than this between two reviews counts as constant.
const STILL: f32 = 5e-4;
/// At or above this probability, a candidate of a constant neuron has won; below the other, none will.
const WON: f32 = 0.95;
const LOST: f32 = 0.4;

/// Whether a function depends on its first operand.
fn reads_first(gate: Gate) -> bool {
    let [_, first, _, both] = gate.coefficients();
    first != 0 || both != 0
}

/// Whether a function depends on its second operand.
fn reads_second(gate: Gate) -> bool {
    let [_, _, second, both] = gate.coefficients();
    second != 0 || both != 0
}

/// A layer of neurons that choose among candidates, each with its own wires.
/// `[inputs, batch] -> [neurons · places, batch]`
#[derive(Clone, Debug, Module)]
pub struct CompactLayer {
    /// `[neurons, 16]`
    pub logits: Parameter,
    /// The drawn operands of every candidate: two within the reach. `[neurons, 32]`
    drawn: Buffer,
    /// For every neuron its average entropy, and for how many steps that was constant. `[neurons, 2]`
    course: Buffer,
    /// The mean entropy at the last review, and whether the layer is frozen. `[2]`
    standing: Buffer,
    #[module(skip)]
    reach: Reach,
    #[module(skip)]
    seed: u64,
    #[module(skip)]
    stream: u64,
    /// Everything on the device where it was last used.
    #[module(skip)]
    placed: Arc<Mutex<Option<PlacedNeurons>>>,
}

#[derive(Clone, Debug)]
struct PlacedNeurons {
    device: Device,
    /// Table, wires and readers.
    arrays: [Tensor; 3],
    /// The final gates on their wires, if frozen: coefficients for every position.
    frozen: Option<(Tensor, LayerWiring)>,
}

/// The parameters of a review.
#[derive(Clone, Copy, Debug)]
pub struct Review {
    /// Its number, starting at 1: what is drawn depends on it.
    pub number: u64,
    /// Steps since the last review.
    pub steps: u64,
    /// For how many steps a neuron's average must be constant before it redraws; `None` means that nothing is
    /// drawn.
    pub patience: Option<u64>,
}

/// What a review has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reviewed {
    /// Neurons that have redrawn candidates, whose logits were reset.
    pub redrawn: Vec<usize>,
    /// Whether the mean entropy of the layer was constant.
    pub still: bool,
}

impl CompactLayer {
    /// A layer whose candidates are drawn from a position in a seed's stream. It initially passes first
    /// operands through.
    pub fn new(reach: Reach, seed: u64, stream: u64) -> Result<CompactLayer> {
        let (inputs, outputs) = (reach.inputs(), reach.neurons());
        if inputs.min(outputs).min(reach.places()) == 0 {
            let what = "a layer needs inputs and neurons";
            return Err(Error::Wiring { what, inputs, outputs, found: 0, wanted: 1 });
        }
        let (cpu, neurons) = (Device::cpu(), reach.neurons());
        let mut drawn = vec![0; neurons * 2 * CANDIDATES];
        for (neuron, own) in drawn.chunks_exact_mut(2 * CANDIDATES).enumerate() {
            let mut random = draws(seed, stream, 0, neuron);
            own.chunks_exact_mut(2).for_each(|pair| pair.copy_from_slice(&reach.draw(&mut random)));
        }
        let logits = first_logits(Gate::A.number() as usize).repeat(neurons);
        Ok(CompactLayer {
            logits: Parameter::new(Tensor::from_vec(logits, [neurons, CANDIDATES], &cpu)),
            drawn: Buffer::new(Tensor::from_vec(drawn, [neurons, 2 * CANDIDATES], &cpu)),
            course: Buffer::new(Tensor::from_vec([-1.0, 0.0].repeat(neurons), [neurons, 2], &cpu)),
            standing: Buffer::new(Tensor::from_vec(vec![-1.0, 0.0], [2], &cpu)),
            reach,
            seed,
            stream,
            placed: Arc::default(),
        })
    }

    /// What candidates may read.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Input bits.
    pub fn inputs(&self) -> usize {
        self.reach.inputs()
    }

    /// Output bits.
    pub fn outputs(&self) -> usize {
        self.reach.neurons() * self.reach.places()
    }

    /// The layer on feature-major data. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn features(&self, x: &Tensor, pass: Pass) -> Tensor {
        let logits = self.logits.value();
        let PlacedNeurons { arrays, frozen, .. } = self.placed(logits.device());
        if let Some((coefficients, wiring)) = frozen {
            return gates(&coefficients, &wiring, x);
        }
        let hard = || logits.argmax(1).one_hot(CANDIDATES);
        let weights = match pass {
            Pass::Soft => logits.softmax(1),
            Pass::Hard => hard(),
            Pass::Straight => {
                let soft = logits.softmax(1);
                (hard() - &soft).stop_gradient() + &soft
            }
        };
        neurons(&weights, &arrays, x)
    }

    /// Reviews how sure neurons are. Where that is constant, those that are sure keep their gate and redraw the
    /// other candidates, and those that cannot decide redraw all. Waits for the device.
    pub fn review(&self, review: &Review) -> Result<Reviewed> {
        let mut logits = self.logits.value().to_vec::<f32>()?;
        let mut drawn = self.drawn.value().to_vec::<u32>()?;
        let mut course = self.course.value().to_vec::<f32>()?;
        let memory = MEMORY.powi(review.steps.min(1 << 20) as i32);
        let rows = logits.par_chunks_exact_mut(CANDIDATES).zip(drawn.par_chunks_exact_mut(2 * CANDIDATES));
        let rows = rows.zip(course.par_chunks_exact_mut(2)).enumerate();
        let redrawn: Vec<bool> = rows
            .map(|(neuron, ((logits, drawn), course))| {
                let chances = chances(logits);
                follow(course, entropy(&chances), memory, review.steps);
                let patient = review.patience.is_none_or(|patience| course[1] < patience as f32);
                !patient && self.redraw(neuron, review.number, &chances, logits, drawn, course)
            })
            .collect();
        let redrawn: Vec<usize> = (0..redrawn.len()).filter(|&neuron| redrawn[neuron]).collect();
        let mean =
            course.chunks_exact(2).map(|own| f64::from(own[0])).sum::<f64>() / self.reach.neurons() as f64;
        let standing = self.standing.value().to_vec::<f32>()?;
        let still = (mean as f32 - standing[0]).abs() < STILL;
        let (device, neurons) = (self.logits.value().device().clone(), self.reach.neurons());
        self.standing.set(Tensor::try_from_vec(&[mean as f32, standing[1]], [2], &device)?);
        self.course.set(Tensor::try_from_vec(&course, [neurons, 2], &device)?);
        if !redrawn.is_empty() {
            self.logits.set(Tensor::try_from_vec(&logits, [neurons, CANDIDATES], &device)?);
            self.drawn.set(Tensor::try_from_vec(&drawn, [neurons, 2 * CANDIDATES], &device)?);
            self.refresh();
        }
        Ok(Reviewed { redrawn, still })
    }

    /// Redraws candidates of one neuron, if it is sure or cannot decide; returns whether it did.
    fn redraw(
        &self,
        neuron: usize,
        number: u64,
        chances: &[f32],
        logits: &mut [f32],
        drawn: &mut [u32],
        course: &mut [f32],
    ) -> bool {
        let best = (0..CANDIDATES).fold(0, |best, n| if chances[n] > chances[best] { n } else { best });
        course[1] = 0.0;
        let kept = match chances[best] {
            chance if chance > WON => best,
            chance if chance < LOST => CANDIDATES,
            _ => return false,
        };
        let mut random = draws(self.seed, self.stream, number, neuron);
        for (slot, pair) in drawn.chunks_exact_mut(2).enumerate() {
            let fresh = self.reach.draw(&mut random);
            if slot != kept {
                pair.copy_from_slice(&fresh);
            }
        }
        logits.copy_from_slice(&first_logits(if kept == CANDIDATES {
            Gate::A.number() as usize
        } else {
            kept
        }));
        course[0] = entropy(&self::chances(logits));
        true
    }

    /// Whether the layer is frozen.
    pub fn is_frozen(&self) -> Result<bool> {
        Ok(self.standing.value().to_vec::<f32>()?[1] != 0.0)
    }

    /// Freezes the layer to its most likely gates; the layers after it continue to learn.
    pub fn freeze(&self) -> Result<()> {
        let standing = self.standing.value();
        let mean = standing.to_vec::<f32>()?[0];
        self.standing.set(Tensor::try_from_vec(&[mean, 1.0], [2], standing.device())?);
        self.refresh();
        Ok(())
    }

    /// Drops what was computed from candidates, after these were replaced.
    pub fn refresh(&self) {
        *self.placed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        if self.is_frozen().unwrap_or(false) {
            self.logits.freeze();
        }
    }

    /// The most likely gates, one per neuron, and the drawn operands of each.
    fn chosen(&self) -> Result<Vec<(Gate, [u32; 2])>> {
        let gates = hard_gates(&self.logits.value().to_vec::<f32>()?);
        let drawn = self.drawn.value().to_vec::<u32>()?;
        let own = |(gate, drawn): (Gate, &[u32])| {
            let slot = 2 * gate.number() as usize;
            (gate, [drawn[slot], drawn[slot + 1]])
        };
        Ok(gates.into_iter().zip(drawn.chunks_exact(2 * CANDIDATES)).map(own).collect())
    }

    /// The most likely gate of every neuron at every position, and the inputs that it reads, or [`OUTSIDE`].
    fn hard(&self) -> Result<Vec<(Gate, [u32; 2])>> {
        let chosen = self.chosen()?.into_iter().enumerate();
        let at_places = |(neuron, (gate, drawn)): (usize, (Gate, [u32; 2]))| {
            (0..self.reach.places())
                .map(move |place| (gate, drawn.map(|drawn| self.reach.input(neuron, drawn, place))))
        };
        Ok(chosen.flat_map(at_places).collect())
    }

    /// Adds the most likely gates at every position to a netlist.
    pub fn add_to(&self, netlist: &mut Netlist, values: &[Wire]) -> Result<Vec<Wire>> {
        let zero = netlist.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
        let wire = |input: u32| if input == OUTSIDE { zero } else { values[input as usize] };
        let gates = self.hard()?.into_iter();
        Ok(gates.map(|(gate, [a, b])| netlist.gate(gate, wire(a), wire(b))).collect())
    }

    fn placed(&self, device: &Device) -> PlacedNeurons {
        let mut place = self.placed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let placed = place.take().filter(|placed| placed.device == *device);
        let placed = placed.unwrap_or_else(|| self.place(device).expect("what a layer holds can be read"));
        *place = Some(placed.clone());
        placed
    }

    fn place(&self, device: &Device) -> Result<PlacedNeurons> {
        let wires = self.reach.wires(&self.drawn.value().to_vec::<u32>()?);
        let readers = self.reach.readers(&wires);
        let (rows, length) = (self.outputs(), readers.len());
        let table: Vec<f32> = Gate::ALL.iter().flat_map(|gate| gate.coefficients()).map(f32::from).collect();
        let arrays = [
            Tensor::try_from_vec(&table, [CANDIDATES, 4], device)?,
            Tensor::try_from_vec(&wires, [rows, CANDIDATES, 2], device)?,
            Tensor::try_from_vec(&readers, [length], device)?,
        ];
        let frozen = if self.is_frozen()? { Some(self.gates_for_good(device)?) } else { None };
        Ok(PlacedNeurons { device: device.clone(), arrays, frozen })
    }

    /// Coefficients and wires of the most likely gates. A gate that reads beyond the edge is simplified
    /// accordingly.
    fn gates_for_good(&self, device: &Device) -> Result<(Tensor, LayerWiring)> {
        let hard = self.hard()?;
        let coefficients: Vec<f32> = hard
            .iter()
            .flat_map(|(gate, [a, b])| {
                let [constant, first, second, both] = gate.coefficients().map(f32::from);
                let (a, b) = (*a != OUTSIDE, *b != OUTSIDE);
                let only = |is: bool, c: f32| if is { c } else { 0.0 };
                [constant, only(a, first), only(b, second), only(a && b, both)]
            })
            .collect();
        let side =
            |n: usize| hard.iter().map(|(_, wires)| if wires[n] == OUTSIDE { 0 } else { wires[n] }).collect();
        let wires = Wires { inputs: self.inputs(), a: side(0), b: side(1) };
        let coefficients = Tensor::try_from_vec(&coefficients, [hard.len(), 4], device)?;
        Ok((coefficients, LayerWiring::new(&wires, device)))
    }
}

/// Logits that prefer one candidate.
fn first_logits(candidate: usize) -> [f32; CANDIDATES] {
    std::array::from_fn(|n| if n == candidate { STRENGTH } else { 0.0 })
}

/// The random numbers of a neuron at a review.
fn draws(seed: u64, stream: u64, number: u64, neuron: usize) -> Random {
    let place = (number << 32) | neuron as u64;
    Random::at(seed, DRAWN.wrapping_add(stream as u32), place)
}

/// The softmax of logits.
fn chances(logits: &[f32]) -> [f32; CANDIDATES] {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: [f32; CANDIDATES] = std::array::from_fn(|n| (logits[n] - most).exp());
    let total: f32 = powers.iter().sum();
    powers.map(|power| power / total)
}

/// The entropy of chances, in nats.
fn entropy(chances: &[f32]) -> f32 {
    chances.iter().map(|&chance| if chance > 0.0 { -chance * chance.ln() } else { 0.0 }).sum()
}

/// Updates a neuron's average entropy, and counts the steps for which it was constant.
fn follow(course: &mut [f32], entropy: f32, memory: f32, steps: u64) {
    let before = course[0];
    course[0] = if before < 0.0 { entropy } else { memory * before + (1.0 - memory) * entropy };
    let still = before >= 0.0 && (course[0] - before).abs() < STILL;
    course[1] = if still { course[1] + steps as f32 } else { 0.0 };
}
