//! Enumerating GPUs prints nothing, even without a runtime folder, as on servers and in containers.

use std::process::Command;

/// Set in the child process that looks for adapters.
const CHILD: &str = "FARAD_QUIET_CHILD";

#[test]
fn looking_for_adapters_is_silent() {
    if std::env::var_os(CHILD).is_some() {
        println!("found {}", farad_gpu::adapters().len());
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "looking_for_adapters_is_silent", "--nocapture"]);
    for name in ["XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "DISPLAY"] {
        command.env_remove(name);
    }
    let output = command.env(CHILD, "1").output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{out}{error}");
    assert_eq!(error, "", "what a driver says");
    let here = farad_gpu::adapters().len();
    assert!(out.contains(&format!("found {here}\n")), "the same adapters are found: {here} vs {out}");
}
