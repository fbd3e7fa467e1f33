//! The command as users start it: what it prints, and how it fails.

use std::process::{Command, Output};

use serde_json::Value;

fn farad(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farad"))
        .args(arguments)
        .env_remove("FARAD_DEVICE")
        .env_remove("FARAD_DEBUG")
        .output()
        .expect("the command starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every line of stdout as JSON.
fn json(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output).lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn devices_as_json() {
    let lines = json(&farad(&["devices", "--json"]));
    let [gpus @ .., cpu, reference] = &lines[..] else {
        panic!("the cpu and the reference are always there")
    };
    assert_eq!((&cpu["device"], &reference["device"]), (&"cpu".into(), &"reference".into()));
    assert_eq!(reference["best"], false);
    assert!(cpu["cores"].as_u64().expect("a number") >= 1);
    assert!(cpu["simd"].is_string() && cpu["name"].is_string());
    for (index, adapter) in gpus.iter().enumerate() {
        assert_eq!(adapter["index"], index);
        assert!(adapter["features"].is_array());
        assert!(adapter["limits"]["binding_bytes"].as_u64().expect("a number") > 0);
    }
    assert_eq!(lines.iter().filter(|line| line["best"] == true).count(), 1, "one device is the best");
}

#[test]
fn devices_as_a_table() {
    let output = farad(&["devices"]);
    let text = stdout(&output);
    assert!(text.lines().next().expect("a heading").contains("backend"), "{text}");
    assert!(text.lines().any(|line| line.contains(" cpu ") && line.contains("cores")), "{text}");
    let gpus = text.lines().filter(|line| line.contains("gpu:")).count();
    let software = text.lines().filter(|line| line.contains("gpu:") && line.contains("software")).count();
    if gpus == software {
        assert!(stderr(&output).contains("help: "), "what to do without a GPU: {}", stderr(&output));
    }
}

#[test]
fn bench_as_json() {
    let lines = json(&farad(&["bench", "--device", "cpu", "--filter", "xor", "--json"]));
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["case"], "xor_200_epochs");
    assert_eq!(lines[0]["device"], "cpu");
    for key in ["ms", "gpu_ms", "gflops", "gbs", "error"] {
        assert!(lines[0].get(key).is_some(), "{key} is missing: {}", lines[0]);
    }
    let ms = lines[0]["ms"].as_f64().expect("a number");
    assert!(ms > 0.0 && ms < 60_000.0, "{ms} ms");
    let error = lines[0]["error"].as_f64().expect("a number");
    assert!((0.0..1e-3).contains(&error), "{error}");
}

#[test]
fn bench_draws_the_shapes_that_it_lists() {
    let flags = ["bench", "--device", "cpu", "--random", "2", "--seed", "5"];
    let listed = json(&farad(&[&flags[..], &["--list"]].concat()));
    let timed = json(&farad(&[&flags[..], &["--json"]].concat()));
    let names = |lines: &[Value]| lines.iter().map(|line| line["case"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&listed), names(&timed));
    assert!(listed.iter().all(|line| line["family"] == "matmul"), "{listed:?}");
    assert!(timed.iter().all(|line| line["ms"].as_f64() > Some(0.0)), "{timed:?}");
}

#[test]
fn bench_as_a_table() {
    let output = farad(&["bench", "--device", "cpu", "--filter", "softmax_1024,mlp_train_f32"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().any(|line| line.starts_with("softmax_1024x1024_f32 ")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("mlp_train_f32 ")), "{text}");
    assert!(stderr(&output).contains("softmax_1024x1024_f32 on cpu (1 of 2)"), "{}", stderr(&output));
}

#[test]
fn tuning_needs_a_gpu_and_writes_over_nothing() {
    let output = farad(&["tune", "--device", "cpu", "--out", "/nowhere/tuning.json"]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("tune: nothing to tune: cpu: "), "{}", stderr(&output));
    let there = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = farad(&["tune", "--device", "cpu", "--out", there]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("tune: a file is there already: "), "{}", stderr(&output));
    let output = farad(&["bench", "--device", "cpu", "--break-even"]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("bench: a break-even needs a GPU: cpu"), "{}", stderr(&output));
}

#[test]
fn the_first_step_runs_in_a_process_of_its_own() {
    let lines = json(&farad(&["bench", "--device", "cpu", "--filter", "first_step", "--json"]));
    assert!(lines[0]["ms"].as_f64().expect("a number") > 0.0);
    assert!(lines[0]["error"].as_f64().expect("a number") < 1e-4);
}

#[test]
fn bench_runs_on_gpus() {
    let devices = json(&farad(&["devices", "--json"]));
    if !devices.iter().any(|device| device["device"] == "gpu:0") {
        println!("skipped: no GPU, not even in software");
        return;
    }
    let lines = json(&farad(&["bench", "--device", "gpu", "--filter", "softmax_1024", "--json"]));
    assert!(lines[0]["device"].as_str().expect("a name").starts_with("gpu:0 ("), "{}", lines[0]);
    assert!(lines[0]["gbs"].as_f64().expect("a number") > 0.0);
}

#[test]
fn an_unknown_device_is_an_error() {
    let output = farad(&["bench", "--device", "tpu"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    let text = stderr(&output);
    assert!(
        text.contains(
            "error: device: unknown name: tpu\nhelp: use `best`, `cpu`, `gpu`, `gpu:1` or `reference`"
        ),
        "{text}"
    );
}

#[test]
fn an_absent_gpu_is_an_error() {
    let output = farad(&["bench", "--device", "gpu:99"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("error: gpu: open: no such adapter: index 99") && text.contains("help: "),
        "{text}"
    );
}

#[test]
fn an_unknown_filter_lists_the_cases() {
    let output = farad(&["bench", "--device", "cpu", "--filter", "teleport"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("error: bench: no case matches: teleport (0 vs "), "{text}");
    assert!(text.contains("help: the cases are ") && text.contains("matmul_1024_f32"), "{text}");
}

#[test]
fn debug_output_is_shown_when_asked_for() {
    let bench = |debug: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_farad"))
            .args(["bench", "--device", "cpu", "--filter", "xor", "--json"])
            .env("FARAD_DEBUG", debug)
            .output()
            .expect("the command starts");
        stderr(&output)
    };
    assert!(bench("plan").contains("farad::plan"));
    assert!(!bench("").contains("farad::p"));
    let passes = bench("passes");
    assert!(passes.contains("farad::passes: after simplify:\nn0 = "), "{passes}");
    assert!(
        passes.contains("farad::passes: after copies:\nn0 = ") && passes.contains("\nreturn n"),
        "{passes}"
    );
    assert!(!passes.contains("farad::plan"), "{passes}");
    let unknown = bench("plam");
    assert!(
        unknown.contains("warning: environment: FARAD_DEBUG does not know `plam`\nhelp: it knows plan"),
        "{unknown}"
    );
}

#[test]
fn help_has_examples() {
    let text = stdout(&farad(&["--help"]));
    assert!(text.contains("Examples:") && text.contains("farad bench --device cpu"), "{text}");
    let text = stdout(&farad(&["bench", "--help"]));
    assert!(text.contains("Examples:") && !text.contains("--first-step"), "{text}");
}
