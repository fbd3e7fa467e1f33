//! Errors in descriptions give the path, and explosions give the step, world and body.

use farad_tensor::{Device, Tensor};
use farad_world::{Description, RolloutOptions, World, WorldError};

/// A world with these parts instead of the usual ones.
fn text(bodies: &str, rest: &str) -> String {
    format!(r#"{{"version": 1, "name": "x", "bodies": [{bodies}]{rest}}}"#)
}

const BALL: &str = r#"{"name": "a", "position": [0, 0, 0], "solids": [{"shape": "sphere", "radius": 1}]}"#;

fn two() -> String {
    format!("{BALL}, {}", BALL.replace("\"a\"", "\"b\""))
}

#[test]
fn bad_descriptions_name_the_place() {
    let joint =
        |what: &str| format!(r#", "joints": [{{"name": "j", "kind": "ball", "anchor": [0, 0, 0], {what}}}]"#);
    let rows: Vec<(String, &str)> = vec![
        (text("", ""), "bodies: a world has at least one body"),
        (
            text(BALL, &joint(r#""parent": "a", "child": "a""#)),
            r#"joints[0].child: joins body "a" to itself"#,
        ),
        (text(BALL, &joint(r#""child": "leg4""#)), r#"joints[0].child: no body "leg4""#),
        (text(BALL, &joint(r#""parent": "leg4", "child": "a""#)), r#"joints[0].parent: no body "leg4""#),
        (text(&BALL.replace("1}", "1, \"mass\": 0}"), ""), "bodies[0]: its mass is not above zero (0 vs 0)"),
        (text(&BALL.replace("1}", "-1}"), ""), "bodies[0].solids[0].radius: not above zero (-1 vs 0)"),
        (text(&BALL.replace("[0, 0, 0]", "[0, NaN, 0]"), ""), "bodies[0].position[1]: expected value"),
        (
            text(&BALL.replace("1}", "\"one\"}"), ""),
            "bodies[0].solids[0].radius: it is a number, not \"one\"",
        ),
        (text(&two().replace("\"b\"", "7"), ""), "bodies[1].name: it is a text, not 7"),
        (text(&BALL.replace("sphere", "ball"), ""), "bodies[0].solids[0].shape: there is no `ball`"),
        (text(&BALL.replace("\"shape\": \"sphere\", ", ""), ""), "bodies[0].solids[0]: `shape` is missing"),
        (
            text(&BALL.replace("radius", "raduis"), ""),
            "bodies[0].solids[0].raduis: there is no such key; did you mean `radius`?",
        ),
        (text(BALL, r#", "time_step": "fast""#), "time_step: it is a number, not \"fast\""),
        (text(&BALL.replace("[0, 0, 0]", "[0, 1e300, 0]"), ""), "bodies[0].position: not a usual number"),
        (
            text(&BALL.replace("[0, 0, 0]", "[0, 0]"), ""),
            "bodies[0].position: a list of another length (2 vs 3)",
        ),
        (text(&format!("{BALL}, {BALL}"), ""), r#"bodies[1].name: a second body "a""#),
        (
            text(BALL, "").replace("\"version\": 1", "\"version\": 7"),
            "version: not supported by this program (7 vs 1)",
        ),
        (text(BALL, "").replace("\"version\": 1, ", ""), "version: a whole number is missing"),
        (
            text(BALL, r#", "sensors": [{"kind": "smell", "body": "a"}]"#),
            r#"sensors[0].kind: no sensor "smell""#,
        ),
        (text(BALL, r#", "sensors": [{"kind": "height"}]"#), r#"sensors[0]: "height" is of a body"#),
        (text(BALL, r#", "motors": [{"name": "m", "joint": "j"}]"#), r#"motors[0].joint: no joint "j""#),
        (
            text(
                &two(),
                &format!(
                    r#"{}, "motors": [{{"name": "m", "joint": "j"}}]"#,
                    joint(r#""parent": "a", "child": "b""#)
                ),
            ),
            "motors[0].axis: no such axis (0 vs 0)",
        ),
        (
            text(&two(), &joint(r#""parent": "a", "child": "b", "axes": [{"axis": [1, 0, 0]}]"#)),
            "joints[0].axes: a ball has other axes (1 vs 0 to 0)",
        ),
        (text(BALL, r#", "time_step": 0"#), "time_step: not above zero"),
        (text(BALL, r#", "substeps": 1000000"#), "substeps: too many (1000000 vs at most 256)"),
        (text(BALL, r#", "colour": 3"#), "world: colour: there is no such key"),
        (text(BALL, r#", "collisions": {"pairs": [["a", "c"]]}"#), r#"collisions.pairs[0]: no body "c""#),
        (
            text(BALL, r#", "planes": [{"normal": [0, 0, 0]}]"#),
            "planes[0].normal: a direction of length zero",
        ),
        (
            text(BALL, r#", "integrator": "runge_kutta", "planes": [{}]"#),
            "integrator: runge_kutta is for smooth systems",
        ),
        ("[1, 2".into(), "not a description"),
    ];
    for (text, wanted) in rows {
        let error = Description::from_json(&text).expect_err(wanted).to_string();
        assert!(error.contains(wanted), "{error}\nwanted: {wanted}");
    }
}

#[test]
fn a_million_bodies_are_refused() {
    let one = r#"{"name":"a","position":[],"solids":[]}"#;
    let many = vec![one; 300_000].join(",");
    let error = Description::from_json(&text(&many, "")).expect_err("too many");
    assert_eq!(error, WorldError::TooMany { path: "bodies".into(), found: 300_000, most: 1024 });
    let many = vec![one; 1_000_000].join(",");
    let error = Description::from_json(&text(&many, "")).expect_err("too long");
    assert!(matches!(error, WorldError::TooMany { .. }), "{error}");
}

#[test]
fn a_world_that_explodes_names_step_and_body() {
    let wild = text(
        &format!("{}, {}", BALL, BALL.replace("\"a\"", "\"wild\"").replace("[0, 0, 0]", "[5, 0, 0]")),
        r#", "time_step": 0.1, "substeps": 1"#,
    );
    let world =
        World::new(&Description::from_json(&wild).expect("it is read"), &Device::cpu()).expect("it is made");
    let mut state = world.reset(2, 0);
    // From step 3 on, an enormous force on the second body of the second world.
    let mut forces = vec![0.0f32; 2 * 2 * 3];
    forces[9] = 1e12;
    let forces = Tensor::from_vec(forces, [2, 2, 3], &Device::cpu());
    let none = Tensor::zeros([2, 0], &Device::cpu());
    world.check(&state).expect("all is well at the start");
    state = world.step_with(&state, &none, &forces);
    let actions = Tensor::zeros([5, 2, 0], &Device::cpu());
    let rollout = world.rollout(&state, &actions, &RolloutOptions::states());
    let error = world.check_rollout(&rollout).expect_err("it explodes");
    let Some(WorldError::Exploded { step, world, body, .. }) = error.part() else { panic!("{error}") };
    assert_eq!((*step, *world, body.as_str()), (0, 1, "wild"), "{error}");
    assert!(error.to_string().contains("exploded at step 0: body \"wild\""), "{error}");
}

#[test]
fn unknown_worlds_are_told_what_there_is() {
    let error = World::named("moon", &Device::cpu()).err().expect("there is none").to_string();
    assert!(error.contains("no such world: moon") && error.contains("humanoid"), "{error}");
}
