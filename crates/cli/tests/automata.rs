//! `farad train`, `eval`, `export`, `inspect` and `simulate` from end to end, and what they refuse.

mod folder;

use std::time::Duration;

use folder::{Folder, results};
use serde_json::Value;

/// Enough updates for a circuit that is not trivial; nothing is learned yet.
const SHORT: &str =
    "train life --device cpu --updates 60 --set evaluate_every=20 --set checkpoint_every=10 --quiet";

fn trained(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.succeed(&format!("{SHORT} --out run"));
    folder
}

#[test]
fn a_run_has_all_its_files_and_every_command_reads_it() {
    let folder = Folder::new("files");
    let out = folder.succeed(&format!("{SHORT} --seeds 2 --seed 5 --json --out run"));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [5, 6]);
    for file in [
        "config.toml",
        "log.csv",
        "events.jsonl",
        "checkpoint.safetensors",
        "report.md",
        "circuits/seed-5.json",
        "circuits/seed-6.simplified.json",
        "plots/loss.svg",
        "plots/gates.svg",
        "plots/circuit.svg",
        "plots/rollout.gif",
        "plots/rollout.png",
    ] {
        assert!(folder.path("run").join(file).is_file(), "{file}");
    }
    let again = folder.succeed("eval run --json");
    assert_eq!(out, again, "an evaluation gives the same again");
    for key in ["exact", "stable", "active_gates", "simplified_gates", "sizes"] {
        assert!(!lines[0][key].is_null(), "{key}");
    }
    assert!(folder.succeed("eval run").contains("0 of 2 exact"));
    assert!(folder.succeed("inspect run").contains("recipe"));
    let inspected: Value =
        serde_json::from_str(&folder.succeed("inspect run/circuits/seed-5.json --json")).unwrap();
    assert_eq!(inspected["inputs"], 9);
    let simulated =
        folder.succeed("simulate run/circuits/seed-5.json --grid 70x30 --steps 5 --gif film.gif --json");
    assert_eq!(serde_json::from_str::<Value>(&simulated).unwrap()["steps"], 5);
    assert!(folder.path("film.gif").is_file());
}

#[test]
fn every_format_is_written_once() {
    let folder = trained("formats");
    for format in ["verilog", "blif", "c", "rust", "json", "digitaljs", "wgsl"] {
        let out = folder.succeed(&format!("export run --format {format} --out {format}"));
        for file in out.lines() {
            assert!(folder.path(file).metadata().unwrap().len() > 0, "{file}");
        }
        let text = folder.fail(&format!("export run --format {format} --out {format}"));
        assert!(text.contains("a file is there already"), "{text}");
    }
    let text = folder.fail("export run --format verilg --out v");
    assert!(text.contains("there is no format `verilg`; did you mean `verilog`?"), "{text}");
    assert!(!folder.path("v").exists());
    let text = folder.fail("export run --format c --seed 99 --out c99");
    assert!(text.contains("the run has no seed 99"), "{text}");
}

#[test]
fn bad_input_is_refused_and_nothing_is_overwritten() {
    let folder = trained("bad");
    let before = results(&folder.path("run"));
    let text = folder.fail("train lizzard --out x");
    assert!(text.contains("there is no `lizzard`; did you mean `lizard`?"), "{text}");
    let text = folder.fail("train life --set learningrate=1 --out x");
    assert!(text.contains("did you mean `learning_rate`?"), "{text}");
    let text = folder.fail("train life --set height=100000 --set width=100000 --out x");
    assert!(text.contains("too large"), "{text}");
    assert!(!folder.path("x").exists());
    let text = folder.fail("train life --device cpu --out run");
    assert!(text.contains("run: folder is not empty") && text.contains("resume"), "{text}");
    std::fs::create_dir(folder.path("empty")).unwrap();
    for command in ["eval empty", "inspect empty", "train --resume empty --device cpu"] {
        let text = folder.fail(command);
        assert!(text.contains("help:"), "{command}: {text}");
    }
    let text = folder.fail("eval nowhere");
    assert!(text.contains("nowhere"), "{text}");
    let text = folder.fail("simulate run --grid 0x4 --steps 1");
    assert!(text.contains("WIDTHxHEIGHT"), "{text}");
    let text = folder.fail("simulate run --grid 99999999x99999999 --steps 1");
    assert!(text.contains("grid"), "{text}");
    assert_eq!(results(&folder.path("run")), before);
}

