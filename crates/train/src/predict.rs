//! What a trained model takes and says, for those who use it: `farad predict`, and programs.
//!
//! A [`Predictor`] is a model in use. Its [`Signature`] travels with the run: which inputs, by name or size, and what comes
//! out, in the words and units of the data. Scaling of inputs and outputs is inside.
//!
//! Invariant: predictions come in the order of samples, one each.

use farad_data::ColumnRule;
use farad_ir::Shape;
use farad_tensor::{DType, Tensor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Result, TrainError};

/// What a model takes and says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// What it takes.
    pub inputs: Inputs,
    /// What it says.
    pub outputs: Outputs,
}

/// What a model takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// Pictures: `[channels, height, width]`, levels from 0 to 1.
    Pictures {
        /// 1: gray, 3: color.
        channels: usize,
        /// Pixels down.
        height: usize,
        /// Pixels across.
        width: usize,
    },
    /// Rows of a table: `[columns]`, in the units of the table; by rules, the numbers that they give.
    Table {
        /// The names of the columns in their order; numbers from 0 on where tables have no header.
        columns: Vec<String>,
        /// The columns that are predicted, if their names are known.
        targets: Vec<String>,
        /// Whether the first line of a table names its columns.
        header: bool,
        /// Whether numbers are bits, which tables may also write as `true` and `no`.
        bits: bool,
        /// How each column becomes numbers, in their order; if empty, every column is a number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<ColumnRule>,
    },
    /// Numbers of this shape, as they are.
    Array {
        /// The shape of a sample.
        shape: Vec<usize>,
    },
}

/// What a model says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outputs {
    /// One of these classes.
    Classes(Vec<String>),
    /// Numbers of these names, in the units of the data.
    Numbers(Vec<String>),
}

/// What a model says of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Prediction {
    /// A class.
    Class {
        /// Its number.
        class: usize,
        /// How likely every class is; none where a circuit says the class alone.
        probabilities: Option<Vec<f32>>,
    },
    /// Numbers, in the units of the data.
    Numbers(Vec<f64>),
}

/// A trained model in use.
pub trait Predictor {
    /// What it takes and says.
    fn signature(&self) -> &Signature;

    /// What the shorter side of a picture becomes before its middle is taken; none: pictures are resized whole.
    fn shorter_side(&self) -> Option<usize> {
        None
    }

    /// What it says of samples: `[samples, ..]`, each as [`Inputs::shape`] has it, or one alone.
    fn predict(&self, samples: &Tensor) -> Result<Vec<Prediction>>;
}

impl Inputs {
    /// The shape of a sample.
    pub fn shape(&self) -> Shape {
        match self {
            Inputs::Pictures { channels, height, width } => Shape::new(&[*channels, *height, *width]),
            Inputs::Table { .. } => Shape::new(&[self.features().len()]),
            Inputs::Array { shape } => Shape::new(shape),
        }
    }

    /// The names of the numbers that a row of a table becomes; none for other inputs.
    pub fn features(&self) -> Vec<String> {
        match self {
            Inputs::Table { columns, rules, .. } if rules.is_empty() => columns.clone(),
            Inputs::Table { rules, .. } => rules.iter().flat_map(ColumnRule::names).collect(),
            Inputs::Pictures { .. } | Inputs::Array { .. } => vec![],
        }
    }

    /// What it takes, in words.
    pub fn words(&self) -> String {
        match self {
            Inputs::Pictures { channels, height, width } => {
                let colors = if *channels == 1 { "gray" } else { "color" };
                format!("{colors} pictures of {width} × {height} pixels")
            }
            Inputs::Table { columns, .. } => format!("rows with the columns {}", columns.join(", ")),
            Inputs::Array { shape } => format!("arrays of {}", Shape::new(shape)),
        }
    }

    /// Samples as `[samples, ..]` in `f32`, from that shape or from one sample alone; gray pictures may lack the axis of
    /// channels.
    pub fn batch(&self, samples: &Tensor) -> Result<Tensor> {
        let (found, shape) = (samples.shape(), self.shape());
        // `[height, width]` says as much of a gray picture as `[1, height, width]`.
        let short = if shape.first() == Some(&1) && shape.rank() == 3 { &shape[1..] } else { &shape[..] };
        let fits = |wanted: &[usize]| {
            found[..] == *wanted || (found.rank() == wanted.len() + 1 && found[1..] == *wanted)
        };
        if !(fits(&shape) || fits(short)) {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            let wanted = format!("[n, {}] or {shape}", sizes.join(", "));
            return Err(TrainError::SampleShape { found: found.to_string(), wanted }.into());
        }
        let count = found.numel() / shape.numel().max(1);
        let sizes: Vec<usize> = std::iter::once(count).chain(shape.iter().copied()).collect();
        Ok(samples.cast(DType::F32).reshape(sizes.as_slice()))
    }
}

