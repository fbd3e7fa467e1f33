//! Topological order of nodes: every value is made before it is used.

use std::collections::{HashMap, HashSet};

use crate::error::OnnxError;
use crate::proto::{GraphProto, NodeProto};

/// How deep subgraphs and functions may nest.
pub const DEEPEST: usize = 16;

/// The name of a node in messages: its op, and its name or its first result.
pub fn title(node: &NodeProto) -> String {
    let shown = if node.name.is_empty() { node.output.first() } else { Some(&node.name) };
    match shown {
        Some(name) if !name.is_empty() => format!("{} `{name}`", node.op_type),
        _ => node.op_type.clone(),
    }
}

/// The names that a node uses: its operands, and what its subgraphs use from outside.
pub fn uses(node: &NodeProto, depth: usize) -> Result<Vec<String>, OnnxError> {
    let mut names: Vec<String> = node.input.iter().filter(|name| !name.is_empty()).cloned().collect();
    for attribute in &node.attribute {
        for graph in attribute.g.iter().map(|graph| graph.as_ref()).chain(&attribute.graphs) {
            names.extend(free(graph, depth + 1)?);
        }
    }
    Ok(names)
}

/// The names that a graph uses and does not define.
fn free(graph: &GraphProto, depth: usize) -> Result<Vec<String>, OnnxError> {
    if depth > DEEPEST {
        return Err(OnnxError::TooDeep { name: graph.name.clone(), found: depth, most: DEEPEST });
    }
    let mut made: HashSet<&str> = graph.input.iter().map(|value| value.name.as_str()).collect();
    made.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
    made.extend(graph.sparse_initializer.iter().filter_map(|s| s.values.as_ref()).map(|t| t.name.as_str()));
    made.extend(graph.node.iter().flat_map(|node| node.output.iter().map(|name| name.as_str())));
    let mut names = Vec::new();
    for node in &graph.node {
        names.extend(uses(node, depth)?.into_iter().filter(|name| !made.contains(name.as_str())));
    }
    let outputs = graph.output.iter().map(|value| value.name.clone());
    names.extend(outputs.filter(|name| !made.contains(name.as_str())));
    names.sort();
    names.dedup();
    Ok(names)
}

/// The indices of nodes in an order in which they can run. `known` are the names that exist before.
pub fn order(nodes: &[NodeProto], known: &HashSet<String>) -> Result<Vec<usize>, OnnxError> {
    let mut maker: HashMap<&str, usize> = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            if maker.insert(name, place).is_some() || known.contains(name) {
                return Err(OnnxError::NameTwice { name: name.clone() });
            }
        }
    }
    let mut waiting = vec![0usize; nodes.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        let mut needs: Vec<usize> = Vec::new();
        for name in uses(node, 0)? {
            match maker.get(name.as_str()) {
                Some(&by) => needs.push(by),
                None if known.contains(&name) => {}
                None => return Err(OnnxError::NoValue { name, place: title(node) }),
            }
        }
        needs.sort_unstable();
        needs.dedup();
        waiting[place] = needs.len();
        needs.into_iter().for_each(|by| users[by].push(place));
    }
    // A file that is already in order stays unchanged: the first node that can run is next.
    let mut ready: std::collections::BTreeSet<usize> =
        (0..nodes.len()).filter(|&place| waiting[place] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(place) = ready.pop_first() {
        order.push(place);
        for &user in &users[place] {
            waiting[user] -= 1;
            if waiting[user] == 0 {
                ready.insert(user);
            }
        }
    }
    if order.len() < nodes.len() {
        let stuck = (0..nodes.len()).filter(|&place| waiting[place] > 0).take(4);
        let names: Vec<String> = stuck.map(|place| title(&nodes[place])).collect();
        return Err(OnnxError::Cycle { nodes: names.join(", ") });
    }
    Ok(order)
}
