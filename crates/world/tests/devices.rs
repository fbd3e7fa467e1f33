//! The same worlds on the CPU, on a GPU (a software one is enough) and in f64.

use farad_tensor::{Device, Tensor};
use farad_world::{Description, Genotype, Herd, HerdTrial, RolloutOptions, WORLDS, World};

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

/// Two balls that meet while one of them bounces, and a block that slides down a slope.
const MET: [(&str, &str); 2] = [
    (
        "balls",
        r#"{"version": 1, "name": "balls", "dimensions": 2, "time_step": 0.01, "substeps": 4, "planes": [{}],
    "collisions": {"all": true}, "bodies": [
        {"name": "a", "position": [0, 0.13], "velocity": [2, -2], "solids": [{"shape": "sphere", "radius": 0.1, "restitution": 0.8}]},
        {"name": "b", "position": [0.26, 0.2], "solids": [{"shape": "sphere", "radius": 0.1, "restitution": 0.8}]}],
    "sensors": [{"kind": "height", "body": "a"}]}"#,
    ),
    (
        "slope",
        r#"{"version": 1, "name": "slope", "dimensions": 2, "time_step": 0.01, "substeps": 4, "iterations": 2,
    "planes": [{"normal": [0.6, 0.8], "friction": 0.5}], "bodies": [
        {"name": "block", "position": [0.06, 0.08], "rotation": [-0.6435], "velocity": [0.8, -0.6],
            "solids": [{"shape": "box", "half": [0.2, 0.1], "friction": 0.5}]}],
    "sensors": [{"kind": "height", "body": "block"}]}"#,
    ),
];

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
    let own = WORLDS.iter().map(|row| (row.name, row.json)).chain(MET).find(|row| row.0 == name);
    let json = own.map_or(CHAIN, |row| row.1);
    let (a, b) = (ends(json, &Device::cpu()), ends(json, device));
    let off = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f32::max);
    println!("{name}: off by {off:.2e}");
    assert!(off < tolerance, "{name}: {off}");
}

#[test]
fn f64_and_the_cpu_agree() {
    for name in ["pendulum", "cart-pole", "rolling-sphere", "balls", "slope", "chain", "hopper", "crawler"] {
        compare(name, &Device::reference(), 1e-3);
    }
}

/// Creatures with different bodies in one program.
#[test]
fn herds_agree_in_f64_and_on_the_cpu() {
    let grown: Vec<_> = (0..3).map(|seed| Genotype::random(seed).grown().expect("it grows")).collect();
    let trial = HerdTrial { settle: 0.0, seconds: 0.1 };
    let ends = |device: &Device| {
        let motion = Herd::new(&grown, device).expect("it is made").motion(&trial, 4);
        [&motion.position, &motion.rotation].map(|t| t.to_vec::<f32>().expect("a read")).concat()
    };
    let (a, b) = (ends(&Device::cpu()), ends(&Device::reference()));
    let off = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f32::max);
    assert!(off < 1e-3 && !a.is_empty(), "{off}");
}

/// Small worlds: a software GPU takes long to compile the shaders of large ones. The loop over the chain's kernels is a single
/// launch.
#[test]
fn a_gpu_and_the_cpu_agree() {
    match Device::gpu(0) {
        Ok(device) => {
            for name in
                ["pendulum", "double-pendulum", "cart-pole", "rolling-sphere", "balls", "slope", "chain"]
            {
                compare(name, &device, 1e-3);
            }
        }
        Err(error) if std::env::var_os("FARAD_REQUIRE_TOOLS").is_some() => panic!("{error}"),
        Err(error) => println!("skipped: {error}"),
    }
}

/// All trips of a loop whose worlds never meet are one launch.
#[test]
fn launches_of_a_gpu_do_not_grow_with_steps() {
    // Its own handle: another test launches on the shared one meanwhile.
    let device = match Device::gpu(0).and_then(|device| device.another()) {
        Ok(device) => device,
        Err(error) if std::env::var_os("FARAD_REQUIRE_TOOLS").is_some() => panic!("{error}"),
        Err(error) => return println!("skipped: {error}"),
    };
    let description = Description::from_json(CHAIN).expect("it is read");
    let world = World::new(&description, &device).expect("it is made");
    let launches = |steps: usize| {
        let start = world.reset(3, 5);
        let before = device.counters().dispatches;
        let actions = Tensor::zeros([steps, 3, 0], &device);
        let end = world.rollout(&start, &actions, &RolloutOptions::default()).last;
        end.position.to_vec::<f32>().expect("a read");
        device.counters().dispatches - before
    };
    let (few, many) = (launches(10), launches(100));
    println!("{few} launches for 10 steps, {many} for 100");
    assert_eq!(few, many);
}
