//! How ops are written: one rule per family, one row per op where ONNX has the same op.

use farad_ir::{Binary, NodeId, Op, Reduce, Span, Unary};
use farad_nn::Result;
use farad_tensor::DType;

use super::sizes::{Size, differ};
use super::writer::{ExportScope, Writer};
use crate::error::OnnxError;
use crate::proto::AttributeProto;

/// Unary ops, with their ONNX names.
const UNARY: &[(Unary, &str)] = &[
    (Unary::Neg, "Neg"),
    (Unary::Abs, "Abs"),
    (Unary::Sign, "Sign"),
    (Unary::Exp, "Exp"),
    (Unary::Log, "Log"),
    (Unary::Sqrt, "Sqrt"),
    (Unary::Recip, "Reciprocal"),
    (Unary::Sin, "Sin"),
    (Unary::Cos, "Cos"),
    (Unary::Tanh, "Tanh"),
    (Unary::Erf, "Erf"),
    (Unary::Sigmoid, "Sigmoid"),
    (Unary::Relu, "Relu"),
    (Unary::Floor, "Floor"),
    (Unary::Ceil, "Ceil"),
    (Unary::Round, "Round"),
];

/// Binary ops.
const BINARY: &[(Binary, &str)] = &[
    (Binary::Add, "Add"),
    (Binary::Sub, "Sub"),
    (Binary::Mul, "Mul"),
    (Binary::Div, "Div"),
    (Binary::Max, "Max"),
    (Binary::Min, "Min"),
    (Binary::Pow, "Pow"),
    (Binary::Less, "Less"),
    (Binary::LessEqual, "LessOrEqual"),
    (Binary::Greater, "Greater"),
    (Binary::GreaterEqual, "GreaterOrEqual"),
    (Binary::Equal, "Equal"),
];

/// Logical ops on booleans, and bitwise ops on integers.
const BITS: &[(Binary, &str, &str)] = &[
    (Binary::And, "And", "BitwiseAnd"),
    (Binary::Or, "Or", "BitwiseOr"),
    (Binary::Xor, "Xor", "BitwiseXor"),
];

/// Reductions.
const REDUCE: &[(Reduce, &str)] = &[
    (Reduce::Sum, "ReduceSum"),
    (Reduce::Prod, "ReduceProd"),
    (Reduce::Max, "ReduceMax"),
    (Reduce::Min, "ReduceMin"),
    (Reduce::ArgMax, "ArgMax"),
    (Reduce::ArgMin, "ArgMin"),
];

