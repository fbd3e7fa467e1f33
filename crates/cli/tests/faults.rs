//! What the world does to a run: damaged files, full disks, folders that cannot be written, devices that vanish, two
//! processes at once. Every time a message that helps, a status that is not zero, and a run that can go on.

mod folder;

use std::path::Path;
use std::process::{Command, Output};

use folder::{Folder, results};

/// A training of a second.
const START: &str = "train csv --data table.csv --device cpu --batch 20 --set sizes=16 --schedule constant \
     --set checkpoint_every=10 --set log_every=5 --quiet";

/// A folder with a table, a run `whole` of two epochs and two more, and `broken`, which has made the first two.
fn half_way(name: &str) -> Folder {
    let folder = Folder::new(&format!("faults-{name}"));
    let row = |n: u64| {
        format!("{},{},{}\n", n * 37 % 101, n * 53 % 97, if n * 37 % 101 > 50 { "big" } else { "small" })
    };
    let rows: String = std::iter::once("a,b,size\n".to_string()).chain((0..400).map(row)).collect();
    std::fs::write(folder.path("table.csv"), rows).unwrap();
    for run in ["whole", "broken"] {
        folder.succeed(&format!("{START} --epochs 2 --out {run}"));
    }
    folder.succeed("train --resume whole --epochs 4 --quiet");
    folder
}

/// Goes on with `broken`; the end must be that of `whole`.
fn goes_on(folder: &Folder) {
    folder.succeed("train --resume broken --epochs 4 --quiet");
    let (whole, broken) = (results(&folder.path("whole")), results(&folder.path("broken")));
    assert!(whole == broken, "the bits differ");
}

/// Must be an error of ours with all these words: no panic, no signal, no success.
fn refused(output: &Output, what: &str, words: &[&str]) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code().is_some_and(|code| code != 0 && code != 101),
        "{what}: {:?} {text}",
        output.status
    );
    for word in words.iter().chain(&["error: "]) {
        assert!(text.contains(word), "{what}: `{word}` is not in {text}");
    }
    text
}

/// Changes the bytes of a file.
fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// Replaces text in a file of bytes by text of the same length.
fn replace(path: &Path, old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    change(path, |bytes| {
        let at = bytes.windows(old.len()).position(|window| window == old.as_bytes()).expect(old);
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    });
}

#[test]
fn a_damaged_checkpoint_is_refused_and_the_one_before_it_goes_on() {
    let damages: [(&str, fn(&Path), &[&str]); 7] = [
        ("cut", |path| change(path, |bytes| bytes.truncate(bytes.len() / 2)), &["checkpoint: truncated"]),
        ("empty", |path| change(path, Vec::clear), &["checkpoint: truncated"]),
        ("a weight", |path| change(path, |bytes| *bytes.last_mut().unwrap() ^= 4), &["checksums differ"]),
        ("its step", |path| replace(path, "\\\"step\\\":", "\\\"stap\\\":"), &["checksums differ"]),
        ("its length", |path| change(path, |bytes| bytes[..8].fill(0xff)), &["checkpoint: "]),
        ("its text", |path| change(path, |bytes| bytes[9] = b'}'), &["not a checkpoint"]),
        (
            "a folder",
            |path| {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            },
            &["checkpoint: file "],
        ),
    ];
    let folder = half_way("damaged");
    let [path, before] =
        ["", ".previous"].map(|name| folder.path(&format!("broken/checkpoint{name}.safetensors")));
    let [last, older] = [&path, &before].map(|path| std::fs::read(path).unwrap());
    for (what, damage, words) in damages {
        damage(&path);
        for command in ["train --resume broken --quiet", "eval broken", "inspect broken"] {
            let text = refused(&folder.farad(command), what, words);
            let help = "the one before it is whole (34 steps): mv broken/checkpoint.previous.safetensors";
            assert!(text.contains(help), "{what}: {command}: {text}");
            assert!(older == std::fs::read(&before).unwrap(), "{what}: {command}: the older one is touched");
        }
        let _ = std::fs::remove_dir(&path);
        std::fs::write(&path, &last).unwrap();
    }
    // A newer farad's file is not damaged, and a lost one has a predecessor too.
    replace(&path, "\\\"version\\\":1", "\\\"version\\\":7");
    let text =
        refused(&folder.farad("eval broken"), "version", &["newer version", "(version 7 vs 1)", "help: "]);
    assert!(!text.contains("mv "), "{text}");
    std::fs::remove_file(&path).unwrap();
    refused(&folder.farad("eval broken"), "lost", &["mv broken/checkpoint.previous.safetensors"]);
    // Doing what the message says.
    std::fs::rename(&before, &path).unwrap();
    goes_on(&folder);
}

