//! Every world of the table: it is read, runs, stays whole, and is observed.

use farad_tensor::{Device, Tensor};
use farad_world::{Description, RolloutOptions, WORLDS, World};

#[test]
fn every_world_runs_with_random_actions() {
    for row in WORLDS {
        let device = Device::cpu();
        let description = Description::from_json(row.json).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        assert_eq!(description.name, row.name);
        assert_eq!(Description::from_json(&description.to_json()).expect("its own text"), description);
        let world = World::new(&description, &device).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        let (steps, worlds) = (200, 4);
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
