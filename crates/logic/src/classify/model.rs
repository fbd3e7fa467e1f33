//! Networks from settings.

use farad::nn::Module;
use farad::run::Checkpoint;
use farad::train::moments;
use farad::{Device, Need};

use super::data::{HostSamples, Levels};
use super::settings::ClassifierSettings;
use crate::error::{Error, Result};
use crate::network::{
    CompactLayer, GroupSum, LogicLayer, LogicNetwork, NetworkBlock, Reach, Thermometer, TreeShape, Trees,
    WiredLayer, WiringKind,
};

/// The largest level of a picture.
pub const BRIGHTEST: f32 = 255.0;
/// Levels of pictures within this distance count as close, if thresholds are learned.
const NEAR: f32 = 32.0;

/// The network of a run before its first step, on a device. Thresholds are taken from `samples`; without them
/// the network only has the right shape.
pub fn build(
    settings: &ClassifierSettings,
    shape: [usize; 3],
    classes: usize,
    samples: Option<&HostSamples>,
    device: &Device,
) -> Result<LogicNetwork> {
    let encoding = encoding(settings, shape.iter().product(), samples)?;
    let seed = settings.seed as u64;
    let (mut layers, mut width) = stages(settings, shape)?;
    if layers.is_empty() {
        width = encoding.outputs();
    }
    for &outputs in &settings.layers {
        let (outputs, stream) = (outputs as usize, layers.len() as u64);
        layers.push(layer(settings, width, outputs, seed, stream)?);
        width = outputs;
    }
    let head = GroupSum::new(width, classes, settings.tau as f32)?;
    Ok(LogicNetwork::new(encoding, layers, head)?.try_to_device(device)?)
}

/// The least memory that training with these settings needs, without building anything. Trees count by the
/// parameters and outputs of their kernels.
pub fn need(settings: &ClassifierSettings, [_, height, width]: [usize; 3], samples: usize) -> Need {
    let sizes = |sizes: &[i64]| sizes.iter().map(|&size| size as u128).collect::<Vec<_>>();
    let (layers, kernels) = (sizes(&settings.layers), sizes(&settings.kernels));
    let gates: u128 = layers.iter().sum();
    let choices = if settings.wiring == "learned" { 2 * settings.candidates as u128 } else { 0 };
    let largest = layers.iter().max().map_or(0, |most| most * choices.div_ceil(2).max(LOGITS));
    let trees: u128 =
        kernels.iter().map(|kernels| kernels * ((1 << settings.tree_depth.clamp(1, 6)) - 1)).sum();
    let pixels =
        |(n, kernels): (usize, &u128)| kernels * ((height >> n).max(1) * (width >> n).max(1)) as u128;
    let bits = gates + kernels.iter().enumerate().map(pixels).sum::<u128>();
    let batch = (settings.batch as u128).min(samples as u128);
    let need = Need::training(gates * (LOGITS + choices) + trees * LOGITS, moments(&settings.optimizer))
        .largest(largest);
    need.activations(bits.saturating_mul(batch).saturating_mul(4))
}

/// Logits per gate: one per function.
const LOGITS: u128 = 16;

/// A picture between stages.
#[derive(Clone, Copy)]
struct PicturePlane {
    channels: usize,
    /// Bits of a pixel that are adjacent, as in a thermometer code.
    beside: usize,
    height: usize,
    width: usize,
}

/// The stages over windows, and how many bits they output.
fn stages(
    settings: &ClassifierSettings,
    [channels, height, width]: [usize; 3],
) -> Result<(Vec<NetworkBlock>, usize)> {
    let bits = settings.bits();
    let mut plane = PicturePlane { channels: channels * bits, beside: bits, height, width };
    let mut blocks = vec![];
    for stage in 0..settings.kernels.len() {
        let (block, (height, width)) = match settings.wiring.as_str() {
            "resampled" => neurons(settings, stage, plane)?,
            _ => trees(settings, stage, plane)?,
        };
        plane = PicturePlane { channels: settings.kernels[stage] as usize, beside: 1, height, width };
        blocks.push(block);
    }
    Ok((blocks, plane.channels * plane.height * plane.width))
}

