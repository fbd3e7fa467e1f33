//! `scripts/release` without its build: the list of what Farad is built of, and which system a program needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The script's output, or nothing where there is no Python of its age.
fn release(arguments: &[&str]) -> Option<Output> {
    let modern = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !modern.is_ok_and(|made| made.status.success()) {
        println!("skipped: no python3 of 3.11 or later");
        return None;
    }
    Some(Command::new("python3").arg(root().join("scripts/release")).args(arguments).output().unwrap())
}

#[test]
fn every_component_is_listed_with_its_license() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release-components");
    let _ = std::fs::remove_dir_all(&folder);
    let Some(output) = release(&["--components", folder.to_str().unwrap()]) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list: Value =
        serde_json::from_slice(&std::fs::read(folder.join("components.cdx.json")).unwrap()).unwrap();
    assert_eq!((list["bomFormat"].as_str(), list["specVersion"].as_str()), (Some("CycloneDX"), Some("1.5")));
    let components = list["components"].as_array().unwrap();
    let lock: toml::Table = std::fs::read_to_string(root().join("Cargo.lock")).unwrap().parse().unwrap();
    let locked = lock["package"].as_array().unwrap();
    let texts = std::fs::read_to_string(folder.join("licenses.txt")).unwrap();
    for component in components {
        let (name, version) = (component["name"].as_str().unwrap(), component["version"].as_str().unwrap());
        assert!(!name.starts_with("farad"), "{name} is ours");
        assert_eq!(component["purl"], format!("pkg:cargo/{name}@{version}"));
        let row = locked
            .iter()
            .find(|row| row["name"].as_str() == Some(name) && row["version"].as_str() == Some(version));
        let sum = row.unwrap_or_else(|| panic!("{name} {version} is not in Cargo.lock"))["checksum"].as_str();
        assert_eq!(component["hashes"][0]["content"].as_str(), sum, "{name}");
        let license = component["licenses"][0]["expression"].as_str().unwrap();
        assert!(!license.is_empty() && !license.contains('/'), "{name}: {license}");
        assert!(texts.contains(&format!("\n{name} {version}: {license}")), "{name} is not in licenses.txt");
    }
    let has = |name: &str| components.iter().any(|component| component["name"] == name);
    // What the command and the Python module contain; not what only tests and build scripts need.
    for name in ["wgpu", "tokenizers", "pyo3", "rustls", "axum"] {
        assert!(has(name), "{name} is missing");
    }
    for name in ["insta", "pulldown-cmark", "bindgen"] {
        assert!(!has(name), "{name} is in no program");
    }
    // Edges lead to what is listed.
    let known: Vec<&str> =
        components.iter().map(|component| component["bom-ref"].as_str().unwrap()).collect();
    for edge in list["dependencies"].as_array().unwrap() {
        for target in edge["dependsOn"].as_array().unwrap() {
            assert!(known.contains(&target.as_str().unwrap()), "{target} is not listed");
        }
    }
    assert!(texts.contains("Permission is hereby granted, free of charge"), "the texts are there");
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_that_a_program_needs_is_read() {
    let own = env!("CARGO_BIN_EXE_farad");
    let Some(output) = release(&["--check", own]) else { return };
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let (_, version) = text.split_once("glibc 2.").unwrap_or_else(|| panic!("{text}"));
    let number: u32 = version.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
    // A program of Rust's standard library asks for some; where it is too new, the script fails.
    assert!(number >= 17, "{text}");
    assert_eq!(output.status.success(), number <= 36, "{text}");
    let missing = release(&["--check", "/nowhere/farad"]).unwrap();
    assert!(!missing.status.success());
    assert!(String::from_utf8_lossy(&missing.stderr).contains("release: no such file: /nowhere/farad"));
}
