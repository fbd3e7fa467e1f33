//! What an op's rule gets: operands, attributes with their defaults, and subgraphs that it may run.

use std::collections::BTreeMap;
use std::sync::Arc;

use farad_tensor::Device;

use crate::error::Result;
use crate::graph::{ModelGraph, Scope};
use crate::kind::Kind;
use crate::ops::{Default, Row};
use crate::refuse;
use crate::value::Value;

/// An attribute's value.
#[derive(Clone)]
pub enum Attribute {
    /// A number.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A string.
    Text(String),
    /// A tensor, or a value that a function received for one.
    Tensor(Value),
    /// A graph.
    Graph(Arc<ModelGraph>),
    /// Numbers.
    Floats(Vec<f64>),
    /// Integers.
    Ints(Vec<i64>),
    /// Strings.
    Texts(Vec<String>),
}

/// Attributes by name.
pub type Attributes = BTreeMap<String, Attribute>;

/// One execution of a node.
pub struct Call<'a> {
    /// The op's row.
    pub row: &'static Row,
    /// Operands; `None` for a missing one.
    pub inputs: Vec<Option<Value>>,
    /// Which results are used.
    pub wanted: Vec<bool>,
    /// The node's attributes.
    pub attributes: &'a Attributes,
    /// The version of the op's opset.
    pub version: i64,
    /// The device to which host tensors are uploaded.
    pub device: &'a Device,
    /// Values of the enclosing graph, for subgraphs of the node.
    pub scope: &'a Scope<'a>,
}

impl Call<'_> {
    /// A required operand.
    pub fn input(&self, place: usize) -> Result<&Value> {
        match self.optional(place) {
            Some(value) => Ok(value),
            None => refuse!("operand {place} is missing"),
        }
    }

    /// An optional operand.
    pub fn optional(&self, place: usize) -> Option<&Value> {
        self.inputs.get(place).and_then(|value| value.as_ref())
    }

    /// A required operand in the best place to compute with it: floats that devices support are uploaded.
    pub fn on_device(&self, place: usize) -> Result<Value> {
        self.input(place)?.on(self.device)
    }

    /// All operands, none of them missing.
    pub fn all(&self) -> Result<Vec<Value>> {
        (0..self.inputs.len()).map(|place| self.input(place).cloned()).collect()
    }

    /// Whether a result is used.
    pub fn wants(&self, place: usize) -> bool {
        self.wanted.get(place).copied().unwrap_or(false)
    }

    fn default(&self, name: &str) -> Option<&'static Default> {
        self.row.attributes.iter().find(|(own, _)| *own == name).map(|(_, default)| default)
    }

    /// Whether the node has an attribute.
    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    /// An integer, or its default.
    pub fn int(&self, name: &str) -> Result<i64> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Int(value)), _) => Ok(*value),
            (None, Some(Default::Int(value))) => Ok(*value),
            _ => refuse!("the attribute {name} is missing"),
        }
    }

    /// Whether an integer is not zero.
    pub fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.int(name)? != 0)
    }

    /// A number, or its default.
    pub fn float(&self, name: &str) -> Result<f64> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Float(value)), _) => Ok(*value),
            (None, Some(Default::Float(value))) => Ok(*value),
            _ => refuse!("the attribute {name} is missing"),
        }
    }

    /// A string, or its default.
    pub fn text(&self, name: &str) -> Result<&str> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Text(value)), _) => Ok(value),
            (None, Some(Default::Text(value))) => Ok(value),
            _ => refuse!("the attribute {name} is missing"),
        }
    }

    /// Integers, if the attribute is present.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attributes.get(name) {
            Some(Attribute::Ints(values)) => Some(values),
            _ => None,
        }
    }

    /// Numbers, if the attribute is present.
    pub fn floats(&self, name: &str) -> Option<&[f64]> {
        match self.attributes.get(name) {
            Some(Attribute::Floats(values)) => Some(values),
            _ => None,
        }
    }

    /// Strings, if the attribute is present.
    pub fn texts(&self, name: &str) -> Option<&[String]> {
        match self.attributes.get(name) {
            Some(Attribute::Texts(values)) => Some(values),
            _ => None,
        }
    }

    /// A tensor, if the attribute is present.
    pub fn tensor(&self, name: &str) -> Option<&Value> {
        match self.attributes.get(name) {
            Some(Attribute::Tensor(value)) => Some(value),
            _ => None,
        }
    }

    /// An element type by its number.
    pub fn kind(&self, name: &str) -> Result<Option<Kind>> {
        let Some(Attribute::Int(number)) = self.attributes.get(name) else { return Ok(None) };
        match Kind::of(*number) {
            Some(kind) => Ok(Some(kind)),
            None => refuse!("unknown element type {number}"),
        }
    }

    /// Runs a subgraph of an attribute with these values.
    pub fn run(&self, name: &str, values: Vec<Value>) -> Result<Vec<Value>> {
        match self.attributes.get(name) {
            Some(Attribute::Graph(graph)) => graph.run(values, Some(self.scope), self.device),
            _ => refuse!("the graph {name} is missing"),
        }
    }

    /// Axes given as an operand, as an attribute, or not at all.
    pub fn axes(&self, name: &str, place: usize) -> Result<Option<Vec<i64>>> {
        match self.optional(place) {
            Some(value) => Ok(Some(value.ints()?)),
            None => Ok(self.ints(name).map(|axes| axes.to_vec())),
        }
    }
}
