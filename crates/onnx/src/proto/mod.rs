//! The messages of an ONNX file, as structs with hand-written encoding; protoc is not needed.
//!
//! Field names and numbers are those of `onnx.proto`; fields that Farad does not use are left out, and unknown
//! fields are skipped when a file is read. Start at [`ModelProto`] with [`Message::decode`] and
//! [`Message::encode`].

mod wire;

use wire::messages;
pub use wire::{DEEPEST, Message, WireError};

messages! {
    /// A whole file.
    pub struct ModelProto {
        /// The version of the format.
        1 ir_version: i64,
        /// The name of the program that wrote it.
        2 producer_name: String,
        /// The version of that program.
        3 producer_version: String,
        /// The model's own namespace.
        4 domain: String,
        /// The model's own version.
        5 model_version: i64,
        /// A description.
        6 doc_string: String,
        /// What it computes.
        7 graph: Option<GraphProto>,
        /// The opset versions that it uses.
        8 opset_import: Vec<OperatorSetIdProto>,
        /// Metadata.
        14 metadata_props: Vec<StringStringEntryProto>,
        /// Functions that nodes call like ops.
        25 functions: Vec<FunctionProto>,
    }

    /// Nodes between inputs and outputs.
    pub struct GraphProto {
        /// The ops, in topological order.
        1 node: Vec<NodeProto>,
        /// The graph's name.
        2 name: String,
        /// Constants and learned tensors.
        5 initializer: Vec<TensorProto>,
        /// A description.
        10 doc_string: String,
        /// The inputs.
        11 input: Vec<ValueInfoProto>,
        /// The outputs.
        12 output: Vec<ValueInfoProto>,
        /// Types of intermediate values.
        13 value_info: Vec<ValueInfoProto>,
        /// Constants with few nonzero elements.
        15 sparse_initializer: Vec<SparseTensorProto>,
        /// Metadata.
        16 metadata_props: Vec<StringStringEntryProto>,
    }

    /// One op with the names of its operands and results. An empty name means a missing operand or result.
    pub struct NodeProto {
        /// Operands.
        1 input: Vec<String>,
        /// Results.
        2 output: Vec<String>,
        /// The node's name.
        3 name: String,
        /// The op's name.
        4 op_type: String,
        /// Attributes.
        5 attribute: Vec<AttributeProto>,
        /// A description.
        6 doc_string: String,
        /// The domain of the op; empty for ONNX's own.
        7 domain: String,
        /// Selects one of several functions with the same name.
        8 overload: String,
    }

    /// An attribute of a node: `type` says which of the fields it uses.
    pub struct AttributeProto {
        /// The attribute's name.
        1 name: String,
        /// A number.
        2 f: Option<f32>,
        /// An integer.
        3 i: Option<i64>,
        /// A string.
        4 s: Option<Vec<u8>>,
        /// A tensor.
        5 t: Option<TensorProto>,
        /// A graph that the node runs.
        6 g: Option<Box<GraphProto>>,
        /// Numbers.
        7 floats: Vec<f32>,
        /// Integers.
        8 ints: Vec<i64>,
        /// Strings.
        9 strings: Vec<Vec<u8>>,
        /// Tensors.
        10 tensors: Vec<TensorProto>,
        /// Graphs.
        11 graphs: Vec<GraphProto>,
        /// A description.
        13 doc_string: String,
        /// One of [`attribute_type`].
        20 r#type: i64,
        /// Inside of a function: the attribute of the calling node whose value it takes.
        21 ref_attr_name: String,
        /// A tensor with few nonzero elements.
        22 sparse_tensor: Option<SparseTensorProto>,
    }

    /// A tensor.
    pub struct TensorProto {
        /// Sizes of the axes.
        1 dims: Vec<i64>,
        /// One of [`data_type`].
        2 data_type: i64,
        /// f32 elements.
        4 float_data: Vec<f32>,
        /// Integers of up to 32 bits, and f16 as bits.
        5 int32_data: Vec<i64>,
        /// Strings.
        6 string_data: Vec<Vec<u8>>,
        /// i64 elements.
        7 int64_data: Vec<i64>,
        /// The tensor's name.
        8 name: String,
        /// All elements as bytes, little-endian.
        9 raw_data: Option<Vec<u8>>,
        /// f64 elements.
        10 double_data: Vec<f64>,
        /// u32 and u64 elements.
        11 uint64_data: Vec<u64>,
        /// A description.
        12 doc_string: String,
        /// Where the bytes are if they are in another file: `location`, `offset`, `length`.
        13 external_data: Vec<StringStringEntryProto>,
        /// 1 if the bytes are in another file.
        14 data_location: i64,
    }

    /// A tensor with few nonzero elements.
    pub struct SparseTensorProto {
        /// The nonzero elements.
        1 values: Option<TensorProto>,
        /// Their positions: linear, or one row of coordinates each.
        2 indices: Option<TensorProto>,
        /// Sizes of the axes.
        3 dims: Vec<i64>,
    }

    /// A value's name and type.
    pub struct ValueInfoProto {
        /// Its name.
        1 name: String,
        /// Its type.
        2 r#type: Option<TypeProto>,
        /// A description.
        3 doc_string: String,
    }

    /// The type of a value.
    pub struct TypeProto {
        /// A tensor.
        1 tensor_type: Option<TensorTypeProto>,
        /// A list of values of one type.
        4 sequence_type: Option<Box<ElementTypeProto>>,
        /// An optional value.
        9 optional_type: Option<Box<ElementTypeProto>>,
    }

    /// The element type of a list or an optional value.
    pub struct ElementTypeProto {
        /// That type.
        1 elem_type: Option<TypeProto>,
    }

    /// A tensor's type.
    pub struct TensorTypeProto {
        /// One of [`data_type`].
        1 elem_type: i64,
        /// Its shape, if known.
        2 shape: Option<TensorShapeProto>,
    }

    /// A shape.
    pub struct TensorShapeProto {
        /// The axes.
        1 dim: Vec<DimensionProto>,
    }

    /// The size of an axis: a number, a name for a dynamic size, or neither.
    pub struct DimensionProto {
        /// The number.
        1 dim_value: Option<i64>,
        /// The name.
        2 dim_param: String,
    }

    /// A domain and its opset version.
    pub struct OperatorSetIdProto {
        /// Its name; empty for ONNX's own.
        1 domain: String,
        /// Its version.
        2 version: i64,
    }

    /// A metadata entry.
    pub struct StringStringEntryProto {
        /// Its name.
        1 key: String,
        /// Its value.
        2 value: String,
    }

    /// A function: nodes that replace a calling node.
    pub struct FunctionProto {
        /// Its name.
        1 name: String,
        /// Names of its operands.
        4 input: Vec<String>,
        /// Names of its results.
        5 output: Vec<String>,
        /// Attributes without a default.
        6 attribute: Vec<String>,
        /// Its nodes.
        7 node: Vec<NodeProto>,
        /// A description.
        8 doc_string: String,
        /// The opset versions that its nodes use.
        9 opset_import: Vec<OperatorSetIdProto>,
        /// Its domain.
        10 domain: String,
        /// Attributes with a default.
        11 attribute_proto: Vec<AttributeProto>,
        /// Distinguishes functions with the same name.
        13 overload: String,
    }
}