fn row<T: PartialEq + Copy>(table: &[(T, &'static str)], op: T) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == op).map(|(_, name)| *name)
}

impl Writer {
    /// Writes a node of the graph; returns the name of its result.
    pub fn rule(&mut self, scope: &ExportScope, id: NodeId) -> Result<String> {
        let node = scope.a.node(id);
        let reads = scope.reads(id);
        let names: Vec<String> = reads.iter().map(|&read| scope.name(read).to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let first = names.first().copied().unwrap_or_default();
        Ok(match &node.op {
            Op::Constant(scalar) if node.op == scope.b.node(id).op => self.scalar(*scalar)?,
            Op::Iota(size) if node.op == scope.b.node(id).op => {
                let numbers: Vec<u8> = (0..*size as i32).flat_map(i32::to_le_bytes).collect();
                self.constant(crate::proto::data_type::INT32, &[*size], numbers)
            }
            Op::Unary(unary) => self.unary(*unary, first, node.dtype)?,
            Op::Binary(Binary::Join) if scope.concatenation(id).is_some() => {
                let axis = scope.concatenation(id).map_or(0, |(axis, _)| axis);
                self.node("Concat", &names, vec![AttributeProto::int("axis", axis as i64)])
            }
            Op::Binary(binary) => self.binary(*binary, &names, scope.dtype(node.operands[0]))?,
            Op::Select if scope.larger(id).is_some() => self.node("Max", &names, vec![]),
            Op::Select if node.dtype == DType::Bool => {
                let (not, yes) = (self.node("Not", &[first], vec![]), self.node("And", &names[..2], vec![]));
                let no = self.node("And", &[&not, names[2]], vec![]);
                self.node("Or", &[&yes, &no], vec![])
            }
            Op::Select => self.node("Where", &names, vec![]),
            Op::Cast(dtype) => self.cast(first, *dtype)?,
            Op::Reduce(reduce, axes) => self.reduce(*reduce, axes, first)?,
            Op::Gather(axis) => self.gather(scope, id, *axis, &names)?,
            Op::ScatterAdd(axis, _) => self.scatter(scope, id, *axis, &names)?,
            Op::Order(largest) | Op::Top(largest, _) => self.order(scope, id, *largest, first)?,
            Op::Contract(_) => self.contraction(scope, id)?,
            Op::StopGradient | Op::Barrier(_) => first.to_string(),
            Op::Scan(_) => self.scan(scope, id)?,
            Op::Pick(n, ..) => format!("{first}_{n}"),
            op if op.is_movement() => self.movement(scope, id, first)?,
            Op::Pack(offsets, len) if node.op == scope.b.node(id).op => {
                self.pack(scope, id, offsets, *len, &names)?
            }
            Op::Constant(scalar) => return Err(differ(&scope.what(id), scalar.as_f64(), "another").into()),
            Op::Iota(_) | Op::Pack(..) => {
                return Err(differ(&scope.what(id), node.shape, scope.b.shape(id)).into());
            }
            op => {
                let what = format!("{}: ONNX has no such op", scope.what(id));
                return Err(OnnxError::Export { what, found: op.name() }.into());
            }
        })
    }

    fn unary(&mut self, unary: Unary, x: &str, dtype: DType) -> Result<String> {
        if let Some(name) = row(UNARY, unary) {
            return Ok(self.node(name, &[x], vec![]));
        }
        Ok(match unary {
            Unary::Rsqrt => {
                let root = self.node("Sqrt", &[x], vec![]);
                self.node("Reciprocal", &[&root], vec![])
            }
            Unary::Exp2 => {
                let two = self.number(dtype, 2.0)?;
                self.node("Pow", &[&two, x], vec![])
            }
            Unary::Log2 => {
                let (log, factor) =
                    (self.node("Log", &[x], vec![]), self.number(dtype, std::f64::consts::LOG2_E)?);
                self.node("Mul", &[&log, &factor], vec![])
            }
            Unary::Log1p => {
                let one = self.number(dtype, 1.0)?;
                let more = self.node("Add", &[x, &one], vec![]);
                self.node("Log", &[&more], vec![])
            }
            Unary::Expm1 => {
                let (power, one) = (self.node("Exp", &[x], vec![]), self.number(dtype, 1.0)?);
                self.node("Sub", &[&power, &one], vec![])
            }
            Unary::Finite => {
                let (large, none) = (self.node("IsInf", &[x], vec![]), self.node("IsNaN", &[x], vec![]));
                let either = self.node("Or", &[&large, &none], vec![]);
                let finite = self.node("Not", &[&either], vec![]);
                self.cast(&finite, dtype)?
            }
            Unary::Not if dtype == DType::Bool => self.node("Not", &[x], vec![]),
            Unary::Not => self.node("BitwiseNot", &[x], vec![]),
            other => return Err(unwritten(other.row().name)),
        })
    }

    fn binary(&mut self, binary: Binary, names: &[&str], dtype: DType) -> Result<String> {
        if let Some(name) = row(BINARY, binary) {
            return Ok(self.node(name, names, vec![]));
        }
        if let Some((_, truths, bits)) = BITS.iter().find(|(op, ..)| *op == binary) {
            return Ok(self.node(if dtype == DType::Bool { truths } else { bits }, names, vec![]));
        }
        let [a, b] = [names[0], names[1]];
        Ok(match binary {
            Binary::NotEqual => {
                let equal = self.node("Equal", names, vec![]);
                self.node("Not", &[&equal], vec![])
            }
            Binary::Rem if dtype.is_float() => {
                let share = self.node("Div", names, vec![]);
                let times = self.node("Floor", &[&share], vec![]);
                let whole = self.node("Mul", &[&times, b], vec![]);
                self.node("Sub", &[a, &whole], vec![])
            }
            Binary::Rem => self.node("Mod", names, vec![]),
            Binary::Join => {
                let zero = self.number(dtype, 0.0)?;
                let empty = self.node("Equal", &[a, &zero], vec![]);
                self.node("Where", &[&empty, b, a], vec![])
            }
            other => return Err(unwritten(other.row().name)),
        })
    }

    fn reduce(&mut self, reduce: Reduce, axes: &[usize], x: &str) -> Result<String> {
        let name = row(REDUCE, reduce).ok_or_else(|| unwritten(reduce.row().name))?;
        let gone = AttributeProto::int("keepdims", 0);
        if reduce.is_index() {
            let found = self.node(name, &[x], vec![AttributeProto::int("axis", axes[0] as i64), gone]);
            return self.cast(&found, DType::I32);
        }
        if axes.is_empty() {
            return Ok(x.into());
        }
        let axes = self.list(&axes.iter().map(|&axis| axis as i64).collect::<Vec<_>>());
        Ok(self.node(name, &[x, &axes], vec![gone]))
    }

    fn movement(&mut self, scope: &ExportScope, id: NodeId, x: &str) -> Result<String> {
        let (node, other) = (scope.a.node(id), scope.b.node(id));
        let (from, to) = (scope.sizes(node.operands[0])?, scope.sizes(id)?);
        Ok(match (&node.op, &other.op) {
            (Op::Reshape(_), _) if scope.sizes(scope.reads(id)[0])? == to => x.to_string(),
            (Op::Reshape(_), _) => self.reshape(x, &to),
            (Op::Expand(_), _) => self.expand(x, &from, &to),
            (Op::Permute(order), _) => self.permute(x, order),
            (Op::Pad(widths), Op::Pad(others)) if widths == others => {
                let ends = widths.iter().map(|pair| pair.0).chain(widths.iter().map(|pair| pair.1));
                let ends: Vec<i64> = ends.map(|width| width as i64).collect();
                let (ends, zero) = (self.list(&ends), self.number(node.dtype, 0.0)?);
                self.node("Pad", &[x, &ends, &zero], vec![])
            }
            (Op::Slice(spans), Op::Slice(others)) => self.slice(scope, id, (spans, others), &from, x)?,
            (Op::Flip(axes), _) => {
                let ends: Vec<[i64; 4]> =
                    axes.iter().map(|&axis| [-1, i64::MIN + 1, axis as i64, -1]).collect();
                self.spans(x, &ends)
            }
            (op, other) => return Err(differ(&scope.what(id), op.name(), other.name()).into()),
        })
    }

    fn slice(
        &mut self,
        scope: &ExportScope,
        id: NodeId,
        spans: (&[Span], &[Span]),
        from: &[Size],
        x: &str,
    ) -> Result<String> {
        let mut ends = vec![];
        for (axis, (a, b)) in spans.0.iter().zip(spans.1).enumerate() {
            let whole = |span: &Span, size: usize| *span == Span { start: 0, len: size, step: 1 };
            let operand = scope.a.node(id).operands[0];
            if whole(a, scope.a.shape(operand)[axis]) && whole(b, scope.b.shape(operand)[axis]) {
                continue;
            }
            if a != b || from[axis].fixed().is_none() {
                return Err(differ(&scope.what(id), format!("{a:?}"), format!("{b:?}")).into());
            }
            let end = a.start + a.len.saturating_sub(1) * a.step + usize::from(a.len > 0);
            ends.push([a.start as i64, end as i64, axis as i64, a.step as i64]);
        }
        Ok(if ends.is_empty() { x.to_string() } else { self.spans(x, &ends) })
    }

    /// Slices: start, end, axis and step of each.
    fn spans(&mut self, x: &str, ends: &[[i64; 4]]) -> String {
        let [starts, stops, axes, steps] =
            [0, 1, 2, 3].map(|n| self.list(&ends.iter().map(|end| end[n]).collect::<Vec<_>>()));
        self.node("Slice", &[x, &starts, &stops, &axes, &steps], vec![])
    }

    fn gather(&mut self, scope: &ExportScope, id: NodeId, axis: usize, names: &[&str]) -> Result<String> {
        let operands = &scope.a.node(id).operands;
        let (x, index) = (scope.sizes(operands[0])?, scope.sizes(operands[1])?);
        let along = AttributeProto::int("axis", axis as i64);
        let alone = |n: usize| n == axis || index[n] == Size::Fixed(1);
        if (0..index.len()).all(alone) {
            let places = self.reshape(names[1], &index[axis..=axis]);
            return Ok(self.node("Gather", &[names[0], &places], vec![along]));
        }
        let mut whole = x;
        whole[axis] = index[axis];
        let places =
            if index == whole { names[1].to_string() } else { self.expand(names[1], &index, &whole) };
        Ok(self.node("GatherElements", &[names[0], &places], vec![along]))
    }

    fn scatter(&mut self, scope: &ExportScope, id: NodeId, axis: usize, names: &[&str]) -> Result<String> {
        let operands = &scope.a.node(id).operands;
        let (source, index, to) = (scope.sizes(operands[0])?, scope.sizes(operands[1])?, scope.sizes(id)?);
        let places =
            if index == source { names[1].to_string() } else { self.expand(names[1], &index, &source) };
        let zero = self.number(scope.dtype(id), 0.0)?;
        let shape = self.shape(&to);
        let zeros = self.node("Expand", &[&zero, &shape], vec![]);
        let attributes =
            vec![AttributeProto::int("axis", axis as i64), AttributeProto::text("reduction", "add")];
        Ok(self.node("ScatterElements", &[&zeros, &places, names[0]], attributes))
    }

    fn order(&mut self, scope: &ExportScope, id: NodeId, largest: bool, x: &str) -> Result<String> {
        let sizes = scope.sizes(id)?;
        let last = sizes[sizes.len() - 1..].to_vec();
        let (count, name) = (self.shape(&last), self.fresh("topk"));
        let attributes = vec![
            AttributeProto::int("axis", -1),
            AttributeProto::int("largest", i64::from(largest)),
            AttributeProto::int("sorted", 1),
        ];
        let (values, places) = (format!("{name}_values"), format!("{name}_places"));
        let node = crate::proto::NodeProto::new("TopK", &[x, &count], &[&values, &places], attributes);
        self.nodes.push(node);
        self.cast(&places, DType::I32)
    }

    fn pack(
        &mut self,
        scope: &ExportScope,
        id: NodeId,
        offsets: &[usize],
        len: usize,
        names: &[&str],
    ) -> Result<String> {
        let zero = self.number(scope.dtype(id), 0.0)?;
        let (mut parts, mut end) = (vec![], 0);
        let gap = |writer: &mut Writer, parts: &mut Vec<String>, size: usize| {
            if size > 0 {
                let size = writer.list(&[size as i64]);
                parts.push(writer.node("Expand", &[&zero, &size], vec![]));
            }
        };
        for ((&offset, &operand), name) in offsets.iter().zip(&scope.a.node(id).operands).zip(names) {
            let size = scope.a.shape(operand).numel();
            gap(self, &mut parts, offset.checked_sub(end).ok_or_else(|| unwritten("pack"))?);
            parts.push(self.reshape(name, &[Size::Fixed(size)]));
            end = offset + size;
        }
        gap(self, &mut parts, len - end);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Ok(self.node("Concat", &parts, vec![AttributeProto::int("axis", 0)]))
    }
}

/// The error for an op without a rule.
fn unwritten(name: &str) -> farad_nn::Error {
    OnnxError::Export { what: "ONNX has no such op".into(), found: name.into() }.into()
}
