//! The circuit of a run in use: new samples in, classes out.
//!
//! Invariant: the class is that of the circuit that `farad eval` judges; probabilities are available if votes
//! are counted.

use farad::data::ColumnRule;
use farad::run::Run;
use farad::train::{Inputs, Outputs, Prediction, Predictor, Signature, TrainError};
use farad::{DType, Tensor};
use farad_circuit::{Netlist, Simulator};

use super::data::{ClassifierData, HostSamples, Levels};
use super::learned::LearnedClassifier;
use super::model::BRIGHTEST;
use super::packed::pack;
use super::repair;
use super::report::{self, classify};
use crate::error::Result;

/// The circuit of a classifier, ready for use.
pub struct CircuitInUse {
    signature: Signature,
    netlist: Netlist,
    /// The same function with the votes of every class, if they are counted.
    votes: Option<Netlist>,
    thresholds: Vec<f32>,
    /// What votes are divided by before they become probabilities.
    tau: f32,
    shape: [usize; 3],
}

impl CircuitInUse {
    /// From a run. Its data are needed only if an earlier version made it, or if its head must be cut with
    /// them.
    pub fn of(run: &Run) -> Result<CircuitInUse> {
        let learned = LearnedClassifier::of(run)?;
        let signature = signature(&learned)?;
        let raw = learned.netlist()?;
        let repaired = repair::stored(run, &raw);
        let (netlist, votes) = match report::stored(run, &raw, repaired.as_ref()) {
            None if repaired.is_none() && learned.settings.head != "cut" => {
                (raw, Some(learned.netlist_with_counts()?))
            }
            stored => {
                let small = stored.map_or_else(|| report::simplified(run, &learned, &()), Ok)?;
                // The learned circuit counts votes, too, and gives the same class.
                let same = small.proved && repaired.is_none() && learned.settings.head != "cut";
                let counted = same.then(|| learned.netlist_with_counts()).transpose()?;
                (small.netlist, small.with_counts.or(counted))
            }
        };
        let thresholds = learned.network.encoding().levels()?;
        let tau = learned.network.head().tau();
        Ok(CircuitInUse { signature, netlist, votes, thresholds, tau, shape: learned.shape })
    }

    /// The circuit that computes the class.
    pub fn netlist(&self) -> &Netlist {
        &self.netlist
    }

    /// The thresholds of its input bits, feature by feature.
    pub fn thresholds(&self) -> &[f32] {
        &self.thresholds
    }

    /// Samples as the circuit reads them.
    fn part(&self, samples: &Tensor) -> farad::Result<HostSamples> {
        let values = samples.cast(DType::F32).to_vec::<f32>()?;
        let levels = match self.signature.inputs {
            Inputs::Pictures { .. } => {
                let byte = |level: f32| (level * BRIGHTEST).round().clamp(0.0, BRIGHTEST) as u8;
                Levels::Bytes(values.into_iter().map(byte).collect())
            }
            Inputs::Table { .. } | Inputs::Array { .. } => Levels::Numbers(values),
        };
        Ok(HostSamples { levels, labels: vec![0; samples.shape()[0]], shape: self.shape })
    }

    /// The probability of every class, sample by sample: the softmax of its votes, as in training.
    fn probabilities(&self, netlist: &Netlist, part: &HostSamples) -> Result<Vec<Vec<f32>>> {
        let outputs = Simulator::new(netlist)?.run(&pack(part, &self.thresholds).slices());
        let Outputs::Classes(classes) = &self.signature.outputs else { return Ok(vec![]) };
        let mut counts = vec![vec![0f32; classes.len()]; part.len()];
        for (output, plane) in netlist.outputs.iter().zip(&outputs) {
            let place = output.name.strip_prefix("count_").and_then(|rest| rest.split_once('_'));
            let place = place.and_then(|(class, bit)| Some((class.parse().ok()?, bit.parse::<u32>().ok()?)));
            let Some((class, bit)) = place.filter(|(class, _): &(usize, u32)| *class < classes.len()) else {
                continue;
            };
            for (sample, counts) in counts.iter_mut().enumerate() {
                let is = plane[sample / 64] >> (sample % 64) & 1;
                counts[class] += is as f32 * f32::from(2u8).powi(bit as i32);
            }
        }
        Ok(counts.into_iter().map(|counts| softmax(&counts, self.tau)).collect())
    }
}

impl Predictor for CircuitInUse {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn predict(&self, samples: &Tensor) -> farad::Result<Vec<Prediction>> {
        let part = self.part(&self.signature.inputs.batch(samples)?)?;
        let classes = classify(&self.netlist, &self.thresholds, &part)?.into_iter();
        Ok(match &self.votes {
            None => classes.map(|class| Prediction::Class { class, probabilities: None }).collect(),
            Some(votes) => classes
                .zip(self.probabilities(votes, &part)?)
                .map(|(class, all)| Prediction::Class { class, probabilities: Some(all) })
                .collect(),
        })
    }
}

fn softmax(counts: &[f32], tau: f32) -> Vec<f32> {
    let most = counts.iter().copied().fold(f32::MIN, f32::max);
    let powers: Vec<f32> = counts.iter().map(|count| ((count - most) / tau).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// The inputs and outputs of a circuit, from its run; columns that an earlier version did not store are taken
/// from its data.
fn signature(learned: &LearnedClassifier) -> Result<Signature> {
    let [channels, height, width] = learned.shape;
    let inputs = match learned.settings.task_kind().is_picture() {
        true => Inputs::Pictures { channels, height, width },
        false => {
            let (mut columns, mut target) = (learned.columns.clone(), learned.target.clone());
            if columns.is_empty() {
                let data = ClassifierData::open(&mut learned.settings.clone())?;
                (columns, target) = (data.columns, data.target);
            }
            let rules = learned.settings.column_rules()?;
            let features = if rules.is_empty() {
                columns.len()
            } else {
                rules.iter().flat_map(ColumnRule::names).count()
            };
            if features != channels {
                let (found, wanted) = (format!("{} columns", columns.len()), channels.to_string());
                return Err(TrainError::SampleShape { found, wanted }.into());
            }
            let targets = if target.is_empty() { vec![] } else { vec![target] };
            Inputs::Table { columns, targets, header: learned.settings.header, bits: false, rules }
        }
    };
    Ok(Signature { inputs, outputs: Outputs::Classes(learned.classes.clone()) })
}
