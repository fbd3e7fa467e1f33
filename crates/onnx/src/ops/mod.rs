//! All supported ops: one row per op, with its versions, operands, attributes and rule.
//!
//! Invariant: a rule checks its inputs and returns errors. It tests `call.version` where the definition of an
//! op has changed. To add an op, add a row to the list of its family.

mod attention;
mod control;
mod create;
mod detect;
mod elementwise;
mod index;
mod integer;
mod loss;
mod movement;
mod normalize;
mod product;
mod quantize;
mod random;
mod recurrent;
mod reduction;
mod resize;
mod sample;
mod sequence;
mod unpool;
mod window;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::call::{Attribute, Attributes, Call};
use crate::error::Result;
use crate::proto::NodeProto;
use crate::refuse;
use crate::value::Value;

/// An attribute's type, and its default if it has one.
pub enum Default {
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A string.
    Text(&'static str),
    /// An integer without a default.
    AnInt,
    /// A number without a default.
    AFloat,
    /// A string without a default.
    AText,
    /// Integers.
    Ints,
    /// Numbers.
    Floats,
    /// Strings.
    Texts,
    /// A tensor.
    Tensor,
    /// A graph.
    Graph,
}

/// One op.
pub struct Row {
    /// The domain; empty for ONNX's own ops.
    pub domain: &'static str,
    /// The op's name.
    pub name: &'static str,
    /// The first and the last opset version for which the rule is valid.
    pub versions: (i64, i64),
    /// The minimum and the maximum number of operands.
    pub inputs: (usize, usize),
    /// Attributes with their types and defaults.
    pub attributes: &'static [(&'static str, Default)],
    /// Operands that are settings or statistics: they are not learned if they are tensors of the file.
    pub fixed: &'static [usize],
    /// What it computes.
    pub rule: fn(&Call) -> Result<Vec<Value>>,
}

/// No limit on operands.
const MANY: usize = usize::MAX;

const fn row(
    name: &'static str,
    inputs: (usize, usize),
    attributes: &'static [(&'static str, Default)],
    rule: fn(&Call) -> Result<Vec<Value>>,
) -> Row {
    Row { domain: "", name, versions: (1, i64::MAX), inputs, attributes, fixed: &[], rule }
}

impl Row {
    const fn since(self, first: i64) -> Row {
        Row { versions: (first, i64::MAX), ..self }
    }

    const fn of(self, domain: &'static str) -> Row {
        Row { domain, ..self }
    }

    const fn fixed(self, fixed: &'static [usize]) -> Row {
        Row { fixed, ..self }
    }

    /// Checks a node's operands and attributes; returns what is wrong.
    pub fn check(&self, node: &NodeProto, attributes: &Attributes) -> std::result::Result<(), String> {
        let (least, most) = self.inputs;
        let found = node.input.len();
        if found < least || found > most {
            return Err(format!(
                "wrong number of operands ({found} vs {least} to {})",
                if most == MANY { "any".to_string() } else { most.to_string() }
            ));
        }
        for (name, value) in attributes {
            let Some((_, wanted)) = self.attributes.iter().find(|(own, _)| own == name) else {
                return Err(format!("there is no attribute {name}"));
            };
            let fits = matches!(
                (wanted, value),
                (Default::Int(_) | Default::AnInt, Attribute::Int(_))
                    | (Default::Float(_) | Default::AFloat, Attribute::Float(_))
                    | (Default::Text(_) | Default::AText, Attribute::Text(_))
                    | (Default::Ints, Attribute::Ints(_))
                    | (Default::Floats, Attribute::Floats(_))
                    | (Default::Texts, Attribute::Texts(_))
                    | (Default::Tensor, Attribute::Tensor(_))
                    | (Default::Graph, Attribute::Graph(_))
            );
            if !fits {
                return Err(format!("the attribute {name} has another type"));
            }
        }
        Ok(())
    }
}

/// Placeholder for an unsupported op, so that one error can name all of them.
pub static UNKNOWN: Row = row("unknown", (0, MANY), &[], |_| refuse!("unknown op"));

const FAMILIES: &[&[Row]] = &[
    attention::ROWS,
    control::ROWS,
    create::ROWS,
    detect::ROWS,
    elementwise::ROWS,
    index::ROWS,
    integer::ROWS,
    loss::ROWS,
    movement::ROWS,
    normalize::ROWS,
    product::ROWS,
    quantize::ROWS,
    random::ROWS,
    recurrent::ROWS,
    reduction::ROWS,
    resize::ROWS,
    sample::ROWS,
    sequence::ROWS,
    unpool::ROWS,
    window::ROWS,
];

/// All rows.
pub fn all() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The row of an op for an opset version.
pub fn find(domain: &str, name: &str, version: i64) -> Option<&'static Row> {
    static TABLE: OnceLock<HashMap<(&'static str, &'static str), &'static Row>> = OnceLock::new();
    let table = TABLE.get_or_init(|| all().map(|row| ((row.domain, row.name), row)).collect());
    let row = table.get(&(domain, name)).copied()?;
    (row.versions.0..=row.versions.1).contains(&version).then_some(row)
}

/// One result.
fn one(value: Value) -> Result<Vec<Value>> {
    Ok(vec![value])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_one_row() {
        let mut names: Vec<(&str, &str)> = all().map(|row| (row.domain, row.name)).collect();
        let before = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
