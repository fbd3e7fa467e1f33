//! Stacked layers of gates, and the circuit that they become.

use farad::Tensor;
use farad::nn::{Layer, Module};
use farad_circuit::{Netlist, Wire};

use super::gate_layer::GateLayer;
use crate::wires::Wires;

/// A stack of gate layers: `[batch, inputs] -> [batch, outputs]`.
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::GateNetwork;
/// let network = GateNetwork::new(&[8, 16, 4], 1);
/// let bits = Tensor::random_mask(0.5, [5, 8], &Device::cpu()).cast(DType::F32);
/// assert!(network.hard(&bits).to_vec::<f32>()?.iter().all(|&y| y == 0.0 || y == 1.0));
/// assert_eq!(network.to_netlist("small")?.gates.len(), 20);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct GateNetwork {
    #[module(flatten)]
    layers: Vec<GateLayer>,
}

impl GateNetwork {
    /// Layers between these widths, inputs first, on random wires.
    ///
    /// # Panics
    /// If there are fewer than two widths, or one is 0.
    #[track_caller]
    pub fn new(widths: &[usize], seed: u64) -> GateNetwork {
        assert!(
            widths.len() > 1,
            "gate network: needs inputs and a layer: {widths:?} ({} vs 2)",
            widths.len()
        );
        assert!(!widths.contains(&0), "gate network: widths are at least 1: {widths:?} (0 vs 1)");
        let wire = |(n, pair): (usize, &[usize])| Wires::random(pair[0], pair[1], seed, n as u64);
        GateNetwork::of(widths.windows(2).enumerate().map(wire).map(GateLayer::new).collect())
    }

    /// From layers.
    ///
    /// # Panics
    /// If there is none, or a layer does not match the one before it.
    #[track_caller]
    pub fn of(layers: Vec<GateLayer>) -> GateNetwork {
        assert!(!layers.is_empty(), "gate network: needs a layer (0 vs 1)");
        for (n, pair) in layers.windows(2).enumerate() {
            let (outputs, inputs) = (pair[0].outputs(), pair[1].inputs());
            assert!(
                outputs == inputs,
                "gate network: layers do not match: {n} and {} ({outputs} vs {inputs})",
                n + 1
            );
        }
        GateNetwork { layers }
    }

    /// The layers.
    pub fn layers(&self) -> &[GateLayer] {
        &self.layers
    }

    /// The network with only the most likely gates: bits give bits. `[batch, inputs] -> [batch, outputs]`
    #[track_caller]
    pub fn hard(&self, x: &Tensor) -> Tensor {
        let start = x.transpose(0, 1);
        self.layers.iter().fold(start, |x, layer| layer.hard_features(&x)).transpose(0, 1)
    }

    /// The circuit of [`GateNetwork::hard`]: inputs `x0`, `x1`, …, outputs `y0`, `y1`, …, every gate as
    /// learned.
    pub fn to_netlist(&self, name: &str) -> farad::Result<Netlist> {
        let mut netlist = Netlist::new(name);
        let mut values: Vec<Wire> =
            (0..self.layers[0].inputs()).map(|n| netlist.input(format!("x{n}"))).collect();
        for layer in &self.layers {
            values = layer.add_to(&mut netlist, &values)?;
        }
        for (n, wire) in values.into_iter().enumerate() {
            netlist.output(format!("y{n}"), wire);
        }
        Ok(netlist)
    }
}

impl Layer for GateNetwork {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let start = x.transpose(0, 1);
        self.layers.iter().fold(start, |x, layer| layer.forward_features(&x)).transpose(0, 1)
    }
}
