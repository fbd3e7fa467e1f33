//! The wires of a layer on a device.

use farad::{Device, Tensor};

use super::extent::readers_len;
use crate::wires::Wires;

/// The wiring of a layer in both directions, as two arrays on a device.
///
/// - wires `[2, outputs]`: first operands, then second;
/// - readers `[inputs + 1 + 4·outputs]`: the offsets of the lists of all inputs and the end of the last, then
///   all lists, two words per reader: `2·gate + side`, where side 1 is the second operand, and the gate's other
///   operand. Lists ascend.
#[derive(Clone, Debug)]
pub struct LayerWiring {
    wires: Tensor,
    readers: Tensor,
}

impl LayerWiring {
    /// Wires on a device.
    ///
    /// # Panics
    /// If a gate reads an input that does not exist, or has only one operand.
    #[track_caller]
    pub fn new(wires: &Wires, device: &Device) -> LayerWiring {
        let (inputs, outputs) = (wires.inputs, wires.outputs());
        let (first, second) = (outputs, wires.b.len());
        assert!(first == second, "gates: operands differ in number: first and second ({first} vs {second})");
        if let Some(&wire) = wires.a.iter().chain(&wires.b).find(|&&wire| wire as usize >= inputs) {
            panic!(
                "gates: a wire reads a missing input: {inputs} inputs ({wire} vs at most {})",
                inputs as i64 - 1
            );
        }
        let pairs: Vec<u32> = wires.a.iter().chain(&wires.b).copied().collect();
        LayerWiring {
            wires: Tensor::from_vec(pairs, [2, outputs], device),
            readers: Tensor::from_vec(readers(wires), [readers_len(inputs, outputs)], device),
        }
    }

    pub(super) fn wires(&self) -> &Tensor {
        &self.wires
    }

    pub(super) fn readers(&self) -> &Tensor {
        &self.readers
    }
}

fn readers(wires: &Wires) -> Vec<u32> {
    let consumers = wires.consumers();
    let mut words = Vec::with_capacity(readers_len(wires.inputs, wires.outputs()));
    words.extend(&consumers.starts);
    for &entry in &consumers.entries {
        let others = if entry % 2 == 0 { &wires.b } else { &wires.a };
        words.extend([entry, others[entry as usize / 2]]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_name_the_gate_the_side_and_the_other_operand() {
        let wires = Wires { inputs: 3, a: vec![0, 2], b: vec![2, 2] };
        assert_eq!(readers(&wires), [0, 1, 1, 4, 0, 2, 1, 0, 2, 2, 3, 2]);
    }

    #[test]
    #[should_panic(expected = "gates: a wire reads a missing input: 2 inputs (2 vs at most 1)")]
    fn wires_that_lead_nowhere_are_refused() {
        LayerWiring::new(&Wires { inputs: 2, a: vec![0], b: vec![2] }, &Device::cpu());
    }
}
