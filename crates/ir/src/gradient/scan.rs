//! The gradient of a scan: a scan in the other direction.
//!
//! Start at [`Tape::scan`].

use std::sync::Arc;

use super::{Tape, pull_back};
use crate::dtype::DType;
use crate::error::OpError;
use crate::graph::{Graph, Node, NodeId};
use crate::op::Op;
use crate::scan::Scan;
use crate::shape::Shape;

impl Tape {
    /// A scan's gradient is a scan in the other direction over the carries that a forward scan
    /// hands out; each position computes its body again and pulls gradients through it.
    pub(super) fn scan(
        &mut self,
        graph: &mut Graph,
        scan: Arc<Scan>,
        node: &Node,
        picks: &[Option<NodeId>],
    ) -> Result<(), OpError> {
        let first = picks.iter().flatten().next().copied().expect("a gradient reached a result");
        let operands = &self.operands(graph, node, first)[..];
        let plan = ReverseScan::new(graph, &scan, operands);
        let results = scan.results();
        let upstream = |graph: &mut Graph, n: usize| match picks.get(n).copied().flatten() {
            Some(g) => g,
            None => graph.fill(crate::Scalar::of(results[n].1, 0.0), results[n].0),
        };
        // Operands of the reverse scan: gradients of carries, sums for constants; then the saved
        // carries, the sequences, gradients of the result slices; then the constants.
        let mut given = Vec::new();
        for &carry in &plan.float_carries {
            given.push(upstream(graph, carry));
        }
        for &constant in &plan.float_constants {
            given.push(graph.fill_like(operands[constant], 0.0));
        }
        given.extend(plan.saved(graph, &scan, operands));
        given.extend_from_slice(&operands[scan.carries..scan.carries + scan.sequences]);
        for &result in &plan.float_results {
            given.push(upstream(graph, result));
        }
        given.extend_from_slice(&operands[scan.carries + scan.sequences..]);
        let reverse = plan.reverse(graph, &scan, operands)?;
        let kinds = reverse.results();
        let reversed = graph.push(Op::Scan(reverse.into()), &given);
        let targets = plan.float_carries.iter().chain(&plan.float_constants).chain(&plan.float_sequences);
        for (n, &operand) in targets.enumerate() {
            let g = graph.push(Op::Pick(n, kinds[n].0, kinds[n].1), &[reversed]);
            self.add(graph, node.operands[operand], g);
        }
        Ok(())
    }
}

/// Which operands and results of a scan are floats, and so have gradients.
struct ReverseScan {
    float_carries: Vec<usize>,
    float_sequences: Vec<usize>,
    float_constants: Vec<usize>,
    float_results: Vec<usize>,
}

impl ReverseScan {
    fn new(graph: &Graph, scan: &Scan, operands: &[NodeId]) -> ReverseScan {
        let float =
            |range: std::ops::Range<usize>| range.filter(|&n| graph.dtype(operands[n]).is_float()).collect();
        let sequences = scan.carries + scan.sequences;
        ReverseScan {
            float_carries: float(0..scan.carries),
            float_sequences: float(scan.carries..sequences),
            float_constants: float(sequences..operands.len()),
            float_results: (scan.carries..scan.outputs.len())
                .filter(|&n| scan.body.dtype(scan.outputs[n]).is_float())
                .collect(),
        }
    }

    /// The carries before every position, from a forward scan that also hands them out.
    fn saved(&self, graph: &mut Graph, scan: &Scan, operands: &[NodeId]) -> Vec<NodeId> {
        let mut keeping = scan.clone();
        for (carry, &operand) in operands[..scan.carries].iter().enumerate() {
            let input = body_input(&mut keeping.body, carry, graph.shape(operand), graph.dtype(operand));
            keeping.outputs.push(input);
        }
        let kinds = keeping.results();
        let first = scan.outputs.len();
        let node = graph.push(Op::Scan(keeping.into()), operands);
        (first..first + scan.carries)
            .map(|n| graph.push(Op::Pick(n, kinds[n].0, kinds[n].1), &[node]))
            .collect()
    }

