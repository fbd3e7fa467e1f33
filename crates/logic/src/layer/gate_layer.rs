//! A layer of gates that learn which of the sixteen functions to be.

use std::sync::{Arc, Mutex};

use farad::nn::{Layer, Module, Parameter};
use farad::{Device, Tensor};
use farad_circuit::Gate;

use super::op::gates;
use super::wiring::LayerWiring;
use crate::gates::{GateTable, hard_gates, initial_logits};
use crate::wires::Wires;

/// Soft gates on fixed wires: `[batch, inputs] -> [batch, outputs]`.
///
/// Layers one after the other, in a [`super::GateNetwork`] or a [`farad::nn::Sequential`], keep their
/// values feature-major in between: the transpositions cancel.
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
    /// `[outputs, 16]`
    pub logits: Parameter,
    #[module(skip)]
    wires: Arc<Wires>,
    /// The wires and the gate table where they were needed last.
    #[module(skip)]
    placed: Arc<Mutex<Option<Placed>>>,
}

#[derive(Clone, Debug)]
struct Placed {
    device: Device,
    wiring: LayerWiring,
    table: GateTable,
}

impl GateLayer {
    /// A layer on these wires. Logits start normal, drawn from the CPU's random numbers.
    #[track_caller]
    pub fn new(wires: Wires) -> GateLayer {
        let logits = Parameter::new(Tensor::randn([wires.outputs(), 16], &Device::cpu()));
        GateLayer { logits, wires: Arc::new(wires), placed: Arc::default() }
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

    /// The layer with gates that begin by passing their first operand on, the more decidedly the
    /// larger the strength.
    pub fn passing(self, strength: f32) -> GateLayer {
        self.logits.set(initial_logits(&[self.outputs()], strength, &Device::cpu()));
        self
    }

    /// Numbers a sample comes in with.
    pub fn inputs(&self) -> usize {
        self.wires.inputs
    }

    /// Gates.
    pub fn outputs(&self) -> usize {
        self.wires.outputs()
    }

    /// Who reads what.
    pub fn wires(&self) -> &Wires {
        &self.wires
    }

    /// The likeliest gates.
    pub fn gates(&self) -> farad::Result<Vec<Gate>> {
        Ok(hard_gates(&self.logits.value().to_vec::<f32>()?))
    }

    /// The layer with the likeliest gate of each alone: bits give bits.
    /// `[batch, inputs] -> [batch, outputs]`
    #[track_caller]
    pub fn hard(&self, x: &Tensor) -> Tensor {
        self.hard_features(&x.transpose(0, 1)).transpose(0, 1)
    }

    /// The layer on features by samples. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn forward_features(&self, x: &Tensor) -> Tensor {
        let (logits, placed) = self.placed();
        gates(&placed.table.soft(&logits), &placed.wiring, x)
    }

    /// [`GateLayer::hard`] on features by samples. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn hard_features(&self, x: &Tensor) -> Tensor {
        let (logits, placed) = self.placed();
        gates(&placed.table.hard(&logits), &placed.wiring, x)
    }

    /// The logits, and everything else on their device.
    fn placed(&self) -> (Tensor, Placed) {
        let logits = self.logits.value();
        let mut place = self.placed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let placed = place.take().filter(|placed| placed.device == *logits.device());
        let placed = placed.unwrap_or_else(|| {
            let device = logits.device().clone();
            let wiring = LayerWiring::new(&self.wires, &device);
            Placed { wiring, table: GateTable::on(&device), device }
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
