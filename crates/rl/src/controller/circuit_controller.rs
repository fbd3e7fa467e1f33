//! A circuit that acts: thresholds, gates, and output bits that make the action.

use std::sync::Arc;

use farad::{DType, Device, Tensor};
use farad_circuit::{Gate, Netlist};

use super::observation_code::ObservationCode;
use super::task::ControlTask;
use crate::environment::Environment;
use crate::episodes::Actor;
use crate::error::RlError;

/// A circuit with the thresholds that encode its inputs. As an [`Actor`] it runs on any device, gate by gate on
/// tensors.
pub struct CircuitController {
    task: &'static ControlTask,
    code: ObservationCode,
    netlist: Netlist,
}

impl CircuitController {
    /// From a circuit that contains its thresholds.
    pub fn new(netlist: Netlist) -> farad::Result<CircuitController> {
        let code = ObservationCode::of(&netlist).filter(|code| code.all().count() == netlist.inputs.len());
        match code.zip(ControlTask::of_circuit(&netlist)) {
            Some((code, task)) if code.levels.len() == task.numbers.len() => {
                Ok(CircuitController { task, code, netlist })
            }
            _ => Err(RlError::NoController { name: netlist.name }.into()),
        }
    }

    /// The world that it controls, on a device.
    pub fn world(&self, device: &Device) -> farad::Result<Arc<dyn Environment>> {
        (self.task.world)(device)
    }

    /// The row of that world.
    pub fn task(&self) -> &'static ControlTask {
        self.task
    }

    /// The circuit.
    pub fn netlist(&self) -> &Netlist {
        &self.netlist
    }

    /// The thresholds.
    pub fn code(&self) -> &ObservationCode {
        &self.code
    }
}

impl Actor for CircuitController {
    fn agents(&self) -> usize {
        1
    }

    fn act(&self, seen: &Tensor) -> Tensor {
        let worlds = seen.shape()[0];
        let (wires, nothing) = (self.wires(seen), Tensor::zeros([worlds], seen.device()).cast(DType::Bool));
        let bit = |wire: farad_circuit::Wire| wires[wire.index()].clone().unwrap_or(nothing.clone());
        let bits: Vec<Tensor> = self.netlist.outputs.iter().map(|output| bit(output.wire)).collect();
        (self.task.action)(&bits)
    }

    fn layers(&self, seen: &Tensor) -> Vec<(String, Tensor)> {
        let wires = self.wires(seen);
        let (bits, gates) = wires.split_at(self.netlist.sources());
        let layer = |name: &str, bits: &[Option<Tensor>]| {
            let live: Vec<&Tensor> = bits.iter().flatten().collect();
            (!live.is_empty()).then(|| (name.to_string(), Tensor::stack(&live, 1).cast(DType::F32)))
        };
        [layer("bits of what it sees", bits), layer("gates", gates)].into_iter().flatten().collect()
    }
}

impl CircuitController {
    /// The bits of all live wires, `[worlds]` each.
    fn wires(&self, seen: &Tensor) -> Vec<Option<Tensor>> {
        let live = self.netlist.live_wires();
        let bit = |(number, level): (usize, f64)| seen.narrow(1, number, 1).squeeze(1).greater(level);
        let mut wires: Vec<Option<Tensor>> =
            self.code.all().zip(&live).map(|(input, live)| live.then(|| bit(input))).collect();
        let worlds = seen.shape()[0];
        let nothing = Tensor::zeros([worlds], seen.device()).cast(DType::Bool);
        for (n, node) in self.netlist.gates.iter().enumerate() {
            let is_live = live[self.netlist.sources() + n];
            let operand = |wire: farad_circuit::Wire, reads: bool| {
                wires.get(wire.index()).cloned().flatten().filter(|_| reads).unwrap_or(nothing.clone())
            };
            let (a, b) = (operand(node.a, node.gate.reads_a()), operand(node.b, node.gate.reads_b()));
            wires.push(is_live.then(|| gate(node.gate, &a, &b)));
        }
        wires
    }
}

/// A gate on booleans: the sum of the products in its truth table.
fn gate(gate: Gate, a: &Tensor, b: &Tensor) -> Tensor {
    let product = |(x, y): (bool, bool)| {
        let a = if x { a.clone() } else { a.not() };
        a.and(&if y { b.clone() } else { b.not() })
    };
    let rows = [(false, false), (false, true), (true, false), (true, true)];
    let set = rows.into_iter().filter(|&(x, y)| gate.output(x, y)).map(product);
    set.reduce(|sum, product| sum.or(&product)).unwrap_or_else(|| a.and(a.not()))
}
