//! Every public function of `Tensor`, wherever it is written, shows an example in its documentation.

use std::path::{Path, PathBuf};

use farad_guide::Chapter;

#[test]
fn every_op_of_tensors_has_an_example() {
    let source = Chapter::root().join("crates/tensor/src");
    let (mut seen, mut without) = (0, vec![]);
    for path in files(&source) {
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, name, example) in functions_of_tensor(&text) {
            seen += 1;
            if !example {
                without.push(format!("{}:{line}: {name}", path.strip_prefix(&source).unwrap().display()));
            }
        }
    }
    assert!(seen > 120, "only {seen} functions were found");
    assert!(without.is_empty(), "without an example:\n{}", without.join("\n"));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false if path.extension().is_some_and(|end| end == "rs") => all.push(path),
            false => {}
        }
    }
    all.sort();
    all
}

/// Line, name, and whether the comment before it has a block of code: of all public functions inside `impl Tensor`, also
/// where a macro writes them.
fn functions_of_tensor(text: &str) -> Vec<(usize, String, bool)> {
    let (mut found, mut inside, mut comment) = (vec![], None, false);
    for (number, line) in text.lines().enumerate() {
        let plain = line.trim_start();
        let indent = line.len() - plain.len();
        if plain.starts_with("impl Tensor {") {
            inside = Some(indent);
        } else if inside == Some(indent) && plain.starts_with('}') {
            inside = None;
        } else if plain.starts_with("///") || plain.starts_with("#[") {
            // What documentation does not show needs no example.
            comment |= plain.starts_with("/// ```") || plain == "#[doc(hidden)]";
            continue;
        } else if let Some(rest) = plain.strip_prefix("pub ").filter(|_| inside.is_some()) {
            let rest = rest.strip_prefix("async ").unwrap_or(rest);
            if let Some(rest) = rest.strip_prefix("fn ") {
                let name = rest.split(['(', '<']).next().unwrap_or(rest);
                found.push((number + 1, name.to_string(), comment));
            }
        }
        comment &= plain.starts_with("$(#[doc");
    }
    found
}

#[test]
fn the_search_tells_ops_with_examples_from_those_without() {
    let text = "impl Tensor {\n    /// One.\n    /// ```\n    /// ```\n    #[track_caller]\n    pub fn one() {}\n\n    /// Two.\n    \
        pub async fn two(&self) {\n    }\n    fn hidden() {}\n}\npub fn outside() {}\n";
    assert_eq!(functions_of_tensor(text), [(6, "one".into(), true), (9, "two".into(), false)]);
}
