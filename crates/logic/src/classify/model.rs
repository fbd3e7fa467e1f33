//! Networks from settings.

use farad::Device;
use farad::nn::Module;
use farad::run::Checkpoint;

use super::data::{Levels, Part};
use super::settings::Settings;
use crate::error::{Error, Result};
use crate::network::{Block, GroupSum, LogicLayer, LogicNetwork, Thermometer, WiringKind};

/// The largest level of a picture.
const BRIGHTEST: f32 = 255.0;
/// Levels of pictures that count as near, if thresholds are learned.
const NEAR: f32 = 32.0;

/// The network of a run before its first step, on a device. `samples` are what thresholds are taken from; without them
/// the network has the right shape only.
pub fn build(
    settings: &Settings,
    shape: [usize; 3],
    classes: usize,
    samples: Option<&Part>,
    device: &Device,
) -> Result<LogicNetwork> {
    let encoding = encoding(settings, shape.iter().product(), samples)?;
    let seed = settings.seed as u64;
    let mut layers = vec![];
    let mut width = encoding.outputs();
    for &outputs in &settings.layers {
        let (outputs, stream) = (outputs as usize, layers.len() as u64);
        let kind = if settings.wiring == "unique" { WiringKind::Unique } else { WiringKind::Random };
        let layer = LogicLayer::new(width, outputs, kind, seed, stream)?;
        layers.push(Block::Gates(layer.passing(settings.initial_logit as f32)));
        width = outputs;
    }
    let head = GroupSum::new(width, classes, settings.tau as f32)?;
    Ok(LogicNetwork::new(encoding, layers, head)?.try_to_device(device)?)
}

/// The kept network of a checkpoint, on the CPU.
pub fn open(
    settings: &Settings,
    shape: [usize; 3],
    classes: usize,
    checkpoint: &Checkpoint,
) -> Result<LogicNetwork> {
    let network = build(settings, shape, classes, None, &Device::cpu())?;
    checkpoint.restore_module("best", &network)?;
    Ok(network)
}

fn encoding(settings: &Settings, features: usize, samples: Option<&Part>) -> Result<Thermometer> {
    let thresholds = settings.thresholds as usize;
    let pictures = match samples {
        Some(part) => matches!(part.levels, Levels::Bytes(_)),
        None => settings.task_kind().is_picture(),
    };
    let quantiles = settings.encoding == "quantile" || !pictures;
    let numbers = samples.filter(|_| quantiles).map(Part::numbers);
    let encoding = match (&numbers, quantiles) {
        (Some(numbers), _) => Thermometer::quantiles(features, thresholds, numbers)?,
        (None, true) => Thermometer::quantiles(features, thresholds, &vec![0.0; features])?,
        (None, false) => Thermometer::even(features, thresholds, 0.0, BRIGHTEST)?,
    };
    match settings.encoding == "learned" {
        false => Ok(encoding),
        true => encoding.learned(&match &numbers {
            Some(numbers) => deviations(features, numbers)?,
            None => vec![NEAR; features],
        }),
    }
}

/// The standard deviation of every feature.
fn deviations(features: usize, numbers: &[f32]) -> Result<Vec<f32>> {
    let rows = numbers.len() / features;
    if rows == 0 {
        return Err(Error::FewSamples { samples: 0 });
    }
    let deviation = |feature: usize| {
        let column = || numbers[feature..].iter().step_by(features).map(|&x| f64::from(x));
        let mean = column().sum::<f64>() / rows as f64;
        (column().map(|x| (x - mean).powi(2)).sum::<f64>() / rows as f64).sqrt() as f32
    };
    Ok((0..features).map(deviation).collect())
}
