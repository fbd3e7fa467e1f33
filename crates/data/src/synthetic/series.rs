//! A series over time: a sum of two waves with noise.

use std::f32::consts::TAU;

use crate::{Array, Random, TensorSet};

const SERIES: u32 = 0x7365_0000;

/// Windows of a noisy sum of two waves: inputs `[length, 1]`, targets `[1]`, the value that follows. The waves have
/// periods of 25 and 11 steps; `noise` is the standard deviation of what is added to every value.
///
/// ```
/// use farad::data::{Dataset, sine};
/// assert_eq!(sine(10, 20, 0.0, 1).get(0)?.input.shape()[..], [20, 1]);
/// # Ok::<(), farad::Error>(())
/// ```
pub fn sine(count: usize, length: usize, noise: f64, seed: u64) -> TensorSet {
    let noise = noise as f32;
    let mut random = Random::at(seed, SERIES, 0);
    let phases = [random.uniform(), random.uniform()];
    let clean = |step: usize| {
        let wave = |period: f32, phase: f32| (TAU * (step as f32 / period + phase)).sin();
        0.7 * wave(25.0, phases[0]) + 0.3 * wave(11.0, phases[1])
    };
    let values: Vec<f32> = (0..count + length).map(|step| clean(step) + noise * random.normal()).collect();
    let windows: Vec<f32> = (0..count).flat_map(|n| values[n..n + length].to_vec()).collect();
    let targets = Array::new(values[length..].to_vec(), [count, 1]);
    TensorSet::from_arrays(Array::new(windows, [count, length, 1]), targets).expect("a target a window")
}