impl Outputs {
    /// The name of a class.
    pub fn class(&self, number: usize) -> String {
        match self {
            Outputs::Classes(names) => names.get(number).cloned().unwrap_or_else(|| number.to_string()),
            Outputs::Numbers(_) => number.to_string(),
        }
    }
}

impl Prediction {
    /// As a JSON object: `class` and `probabilities` (the `top` likeliest, or all), or `value`.
    pub fn object(&self, outputs: &Outputs, top: Option<usize>) -> Map<String, Value> {
        let mut object = Map::new();
        match self {
            Prediction::Class { class, probabilities } => {
                object.insert("class".into(), outputs.class(*class).into());
                if probabilities.is_some() {
                    let ranked = self.ranked().into_iter().take(top.unwrap_or(usize::MAX));
                    let all: Map<String, Value> =
                        ranked.map(|(class, likely)| (outputs.class(class), likely.into())).collect();
                    object.insert("probabilities".into(), all.into());
                }
            }
            Prediction::Numbers(numbers) => {
                object.insert("value".into(), value_of(outputs, numbers));
            }
        }
        object
    }

    /// The likeliest class, and how likely every class is.
    pub fn likeliest(probabilities: Vec<f32>) -> Prediction {
        let class =
            (0..probabilities.len()).rev().max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
        Prediction::Class { class: class.unwrap_or(0), probabilities: Some(probabilities) }
    }

    /// Classes with how likely they are, the likeliest first; where that is not known, the class alone.
    pub fn ranked(&self) -> Vec<(usize, Option<f32>)> {
        match self {
            Prediction::Class { class, probabilities: None } => vec![(*class, None)],
            Prediction::Class { class, probabilities: Some(all) } => {
                let mut ranked: Vec<usize> = (0..all.len()).collect();
                // What was predicted stands first, also among equals.
                ranked.sort_by(|a, b| all[*b].total_cmp(&all[*a]).then((*b == *class).cmp(&(*a == *class))));
                ranked.into_iter().map(|class| (class, Some(all[class]))).collect()
            }
            Prediction::Numbers(_) => vec![],
        }
    }
}

/// One number alone, several by name.
fn value_of(outputs: &Outputs, numbers: &[f64]) -> Value {
    match (outputs, numbers) {
        (_, [number]) => json!(number),
        (Outputs::Numbers(names), all) if names.len() == all.len() => {
            let named = names.iter().cloned().zip(all.iter().map(|&number| json!(number)));
            named.collect::<Map<_, _>>().into()
        }
        (_, all) => json!(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_tensor::Device;

    #[test]
    fn samples_come_alone_or_together() {
        let pictures = Inputs::Pictures { channels: 1, height: 2, width: 3 };
        let batch = |shape: &[usize]| pictures.batch(&Tensor::ones(shape, &Device::cpu()));
        for (shape, count) in [(&[1, 2, 3][..], 1), (&[2, 3], 1), (&[5, 1, 2, 3], 5), (&[5, 2, 3], 5)] {
            assert_eq!(batch(shape).unwrap().shape()[..], [count, 1, 2, 3], "{shape:?}");
        }
        let text = batch(&[2, 2]).unwrap_err().to_string();
        assert!(text.contains("[2, 2] vs [n, 1, 2, 3] or [1, 2, 3]"), "{text}");
    }

    #[test]
    fn classes_are_ranked_by_their_probabilities() {
        let prediction = Prediction::likeliest(vec![0.2, 0.5, 0.3]);
        assert_eq!(prediction.ranked(), [(1, Some(0.5)), (2, Some(0.3)), (0, Some(0.2))]);
        assert_eq!(Prediction::likeliest(vec![0.5, 0.5]).ranked()[0].0, 0, "the first of equals");
        assert_eq!(Prediction::Class { class: 4, probabilities: None }.ranked(), [(4, None)]);
    }
}
