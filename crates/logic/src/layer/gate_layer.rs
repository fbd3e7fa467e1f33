//! A layer of gates that learn which of the sixteen functions to be.

use std::sync::{Arc, Mutex};

use farad::nn::{Layer, Module, Parameter};
use farad::{Device, Tensor};
use farad_circuit::{Gate, Netlist, Wire};

use super::op::{gates, straight_gates};
use super::wiring::LayerWiring;
use crate::gates::{GateTable, hard_gates, initial_logits};
use crate::wires::Wires;

/// How gates compute in a forward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pass {
    /// Mixtures of functions, weighted by the logits: differentiable.
    #[default]
    Soft,
    /// The most likely function of each gate, with the mixture's gradient (straight-through).
    Straight,
    /// The most likely function of each gate, without a gradient of the logits: bits give bits.
    Hard,
}

/// Soft gates on fixed wires: `[batch, inputs] -> [batch, outputs]`.
///
/// Consecutive layers, in a [`super::GateNetwork`] or a [`farad::nn::Sequential`], keep their values
/// feature-major in between: the transpositions cancel.
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::GateLayer;
/// let layer = GateLayer::random(4, 6, 1);
/// let y = layer.forward(&Tensor::ones([3, 4], &Device::cpu()));
/// assert_eq!(y.shape()[..], [3, 6]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct GateLayer {
    /// `[outputs / copies, 16]`
    pub logits: Parameter,
    #[module(skip)]
    wires: Arc<Wires>,
    /// Consecutive gates that share their logits.
    copies: usize,
    /// The wires and the gate table on the device where they were last used.
    #[module(skip)]
    placed: Arc<Mutex<Option<PlacedGates>>>,
}

#[derive(Clone, Debug)]
struct PlacedGates {
    device: Device,
    wiring: LayerWiring,
    table: GateTable,
}

impl GateLayer {
    /// A layer on these wires. Initial logits are normal, drawn from the CPU's random numbers.
    #[track_caller]
    pub fn new(wires: Wires) -> GateLayer {
        GateLayer::shared(wires, 1)
    }

    /// A layer on these wires in which `copies` consecutive gates are one gate at several positions: they share
    /// their logits, as a kernel does over the positions of an image.
    ///
    /// # Panics
    /// If the number of gates is not a multiple of the copies.
    #[track_caller]
    pub fn shared(wires: Wires, copies: usize) -> GateLayer {
        let gates = wires.outputs();
        assert!(
            copies > 0 && gates.is_multiple_of(copies),
            "gate layer: copies do not divide the gates ({copies} vs {gates})"
        );
        let logits = Parameter::new(Tensor::randn([gates / copies, 16], &Device::cpu()));
        GateLayer { logits, wires: Arc::new(wires), copies, placed: Arc::default() }
    }

    /// A layer on wires that read every input about equally often.
    #[track_caller]
    pub fn random(inputs: usize, outputs: usize, seed: u64) -> GateLayer {
        GateLayer::new(Wires::random(inputs, outputs, seed, 0))
    }

    /// A layer whose gates read different pairs; see [`Wires::unique`].
    #[track_caller]
    pub fn unique(inputs: usize, outputs: usize, seed: u64) -> GateLayer {
        GateLayer::new(Wires::unique(inputs, outputs, seed, 0))
    }

    /// The layer with gates that initially pass their first operand through, the more strongly the larger the
    /// strength.
    pub fn passing(self, strength: f32) -> GateLayer {
        self.logits.set(initial_logits(&[self.learned()], strength, &Device::cpu()));
        self
    }

    /// Numbers per input sample.
    pub fn inputs(&self) -> usize {
        self.wires.inputs
    }

    /// Gates.
    pub fn outputs(&self) -> usize {
        self.wires.outputs()
    }

    /// The wiring.
    pub fn wires(&self) -> &Wires {
        &self.wires
    }

    /// Gates that have their own logits.
    pub fn learned(&self) -> usize {
        self.outputs() / self.copies
    }

    /// The most likely gates, one per output.
    pub fn gates(&self) -> farad::Result<Vec<Gate>> {
        let learned = hard_gates(&self.logits.value().to_vec::<f32>()?);
        Ok(learned.into_iter().flat_map(|gate| std::iter::repeat_n(gate, self.copies)).collect())
    }

    /// The layer with only the most likely gates: bits give bits. `[batch, inputs] -> [batch, outputs]`
    #[track_caller]
    pub fn hard(&self, x: &Tensor) -> Tensor {
        self.hard_features(&x.transpose(0, 1)).transpose(0, 1)
    }

    /// The layer on feature-major data. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn forward_features(&self, x: &Tensor) -> Tensor {
        self.features(x, Pass::Soft)
    }

    /// [`GateLayer::hard`] on feature-major data. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn hard_features(&self, x: &Tensor) -> Tensor {
        self.features(x, Pass::Hard)
    }

    /// The layer on feature-major data, in a given pass. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn features(&self, x: &Tensor, pass: Pass) -> Tensor {
        let (logits, PlacedGates { wiring, table, .. }) = self.placed();
        let soft = || self.everywhere(table.soft(&logits));
        let hard = || self.everywhere(table.hard(&logits));
        match pass {
            Pass::Soft => gates(&soft(), &wiring, x),
            Pass::Hard => gates(&hard(), &wiring, x),
            // Through the mixture, so that operands that the most likely gate does not read learn as well.
            Pass::Straight => straight_gates(&hard(), &soft(), &wiring, x),
        }
    }

    /// The coefficients of learned gates, repeated for all their copies.
    fn everywhere(&self, coefficients: Tensor) -> Tensor {
        let (learned, copies) = (self.learned(), self.copies);
        match copies {
            1 => coefficients,
            _ => {
                let all = coefficients.reshape([learned, 1, 4]).broadcast_to([learned, copies, 4]);
                all.reshape([learned * copies, 4])
            }
        }
    }

    /// Adds the most likely gates to a netlist; returns their wires, given those of the inputs.
    pub fn add_to(&self, netlist: &mut Netlist, values: &[Wire]) -> farad::Result<Vec<Wire>> {
        let wires = self.wires();
        let pairs = wires.a.iter().zip(&wires.b).map(|(&a, &b)| (values[a as usize], values[b as usize]));
        Ok(self.gates()?.into_iter().zip(pairs).map(|(gate, (a, b))| netlist.gate(gate, a, b)).collect())
    }

    /// The logits, and everything else on their device.
    fn placed(&self) -> (Tensor, PlacedGates) {
        let logits = self.logits.value();
        let mut place = self.placed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let placed = place.take().filter(|placed| placed.device == *logits.device());
        let placed = placed.unwrap_or_else(|| {
            let device = logits.device().clone();
            let wiring = LayerWiring::new(&self.wires, &device);
            PlacedGates { wiring, table: GateTable::on(&device), device }
        });
        *place = Some(placed.clone());
        (logits, placed)
    }
}

impl Layer for GateLayer {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.forward_features(&x.transpose(0, 1)).transpose(0, 1)
    }
}
