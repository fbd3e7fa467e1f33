//! The nodes and constants of a file under construction.

use std::collections::HashMap;

use farad_ir::{Graph, NodeId, Op, Scalar};
use farad_nn::Result;
use farad_tensor::engine::Traced;
use farad_tensor::{DType, Tensor};

use super::sizes::{Size, differ};
use crate::error::OnnxError;
use crate::proto::{AttributeProto, NodeProto, TensorProto, data_type};

/// A graph in both recordings, and the names of its values in the file.
pub struct ExportScope<'g> {
    pub a: &'g Graph,
    pub b: &'g Graph,
    names: Vec<String>,
}

impl<'g> ExportScope<'g> {
    /// Checks that both graphs are the same, apart from sizes.
    pub fn new(a: &'g Graph, b: &'g Graph) -> std::result::Result<ExportScope<'g>, OnnxError> {
        if a.nodes.len() != b.nodes.len() {
            return Err(differ("the graph", a.nodes.len(), b.nodes.len()));
        }
        for (a, b) in a.nodes.iter().zip(&b.nodes) {
            if a.operands != b.operands
                || a.dtype != b.dtype
                || std::mem::discriminant(&a.op) != std::mem::discriminant(&b.op)
            {
                return Err(differ("the graph", a.op.name(), b.op.name()));
            }
        }
        Ok(ExportScope { a, b, names: vec![String::new(); a.nodes.len()] })
    }

    /// The name of a value in the file.
    pub fn name(&self, id: NodeId) -> &str {
        &self.names[id.index()]
    }

    pub fn set_name(&mut self, id: NodeId, name: impl Into<String>) {
        self.names[id.index()] = name.into();
    }

    /// The sizes of a value.
    pub fn sizes(&self, id: NodeId) -> std::result::Result<Vec<Size>, OnnxError> {
        Size::all(&self.what(id), self.a.shape(id), self.b.shape(id))
    }

    pub fn dtype(&self, id: NodeId) -> DType {
        self.a.dtype(id)
    }

    /// A node in messages: its op and the line that recorded it.
    pub fn what(&self, id: NodeId) -> String {
        let node = self.a.node(id);
        let place =
            node.location.map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
        node.op.name() + &place
    }

    /// The source of a broadcast value: broadcasting is implicit in files, and so are leading axes of size 1.
    pub fn bare(&self, mut id: NodeId) -> NodeId {
        loop {
            let node = self.a.node(id);
            id = match node.op {
                Op::Expand(_) => node.operands[0],
                Op::Reshape(_) if self.is_padded(id) => node.operands[0],
                _ => return id,
            };
        }
    }

    /// Whether a reshape only adds leading axes of size 1.
    fn is_padded(&self, id: NodeId) -> bool {
        let (to, from) = (self.a.shape(id), self.a.shape(self.a.node(id).operands[0]));
        let more = to.rank().checked_sub(from.rank());
        more.is_some_and(|more| to[more..] == from[..] && to[..more].iter().all(|&size| size == 1))
    }

    /// The source of a chain of reshapes.
    fn unshaped(&self, mut id: NodeId) -> NodeId {
        while let Op::Reshape(_) = self.a.node(id).op {
            id = self.a.node(id).operands[0];
        }
        id
    }

    /// The values that a node reads. For ops that broadcast, these are the sources of broadcast operands, as
    /// long as the result keeps its shape.
    pub fn reads(&self, id: NodeId) -> Vec<NodeId> {
        let node = self.a.node(id);
        match node.op {
            Op::Reshape(_) => return vec![self.unshaped(id)],
            Op::Binary(_) | Op::Select => {}
            _ => return node.operands.clone(),
        }
        if let Some((_, parts)) = self.concatenation(id) {
            return parts;
        }
        if let Some(pair) = self.larger(id) {
            return pair.to_vec();
        }
        let mut reads: Vec<NodeId> = node.operands.iter().map(|&operand| self.bare(operand)).collect();
        let whole = |reads: &[NodeId]| {
            let full = |axis: usize| {
                let of = |&read: &NodeId| {
                    let shape = self.a.shape(read);
                    shape.rank() == node.shape.rank() && shape[axis] == node.shape[axis]
                };
                reads.iter().any(of)
            };
            (0..node.shape.rank()).all(full)
        };
        if !whole(&reads) {
            reads[0] = node.operands[0];
        }
        reads
    }
}

/// The nodes and constants of a file.
pub struct Writer {
    /// Nodes of the current graph.
    pub nodes: Vec<NodeProto>,
    /// Nodes that come before all others: those that compute the batch size.
    pub prelude: Vec<NodeProto>,
    /// Parameters and constants; loop bodies see them, too.
    pub initializers: Vec<TensorProto>,
    input: String,
    constants: HashMap<(i64, Vec<usize>, Vec<u8>), String>,
    batches: HashMap<usize, String>,
    count: usize,
}

