//! Running external programs in temporary folders.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether a tool is installed; prints a message if not, and panics if it is required.
pub fn have(tool: &str) -> bool {
    let required = std::env::var("FARAD_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
    let there = have_by_chance(tool);
    assert!(there || !required, "{tool} is not installed, and FARAD_REQUIRE_TOOLS is 1");
    there
}

/// Whether an optional tool is installed; prints a message if not.
pub fn have_by_chance(tool: &str) -> bool {
    let started = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Ok(mut child) = started {
        child.wait().unwrap();
        return true;
    }
    let mut stderr = std::io::stderr();
    writeln!(stderr, "skipped: {tool} is not installed").unwrap();
    false
}

/// A folder that is deleted at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("farad-exports-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes files and returns the path of the first.
    pub fn write(&self, files: &[(String, String)]) -> PathBuf {
        for (name, text) in files {
            std::fs::write(self.0.join(name), text).unwrap();
        }
        self.0.join(&files[0].0)
    }

    /// Runs a command here and returns its output; its standard input is `given`.
    pub fn run(&self, command: &str, arguments: &[&str], given: &[u8]) -> Output {
        let mut child = Command::new(command)
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command}: {error}"));
        let mut stdin = child.stdin.take().unwrap();
        let given = given.to_vec();
        // Both pipes may fill up, so one side writes while the other reads.
        let writer = std::thread::spawn(move || stdin.write_all(&given));
        let output = child.wait_with_output().unwrap();
        // A program may end before it has read everything.
        let _ = writer.join().unwrap();
        output
    }

    /// Runs a command that must succeed.
    pub fn must(&self, command: &str, arguments: &[&str], given: &[u8]) -> Vec<u8> {
        let output = self.run(command, arguments, given);
        let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]).into_owned();
        assert!(
            output.status.success(),
            "{command} {arguments:?}: {}\n{}{}",
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        );
        output.stdout
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
