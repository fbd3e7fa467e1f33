//! Cuts: a few nodes from which a node can be computed.

use crate::graph::LogicGraph;

/// Nodes, in ascending order, that every path from the sources to a node goes through.
pub(super) type Cut = Vec<u32>;

/// Cuts of a gate with at most `leaves` leaves, closest first, at most `most` of them. Each is made from
/// another by replacing a leaf by its operands; in between, a cut may have one leaf too many, because paths may
/// rejoin.
pub(super) fn cuts(graph: &LogicGraph, node: u32, leaves: usize, most: usize) -> Vec<Cut> {
    let vertex = graph.vertex(node);
    let mut found: Vec<Cut> = vec![vec![vertex.a, vertex.b]];
    let mut next = 0;
    while next < found.len() && found.len() < 2 * most {
        for place in 0..found[next].len() {
            let leaf = found[next][place];
            if !graph.is_gate(leaf) {
                continue;
            }
            let mut cut = found[next].clone();
            cut.remove(place);
            let vertex = graph.vertex(leaf);
            for operand in [vertex.a, vertex.b] {
                if let Err(place) = cut.binary_search(&operand) {
                    cut.insert(place, operand);
                }
            }
            if cut.len() <= leaves + 1 && !found.contains(&cut) {
                found.push(cut);
            }
        }
        next += 1;
    }
    found.retain(|cut| cut.len() <= leaves);
    found.truncate(most);
    found
}

/// The truth table of a gate over a cut of at most four leaves.
pub(super) fn table(graph: &LogicGraph, node: u32, cut: &[u32]) -> u16 {
    let mut known: Vec<(u32, u16)> = cut.iter().copied().zip(super::library::INPUTS).collect();
    let mut pending = vec![node];
    while let Some(&node) = pending.last() {
        let value = |node: u32| known.iter().find(|(known, _)| *known == node).map(|(_, table)| *table);
        if value(node).is_some() {
            pending.pop();
            continue;
        }
        let vertex = graph.vertex(node);
        match (value(vertex.a), value(vertex.b)) {
            (Some(a), Some(b)) => {
                known.push((node, vertex.gate.word(a as u64, b as u64) as u16));
                pending.pop();
            }
            (a, b) => {
                pending.extend(a.is_none().then_some(vertex.a));
                pending.extend(b.is_none().then_some(vertex.b));
            }
        }
    }
    known.last().expect("the node itself is known last").1
}
