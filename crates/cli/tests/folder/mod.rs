//! The command as users run it, in a folder of its own.
#![allow(dead_code)] // every test file uses some of it

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        Folder::below(&std::env::temp_dir(), name)
    }

    /// A folder in memory where there is such a thing: for tests that would mostly wait for the disk.
    pub fn in_memory(name: &str) -> Folder {
        let memory = Path::new("/dev/shm");
        let there = std::fs::write(memory.join(format!("farad-{}", std::process::id())), "").is_ok();
        let _ = std::fs::remove_file(memory.join(format!("farad-{}", std::process::id())));
        if there { Folder::below(memory, name) } else { Folder::new(name) }
    }

    fn below(place: &Path, name: &str) -> Folder {
        let path = place.join(format!("farad-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// `farad` with arguments separated by spaces, run in the folder.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farad"));
        command.args(arguments.split_whitespace()).current_dir(&self.0).env_remove("FARAD_DEVICE");
        command
    }

    pub fn farad(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Must succeed; stdout.
    pub fn succeed(&self, arguments: &str) -> String {
        let output = self.farad(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "farad {arguments}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Must fail; stderr.
    pub fn fail(&self, arguments: &str) -> String {
        let output = self.farad(arguments);
        assert!(!output.status.success(), "farad {arguments} should fail");
        assert_ne!(output.status.code(), Some(101), "farad {arguments} panicked");
        String::from_utf8(output.stderr).unwrap()
    }

    /// A run whose device is gone goes on with `--device cpu`, and that is its device from then on.
    pub fn moves_to_the_cpu(&self, run: &str) {
        let path = self.path(run).join("config.toml");
        let config = std::fs::read_to_string(&path).unwrap();
        let elsewhere = config.replace("device = \"cpu\"", "device = \"gpu:99 (sold)\"");
        assert_ne!(config, elsewhere);
        std::fs::write(&path, elsewhere).unwrap();
        assert!(
            self.fail(&format!("train --resume {run}")).contains("the run's device cannot be used: gpu:99")
        );
        self.succeed(&format!("train --resume {run} --device cpu --quiet"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), config);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Everything that a run must give again, bit for bit: checkpoint, log and, if it has come so far, its
/// circuits.
pub fn results(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let circuits = std::fs::read_dir(run.join("circuits")).into_iter().flatten();
    let circuits = circuits.map(|entry| format!("circuits/{}", entry.unwrap().file_name().display()));
    // A proof tells how long it took.
    let circuits = circuits.filter(|name| !name.ends_with(".proof.json"));
    let names = ["checkpoint.safetensors", "log.csv"].map(String::from).into_iter().chain(circuits);
    names.map(|name| (name.clone(), std::fs::read(run.join(name)).unwrap())).collect()
}

/// What a run's history tells so far.
pub fn events(run: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
