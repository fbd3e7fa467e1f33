//! World files that cannot be used: `farad train FILE.json` says where and why, and leaves nothing behind. Worlds that explode: all
//! commands say at which step, and by which body.

mod folder;

use folder::Folder;

/// A world whose second body explodes at about the tenth step.
const SHAKY: &str = include_str!("../../rl/tests/shaky.json");

const BALL: &str = r#"{"name": "a", "position": [0, 0, 0], "solids": [{"shape": "sphere", "radius": 1}]}"#;

/// A description with these bodies, and more fields.
fn text(version: u32, bodies: &str, rest: &str) -> String {
    format!(r#"{{"version": {version}, "name": "x", "bodies": [{bodies}]{rest}}}"#)
}

#[test]
fn a_bad_world_is_refused_before_anything_is_written() {
    let joint =
        r#", "joints": [{"name": "j", "kind": "ball", "anchor": [0, 0, 0], "parent": "a", "child": "a"}]"#;
    let one = r#"{"name":"a","position":[],"solids":[]}"#;
    let rows = [
        ("empty", text(1, "", ""), "bodies: a world has at least one body"),
        ("itself", text(1, BALL, joint), r#"joints[0].child: joins body "a" to itself"#),
        (
            "massless",
            text(1, &BALL.replace("1}", "1, \"mass\": 0}"), ""),
            "bodies[0]: its mass is not above zero",
        ),
        (
            "nan",
            text(1, &BALL.replace("[0, 0, 0]", "[0, NaN, 0]"), ""),
            "bodies[0].position[1]: expected value",
        ),
        ("many", text(1, &vec![one; 1_000_000].join(","), ""), "too many"),
        ("newer", text(7, BALL, ""), "version: not supported by this program (7 vs 1)"),
    ];
    for (name, json, wanted) in rows {
        let folder = Folder::new(&format!("bad-world-{name}"));
        std::fs::write(folder.path("bad.json"), json).unwrap();
        let output = folder.farad("train bad.json --device cpu --updates 1 --out run");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(wanted) && !said.contains("panicked"), "{name}: {said}");
        let left: Vec<_> =
            std::fs::read_dir(folder.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["bad.json"], "{name}");
    }
}

const SMALL: &str = "--device cpu --quiet --set worlds=4 --set horizon=8 --set minibatches=2 --set seconds=1 --set episodes=2 --set validation=2";

#[test]
fn a_world_that_explodes_ends_training_with_step_and_body() {
    for (algorithm, place) in [
        ("ppo", " of update 2: "),
        ("es", " of update 1: "),
        ("cma", " of update 1: "),
        ("sac", " of update 2: "),
    ] {
        let folder = Folder::new(&format!("shaky-{algorithm}"));
        std::fs::write(folder.path("shaky.json"), SHAKY).unwrap();
        let more = "--set population=4 --set policy= --set trials=1";
        let output = folder.farad(&format!(
            "train shaky.json --algorithm {algorithm} --updates 4 {SMALL} {more} --set checkpoint_every=1 --set evaluate_every=10 --out run"
        ));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{algorithm}: {said}");
        for words in ["rl: exploded at step ", place, "body \"ball\" of world 0", "smaller time step"] {
            assert!(said.contains(words), "{algorithm}: {words}: {said}");
        }
        assert!(!said.contains("not finite") && !said.contains("panicked"), "{algorithm}: {said}");
        assert!(!folder.path("run/report.md").exists(), "{algorithm}");
        // The run goes on from its checkpoint, to the same end.
        let again = folder.fail("train --resume run --quiet");
        assert!(again.contains("rl: exploded at step ") && again.contains(place), "{algorithm}: {again}");
        let log = std::fs::read_to_string(folder.path("run/log.csv")).unwrap();
        assert!(!log.to_lowercase().contains("nan"), "{algorithm}: {log}");
    }
}

/// What the message says to do helps: shorter steps hold, from the weights that were learned until then.
#[test]
fn a_world_that_exploded_is_trained_on_with_more_substeps() {
    let folder = Folder::new("shaky-on");
    std::fs::write(folder.path("shaky.json"), SHAKY).unwrap();
    let said =
        folder.fail(&format!("train shaky.json --updates 4 {SMALL} --set checkpoint_every=1 --out run"));
    assert!(said.contains("--set substeps=16") && said.contains("--from RUN"), "{said}");
    folder.succeed(&format!("train shaky.json --from run --updates 3 {SMALL} --set substeps=16 --out on"));
    let log = std::fs::read_to_string(folder.path("on/log.csv")).unwrap();
    assert_eq!(log.lines().count(), 4, "{log}");
}

#[test]
fn eval_and_watch_name_step_and_body_of_an_explosion() {
    let folder = Folder::new("shaky-eval");
    std::fs::write(folder.path("calm.json"), SHAKY.replace("50000", "50")).unwrap();
    folder.succeed(&format!("train calm.json --updates 2 {SMALL} --out run"));
    std::fs::write(folder.path("run/world.json"), SHAKY).unwrap();
    for command in ["eval run --json", "watch run --gif film.gif", "watch run --frames frames"] {
        let said = folder.fail(command);
        assert!(
            said.contains("rl: exploded at step 1") && said.contains("body \"ball\""),
            "{command}: {said}"
        );
    }
    assert!(!folder.path("film.gif").exists() && !folder.path("frames").exists());
}
