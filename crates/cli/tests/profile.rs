//! `--profile` on every command that computes: the table on stderr, the trace in its file, results untouched.

mod folder;

use folder::Folder;
use serde_json::Value;

const PARTS: [&str; 5] = ["profile of cpu", "of peak", "other host time", "wall time", "live tensors hold"];

/// The names of a trace's spans by category.
fn trace(folder: &Folder, name: &str, category: &str) -> Vec<String> {
    let bytes = std::fs::read(folder.path(name)).unwrap();
    let trace: Value = serde_json::from_slice(&bytes).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter();
    let of = events.filter(|event| event["ph"] == "X" && event["cat"] == category);
    of.map(|event| event["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn training_shows_where_its_time_went_and_other_commands_too() {
    let folder = Folder::new("profile");
    let train = "train life --device cpu --updates 3 --quiet --out run --profile=train.json";
    let output = folder.farad(train);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(PARTS.iter().all(|part| text.contains(part)), "{text}");
    assert!(text.contains("trace train.json"), "{text}");
    assert!(!trace(&folder, "train.json", "kernel").is_empty());
    let host = trace(&folder, "train.json", "host");
    assert!(["recording", "compiling", "running kernels"].iter().all(|name| host.iter().any(|n| n == name)));

    let plain = folder.succeed("eval run --json");
    let output = folder.farad("eval run --json --profile");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(String::from_utf8_lossy(&output.stdout), plain, "results are the same");
    assert!(text.contains("profile of cpu") && text.contains("wall time"), "{text}");

    let output = folder.farad("simulate run --grid 16x16 --steps 4 --json --profile --profile-mode host");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("runs as usual, kernels counted"), "{text}");
}

#[test]
fn a_bench_profiles_beside_what_it_times() {
    let folder = Folder::new("profiled_bench");
    let output = folder.farad("bench --device cpu --filter xor,mlp_train_f32 --json --profile=bench.json");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
    assert_eq!(text.matches("profile of cpu").count(), 2, "{text}");
    assert!(!trace(&folder, "bench-mlp_train_f32.json", "kernel").is_empty());
    assert!(!trace(&folder, "bench-xor_200_epochs.json", "kernel").is_empty());
}

#[test]
fn kernel_times_are_shown_run_by_run_when_asked_for() {
    let folder = Folder::new("timed");
    let mut command = folder.command("train life --device cpu --updates 3 --quiet --out run");
    let output = command.env("FARAD_DEBUG", "time").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.matches("farad::time").count() >= 3 && text.contains("GFLOP/s"), "{text}");
    assert!(!text.contains("wall time"), "{text}");
}
