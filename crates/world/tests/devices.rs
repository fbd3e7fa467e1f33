//! The same worlds on the CPU, on a GPU (a software one is enough) and in f64.

use farad_tensor::{Device, Tensor};
use farad_world::{Description, RolloutOptions, WORLDS, World};

const STEPS: usize = 10;

/// Seven rows: large enough for the layout with gathers and sums.
const CHAIN: &str = r#"{"version": 1, "name": "chain", "dimensions": 2, "time_step": 0.01, "substeps": 4,
    "bodies": [
        {"name": "a", "position": [0.5, 0], "solids": [{"shape": "box", "half": [0.5, 0.05]}]},
        {"name": "b", "position": [1.5, 0], "solids": [{"shape": "box", "half": [0.5, 0.05]}]},
        {"name": "c", "position": [2.5, 0], "velocity": [0, 1], "solids": [{"shape": "box", "half": [0.5, 0.05]}]},
        {"name": "d", "position": [3.5, 0], "solids": [{"shape": "box", "half": [0.5, 0.05]}]}],
    "joints": [
        {"name": "ab", "kind": "hinge", "parent": "a", "child": "b", "anchor": [1, 0]},
        {"name": "bc", "kind": "hinge", "parent": "b", "child": "c", "anchor": [2, 0]},
        {"name": "cd", "kind": "hinge", "parent": "c", "child": "d", "anchor": [3, 0]}],
    "sensors": [{"kind": "height", "body": "a"}]}"#;

fn ends(json: &str, device: &Device) -> Vec<f32> {
    let description = Description::from_json(json).expect("it is read");
    let world = World::new(&description, device).expect("it is made");
    let actions = Tensor::rand_at(2, 0, [STEPS, 3, world.motors()], device) * 2.0 - 1.0;
    let end = world.rollout(&world.reset(3, 5), &actions, &RolloutOptions::default()).last;
    let seen = world.observe(&end);
    let all = [&end.position, &end.rotation, &seen].map(|t| t.to_vec::<f32>().expect("a read"));
    all.concat()
}

fn compare(name: &str, device: &Device, tolerance: f32) {
    let json = WORLDS.iter().find(|row| row.name == name).map_or(CHAIN, |row| row.json);
    let (a, b) = (ends(json, &Device::cpu()), ends(json, device));
    let off = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f32::max);
    println!("{name}: off by {off:.2e}");
    assert!(off < tolerance, "{name}: {off}");
}

#[test]
fn f64_and_the_cpu_agree() {
    for name in ["pendulum", "cart-pole", "rolling-sphere", "chain", "hopper", "crawler"] {
        compare(name, &Device::reference(), 1e-3);
    }
}

/// Small worlds: a software GPU takes long to compile the shaders of large ones.
#[test]
fn a_gpu_and_the_cpu_agree() {
    match Device::gpu(0) {
        Ok(device) => {
            for name in ["pendulum", "cart-pole", "rolling-sphere", "chain"] {
                compare(name, &device, 1e-3);
            }
        }
        Err(error) if std::env::var_os("FARAD_REQUIRE_TOOLS").is_some() => panic!("{error}"),
        Err(error) => println!("skipped: {error}"),
    }
}
