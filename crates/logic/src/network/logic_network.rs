//! Encoding, layers and head as one network, and the circuit that it becomes.

use farad::Tensor;
use farad::nn::{Layer, Module, Visitor};
use farad_circuit::{Netlist, Wire};

use super::{CompactLayer, GroupSum, LogicLayer, Thermometer, Trees, WiredLayer};
use crate::error::{Error, Result};
use crate::layer::Pass;

/// A layer of a network, of any kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NetworkBlock {
    /// Gates on fixed wires.
    Gates(LogicLayer),
    /// Gates that learn their wires.
    Wired(WiredLayer),
    /// Trees of gates over windows of a picture.
    Trees(Trees),
    /// Neurons that choose among candidates, each with its own wires.
    Compact(CompactLayer),
}

impl NetworkBlock {
    /// Input bits.
    pub fn inputs(&self) -> usize {
        match self {
            NetworkBlock::Gates(layer) => layer.gates().inputs(),
            NetworkBlock::Wired(layer) => layer.inputs(),
            NetworkBlock::Trees(trees) => trees.inputs(),
            NetworkBlock::Compact(layer) => layer.inputs(),
        }
    }

    /// Output bits.
    pub fn outputs(&self) -> usize {
        match self {
            NetworkBlock::Gates(layer) => layer.gates().outputs(),
            NetworkBlock::Wired(layer) => layer.outputs(),
            NetworkBlock::Trees(trees) => trees.outputs(),
            NetworkBlock::Compact(layer) => layer.outputs(),
        }
    }

    /// Gates of the circuit that it becomes, before simplification.
    pub fn gates(&self) -> usize {
        match self {
            NetworkBlock::Gates(layer) => layer.gates().outputs(),
            NetworkBlock::Wired(layer) => layer.outputs(),
            NetworkBlock::Trees(trees) => trees.gates(),
            NetworkBlock::Compact(layer) => layer.outputs(),
        }
    }

    /// The layer on feature-major data. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn features(&self, x: &Tensor, pass: Pass) -> Tensor {
        match self {
            NetworkBlock::Gates(layer) => layer.gates().features(x, pass),
            NetworkBlock::Wired(layer) => layer.features(x, pass),
            NetworkBlock::Trees(trees) => trees.features(x, pass),
            NetworkBlock::Compact(layer) => layer.features(x, pass),
        }
    }

    /// Adds the hard layer to a netlist.
    pub fn add_to(&self, netlist: &mut Netlist, values: &[Wire]) -> Result<Vec<Wire>> {
        match self {
            NetworkBlock::Gates(layer) => Ok(layer.gates().add_to(netlist, values)?),
            NetworkBlock::Wired(layer) => layer.add_to(netlist, values),
            NetworkBlock::Trees(trees) => trees.add_to(netlist, values),
            NetworkBlock::Compact(layer) => layer.add_to(netlist, values),
        }
    }
}

impl Module for NetworkBlock {
    fn visit(&self, visitor: &mut dyn Visitor) {
        match self {
            NetworkBlock::Gates(layer) => layer.visit(visitor),
            NetworkBlock::Wired(layer) => layer.visit(visitor),
            NetworkBlock::Trees(trees) => trees.visit(visitor),
            NetworkBlock::Compact(layer) => layer.visit(visitor),
        }
    }

    fn kind(&self) -> String {
        match self {
            NetworkBlock::Gates(layer) => layer.kind(),
            NetworkBlock::Wired(layer) => layer.kind(),
            NetworkBlock::Trees(trees) => trees.kind(),
            NetworkBlock::Compact(layer) => layer.kind(),
        }
    }
}

/// A logic network: `[batch, features] -> [batch, classes]`.
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::network::{NetworkBlock, WiringKind};
/// use farad_logic::{GroupSum, LogicLayer, LogicNetwork, Thermometer};
/// let encoding = Thermometer::even(4, 3, 0.0, 1.0)?;
/// let layer = LogicLayer::new(encoding.outputs(), 20, WiringKind::Random, 1, 0)?;
/// let network = LogicNetwork::new(encoding, vec![NetworkBlock::Gates(layer)], GroupSum::new(20, 2, 1.0)?)?;
/// let x = Tensor::rand([5, 4], &Device::cpu());
/// assert_eq!(network.forward(&x).shape()[..], [5, 2]);
/// assert_eq!(network.to_netlist("small")?.outputs.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LogicNetwork {
    encoding: Thermometer,
    layers: Vec<NetworkBlock>,
    #[module(skip)]
    head: GroupSum,
}

