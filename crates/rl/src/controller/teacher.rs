//! The teacher of a circuit, and the lessons: states of the task with the teacher's actions.

use std::sync::Arc;

use farad::{DType, Device, Result, Tensor, repeat};

use crate::environment::Environment;
use crate::environments::CartPole;
use crate::episodes::{Actor, Agents, returns};
use crate::evolution::{Cma, EvolutionSettings};

/// Most generations, and the mean return at which to stop.
const GENERATIONS: usize = 100;
const ENOUGH: f32 = 499.0;
/// Worlds and steps from which samples are collected.
const WORLDS: usize = 64;
const STEPS: usize = 256;
/// Fraction of actions that are flipped, so that the lessons include states that the teacher would avoid.
const TURNED: f64 = 0.2;

/// A small policy that holds the pole, evolved from a seed.
pub(super) fn teacher(seed: u64) -> Result<Agents> {
    let device = Device::cpu();
    farad::seed(seed);
    let settings =
        EvolutionSettings { policy: vec![], population: 16, trials: 8, ..EvolutionSettings::default() };
    let mut cma = Cma::new(Arc::new(CartPole), settings, 1, seed, &device)?;
    for generation in 0..GENERATIONS {
        cma.update()?;
        if generation % 5 == 4 {
            let [totals, _] = returns(&CartPole, &cma.agents(), WORLDS, &device);
            if totals.mean().item()? >= ENOUGH {
                break;
            }
        }
    }
    cma.agents().detach()
}

/// The teacher's observations and actions.
pub(super) struct Lessons {
    pub seen: Vec<Vec<f64>>,
    pub right: Vec<bool>,
}

/// States that the teacher reaches when some of its actions are flipped, with the action that it intended.
pub(super) fn lessons(teacher: &Agents, seed: u64) -> Result<Lessons> {
    let device = Device::cpu();
    device.seed(seed);
    let state = CartPole.begin(WORLDS, &device);
    let (_, slices) = repeat(STEPS, &state.iter().collect::<Vec<_>>(), |state, _| {
        let seen = CartPole.observe(state);
        let wanted = teacher.act(&seen);
        let turned = Tensor::random_mask(TURNED, [WORLDS], &device);
        let done = turned.select(&(1.0 - &wanted), &wanted).cast(DType::I32);
        let next = CartPole.step(state, &done);
        let fresh = CartPole.begin(WORLDS, &device);
        let starts = |(new, old): (&Tensor, &Tensor)| next.ended.unsqueeze(1).select(new, old);
        (fresh.iter().zip(&next.state).map(starts).collect(), vec![seen, wanted.cast(DType::F32)])
    });
    let (seen, wanted) = (slices[0].to_vec::<f32>()?, slices[1].to_vec::<f32>()?);
    let seen = seen.chunks(4).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect();
    Ok(Lessons { seen, right: wanted.iter().map(|&wanted| wanted == 1.0).collect() })
}
