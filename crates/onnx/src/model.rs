//! A model from a file: checked when it is read, a module of `nn` from then on.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use farad_nn::layers::{Buffer, Layer, Module, Visitor};
use farad_tensor::{Device, Parameter, Tensor};

use crate::array::Array;
use crate::decode;
use crate::error::{Error, OnnxError, Result};
use crate::graph::{Action, Builder, ModelGraph, opsets};
use crate::kind::Kind;
use crate::proto::{GraphProto, Message, ModelProto, TensorProto, ValueInfoProto};
use crate::value::{Limit, Value, shape_of};

/// The oldest and the newest supported version of ONNX's own opset.
pub const OPSETS: (i64, i64) = (7, 28);

/// An input or output of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its element type; `None` for a list, or if it is not given.
    pub kind: Option<Kind>,
    /// Its shape, if known; `None` for an axis of any size.
    pub shape: Option<Vec<Option<usize>>>,
}

impl Port {
    /// What a file says of a value.
    pub(crate) fn of(value: &ValueInfoProto) -> Port {
        let tensor = value.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
        let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
        let axis = |size: Option<i64>| size.and_then(|size| usize::try_from(size).ok());
        Port {
            name: value.name.clone(),
            kind: tensor.and_then(|tensor| Kind::of(tensor.elem_type)),
            shape: shape.map(|shape| shape.dim.iter().map(|dim| axis(dim.dim_value)).collect()),
        }
    }
}

/// A tensor of the file.
enum Initial {
    /// Floats with at least one axis: a parameter.
    Learned(Parameter),
    /// Floats that are stored but not learned: statistics of batch norms.
    Kept(Buffer),
    /// Everything else: constants of the graph.
    Constant(Value),
}

/// A model from an ONNX file: a [`Module`] whose parameters are the file's float tensors, under their names.
///
/// ```
/// use farad_nn::layers::Module;
/// use farad_onnx::{Model, proto::*};
/// use farad_tensor::{Device, Tensor};
///
/// let port = |name| ValueInfoProto::tensor(name, data_type::FLOAT, &[None, Some(2)]);
/// let graph = GraphProto {
///     node: vec![NodeProto::new("Mul", &["x", "w"], &["y"], vec![])],
///     initializer: vec![TensorProto::floats("w", &[2], &[2.0, 3.0])],
///     input: vec![port("x")],
///     output: vec![port("y")],
///     ..Default::default()
/// };
/// let model = Model::from_proto(&ModelProto::new(graph, 21))?;
/// assert_eq!(model.named_parameters()[0].0, "w");
/// let x = Tensor::from_vec(vec![1.0, 1.0], [1, 2], &Device::cpu());
/// let results = model.run(&[("x", &x)])?;
/// assert_eq!(results[0].0, "y");
/// assert_eq!(results[0].1.to_vec::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), farad_tensor::Error>(())
/// ```
pub struct Model {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    metadata: Vec<(String, String)>,
    initial: Vec<(String, Initial)>,
    graph: ModelGraph,
}

