//! How numbers become bits: by comparing them with thresholds.

use farad::nn::{Buffer, Module, Parameter};
use farad::{DType, Device, Tensor};

use crate::error::{Error, Result};
use crate::layer::Pass;

/// Bits that encode the height of a number: bit `t` of a feature is set if the number is at least threshold
/// `t`. One threshold is a plain threshold encoding, several are a thermometer code.
/// `[features, batch] -> [features · thresholds, batch]`, the bits of a feature adjacent.
///
/// Thresholds may be learned: the bits stay bits, with the gradient of a sigmoid.
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::{Pass, Thermometer};
/// let encoding = Thermometer::fixed(2, &[0.5, 1.5])?;
/// let x = Tensor::from_vec(vec![0.0, 1.0, 2.0, 0.5], [2, 2], &Device::cpu());
/// let bits = encoding.bits(&x, Pass::Hard).to_vec::<f32>()?;
/// assert_eq!(bits, [0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Thermometer {
    /// `[features, thresholds]`, or `[1, thresholds]` if all features have the same. Frozen.
    pub thresholds: Parameter,
    /// The shift of the thresholds, in units of `scale`, if they are learned. `[features, thresholds]`
    pub moves: Option<Parameter>,
    /// The typical spread of a feature's numbers, if thresholds are learned. `[features, 1]`
    scale: Option<Buffer>,
    features: usize,
}

impl Thermometer {
    /// One bit per feature, set if the number is at least `level`.
    pub fn threshold(features: usize, level: f32) -> Result<Thermometer> {
        Thermometer::fixed(features, &[level])
    }

    /// The same thresholds for every feature.
    pub fn fixed(features: usize, thresholds: &[f32]) -> Result<Thermometer> {
        Thermometer::new(features, 1, thresholds.to_vec())
    }

    /// Thresholds between `low` and `high`, equally spaced.
    pub fn even(features: usize, thresholds: usize, low: f32, high: f32) -> Result<Thermometer> {
        let level = |n: usize| low + (high - low) * (n + 1) as f32 / (thresholds + 1) as f32;
        Thermometer::fixed(features, &(0..thresholds).map(level).collect::<Vec<_>>())
    }

    /// For every feature the thresholds that divide its samples into equal parts. `samples` are rows of
    /// `features` numbers.
    pub fn quantiles(features: usize, thresholds: usize, samples: &[f32]) -> Result<Thermometer> {
        if features == 0 || samples.is_empty() || !samples.len().is_multiple_of(features) {
            let what = "samples are rows of one number per feature";
            return Err(Error::Encoding { what, found: samples.len(), wanted: features });
        }
        let mut all = Vec::with_capacity(features * thresholds);
        for feature in 0..features {
            let mut column: Vec<f32> = samples[feature..].iter().step_by(features).copied().collect();
            column.sort_by(f32::total_cmp);
            // Equal samples carry no information: the thresholds are quantiles of the distinct values, if there
            // are enough of them.
            let mut different = column.clone();
            different.dedup();
            let ranked = if different.len() <= 2 * thresholds { &different } else { &column };
            let last = ranked.len() - 1;
            all.extend((0..thresholds).map(|n| {
                let place = (n + 1) as f32 * last as f32 / (thresholds + 1) as f32;
                let (low, high) = (ranked[place as usize], ranked[(place as usize + 1).min(last)]);
                low + (high - low) * 0.5
            }));
        }
        Thermometer::new(features, features, all)
    }

    fn new(features: usize, rows: usize, thresholds: Vec<f32>) -> Result<Thermometer> {
        if features == 0 || thresholds.is_empty() {
            let what = "needs features and at least one threshold";
            return Err(Error::Encoding { what, found: features.min(thresholds.len()), wanted: 1 });
        }
        if let Some(feature) = thresholds.iter().position(|level| !level.is_finite()) {
            let what = "a threshold is not finite";
            return Err(Error::Encoding { what, found: feature, wanted: thresholds.len() });
        }
        let count = thresholds.len() / rows;
        let thresholds = Parameter::new(Tensor::from_vec(thresholds, [rows, count], &Device::cpu()));
        thresholds.freeze();
        Ok(Thermometer { thresholds, moves: None, scale: None, features })
    }

    /// The encoding with learned thresholds, separate for each feature. `scale` gives every feature's spread:
    /// thresholds move in fractions of it, and numbers that far away still have a gradient.
    pub fn learned(self, scale: &[f32]) -> Result<Thermometer> {
        if scale.len() != self.features {
            let what = "learned thresholds need one scale per feature";
            return Err(Error::Encoding { what, found: scale.len(), wanted: self.features });
        }
        // A feature that is constant has no spread, and its thresholds have no reason to move.
        let scale: Vec<f32> = scale.iter().map(|&scale| if scale > 0.0 { scale } else { 1.0 }).collect();
        let (features, count, cpu) = (self.features, self.thresholds_per_feature(), Device::cpu());
        let moves = Some(Parameter::new(Tensor::zeros([features, count], &cpu)));
        Ok(Thermometer {
            moves,
            scale: Some(Buffer::new(Tensor::from_vec(scale, [features, 1], &cpu))),
            ..self
        })
    }

    /// Numbers of a sample.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Bits of a number.
    pub fn thresholds_per_feature(&self) -> usize {
        self.thresholds.value().shape()[1]
    }

    /// Bits of a sample.
    pub fn outputs(&self) -> usize {
        self.features * self.thresholds_per_feature()
    }

    /// The bits of numbers. `[features, batch] -> [features · thresholds, batch]`
    ///
    /// # Panics
    /// If the number of features differs.
    #[track_caller]
    pub fn bits(&self, x: &Tensor, pass: Pass) -> Tensor {
        let (features, batch) = (x.shape()[0], x.shape()[1]);
        assert!(
            features == self.features,
            "thermometer: wrong number of features: {} ({features} vs {})",
            x.shape(),
            self.features
        );
        let thresholds = self.now();
        let (rows, count) = (thresholds.shape()[0], thresholds.shape()[1]);
        let (x, thresholds) = (x.reshape([features, 1, batch]), thresholds.reshape([rows, count, 1]));
        let hard = x.greater_equal(&thresholds).cast(DType::F32);
        let bits = match self.scale.as_ref().filter(|_| pass != Pass::Hard) {
            None => hard,
            Some(scale) => {
                let soft = ((x - thresholds) / scale.value().reshape([features, 1, 1])).sigmoid();
                (hard - &soft).stop_gradient() + soft
            }
        };
        bits.reshape([features * count, batch])
    }

    /// The current thresholds. `[features, thresholds]`, or `[1, thresholds]`
    fn now(&self) -> Tensor {
        match (&self.moves, &self.scale) {
            (Some(moves), Some(scale)) => self.thresholds.value() + moves.value() * scale.value(),
            _ => self.thresholds.value(),
        }
    }

    /// The thresholds of every feature, row by row. `[features · thresholds]`
    pub fn levels(&self) -> Result<Vec<f32>> {
        let stored = self.now().to_vec::<f32>()?;
        Ok(stored.repeat(self.outputs() / stored.len()))
    }
}
