//! Circuits as ONNX models: bool values, one op for all gates of a level.
//!
//! A gate of two inputs is `c ^ a·ca ^ b·cb ^ a·b·cab` over bool values, so that a level of any gates is two gathers and
//! six ops, whatever its gates are.

use farad_circuit::{Gate, Netlist, Wire};
use farad_onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, data_type,
};

/// The version of ONNX's own ops.
const OPSET: i64 = 21;

/// A model that is put together from nodes.
#[derive(Default)]
pub struct GateSheet {
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
}

impl GateSheet {
    /// A node of one result; its name.
    fn node(&mut self, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> String {
        let name = format!("{}_{}", op.to_lowercase(), self.nodes.len());
        self.nodes.push(NodeProto::new(op, inputs, &[&name], attributes));
        name
    }

    fn constant(&mut self, tensor: TensorProto) -> String {
        let name = format!("constant_{}", self.initializers.len());
        self.initializers.push(TensorProto { name: name.clone(), ..tensor });
        name
    }

    fn ints(&mut self, numbers: &[i64]) -> String {
        self.constant(TensorProto::ints("", &[numbers.len()], numbers))
    }

    fn floats(&mut self, numbers: &[f32]) -> String {
        self.constant(TensorProto::floats("", &[numbers.len()], numbers))
    }

    fn truths(&mut self, truths: &[bool]) -> String {
        let bytes = truths.iter().map(|&truth| u8::from(truth)).collect();
        self.constant(TensorProto::raw("", &[truths.len()], data_type::BOOL, bytes))
    }

    /// Columns of `[batch, n]`.
    fn columns(&mut self, from: &str, columns: &[i64]) -> String {
        let columns = self.ints(columns);
        self.node("Gather", &[from, &columns], vec![AttributeProto::int("axis", 1)])
    }

    /// Numbers `[batch, ..]` as the bits that thresholds make of them: of feature `n / count` each. Levels of pictures are
    /// counted in `brightest`.
    pub fn encoded(
        &mut self,
        input: &str,
        features: usize,
        thresholds: &[f32],
        brightest: Option<f32>,
    ) -> String {
        let flat = self.ints(&[0, -1]);
        let mut numbers = match brightest {
            None => input.to_string(),
            Some(_) => self.node("Reshape", &[input, &flat], vec![]),
        };
        if let Some(brightest) = brightest {
            let factor = self.floats(&[brightest]);
            numbers = self.node("Mul", &[&numbers, &factor], vec![]);
            numbers = self.node("Round", &[&numbers], vec![]);
        }
        let count = (thresholds.len() / features.max(1)).max(1);
        let places: Vec<i64> = (0..thresholds.len()).map(|bit| (bit / count) as i64).collect();
        let (spread, levels) = (self.columns(&numbers, &places), self.floats(thresholds));
        self.node("GreaterOrEqual", &[&spread, &levels], vec![])
    }

    /// Numbers as bits: what is not 0 is set.
    pub fn bits(&mut self, input: &str) -> String {
        self.node("Cast", &[input], vec![AttributeProto::int("to", data_type::BOOL)])
    }

    /// The wires of a circuit, given the bits of its inputs: `[batch, wires]`.
    pub fn gates(&mut self, netlist: &Netlist, bits: &str, wanted: &[Wire]) -> String {
        let first = netlist.inputs.len();
        let levels = levels(netlist, wanted);
        let mut column: Vec<i64> = (0..first as i64).chain(netlist.gates.iter().map(|_| -1)).collect();
        let (mut wires, mut count) = (bits.to_string(), first as i64);
        for level in 1..=levels.iter().copied().max().unwrap_or(0) {
            let gates: Vec<usize> = (0..netlist.gates.len()).filter(|&gate| levels[gate] == level).collect();
            // What a gate does not read may be anything that is there.
            let place = |wire: Wire, read: bool| if read { column[wire.index()] } else { 0 };
            let reads = |gate: &usize| {
                let node = &netlist.gates[*gate];
                (place(node.a, node.gate.reads_a()), place(node.b, node.gate.reads_b()))
            };
            let (a, b): (Vec<i64>, Vec<i64>) = gates.iter().map(reads).unzip();
            let made = self.level(
                &wires,
                &gates.iter().map(|&gate| netlist.gates[gate].gate).collect::<Vec<_>>(),
                (&a, &b),
            );
            wires = self.node("Concat", &[&wires, &made], vec![AttributeProto::int("axis", 1)]);
            for gate in gates {
                column[first + gate] = count;
                count += 1;
            }
        }
        let places: Vec<i64> = wanted.iter().map(|wire| column[wire.index()]).collect();
        self.columns(&wires, &places)
    }

    fn level(&mut self, wires: &str, gates: &[Gate], (a, b): (&[i64], &[i64])) -> String {
        let part = |of: fn(Gate) -> bool| gates.iter().map(|&gate| of(gate)).collect::<Vec<bool>>();
        let zero = |gate: Gate| gate.output(false, false);
        let [c, ca, cb, cab] = [
            part(zero),
            part(|gate| gate.output(false, false) ^ gate.output(true, false)),
            part(|gate| gate.output(false, false) ^ gate.output(false, true)),
            part(|gate| {
                [(false, false), (false, true), (true, false), (true, true)]
                    .iter()
                    .fold(false, |odd, &(a, b)| odd ^ gate.output(a, b))
            }),
        ]
        .map(|truths| self.truths(&truths));
        let (a, b) = (self.columns(wires, a), self.columns(wires, b));
        let both = self.node("And", &[&a, &b], vec![]);
        let terms =
            [(both, cab), (a, ca), (b, cb)].map(|(term, factor)| self.node("And", &[&term, &factor], vec![]));
        terms.iter().fold(c, |sum, term| self.node("Xor", &[&sum, term], vec![]))
    }

    /// Bits as the number of a class: `[batch, bits] -> [batch]`.
    pub fn number(&mut self, bits: &str, count: usize) -> String {
        // Every runtime multiplies floats; they are exact up to millions of classes.
        let numbers = self.numbers(bits);
        let powers = self.floats(&(0..count).map(|bit| (1u32 << bit) as f32).collect::<Vec<_>>());
        let parts = self.node("Mul", &[&numbers, &powers], vec![]);
        let axis = self.ints(&[1]);
        let sum = self.node("ReduceSum", &[&parts, &axis], vec![AttributeProto::int("keepdims", 0)]);
        self.node("Cast", &[&sum], vec![AttributeProto::int("to", data_type::INT64)])
    }

    /// Bits as numbers.
    pub fn numbers(&mut self, bits: &str) -> String {
        self.node("Cast", &[bits], vec![AttributeProto::int("to", data_type::FLOAT)])
    }

    /// The model, with one input of numbers and the name, type and sizes (beside the batch) of its output.
    pub fn model(mut self, input: (&str, &[usize]), last: &str, output: (&str, i64, &[usize])) -> ModelProto {
        self.nodes.push(NodeProto::new("Identity", &[last], &[output.0], vec![]));
        let graph = GraphProto {
            name: "farad".into(),
            node: self.nodes,
            initializer: self.initializers,
            input: vec![port(input.0, data_type::FLOAT, input.1)],
            output: vec![port(output.0, output.1, output.2)],
            ..GraphProto::default()
        };
        ModelProto::new(graph, OPSET)
    }
}

/// `[batch, ..]`
fn port(name: &str, kind: i64, sizes: &[usize]) -> ValueInfoProto {
    let sizes: Vec<Option<usize>> = std::iter::once(None).chain(sizes.iter().copied().map(Some)).collect();
    ValueInfoProto::batch(name, kind, &sizes)
}

/// The level of every gate that outputs need, from 1 on; 0 of those that they do not.
fn levels(netlist: &Netlist, wanted: &[Wire]) -> Vec<usize> {
    let first = netlist.inputs.len();
    let gate = |wire: Wire| wire.index().checked_sub(first);
    let mut needed = vec![false; netlist.gates.len()];
    wanted.iter().filter_map(|&wire| gate(wire)).for_each(|gate| needed[gate] = true);
    for n in (0..needed.len()).rev() {
        if needed[n] {
            netlist.gates[n].operands().filter_map(gate).for_each(|gate| needed[gate] = true);
        }
    }
    let mut levels = vec![0; needed.len()];
    for n in (0..needed.len()).filter(|&n| needed[n]) {
        let below = netlist.gates[n].operands().filter_map(gate).map(|gate| levels[gate]).max();
        levels[n] = 1 + below.unwrap_or(0);
    }
    levels
}
