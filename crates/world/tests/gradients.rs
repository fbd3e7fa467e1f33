//! Gradients through time, in f64, compared with finite differences.

use farad_tensor::{Device, Tensor, check};
use farad_world::{Description, RolloutOptions, WORLDS, World, WorldState};

const STEPS: usize = 50;

fn described(name: &str, substeps: usize) -> World {
    let row = WORLDS.iter().find(|row| row.name == name).expect("a row");
    let mut description = Description::from_json(row.json).expect("it is read");
    description.substeps = substeps;
    World::new(&description, &Device::cpu()).expect("it is made")
}

/// The deviation of the gradients, with respect to the initial velocities and all actions, from finite
/// differences after fifty steps.
fn disagreement(world: &World, start: &WorldState, options: &RolloutOptions) -> f64 {
    let device = world.device();
    let actions = Tensor::rand_at(5, 0, [STEPS, 1, world.motors()], device) - 0.5;
    let inputs = [start.velocity.clone(), start.spin.clone(), actions];
    let motors = world.motors();
    let inputs = if motors == 0 { &inputs[..2] } else { &inputs[..] };
    let found = check::gradients(inputs, |inputs| {
        let start = WorldState { velocity: inputs[0].clone(), spin: inputs[1].clone(), ..start.clone() };
        let none = Tensor::zeros([STEPS, 1, 0], device);
        let end = world.rollout(&start, inputs.get(2).unwrap_or(&none), options).last;
        // Large, so that the comparison is relative.
        (end.position.square().sum() + end.velocity.square().sum() + end.rotation.sum()) * 100.0
    })
    .expect("it is computed");
    println!(
        "{}: slope {:.6}, gradient {:.6}, off by {:.2e}",
        world.description().name,
        found.slope,
        found.gradient,
        found.error()
    );
    assert!(found.slope.abs() > 1.0, "{found:?}");
    found.error()
}

#[test]
fn fifty_steps_without_contact() {
    for (name, substeps) in [("pendulum", 2), ("double-pendulum", 4), ("cart-pole", 2), ("swimmer", 2)] {
        let world = described(name, substeps);
        let off = disagreement(&world, &world.reset(1, 1), &RolloutOptions::default());
        assert!(off < 1e-3, "{name}: {off}");
    }
}

#[test]
fn fifty_steps_in_space_without_contact() {
    let row = WORLDS.iter().find(|row| row.name == "quadruped").expect("a row");
    let mut description = Description::from_json(row.json).expect("it is read");
    (description.substeps, description.iterations, description.planes) = (1, 1, vec![]);
    let world = World::new(&description, &Device::cpu()).expect("it is made");
    let off = disagreement(&world, &world.reset(1, 1), &RolloutOptions::default());
    assert!(off < 1e-3, "{off}");
}

#[test]
fn fifty_steps_with_contact() {
    for (name, substeps) in [("rolling-sphere", 2), ("hopper", 2)] {
        let world = described(name, substeps);
        let off = disagreement(&world, &world.reset(1, 1), &RolloutOptions::default());
        assert!(off < 1e-2, "{name}: {off}");
    }
}

#[test]
fn computing_states_again_changes_no_gradient_and_cutting_does() {
    let world = described("pendulum", 2);
    let start = world.reset(1, 1);
    let actions = Tensor::zeros([STEPS, 1, 1], world.device());
    let slope = |options: &RolloutOptions| -> Vec<f32> {
        let end = world.rollout(&start, &actions, options).last;
        end.position.sum().gradient(&actions).expect("a path").to_vec().expect("a read")
    };
    let whole = slope(&RolloutOptions::default());
    let again = slope(&RolloutOptions { checkpoint: Some(8), ..RolloutOptions::default() });
    whole.iter().zip(&again).for_each(|(a, b)| assert!((a - b).abs() < 1e-6 + 1e-4 * a.abs(), "{a} {b}"));
    let short = slope(&RolloutOptions { truncate: Some(10), ..RolloutOptions::default() });
    assert!(short[..40].iter().all(|&g| g == 0.0), "{short:?}");
    whole[40..].iter().zip(&short[40..]).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{a} {b}"));
}
