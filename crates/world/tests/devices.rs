//! The same worlds on the CPU, on a GPU (a software one will do) and in f64.

use farad_tensor::{Device, Tensor};
use farad_world::{RolloutOptions, World};

const STEPS: usize = 10;

fn ends(name: &str, device: &Device) -> Vec<f32> {
    let world = World::named(name, device).expect("a row");
    let actions = Tensor::rand_at(2, 0, [STEPS, 3, world.motors()], device) * 2.0 - 1.0;
    let end = world.rollout(&world.reset(3, 5), &actions, &RolloutOptions::default()).last;
    let seen = world.observe(&end);
    let all = [&end.position, &end.rotation, &seen].map(|t| t.to_vec::<f32>().expect("a read"));
    all.concat()
}

fn compare(name: &str, device: &Device, tolerance: f32) {
    let (a, b) = (ends(name, &Device::cpu()), ends(name, device));
    let off = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f32::max);
    println!("{name}: off by {off:.2e}");
    assert!(off < tolerance, "{name}: {off}");
}

const NAMES: [&str; 4] = ["pendulum", "cart-pole", "hopper", "crawler"];

#[test]
fn f64_and_the_cpu_agree() {
    NAMES.iter().for_each(|name| compare(name, &Device::reference(), 2e-3));
}

#[test]
fn a_gpu_and_the_cpu_agree() {
    match Device::gpu(0) {
        Ok(device) => NAMES.iter().for_each(|name| compare(name, &device, 2e-3)),
        Err(error) if std::env::var_os("FARAD_REQUIRE_TOOLS").is_some() => panic!("{error}"),
        Err(error) => println!("skipped: {error}"),
    }
}
