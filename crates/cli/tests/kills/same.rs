//! Whether two runs are the same: every file, bit for bit, but for the time that things took.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// Fails with the names of files that only one of the runs has, or that differ.
pub fn assert_same(whole: &Path, broken: &Path) {
    let (whole, broken) = (files(whole), files(broken));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&whole), names(&broken), "the files of the unbroken and of the broken run");
    assert!(whole.contains_key("report.md") && whole.contains_key("checkpoint.safetensors"));
    for (name, bytes) in &whole {
        let (bytes, other) = (timeless(name, bytes), timeless(name, &broken[name]));
        if let (Ok(text), Ok(other)) = (std::str::from_utf8(&bytes), std::str::from_utf8(&other)) {
            assert_eq!(text, other, "{name} differs");
        }
        assert!(bytes == other, "{name} differs");
    }
}

/// The files of a run by name; not its lock, its history, and the checkpoint before the last, which depend on when it
/// was stopped.
fn files(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut folders, mut files) = (vec![run.to_path_buf()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(run).unwrap().display().to_string();
                    files.insert(name, std::fs::read(&path).unwrap());
                }
            }
        }
    }
    for name in [".lock", "events.jsonl", "checkpoint.previous.safetensors"] {
        files.remove(name);
    }
    files
}

/// The bytes of a file without the seconds that something took.
fn timeless(name: &str, bytes: &[u8]) -> Vec<u8> {
    match name {
        // It is made of the report and the pictures, which are compared themselves.
        "report.html" => vec![],
        "report.md" => report(std::str::from_utf8(bytes).unwrap()).into_bytes(),
        name if name.ends_with("proof.json") => {
            let mut proof: Value = serde_json::from_slice(bytes).unwrap();
            forget_seconds(&mut proof);
            proof.to_string().into_bytes()
        }
        _ => bytes.to_vec(),
    }
}

fn forget_seconds(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !key.contains("seconds"));
            fields.values_mut().for_each(forget_seconds);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_seconds),
        _ => {}
    }
}

/// A report without its times: rows about time and speed, the section on where the time goes, numbers before a lone `s`,
/// and the last column of a table that ends with seconds. The folder's name goes as well.
fn report(text: &str) -> String {
    let (mut kept, mut skips, mut seconds) = (String::new(), false, false);
    for line in text.lines() {
        if line.starts_with("## ") {
            skips = line.contains("time");
        }
        seconds = line.starts_with('|') && (seconds || line.ends_with("| seconds |"));
        if skips || line.starts_with("| training time") || line.starts_with("| speed") {
            continue;
        }
        let line = match seconds {
            true => line.trim_end_matches('|').rsplit_once('|').map_or(line, |(rest, _)| rest),
            false => line,
        };
        // The room that a row leaves free depends on the longest, which may have been one of those.
        let line = without_durations(line);
        match line.starts_with('|') {
            true => kept += &line.replace('-', "").split_whitespace().collect::<Vec<_>>().join(" "),
            false => kept += &line,
        }
        kept.push('\n');
    }
    kept.replace("whole", "RUN").replace("broken", "RUN")
}

fn without_durations(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_duration = |at: usize| {
        let unit = words.get(at + 1).is_some_and(|next| next.trim_end_matches([',', '.', ';']) == "s");
        unit && words[at].parse::<f64>().is_ok()
    };
    let kept = (0..words.len()).map(|at| if is_duration(at) { "…" } else { words[at] });
    kept.collect::<Vec<_>>().join(" ")
}

#[test]
fn times_and_only_times_are_forgotten() {
    let with = |seconds: &str, gates: u32| {
        format!(
            "60 updates in {seconds} s of training; {gates} gates\n| training time | {seconds} s |\n\n\
             | pass | gates | seconds |\n|---|---|---|\n| prove | {gates} | {seconds} |\n\n\
             ## Where the time goes\n\n{seconds} ms\n\n## Sample\n\nthe cat\n"
        )
    };
    assert_eq!(report(&with("1.5", 8)), report(&with("22.0", 8)));
    assert_ne!(report(&with("1.5", 8)), report(&with("1.5", 9)));
}
