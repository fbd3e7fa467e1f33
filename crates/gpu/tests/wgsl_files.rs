//! Every WGSL file of the workspace is valid core WGSL as it is on disk, whichever crate uses it.

use std::fs;
use std::path::{Path, PathBuf};

use naga::valid::{Capabilities, ValidationFlags, Validator};

/// All WGSL files below a folder, in order.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("a folder of sources is read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry is read").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            found.push(path);
        }
    }
}

/// naga's objection to a text, if any.
fn fault(text: &str) -> Option<String> {
    let module = match naga::front::wgsl::parse_str(text) {
        Ok(module) => module,
        Err(error) => return Some(error.emit_to_string(text)),
    };
    // Packing f16 is core WGSL; naga has a capability for it because some backends lack it.
    let core = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let mut validator = Validator::new(ValidationFlags::all(), core);
    validator.validate(&module).err().map(|error| error.emit_to_string(text))
}

#[test]
fn every_file_is_valid_as_it_lies() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies among others");
    let mut found = Vec::new();
    for entry in fs::read_dir(crates).expect("the crates are read") {
        let sources = entry.expect("an entry is read").path().join("src");
        if sources.is_dir() {
            files(&sources, &mut found);
        }
    }
    assert!(found.len() > 30, "the walk found {} files only", found.len());
    let faults = found.iter().filter_map(|path| {
        let text = fs::read_to_string(path).expect("a source is read");
        Some(format!("{}:\n{}", path.display(), fault(&text)?))
    });
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_hole_in_a_text_is_a_fault() {
    assert!(fault("fn f() -> u32 { HOLE }").is_some());
    assert!(fault("fn f() -> u32 { return 1.5; }").is_some());
    assert!(fault("fn f() -> u32 { return 1u; }").is_none());
}
