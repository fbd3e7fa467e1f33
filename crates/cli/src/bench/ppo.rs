//! PPO on cart-pole, from roll-outs to updates: 256 worlds, 32 steps, 4 passes in 8 parts, networks of 64-64.

use std::sync::Arc;

use farad::prelude::*;
use farad_rl::{CartPole, Ppo, PpoSettings};

use super::case::{CaseWork, Workload};

/// Updates of a whole training: a million steps of a seed.
const UPDATES: u64 = 122;
/// What an agent should return in the end.
const WANTED: f32 = 475.0;
/// Updates in the end that it is judged on.
const LAST: usize = 5;

/// Agents before their first update.
fn begin(seeds: usize, device: &Device) -> farad::Result<Ppo> {
    farad::seed(1);
    device.seed(1);
    let settings = PpoSettings { worlds: 256, ..PpoSettings::default() };
    Ppo::new(Arc::new(CartPole), settings, seeds, UPDATES, device)
}

/// Updates one after the other; an item is a step of a world.
pub fn update(seeds: usize, device: &Device) -> farad::Result<Workload> {
    let mut ppo = begin(seeds, device)?;
    let work = CaseWork { items: ppo.steps_per_update() as f64, ..CaseWork::default() };
    let device = device.clone();
    Ok(Workload {
        iterate: Box::new(move || ppo.update().map(drop)),
        error: Box::new(move || error(1, &device)),
        work,
    })
}

/// Whole trainings from the start; an item is a step of a world.
pub fn whole(seeds: usize, device: &Device) -> farad::Result<Workload> {
    let steps = begin(seeds, device)?.steps_per_update() * UPDATES as usize;
    let (device, other) = (device.clone(), device.clone());
    Ok(Workload {
        iterate: Box::new(move || trained(seeds, &device).map(drop)),
        error: Box::new(move || error(seeds, &other)),
        work: CaseWork { items: steps as f64, ..CaseWork::default() },
    })
}

/// What each of the last updates of a training returned.
fn trained(seeds: usize, device: &Device) -> farad::Result<Vec<Tensor>> {
    let mut ppo = begin(seeds, device)?;
    let mut course = Vec::with_capacity(UPDATES as usize);
    for _ in 0..UPDATES {
        course.push(ppo.update()?);
    }
    Ok(course.split_off(course.len() - LAST))
}

/// The mean return of every seed in the last updates: how others' scripts judge.
fn last_returns(seeds: usize, device: &Device) -> farad::Result<Vec<f32>> {
    let last = trained(seeds, device)?;
    let returns: Vec<Tensor> = last.iter().map(|course| course.narrow(1, 1, 1).squeeze(1)).collect();
    Tensor::stack(&returns.iter().collect::<Vec<_>>(), 0).mean_axes([0]).to_vec()
}

/// Of one agent: how far the mean return of its last updates is below what it should be, as a share. Of many: the share of
/// those whose mean return is below.
fn error(seeds: usize, device: &Device) -> farad::Result<f64> {
    let returns = last_returns(seeds, device)?;
    Ok(match returns[..] {
        [one] => f64::from((WANTED - one).max(0.0) / WANTED),
        _ => returns.iter().filter(|&&mean| mean < WANTED).count() as f64 / seeds as f64,
    })
}
