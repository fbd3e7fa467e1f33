//! Pendulums: periods, energy, drift.

use super::{run, track, world};
use farad_tensor::{Device, Tensor};
use farad_world::{RolloutOptions, World, WorldState};

/// The times at which a sampled function crosses zero upward, interpolated.
fn crossings(list: &[f64], step: f64) -> Vec<f64> {
    let pairs = list.windows(2).enumerate();
    pairs
        .filter(|(_, w)| w[0] < 0.0 && w[1] >= 0.0)
        .map(|(n, w)| (n as f64 + w[0] / (w[0] - w[1])) * step)
        .collect()
}

#[test]
fn the_period_of_a_pendulum() {
    // A rod of length 1 that hangs from its end, 0.1 rad off.
    let rod = r#"{"version": 1, "name": "rod", "dimensions": 2, "time_step": 0.01, "substeps": 2,
        "bodies": [{"name": "rod", "position": [0.04991670832341408, -0.4975020826390129], "rotation": [0.1],
            "solids": [{"shape": "box", "half": [0.02, 0.5], "mass": 1.0}]}],
        "joints": [{"name": "pivot", "kind": "hinge", "child": "rod", "anchor": [0, 0]}]}"#;
    let world = world(rod);
    let states = run(&world, &world.reset(1, 0), 1000).states.expect("kept");
    let times = crossings(&track(&states.position, 0, 0), world.time_step());
    let period = (times[times.len() - 1] - times[0]) / (times.len() - 1) as f64;
    let inertia = (0.02f64.powi(2) + 0.5f64.powi(2)) / 3.0 + 0.25;
    let wanted = std::f64::consts::TAU * (inertia / (9.81 * 0.5)).sqrt() * (1.0 + 0.01 / 16.0);
    println!("period {period:.6} wanted {wanted:.6}");
    assert!((period / wanted - 1.0).abs() < 1e-3, "{period} {wanted}");
}

#[test]
fn the_table_has_a_pendulum() {
    let world = World::named("pendulum", &Device::cpu()).expect("a row");
    let states = run(&world, &world.reset(2, 0), 50);
    assert!(world.drift(&states.last).max().item().expect("a read") < 1e-4);
}

/// A double pendulum of two rods, released from the horizontal.
fn double(substeps: usize, iterations: usize) -> World {
    let rod = |name: &str, x: f64| {
        format!(
            r#"{{"name": "{name}", "position": [{x}, 0], "solids": [{{"shape": "capsule", "radius": 0.05, "half_length": 0.5}}]}}"#
        )
    };
    world(&format!(
        r#"{{"version": 1, "name": "double", "dimensions": 2, "time_step": 0.01, "substeps": {substeps},
        "iterations": {iterations}, "bodies": [{}, {}],
        "joints": [{{"name": "a", "kind": "hinge", "child": "upper", "anchor": [0, 0]}},
            {{"name": "b", "kind": "hinge", "parent": "upper", "child": "lower", "anchor": [1, 0]}}]}}"#,
        rod("upper", 0.5),
        rod("lower", 1.5)
    ))
}

#[test]
fn energy_and_drift_of_a_double_pendulum_against_substeps() {
    for (substeps, energy_bound, drift_bound) in
        [(2, 0.1, 1e-2), (4, 0.03, 4e-3), (8, 0.01, 1e-3), (16, 0.003, 3e-4), (32, 0.002, 1e-4)]
    {
        let world = double(substeps, 1);
        let start = world.reset(1, 0);
        let states = run(&world, &start, 500).states.expect("kept");
        let zero = world.energy(&start).item().expect("a read") as f64;
        // Every step is a separate world now.
        let all = WorldState::from_tensors(&states.tensors().map(|t| t.squeeze(1)));
        let energy = (world.energy(&all) - zero).abs().max().item().expect("a read") as f64;
        let drift = world.drift(&all).max().item().expect("a read") as f64;
        // Two rods of 107.85 kg; their centers fall by half a meter and by one and a half meters.
        let fall = 2.0 * 107.85 * 9.81;
        println!(
            "{substeps} sub-steps: energy {:.5} of the fall, drift {:.3} mm",
            energy / fall,
            drift * 1e3
        );
        assert!(energy / fall < energy_bound, "{substeps}: {energy}");
        assert!(drift < drift_bound, "{substeps}: {drift}");
    }
}

#[test]
fn the_humanoid_holds_together_for_a_thousand_steps() {
    let world = World::named("humanoid", &Device::cpu()).expect("a row");
    assert_eq!((world.bodies(), world.motors()), (16, 21));
    let mut state = world.reset(1, 0);
    for part in 0..5 {
        let actions = Tensor::rand_at(1, part, [200, 1, world.motors()], world.device()) * 2.0 - 1.0;
        let rollout = world.rollout(&state, &actions, &RolloutOptions::states());
        world.check_rollout(&rollout).unwrap_or_else(|e| panic!("{e}"));
        let states = rollout.states.expect("kept");
        // Every step is a separate world now.
        let all = WorldState::from_tensors(&states.tensors().map(|t| t.squeeze(1)));
        let drift = world.drift(&all).max().item().expect("a read");
        println!("steps {} to {}: drift {:.3} mm", part * 200, part * 200 + 200, drift * 1e3);
        assert!(drift < 1e-3, "{drift}");
        state = WorldState::from_tensors(&rollout.last.tensors().map(|t| t.detach().expect("a read")));
    }
}

