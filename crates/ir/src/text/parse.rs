//! Parses a graph from text. Start at [`Graph::parse`].

use std::collections::HashMap;
use std::sync::Arc;

use crate::dtype::{DType, Scalar};
use crate::graph::{Graph, Node, NodeId};
use crate::op::Op;
use crate::ops::TensorType;
use crate::ops::binary::Binary;
use crate::ops::contraction::{Contraction, IndexMap};
use crate::ops::movement::slice::Span;
use crate::ops::reduce::Reduce;
use crate::ops::unary::Unary;
use crate::scan::Scan;
use crate::shape::{MAX_RANK, Shape};

/// A line that is not a valid node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("graph text: {what}: line {line}")]
pub struct GraphTextError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

/// The rest of a text, line by line.
type Lines<'a> = std::iter::Peekable<Box<dyn Iterator<Item = (usize, &'a str)> + 'a>>;

impl Graph {
    /// Parses what [`Graph::show`] writes: a graph and its outputs. Names may be any words. Empty lines and
    /// spaces at the ends of lines are ignored. The part after the colon may be left out if the op's rule
    /// determines it.
    ///
    /// ```
    /// use farad_ir::Graph;
    ///
    /// let (graph, outputs) = Graph::parse("x = input(0) : f32[4, 8]\n y = sum(1) x\n return y").unwrap();
    /// assert_eq!(graph.shape(outputs[0]).to_vec(), [4]);
    /// ```
    pub fn parse(text: &str) -> Result<(Graph, Vec<NodeId>), GraphTextError> {
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
        let lines: Box<dyn Iterator<Item = (usize, &str)>> = Box::new(lines.map(|(n, line)| (n + 1, line)));
        parse_graph(&mut lines.peekable())
    }
}

fn parse_graph(lines: &mut Lines) -> Result<(Graph, Vec<NodeId>), GraphTextError> {
    let mut graph = Graph::new();
    let mut names: HashMap<&str, NodeId> = HashMap::new();
    let mut last = 0;
    while let Some((line, text)) = lines.next() {
        last = line;
        let fail = |what: String| GraphTextError { line, what };
        let find = |names: &HashMap<&str, NodeId>, name: &str| {
            names.get(name).copied().ok_or_else(|| fail(format!("`{name}` is not defined yet")))
        };
        if let Some(outputs) = text.strip_prefix("return") {
            let outputs = outputs.split([',', ' ']).filter(|name| !name.is_empty());
            let outputs: Result<Vec<NodeId>, _> = outputs.map(|name| find(&names, name)).collect();
            return Ok((graph, outputs?));
        }
        let (name, rest) =
            text.split_once('=').ok_or_else(|| fail("expected `name = op operands`".into()))?;
        let ParsedNode { head, arguments, operands, kind, region, opens } =
            ParsedNode::of(rest).map_err(fail)?;
        let operands: Vec<NodeId> =
            operands.into_iter().map(|operand| find(&names, operand)).collect::<Result<_, _>>()?;
        let op = if opens {
            let (body, outputs) = parse_graph(lines)?;
            let closed = lines.next().is_some_and(|(_, text)| text == "}");
            let scan = closed.then(|| scan(head, arguments, body, outputs)).flatten();
            scan.ok_or_else(|| fail("expected a loop that ends with `}`".into()))?
        } else {
            op(head, arguments, kind).ok_or_else(|| fail(format!("unknown op: {}", rest.trim())))?
        };
        let of: Vec<TensorType> = operands.iter().map(|&id| (graph.shape(id), graph.dtype(id))).collect();
        let given = match (&op, kind) {
            (Op::Input(_) | Op::Parameter(_), kind) => {
                kind.ok_or_else(|| fail("a leaf needs a shape and dtype".into()))?
            }
            (op, _) => op.infer(&of).map_err(|error| fail(error.to_string()))?,
        };
        if let Some(kind) = kind.filter(|kind| *kind != given) {
            let [is, said] = [given, kind].map(|(shape, dtype)| format!("{dtype}{shape}"));
            return Err(fail(format!("{head} has another shape or dtype ({is} vs {said})")));
        }
        let (shape, dtype) = given;
        names.insert(name.trim(), graph.append(Node { op, operands, shape, dtype, location: None, region }));
    }
    Err(GraphTextError { line: last, what: "the text ends without `return`".into() })
}

