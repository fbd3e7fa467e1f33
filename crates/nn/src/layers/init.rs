//! What parameters begin with: Xavier's and He's rules, orthogonal matrices, plain distributions.
//!
//! Invariant: numbers are drawn from the CPU's random numbers, so the same seed
//! (`farad::seed(1)`) gives the same parameters on every device. Start at [`he_normal`] or [`xavier_uniform`].

use super::Parameter;
use crate::error::Result;
use farad_tensor::Device;
use farad_tensor::Tensor;

/// What a rule keeps the variance of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fan {
    /// Features, going forward: by the number of inputs.
    #[default]
    In,
    /// Gradients, going back: by the number of outputs.
    Out,
}

/// The gain that keeps the variance through a [`leaky_relu`](Tensor::leaky_relu) of this slope; 0 for `relu`.
///
/// ```
/// assert_eq!(farad::nn::init::gain(0.0), 2f64.sqrt());
/// ```
pub fn gain(slope: f64) -> f64 {
    (2.0 / (1.0 + slope * slope)).sqrt()
}

/// Every element this number.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init;
/// let layer = Linear::new(2, 2);
/// init::constant(layer.bias.as_ref().unwrap(), 0.5)?;
/// assert_eq!(layer.bias.unwrap().value().to_vec::<f32>()?, [0.5, 0.5]);
/// # Ok::<(), farad::Error>(())
/// ```
pub fn constant(parameter: &Parameter, number: f64) -> Result<()> {
    put(parameter, Tensor::full(number, parameter.value().shape(), &Device::cpu()))
}

/// Uniform between two numbers.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init;
/// let layer = Linear::new(4, 4);
/// init::uniform(&layer.weight, 1.0, 2.0)?;
/// assert!(layer.weight.value().to_vec::<f32>()?.iter().all(|x| (1.0..=2.0).contains(x)));
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn uniform(parameter: &Parameter, low: f64, high: f64) -> Result<()> {
    put(parameter, Tensor::rand(parameter.value().shape(), &Device::cpu()) * (high - low) + low)
}

/// Normal with this mean and deviation.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init;
/// let layer = Linear::new(64, 64);
/// init::normal(&layer.weight, 3.0, 0.1)?;
/// assert!((layer.weight.value().mean().item()? - 3.0).abs() < 0.01);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn normal(parameter: &Parameter, mean: f64, deviation: f64) -> Result<()> {
    put(parameter, Tensor::randn(parameter.value().shape(), &Device::cpu()) * deviation + mean)
}

/// Normal with this mean and deviation, drawn again until it lies between two numbers.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init;
/// let layer = Linear::new(16, 16);
/// init::truncated_normal(&layer.weight, 0.0, 1.0, -0.5, 1.0)?;
/// assert!(layer.weight.value().to_vec::<f32>()?.iter().all(|x| (-0.5..=1.0).contains(x)));
/// # Ok::<(), farad::Error>(())
/// ```
///
/// # Panics
/// If next to nothing of the distribution lies between the two.
#[track_caller]
pub fn truncated_normal(parameter: &Parameter, mean: f64, deviation: f64, low: f64, high: f64) -> Result<()> {
    let shape = parameter.value().shape();
    let mut kept: Vec<f32> = Vec::with_capacity(shape.numel());
    for _ in 0..MOST_ROUNDS {
        let missing = shape.numel() - kept.len();
        if missing == 0 {
            break;
        }
        let drawn =
            (Tensor::randn([missing.max(LEAST_DRAWN)], &Device::cpu()) * deviation + mean).to_vec::<f32>()?;
        kept.extend(drawn.into_iter().filter(|&x| (low..=high).contains(&f64::from(x))).take(missing));
    }
    assert!(
        kept.len() == shape.numel(),
        "truncated_normal: next to nothing of mean {mean} and deviation {deviation} lies between {low} and {high} ({} vs {})",
        kept.len(),
        shape.numel()
    );
    put(parameter, Tensor::try_from_vec(&kept, shape, &Device::cpu())?)
}

/// Draws of a truncated distribution before it is given up.
const MOST_ROUNDS: usize = 1000;
/// Numbers drawn at once at least.
const LEAST_DRAWN: usize = 256;

/// Xavier's rule: uniform, variance `2 gain² / (inputs + outputs)`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init;
/// let layer = Linear::new(30, 30);
/// init::xavier_uniform(&layer.weight, 1.0)?;
/// let bound = (6f32 / 60.0).sqrt();
/// assert!(layer.weight.value().to_vec::<f32>()?.iter().all(|x| x.abs() <= bound));
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn xavier_uniform(parameter: &Parameter, gain: f64) -> Result<()> {
    let bound = 3f64.sqrt() * xavier(parameter, gain);
    uniform(parameter, -bound, bound)
}

