//! A graph that can run: nodes in order, each with its rule or with a function body.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use farad_tensor::Device;

use crate::call::{Attribute, Attributes, Call};
use crate::decode::{self, Folder};
use crate::error::{Error, OnnxError, Result, UnsupportedOp};
use crate::model::Port;
use crate::ops::{self, Row};
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, attribute_type,
};
use crate::refuse;
use crate::sort;
use crate::value::Value;

/// The most nodes of a model, with its functions inlined.
const MOST_NODES: usize = 1 << 20;

/// Nodes between inputs and outputs.
pub struct ModelGraph {
    inputs: Vec<String>,
    outputs: Vec<String>,
    constants: Vec<(String, Value)>,
    /// What the file says of the outputs.
    pub results: Vec<Port>,
    /// In an order in which they can run.
    pub nodes: Vec<ModelNode>,
}

/// One op, ready to run.
pub struct ModelNode {
    title: String,
    /// Names of operands; empty for a missing one.
    pub inputs: Vec<String>,
    outputs: Vec<String>,
    attributes: Attributes,
    version: i64,
    /// What it does.
    pub action: Action,
}

/// What a node does.
pub enum Action {
    /// A rule of the table.
    Rule(&'static Row),
    /// The body of a function.
    Body(ModelGraph),
}

/// Values by name, and the enclosing scope.
#[derive(Default)]
pub struct Scope<'a> {
    values: HashMap<&'a str, Value>,
    around: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    fn find(&self, name: &str) -> Option<&Value> {
        self.values.get(name).or_else(|| self.around.and_then(|around| around.find(name)))
    }
}

impl ModelGraph {
    /// Runs with one value per input.
    pub fn run(&self, values: Vec<Value>, around: Option<&Scope>, device: &Device) -> Result<Vec<Value>> {
        if values.len() != self.inputs.len() {
            refuse!("a graph takes {} values ({} given)", self.inputs.len(), values.len());
        }
        let mut scope = Scope { values: HashMap::new(), around };
        for (name, value) in &self.constants {
            scope.values.insert(name, value.clone());
        }
        for (name, value) in self.inputs.iter().zip(values) {
            scope.values.insert(name, value);
        }
        for node in &self.nodes {
            let results = node.run(&scope, device)?;
            for (name, value) in node.outputs.iter().zip(results) {
                if !name.is_empty() {
                    scope.values.insert(name, value);
                }
            }
        }
        let find = |name: &String| match scope.find(name) {
            Some(value) => Ok(value.clone()),
            None => Err(OnnxError::NoValue { name: name.clone(), place: "the outputs".to_string() }.into()),
        };
        self.outputs.iter().map(find).collect()
    }
}

impl ModelNode {
    fn run(&self, scope: &Scope, device: &Device) -> Result<Vec<Value>> {
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for name in &self.inputs {
            match scope.find(name) {
                _ if name.is_empty() => inputs.push(None),
                Some(Value::Nothing) => inputs.push(None),
                Some(value) => inputs.push(Some(value.clone())),
                None => {
                    return Err(OnnxError::NoValue { name: name.clone(), place: self.title.clone() }.into());
                }
            }
        }
        let results = match &self.action {
            Action::Rule(row) => {
                let wanted = self.outputs.iter().map(|name| !name.is_empty()).collect();
                let (attributes, version) = (&self.attributes, self.version);
                (row.rule)(&Call { row, inputs, wanted, attributes, version, device, scope })
            }
            Action::Body(graph) => {
                inputs.resize(graph.inputs.len(), None);
                let values = inputs.into_iter().map(|value| value.unwrap_or(Value::Nothing)).collect();
                graph.run(values, None, device)
            }
        };
        let results = results.map_err(|error| self.told(error))?;
        if results.len() < self.outputs.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1) {
            let what = format!(
                "more results are used than the op has ({} vs {})",
                self.outputs.len(),
                results.len()
            );
            return Err(OnnxError::Node { node: self.title.clone(), what }.into());
        }
        Ok(results)
    }

    /// Adds the node's name to an error that has none yet.
    fn told(&self, error: Error) -> Error {
        match error.part::<OnnxError>() {
            Some(OnnxError::Refused { what }) => {
                OnnxError::Node { node: self.title.clone(), what: what.clone() }.into()
            }
            _ => error,
        }
    }
}

/// Opset versions by domain.
type Opsets = HashMap<String, i64>;

