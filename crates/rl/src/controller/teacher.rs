//! Teachers of circuits, and the lessons: states of the task with the teacher's actions.

use std::sync::Arc;

use farad::{DType, Device, Result, Tensor, repeat};

use crate::environment::Environment;
use crate::environments::{CartPole, Pendulum};
use crate::episodes::{Actor, Agents, returns};
use crate::evolution::{Cma, EvolutionSettings};
use crate::shac::Shac;
use crate::train::{NamedWorld, ReturnScore, Settings};

/// Most generations, and the mean return at which to stop.
const GENERATIONS: usize = 100;
const ENOUGH: f32 = 499.0;
/// Worlds and steps from which samples are collected.
const WORLDS: usize = 64;
const STEPS: usize = 256;
/// Fraction of actions that are flipped, so that the lessons include states that the teacher would avoid.
const TURNED: f64 = 0.2;
/// Fraction of steps after which a pendulum begins again, so that few lessons are about standing still.
const AGAIN: f64 = 0.02;
/// The mean return at which to stop teaching the teacher of the pendulum.
const ENOUGH_SWINGING: f64 = -150.0;

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

/// The teacher's observations, and its actions as output bits, the first one lowest.
#[derive(Clone)]
pub(super) struct Lessons {
    pub seen: Vec<Vec<f64>>,
    pub wanted: Vec<u32>,
}

/// `[.., numbers]` as rows.
fn rows(seen: &Tensor) -> Result<Vec<Vec<f64>>> {
    let width = seen.shape()[seen.rank() - 1];
    Ok(seen.to_vec::<f32>()?.chunks(width).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect())
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
    let wanted = slices[1].to_vec::<f32>()?;
    Ok(Lessons {
        seen: rows(&slices[0])?,
        wanted: wanted.iter().map(|&wanted| u32::from(wanted == 1.0)).collect(),
    })
}

/// A policy that swings the pendulum up, learned from a seed: the best that was seen.
fn swinging_teacher(seed: u64, device: &Device) -> Result<Agents> {
    let world = NamedWorld::of("pendulum").expect("a row");
    let settings = Settings::new(world, "shac");
    farad::seed(seed);
    device.seed(seed);
    let updates = settings.updates;
    let mut shac = Shac::new(Arc::new(Pendulum), settings.shac, settings.ppo, 1, updates, device)?;
    let (mut best, mut kept) = (f64::NEG_INFINITY, shac.agents().detach()?);
    for update in 1..=updates {
        shac.update()?;
        if update % 10 == 0 {
            let score = ReturnScore::of(&Pendulum, &shac.agents(), WORLDS, seed, device)?[0].mean();
            if score > best {
                (best, kept) = (score, shac.agents().detach()?);
            }
            if best >= ENOUGH_SWINGING {
                break;
            }
        }
    }
    Ok(kept)
}

/// States that this teacher reaches when some of its torques are replaced and some pendulums begin again, with what it
/// intended: the number of bits that are set is the nearest torque.
pub(super) fn swinging_lessons(seed: u64, bits: usize) -> Result<Lessons> {
    let device = Device::cpu();
    let teacher = swinging_teacher(seed, &device)?;
    device.seed(seed);
    let state = Pendulum.begin(WORLDS, &device);
    let (_, slices) = repeat(STEPS, &state.iter().collect::<Vec<_>>(), |state, _| {
        let seen = Pendulum.observe(state);
        let wanted = teacher.act(&seen);
        let any = Tensor::rand(wanted.shape(), &device) * 2.0 - 1.0;
        let done = Tensor::random_mask(TURNED, wanted.shape(), &device).select(&any, &wanted);
        let next = Pendulum.step(state, &done);
        let again = Tensor::random_mask(AGAIN, [WORLDS], &device);
        let fresh = Pendulum.begin(WORLDS, &device);
        let starts = |(new, old): (&Tensor, &Tensor)| again.select(new, old);
        (fresh.iter().zip(&next.state).map(starts).collect(), vec![seen, wanted])
    });
    let set = |torque: f32| ((f64::from(torque) + 1.0) / 2.0 * bits as f64).round().max(0.0) as u32;
    let wanted = slices[1].to_vec::<f32>()?.into_iter().map(|torque| (1 << set(torque)) - 1).collect();
    Ok(Lessons { seen: rows(&slices[0])?, wanted })
}
