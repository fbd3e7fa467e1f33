//! `farad train`, `eval`, `export`, `inspect` and `simulate` from end to end, and what they refuse.

mod folder;

use std::time::{Duration, Instant};

use farad::Device;
use farad::run::Checkpoint;
use farad_circuit::Format;
use farad_logic::Recipe;
use farad_logic::train::KIND;
use folder::{Folder, events, results};
use serde_json::Value;

/// Enough updates for circuits of some gates; life is not learned yet.
const SHORT: &str = "train life --device cpu --updates 300 --set evaluate_every=20 --set checkpoint_every=10 --quiet --no-repair";

fn trained(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.succeed(&format!("{SHORT} --out run"));
    folder
}

/// The text above the table of passes says what the table says. After a few updates some channels still influence nothing
/// that is seen.
#[test]
fn the_numbers_of_a_report_agree() {
    let folder = Folder::new("agree");
    folder.succeed("train checkerboard --device cpu --updates 60 --quiet --no-repair --out run");
    let report = std::fs::read_to_string(folder.path("run/report.md")).unwrap();
    let number =
        |text: &str| text.trim().replace(',', "").parse::<usize>().unwrap_or_else(|_| panic!("{text}"));
    let rows: Vec<Vec<&str>> = report
        .split_once("| pass ")
        .unwrap()
        .1
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let of = |pass: &str| rows.iter().find(|row| row[1] == pass).map(|row| number(row[2]));
    let text = report.lines().find(|line| line.starts_with("Perception is")).unwrap();
    let between = |before: &str, after: &str| {
        let rest = text.split_once(before).unwrap_or_else(|| panic!("{before:?} in {text}")).1;
        number(rest.split_once(after).unwrap_or_else(|| panic!("{after:?} in {text}")).0)
    };
    let original = of("original").expect("a first row");
    assert_eq!(between("were learned: 4,608, ", " of them active"), original);
    assert_eq!(between("active; ", " of those"), of("cone of influence").unwrap_or(original));
    assert!(of("cone of influence").is_some_and(|gates| gates < original), "{text}");
    assert_eq!(between("Simplified, ", " are left"), number(rows.last().unwrap()[2]));
    assert!(!report.contains(" 1 channels") && !report.contains(" 1 steps"), "{report}");
    let listed = folder.succeed("runs run --quiet");
    assert!(listed.contains("not exact: ") && !listed.contains("in training"), "{listed}");
}

#[test]
fn a_run_has_all_its_files_and_every_command_reads_it() {
    let folder = Folder::new("files");
    let out = folder.succeed(&format!("{SHORT} --seeds 2 --seed 5 --json --out run"));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [5, 6]);
    // How far 300 updates come depends on the processor: a circuit may still be a constant, but not every one.
    assert!(lines.iter().any(|line| line["simplified_gates"].as_u64() > Some(0)), "{out}");
    for file in [
        "config.toml",
        "log.csv",
        "events.jsonl",
        "checkpoint.safetensors",
        "report.md",
        "report.html",
        "result.json",
        "circuits/seed-5.json",
        "circuits/seed-6.simplified.json",
        "plots/loss.svg",
        "plots/gates.svg",
        "plots/circuit.svg",
        "plots/rollout.gif",
        "plots/rollout.svg",
        "plots/layers.svg",
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
fn a_quick_run_counts_wrong_bits_and_is_judged_later() {
    let folder = Folder::new("quick");
    let keys = "--set gates=four --set lab.entropy=0.001 --set freeze_from=0.5 --set freeze_order=anew";
    let out = folder.succeed(&format!("{SHORT} {keys} --seeds 2 --seed 5 --quick --json --out run"));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!folder.path("run/report.md").exists() && !folder.path("run/circuits").exists());
    let judged: Vec<Value> =
        folder.succeed("eval run --json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (line, judged) in lines.iter().zip(&judged) {
        for key in ["seed", "exact", "wrong", "of", "update", "active_gates"] {
            assert_eq!(line[key], judged[key], "{key}");
        }
        assert_eq!(line["gate_evaluations"], 300 * 457_740);
    }
    let text = folder.fail("train mnist --quick --out x");
    assert!(text.contains("mnist does not take --quick"), "{text}");
    folder.succeed("train --resume run --updates 310 --quiet --quick");
    let steps: Vec<u64> =
        events(&folder.path("run")).iter().map(|event| event["step"].as_u64().unwrap()).collect();
    assert!(steps.contains(&300) && steps.last() == Some(&310), "{steps:?}");
}