fn set_name(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// Opset versions by domain; ONNX's own must be present.
pub fn opsets(imports: &[OperatorSetIdProto]) -> Opsets {
    imports.iter().map(|set| (set_name(&set.domain).to_string(), set.version)).collect()
}

/// Builds graphs from messages, and collects what is unsupported.
pub struct Builder<'a> {
    functions: &'a [FunctionProto],
    folder: Folder<'a>,
    opsets: Opsets,
    nodes: usize,
    /// Ops without a rule, with the nodes that use them.
    pub unsupported: Vec<UnsupportedOp>,
}

type Built<T> = std::result::Result<T, OnnxError>;

impl<'a> Builder<'a> {
    /// For a model with these functions.
    pub fn new(functions: &'a [FunctionProto], folder: Folder<'a>, opsets: Opsets) -> Builder<'a> {
        Builder { functions, folder, opsets, nodes: 0, unsupported: Vec::new() }
    }

    /// A graph; `constants` are those that are already decoded.
    pub fn graph(&mut self, graph: &GraphProto, known: &HashSet<String>) -> Built<ModelGraph> {
        let opsets = self.opsets.clone();
        let order = sort::order(&graph.node, known)?;
        let nodes = self.nodes(order.iter().map(|&place| &graph.node[place]), &opsets, None, 0, known)?;
        Ok(ModelGraph {
            inputs: Vec::new(),
            outputs: graph.output.iter().map(|value| value.name.clone()).collect(),
            constants: Vec::new(),
            results: graph.output.iter().map(Port::of).collect(),
            nodes,
        })
    }

    /// The same graph with these inputs.
    pub fn with_inputs(mut graph: ModelGraph, inputs: Vec<String>) -> ModelGraph {
        graph.inputs = inputs;
        graph
    }

    /// A subgraph of a node.
    fn inner(
        &mut self,
        graph: &GraphProto,
        opsets: &Opsets,
        given: Option<&Attributes>,
        depth: usize,
        around: &HashSet<String>,
    ) -> Built<ModelGraph> {
        if depth > sort::DEEPEST {
            return Err(OnnxError::TooDeep { name: graph.name.clone(), found: depth, most: sort::DEEPEST });
        }
        let mut constants = Vec::new();
        for tensor in &graph.initializer {
            constants.push((tensor.name.clone(), Value::from(decode::array(tensor, self.folder)?)));
        }
        let inputs: Vec<String> = graph.input.iter().map(|value| value.name.clone()).collect();
        let made: HashSet<&String> = graph.node.iter().flat_map(|node| &node.output).collect();
        // A name defined inside shadows one from outside.
        let mut known: HashSet<String> = around.iter().filter(|name| !made.contains(name)).cloned().collect();
        known.extend(inputs.iter().cloned());
        known.extend(constants.iter().map(|(name, _)| name.clone()));
        let order = sort::order(&graph.node, &known)?;
        let nodes = order.iter().map(|&place| &graph.node[place]);
        let nodes = self.nodes(nodes, opsets, given, depth, &known)?;
        let outputs = graph.output.iter().map(|value| value.name.clone()).collect();
        let results = graph.output.iter().map(Port::of).collect();
        Ok(ModelGraph { inputs, outputs, constants, results, nodes })
    }

    fn nodes<'n>(
        &mut self,
        nodes: impl Iterator<Item = &'n NodeProto>,
        opsets: &Opsets,
        given: Option<&Attributes>,
        depth: usize,
        known: &HashSet<String>,
    ) -> Built<Vec<ModelNode>> {
        let nodes: Vec<&NodeProto> = nodes.collect();
        let mut around = known.clone();
        around.extend(nodes.iter().flat_map(|node| node.output.iter().cloned()));
        nodes.into_iter().map(|node| self.node(node, opsets, given, depth, &around)).collect()
    }

    fn node(
        &mut self,
        node: &NodeProto,
        opsets: &Opsets,
        given: Option<&Attributes>,
        depth: usize,
        around: &HashSet<String>,
    ) -> Built<ModelNode> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(OnnxError::TooManyNodes { found: self.nodes, most: MOST_NODES });
        }
        let title = sort::title(node);
        let mut attributes = Attributes::new();
        for attribute in &node.attribute {
            if let Some(value) = self.attribute(attribute, opsets, given, depth, around, &title)? {
                attributes.insert(attribute.name.clone(), value);
            }
        }
        let domain = set_name(&node.domain);
        let version = opsets.get(domain).copied().unwrap_or(if domain.is_empty() { 0 } else { 1 });
        let action = match self.functions.iter().find(|function| is_called(function, node)) {
            Some(function) => Action::Body(self.body(function, &attributes, depth + 1)?),
            None => match ops::find(domain, &node.op_type, version) {
                Some(row) => {
                    row.check(node, &attributes)
                        .map_err(|what| OnnxError::Node { node: title.clone(), what })?;
                    Action::Rule(row)
                }
                None => {
                    self.missing(domain, node, version, &title);
                    Action::Rule(&ops::UNKNOWN)
                }
            },
        };
        Ok(ModelNode {
            title,
            inputs: node.input.clone(),
            outputs: node.output.clone(),
            attributes,
            version,
            action,
        })
    }

    fn missing(&mut self, domain: &str, node: &NodeProto, version: i64, title: &str) {
        let op = if domain.is_empty() { node.op_type.clone() } else { format!("{domain}.{}", node.op_type) };
        match self.unsupported.iter_mut().find(|row| row.op == op && row.version == version) {
            Some(row) => row.nodes.push(title.to_string()),
            None => self.unsupported.push(UnsupportedOp { op, version, nodes: vec![title.to_string()] }),
        }
    }

    fn body(&mut self, function: &FunctionProto, given: &Attributes, depth: usize) -> Built<ModelGraph> {
        if depth > sort::DEEPEST {
            return Err(OnnxError::TooDeep {
                name: function.name.clone(),
                found: depth,
                most: sort::DEEPEST,
            });
        }
        let own = opsets(&function.opset_import);
        let known: HashSet<String> = function.input.iter().cloned().collect();
        let mut attributes = given.clone();
        for attribute in &function.attribute_proto {
            if !attributes.contains_key(&attribute.name)
                && let Some(value) = self.attribute(attribute, &own, None, depth, &known, &function.name)?
            {
                attributes.insert(attribute.name.clone(), value);
            }
        }
        let order = sort::order(&function.node, &known)?;
        let nodes = order.iter().map(|&place| &function.node[place]);
        let nodes = self.nodes(nodes, &own, Some(&attributes), depth, &known)?;
        Ok(ModelGraph {
            inputs: function.input.clone(),
            outputs: function.output.clone(),
            constants: Vec::new(),
            results: Vec::new(),
            nodes,
        })
    }

    fn attribute(
        &mut self,
        attribute: &AttributeProto,
        opsets: &Opsets,
        given: Option<&Attributes>,
        depth: usize,
        around: &HashSet<String>,
        title: &str,
    ) -> Built<Option<Attribute>> {
        if !attribute.ref_attr_name.is_empty() {
            return Ok(given.and_then(|given| given.get(&attribute.ref_attr_name)).cloned());
        }
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        Ok(Some(match attribute.r#type {
            attribute_type::FLOAT => Attribute::Float(f64::from(attribute.f.unwrap_or(0.0))),
            attribute_type::INT => Attribute::Int(attribute.i.unwrap_or(0)),
            attribute_type::STRING => Attribute::Text(attribute.s.as_ref().map(text).unwrap_or_default()),
            attribute_type::FLOATS => {
                Attribute::Floats(attribute.floats.iter().map(|&x| f64::from(x)).collect())
            }
            attribute_type::INTS => Attribute::Ints(attribute.ints.clone()),
            attribute_type::STRINGS => Attribute::Texts(attribute.strings.iter().map(text).collect()),
            kind => {
                let lost = |what: &str| OnnxError::Node {
                    node: title.to_string(),
                    what: format!("the attribute {}: {what}", attribute.name),
                };
                match (kind, &attribute.t, &attribute.g, &attribute.sparse_tensor) {
                    (attribute_type::TENSOR, Some(tensor), _, _) => {
                        Attribute::Tensor(decode::array(tensor, self.folder)?.into())
                    }
                    (attribute_type::GRAPH, _, Some(graph), _) => {
                        Attribute::Graph(Arc::new(self.inner(graph, opsets, given, depth + 1, around)?))
                    }
                    (attribute_type::SPARSE_TENSOR, _, _, Some(sparse)) => {
                        Attribute::Tensor(decode::dense(sparse, self.folder)?.into())
                    }
                    _ => return Err(lost(&format!("no value of type {kind}"))),
                }
            }
        }))
    }
}

fn is_called(function: &FunctionProto, node: &NodeProto) -> bool {
    function.name == node.op_type
        && set_name(&function.domain) == set_name(&node.domain)
        && function.overload == node.overload
}
