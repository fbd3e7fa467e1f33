//! Loops: a scan becomes ONNX's `Scan` with its body as a subgraph.

use farad_ir::{NodeId, Op, Scan};
use farad_nn::Result;

use super::sizes::differ;
use super::writer::{ExportScope, Writer, element};
use crate::proto::{AttributeProto, GraphProto, NodeProto, ValueInfoProto};

impl Writer {
    /// A loop; result `n` has the node's name with the suffix `_n`.
    pub fn scan(&mut self, scope: &ExportScope, id: NodeId) -> Result<String> {
        let (Op::Scan(a), Op::Scan(b)) = (&scope.a.node(id).op, &scope.b.node(id).op) else {
            return Err(differ("scan", "a loop", "none").into());
        };
        if (a.steps, a.reverse, &a.outputs) != (b.steps, b.reverse, &b.outputs) {
            return Err(differ("scan", a.steps, b.steps).into());
        }
        let operands: Vec<&str> =
            scope.a.node(id).operands.iter().map(|&operand| scope.name(operand)).collect();
        let name = self.fresh("scan");
        let body = self.body(&name, a, b, &operands)?;
        let given = a.carries + a.sequences;
        let results: Vec<String> = (0..a.outputs.len()).map(|n| format!("{name}_{n}")).collect();
        let results: Vec<&str> = results.iter().map(String::as_str).collect();
        let mut attributes = vec![
            AttributeProto::graph("body", body),
            AttributeProto::int("num_scan_inputs", a.sequences as i64),
        ];
        if a.reverse {
            let directions = |count: usize| vec![1; count];
            attributes.push(AttributeProto::ints("scan_input_directions", &directions(a.sequences)));
            attributes.push(AttributeProto::ints(
                "scan_output_directions",
                &directions(a.outputs.len() - a.carries),
            ));
        }
        self.nodes.push(NodeProto::new("Scan", &operands[..given], &results, attributes));
        Ok(name)
    }

    /// One step. Constants of the loop are values of the enclosing graph.
    fn body(&mut self, name: &str, a: &Scan, b: &Scan, operands: &[&str]) -> Result<GraphProto> {
        let around = std::mem::take(&mut self.nodes);
        let mut scope = ExportScope::new(&a.body, &b.body)?;
        let given = a.carries + a.sequences;
        let mut inputs = vec![];
        for id in a.body.ids() {
            let Op::Input(n) = a.body.node(id).op else { continue };
            if n >= given {
                scope.set_name(id, operands[n]);
            } else {
                scope.set_name(id, format!("{name}_in_{n}"));
                inputs.push((n, untyped(&format!("{name}_in_{n}"), element(a.body.dtype(id))?)));
            }
        }
        // A body has all its inputs, even those that it does not read.
        for n in (0..given).filter(|n| !inputs.iter().any(|(known, _)| known == n)).collect::<Vec<_>>() {
            let kind = if n < a.carries {
                element(a.body.dtype(a.outputs[n]))?
            } else {
                element(farad_tensor::DType::F32)?
            };
            inputs.push((n, untyped(&format!("{name}_in_{n}"), kind)));
        }
        inputs.sort_by_key(|(n, _)| *n);
        self.graph(&mut scope, &a.outputs)?;
        let mut outputs = vec![];
        for (n, &output) in a.outputs.iter().enumerate() {
            let result = format!("{name}_out_{n}");
            self.nodes.push(NodeProto::new("Identity", &[scope.name(output)], &[&result], vec![]));
            outputs.push(untyped(&result, element(a.body.dtype(output))?));
        }
        let node = std::mem::replace(&mut self.nodes, around);
        let input = inputs.into_iter().map(|(_, input)| input).collect();
        Ok(GraphProto { name: format!("{name}_body"), node, input, output: outputs, ..GraphProto::default() })
    }
}

/// A value of any shape.
fn untyped(name: &str, kind: i64) -> ValueInfoProto {
    let mut value = ValueInfoProto::tensor(name, kind, &[]);
    if let Some(tensor) = value.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()) {
        tensor.shape = None;
    }
    value
}
