//! Bounces, slopes, stacks, collisions, rolling.

use super::{run, track, world};

#[test]
fn a_ball_bounces_back_to_the_share_of_its_height() {
    for (substeps, wide) in [(4, 0.05), (16, 0.02)] {
        let ball = format!(
            r#"{{"version": 1, "name": "ball", "dimensions": 3, "time_step": 0.01, "substeps": {substeps},
            "planes": [{{}}],
            "bodies": [{{"name": "ball", "position": [0, 0, 1.1],
                "solids": [{{"shape": "sphere", "radius": 0.1, "restitution": 0.8}}]}}]}}"#
        );
        let world = world(&ball);
        let states = run(&world, &world.reset(1, 0), 130).states.expect("kept");
        let heights = track(&states.position, 0, 2);
        let hit = (0..heights.len()).find(|&n| heights[n] < 0.15).expect("it falls");
        let top = heights[hit + 5..].iter().copied().fold(0.0, f64::max) - 0.1;
        println!("bounce with {substeps} sub-steps: {top:.4} of 0.64");
        assert!((top - 0.64).abs() < wide, "{substeps}: {top}");
        assert!(heights.iter().all(|&h| h > 0.09), "it sinks in");
    }
}

/// How far a block slides down a slope in two seconds, and its final speed.
fn slide(angle: f64, friction: f64) -> (f64, f64) {
    let (s, c) = angle.sin_cos();
    let slope = format!(
        r#"{{"version": 1, "name": "slope", "time_step": 0.01, "substeps": 8, "iterations": 4,
        "planes": [{{"normal": [{s}, 0, {c}], "friction": {friction}}}],
        "bodies": [{{"name": "block", "position": [{x}, 0, {z}], "rotation": [{w}, 0, {y}, 0],
            "solids": [{{"shape": "box", "half": [0.2, 0.15, 0.1], "friction": {friction}}}]}}]}}"#,
        x = 0.1 * s,
        z = 0.1 * c,
        w = (angle / 2.0).cos(),
        y = (angle / 2.0).sin(),
    );
    let world = world(&slope);
    let states = run(&world, &world.reset(1, 0), 200).states.expect("kept");
    let along = |tensor, n: usize| {
        let part = |k| track(tensor, 0, k)[n];
        part(0) * c - part(2) * s
    };
    (along(&states.position, 199) - along(&states.position, 0), along(&states.velocity, 199))
}

#[test]
fn a_block_rests_below_the_angle_of_friction_and_slides_above() {
    let friction: f64 = 0.5;
    let limit = friction.atan();
    let (way, speed) = slide(limit - 0.06, friction);
    println!("below: {way:.6} m, {speed:.6} m/s");
    assert!(way.abs() < 2e-3 && speed.abs() < 2e-3, "below: {way} m, {speed} m/s");
    let angle = limit + 0.1;
    let (way, speed) = slide(angle, friction);
    let pull = 9.81 * (angle.sin() - friction * angle.cos());
    println!("above: {way:.4} m, {speed:.4} m/s, wanted {:.4}", pull * 2.0);
    assert!((speed / (pull * 2.0) - 1.0).abs() < 0.03, "above: {speed} vs {}", pull * 2.0);
}

#[test]
fn three_boxes_stand_on_each_other_for_ten_seconds() {
    for dimensions in [2, 3] {
        let (place, half) = if dimensions == 2 { ("0, ", "0.2, 0.2") } else { ("0, 0, ", "0.2, 0.2, 0.2") };
        let body = |n: usize| {
            format!(
                r#"{{"name": "box{n}", "position": [{place}{}], "solids": [{{"shape": "box", "half": [{half}]}}]}}"#,
                0.2 + 0.4 * n as f64
            )
        };
        let stack = format!(
            r#"{{"version": 1, "name": "stack", "dimensions": {dimensions}, "time_step": 0.01, "substeps": 8,
            "planes": [{{}}], "collisions": {{"all": true}}, "bodies": [{}, {}, {}]}}"#,
            body(0),
            body(1),
            body(2)
        );
        let world = world(&stack);
        let states = run(&world, &world.reset(1, 0), 1000).states.expect("kept");
        for n in 0..3 {
            let end = |part| track(&states.position, n, part)[999];
            let (side, height) = (end(0), end(dimensions - 1));
            println!("{dimensions}-D, box {n}: {side:.5} {height:.5}");
            assert!(side.abs() < 5e-3, "box {n} moved by {side}");
            assert!((height - 0.2 - 0.4 * n as f64).abs() < 5e-3, "box {n} is at {height}");
        }
    }
}