/// A stage's number in a list whose last entry applies to all further stages.
fn of_stage(all: &[i64], stage: usize) -> usize {
    all.get(stage).or(all.last()).copied().unwrap_or(1) as usize
}

/// A stage of trees, and the height and width of its output.
fn trees(
    settings: &ClassifierSettings,
    stage: usize,
    plane: PicturePlane,
) -> Result<(NetworkBlock, (usize, usize))> {
    let PicturePlane { channels, beside, height, width } = plane;
    let shape = TreeShape {
        channels,
        beside,
        height,
        width,
        kernels: settings.kernels[stage] as usize,
        depth: settings.tree_depth as usize,
        window: of_stage(&settings.windows, stage),
        padded: of_stage(&settings.tree_padding, stage) != 0,
        reads: settings.tree_channels as usize,
        pool: 2,
    };
    let trees = Trees::new(shape, settings.seed as u64, stage as u64)?;
    let pooled = trees.pooled();
    Ok((NetworkBlock::Trees(trees.passing(settings.initial_logit as f32)), pooled))
}

/// A stage of neurons over windows, and the height and width of its output.
fn neurons(
    settings: &ClassifierSettings,
    stage: usize,
    plane: PicturePlane,
) -> Result<(NetworkBlock, (usize, usize))> {
    let PicturePlane { channels, beside, height, width } = plane;
    let reach = Reach::Window {
        channels,
        beside,
        height,
        width,
        kernels: settings.kernels[stage] as usize,
        window: of_stage(&settings.windows, stage),
        stride: of_stage(&settings.strides, stage),
    };
    let layer = CompactLayer::new(reach, settings.seed as u64, stage as u64)?;
    Ok((NetworkBlock::Compact(layer), reach.grid()))
}

fn layer(
    settings: &ClassifierSettings,
    inputs: usize,
    outputs: usize,
    seed: u64,
    stream: u64,
) -> Result<NetworkBlock> {
    let strength = settings.initial_logit as f32;
    let kind = match settings.wiring.as_str() {
        "learned" => {
            let (candidates, spread) = (settings.candidates as usize, settings.choice_spread as f32);
            let layer = WiredLayer::new(inputs, outputs, candidates, spread, seed, stream)?;
            return Ok(NetworkBlock::Wired(layer.passing(strength)));
        }
        "resampled" => {
            let reach = Reach::All { inputs, neurons: outputs };
            return Ok(NetworkBlock::Compact(CompactLayer::new(reach, seed, stream)?));
        }
        "unique" => WiringKind::Unique,
        _ => WiringKind::Random,
    };
    Ok(NetworkBlock::Gates(LogicLayer::new(inputs, outputs, kind, seed, stream)?.passing(strength)))
}

/// The kept network of a checkpoint, on the CPU.
pub fn open(
    settings: &ClassifierSettings,
    shape: [usize; 3],
    classes: usize,
    checkpoint: &Checkpoint,
) -> Result<LogicNetwork> {
    let network = build(settings, shape, classes, None, &Device::cpu())?;
    checkpoint.restore_module("best", &network)?;
    network.refresh();
    Ok(network)
}

fn encoding(
    settings: &ClassifierSettings,
    features: usize,
    samples: Option<&HostSamples>,
) -> Result<Thermometer> {
    let thresholds = settings.bits();
    let pictures = match samples {
        Some(part) => matches!(part.levels, Levels::Bytes(_)),
        None => settings.task_kind().is_picture(),
    };
    let quantiles = settings.encoding == "quantile" || !pictures;
    let numbers = samples.filter(|_| quantiles).map(HostSamples::numbers);
    let encoding = match (&numbers, quantiles) {
        (Some(numbers), _) => Thermometer::quantiles(features, thresholds, numbers)?,
        (None, true) => Thermometer::quantiles(features, thresholds, &vec![0.0; features])?,
        (None, false) if !settings.levels.is_empty() => {
            let level = |&share: &f64| share as f32 * BRIGHTEST;
            Thermometer::fixed(features, &settings.levels.iter().map(level).collect::<Vec<_>>())?
        }
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
