//! Writes a graph as text. Start at [`Graph::show`].

use std::fmt;

use crate::graph::{Graph, Node, NodeId};
use crate::op::Op;
use crate::ops::contraction::{Contraction, IndexMap};
use crate::scan::Scan;

/// A graph and its outputs, to be displayed.
pub struct GraphText<'a> {
    graph: &'a Graph,
    outputs: &'a [NodeId],
}

impl Graph {
    /// The graph as text, one line per node, with the outputs last.
    ///
    /// ```
    /// use farad_ir::{DType, Graph, Shape, Unary};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input(0, Shape::new(&[3]), DType::F32);
    /// let y = graph.unary(Unary::Exp, x);
    /// let text = graph.show(&[y]).to_string();
    /// assert_eq!(text, "n0 = input(0) : f32[3]\nn1 = exp n0 : f32[3]\nreturn n1\n");
    /// ```
    pub fn show<'a>(&'a self, outputs: &'a [NodeId]) -> GraphText<'a> {
        GraphText { graph: self, outputs }
    }
}

impl fmt::Display for GraphText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_graph(f, self.graph, self.outputs, "")
    }
}

fn show_graph(f: &mut fmt::Formatter<'_>, graph: &Graph, outputs: &[NodeId], indent: &str) -> fmt::Result {
    for id in graph.ids() {
        show_node(f, graph.node(id), id, indent)?;
    }
    let names: Vec<String> = outputs.iter().map(|id| format!("n{}", id.0)).collect();
    writeln!(f, "{indent}return {}", names.join(", "))
}

fn show_node(f: &mut fmt::Formatter<'_>, node: &Node, id: NodeId, indent: &str) -> fmt::Result {
    write!(f, "{indent}n{} = {}", id.0, head(&node.op))?;
    node.operands.iter().try_for_each(|operand| write!(f, " n{}", operand.0))?;
    write!(f, " : {}{}", node.dtype, node.shape)?;
    if let Some(region) = node.region {
        write!(f, " @{region}")?;
    }
    let Op::Scan(scan) = &node.op else { return writeln!(f) };
    writeln!(f, " {{")?;
    show_graph(f, &scan.body, &scan.outputs, &format!("{indent}  "))?;
    writeln!(f, "{indent}}}")
}

/// The op with its arguments.
fn head(op: &Op) -> String {
    let list = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let way = |descending: bool| if descending { "descending" } else { "ascending" };
    match op {
        Op::Input(n) | Op::Parameter(n) | Op::Barrier(n) | Op::Gather(n) => format!("{}({n})", op.name()),
        Op::Pick(n, ..) => format!("pick({n})"),
        Op::Constant(scalar) => format!("constant({scalar})"),
        Op::Cast(_) => "cast".into(),
        Op::Permute(axes) | Op::Flip(axes) | Op::Reduce(_, axes) => format!("{}({})", op.name(), list(axes)),
        Op::Pad(widths) => {
            let widths: Vec<String> = widths.iter().map(|(a, b)| format!("{a}:{b}")).collect();
            format!("pad({})", widths.join(", "))
        }
        Op::Slice(spans) => {
            let spans: Vec<String> =
                spans.iter().map(|s| format!("{}:{}:{}", s.start, s.len, s.step)).collect();
            format!("slice({})", spans.join(", "))
        }
        Op::ScatterAdd(axis, size) => format!("scatter_add({axis}, {size})"),
        Op::Order(descending) => format!("order({})", way(*descending)),
        Op::Top(descending, count) => format!("topk({}, {count})", way(*descending)),
        Op::Pack(offsets, len) => format!("pack({} of {len})", list(offsets)),
        Op::Contract(contraction) => format!("contract({})", sum_of_products(contraction)),
        Op::Scan(scan) => loop_head(scan),
        Op::Custom(custom) => format!("custom({})", custom.name()),
        Op::Iota(_)
        | Op::Random(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Select
        | Op::Reshape(_)
        | Op::Expand(_)
        | Op::StopGradient => op.name(),
    }
}

fn loop_head(scan: &Scan) -> String {
    let Scan { carries, sequences, steps, reverse, .. } = scan;
    let way = if *reverse { ", reverse" } else { "" };
    format!("scan(steps {steps}, carries {carries}, sequences {sequences}{way})")
}

/// A letter per axis: `a=4 b=8 c=16; a c; c b -> a b`.
fn sum_of_products(contraction: &Contraction) -> String {
    let sizes: Vec<String> =
        contraction.sizes.iter().enumerate().map(|(n, size)| format!("{}={size}", letter(n))).collect();
    let maps = |maps: &[IndexMap]| maps.iter().map(index_map).collect::<Vec<_>>().join(" ");
    let out: Vec<String> = contraction.out.iter().map(|&axis| letter(axis)).collect();
    let [lhs, rhs] = [&contraction.lhs, &contraction.rhs].map(|all| maps(all));
    let high = if contraction.high { "; high" } else { "" };
    format!("{}; {lhs}; {rhs} -> {}{high}", sizes.join(" "), out.join(" "))
}

/// `2a+b-1`, or `(2a+b-1)/2`.
fn index_map(map: &IndexMap) -> String {
    let mut text = String::new();
    for &(axis, factor) in &map.terms {
        let sign = match (factor < 0, text.is_empty()) {
            (true, _) => "-",
            (false, true) => "",
            (false, false) => "+",
        };
        let times = if factor.abs() == 1 { String::new() } else { factor.abs().to_string() };
        text.push_str(&format!("{sign}{times}{}", letter(axis)));
    }
    if map.offset != 0 || text.is_empty() {
        let sign = if map.offset >= 0 && !text.is_empty() { "+" } else { "" };
        text.push_str(&format!("{sign}{}", map.offset));
    }
    if map.divisor == 1 { text } else { format!("({text})/{}", map.divisor) }
}

/// The n-th axis of a contraction: `a` to `z`, then `a1` and so on.
fn letter(n: usize) -> String {
    let first = (b'a' + (n % 26) as u8) as char;
    if n < 26 { first.to_string() } else { format!("{first}{}", n / 26) }
}