/// The types of [`AttributeProto`].
#[allow(missing_docs)] // the names are self-explanatory
pub mod attribute_type {
    pub const FLOAT: i64 = 1;
    pub const INT: i64 = 2;
    pub const STRING: i64 = 3;
    pub const TENSOR: i64 = 4;
    pub const GRAPH: i64 = 5;
    pub const FLOATS: i64 = 6;
    pub const INTS: i64 = 7;
    pub const STRINGS: i64 = 8;
    pub const TENSORS: i64 = 9;
    pub const GRAPHS: i64 = 10;
    pub const SPARSE_TENSOR: i64 = 11;
}

/// The element types of tensors, by their numbers in files.
#[allow(missing_docs)] // the names are self-explanatory
pub mod data_type {
    pub const FLOAT: i64 = 1;
    pub const UINT8: i64 = 2;
    pub const INT8: i64 = 3;
    pub const UINT16: i64 = 4;
    pub const INT16: i64 = 5;
    pub const INT32: i64 = 6;
    pub const INT64: i64 = 7;
    pub const STRING: i64 = 8;
    pub const BOOL: i64 = 9;
    pub const FLOAT16: i64 = 10;
    pub const DOUBLE: i64 = 11;
    pub const UINT32: i64 = 12;
    pub const UINT64: i64 = 13;
    pub const BFLOAT16: i64 = 16;
}

