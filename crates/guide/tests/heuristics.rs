//! Every number that was chosen rather than derived says what set it: a case of `farad bench`, a page of `docs/lab`, or that
//! it was not measured. What is named exists.

use std::fs;

use farad_guide::Chapter;

/// A file with such numbers.
struct NumbersFile {
    path: &'static str,
    /// Those that count; none: all of the file.
    only: &'static [&'static str],
    /// How many there are at least, so that a file that is read wrongly does not pass.
    least: usize,
}

const FILES: [NumbersFile; 11] = [
    NumbersFile { path: "crates/compile/src/passes/limits.rs", only: &[], least: 13 },
    NumbersFile { path: "crates/compile/src/passes/tiles.rs", only: &[], least: 6 },
    NumbersFile { path: "crates/compile/src/fusion/limits.rs", only: &[], least: 25 },
    NumbersFile { path: "crates/compile/src/planning/limits.rs", only: &[], least: 8 },
    NumbersFile { path: "crates/compile/src/program/sort.rs", only: &["SHORT", "DIGITS", "STRIP"], least: 3 },
    NumbersFile { path: "crates/cpu/src/heuristics.rs", only: &[], least: 50 },
    NumbersFile { path: "crates/gpu/src/heuristics.rs", only: &[], least: 50 },
    NumbersFile { path: "crates/tensor/src/attention/cpu.rs", only: &["QUERIES", "KEYS", "LANES"], least: 3 },
    NumbersFile { path: "crates/tensor/src/attention/gpu.rs", only: &["LARGE", "TILES"], least: 2 },
    NumbersFile { path: "crates/tensor/src/attention/matrices/mod.rs", only: &["FEW", "PARTIAL"], least: 2 },
    NumbersFile { path: "crates/tensor/src/tensor/attention.rs", only: &["SHORT", "FEW", "ROWS"], least: 3 },
];

/// A number and what is said of it.
struct ReasonedNumber {
    name: String,
    reason: String,
}

fn read(path: &str) -> String {
    fs::read_to_string(Chapter::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The constants of a file in its order, each with the doc comment above it.
fn numbers(text: &str) -> Vec<ReasonedNumber> {
    let mut found = Vec::new();
    let mut reason = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            reason.push_str(comment);
            continue;
        }
        let said = std::mem::take(&mut reason);
        let item = line.strip_prefix("pub ").unwrap_or(line);
        if let Some((name, _)) = item.strip_prefix("const ").and_then(|rest| rest.split_once(':')) {
            found.push(ReasonedNumber { name: name.into(), reason: said });
        }
    }
    found
}

/// The cases that a reason names: words of small letters, digits and underscores between backticks.
fn cases(reason: &str) -> Vec<&str> {
    let word = |piece: &&str| {
        piece.contains('_') && piece.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    reason.split('`').skip(1).step_by(2).filter(word).collect()
}

/// The documents that a reason names.
fn documents(reason: &str) -> Vec<&str> {
    let ends = |word: &&str| word.starts_with("docs/") && word.ends_with(".md");
    reason.split([' ', '(', ')', ',', ';', '`']).map(|word| word.trim_end_matches('.')).filter(ends).collect()
}

/// All names of cases that `farad bench` has, between quotes.
fn bench() -> String {
    let folder = Chapter::root().join("crates/cli/src/bench");
    let files = fs::read_dir(&folder).expect("the folder of benchmarks");
    files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("text")).collect()
}

#[test]
fn every_number_says_what_set_it() {
    for NumbersFile { path, only, least } in FILES {
        let mut numbers = numbers(&read(path));
        numbers.retain(|number| only.is_empty() || only.contains(&&*number.name));
        assert!(numbers.len() >= least, "{path}: only {} numbers were found", numbers.len());
        for ReasonedNumber { name, reason } in &numbers {
            let measured = !cases(reason).is_empty() || !documents(reason).is_empty();
            let honest = reason.to_lowercase().contains("not measured");
            assert!(measured || honest, "{path}: {name} does not say what set it:{reason}");
        }
    }
}

#[test]
fn what_numbers_were_set_by_exists() {
    let bench = bench();
    let mut named = 0;
    for NumbersFile { path, .. } in FILES {
        for ReasonedNumber { name, reason } in numbers(&read(path)) {
            for case in cases(&reason) {
                assert!(bench.contains(&format!("\"{case}\"")), "{path}: {name}: no case {case}");
                named += 1;
            }
            for document in documents(&reason) {
                assert!(Chapter::root().join(document).exists(), "{path}: {name}: no {document}");
                named += 1;
            }
        }
    }
    assert!(named >= 40, "only {named} cases and documents are named");
}

#[test]
fn a_reason_is_read_as_it_is_meant() {
    let text = "/// Rows. Case: `sort_2p20_f32`,\n/// see docs/lab/attention.md.\npub const ROWS: usize = 1;\nconst BARE: f64 = 2.0;";
    let numbers = numbers(text);
    assert_eq!(cases(&numbers[0].reason), ["sort_2p20_f32"]);
    assert_eq!(documents(&numbers[0].reason), ["docs/lab/attention.md"]);
    assert_eq!((&*numbers[1].name, &*numbers[1].reason), ("BARE", ""));
}