#[test]
fn configurations_and_histories_that_are_damaged() {
    let folder = half_way("files");
    let config = folder.path("broken/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let with = |more: &str| format!("{text}{more}\n");
    let cut = text[..text.len() / 2].to_string();
    let configs: [(&str, String, &[&str]); 6] = [
        ("unknown key", with("lerning_rate = 0.5"), &["lerning_rate", "config.toml"]),
        ("no TOML", with("= ="), &["damaged config", "config.toml"]),
        ("another type", text.replace("batch = 20", "batch = \"x\""), &["config.toml", "a whole number"]),
        ("cut", cut, &["config.toml"]),
        ("another kind", text.replace("kind = \"fit\"", "kind = \"fitt\""), &["fitt"]),
        ("empty", String::new(), &["not a run", "help: "]),
    ];
    for (what, config_text, words) in configs {
        std::fs::write(&config, config_text).unwrap();
        refused(&folder.farad("train --resume broken --quiet"), what, words);
    }
    std::fs::remove_file(&config).unwrap();
    refused(&folder.farad("train --resume broken"), "missing", &["it has no config.toml", "help: "]);
    std::fs::write(&config, &text).unwrap();
    for file in ["log.csv", "events.jsonl", "report.md"] {
        let path = folder.path("broken").join(file);
        let kept = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        refused(&folder.farad("train --resume broken --quiet"), file, &[file]);
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, kept).unwrap();
    }
    // Torn lines, as a power cut leaves them, are no errors.
    change(&folder.path("broken/events.jsonl"), |bytes| bytes.truncate(bytes.len() - 9));
    change(&folder.path("broken/log.csv"), |bytes| bytes.extend(b"999,2,0."));
    goes_on(&folder);
}

#[test]
fn folders_that_cannot_be_written() {
    let folder = half_way("folders");
    std::fs::write(folder.path("plain"), "a file").unwrap();
    for out in ["plain", "plain/run", "/proc/farad-run", "/dev/null/run"] {
        let output = folder.farad(&format!("{START} --out {out}"));
        refused(&output, out, &["run: ", out]);
    }
    refused(&folder.farad(&format!("{START} --out whole")), "whole", &["not empty", "resume", "help: "]);
    let before = results(&folder.path("broken"));
    let read_only = "mount --bind broken broken && mount -o remount,ro,bind broken && exec";
    if let Some(output) = mounted(&folder, read_only, "train --resume broken --epochs 4 --quiet") {
        refused(&output, "read-only", &["Read-only file system", "broken"]);
    }
    assert!(before == results(&folder.path("broken")), "something was written");
    goes_on(&folder);
}

/// Runs the command after some mounting, which others do not see; nothing if this system does not let us.
fn mounted(folder: &Folder, before: &str, arguments: &str) -> Option<Output> {
    let unshared = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script]).current_dir(folder.path(""));
        command.output().ok()
    };
    match unshared("mkdir -p test && mount -t tmpfs tmpfs test") {
        Some(output) if output.status.success() => {}
        _ => {
            println!("skipped: this system does not let tests mount ({before})");
            return None;
        }
    }
    unshared(&format!("{before} {} {arguments}", env!("CARGO_BIN_EXE_farad")))
}

