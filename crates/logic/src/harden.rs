//! From learned gates to circuits.

use farad_circuit::{Automaton, Gate, Netlist, Wire};

use crate::automaton::Topology;
use crate::wires::Wires;

/// The circuit of an automaton whose gates have become hard.
///
/// `layers` as [`Topology::wire`] makes them, `gates` in the order of the coefficients. The first `visible`
/// channels are the visible ones.
///
/// # Panics
/// If gates or layers do not match the topology.
#[track_caller]
pub fn harden(
    name: &str,
    topology: &Topology,
    layers: &[Wires],
    gates: &[Gate],
    visible: usize,
    fire_rate: f32,
) -> Automaton {
    assert_eq!(gates.len(), topology.gates(), "harden: gates do not match the topology");
    let mut cell = Netlist::new(name);
    let channels = topology.channels;
    for position in 0..9 {
        for channel in 0..channels {
            cell.input(format!("n{position}_{channel}"));
        }
    }
    let split = topology.perception.len() - 1;
    let perception_gates = topology.perception_gates();
    let input = |position: usize, channel: usize| Wire((position * channels + channel) as u32);
    let mut inputs: Vec<Wire> = vec![Wire::NONE; topology.update[0]];
    for (channel, wire) in inputs[..channels].iter_mut().enumerate() {
        *wire = input(4, channel);
    }
    for kernel in 0..topology.kernels {
        let own = &gates[kernel * perception_gates..(kernel + 1) * perception_gates];
        for channel in 0..channels {
            let seen = (0..9).map(|position| input(position, channel)).collect();
            let perceived = circuit(&mut cell, &layers[..split], own, seen);
            for (bit, wire) in perceived.into_iter().enumerate() {
                let place = (channel * topology.bits() + bit) * topology.kernels + kernel;
                inputs[channels + place] = wire;
            }
        }
    }
    let own = &gates[topology.kernels * perception_gates..];
    let next = circuit(&mut cell, &layers[split..], own, inputs);
    for (channel, wire) in next.into_iter().enumerate() {
        cell.output(format!("c{channel}"), wire);
    }
    Automaton { cell, channels, visible: (0..visible).collect(), edge: topology.edge, fire_rate }
}

/// Adds the layers of a circuit; returns the wires of its outputs.
fn circuit(cell: &mut Netlist, layers: &[Wires], gates: &[Gate], inputs: Vec<Wire>) -> Vec<Wire> {
    let (mut values, mut rest) = (inputs, gates);
    for layer in layers {
        let (own, others) = rest.split_at(layer.outputs());
        let reads = layer.a.iter().zip(&layer.b).zip(own);
        values =
            reads.map(|((&a, &b), &gate)| cell.gate(gate, values[a as usize], values[b as usize])).collect();
        rest = others;
    }
    values
}