impl AttributeProto {
    fn named(name: &str, kind: i64) -> AttributeProto {
        AttributeProto { name: name.to_string(), r#type: kind, ..Default::default() }
    }

    /// A number.
    pub fn float(name: &str, value: f32) -> AttributeProto {
        AttributeProto { f: Some(value), ..AttributeProto::named(name, attribute_type::FLOAT) }
    }

    /// An integer.
    pub fn int(name: &str, value: i64) -> AttributeProto {
        AttributeProto { i: Some(value), ..AttributeProto::named(name, attribute_type::INT) }
    }

    /// Integers.
    pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
        AttributeProto { ints: values.to_vec(), ..AttributeProto::named(name, attribute_type::INTS) }
    }

    /// A string.
    pub fn text(name: &str, value: &str) -> AttributeProto {
        AttributeProto {
            s: Some(value.as_bytes().to_vec()),
            ..AttributeProto::named(name, attribute_type::STRING)
        }
    }

    /// A tensor.
    pub fn tensor(name: &str, value: TensorProto) -> AttributeProto {
        AttributeProto { t: Some(value), ..AttributeProto::named(name, attribute_type::TENSOR) }
    }

    /// A graph.
    pub fn graph(name: &str, value: GraphProto) -> AttributeProto {
        AttributeProto { g: Some(Box::new(value)), ..AttributeProto::named(name, attribute_type::GRAPH) }
    }
}

impl TensorProto {
    /// A tensor of f32.
    pub fn floats(name: &str, shape: &[usize], values: &[f32]) -> TensorProto {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        TensorProto::raw(name, shape, data_type::FLOAT, bytes)
    }

    /// A tensor of i64.
    pub fn ints(name: &str, shape: &[usize], values: &[i64]) -> TensorProto {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        TensorProto::raw(name, shape, data_type::INT64, bytes)
    }

    /// A tensor from bytes that are already encoded, little-endian.
    pub fn raw(name: &str, shape: &[usize], data_type: i64, bytes: Vec<u8>) -> TensorProto {
        let dims = shape.iter().map(|&size| size as i64).collect();
        TensorProto { dims, data_type, name: name.to_string(), raw_data: Some(bytes), ..Default::default() }
    }
}

impl NodeProto {
    /// A node with one of ONNX's own ops.
    pub fn new(op: &str, inputs: &[&str], outputs: &[&str], attributes: Vec<AttributeProto>) -> NodeProto {
        let texts = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        NodeProto {
            input: texts(inputs),
            output: texts(outputs),
            op_type: op.to_string(),
            attribute: attributes,
            ..Default::default()
        }
    }
}

impl ValueInfoProto {
    /// A tensor of this element type and shape; `None` for an axis of any size.
    pub fn tensor(name: &str, data_type: i64, shape: &[Option<usize>]) -> ValueInfoProto {
        let axis = |size: &Option<usize>| DimensionProto {
            dim_value: size.map(|size| size as i64),
            ..Default::default()
        };
        let shape = Some(TensorShapeProto { dim: shape.iter().map(axis).collect() });
        let tensor_type = Some(TensorTypeProto { elem_type: data_type, shape });
        let kind = TypeProto { tensor_type, ..Default::default() };
        ValueInfoProto { name: name.to_string(), r#type: Some(kind), ..Default::default() }
    }
}

impl ModelProto {
    /// A model with this graph and this version of ONNX's own opset.
    pub fn new(graph: GraphProto, opset: i64) -> ModelProto {
        ModelProto {
            ir_version: 10,
            producer_name: "farad".to_string(),
            graph: Some(graph),
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: opset }],
            ..Default::default()
        }
    }
}