impl LogicNetwork {
    /// From its parts, each of which must match the one before.
    pub fn new(encoding: Thermometer, layers: Vec<NetworkBlock>, head: GroupSum) -> Result<LogicNetwork> {
        let mut given = encoding.outputs();
        for (layer, block) in layers.iter().enumerate() {
            if block.inputs() != given {
                return Err(Error::Layers { layer, found: given, wanted: block.inputs() });
            }
            given = block.outputs();
        }
        match head.features() == given {
            true => Ok(LogicNetwork { encoding, layers, head }),
            false => Err(Error::Layers { layer: layers.len(), found: given, wanted: head.features() }),
        }
    }

    /// How numbers become bits.
    pub fn encoding(&self) -> &Thermometer {
        &self.encoding
    }

    /// The layers.
    pub fn layers(&self) -> &[NetworkBlock] {
        &self.layers
    }

    /// Drops what layers computed from their tensors, after these were replaced, for example by a checkpoint.
    pub fn refresh(&self) {
        for block in &self.layers {
            if let NetworkBlock::Compact(layer) = block {
                layer.refresh();
            }
        }
    }

    /// The head.
    pub fn head(&self) -> &GroupSum {
        &self.head
    }

    /// Gates in all layers, before simplification and without the head.
    pub fn gates(&self) -> usize {
        self.layers.iter().map(NetworkBlock::gates).sum()
    }

    /// The network on feature-major numbers. `[features, batch] -> [classes, batch]`
    #[track_caller]
    pub fn features(&self, x: &Tensor, pass: Pass) -> Tensor {
        let bits = self.encoding.bits(x, pass);
        self.head.sums(&self.layers.iter().fold(bits, |x, layer| layer.features(&x, pass)))
    }

    /// The hard network's class for every sample; the first among equals. `[features, batch] -> [batch]`
    #[track_caller]
    pub fn classes(&self, x: &Tensor) -> Tensor {
        self.features(x, Pass::Hard).argmax(0)
    }

    /// The circuit of the hard network after the encoding: one input per bit (`x0`, `x1`, …), and the class as
    /// a number in outputs `class0`, `class1`, …, lowest bit first. The first class with the largest count
    /// wins.
    pub fn to_netlist(&self, name: &str) -> Result<Netlist> {
        let (mut netlist, values) = self.layers_of_gates(name)?;
        for (n, wire) in self.head.add_to(&mut netlist, &values).into_iter().enumerate() {
            netlist.output(format!("class{n}"), wire);
        }
        Ok(netlist)
    }

    /// [`LogicNetwork::to_netlist`] with the counts as well: bit `b` of class `c` is output `count_c_b`.
    pub fn to_netlist_with_counts(&self, name: &str) -> Result<Netlist> {
        let (mut netlist, values) = self.layers_of_gates(name)?;
        let counts = self.head.add_counts_to(&mut netlist, &values);
        for (n, wire) in netlist.first_largest(&counts).into_iter().enumerate() {
            netlist.output(format!("class{n}"), wire);
        }
        for (class, bits) in counts.into_iter().enumerate() {
            for (n, wire) in bits.into_iter().enumerate() {
                netlist.output(format!("count_{class}_{n}"), wire);
            }
        }
        Ok(netlist)
    }

    /// The circuit without the head: bit `n` of the last layer is output `n`, named `vote_c_k` if it is the
    /// `k`-th vote for class `c`.
    pub fn to_netlist_of_votes(&self, name: &str) -> Result<Netlist> {
        let (mut netlist, values) = self.layers_of_gates(name)?;
        let group = self.head.features() / self.head.classes();
        for (n, wire) in values.into_iter().enumerate() {
            netlist.output(format!("vote_{}_{}", n / group, n % group), wire);
        }
        Ok(netlist)
    }

    /// The gates without the head, and the wires that the head reads.
    fn layers_of_gates(&self, name: &str) -> Result<(Netlist, Vec<Wire>)> {
        let mut netlist = Netlist::new(name);
        let mut values: Vec<Wire> =
            (0..self.encoding.outputs()).map(|n| netlist.input(format!("x{n}"))).collect();
        for layer in &self.layers {
            values = layer.add_to(&mut netlist, &values)?;
        }
        Ok((netlist, values))
    }
}

impl Layer for LogicNetwork {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.features(&x.transpose(0, 1), Pass::Soft).transpose(0, 1)
    }
}