/// Xavier's rule: normal, variance `2 gain² / (inputs + outputs)`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init;
/// let layer = Linear::new(100, 100);
/// init::xavier_normal(&layer.weight, 1.0)?;
/// assert!((layer.weight.value().square().mean().item()? - 0.01).abs() < 1e-3);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn xavier_normal(parameter: &Parameter, gain: f64) -> Result<()> {
    normal(parameter, 0.0, xavier(parameter, gain))
}

/// He's rule: uniform, variance `gain² / fan`; see [`gain`].
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init::{self, Fan};
/// let layer = Conv2d::new(3, 8, 3);
/// init::he_uniform(&layer.weight, Fan::In, init::gain(0.0))?;
/// let bound = (6f32 / 27.0).sqrt();
/// assert!(layer.weight.value().to_vec::<f32>()?.iter().all(|x| x.abs() <= bound));
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn he_uniform(parameter: &Parameter, fan: Fan, gain: f64) -> Result<()> {
    let bound = 3f64.sqrt() * he(parameter, fan, gain);
    uniform(parameter, -bound, bound)
}

/// He's rule: normal, variance `gain² / fan`; see [`gain`].
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init::{self, Fan};
/// let layer = Linear::new(200, 100);
/// init::he_normal(&layer.weight, Fan::In, init::gain(0.0))?;
/// assert!((layer.weight.value().square().mean().item()? - 0.01).abs() < 1e-3);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn he_normal(parameter: &Parameter, fan: Fan, gain: f64) -> Result<()> {
    normal(parameter, 0.0, he(parameter, fan, gain))
}

/// A random orthogonal matrix times the gain: rows of `[outputs, ..]` are orthonormal, or columns if there are more
/// rows than columns.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::init;
/// let layer = Linear::new(5, 3);
/// init::orthogonal(&layer.weight, 1.0)?;
/// let w = layer.weight.value();
/// let products = w.matmul(&w.transpose(0, 1)).to_vec::<f32>()?;
/// assert!((products[0] - 1.0).abs() < 1e-5 && products[1].abs() < 1e-5);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn orthogonal(parameter: &Parameter, gain: f64) -> Result<()> {
    let shape = parameter.value().shape();
    check_rank("orthogonal", parameter);
    let (rows, columns) = (shape[0], shape[1..].iter().product::<usize>());
    let (count, long) = (rows.min(columns), rows.max(columns));
    let drawn = Tensor::randn([count, long], &Device::cpu()).to_vec::<f32>()?;
    let mut vectors: Vec<Vec<f64>> =
        drawn.chunks(long.max(1)).map(|row| row.iter().map(|&x| x as f64).collect()).collect();
    orthonormalize(&mut vectors);
    let element = |row: usize, column: usize| match rows <= columns {
        true => vectors[row][column],
        false => vectors[column][row],
    };
    let all: Vec<f32> =
        (0..rows * columns).map(|at| (gain * element(at / columns, at % columns)) as f32).collect();
    put(parameter, Tensor::try_from_vec(&all, shape, &Device::cpu())?)
}

/// Gram and Schmidt, twice: once leaves what rounding left of the others.
fn orthonormalize(vectors: &mut [Vec<f64>]) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    for at in 0..vectors.len() {
        let (done, rest) = vectors.split_at_mut(at);
        let own = &mut rest[0];
        for _ in 0..2 {
            for other in done.iter() {
                let part = dot(own, other);
                own.iter_mut().zip(other).for_each(|(x, y)| *x -= part * y);
            }
        }
        let length = dot(own, own).sqrt();
        own.iter_mut().for_each(|x| *x /= length);
    }
}

/// Puts numbers into a parameter, on its device.
fn put(parameter: &Parameter, tensor: Tensor) -> Result<()> {
    parameter.set(tensor.to_device(parameter.value().device())?);
    Ok(())
}

#[track_caller]
fn xavier(parameter: &Parameter, gain: f64) -> f64 {
    let (inputs, outputs) = fans("xavier", parameter);
    gain * (2.0 / (inputs + outputs) as f64).sqrt()
}

#[track_caller]
fn he(parameter: &Parameter, fan: Fan, gain: f64) -> f64 {
    let (inputs, outputs) = fans("he", parameter);
    gain / (if fan == Fan::In { inputs } else { outputs } as f64).sqrt()
}

/// Inputs and outputs of a weight `[outputs, inputs, kernel..]`.
#[track_caller]
fn fans(op: &str, parameter: &Parameter) -> (usize, usize) {
    check_rank(op, parameter);
    let shape = parameter.value().shape();
    let kernel: usize = shape[2..].iter().product();
    ((shape[1] * kernel).max(1), (shape[0] * kernel).max(1))
}

#[track_caller]
fn check_rank(op: &str, parameter: &Parameter) {
    let shape = parameter.value().shape();
    assert!(
        shape.rank() >= 2,
        "{op}: weights have inputs and outputs: {shape} ({} vs at least 2)",
        shape.rank()
    );
}