#[test]
fn damaged_checkpoints_and_circuits_are_refused() {
    let folder = trained("damaged");
    let checkpoint = folder.path("run/checkpoint.safetensors");
    let whole = std::fs::read(&checkpoint).unwrap();
    std::fs::write(&checkpoint, &whole[..whole.len() / 2]).unwrap();
    for command in ["eval run", "train --resume run --updates 80 --device cpu"] {
        assert!(folder.fail(command).contains("checkpoint"), "{command}");
    }
    std::fs::write(&checkpoint, &whole).unwrap();
    let config = std::fs::read_to_string(folder.path("run/config.toml")).unwrap();
    std::fs::write(folder.path("run/config.toml"), config.replace("version = 1", "version = 99")).unwrap();
    let text = folder.fail("eval run");
    assert!(text.contains("99"), "{text}");
    std::fs::write(folder.path("run/config.toml"), config).unwrap();

    let circuit = r#"{"format":"farad-circuit","version":1,"kind":"netlist","name":"loop","wires":WIRES,
        "inputs":["a"],"registers":[],"gates":GATES,"outputs":[{"name":"y","wire":1}]}"#;
    let bad = [(r#"[["and",0,2],["or",1,0]]"#, "3", "circle"), (r#"[["and",0,7]]"#, "2", "7")];
    for (gates, wires, word) in bad {
        let text = circuit.replace("GATES", gates).replace("WIRES", wires);
        std::fs::write(folder.path("bad.json"), text).unwrap();
        for command in ["inspect bad.json", "export bad.json --format c --out c"] {
            let text = folder.fail(command);
            assert!(text.contains(word), "{command}: {text}");
        }
    }
    assert!(!folder.path("c").exists());
}

#[test]
fn a_run_that_is_killed_ten_times_ends_like_one_that_is_not() {
    let folder = Folder::new("killed");
    let start =
        "train life --device cpu --updates 400 --set checkpoint_every=7 --set evaluate_every=25 --quiet";
    folder.succeed(&format!("{start} --out whole"));
    let mut kills = 0;
    // Uneven pauses, so that kills hit start-up, updates, evaluations and checkpoints.
    for pause in [30u64, 120, 60, 250, 90, 400, 150, 45, 310, 200, 75, 520, 180, 640, 270] {
        let command = match folder.path("broken/config.toml").is_file() {
            true => "train --resume broken --device cpu --quiet".to_string(),
            false => format!("{start} --out broken"),
        };
        let mut child = folder.command(&command).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
        if kills == 10 {
            break;
        }
    }
    assert!(kills >= 5, "only {kills} kills came before the end");
    folder.succeed("train --resume broken --device cpu --quiet");
    assert!(results(&folder.path("whole")) == results(&folder.path("broken")), "the bits differ");
}

#[test]
fn more_updates_go_on_where_a_run_ended() {
    let folder = Folder::new("further");
    let all = "train life --device cpu --set checkpoint_every=10 --set evaluate_every=10 --quiet";
    folder.succeed(&format!("{all} --updates 40 --out whole"));
    folder.succeed(&format!("{all} --updates 20 --out parts"));
    folder.succeed("train --resume parts --updates 40 --device cpu --quiet");
    assert!(results(&folder.path("whole")) == results(&folder.path("parts")), "the bits differ");
}

#[test]
fn seeds_train_alike_alone_and_together() {
    let folder = Folder::new("seeds");
    folder.succeed(&format!("{SHORT} --seed 5 --out alone"));
    folder.succeed(&format!("{SHORT} --seed 4 --seeds 3 --out together"));
    let [alone, together] = ["alone", "together"].map(|run| {
        let path = folder.path(run).join("circuits/seed-5.json");
        std::fs::read_to_string(path).unwrap()
    });
    assert!(alone == together, "the circuits differ");
}