    fn reverse(&self, graph: &Graph, scan: &Scan, operands: &[NodeId]) -> Result<Scan, OpError> {
        let slice = |n: usize| {
            let shape = graph.shape(operands[n]);
            if (scan.carries..scan.carries + scan.sequences).contains(&n) {
                Shape::new(&shape[1..])
            } else {
                shape
            }
        };
        let mut body = Graph::new();
        let mut next = 0;
        let mut input = |body: &mut Graph, shape: Shape, dtype: DType| {
            next += 1;
            body.input(next - 1, shape, dtype)
        };
        let carry_gradients: Vec<NodeId> = self
            .float_carries
            .iter()
            .map(|&n| input(&mut body, slice(n), graph.dtype(operands[n])))
            .collect();
        let constant_sums: Vec<NodeId> = self
            .float_constants
            .iter()
            .map(|&n| input(&mut body, slice(n), graph.dtype(operands[n])))
            .collect();
        let mut forward = vec![NodeId(0); operands.len()];
        for n in 0..scan.carries + scan.sequences {
            forward[n] = input(&mut body, slice(n), graph.dtype(operands[n]));
        }
        let result_gradients: Vec<NodeId> = self
            .float_results
            .iter()
            .map(|&n| input(&mut body, scan.body.shape(scan.outputs[n]), scan.body.dtype(scan.outputs[n])))
            .collect();
        for n in scan.carries + scan.sequences..operands.len() {
            forward[n] = input(&mut body, slice(n), graph.dtype(operands[n]));
        }
        let inlined = inline(&mut body, &scan.body, &forward);
        let seeds: Vec<(NodeId, NodeId)> = self
            .float_carries
            .iter()
            .zip(&carry_gradients)
            .chain(self.float_results.iter().zip(&result_gradients))
            .map(|(&n, &g)| (inlined[scan.outputs[n].index()], g))
            .collect();
        let targets: Vec<usize> = self
            .float_carries
            .iter()
            .chain(&self.float_constants)
            .chain(&self.float_sequences)
            .copied()
            .collect();
        let wrt: Vec<NodeId> = targets.iter().map(|&n| forward[n]).collect();
        let found = pull_back(&mut body, &seeds, &wrt)?;
        let mut outputs = Vec::new();
        for (i, g) in found.into_iter().enumerate() {
            let g = match g {
                Some(g) => g,
                None => body.fill_like(wrt[i], 0.0),
            };
            let constant = i.checked_sub(self.float_carries.len()).and_then(|c| constant_sums.get(c));
            outputs.push(constant.map_or(g, |&sum| body.add(sum, g)));
        }
        Ok(Scan {
            body,
            outputs,
            carries: self.float_carries.len() + self.float_constants.len(),
            sequences: scan.carries + scan.sequences + self.float_results.len(),
            steps: scan.steps,
            reverse: !scan.reverse,
        })
    }
}

/// The body's node for input `n`, made if the body does not use it.
fn body_input(body: &mut Graph, n: usize, shape: Shape, dtype: DType) -> NodeId {
    let found = body.ids().find(|&id| matches!(body.node(id).op, Op::Input(m) if m == n));
    found.unwrap_or_else(|| body.input(n, shape, dtype))
}

/// Copies `body` into `graph` with its inputs replaced; returns where each node went.
fn inline(graph: &mut Graph, body: &Graph, inputs: &[NodeId]) -> Vec<NodeId> {
    let mut map: Vec<NodeId> = Vec::with_capacity(body.nodes.len());
    for node in &body.nodes {
        let id = match node.op {
            Op::Input(n) => inputs[n],
            _ => {
                let operands = node.operands.iter().map(|o| map[o.index()]).collect();
                graph.append(Node { operands, ..node.clone() })
            }
        };
        map.push(id);
    }
    map
}
