//! Checks that a graph is valid: operands come before users, and every node has the shape and dtype that its
//! op's rule gives.
//!
//! [`Graph::push`] checks every node. Passes append nodes without a check, so the compiler checks the whole
//! graph after each pass (in debug builds). Start at [`Graph::check`].

use crate::dtype::DType;
use crate::error::OpError;
use crate::graph::{Graph, Node, NodeId};
use crate::op::Op;
use crate::scan::Scan;
use crate::shape::Shape;

/// Why a graph is invalid. Nodes are named by their numbers, as in the graph's text ([`Graph::show`]).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum GraphError {
    #[error(
        "graph: an operand does not come before its user: n{node} = {op} n{operand} ({operand} vs {node})"
    )]
    Order { node: u32, op: String, operand: u32 },
    #[error("graph: an output does not exist: n{output} ({output} vs {count} nodes)")]
    Output { output: u32, count: usize },
    #[error("graph: a node's shape or dtype differs from its op's rule: n{node} = {op} ({is} vs {rule})")]
    Kind { node: u32, op: String, is: String, rule: String },
    #[error("graph: an op does not take its operands: n{node}: {error}")]
    Op { node: u32, error: OpError },
    #[error(
        "graph: an operand of a loop differs from what its body reads: n{node}, operand {operand} ({given} vs {read})"
    )]
    BodyInput { node: u32, operand: usize, given: String, read: String },
    #[error("graph: in the body of n{node}: {error}")]
    Body { node: u32, error: Box<GraphError> },
}

impl Graph {
    /// Checks that operands come before users, outputs exist, and every node has the shape and dtype of its
    /// op's rule.
    ///
    /// ```
    /// use farad_ir::{DType, Graph, NodeId, Shape, Unary};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input(0, Shape::new(&[3]), DType::F32);
    /// let y = graph.unary(Unary::Exp, x);
    /// assert!(graph.check(&[y]).is_ok());
    /// graph.nodes[y.index()].operands = vec![y];
    /// let error = graph.check(&[y]).unwrap_err().to_string();
    /// assert_eq!(error, "graph: an operand does not come before its user: n1 = exp n1 (1 vs 1)");
    /// ```
    pub fn check(&self, outputs: &[NodeId]) -> Result<(), GraphError> {
        self.ids().try_for_each(|id| self.check_node(id))?;
        let count = self.nodes.len();
        match outputs.iter().find(|output| output.index() >= count) {
            Some(output) => Err(GraphError::Output { output: output.0, count }),
            None => Ok(()),
        }
    }

    fn check_node(&self, id: NodeId) -> Result<(), GraphError> {
        let node = self.node(id);
        if let Some(late) = node.operands.iter().find(|operand| **operand >= id) {
            return Err(GraphError::Order { node: id.0, op: node.op.name(), operand: late.0 });
        }
        let wrong = |error| GraphError::Op { node: id.0, error };
        let rule = match &node.op {
            Op::Input(_) => return Ok(()),
            Op::Parameter(_) => (Shape::scalar(), node.dtype),
            Op::Pick(n, ..) => self.picked(node, *n).map_err(wrong)?,
            op => op.infer(&self.kinds(node)).map_err(wrong)?,
        };
        if rule != (node.shape, node.dtype) {
            let (is, rule) = (kind(node.shape, node.dtype), kind(rule.0, rule.1));
            return Err(GraphError::Kind { node: id.0, op: node.op.name(), is, rule });
        }
        match &node.op {
            Op::Scan(scan) => self.check_body(id, scan),
            _ => Ok(()),
        }
    }

    fn kinds(&self, node: &Node) -> Vec<(Shape, DType)> {
        node.operands.iter().map(|&operand| (self.shape(operand), self.dtype(operand))).collect()
    }

    /// The shape and dtype of output `n` of the node that a pick reads.
    fn picked(&self, node: &Node, n: usize) -> Result<(Shape, DType), OpError> {
        let least = n + 1;
        let &from = node.operands.first().ok_or(OpError::Arity { op: "pick", got: 0, least: 1 })?;
        let results = match &self.node(from).op {
            Op::Scan(scan) => scan.results(),
            Op::Custom(custom) => custom.infer(&self.kinds(self.node(from)))?,
            _ => vec![],
        };
        results.get(n).copied().ok_or(OpError::Arity { op: "pick", got: results.len(), least })
    }

