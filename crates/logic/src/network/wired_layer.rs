//! A layer of gates that also learn their wires.

use std::sync::{Arc, Mutex};

use farad::data::Random;
use farad::nn::{Layer, Module, Parameter};
use farad::{Device, Tensor};
use farad_circuit::{Netlist, Wire};

use super::choice::{Candidates, choose};
use crate::error::Result;
use crate::layer::{GateLayer, Pass};
use crate::soft_gates::straight_through;
use crate::wires::Wires;

/// The initial preference of gates for passing their first operand through.
const STRENGTH: f32 = 5.0;
/// The random stream of the candidates' initial logits.
const SPREAD: u32 = 0x6c73_7072;

/// Gates that learn which function to be and, for each operand, which of a few candidate wires to read. That is
/// a softmax over the candidates' logits while they learn, and the most likely candidate afterwards.
/// `[batch, inputs] -> [batch, outputs]`
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::network::WiredLayer;
/// let layer = WiredLayer::new(12, 6, 4, 1.0, 1, 0)?;
/// let y = layer.forward(&Tensor::ones([3, 12], &Device::cpu()));
/// assert_eq!(y.shape()[..], [3, 6]);
/// # Ok::<(), farad_logic::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct WiredLayer {
    /// `[2 · outputs, candidates]`: first operands, then second.
    pub choices: Parameter,
    gates: GateLayer,
    #[module(skip)]
    candidates: Arc<Candidates>,
    /// The candidates on the device where they were last used.
    #[module(skip)]
    placed: Arc<Mutex<Option<(Device, [Tensor; 2])>>>,
}

impl WiredLayer {
    /// A layer whose operands choose among `candidates` inputs, drawn from a position in a seed's stream.
    /// Initial logits are normal with standard deviation `spread`.
    pub fn new(
        inputs: usize,
        outputs: usize,
        candidates: usize,
        spread: f32,
        seed: u64,
        stream: u64,
    ) -> Result<WiredLayer> {
        let rows = 2 * outputs;
        let candidates = Candidates::random(inputs, rows, candidates, seed, stream)?;
        let mut random = Random::at(seed, SPREAD, stream);
        let logits: Vec<f32> = candidates.wires.iter().map(|_| spread * random.normal()).collect();
        let shape = [rows, candidates.count];
        let first = (0..outputs as u32).collect();
        let second = (outputs as u32..rows as u32).collect();
        let gates = GateLayer::new(Wires { inputs: rows, a: first, b: second }).passing(STRENGTH);
        Ok(WiredLayer {
            choices: Parameter::new(Tensor::from_vec(logits, shape, &Device::cpu())),
            gates,
            candidates: Arc::new(candidates),
            placed: Arc::default(),
        })
    }

    /// The layer with gates that initially pass their first operand through, with this logit.
    pub fn passing(mut self, strength: f32) -> WiredLayer {
        self.gates = self.gates.passing(strength);
        self
    }

    /// Input bits.
    pub fn inputs(&self) -> usize {
        self.candidates.inputs
    }

    /// Gates.
    pub fn outputs(&self) -> usize {
        self.gates.outputs()
    }

    /// The layer on feature-major data. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn features(&self, x: &Tensor, pass: Pass) -> Tensor {
        let logits = self.choices.value();
        let hard = || logits.argmax(1).one_hot(self.candidates.count);
        let weights = match pass {
            Pass::Soft => logits.softmax(1),
            Pass::Hard => hard(),
            // Exactly one and zeros, so that candidates that are not chosen cost little.
            Pass::Straight => straight_through(&hard(), &logits.softmax(1)),
        };
        let chosen = choose(&weights, &self.arrays(logits.device()), x);
        self.gates.features(&chosen, pass)
    }

    /// The currently chosen wires.
    pub fn wires(&self) -> Result<Wires> {
        let count = self.candidates.count;
        let logits = self.choices.value().to_vec::<f32>()?;
        let likeliest = |(row, own): (&[f32], &[u32])| {
            own[(0..count).fold(0, |best, n| if row[n] > row[best] { n } else { best })]
        };
        let rows = logits.chunks_exact(count).zip(self.candidates.wires.chunks_exact(count));
        let mut a: Vec<u32> = rows.map(likeliest).collect();
        let b = a.split_off(self.outputs());
        Ok(Wires { inputs: self.inputs(), a, b })
    }

    /// The gates, on chosen operands.
    pub(crate) fn gates(&self) -> &GateLayer {
        &self.gates
    }

    /// For every operand, first ones and then second, the second most likely input, and by how much it lost.
    pub(crate) fn second_wires(&self) -> Result<Vec<(f32, u32)>> {
        let count = self.candidates.count;
        let logits = self.choices.value().to_vec::<f32>()?;
        let second = |(row, own): (&[f32], &[u32])| {
            let largest = |but: usize| {
                let others = (0..count).filter(|&n| n != but);
                others
                    .fold(None, |best: Option<usize>, n| best.filter(|&best| row[best] >= row[n]).or(Some(n)))
            };
            let best = largest(count).unwrap_or(0);
            let next = largest(best).unwrap_or(best);
            (row[best] - row[next], own[next])
        };
        let rows = logits.chunks_exact(count).zip(self.candidates.wires.chunks_exact(count));
        Ok(rows.map(second).collect())
    }

    /// Adds the most likely gates on the most likely wires to a netlist.
    pub fn add_to(&self, netlist: &mut Netlist, values: &[Wire]) -> Result<Vec<Wire>> {
        let Wires { a, b, .. } = self.wires()?;
        let pairs = a.into_iter().zip(b).map(|(a, b)| (values[a as usize], values[b as usize]));
        let gates = self.gates.gates()?.into_iter().zip(pairs);
        Ok(gates.map(|(gate, (a, b))| netlist.gate(gate, a, b)).collect())
    }

    fn arrays(&self, device: &Device) -> [Tensor; 2] {
        let mut place = self.placed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*place {
            Some((of, arrays)) if of == device => arrays.clone(),
            _ => {
                let arrays = self.candidates.on(device);
                *place = Some((device.clone(), arrays.clone()));
                arrays
            }
        }
    }
}

impl Layer for WiredLayer {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.features(&x.transpose(0, 1), Pass::Soft).transpose(0, 1)
    }
}
