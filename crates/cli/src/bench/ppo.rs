//! PPO on cart-pole, from roll-outs to updates: 256 worlds, 32 steps, 4 passes in 8 parts, networks of 64-64.

use std::sync::Arc;

use farad::prelude::*;
use farad_rl::{CartPole, Ppo, PpoSettings, returns};

use super::case::{CaseWork, Workload};

/// Updates of a whole training: a million steps of a seed.
const UPDATES: u64 = 122;
/// What an agent should return in the end.
const WANTED: f32 = 475.0;
/// Episodes that it is judged on.
const EPISODES: usize = 100;

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

fn trained(seeds: usize, device: &Device) -> farad::Result<Ppo> {
    let mut ppo = begin(seeds, device)?;
    for _ in 0..UPDATES {
        ppo.update()?;
    }
    Ok(ppo)
}

/// How far the median agent is below what it should return, as a share: what broken training cannot reach.
fn error(seeds: usize, device: &Device) -> farad::Result<f64> {
    let ppo = trained(seeds, device)?;
    let [totals, _] = returns(&CartPole, &ppo.agents(), EPISODES, device);
    let mut means = totals.mean_axes([1]).to_vec::<f32>()?;
    means.sort_by(f32::total_cmp);
    Ok(f64::from((WANTED - means[means.len() / 2]).max(0.0) / WANTED))
}
