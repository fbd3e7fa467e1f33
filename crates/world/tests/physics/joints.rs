//! Pendulums: periods, energy, drift.

use super::{run, track, world};
use farad_tensor::Device;
use farad_world::World;

/// The times at which a list goes up through zero, between its entries.
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