impl Writer {
    /// For a graph with one input of this name.
    pub fn new(input: &str) -> Writer {
        Writer {
            nodes: vec![],
            prelude: vec![],
            initializers: vec![],
            input: input.into(),
            constants: HashMap::new(),
            batches: HashMap::new(),
            count: 0,
        }
    }

    /// Names the leaves: the first is the model's input, those of the state have their names, others are
    /// constants.
    pub fn leaves(
        &mut self,
        scope: &mut ExportScope,
        a: &Traced,
        b: &Traced,
        state: &[(String, Tensor)],
        outputs: &[NodeId],
    ) -> Result<()> {
        let used = needed(scope, outputs);
        for id in scope.a.ids() {
            let Op::Input(n) = scope.a.node(id).op else { continue };
            if n == 0 {
                let (input, dtype) = (self.input.clone(), scope.dtype(id));
                let name = if dtype.is_float() { input } else { self.cast(&input, dtype)? };
                scope.set_name(id, name);
                continue;
            }
            if !used[id.index()] {
                continue;
            }
            let name = state.get(n - 1).map_or_else(|| self.fresh("constant"), |(name, _)| name.clone());
            let tensor = self.tensor(&name, &a.leaves[n])?;
            if n > state.len() && self.tensor(&name, &b.leaves[n])? != tensor {
                return Err(differ("a constant", a.leaves[n].shape(), b.leaves[n].shape()).into());
            }
            scope.set_name(id, name);
            self.initializers.push(tensor);
        }
        Ok(())
    }

    fn tensor(&self, name: &str, tensor: &Tensor) -> Result<TensorProto> {
        let (shape, kind) = (tensor.shape(), element(tensor.dtype())?);
        let bytes = match tensor.dtype() {
            DType::U32 => tensor
                .to_vec::<u32>()?
                .into_iter()
                .flat_map(|number| i64::from(number).to_le_bytes())
                .collect(),
            DType::Bool => tensor.to_vec::<bool>()?.into_iter().map(u8::from).collect(),
            _ => tensor.read()?.wait()?,
        };
        Ok(TensorProto::raw(name, &shape, kind, bytes))
    }

    /// Writes the nodes that the outputs need.
    pub fn graph(&mut self, scope: &mut ExportScope, outputs: &[NodeId]) -> Result<()> {
        let needed = needed(scope, outputs);
        // All at once, and before anything that depends on them, because random numbers differ between
        // recordings.
        let foreign = |id: &NodeId| {
            needed[id.index()]
                && matches!(scope.a.node(*id).op, Op::Random(_) | Op::Custom(_) | Op::Parameter(_))
        };
        let foreign: Vec<String> = scope.a.ids().filter(foreign).map(|id| scope.what(id)).collect();
        if !foreign.is_empty() {
            let what = "ONNX has no such op".into();
            return Err(OnnxError::Export { what, found: foreign.join(", ") }.into());
        }
        for id in scope.a.ids().filter(|id| needed[id.index()]) {
            if scope.name(id).is_empty() {
                let name = self.rule(scope, id)?;
                scope.set_name(id, name);
            }
        }
        Ok(())
    }

    /// A new name that starts with `word`.
    pub fn fresh(&mut self, word: &str) -> String {
        self.count += 1;
        format!("{word}_{}", self.count)
    }

