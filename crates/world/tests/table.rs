//! Every built-in world can be read, runs, stays finite, and can be observed.

use farad_tensor::{Device, Tensor, scan};
use farad_world::{Description, RolloutOptions, WORLDS, World, WorldState};

#[test]
fn every_world_runs_with_random_actions() {
    for row in WORLDS {
        let device = Device::cpu();
        let description = Description::from_json(row.json).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        assert_eq!(description.name, row.name);
        assert_eq!(Description::from_json(&description.to_json()).expect("its own text"), description);
        let world = World::new(&description, &device).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        let (steps, worlds) = (60, 4);
        let actions = Tensor::rand_at(1, 0, [steps, worlds, world.motors()], &device) * 2.0 - 1.0;
        let clock = std::time::Instant::now();
        let rollout = world.rollout(&world.reset(worlds, 3), &actions, &RolloutOptions::states());
        world.check_rollout(&rollout).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        let first = clock.elapsed();
        let drift = world.drift(&rollout.last).max().item().expect("a read");
        let seen = world.observe(&rollout.last);
        assert_eq!(seen.shape()[..], [worlds, world.observations()], "{}", row.name);
        let seen = seen.to_vec::<f32>().expect("a read");
        assert!(seen.iter().all(|v| v.is_finite()), "{}: {seen:?}", row.name);
        println!("{}: {first:?}, drift {:.3} mm, {} contacts", row.name, drift * 1e3, world.contacts());
        assert!(drift < 2e-3, "{}: drift {drift}", row.name);
    }
}

#[test]
fn steps_a_roll_out_and_a_policy_come_to_the_same() {
    for name in ["cart-pole", "hopper"] {
        let world = World::named(name, &Device::cpu()).expect("a row");
        let start = world.reset(3, 2);
        let act = |seen: &Tensor| (seen.narrow(1, 1, 1) * 0.3).broadcast_to([3, world.motors()]);
        let driven = world.rollout_with(&start, 6, act);
        let again = world.rollout(&start, &driven.actions, &RolloutOptions::default()).last;
        let mut state = start.clone();
        for _ in 0..6 {
            state = world.step(&state, &act(&world.observe(&state)));
        }
        for (other, what) in [(&again, "roll-out"), (&state, "steps")] {
            let (a, b) = (driven.last.position.to_vec::<f32>(), other.position.to_vec::<f32>());
            let (a, b) = (a.expect("a read"), b.expect("a read"));
            a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{name}, {what}: {a} {b}"));
        }
        let end = driven.states.position.narrow(0, 5, 1).squeeze(0).to_vec::<f32>().expect("a read");
        assert_eq!(end, driven.last.position.to_vec::<f32>().expect("a read"), "{name}");
    }
}

#[test]
fn starts_differ_and_hold_together_and_worlds_start_again() {
    let world = World::named("hopper", &Device::cpu()).expect("a row");
    let (a, b) = (world.reset(4, 1), world.reset(4, 2));
    assert!(world.drift(&a).max().item().expect("a read") < 1e-6);
    let read = |t: &Tensor| t.to_vec::<f32>().expect("a read");
    assert_ne!(read(&a.position), read(&b.position));
    assert_eq!(read(&a.position), read(&world.reset(4, 1).position));
    let mask = Tensor::from_vec(vec![false, true, false, false], [4], world.device());
    let mixed = a.replaced(&mask, &b);
    assert_eq!(read(&mixed.world(1).position), read(&b.world(1).position));
    assert_eq!(read(&mixed.world(2).position), read(&a.world(2).position));
}

#[test]
fn a_step_is_the_body_of_a_loop() {
    for name in ["cart-pole", "swimmer"] {
        let world = World::named(name, &Device::cpu()).expect("a row");
        let start = world.reset(3, 2);
        let actions = Tensor::rand_at(4, 0, [5, 3, world.motors()], world.device()) - 0.5;
        let (last, seen) = scan(&start.tensors(), &[&actions], |carries, slices| {
            let next = world.step(&WorldState::from_tensors(carries), &slices[0]);
            let seen = world.observe(&next);
            (next.tensors().map(Tensor::clone).to_vec(), vec![seen])
        });
        assert_eq!(seen[0].shape()[..], [5, 3, world.observations()]);
        let other = world.rollout(&start, &actions, &RolloutOptions::default()).last;
        let (a, b) =
            (last[0].to_vec::<f32>().expect("a read"), other.position.to_vec::<f32>().expect("a read"));
        a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{name}: {a} {b}"));
    }
}