impl Model {
    /// Reads a model. External tensor files, if there are any, must be in the same folder. One error names all
    /// unsupported ops.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(|source| Error::File { op: "onnx", path: path.into(), source })?;
        let folder =
            path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        Model::parse(&bytes, folder)
    }

    /// A model from the bytes of a file without external data.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        Model::parse(bytes, None)
    }

    /// A model from its message.
    pub fn from_proto(proto: &ModelProto) -> Result<Model> {
        Model::build(proto, None)
    }

    fn parse(bytes: &[u8], folder: Option<&Path>) -> Result<Model> {
        let proto = ModelProto::decode(bytes).map_err(OnnxError::from)?;
        Model::build(&proto, folder)
    }

    fn build(proto: &ModelProto, folder: Option<&Path>) -> Result<Model> {
        let graph = proto.graph.as_ref().ok_or(OnnxError::NotAModel { what: "it has no graph" })?;
        let sets = opsets(&proto.opset_import);
        match sets.get("") {
            Some(version) if !(OPSETS.0..=OPSETS.1).contains(version) => {
                let domain = "ai.onnx".to_string();
                return Err(OnnxError::Opset { domain, version: *version, newest: OPSETS.1 }.into());
            }
            None if sets.is_empty() => {
                return Err(OnnxError::NotAModel { what: "it does not state its opset version" }.into());
            }
            _ => {}
        }
        let names = initializer_names(graph)?;
        let mut known: HashSet<String> = names.clone();
        known.extend(graph.input.iter().map(|value| value.name.clone()));
        let mut builder = Builder::new(&proto.functions, folder, sets);
        let built = builder.graph(graph, &known)?;
        if !builder.unsupported.is_empty() {
            return Err(OnnxError::Unsupported { ops: builder.unsupported }.into());
        }
        known.extend(graph.node.iter().flat_map(|node| node.output.iter().cloned()));
        if let Some(missing) = graph.output.iter().find(|value| !known.contains(&value.name)) {
            return Err(
                OnnxError::NoValue { name: missing.name.clone(), place: "the outputs".to_string() }.into()
            );
        }
        let initial = initial(graph, &built, folder)?;
        let given: Vec<Port> =
            graph.input.iter().filter(|value| !names.contains(&value.name)).map(Port::of).collect();
        let all =
            given.iter().map(|port| port.name.clone()).chain(initial.iter().map(|(name, _)| name.clone()));
        let all = all.collect();
        Ok(Model {
            inputs: given,
            outputs: graph.output.iter().map(Port::of).collect(),
            metadata: proto
                .metadata_props
                .iter()
                .map(|note| (note.key.clone(), note.value.clone()))
                .collect(),
            initial,
            graph: Builder::with_inputs(built, all),
        })
    }

    /// The inputs: those without a tensor in the file.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The outputs.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// The file's metadata: names and values.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// Runs the model: values by name in, values by name out, in the order of [`Model::outputs`]. Shapes are
    /// those of this call. A result whose element type no tensor dtype supports is an error; see
    /// [`Model::run_protos`].
    pub fn run(&self, inputs: &[(&str, &Tensor)]) -> Result<Vec<(String, Tensor)>> {
        let given = inputs.iter().map(|(name, tensor)| Ok((*name, Value::given(tensor)?)));
        let device = self.device(inputs.first().map(|(_, tensor)| *tensor));
        let results = self.run_values(given.collect::<Result<Vec<_>>>()?, &device)?;
        let named = self.outputs.iter().zip(results);
        named.map(|(port, value)| Ok((port.name.clone(), outside(&port.name, &value, &device)?))).collect()
    }

    /// As [`Model::run`], with tensors as messages: every element type is possible, on the host.
    pub fn run_protos(&self, inputs: &[TensorProto]) -> Result<Vec<TensorProto>> {
        let device = self.device(None);
        let mut given = Vec::new();
        for tensor in inputs {
            let value = Value::from(decode::array(tensor, None)?);
            given.push((tensor.name.as_str(), value.on(&device)?));
        }
        let results = self.run_values(given, &device)?;
        let named = self.outputs.iter().zip(results);
        named.map(|(port, value)| Ok(decode::proto(&port.name, &*value.host()?))).collect()
    }

    fn run_values(&self, mut given: Vec<(&str, Value)>, device: &Device) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.inputs.len() + self.initial.len());
        for port in &self.inputs {
            let Some(place) = given.iter().position(|(name, _)| *name == port.name) else {
                return Err(
                    OnnxError::Input { name: port.name.clone(), what: "it is missing".to_string() }.into()
                );
            };
            let (_, value) = given.swap_remove(place);
            let value = widened(port, value)?;
            check(port, &value)?;
            values.push(value);
        }
        // A tensor of the file may be overridden by an input.
        for (name, initial) in &self.initial {
            if let Some(place) = given.iter().position(|(own, _)| own == name) {
                values.push(given.swap_remove(place).1);
                continue;
            }
            values.push(match initial {
                Initial::Learned(parameter) => Value::of(parameter.value()),
                Initial::Kept(buffer) => Value::of(buffer.value()),
                Initial::Constant(value) => value.clone(),
            });
        }
        if let Some((name, _)) = given.first() {
            let known: Vec<&str> = self.inputs.iter().map(|port| port.name.as_str()).collect();
            let what = format!("the model has no such input: it has {}", known.join(", "));
            return Err(OnnxError::Input { name: name.to_string(), what }.into());
        }
        let given: usize = values.iter().filter_map(|value| value.len().ok()).sum();
        let _limit = Limit::for_model(given);
        self.graph.run(values, None, device)
    }

    /// The device of the parameters, or of an input, or the CPU.
    fn device(&self, input: Option<&Tensor>) -> Device {
        let own = self.initial.iter().find_map(|(_, initial)| match initial {
            Initial::Learned(parameter) => Some(parameter.value().device().clone()),
            Initial::Kept(buffer) => Some(buffer.value().device().clone()),
            Initial::Constant(_) => None,
        });
        own.or_else(|| input.map(|tensor| tensor.device().clone())).unwrap_or_else(Device::cpu)
    }

    /// The single output for the single input.
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let names =
            |ports: &[Port]| ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
        for (ports, what) in [(&self.inputs, "inputs"), (&self.outputs, "outputs")] {
            if ports.len() != 1 {
                return Err(OnnxError::NotOne { found: ports.len(), what, names: names(ports) }.into());
            }
        }
        let mut results = self.run(&[(&self.inputs[0].name, x)])?;
        Ok(results.remove(0).1)
    }
}

