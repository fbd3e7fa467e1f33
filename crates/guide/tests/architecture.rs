//! `ARCHITECTURE.md` and `CONTRIBUTING.md` name only files and tests that there are, and the rules about crates
//! that `ARCHITECTURE.md` states hold. A rule that reads sources looks at lines of code, not at comments.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use farad_guide::Chapter;

/// The most words that `ARCHITECTURE.md` may have.
const MOST_WORDS: usize = 2_500;

/// Endings of names that are files even where no folder is named with them.
const ENDINGS: [&str; 7] = [".rs", ".md", ".py", ".js", ".wgsl", ".toml", ".svg"];

fn read(path: &str) -> String {
    fs::read_to_string(Chapter::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A document without its comments and blocks of code.
fn document(name: &str) -> String {
    let text = read(name);
    let shown: String =
        text.split("<!--").map(|part| part.split_once("-->").map_or(part, |(_, rest)| rest)).collect();
    let mut fenced = false;
    let lines = shown.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The pieces between backticks, by paragraph and list item.
fn quoted(text: &str) -> Vec<Vec<String>> {
    let mut items = vec![String::new()];
    for line in text.lines() {
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        if line.is_empty() || line.starts_with("- ") || (number != line && number.starts_with(". ")) {
            items.push(String::new());
        }
        let last = items.last_mut().expect("there is always one");
        last.push_str(line);
        last.push('\n');
    }
    items.iter().map(|item| item.split('`').skip(1).step_by(2).map(str::to_string).collect()).collect()
}

/// The path that a quoted piece starts with, if it is one: `scripts/kills [KIND…]` is `scripts/kills`.
fn path_of(piece: &str) -> Option<&str> {
    let first = piece.split_whitespace().next()?;
    let path = first.split("::").next()?;
    let top = ["crates/", "docs/", "tools/", "scripts/"].iter().any(|top| path.starts_with(top));
    let whole = first == piece && !path.contains(['*', '<', '(', '=', '$', '~', '@']);
    let looks = path.contains('/') || ENDINGS.iter().any(|ending| path.ends_with(ending));
    (top || (whole && looks && path.chars().next().is_some_and(|c| c.is_ascii_alphabetic()))).then_some(path)
}

/// Every path that a document names, with the folders that were named before it in its paragraph.
fn paths(name: &str) -> Vec<(String, Vec<PathBuf>)> {
    let mut found = Vec::new();
    for item in quoted(&document(name)) {
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in item.iter().filter_map(|piece| path_of(piece)) {
            found.push((path.to_string(), folders.clone()));
            let whole = Chapter::root().join(path);
            folders.extend(if whole.is_dir() { Some(whole) } else { whole.parent().map(Path::to_path_buf) });
        }
    }
    found
}

#[test]
fn every_path_that_is_named_exists() {
    for (document, least) in [("ARCHITECTURE.md", 120), ("CONTRIBUTING.md", 10)] {
        let paths = paths(document);
        assert!(paths.len() >= least, "{document}: only {} paths were found", paths.len());
        let missing: Vec<&String> = paths
            .iter()
            .filter(|(path, folders)| {
                let near = folders.iter().any(|folder| folder.join(path).exists());
                !near && !Chapter::root().join(path).exists()
            })
            .map(|(path, _)| path)
            .collect();
        assert!(missing.is_empty(), "{document}: there is no {missing:?}");
    }
}

#[test]
fn a_path_that_does_not_exist_is_seen() {
    assert_eq!(path_of("crates/ir/src/nothing.rs::a_test"), Some("crates/ir/src/nothing.rs"));
    assert_eq!(path_of("scripts/fuzz [MINUTES]"), Some("scripts/fuzz"));
    assert_eq!(path_of("nothing.rs"), Some("nothing.rs"));
    assert_eq!(path_of("cargo test"), None);
    assert_eq!(path_of("Tensor"), None);
}

#[test]
fn every_test_that_is_named_exists() {
    let pieces: Vec<String> = quoted(&document("ARCHITECTURE.md")).concat();
    let named: Vec<(&str, &str)> = pieces.iter().filter_map(|piece| piece.split_once(".rs::")).collect();
    assert!(named.len() > 20, "only {} tests were found", named.len());
    for (file, test) in named {
        let text = read(&format!("{file}.rs"));
        let (before, _) = text
            .split_once(&format!("fn {test}()"))
            .unwrap_or_else(|| panic!("{file}.rs: there is no test {test}"));
        assert!(before.trim_end().ends_with("#[test]"), "{file}.rs: {test} is no test");
    }
}

#[test]
fn it_is_short_enough_to_be_read() {
    let words = read("ARCHITECTURE.md").split_whitespace().count();
    assert!(words <= MOST_WORDS, "ARCHITECTURE.md has {words} words, more than {MOST_WORDS}");
}

/// The rows of the table of crates: name, and the crates that it uses.
fn table() -> Vec<(String, BTreeSet<String>)> {
    let text = document("ARCHITECTURE.md");
    let (_, after) = text.split_once("| crate | what it is | uses |").expect("the table of crates");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_string).collect();
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        (cells[0].trim().trim_matches('`').to_string(), quoted(cells[2]))
    })
    .collect()
}

