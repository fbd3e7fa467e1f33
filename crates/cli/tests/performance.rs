//! `scripts/performance`: measurements in, one page out.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A line of `farad bench --json`.
fn line(case: &str, ms: f64, gflops: Option<f64>, error: f64) -> String {
    let (hardware, time) = ("Test 9000", 1_800_000_000);
    let line = serde_json::json!({
        "case": case, "device": "cpu", "ms": ms, "gpu_ms": null, "gflops": gflops, "gbs": null, "error": error,
        "kind": "processor", "hardware": hardware, "version": "0.1.0", "time": time,
    });
    format!("{line}\n")
}

const TORCH: &str = "INFO torch-cpu torch 2\n\
    CASE matmul_1024_f32 torch-cpu-eager 10.0000 sync_ms=10.1 tflops=0.21\n\
    CASE mlp_train_f32 torch-cpu-eager 1.0000 steps/s=1000\n\
    CASE cnn_train_f32 torch-cpu-eager FAIL Timeout\n";

/// A folder for one test, emptied.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder can be made");
    let matmul = line("matmul_1024_f32", 11.0, Some(195.2), 4.6e-7);
    let mlp = [2.0, 3.0].map(|ms| line("mlp_train_f32", ms, None, 2e-6));
    std::fs::write(path.join("farad.jsonl"), matmul + &mlp.concat()).expect("a file can be written");
    std::fs::write(path.join("torch.txt"), TORCH).expect("a file can be written");
    path
}

/// The script's output, or nothing where there is no Python.
fn script(folder: &Path, arguments: &[&str]) -> Option<Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/performance");
    let run = Command::new("python3").arg(script).args(arguments).current_dir(folder).output();
    match run {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: no python3");
            None
        }
        run => Some(run.expect("python3 starts")),
    }
}

#[test]
fn the_page_compares_and_keeps_notes() {
    let folder = folder("page");
    let arguments = ["--output", "page.md", "Small box=farad.jsonl", "Small box=torch.txt"];
    let Some(output) = script(&folder, &arguments) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = || std::fs::read_to_string(folder.join("page.md")).expect("the page is there");
    let page = read();
    assert!(page.contains("## Small box: cpu"), "{page}");
    assert!(page.contains("measured on 2027-01-15"), "{page}");
    let row = "| matmul_1024_f32 | 11.00 | – | 195.2 GFLOP/s | 5e-07 | 10.00 (1.10 ×) | \
        1.15 × torch-cpu-eager: reached |";
    assert!(page.contains(row), "{page}");
    let row = "| mlp_train_f32 | 2.000 | – | – | 2e-06 | 1.000 (2.00 ×) | \
        0.6 ms: **missed by 3.33 ×** |";
    assert!(page.contains(row), "{page}");
    assert!(!page.contains("| cnn_train"), "{page}");

    // A note in the section, and one of a section that is no more.
    let (head, tail) = page.split_at(page.rfind("<!-- notes -->").expect("markers"));
    let noted =
        format!("{head}A busy box.\n{tail}\n\n## Old box: cpu\n\n<!-- notes -->\nGone.\n<!-- notes -->\n");
    std::fs::write(folder.join("page.md"), noted).expect("a file can be written");
    script(&folder, &arguments);
    let kept = read();
    assert!(kept.contains("<!-- notes -->\nA busy box.\n<!-- notes -->"), "{kept}");
    assert!(kept.contains("Old box: cpu: Gone."), "{kept}");
    script(&folder, &arguments);
    assert_eq!(read(), kept, "the same files give the same page");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let folder = folder("problems");
    let Some(output) = script(&folder, &["--output", "page.md", "box=absent.txt"]) else { return };
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("error: performance: cannot read: absent.txt")
    );
    std::fs::write(folder.join("bad.jsonl"), "{\"case\":").expect("a file can be written");
    let output = script(&folder, &["--output", "page.md", "box=bad.jsonl"]).expect("python3 is there");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a measurement: bad.jsonl:1"));
    let output = script(&folder, &["--output", "page.md", "box=torch.txt"]).expect("python3 is there");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("nothing to compare with: torch-cpu-eager on box")
    );
    assert!(!folder.join("page.md").exists(), "nothing is written");
}
