//! A model from a file: checked as it is read, so that what runs is whole.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use farad_nn::{Error, Result};

use crate::array::Array;
use crate::decode;
use crate::error::OnnxError;
use crate::kind::Kind;
use crate::proto::{GraphProto, Message, ModelProto, ValueInfoProto};
use crate::sort;

/// The oldest and the newest version of ONNX's own ops that are known.
const OPSETS: (i64, i64) = (7, 27);

/// What goes into a model or comes out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its element type; `None` if it is a list, or not said.
    pub kind: Option<Kind>,
    /// Its shape, if known; `None` is an axis of any size.
    pub shape: Option<Vec<Option<usize>>>,
}

/// A model of an ONNX file.
pub struct Model {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    metadata: Vec<(String, String)>,
    initializers: HashMap<String, Array>,
}

impl Model {
    /// Reads a model. Files with its tensors, if there are any, stand in the same folder.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(|source| Error::File { op: "onnx", path: path.into(), source })?;
        let folder =
            path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        Model::parse(&bytes, folder)
    }

    /// A model from the bytes of a file that needs no other.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        Model::parse(bytes, None)
    }

    /// A model from its message.
    pub fn from_proto(proto: &ModelProto) -> Result<Model> {
        Ok(Model::build(proto, None)?)
    }

    fn parse(bytes: &[u8], folder: Option<&Path>) -> Result<Model> {
        let proto = ModelProto::decode(bytes).map_err(OnnxError::from)?;
        Ok(Model::build(&proto, folder)?)
    }

    fn build(proto: &ModelProto, folder: Option<&Path>) -> std::result::Result<Model, OnnxError> {
        let graph = proto.graph.as_ref().ok_or(OnnxError::NotAModel { what: "it has no graph" })?;
        let own = proto.opset_import.iter().find(|set| set.domain.is_empty() || set.domain == "ai.onnx");
        let version = own
            .ok_or(OnnxError::NotAModel { what: "it does not say which version of ONNX's ops it uses" })?
            .version;
        if !(OPSETS.0..=OPSETS.1).contains(&version) {
            return Err(OnnxError::Opset { domain: "ai.onnx".to_string(), version, newest: OPSETS.1 });
        }
        let initializers = initializers(graph, folder)?;
        let mut known: HashSet<String> = initializers.keys().cloned().collect();
        known.extend(graph.input.iter().map(|value| value.name.clone()));
        let order = sort::order(&graph.node, &known)?;
        let made = order.iter().flat_map(|&place| graph.node[place].output.iter().cloned());
        known.extend(made);
        if let Some(missing) = graph.output.iter().find(|value| !known.contains(&value.name)) {
            return Err(OnnxError::NoValue { name: missing.name.clone(), place: "the outputs".to_string() });
        }
        let given = graph.input.iter().filter(|value| !initializers.contains_key(&value.name));
        Ok(Model {
            inputs: given.map(port).collect(),
            outputs: graph.output.iter().map(port).collect(),
            metadata: proto
                .metadata_props
                .iter()
                .map(|note| (note.key.clone(), note.value.clone()))
                .collect(),
            initializers,
        })
    }

    /// What goes in: inputs that the file has no tensor for.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// What comes out.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Notes of the file, by name.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// Shapes of the file's tensors, by name.
    pub fn initializer_shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.initializers.iter().map(|(name, array)| (name.as_str(), array.shape.as_slice()))
    }
}

fn initializers(
    graph: &GraphProto,
    folder: decode::Folder,
) -> std::result::Result<HashMap<String, Array>, OnnxError> {
    let mut all = HashMap::new();
    for tensor in &graph.initializer {
        if all.insert(tensor.name.clone(), decode::array(tensor, folder)?).is_some() {
            return Err(OnnxError::NameTwice { name: tensor.name.clone() });
        }
    }
    for sparse in &graph.sparse_initializer {
        let name = sparse.values.as_ref().map_or_else(String::new, |values| values.name.clone());
        if all.insert(name.clone(), decode::dense(sparse, folder)?).is_some() {
            return Err(OnnxError::NameTwice { name });
        }
    }
    Ok(all)
}

fn port(value: &ValueInfoProto) -> Port {
    let tensor = value.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
    let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
    let axis = |size: Option<i64>| size.and_then(|size| usize::try_from(size).ok());
    Port {
        name: value.name.clone(),
        kind: tensor.and_then(|tensor| Kind::of(tensor.elem_type)),
        shape: shape.map(|shape| shape.dim.iter().map(|dim| axis(dim.dim_value)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{NodeProto, TensorProto};

    fn small(nodes: Vec<NodeProto>) -> ModelProto {
        let ports = |name: &str| vec![ValueInfoProto::tensor(name, Kind::F32.number(), &[None, Some(2)])];
        let graph = GraphProto {
            node: nodes,
            initializer: vec![TensorProto::floats("w", &[2], &[1.0, 2.0])],
            input: ports("x"),
            output: ports("y"),
            ..Default::default()
        };
        ModelProto::new(graph, 21)
    }

    #[test]
    fn files_are_read_as_they_were_written() {
        let proto = small(vec![NodeProto::new("Add", &["x", "w"], &["y"], vec![])]);
        let bytes = proto.encode();
        assert_eq!(ModelProto::decode(&bytes).unwrap(), proto);
        let model = Model::from_bytes(&bytes).unwrap();
        assert_eq!(model.inputs()[0].shape, Some(vec![None, Some(2)]));
        assert_eq!(model.outputs()[0].name, "y");
        for cut in 0..bytes.len() {
            drop(Model::from_bytes(&bytes[..cut]));
        }
    }

    #[test]
    fn graphs_that_cannot_run_are_refused() {
        let error = |nodes| Model::from_proto(&small(nodes)).err().expect("refused").to_string();
        let ring = vec![
            NodeProto::new("Relu", &["z"], &["y"], vec![]),
            NodeProto::new("Relu", &["y"], &["z"], vec![]),
        ];
        assert_eq!(error(ring), "onnx: the graph has a cycle: through Relu `y`, Relu `z`");
        let lost = vec![NodeProto::new("Relu", &["nowhere"], &["y"], vec![])];
        assert_eq!(error(lost), "onnx: no such value: nowhere: wanted by Relu `y`");
        assert_eq!(error(vec![]), "onnx: no such value: y: wanted by the outputs");
        let twice = vec![
            NodeProto::new("Relu", &["x"], &["y"], vec![]),
            NodeProto::new("Relu", &["x"], &["y"], vec![]),
        ];
        assert_eq!(error(twice), "onnx: two values of one name: y");
    }
}