/// The crates of the workspace that a crate's manifest names among its dependencies, those for tests aside.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = read(&format!("crates/{name}/Cargo.toml"));
    let (_, after) = manifest.split_once("[dependencies]").unwrap_or_default();
    let lines = after.lines().skip(1).take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next());
    names
        .filter(|name| *name == "farad" || name.starts_with("farad-"))
        .map(|name| name.strip_prefix("farad-").unwrap_or(name).to_string())
        .collect()
}

#[test]
fn crates_use_what_the_table_says() {
    let table = table();
    let rows: BTreeSet<String> = table.iter().map(|(name, _)| name.clone()).collect();
    let folders = fs::read_dir(Chapter::root().join("crates")).unwrap().flatten();
    let there: BTreeSet<String> = folders.map(|folder| folder.file_name().into_string().unwrap()).collect();
    assert_eq!(rows, there, "the table of crates has other rows than crates/");
    for (place, (name, uses)) in table.iter().enumerate() {
        assert_eq!(*uses, dependencies(name), "{name}: the table and the manifest differ");
        for used in uses {
            let below = table[place + 1..].iter().any(|(other, _)| other == used);
            assert!(below, "{name} uses {used}, which is not below it");
        }
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = read("Cargo.toml");
    let (_, after) =
        manifest.split_once("[workspace.dependencies]").expect("the dependencies of the workspace");
    let lines = after.lines().skip(1).take_while(|line| !line.starts_with('['));
    let names: Vec<&str> =
        lines.filter_map(|line| line.split([' ', '=']).next()).filter(|name| !name.is_empty()).collect();
    let text = read("docs/dependencies.md");
    let told: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split('|').next())
        .flat_map(|cell| cell.split(',').map(str::trim))
        .collect();
    let others: Vec<&str> = names.into_iter().filter(|name| !name.starts_with("farad")).collect();
    assert!(others.len() > 30, "only {} dependencies were found", others.len());
    let missing: Vec<&str> = others.into_iter().filter(|name| !told.contains(name)).collect();
    assert!(missing.is_empty(), "docs/dependencies.md does not say what {missing:?} is for");
}

/// Lines of code in the sources of all crates: path below `crates`, and the line without its indentation. Tests beside
/// sources (`src/**/tests`) are left out.
fn code(mut look: impl FnMut(&str, &str)) {
    let root = Chapter::root().join("crates");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(&root).unwrap().flatten().map(|folder| folder.path().join("src")).collect();
    let mut lines = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "tests") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                for line in fs::read_to_string(&path).unwrap().lines().map(str::trim_start) {
                    lines += 1;
                    if !line.starts_with("//") {
                        look(&name, line);
                    }
                }
            }
        }
    }
    assert!(lines > 50_000, "only {lines} lines of code were found");
}

/// Where a line of code has one of these words, among files that do not start with one of `allowed`.
fn elsewhere(words: &[&str], allowed: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    code(|path, line| {
        let has = words.iter().any(|word| line.contains(word));
        if has && !allowed.iter().any(|start| path.starts_with(start)) {
            found.push(format!("{path}: {line}"));
        }
    });
    found
}

#[test]
fn wgpu_and_unsafe_code_stay_where_they_are() {
    assert_eq!(elsewhere(&["wgpu::"], &["gpu/"]), [""; 0]);
    assert_eq!(
        elsewhere(&["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"], &["cpu/", "gpu/"]),
        [""; 0]
    );
    assert!(!elsewhere(&["wgpu::"], &[]).is_empty() && !elsewhere(&["unsafe {"], &["gpu/"]).is_empty());
    for (name, _) in table().iter().filter(|(name, _)| name != "gpu") {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        assert!(!manifest.lines().any(|line| line.starts_with("wgpu")), "{name} depends on wgpu");
    }
}

#[test]
fn nothing_below_the_command_prints() {
    let mut found = Vec::new();
    code(|path, line| {
        let prints =
            ["println!", "print!", "eprintln!", "eprint!", "dbg!"].iter().any(|name| line.starts_with(name));
        if prints && !path.starts_with("cli/") {
            found.push(format!("{path}: {line}"));
        }
    });
    assert_eq!(found, [""; 0]);
}

#[test]
fn one_file_reads_the_environment() {
    let words = ["env::var(", "env::var_os(", "env::vars("];
    assert_eq!(elsewhere(&words, &["tensor/src/environment.rs"]), [""; 0]);
    assert!(!elsewhere(&words, &[]).is_empty());
}
