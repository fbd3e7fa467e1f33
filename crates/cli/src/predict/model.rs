//! An ONNX model in use: one that Farad exported by its notes, another by the shapes of its input and output.

use std::path::Path;

use farad::nn::Module;
use farad::train::{Inputs, Outputs, Prediction, Predictor, Signature};
use farad::{DType, Device, Tensor};
use farad_onnx::{Model, Port};

use crate::error::{Error, Result};
use crate::networks::{CLASSES, SIGNATURE};

/// How far from 1 probabilities may add up to.
const ROUNDING: f32 = 1e-3;

/// A model of one input and one output, on a device.
pub struct ModelInUse {
    model: Model,
    input: String,
    /// The size of the batch, where the file says it.
    batch: Option<usize>,
    signature: Signature,
    device: Device,
}

impl ModelInUse {
    /// Reads a file.
    pub fn open(path: &Path, device: &Device) -> Result<ModelInUse> {
        let model = Model::load(path)?;
        let odd = |why: String| Error::OddModel { path: path.display().to_string(), why };
        let (inputs, outputs) = (model.inputs().len(), model.outputs().len());
        let ([input], [_]) = (model.inputs(), model.outputs()) else {
            return Err(odd(format!("it has {inputs} inputs and {outputs} outputs (vs 1 of each)")));
        };
        let sizes = input.shape.clone().unwrap_or_default();
        let note =
            |key: &str| model.metadata().iter().find(|(name, _)| name == key).map(|(_, text)| text.as_str());
        let signature = match note(SIGNATURE).and_then(|text| serde_json::from_str(text).ok()) {
            Some(signature) => signature,
            None => {
                let names = note(CLASSES).and_then(|text| serde_json::from_str(text).ok());
                guessed(input, &model.outputs()[0], names.unwrap_or_default()).map_err(odd)?
            }
        };
        let (input, batch) = (input.name.clone(), sizes.first().copied().flatten());
        let model = model.try_to_device(device)?;
        Ok(ModelInUse { model, input, batch, signature, device: device.clone() })
    }

    /// What it gives for samples, `[samples, ..]`.
    fn outputs(&self, samples: &Tensor) -> farad::Result<Tensor> {
        let count = samples.shape()[0];
        let Some(batch) = self.batch.filter(|&batch| batch != count) else {
            return self.run(samples);
        };
        // A model of so many samples gets as many, the last of them several times if need be.
        let mut parts = vec![];
        for from in (0..count).step_by(batch.max(1)) {
            let there = batch.min(count - from);
            let mut given = vec![samples.narrow(0, from, there)];
            given.extend((there..batch).map(|_| samples.narrow(0, count - 1, 1)));
            let given = Tensor::concat(&given.iter().collect::<Vec<_>>(), 0);
            parts.push(self.run(&given)?.narrow(0, 0, there));
        }
        Ok(Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0))
    }

    fn run(&self, samples: &Tensor) -> farad::Result<Tensor> {
        let mut results = self.model.run(&[(&self.input, &samples.to_device(&self.device)?)])?;
        Ok(results.swap_remove(0).1.cast(DType::F32))
    }
}

impl Predictor for ModelInUse {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn predict(&self, samples: &Tensor) -> farad::Result<Vec<Prediction>> {
        let outputs = self.outputs(&self.signature.inputs.batch(samples)?)?;
        let width = outputs.numel() / outputs.shape().first().copied().unwrap_or(1).max(1);
        let (alone, values) = (outputs.rank() == 1, outputs.to_vec::<f32>()?);
        let said = |row: &[f32]| match &self.signature.outputs {
            Outputs::Classes(_) if alone => Prediction::Class { class: row[0] as usize, probabilities: None },
            Outputs::Classes(_) => Prediction::likeliest(probabilities(row)),
            Outputs::Numbers(_) => Prediction::Numbers(row.iter().map(|&value| value.into()).collect()),
        };
        Ok(values.chunks(width.max(1)).map(said).collect())
    }
}

/// Probabilities as they are, other numbers by softmax.
fn probabilities(row: &[f32]) -> Vec<f32> {
    let sum: f32 = row.iter().sum();
    if (sum - 1.0).abs() < ROUNDING && row.iter().all(|&value| value >= 0.0) {
        return row.to_vec();
    }
    let most = row.iter().copied().fold(f32::MIN, f32::max);
    let powers: Vec<f32> = row.iter().map(|value| (value - most).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// What a model of others takes and says, by shapes: `[batch, 1 or 3, height, width]` are pictures, other numbers come in
/// arrays; one number is a number, several are classes.
fn guessed(input: &Port, output: &Port, names: Vec<String>) -> std::result::Result<Signature, String> {
    let floats = input.kind.is_some_and(|kind| kind.is_float());
    let sizes = input.shape.as_deref().and_then(|sizes| sizes.get(1..)).unwrap_or_default();
    let sizes: Option<Vec<usize>> = sizes.iter().copied().collect();
    let Some(sizes) = sizes.filter(|sizes| floats && !sizes.is_empty()) else {
        return Err(format!("its input {} is no batch of numbers of one shape", input.name));
    };
    let inputs = match sizes[..] {
        [channels @ (1 | 3), height, width] => Inputs::Pictures { channels, height, width },
        _ => Inputs::Array { shape: sizes },
    };
    let last = output.shape.as_deref().and_then(|sizes| sizes.get(1..)).unwrap_or_default();
    let count = last.iter().copied().product::<Option<usize>>();
    let outputs = match count {
        Some(1) => Outputs::Numbers(vec![output.name.clone()]),
        Some(count) if names.len() != count => Outputs::Classes((0..count).map(|n| n.to_string()).collect()),
        Some(_) => Outputs::Classes(names),
        None => return Err(format!("its output {} has no fixed size", output.name)),
    };
    Ok(Signature { inputs, outputs })
}
