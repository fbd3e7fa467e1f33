//! Worlds of rigid bodies whose motors are idle, as others time them: all sub-steps of many steps, in one program.

use farad::prelude::*;
use farad_world::{RolloutOptions, World, WorldState};

use super::case::{CaseWork, Workload};

/// Steps of an iteration.
const STEPS: usize = 50;
/// Steps within which joints are looked at, and after how many each time.
const WATCHED: usize = 1000;
/// Millimeters in a meter.
const MILLIMETERS: f64 = 1e3;

/// Steps of a built-in world; an item is a step of a world with all its sub-steps. The error is the largest gap at a joint
/// after every fifty of a thousand steps, in millimeters.
pub fn steps(name: &str, worlds: usize, device: &Device) -> farad::Result<Workload> {
    let (world, other) = (World::named(name, device)?, World::named(name, device)?);
    let (mut state, actions) = begin(&world, worlds)?;
    let iterate = move || {
        let last = world.rollout(&state, &actions, &RolloutOptions::default()).last;
        Tensor::compute_all(&last.tensors())?;
        state = last.detached()?;
        Ok(())
    };
    Ok(Workload {
        iterate: Box::new(iterate),
        error: Box::new(move || gap(&other, worlds)),
        work: CaseWork { items: (worlds * STEPS) as f64, ..CaseWork::default() },
    })
}

/// Starts, and actions of idle motors.
fn begin(world: &World, worlds: usize) -> farad::Result<(WorldState, Tensor)> {
    let actions = Tensor::zeros([STEPS, worlds, world.motors()], world.device());
    Ok((world.reset(worlds, 0).detached()?, actions.detach()?))
}

fn gap(world: &World, worlds: usize) -> farad::Result<f64> {
    let (mut state, actions) = begin(world, worlds)?;
    let mut widest = 0f64;
    for _ in 0..WATCHED / STEPS {
        state = world.rollout(&state, &actions, &RolloutOptions::default()).last.detached()?;
        world.check(&state)?;
        widest = widest.max(f64::from(world.drift(&state).max().item()?));
    }
    Ok(widest * MILLIMETERS)
}
