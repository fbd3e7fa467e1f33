//! World files that cannot be used: `farad train FILE.json` says where and why, and leaves nothing behind.

mod folder;

use folder::Folder;

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
