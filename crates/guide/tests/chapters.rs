//! What holds of the guide as a whole: every chapter is listed and tested, every block is covered, every link leads
//! somewhere.

use std::collections::BTreeSet;
use std::path::Path;

use farad_guide::{BlockNote, Chapter, FencedBlock, TESTED, blocks};

#[test]
fn every_chapter_is_listed_once_and_its_rust_is_tested() {
    let folder = Chapter::root().join("docs/guide/src");
    let listed: Vec<String> = Chapter::of_the_guide()
        .iter()
        .map(|chapter| chapter.name.strip_prefix("docs/guide/src/").unwrap().to_string())
        .collect();
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), files, "SUMMARY.md and the folder differ");
    assert_eq!(listed, TESTED, "SUMMARY.md and crates/guide/src/lib.rs differ");
}

#[test]
fn every_block_is_covered() {
    for chapter in Chapter::all() {
        let mut before: Option<FencedBlock> = None;
        for block in blocks(&chapter.text) {
            if let Err(why) = check(&block, before.as_ref()) {
                panic!("{}:{}: {why}", chapter.name, block.line);
            }
            before = Some(block);
        }
    }
}

/// Whether some test covers the block.
fn check(block: &FencedBlock, before: Option<&FencedBlock>) -> Result<(), String> {
    match block.language() {
        "rust" if block.info.contains("ignore") => Err("Rust that is not even compiled".into()),
        "rust" if block.info.contains("no_run") && block.is_run() => {
            Err("Rust that does not run needs `<!-- not run: why -->`".into())
        }
        // Python blocks are run by `python/tests/test_guide.py`.
        "rust" | "sh" | "python" => Ok(()),
        "toml" => block.text.parse::<toml::Table>().map(drop).map_err(|error| error.to_string()),
        "json" => {
            let mut lines = block.text.lines().filter(|line| !line.is_empty());
            let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).map(drop);
            // One value, or one per line.
            parse(&block.text).or_else(|_| lines.try_for_each(parse)).map_err(|error| error.to_string())
        }
        "csv" | "wgsl" if matches!(block.note, Some(BlockNote::File(_))) => Ok(()),
        "text" if matches!(block.note, Some(BlockNote::File(_) | BlockNote::NotRun(_))) => Ok(()),
        "text" => shown(block, before.ok_or("text that comes from nowhere")?),
        other => Err(format!("no test covers blocks of `{other}`")),
    }
}

/// Output of a shell block is compared where it is run; that of Rust must stand in its assertions.
fn shown(block: &FencedBlock, before: &FencedBlock) -> Result<(), String> {
    match before.language() {
        "sh" => Ok(()),
        "rust" => {
            let missing = block.text.lines().find(|line| !before.text.contains(line.trim()));
            missing.map_or(Ok(()), |line| Err(format!("`{line}` is not asserted by the block before")))
        }
        _ => Err("text is the output of what stands before it, or has a note".into()),
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut texts = Chapter::all();
    let root = Chapter::root();
    for name in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/guide/src/SUMMARY.md"] {
        texts.push(Chapter { name: name.into(), text: std::fs::read_to_string(root.join(name)).unwrap() });
    }
    for chapter in texts {
        let folder = root.join(&chapter.name);
        let folder = folder.parent().unwrap();
        for link in links(&chapter.text) {
            let path = link.split('#').next().unwrap();
            assert!(path.is_empty() || folder.join(path).exists(), "{}: {link} leads nowhere", chapter.name);
        }
    }
}

/// What can be left out of the command, or added, is what the chapter about installing says.
#[test]
fn features_of_the_command_are_told() {
    let read = |name: &str| std::fs::read_to_string(Chapter::root().join(name)).unwrap();
    let manifest: toml::Table = read("crates/cli/Cargo.toml").parse().unwrap();
    let features = manifest["features"].as_table().unwrap();
    let normal: Vec<&str> =
        features["default"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let wanted: BTreeSet<(String, bool)> = features
        .keys()
        .filter(|name| *name != "default")
        .map(|name| (name.clone(), normal.contains(&name.as_str())))
        .collect();
    let text = read("docs/guide/src/install.md");
    let (_, table) = text.split_once("| feature | by default |").expect("the table of features");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let told: BTreeSet<(String, bool)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            (cells[1].trim_matches('`').to_string(), cells[2] == "yes")
        })
        .collect();
    assert_eq!(told, wanted);
}

/// Targets of links that are no addresses.
fn links(markdown: &str) -> Vec<&str> {
    let plain = markdown.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    plain
        .filter(|link| !link.contains("://") && !link.contains(' ') && Path::new(link).is_relative())
        .collect()
}

/// Hidden lines are shown to whoever reads the files as they lie, and do not compile when pasted.
#[test]
fn rust_of_the_guide_can_be_pasted() {
    for chapter in Chapter::of_the_guide() {
        for block in blocks(&chapter.text).iter().filter(|block| block.language() == "rust") {
            let place = format!("{}:{}", chapter.name, block.line);
            assert!(block.text.contains("fn main() "), "{place}: no whole program");
            let hidden = block.text.lines().find(|line| line.trim_start().starts_with("# "));
            assert_eq!(hidden, None, "{place}: a hidden line");
        }
    }
}