impl Module for Model {
    fn visit(&self, visitor: &mut dyn Visitor) {
        for (name, initial) in &self.initial {
            match initial {
                Initial::Learned(parameter) => visitor.child(name, parameter),
                Initial::Kept(buffer) => visitor.child(name, buffer),
                Initial::Constant(_) => {}
            }
        }
    }
}

/// For models of one input and one output. Panics where [`Model::apply`] returns an error.
impl Layer for Model {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        match self.apply(x) {
            Ok(y) => y,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A value as a tensor for the caller.
fn outside(name: &str, value: &Value, device: &Device) -> Result<Tensor> {
    let fail = |what: String| Error::from(OnnxError::Input { name: name.to_string(), what });
    match value {
        Value::Device(tensor, kind) if kind.dtype() == Some(tensor.dtype()) => Ok(tensor.clone()),
        Value::List(_) | Value::Nothing => Err(fail("the result is not a tensor".to_string())),
        other => {
            let array = other.host()?;
            let shape = shape_of(&array.shape)?;
            macro_rules! integers {
                ($type:ty) => {{
                    let data: Vec<$type> = array.to_ints()?.iter().map(|&x| x as $type).collect();
                    Tensor::try_from_vec(&data, shape, &Device::cpu())
                }};
            }
            match array.kind {
                Kind::I64 => integers!(i64),
                Kind::U64 => integers!(u64),
                Kind::I8 => integers!(i8),
                Kind::I16 => integers!(i16),
                Kind::U8 => integers!(u8),
                Kind::U16 => integers!(u16),
                Kind::F64 => Ok(Tensor::from_f64(&array.to_floats()?, shape, &Device::cpu())),
                Kind::BF16 => {
                    let data: Vec<half::bf16> =
                        array.to_floats()?.iter().map(|&x| half::bf16::from_f64(x)).collect();
                    Tensor::try_from_vec(&data, shape, device)
                }
                kind if kind.dtype().is_some() => array.upload(device),
                kind => Err(fail(format!("tensors do not support elements of {kind}"))),
            }
        }
    }
}

/// Widens integers of 8 or 32 bits if the model expects wider ones; programs store tokens in these.
fn widened(port: &Port, value: Value) -> Result<Value> {
    match (port.kind, value) {
        (Some(wanted @ Kind::I64), Value::Device(tensor, Kind::I32)) => Ok(Value::Device(tensor, wanted)),
        (Some(wanted @ (Kind::I64 | Kind::I32)), Value::Host(array))
            if matches!(array.kind, Kind::U8 | Kind::U16 | Kind::U32 | Kind::I8 | Kind::I16)
                && wanted.bits() > array.kind.bits() =>
        {
            Value::Host(array).cast(wanted, true)
        }
        (_, value) => Ok(value),
    }
}

/// Checks that an input has the kind and shape that the model declares.
fn check(port: &Port, value: &Value) -> Result<()> {
    let (kind, shape) = match value {
        Value::Host(_) | Value::Device(..) => (value.kind()?, value.shape()?),
        _ => return Ok(()),
    };
    let fail = |what: String| Err(OnnxError::Input { name: port.name.clone(), what }.into());
    if let Some(wanted) = port.kind
        && wanted != kind
    {
        return fail(format!("its element type differs ({kind} vs {wanted})"));
    }
    if let Some(wanted) = &port.shape {
        let fits = |(found, wanted): (&usize, &Option<usize>)| wanted.is_none_or(|wanted| wanted == *found);
        if wanted.len() != shape.len() || !shape.iter().zip(wanted).all(fits) {
            let sizes: Vec<String> =
                wanted.iter().map(|size| size.map_or("any".to_string(), |size| size.to_string())).collect();
            return fail(format!("its shape does not match ({shape:?} vs [{}])", sizes.join(", ")));
        }
    }
    Ok(())
}

fn initializer_names(graph: &GraphProto) -> Result<HashSet<String>> {
    let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    let mut names = HashSet::new();
    for tensor in graph.initializer.iter().chain(sparse) {
        if !names.insert(tensor.name.clone()) {
            return Err(OnnxError::NameTwice { name: tensor.name.clone() }.into());
        }
    }
    Ok(names)
}

/// Every tensor of the file with its role: parameter, buffer or constant.
fn initial(graph: &GraphProto, built: &ModelGraph, folder: decode::Folder) -> Result<Vec<(String, Initial)>> {
    // How each name is used: as something that is never learned (with a buffer or not), or otherwise.
    let mut uses: HashMap<&str, (bool, bool)> = HashMap::new();
    for node in &built.nodes {
        for (place, name) in node.inputs.iter().enumerate() {
            let (fixed, kept) = match &node.action {
                Action::Rule(row) => (
                    row.fixed.contains(&place),
                    row.fixed.contains(&place) && row.name == "BatchNormalization",
                ),
                Action::Body(_) => (false, false),
            };
            let so_far = uses.entry(name).or_insert((true, true));
            *so_far = (so_far.0 && fixed, so_far.1 && kept);
        }
    }
    let device = Device::cpu();
    let mut all = Vec::new();
    for tensor in &graph.initializer {
        let (kind, shape, _) = decode::head(tensor)?;
        let (fixed, kept) = uses.get(tensor.name.as_str()).copied().unwrap_or((true, false));
        let learned = kind.is_learned() && !shape.is_empty() && (!fixed || kept);
        let value = if learned { on_device(tensor, kind, &shape, folder, &device)? } else { None };
        let initial = match value {
            Some(tensor) if kept => Initial::Kept(Buffer::new(tensor)),
            Some(tensor) => Initial::Learned(Parameter::new(tensor)),
            None => Initial::Constant(decode::array(tensor, folder)?.into()),
        };
        all.push((tensor.name.clone(), initial));
    }
    for sparse in &graph.sparse_initializer {
        let name = sparse.values.as_ref().map_or_else(String::new, |values| values.name.clone());
        all.push((name, Initial::Constant(decode::dense(sparse, folder)?.into())));
    }
    Ok(all)
}

fn on_device(
    tensor: &TensorProto,
    kind: Kind,
    shape: &[usize],
    folder: decode::Folder,
    device: &Device,
) -> Result<Option<Tensor>> {
    let Some(dtype) = kind.dtype() else { return Ok(None) };
    let sizes = shape_of(shape)?;
    // The bytes in the file have the layout of memory.
    if let Some(bytes) = decode::bytes(tensor, folder)? {
        return Ok(Some(Tensor::from_bytes(&bytes, sizes, dtype, device)?));
    }
    let array: Array = decode::array(tensor, folder)?;
    Ok(Some(array.upload_as(dtype, device)?))
}
