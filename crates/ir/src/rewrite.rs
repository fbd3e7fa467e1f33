//! The one way to make a graph from another: node by node, operands first.
//!
//! Invariant: the callback that replaces a node sees only operands of the new graph, because operands are
//! replaced before their users. Start at [`Graph::rewrite`].

use crate::graph::{Graph, Node, NodeId};

/// The mapping from the nodes of one graph to those of another.
#[derive(Clone, Debug)]
pub struct NodeMap(Vec<Option<NodeId>>);

impl NodeMap {
    /// What a node became; `None` if it was left out.
    pub fn get(&self, id: NodeId) -> Option<NodeId> {
        self.0[id.index()]
    }

    /// What a node became; panics if it was left out.
    pub fn at(&self, id: NodeId) -> NodeId {
        self.get(id).unwrap_or_else(|| panic!("rewrite: a node that is needed was left out: {}", id.0))
    }

    /// What these nodes became, in order.
    pub fn all(&self, ids: &[NodeId]) -> Vec<NodeId> {
        ids.iter().map(|&id| self.at(id)).collect()
    }
}

impl Graph {
    /// The nodes that the given roots need, including themselves, operands first.
    pub fn needed(&self, roots: &[NodeId]) -> impl Iterator<Item = NodeId> + use<> {
        let needed = self.reachable(roots);
        self.ids().filter(move |id| needed[id.index()])
    }

    /// Visits the given nodes, operands first, and asks `becomes` to replace each. `becomes` gets the node's id
    /// in this graph, and the node with its operands in the new graph. It appends to the graph that it writes:
    /// the node itself to keep it, or something else to replace it; or it names a node that is already there.
    /// If several nodes refer to one (picks to a scan), the callback can remember it between calls.
    ///
    /// ```
    /// use farad_ir::{DType, Graph, Op, Shape, Unary};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input(0, Shape::new(&[3]), DType::F32);
    /// let y = graph.unary(Unary::Exp, x);
    /// // Every exponential becomes a negation.
    /// let mut new = Graph::new();
    /// let map = graph.rewrite(graph.needed(&[y]), |_, node| match node.op {
    ///     Op::Unary(Unary::Exp) => new.neg(node.operands[0]),
    ///     _ => new.append(node),
    /// });
    /// assert_eq!(new.node(map.at(y)).op.name(), "neg");
    /// ```
    pub fn rewrite(
        &self,
        nodes: impl IntoIterator<Item = NodeId>,
        mut becomes: impl FnMut(NodeId, Node) -> NodeId,
    ) -> NodeMap {
        let mut map = NodeMap(vec![None; self.nodes.len()]);
        for id in nodes {
            let Node { op, operands, shape, dtype, location, region } = self.node(id);
            let (op, operands) = (op.clone(), map.all(operands));
            let node =
                Node { op, operands, shape: *shape, dtype: *dtype, location: *location, region: *region };
            map.0[id.index()] = Some(becomes(id, node));
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Op, Shape, Unary};

    /// `x`, `-x`, `exp(-x)`, and an unused `exp(x)`.
    fn graph() -> Graph {
        let mut graph = Graph::new();
        let x = graph.input(0, Shape::new(&[3]), DType::F32);
        let y = graph.neg(x);
        graph.unary(Unary::Exp, y);
        graph.unary(Unary::Exp, x);
        graph
    }

    #[test]
    fn what_is_kept_is_the_same_graph() {
        let graph = graph();
        let mut new = Graph::new();
        let map = graph.rewrite(graph.ids(), |_, node| new.append(node));
        assert_eq!(new, graph);
        assert_eq!(map.all(&[NodeId(3), NodeId(1)]), [NodeId(3), NodeId(1)]);
    }

    #[test]
    fn a_node_may_vanish_into_its_operand() {
        let graph = graph();
        let mut new = Graph::new();
        let map = graph.rewrite(graph.needed(&[NodeId(2)]), |_, node| match node.op {
            Op::Unary(Unary::Neg) => node.operands[0],
            _ => new.append(node),
        });
        assert_eq!(new.nodes.len(), 2);
        assert_eq!(new.node(map.at(NodeId(2))).operands, [map.at(NodeId(0))]);
        assert_eq!(map.get(NodeId(3)), None, "nobody needs it");
    }

    #[test]
    #[should_panic(expected = "rewrite: a node that is needed was left out: 1")]
    fn an_operand_that_was_left_out_is_named() {
        let graph = graph();
        graph.rewrite([NodeId(0), NodeId(2)], |id, _| id);
    }
}