    /// Checks the body of a loop, a graph whose inputs are the operands of the loop.
    fn check_body(&self, id: NodeId, scan: &Scan) -> Result<(), GraphError> {
        let inside = |error| GraphError::Body { node: id.0, error: Box::new(error) };
        scan.body.check(&scan.outputs).map_err(inside)?;
        let operands = &self.node(id).operands;
        for node in &scan.body.nodes {
            let Op::Input(n) = node.op else { continue };
            let given = operands.get(n).map(|&operand| {
                let shape = self.shape(operand);
                let sliced = (scan.carries..scan.carries + scan.sequences).contains(&n);
                (if sliced { Shape::new(&shape[1..]) } else { shape }, self.dtype(operand))
            });
            if given != Some((node.shape, node.dtype)) {
                let given = given.map_or("nothing".into(), |(shape, dtype)| kind(shape, dtype));
                let read = kind(node.shape, node.dtype);
                return Err(GraphError::BodyInput { node: id.0, operand: n, given, read });
            }
        }
        Ok(())
    }
}

fn kind(shape: Shape, dtype: DType) -> String {
    format!("{dtype}{shape}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unary;

    fn graph() -> (Graph, NodeId) {
        let mut graph = Graph::new();
        let x = graph.input(0, Shape::new(&[2, 3]), DType::F32);
        let y = graph.unary(Unary::Exp, x);
        let z = graph.permute(y, &[1, 0]);
        (graph, z)
    }

    fn error(change: impl FnOnce(&mut Graph)) -> String {
        let (mut graph, output) = graph();
        graph.check(&[output]).expect("it is in order before the change");
        change(&mut graph);
        graph.check(&[output]).expect_err("it is not in order after it").to_string()
    }

    #[test]
    fn an_operand_comes_before_its_user() {
        let text = error(|graph| graph.nodes.swap(1, 2));
        assert_eq!(text, "graph: an operand does not come before its user: n1 = permute n1 (1 vs 1)");
    }

    #[test]
    fn a_node_has_the_kind_of_its_op() {
        let text = error(|graph| graph.nodes[2].shape = Shape::new(&[2, 3]));
        let wanted = "graph: a node's shape or dtype differs from its op's rule: n2 = permute (f32[2, 3] vs f32[3, 2])";
        assert_eq!(text, wanted);
        let text = error(|graph| graph.nodes[1].dtype = DType::F16);
        let wanted =
            "graph: a node's shape or dtype differs from its op's rule: n1 = exp (f16[2, 3] vs f32[2, 3])";
        assert_eq!(text, wanted);
    }

    #[test]
    fn an_op_takes_its_operands() {
        let text = error(|graph| graph.nodes[2].op = Op::Permute(vec![0]));
        assert!(text.starts_with("graph: an op does not take its operands: n2: permute: "), "{text}");
    }

    #[test]
    fn an_output_is_a_node() {
        let (mut graph, output) = graph();
        graph.nodes.pop();
        let text = graph.check(&[output]).unwrap_err().to_string();
        assert_eq!(text, "graph: an output does not exist: n2 (2 vs 2 nodes)");
    }

    #[test]
    fn a_body_reads_what_its_loop_is_given() {
        let mut body = Graph::new();
        let x = body.input(0, Shape::new(&[3]), DType::F32);
        let y = body.neg(x);
        let scan = Scan { body, outputs: vec![y], carries: 1, sequences: 0, steps: 2, reverse: false };
        let mut graph = Graph::new();
        let start = graph.input(0, Shape::new(&[3]), DType::F32);
        let node = graph.push(Op::Scan(scan.into()), &[start]);
        let last = graph.push(Op::Pick(0, Shape::new(&[3]), DType::F32), &[node]);
        graph.check(&[last]).expect("in order");
        graph.nodes[last.index()].op = Op::Pick(1, Shape::new(&[3]), DType::F32);
        let text = graph.check(&[last]).unwrap_err().to_string();
        assert_eq!(text, "graph: an op does not take its operands: n2: pick: takes 2 operands (1 vs 2)");
        let Op::Scan(scan) = &mut graph.nodes[node.index()].op else { unreachable!() };
        std::sync::Arc::make_mut(scan).body.nodes[0].op = Op::Input(4);
        let text = graph.check(&[start]).unwrap_err().to_string();
        let wanted =
            "graph: an operand of a loop differs from what its body reads: n1, operand 4 (nothing vs f32[3])";
        assert_eq!(text, wanted);
    }
}