#[test]
fn every_format_is_written_once() {
    let folder = trained("formats");
    for format in Format::ALL.map(|format| format.name) {
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
    assert!(text.contains("nothing called `lizzard` to learn; did you mean `lizard`?"), "{text}");
    let listed = folder.succeed("train --list");
    for recipe in Recipe::all() {
        assert!(text.contains(recipe.name) && listed.contains(recipe.name), "{}", recipe.name);
    }
    let text = folder.fail("train life --updates 9223372036854775808 --out x");
    assert!(text.contains("from 1 to 9,223,372,036,854,775,807, not `9223372036854775808`"), "{text}");
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
    for command in ["eval run", "train --resume run --updates 320 --device cpu"] {
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
    let bad = [(r#"[["and",0,2],["or",1,0]]"#, "3", "cycle"), (r#"[["and",0,7]]"#, "2", "7")];
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
    let start = "train life --device cpu --updates 600 --set checkpoint_every=7 --set evaluate_every=25 --quiet --no-repair";
    folder.succeed(&format!("{start} --out whole"));
    let broken = folder.path("broken");
    let checkpoints = || events(&broken).iter().filter(|event| event["event"] == "checkpoint").count();
    // Some are killed while they start, the others uneven moments after one more checkpoint.
    for (kill, pause) in [3u64, 0, 17, 60, 2, 29, 9, 120, 23, 5].into_iter().enumerate() {
        let command = match broken.join("config.toml").is_file() {
            true => "train --resume broken --quiet".to_string(),
            false => format!("{start} --out broken"),
        };
        let before = checkpoints();
        let mut child = folder.command(&command).spawn().unwrap();
        let patience = Instant::now() + Duration::from_secs(120);
        while kill % 3 > 0 && checkpoints() == before && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "kill {kill} came after the end");
    }
    folder.succeed("train --resume broken --quiet");
    let resumed = events(&broken);
    let resumed = resumed.iter().filter(|event| event["event"] == "resume");
    let later = resumed.filter(|event| event["step"].as_u64() > Some(0)).count();
    assert!(later >= 4, "only {later} processes went on after a checkpoint");
    let (whole, broken) = (results(&folder.path("whole")), results(&broken));
    assert!(whole.len() > 4, "checkpoint, log and circuits: {:?}", whole.keys());
    assert!(whole == broken, "the bits differ");
}

#[test]
fn a_run_goes_on_where_it_ran_and_may_be_begun_in_an_empty_folder() {
    let folder = Folder::new("device");
    std::fs::create_dir(folder.path("run")).unwrap();
    folder.succeed("train life --device cpu --updates 3 --quiet --out run");
    folder.succeed("train --resume run --updates 5 --quiet");
    let devices = events(&folder.path("run"));
    assert_eq!(devices.iter().filter(|event| event["device"] == "cpu").count(), 2, "{devices:?}");
    let config = std::fs::read_to_string(folder.path("run/config.toml")).unwrap();
    let elsewhere = config.replace("device = \"cpu\"", "device = \"gpu:99 (a card that was sold)\"");
    assert_ne!(config, elsewhere);
    std::fs::write(folder.path("run/config.toml"), elsewhere).unwrap();
    let text = folder.fail("train --resume run --updates 7");
    assert!(text.contains("the run's device cannot be used: gpu:99") && text.contains("--device"), "{text}");
    folder.succeed("train --resume run --updates 7 --device cpu --quiet");
    // From then on it is the run's device.
    assert_eq!(
        std::fs::read_to_string(folder.path("run/config.toml")).unwrap(),
        config.replace("updates = 5", "updates = 7")
    );
    folder.succeed("train --resume run --updates 8 --quiet");
    for file in std::fs::read_dir(folder.path("run")).unwrap().map(|file| file.unwrap().path()) {
        if file.display().to_string().contains(".safetensors") {
            std::fs::remove_file(file).unwrap();
        }
    }
    let text = folder.fail("eval run");
    assert!(
        text.contains("nothing was learned yet: run has no checkpoint\nhelp: go on with `farad train"),
        "{text}"
    );
}

#[test]
fn more_updates_go_on_where_a_run_ended() {
    let folder = Folder::new("further");
    // Without a schedule that stretches over the run.
    let all = "train life --device cpu --set freeze_from=1 --set freeze_until=1 --set checkpoint_every=10 \
               --set evaluate_every=10 --quiet";
    folder.succeed(&format!("{all} --updates 40 --out whole"));
    folder.succeed(&format!("{all} --updates 20 --out parts"));
    folder.succeed("train --resume parts --updates 40 --quiet");
    assert!(results(&folder.path("whole")) == results(&folder.path("parts")), "the bits differ");

    let report = std::fs::read_to_string(folder.path("whole/report.md")).unwrap();
    for words in ["--set freeze_from=1.0 ", "--set checkpoint_every=10 ", "--updates 40 --device cpu`"] {
        assert!(report.contains(words), "{words} is not in {report}");
    }

    // The last update of a run is always evaluated: one look more, which no later update depends on.
    folder.succeed(&format!("{all} --updates 25 --out odd"));
    folder.succeed("train --resume odd --updates 40 --quiet");
    let [whole, odd] = ["whole", "odd"].map(|run| {
        let path = folder.path(run).join("checkpoint.safetensors");
        let checkpoint = Checkpoint::read(path, KIND).unwrap();
        let shape = [1, Recipe::named("life").unwrap().topology.gates(), 16];
        let logits = checkpoint.tensor("logits", shape, &Device::cpu()).unwrap();
        let logits: Vec<u32> = logits.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
        let log = std::fs::read_to_string(folder.path(run).join("log.csv")).unwrap();
        let log: Vec<String> = log.lines().filter(|row| !row.starts_with("25,")).map(String::from).collect();
        (logits, log)
    });
    assert!(whole.0 == odd.0, "the logits differ");
    assert_eq!(whole.1, odd.1);
}

#[test]
fn seeds_train_alike_alone_and_together() {
    let folder = Folder::new("seeds");
    folder.succeed(&format!("{SHORT} --seed 5 --out alone"));
    folder.succeed(&format!("{SHORT} --seed 4 --seeds 3 --out together"));
    // Here the neighbor is right on the first starts of an evaluation while this seed is not yet.
    let tiny = "train checkerboard --device cpu --set height=4 --set width=4 --set evaluate_every=5 \
        --updates 150 --quiet --no-repair";
    folder.succeed(&format!("{tiny} --seed 4 --out tiny_alone"));
    folder.succeed(&format!("{tiny} --seed 3 --seeds 2 --out tiny_together"));
    for (seed, alone, together) in [(5, "alone", "together"), (4, "tiny_alone", "tiny_together")] {
        let circuit = |run: &str| {
            std::fs::read_to_string(folder.path(run).join(format!("circuits/seed-{seed}.json"))).unwrap()
        };
        assert!(circuit(alone) == circuit(together), "the circuits differ: {alone}, {together}");
    }
}

/// Whoever simplifies has trained and saved: the run is still its own, and Ctrl-C ends it at once.
#[cfg(unix)]
#[test]
fn a_run_stays_locked_to_its_report_and_can_be_ended_there() {
    use std::process::Command;
    let folder = Folder::new("locked");
    let ended = || events(&folder.path("run")).iter().any(|event| event["event"] == "end");
    let child = folder
        .command(
            "train checkerboard --device cpu --updates 2 --seeds 64 --set height=4 --set width=4 --out run",
        )
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while !ended() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(2));
    }
    let text = folder.fail("train --resume run --updates 4");
    assert!(text.contains("run:") && text.contains(&child.id().to_string()), "{text}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("the training is saved") && text.ends_with("train --resume run\n"), "{text}");
    assert!(!folder.path("run/report.md").exists());
}

#[test]
fn what_is_proved_is_not_proved_again() {
    let folder = trained("proved");
    let (seed, json) = (Recipe::named("life").unwrap().seed, folder.succeed("eval run --json"));
    let proof = folder.path(&format!("run/circuits/seed-{seed}.proof.json"));
    let text = std::fs::read_to_string(&proof).unwrap();
    assert!(text.contains("\"proved\":true") && json.contains("\"proved\":true"), "{text}");
    std::fs::write(&proof, text.replace("\"proved\":true", "\"proved\":false")).unwrap();
    assert!(folder.succeed("eval run --json").contains("\"proved\":false"), "the proof was not read");
    // A circuit that somebody changed is not what the proof is about.
    let simplified = folder.path(&format!("run/circuits/seed-{seed}.simplified.json"));
    let changed =
        std::fs::read_to_string(&simplified).unwrap().replace("\"name\":\"life\"", "\"name\":\"other\"");
    std::fs::write(&simplified, changed).unwrap();
    assert_eq!(folder.succeed("eval run --json"), json, "a proof of another circuit was taken");
}

/// Little is learned after so few updates, and a search finds a better circuit all the same.
#[test]
fn what_is_not_exact_is_repaired_and_the_learned_circuit_stays() {
    let folder = Folder::new("repaired");
    let start = "train checkerboard --device cpu --updates 100 --seed 5 --set height=8 --set width=8 --set steps=8 \
                 --set evaluate_every=50";
    folder.succeed(&format!("{start} --quiet --no-repair --out plain"));
    let learned = std::fs::read(folder.path("plain/circuits/seed-5.json")).unwrap();
    let plain: Value = serde_json::from_str(&folder.succeed("eval plain --json")).unwrap();
    assert_eq!((&plain["exact"], &plain["exact_before_repair"]), (&false.into(), &false.into()));

    let output = folder.farad(&format!("{start} --out run"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("seed 5: not exact after training, "), "{said}");
    let now: Value = serde_json::from_str(&folder.succeed("eval run --json")).unwrap();
    for key in ["seed", "exact", "exact_before_repair", "wrong", "active_gates", "simplified_gates"] {
        assert!(!now[key].is_null(), "{key}");
    }
    assert_eq!(now["exact_before_repair"], false);
    assert!(now["wrong"].as_u64() < plain["wrong"].as_u64(), "{now} {plain}");
    assert!(
        std::fs::read(folder.path("run/circuits/seed-5.json")).unwrap() == learned,
        "the learned one changed"
    );
    let read = |path: &str| std::fs::read_to_string(folder.path(path)).unwrap();
    let report = read("run/report.md");
    assert!(report.contains("## Repair") && report.contains("simplified, and repaired ("), "{report}");
    // Pictures call every circuit what it is.
    let drawn = |run: &str| {
        ["as learned", "repaired"].map(|form| read(&format!("{run}/plots/circuit.svg")).contains(form))
    };
    assert_eq!((drawn("plain"), drawn("run")), ([true, false], [false, true]));
    assert!(read("run/plots/gates.svg").contains("repaired: "));

    // A few candidates are not enough: soft training begins again, and what is kept is never worse.
    let again =
        folder.farad("repair plain --inexact --again --candidates 1600 --seconds 1000 --device cpu --json");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success() && said.contains("seed 5: 3 updates of soft training again "), "{said}");
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert!(again["wrong"].as_u64() <= plain["wrong"].as_u64(), "{again} {plain}");

    // Later, and on a run that was trained without.
    let later = folder.succeed("repair plain --candidates 4000 --seconds 1000 --device cpu --quiet --json");
    let later: Value = serde_json::from_str(&later).unwrap();
    assert!(later["wrong"].as_u64() < plain["wrong"].as_u64(), "{later} {plain}");
    let repaired = std::fs::read(folder.path("run/circuits/seed-5.repaired.json")).unwrap();
    // Exports take the repaired one, or the learned one where that is asked for.
    folder.succeed("export run --format json --raw --out raw");
    assert!(folder.succeed("inspect run").contains("repaired yes"));
    let raw = std::fs::read(folder.path("raw/checkerboard.json")).unwrap();
    assert!(raw.len() > repaired.len(), "the raw circuit is the learned one");

    // A repaired circuit that somebody changed is not believed.
    let path = folder.path("run/circuits/seed-5.repaired.json");
    let changed = String::from_utf8(repaired).unwrap().replace("checkerboard", "other");
    std::fs::write(path, changed).unwrap();
    let without: Value = serde_json::from_str(&folder.succeed("eval run --json")).unwrap();
    assert!(without["repair"].is_null() && without["wrong"] == plain["wrong"], "{without}");
    assert!(folder.fail("repair nowhere").contains("nowhere"));
}

#[test]
fn seeds_are_tried_until_one_succeeds() {
    let folder = Folder::new("tries");
    let output = folder
        .farad("train life --device cpu --updates 2 --seed 8 --quick --no-repair --tries 3 --json --out run");
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    let seeds: Vec<u64> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [8, 9, 10]);
    assert!(said.contains("try 2 of 3: seed 9") && said.contains("no seed succeeded in 3 tries"), "{said}");
    assert!(folder.path("run-10/config.toml").is_file());
    assert!(folder.fail("train --resume run --tries 2").contains("--tries"));
}

#[test]
fn gpus_simulate_what_the_cpu_does() {
    if farad::adapters().is_empty() {
        eprintln!("skipped: no GPU adapter");
        return;
    }
    let folder = trained("simulated");
    let learned = folder.path(&format!("run/circuits/seed-{}.json", Recipe::named("life").unwrap().seed));
    let learned = std::fs::read_to_string(learned).unwrap();
    let fires = learned.replace("\"fire_rate\":1.0", "\"fire_rate\":0.6");
    assert_ne!(learned, fires);
    std::fs::write(folder.path("fires.json"), fires).unwrap();
    let [cpu, gpu] = ["cpu", "gpu"].map(|device| {
        let simulate = format!("simulate fires.json --grid 70x30 --steps 20 --device {device}");
        folder.succeed(&format!("{simulate} --gif {device}.gif"));
        let end: Value = serde_json::from_str(&folder.succeed(&format!("{simulate} --json"))).unwrap();
        (
            end["gates"].clone(),
            end["on"].clone(),
            std::fs::read(folder.path(&format!("{device}.gif"))).unwrap(),
        )
    });
    assert!(cpu.0.as_u64() > Some(0), "the cell has no gates");
    assert!(cpu == gpu, "the films differ");
}

/// A film of healing shows the start, all steps, the damage, and all steps again, one at a time; and nothing sticks out.
#[test]
fn a_film_of_healing_shows_every_step_once() {
    let folder = Folder::new("healing");
    folder.succeed("train checkerboard --device cpu --updates 4 --quiet --no-repair --out run");
    let said = folder.succeed("simulate run --grid 12x10 --steps 5 --healing film.svg --json");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["film"], &said["steps"]), (&"film.svg".into(), &5.into()), "{said}");
    let film = std::fs::read_to_string(folder.path("film.svg")).unwrap();
    let between = |text: &str, before: &str, after: &str| -> Vec<String> {
        text.split(before).skip(1).map(|part| part.split(after).next().unwrap().to_string()).collect()
    };
    let words = between(&film, "font-size=\"16\" fill=\"#1c2026\">", "</text>");
    let mut wanted = vec!["noise".to_string()];
    wanted.extend((1..=5).map(|step| format!("step {step}")));
    wanted.push("damage".into());
    wanted.extend((1..=5).map(|step| format!("healing, step {step}")));
    assert_eq!(words, wanted);
    // Every frame begins when the one before it ends, and the last stays.
    let times = between(&film, "keyTimes=\"", "\"");
    let ends: Vec<&str> = times.iter().map(|times| times.rsplit(';').next().unwrap()).collect();
    let starts: Vec<&str> = times.iter().skip(1).map(|times| times.split(';').nth(1).unwrap()).collect();
    assert_eq!(ends[..ends.len() - 1], starts);
    assert_eq!(
        between(&film, "<g opacity=\"", "\"").last().unwrap(),
        "1",
        "what is seen where nothing moves"
    );
    let pictures = between(&film, "href=\"data:image/png;base64,", "\"");
    assert!(pictures.len() == 12 && pictures[5] != pictures[6], "damage changes the picture");
    let width: f64 = between(&film, "viewBox=\"0 0 ", " ")[0].parse().unwrap();
    let room = width - 340.0;
    // Seven pixels per letter are more than any font of this size takes.
    let legend = between(&film, "font-size=\"11.5\"", "</text>");
    assert!(!legend.is_empty());
    for text in legend.iter().map(|text| text.rsplit('>').next().unwrap()) {
        assert!(text.len() as f64 * 7.0 < room - 56.0, "{text} in {room}");
    }
    let files: Vec<String> = std::fs::read_dir(folder.path(""))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(files.iter().all(|name| !name.contains("tmp")), "{files:?}");
    let refused = folder.fail("simulate run --grid 12x10 --steps 5 --healing film.svg");
    assert!(refused.contains("film.svg") && refused.contains("--healing"), "{refused}");
}
