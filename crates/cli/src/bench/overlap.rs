//! `farad bench --group`, second part: how much of the reductions the backward pass hides, and what moving gradients between a
//! device and the host costs.
//!
//! Ranks train a small transformer, each on tokens of its own, in several modes. Without reductions ranks compute beside each
//! other, so they compete for the device as they do with them. A share is hidden as far as overlap saves what reductions
//! cost otherwise: (after - beside) / (after - alone).

use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

use farad::group::{Combine, Group, WireFormat};
use farad::optim::RankOptions;
use farad::prelude::*;
use farad_lm::Transformer;

use super::gpt::GptSize;
use super::hardware::Hardware;
use crate::error::Result;

/// Steps before the first that is timed, and steps that are.
const WARM_UP: usize = 3;
const TIMED: usize = 9;
/// Bytes that are staged at once.
const STAGED: usize = 16 << 20;

/// A model that has a few megabytes of gradients on the CPU, a hundred on a GPU.
const SMALL: GptSize = GptSize { layers: 4, heads: 4, width: 128, time: 32, batch: 4, vocabulary: 512 };
const LARGE: GptSize = GptSize { layers: 8, heads: 8, width: 512, time: 256, batch: 8, vocabulary: 2048 };

/// One rank after another draws its weights.
static DRAWING: Mutex<()> = Mutex::new(());

/// How ranks train.
struct OverlapMode {
    name: &'static str,
    /// None: each alone, beside the others.
    options: Option<RankOptions>,
}

const BESIDE: RankOptions =
    RankOptions { wire: WireFormat::Full, sharded: false, overlaps: true, bucket_bytes: None };

/// The modes, in the order in which they are timed; the first three give the share that is hidden.
const MODES: [OverlapMode; 5] = [
    OverlapMode { name: "alone", options: None },
    OverlapMode { name: "after", options: Some(RankOptions { overlaps: false, ..BESIDE }) },
    OverlapMode { name: "beside", options: Some(BESIDE) },
    OverlapMode { name: "f16", options: Some(RankOptions { wire: WireFormat::Half, ..BESIDE }) },
    OverlapMode { name: "sharded", options: Some(RankOptions { sharded: true, ..BESIDE }) },
];

/// What was found.
pub struct Overlap {
    /// Modes and seconds of a step, of the slowest rank.
    pub steps: Vec<(&'static str, f64)>,
    /// Bytes of gradients.
    pub bytes: usize,
    /// Whether all ranks had the same weights after every mode, and overlap changed no bit.
    pub is_right: bool,
    /// How far the weights are from those of one rank with the batches of all, of their norm; on the first rank.
    pub apart: f64,
    /// Seconds per byte: from the device, and to it.
    pub staging: [f64; 2],
}

impl Overlap {
    /// The share of the reductions' time that overlap hides; none where they cost nothing.
    pub fn hidden(&self) -> Option<f64> {
        let [alone, after, beside] = [0, 1, 2].map(|n| self.steps[n].1);
        (after > alone).then(|| (after - beside) / (after - alone))
    }
}

/// Times all modes on this rank's device.
pub fn run(group: &Group, device: &Device) -> Result<Overlap> {
    let size = if Hardware::of(device).small() { SMALL } else { LARGE };
    let (mut steps, mut weights, mut is_right) = (Vec::new(), Vec::new(), true);
    for mode in &MODES {
        let trained = train(group, device, size, mode, group.rank()..group.rank() + 1)?;
        let mut slowest = [trained.seconds];
        group.all_reduce(&mut slowest, Combine::Max)?;
        steps.push((mode.name, slowest[0]));
        let all = group.all_gather(&[sum_of_bits(&trained.weights)])?.concat();
        is_right &= mode.options.is_none() || all.iter().all(|sum| *sum == all[0]);
        weights.push(trained.weights);
    }
    is_right &= weights[1] == weights[2];
    let (staging, bytes) = (staging(device)?, size_of_val(&weights[0][..]));
    // One rank with the batches of all, while the others wait.
    let mut apart = 0.0;
    if group.is_first() {
        let alone = train(&Group::alone(), device, size, &MODES[0], 0..group.size())?;
        apart = distance(&weights[2], &alone.weights);
    }
    group.barrier()?;
    Ok(Overlap { steps, bytes, is_right, apart, staging })
}

/// How far numbers are from others, of their norm.
fn distance(found: &[f32], wanted: &[f32]) -> f64 {
    let norm = |all: &mut dyn Iterator<Item = f64>| all.map(|x| x * x).sum::<f64>().sqrt();
    let apart = norm(&mut found.iter().zip(wanted).map(|(a, b)| f64::from(a - b)));
    apart / norm(&mut wanted.iter().map(|&b| f64::from(b)))
}

/// A number that differs where a bit does.
fn sum_of_bits(numbers: &[f32]) -> u64 {
    numbers.iter().fold(0, |sum: u64, number| sum.rotate_left(5) ^ u64::from(number.to_bits()))
}

/// A mode on one rank.
struct TimedTraining {
    /// The median of a step.
    seconds: f64,
    weights: Vec<f32>,
}

/// Some steps with the batches of these ranks.
fn train(
    group: &Group,
    device: &Device,
    size: GptSize,
    mode: &OverlapMode,
    batches: Range<usize>,
) -> Result<TimedTraining> {
    let model = {
        // Ranks that are threads draw from one stream.
        let _drawing = DRAWING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        farad::seed(1);
        Transformer::new(&size.options()).expect("the sizes are sound").try_to_device(device)?
    };
    let adam = AdamW::new(model.parameters()).learning_rate(3e-4).clip(farad::optim::Clip::Norm(1.0));
    let mut adam = match mode.options {
        Some(options) => adam.distributed_with(group, options)?,
        None => adam,
    };
    let draw = |salt: usize| {
        let count = size.batch * size.time;
        let of_rank = |rank: usize| {
            (0..count).map(move |n| (n * 7919 + salt + 1_009 * rank) * 104_729 / 31 % size.vocabulary)
        };
        let tokens: Vec<i32> = batches.clone().flat_map(of_rank).map(|n| n as i32).collect();
        Tensor::from_vec(tokens, [batches.len() * size.batch, size.time], device)
    };
    let (tokens, next) = (draw(1), draw(77));
    let mut times = Vec::with_capacity(TIMED);
    for n in 0..WARM_UP + TIMED {
        device.wait()?;
        group.barrier()?;
        let start = Instant::now();
        adam.step(&model.loss(&tokens, &next))?;
        device.wait()?;
        if n >= WARM_UP {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    let values = model.parameters().into_iter().map(|parameter| parameter.value().to_vec::<f32>());
    let weights = values.collect::<farad::Result<Vec<_>>>()?.concat();
    Ok(TimedTraining { seconds: times[TIMED / 2], weights })
}

/// Seconds per byte of a read and of an upload.
fn staging(device: &Device) -> Result<[f64; 2]> {
    let numbers = vec![1.0f32; STAGED / size_of::<f32>()];
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..TIMED {
        let start = Instant::now();
        let there = Tensor::try_from_vec(&numbers, [numbers.len()], device)?;
        device.wait()?;
        seconds[1].push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let back = bytes_of(&there)?;
        seconds[0].push(start.elapsed().as_secs_f64());
        assert_eq!(back.len(), STAGED, "bench: all bytes come back");
    }
    Ok(seconds.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[TIMED / 2] / STAGED as f64
    }))
}

fn bytes_of(tensor: &Tensor) -> farad::Result<Vec<u8>> {
    Ok(tensor.read()?.wait()?)
}
