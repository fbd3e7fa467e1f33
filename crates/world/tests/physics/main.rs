//! What worlds must reproduce: periods, bounces, friction, stacks, energy, momentum, drift.

mod contacts;
mod joints;

use farad_tensor::{Device, Tensor};
use farad_world::{Description, Rollout, RolloutOptions, World, WorldState};

/// A world from JSON, on the CPU.
pub fn world(json: &str) -> World {
    let description = Description::from_json(json).unwrap_or_else(|e| panic!("{e}"));
    World::new(&description, &Device::cpu()).unwrap_or_else(|e| panic!("{e}"))
}

/// A roll-out without actions that keeps its states.
pub fn run(world: &World, start: &WorldState, steps: usize) -> Rollout {
    let actions = Tensor::zeros([steps, start.worlds(), world.motors()], world.device());
    let rollout = world.rollout(start, &actions, &RolloutOptions::states());
    world.check_rollout(&rollout).unwrap_or_else(|e| panic!("{e}"));
    rollout
}

/// A component of a body of world 0 at every step.
pub fn track(tensor: &Tensor, body: usize, part: usize) -> Vec<f64> {
    let own = tensor.narrow(1, 0, 1).narrow(2, body, 1).narrow(3, part, 1);
    own.to_vec::<f32>().expect("a read").into_iter().map(f64::from).collect()
}