#[test]
fn slides_stop_at_their_limits_and_motors_of_every_kind_drive() {
    // A block on a slide against its limit, and three arms with a motor of each kind.
    let arm = |name: &str, x: f64| {
        format!(
            r#"{{"name": "{name}", "position": [{x}, 0.5], "solids": [{{"shape": "box", "half": [0.05, 0.5], "mass": 1}}]}}"#
        )
    };
    let hinge = |name: &str, x: f64| {
        format!(
            r#"{{"name": "{name}", "kind": "hinge", "child": "{name}", "anchor": [{x}, 0], "axes": [{{}}]}}"#
        )
    };
    let all = format!(
        r#"{{"version": 1, "name": "motors", "dimensions": 2, "gravity": [0, 0], "time_step": 0.01, "substeps": 4,
        "bodies": [{{"name": "block", "position": [0, 0], "solids": [{{"shape": "box", "half": [0.1, 0.1], "mass": 1}}]}}, {}, {}, {}],
        "joints": [{{"name": "slide", "kind": "slide", "child": "block", "anchor": [0, 0],
            "axes": [{{"axis": [1, 0], "limits": [-1, 0.5], "damping": 1, "limit_stiffness": 10000}}]}}, {}, {}, {}],
        "motors": [{{"name": "push", "joint": "slide", "gear": 10}}, {{"name": "t", "joint": "torque"}},
            {{"name": "p", "joint": "position", "kind": "position", "stiffness": 50, "damping": 10}},
            {{"name": "v", "joint": "velocity", "kind": "velocity", "damping": 20, "gear": 2}}],
        "sensors": [{{"kind": "joint_angle", "joint": "slide"}}, {{"kind": "joint_velocity", "joint": "torque"}},
            {{"kind": "joint_angle", "joint": "position"}}, {{"kind": "joint_velocity", "joint": "velocity"}}]}}"#,
        arm("torque", 2.0),
        arm("position", 4.0),
        arm("velocity", 6.0),
        hinge("torque", 2.0),
        hinge("position", 4.0),
        hinge("velocity", 6.0)
    );
    let world = world(&all);
    let actions = Tensor::from_vec(vec![1.0f32, 0.25, 0.7, 0.5], [1, 1, 4], &Device::cpu());
    let actions = actions.broadcast_to([200, 1, 4]);
    let end = world.rollout(&world.reset(1, 0), &actions, &RolloutOptions::default()).last;
    let seen = world.observe(&end).to_vec::<f32>().expect("a read");
    println!("{seen:?}");
    assert!((seen[0] - 0.501).abs() < 2e-3, "the slide: {}", seen[0]);
    // A quarter of a newton meter for two seconds, about the end of a rod.
    let wanted = 0.25 * 2.0 / ((0.05f32.powi(2) + 0.25) / 3.0 + 0.25);
    assert!((seen[1] / wanted - 1.0).abs() < 0.01, "torque: {} vs {wanted}", seen[1]);
    assert!((seen[2] - 0.7).abs() < 5e-3, "position: {}", seen[2]);
    assert!((seen[3] - 1.0).abs() < 5e-3, "velocity: {}", seen[3]);
}

/// The energy of a mass that orbits on a spring, after ten seconds, relative to the start.
fn orbit(integrator: &str, substeps: usize) -> f64 {
    let world = world(&format!(
        r#"{{"version": 1, "name": "orbit", "gravity": [0, 0, 0], "time_step": 0.02, "substeps": {substeps},
        "integrator": "{integrator}",
        "bodies": [{{"name": "mass", "position": [1, 0, 0], "velocity": [0, 1.5, 0.3], "spin": [0.3, 2, 0.5],
            "solids": [{{"shape": "box", "half": [0.1, 0.05, 0.2], "mass": 1}}]}}],
        "joints": [{{"name": "spring", "kind": "spring", "child": "mass", "anchor": [1, 0, 0], "parent_anchor": [0, 0, 0],
            "stiffness": 10, "length": 0.5}}]}}"#
    ));
    let start = world.reset(1, 0);
    let end = run(&world, &start, 500).last;
    let energy = |state| world.energy(state).item().expect("a read") as f64;
    energy(&end) / energy(&start) - 1.0
}

#[test]
fn smooth_systems_keep_energy_by_either_integrator() {
    let (half, fourth) = (orbit("semi_implicit", 4), orbit("runge_kutta", 1));
    println!("semi-implicit {half:.2e}, runge-kutta {fourth:.2e}");
    assert!(half.abs() < 0.02 && fourth.abs() < 1e-4, "{half} {fourth}");
}

#[test]
fn a_body_that_tumbles_keeps_energy_and_angular_momentum() {
    let world = world(
        r#"{"version": 1, "name": "tumble", "gravity": [0, 0, 0], "time_step": 0.01, "substeps": 4,
        "bodies": [{"name": "plate", "position": [0, 0, 0], "spin": [0.01, 5, 0.02],
            "solids": [{"shape": "box", "half": [0.3, 0.2, 0.05], "mass": 1}]}]}"#,
    );
    let start = world.reset(1, 0);
    let states = run(&world, &start, 1000);
    let turned = track(&states.states.as_ref().expect("kept").spin, 0, 0);
    // About its intermediate axis it flips over, again and again.
    assert!(turned.iter().any(|&spin| spin.abs() > 1.0), "it never turns over");
    let read = |t: Tensor| t.to_vec::<f32>().expect("a read");
    let (a, b) = (read(world.angular_momentum(&start)), read(world.angular_momentum(&states.last)));
    let (e, f) = (read(world.energy(&start))[0], read(world.energy(&states.last))[0]);
    println!("angular momentum {a:?} -> {b:?}, energy {e} -> {f}");
    a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 2e-3 * 0.15, "{a} {b}"));
    assert!((f / e - 1.0).abs() < 0.02, "{e} {f}");
}