#[test]
fn a_collision_keeps_momentum_and_what_restitution_leaves_of_energy() {
    let pair = r#"{"version": 1, "name": "pair", "gravity": [0, 0, 0], "time_step": 0.01, "substeps": 8,
        "collisions": {"all": true},
        "bodies": [
            {"name": "a", "position": [-1, 0, 0], "velocity": [2, 0, 0],
             "solids": [{"shape": "sphere", "radius": 0.2, "mass": 1, "restitution": 1, "friction": 0}]},
            {"name": "b", "position": [0.5, 0.1, 0.05], "velocity": [-1, 0, 0], "spin": [0, 3, 1],
             "solids": [{"shape": "sphere", "radius": 0.3, "mass": 3, "restitution": 1, "friction": 0}]}]}"#;
    let world = world(pair);
    let start = world.reset(1, 0);
    let end = run(&world, &start, 100).last;
    let read = |t: farad_tensor::Tensor| t.to_vec::<f32>().expect("a read");
    let (before, after) = (read(world.momentum(&start)), read(world.momentum(&end)));
    println!("momentum {before:?} -> {after:?}");
    before.iter().zip(&after).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{before:?} {after:?}"));
    let (before, after) = (read(world.angular_momentum(&start)), read(world.angular_momentum(&end)));
    println!("angular momentum {before:?} -> {after:?}");
    before.iter().zip(&after).for_each(|(a, b)| assert!((a - b).abs() < 2e-4, "{before:?} {after:?}"));
    let (before, after) = (read(world.energy(&start))[0], read(world.energy(&end))[0]);
    println!("energy {before} -> {after}");
    assert!((after / before - 1.0).abs() < 0.02, "{before} {after}");
    assert!(track(&run(&world, &start, 100).states.expect("kept").velocity, 0, 0)[99] < 0.0, "they met");
}

#[test]
fn a_sphere_that_slides_comes_to_roll() {
    let sphere = r#"{"version": 1, "name": "sphere", "time_step": 0.01, "substeps": 8, "planes": [{"friction": 0.4}],
        "bodies": [{"name": "sphere", "position": [0, 0, 0.25], "velocity": [2, 0, 0],
            "solids": [{"shape": "sphere", "radius": 0.25, "friction": 0.4}]}]}"#;
    let world = world(sphere);
    let states = run(&world, &world.reset(1, 0), 200).states.expect("kept");
    let (speed, spin) = (track(&states.velocity, 0, 0)[199], track(&states.spin, 0, 1)[199]);
    // A sliding ball finally rolls at five sevenths of its speed.
    println!("speed {speed:.4}, spin {spin:.4}");
    assert!((speed - 10.0 / 7.0).abs() < 0.01 && (speed - spin * 0.25).abs() < 1e-3, "{speed} {spin}");
}

#[test]
fn every_form_rests_on_the_ground_and_on_a_box() {
    let forms = [
        ("sphere", r#""shape": "sphere", "radius": 0.2"#, 0.2),
        ("box", r#""shape": "box", "half": [0.3, 0.25, 0.2]"#, 0.2),
        ("capsule", r#""shape": "capsule", "radius": 0.2, "half_length": 0.3"#, 0.2),
        ("cylinder", r#""shape": "cylinder", "radius": 0.2, "half_length": 0.3"#, 0.2),
        (
            "standing cylinder",
            r#""shape": "cylinder", "radius": 0.2, "half_length": 0.3, "rotation": [0.7071067811865476, 0, -0.7071067811865476, 0]"#,
            0.3,
        ),
    ];
    for (name, form, height) in forms {
        let ground = format!(
            r#"{{"version": 1, "name": "rest", "time_step": 0.01, "substeps": 8, "planes": [{{}}],
            "collisions": {{"all": true}},
            "bodies": [{{"name": "body", "position": [0, 0, {}], "solids": [{{{form}}}]}},
                {{"name": "table", "position": [3, 0, 0.5], "solids": [{{"shape": "box", "half": [1, 1, 0.5]}}]}},
                {{"name": "guest", "position": [3, 0, {}], "solids": [{{{form}}}]}}]}}"#,
            height + 0.02,
            1.0 + height + 0.02,
        );
        let world = world(&ground);
        let states = run(&world, &world.reset(1, 0), 200).states.expect("kept");
        let ends: Vec<f64> = (0..3).map(|n| track(&states.position, n, 2)[199]).collect();
        println!("{name}: {ends:?}");
        assert!((ends[0] - height).abs() < 4e-3, "{name} on the ground: {} vs {height}", ends[0]);
        // Against other bodies, cylinders act as capsules, which have round ends.
        if name != "standing cylinder" {
            assert!((ends[2] - 1.0 - height).abs() < 6e-3, "{name} on a box: {}", ends[2]);
        }
    }
}