    /// Adds a node with one result; returns its name.
    pub fn node(&mut self, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> String {
        let name = self.fresh(&op.to_lowercase());
        self.nodes.push(NodeProto::new(op, inputs, &[&name], attributes));
        name
    }

    /// Casts to another element type.
    pub fn cast(&mut self, value: &str, dtype: DType) -> Result<String> {
        let to = AttributeProto::int("to", element(dtype)?);
        Ok(self.node("Cast", &[value], vec![to]))
    }

    /// Adds a constant; equal constants are shared.
    pub fn constant(&mut self, kind: i64, shape: &[usize], bytes: Vec<u8>) -> String {
        let key = (kind, shape.to_vec(), bytes);
        if let Some(name) = self.constants.get(&key) {
            return name.clone();
        }
        let name = self.fresh("constant");
        self.initializers.push(TensorProto::raw(&name, shape, kind, key.2.clone()));
        self.constants.insert(key, name.clone());
        name
    }

    /// Integers as a constant, for sizes, axes and positions.
    pub fn ints(&mut self, shape: &[usize], numbers: &[i64]) -> String {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.constant(data_type::INT64, shape, bytes)
    }

    /// A list of integers as a constant.
    pub fn list(&mut self, numbers: &[i64]) -> String {
        self.ints(&[numbers.len()], numbers)
    }

    /// A number of a value's type as a constant.
    pub fn number(&mut self, dtype: DType, value: f64) -> Result<String> {
        self.scalar(Scalar::of(dtype, value))
    }

    /// A number as a constant.
    pub fn scalar(&mut self, scalar: Scalar) -> Result<String> {
        let kind = element(scalar.dtype)?;
        let bytes = match scalar.dtype {
            DType::F32 => (scalar.as_f64() as f32).to_le_bytes().to_vec(),
            DType::F64 => scalar.as_f64().to_le_bytes().to_vec(),
            DType::F16 => half::f16::from_f64(scalar.as_f64()).to_le_bytes().to_vec(),
            DType::BF16 => half::bf16::from_f64(scalar.as_f64()).to_le_bytes().to_vec(),
            DType::I32 => (scalar.as_i64() as i32).to_le_bytes().to_vec(),
            DType::Bool => vec![u8::from(scalar.as_i64() != 0)],
            DType::U8 => vec![scalar.as_i64() as u8],
            _ => scalar.as_i64().to_le_bytes().to_vec(),
        };
        Ok(self.constant(kind, &[], bytes))
    }

    /// The batch size times a number, as a list of one element.
    fn batch(&mut self, times: usize) -> String {
        if let Some(name) = self.batches.get(&times) {
            return name.clone();
        }
        let name = format!("batch_times_{times}");
        let node = if times == 1 {
            let ends = vec![AttributeProto::int("start", 0), AttributeProto::int("end", 1)];
            NodeProto::new("Shape", &[&self.input], &[&name], ends)
        } else {
            let (one, times) = (self.batch(1), self.list(&[times as i64]));
            NodeProto::new("Mul", &[&one, &times], &[&name], vec![])
        };
        self.prelude.push(node);
        self.batches.insert(times, name.clone());
        name
    }

    /// Sizes as a list: a constant, or assembled from the batch size.
    pub fn shape(&mut self, sizes: &[Size]) -> String {
        if let Some(fixed) = sizes.iter().map(|size| Some(size.fixed()? as i64)).collect::<Option<Vec<i64>>>()
        {
            return self.list(&fixed);
        }
        let parts: Vec<String> = sizes
            .iter()
            .map(|size| match size {
                Size::Fixed(size) => self.list(&[*size as i64]),
                Size::Batch(times) => self.batch(*times),
            })
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.node("Concat", &parts, vec![AttributeProto::int("axis", 0)])
    }

    /// A value in another shape; an axis that depends on the batch is inferred (-1) where that is enough.
    pub fn reshape(&mut self, value: &str, sizes: &[Size]) -> String {
        let free = sizes.iter().filter(|size| size.fixed().is_none()).count();
        let shape = match free {
            0 | 1 => {
                let sizes: Vec<i64> =
                    sizes.iter().map(|size| size.fixed().map_or(-1, |size| size as i64)).collect();
                self.list(&sizes)
            }
            _ => self.shape(sizes),
        };
        self.node("Reshape", &[value, &shape], vec![])
    }

    /// A value with its axes in another order.
    pub fn permute(&mut self, value: &str, order: &[usize]) -> String {
        if order.is_sorted() {
            return value.into();
        }
        let order: Vec<i64> = order.iter().map(|&axis| axis as i64).collect();
        self.node("Transpose", &[value], vec![AttributeProto::ints("perm", &order)])
    }

    /// A value broadcast to larger sizes.
    pub fn expand(&mut self, value: &str, from: &[Size], to: &[Size]) -> String {
        // A size of 1 leaves an axis unchanged.
        let wanted: Vec<Size> =
            from.iter().zip(to).map(|(from, to)| if from == to { Size::Fixed(1) } else { *to }).collect();
        let shape = self.shape(&wanted);
        self.node("Expand", &[value, &shape], vec![])
    }
}

/// Which nodes the outputs need.
fn needed(scope: &ExportScope, outputs: &[NodeId]) -> Vec<bool> {
    let mut needed = vec![false; scope.a.nodes.len()];
    outputs.iter().for_each(|output| needed[output.index()] = true);
    for id in scope.a.ids().rev() {
        if needed[id.index()] {
            scope.reads(id).into_iter().for_each(|read| needed[read.index()] = true);
        }
    }
    needed
}

/// The element type in the file. Unsigned integers become signed 64-bit ones, because runtimes support few ops
/// on unsigned ones.
pub fn element(dtype: DType) -> std::result::Result<i64, OnnxError> {
    Ok(match dtype {
        DType::F32 => data_type::FLOAT,
        DType::F16 => data_type::FLOAT16,
        DType::BF16 => data_type::BFLOAT16,
        DType::F64 => data_type::DOUBLE,
        DType::I32 => data_type::INT32,
        DType::U32 | DType::I64 => data_type::INT64,
        DType::U8 => data_type::UINT8,
        DType::Bool => data_type::BOOL,
        #[allow(unreachable_patterns)] // new types need a row here before they can be exported
        other => return Err(OnnxError::Export { what: "an element type".into(), found: other.to_string() }),
    })
}