/// The parts of a line after the name.
struct ParsedNode<'a> {
    head: &'a str,
    arguments: &'a str,
    operands: Vec<&'a str>,
    kind: Option<TensorType>,
    region: Option<u32>,
    /// Whether a body follows.
    opens: bool,
}

impl<'a> ParsedNode<'a> {
    fn of(text: &'a str) -> Result<ParsedNode<'a>, String> {
        let text = text.trim();
        let (text, opens) = text.strip_suffix('{').map_or((text, false), |text| (text.trim(), true));
        // A contraction's arguments contain no colon after the closing parenthesis, so the last colon there
        // precedes the kind.
        let closing = text.rfind(')').map_or(0, |at| at + 1);
        let (text, kind) = match text[closing..].find(':') {
            Some(at) => (&text[..closing + at], Some(&text[closing + at + 1..])),
            None => (text, None),
        };
        let (kind, region) = match kind.map(|kind| kind.split_once('@').unwrap_or((kind, ""))) {
            None => (None, None),
            Some((kind, region)) => {
                let read = parse_kind(kind.trim()).ok_or_else(|| format!("no kind: {}", kind.trim()))?;
                (Some(read), region.trim().parse().ok())
            }
        };
        let (head, arguments, rest) = match text.find('(') {
            Some(open) => {
                let close = text.rfind(')').ok_or("a parenthesis is not closed")?;
                (&text[..open], &text[open + 1..close], &text[close + 1..])
            }
            None => {
                let (head, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
                (head, "", rest)
            }
        };
        let operands = rest.split_whitespace().collect();
        Ok(ParsedNode { head: head.trim(), arguments, operands, kind, region, opens })
    }
}

/// `f32[4, 8]`
fn parse_kind(text: &str) -> Option<TensorType> {
    let (dtype, sizes) = text.strip_suffix(']')?.split_once('[')?;
    let sizes = numbers(sizes)?;
    let dtype = DTYPES.into_iter().find(|d| d.name() == dtype)?;
    (sizes.len() <= MAX_RANK).then(|| (Shape::new(&sizes), dtype))
}

const DTYPES: [DType; 9] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::F64,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U8,
    DType::Bool,
];

fn numbers(text: &str) -> Option<Vec<usize>> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

/// The op of a line; `None` if the op needs a kind and there is none.
fn op(head: &str, arguments: &str, kind: Option<TensorType>) -> Option<Op> {
    let number = || arguments.trim().parse::<usize>().ok();
    let list = || numbers(arguments);
    let shape = || kind.map(|(shape, _)| shape);
    let dtype = || kind.map(|(_, dtype)| dtype);
    let descending = |word: &str| match word.trim() {
        "descending" => Some(true),
        "ascending" => Some(false),
        _ => None,
    };
    Some(match head {
        "input" => Op::Input(number()?),
        "parameter" => Op::Parameter(number()?),
        "constant" => Op::Constant(scalar(arguments, dtype()?)?),
        "iota" => Op::Iota(shape()?.first().copied()?),
        "random" => Op::Random(shape()?),
        "select" => Op::Select,
        "cast" => Op::Cast(dtype()?),
        "reshape" => Op::Reshape(shape()?),
        "expand" => Op::Expand(shape()?),
        "permute" => Op::Permute(list()?),
        "flip" => Op::Flip(list()?),
        "pad" => Op::Pad(groups(arguments)?.into_iter().map(|[a, b]| (a, b)).collect()),
        "slice" => {
            let span = |[start, len, step]: [usize; 3]| Span { start, len, step };
            Op::Slice(groups(arguments)?.into_iter().map(span).collect())
        }
        "gather" => Op::Gather(number()?),
        "scatter_add" => {
            let [axis, size] = list()?.try_into().ok()?;
            Op::ScatterAdd(axis, size)
        }
        "order" => Op::Order(descending(arguments)?),
        "topk" => {
            let (way, count) = arguments.split_once(',')?;
            Op::Top(descending(way)?, count.trim().parse().ok()?)
        }
        "contract" => Op::Contract(Arc::new(contraction(arguments)?)),
        "pack" => {
            let (offsets, len) = arguments.split_once(" of ")?;
            Op::Pack(numbers(offsets)?, len.trim().parse().ok()?)
        }
        "stop_gradient" => Op::StopGradient,
        "barrier" => Op::Barrier(number()?),
        "pick" => Op::Pick(number()?, shape()?, dtype()?),
        _ => return row(head, arguments),
    })
}

/// An op of the tables. A reduction has axes, which distinguishes `max(1)` from `max`.
fn row(head: &str, arguments: &str) -> Option<Op> {
    if !arguments.is_empty() {
        let reduce = Reduce::ALL.iter().find(|reduce| reduce.row().name == head)?;
        return Some(Op::Reduce(*reduce, numbers(arguments)?));
    }
    let unary = Unary::ALL.iter().find(|unary| unary.row().name == head).map(|unary| Op::Unary(*unary));
    unary.or_else(|| Binary::ALL.iter().find(|binary| binary.row().name == head).map(|b| Op::Binary(*b)))
}

fn scalar(text: &str, dtype: DType) -> Option<Scalar> {
    match dtype.is_float() {
        true => text.trim().parse().ok().map(|value| Scalar::of(dtype, value)),
        false => text.trim().parse().ok().map(|value| Scalar::int(dtype, value)),
    }
}

/// `1:2, 3:4`
fn groups<const N: usize>(text: &str) -> Option<Vec<[usize; N]>> {
    let group = |part: &str| {
        let numbers: Option<Vec<usize>> = part.trim().split(':').map(|n| n.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(group).collect()
}

fn scan(head: &str, arguments: &str, body: Graph, outputs: Vec<NodeId>) -> Option<Op> {
    let word = |name: &str| -> Option<usize> {
        arguments.split(',').find_map(|part| part.trim().strip_prefix(name)?.trim().parse().ok())
    };
    let reverse = arguments.split(',').any(|part| part.trim() == "reverse");
    let (steps, carries, sequences) = (word("steps")?, word("carries")?, word("sequences")?);
    (head == "scan").then(|| Op::Scan(Arc::new(Scan { body, outputs, carries, sequences, steps, reverse })))
}

/// `a=4 b=8 c=16; a c; c b -> a b`
fn contraction(text: &str) -> Option<Contraction> {
    let (text, high) = text.strip_suffix("; high").map_or((text, false), |text| (text, true));
    let (axes, rest) = text.split_once(';')?;
    let (operands, out) = rest.split_once("->")?;
    let (lhs, rhs) = operands.split_once(';')?;
    let mut names = Vec::new();
    let mut sizes = Vec::new();
    for axis in axes.split_whitespace() {
        let (name, size) = axis.split_once('=')?;
        names.push(name);
        sizes.push(size.parse().ok()?);
    }
    let axis = |name: &str| names.iter().position(|n| *n == name);
    let maps = |text: &str| -> Option<Vec<IndexMap>> {
        text.split_whitespace().map(|map| index_map(map, &axis)).collect()
    };
    let out = out.split_whitespace().map(axis).collect::<Option<Vec<usize>>>()?;
    Some(Contraction { out, lhs: maps(lhs)?, rhs: maps(rhs)?, sizes, high })
}

/// `2a+b-1`, or `(2a+b-1)/2`
fn index_map(text: &str, axis: &dyn Fn(&str) -> Option<usize>) -> Option<IndexMap> {
    let (sum, divisor) = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(")/")?,
        None => (text, "1"),
    };
    let mut map = IndexMap { terms: vec![], offset: 0, divisor: divisor.parse().ok()? };
    let signed = sum.replace('-', "+-");
    for part in signed.split('+').filter(|part| !part.is_empty()) {
        match part.find(|c: char| c.is_ascii_alphabetic()) {
            Some(at) => {
                let factor = match &part[..at] {
                    "" => 1,
                    "-" => -1,
                    number => number.parse().ok()?,
                };
                map.terms.push((axis(&part[at..])?, factor));
            }
            None => map.offset += part.parse::<i64>().ok()?,
        }
    }
    Some(map)
}
