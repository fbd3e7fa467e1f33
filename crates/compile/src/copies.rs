//! Copies where one value would need two places, so that planning gives every node one.

use farad_ir::{Graph, NodeId, Op};

/// Puts a copy wherever one value would need two places: a leaf or a repeated node as an output or
/// as a part of a pack.
pub fn copies(mut graph: Graph, mut outputs: Vec<NodeId>) -> (Graph, Vec<NodeId>) {
    let mut placed = vec![false; graph.nodes.len()];
    let fixed =
        |graph: &Graph, id: NodeId| matches!(graph.node(id).op, Op::Input(_) | Op::Pack(..) | Op::Pick(..));
    let mut rebuilt = Graph::new();
    let mut map: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
    for (index, node) in graph.nodes.iter().enumerate() {
        let mut operands: Vec<NodeId> = node.operands.iter().map(|o| map[o.index()]).collect();
        if matches!(node.op, Op::Pack(..)) {
            for (operand, old) in operands.iter_mut().zip(&node.operands) {
                if fixed(&graph, *old) || placed[old.index()] || outputs.contains(old) {
                    let number = rebuilt.nodes.len();
                    *operand = rebuilt.push(Op::Barrier(number), &[*operand]);
                }
                placed[old.index()] = true;
            }
        }
        debug_assert_eq!(index, map.len());
        map.push(rebuilt.append(farad_ir::Node { operands, ..node.clone() }));
    }
    let mut seen = Vec::new();
    for output in &mut outputs {
        let mut id = map[output.index()];
        if fixed(&graph, *output) || seen.contains(output) {
            let number = rebuilt.nodes.len();
            id = rebuilt.push(Op::Barrier(number), &[id]);
        }
        seen.push(*output);
        *output = id;
    }
    graph = rebuilt;
    (graph, outputs)
}
