//! Targets that are numbers, less their mean and in their deviations: whatever their unit, a model begins near them.

use std::sync::Arc;

use farad_data::{Array, Dataset, Sample};

use crate::error::Result;
use crate::settings::SupervisedSettings;

/// A set whose targets are scaled as the settings say.
pub struct Scaled {
    set: Arc<dyn Dataset>,
    mean: f64,
    deviation: f64,
}

impl Scaled {
    /// Of a set with numbers as targets.
    pub fn new(set: Arc<dyn Dataset>, settings: &SupervisedSettings) -> Scaled {
        Scaled { set, mean: settings.target_mean, deviation: settings.target_deviation }
    }
}

impl Dataset for Scaled {
    fn len(&self) -> usize {
        self.set.len()
    }

    fn get(&self, index: usize) -> Result<Sample> {
        let Sample { input, target } = self.set.get(index)?;
        let scale = |value: f32| ((f64::from(value) - self.mean) / self.deviation) as f32;
        let values: Vec<f32> = target.to_f32().into_iter().map(scale).collect();
        Ok(Sample { input, target: Array::new(values, target.shape()) })
    }
}

/// The mean and the deviation of targets; 1 where they do not differ.
pub fn spread(set: &dyn Dataset) -> Result<(f64, f64)> {
    let mut values = vec![];
    for index in 0..set.len() {
        values.extend(set.get(index)?.target.to_f32().into_iter().map(f64::from));
    }
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    Ok((mean, if deviation > 0.0 { deviation } else { 1.0 }))
}