#[test]
fn a_full_disk_keeps_the_checkpoint_that_is_there() {
    let folder = half_way("full");
    let before = results(&folder.path("broken"));
    let limited = |kilobytes: u32, arguments: &str| {
        // A limit on the size of files needs no rights; ignored, its signal is an error of the write.
        let script =
            format!("ulimit -f {kilobytes}; trap '' XFSZ; exec {} {arguments}", env!("CARGO_BIN_EXE_farad"));
        Command::new("bash").args(["-c", &script]).current_dir(folder.path("")).output().unwrap()
    };
    let words = ["checkpoint: file broken/checkpoint.safetensors", "the checkpoint after 34 steps is kept"];
    let go_on = "train --resume broken --epochs 4 --quiet";
    let text = refused(&limited(2, go_on), "limit", &words);
    assert!(text.contains("go on with: farad train --resume broken"), "{text}");
    let saved = |run: &str| std::fs::read(folder.path(run).join("checkpoint.safetensors")).unwrap();
    assert!(before["checkpoint.safetensors"] == saved("broken"), "the checkpoint changed");
    // From nothing: there is no checkpoint yet, and the run may begin again.
    let output = limited(2, &format!("{START} --epochs 2 --out broken2"));
    refused(&output, "first", &["broken2/checkpoint.safetensors", "nothing was saved yet"]);
    folder.succeed("train --resume broken2 --quiet");
    folder.succeed("train --resume broken2 --epochs 4 --quiet");
    assert!(results(&folder.path("whole")) == results(&folder.path("broken2")), "the bits differ");
    // A disk that is full indeed.
    let full =
        "mount -t tmpfs -o size=1m tmpfs disk && cp -r broken disk/; head -c 2m /dev/zero > disk/rest; exec";
    std::fs::create_dir(folder.path("disk")).unwrap();
    if let Some(output) = mounted(&folder, full, "train --resume disk/broken --epochs 4 --quiet") {
        refused(&output, "disk", &["error: ", "disk/broken", "No space left on device\n"]);
    }
    goes_on(&folder);
    let left = std::fs::read_dir(folder.path("broken")).unwrap();
    let left: Vec<String> = left.map(|entry| entry.unwrap().file_name().display().to_string()).collect();
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
}

#[test]
fn two_processes_do_not_mix_in_one_run() {
    let folder = half_way("two");
    let mut first = folder.command("train --resume broken --epochs 4000 --quiet").spawn().unwrap();
    let resumed = || folder::events(&folder.path("broken")).iter().filter(|e| e["event"] == "resume").count();
    while resumed() == 0 {
        assert!(first.try_wait().unwrap().is_none(), "the first ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let words = ["run: in use", &format!("process {}", first.id()), "help: "];
    refused(&folder.farad("train --resume broken --quiet"), "second", &words);
    assert!(folder.farad("inspect broken").status.success(), "reading is allowed");
    let listed = folder.farad("runs broken --json");
    let run: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((&run["state"], listed.stderr.len()), (&"running".into(), 0), "nothing to go on with");
    first.kill().unwrap();
    first.wait().unwrap();
    // The lock of a process that is dead is no lock. Seventeen steps are an epoch.
    let inspected: serde_json::Value =
        serde_json::from_str(&folder.succeed("inspect broken --json")).unwrap();
    let epochs = inspected["steps"].as_u64().unwrap() / 17 + 1;
    folder.succeed(&format!("train --resume broken --epochs {epochs} --quiet"));
    folder.moves_to_the_cpu("broken");
    for flag in ["--updates 100", "--quick"] {
        let text = folder.fail(&format!("train --resume broken {flag}"));
        assert!(text.contains(&format!("csv does not take {}", &flag[..7])), "{text}");
    }
}

#[test]
fn a_device_that_vanishes_or_is_full_is_an_error_and_the_run_goes_on() {
    if farad::Device::gpu(0).is_err() {
        return println!("skipped: no GPU");
    }
    let folder = half_way("device");
    let start = format!("{START} --epochs 4").replace("--device cpu", "--device gpu");
    folder.succeed(&format!("{start} --out gpu-whole"));
    let faulty =
        |fault: &str, arguments: &str| folder.command(arguments).env("FARAD_FAULT", fault).output().unwrap();
    let text = refused(&faulty("lose-device:60", &format!("{start} --out gpu")), "lost", &["device lost"]);
    assert!(text.contains(" steps is kept; go on with: farad train --resume gpu"), "{text}");
    let text =
        refused(&faulty("lose-device:2", "train --resume gpu --quiet"), "lost at once", &["device lost"]);
    assert!(text.contains("help: "), "{text}");
    folder.succeed("train --resume gpu --quiet");
    assert!(results(&folder.path("gpu-whole")) == results(&folder.path("gpu")), "the bits differ");
    let text =
        refused(&faulty("memory:4096", &format!("{start} --out small")), "memory", &["out of device memory"]);
    assert!(text.contains("help: "), "{text}");
}
