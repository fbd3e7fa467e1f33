//! Logic with a memory: the same layers at every position of a sequence.

use farad::Tensor;
use farad::nn::Module;
use farad_circuit::{Netlist, Wire};

use super::NetworkBlock;
use crate::error::{Error, Result};
use crate::layer::Pass;

/// Layers that read the bits of a position and a state, and output the next state. `[positions, inputs, batch]`
/// and an initial state of zeros give the last state, `[states, batch]`. The gates are the same at every
/// position.
///
/// As a circuit it is the cell with registers for the state: one step per position.
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::network::{NetworkBlock, RecurrentLogic, WiringKind};
/// use farad_logic::{LogicLayer, Pass};
/// let layer = LogicLayer::new(3 + 5, 5, WiringKind::Random, 1, 0)?;
/// let cell = RecurrentLogic::new(3, vec![NetworkBlock::Gates(layer)])?;
/// let bits = Tensor::random_mask(0.5, [7, 3, 2], &Device::cpu()).cast(DType::F32);
/// assert_eq!(cell.last(&bits, Pass::Soft).shape()[..], [5, 2]);
/// assert_eq!(cell.to_netlist("cell")?.registers.len(), 5);
/// # Ok::<(), farad_logic::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct RecurrentLogic {
    layers: Vec<NetworkBlock>,
    inputs: usize,
    states: usize,
}

impl RecurrentLogic {
    /// From layers; the first reads the inputs, then the state that the last one outputs.
    pub fn new(inputs: usize, layers: Vec<NetworkBlock>) -> Result<RecurrentLogic> {
        let states = layers.last().map_or(0, NetworkBlock::outputs);
        let mut given = inputs + states;
        for (layer, block) in layers.iter().enumerate() {
            if block.inputs() != given {
                return Err(Error::Layers { layer, found: given, wanted: block.inputs() });
            }
            given = block.outputs();
        }
        match states {
            0 => Err(Error::Layers { layer: 0, found: 0, wanted: 1 }),
            _ => Ok(RecurrentLogic { layers, inputs, states }),
        }
    }

    /// Bits per position.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Bits of the state.
    pub fn states(&self) -> usize {
        self.states
    }

    /// The state after the last position. `[positions, inputs, batch] -> [states, batch]`
    #[track_caller]
    pub fn last(&self, x: &Tensor, pass: Pass) -> Tensor {
        let (positions, batch) = (x.shape()[0], x.shape()[2]);
        let start = Tensor::zeros([self.states, batch], x.device());
        (0..positions).fold(start, |state, position| {
            let bits = x.narrow(0, position, 1).reshape([self.inputs, batch]);
            let both = Tensor::concat(&[&bits, &state], 0);
            self.layers.iter().fold(both, |x, layer| layer.features(&x, pass))
        })
    }

    /// The circuit of the hard cell: inputs `x0`, …, registers `state0`, …, and outputs `next0`, … with the
    /// next state.
    pub fn to_netlist(&self, name: &str) -> Result<Netlist> {
        let mut netlist = Netlist::new(name);
        let mut values: Vec<Wire> = (0..self.inputs).map(|n| netlist.input(format!("x{n}"))).collect();
        values.extend((0..self.states).map(|n| netlist.register(format!("state{n}"), false)));
        for layer in &self.layers {
            values = layer.add_to(&mut netlist, &values)?;
        }
        for (n, wire) in values.into_iter().enumerate() {
            netlist.set_next(n, wire);
            netlist.output(format!("next{n}"), wire);
        }
        Ok(netlist)
    }
}
