//! `docs/coverage.md` has a line for every ability that Farad was asked for, names the tests behind each, and
//! names only files that there are.

use farad_guide::Chapter;

/// What Farad was asked for, by the code under which it was asked, and the words with which its line begins.
/// The page speaks to users, so the codes stand here only.
const ABILITIES: &[(&str, &str)] = &[
    ("E01", "Arithmetic"),
    ("E02", "Reductions"),
    ("E03", "Movement"),
    ("E04", "Indexing"),
    ("E05", "Matrix products"),
    ("E06", "Broadcasting"),
    ("E07", "Gradients"),
    ("E07", "Loops"),
    ("E08", "Lazy work"),
    ("E09", "Devices"),
    ("E10", "Compiled steps"),
    ("E11", "The same bits"),
    ("E12", "Dtypes"),
    ("E13", "A profiler"),
    ("E14", "Memory"),
    ("E15", "Small work"),
    ("E16", "Several GPUs"),
    ("E16", "Ranks"),
    ("N01", "Layers"),
    ("N02", "Norms"),
    ("N03", "Recurrent layers"),
    ("N04", "Attention"),
    ("N05", "Activations"),
    ("N06", "Losses"),
    ("N07", "Optimizers"),
    ("N08", "Modules"),
    ("N09", "Checkpoints"),
    ("N10", "Data"),
    ("N11", "Examples"),
    ("N12", "Large convolutions"),
    ("L01", "Gates"),
    ("L02", "Wirings"),
    ("L03", "Automata"),
    ("L04", "Recipes"),
    ("L05", "Hardening"),
    ("L06", "Classifiers"),
    ("L07", "Circuits"),
    ("L08", "A CPU engine"),
    ("L09", "Repair"),
    ("L10", "Your own rules"),
    ("L11", "For engineers"),
    ("T01", "A decoder transformer"),
    ("T02", "Tokenizers"),
    ("T03", "Texts"),
    ("T04", "Training"),
    ("T05", "The published wikitext-2 case"),
    ("T06", "Published models"),
    ("T06", "Configurations and templates"),
    ("T06", "Published ResNets"),
    ("T04", "Generation"),
    ("W01", "Rigid bodies"),
    ("W01", "Explosions"),
    ("W02", "Agents"),
    ("W02", "Agents that dream"),
    ("W02", "Creatures that evolve"),
    ("W03", "A view"),
    ("W03", "Pages that move"),
    ("U01", "One command"),
    ("U01", "Sweeps"),
    ("U02", "In the browser"),
    ("U03", "Documents"),
    ("U04", "Interchange"),
    ("U05", "Reliability"),
    ("U06", "Using what was trained"),
    ("N10", "Tables"),
    ("N10", "Published data"),
    ("U01", "Releases"),
    ("U04", "Python"),
];

/// The letters of codes and how many each has.
const CODES: [(char, usize); 6] = [('E', 16), ('N', 12), ('L', 11), ('T', 6), ('W', 3), ('U', 6)];

fn coverage() -> String {
    std::fs::read_to_string(Chapter::root().join("docs/coverage.md")).unwrap()
}

/// The lines of the tables: the words that each begins with, and its tests.
fn lines(text: &str) -> Vec<(&str, &str)> {
    let line = |line: &'_ str| -> Option<(usize, usize)> {
        let end = line.strip_prefix("| **")?.find("**")?;
        Some((end + 4, line.trim_end_matches(" |").rfind(" | ")?))
    };
    text.lines().filter_map(|row| line(row).map(|(end, tests)| (&row[4..end], &row[tests..]))).collect()
}

#[test]
fn every_ability_has_a_line_with_its_tests() {
    let text = coverage();
    let lines = lines(&text);
    for (code, words) in ABILITIES {
        let found = lines.iter().filter(|(begins, _)| begins == words).count();
        assert_eq!(found, 1, "{code}: lines that begin with **{words}**");
    }
    for (begins, tests) in lines {
        assert!(ABILITIES.iter().any(|(_, words)| *words == begins), "no code has the line **{begins}**");
        assert!(tests.contains('`'), "**{begins}** names no test");
    }
}

/// A claim that nothing checks would be an advertisement.
#[test]
fn every_row_names_what_checks_it() {
    let text = coverage();
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("| ") && *line != "| what | tests |").collect();
    assert!(rows.len() > 50, "only {} rows", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let names = ["crates/", "python/", "scripts/", "docs/"]
            .iter()
            .any(|folder| cells[1].contains(&format!("`{folder}")));
        assert!(cells.len() == 2 && names, "no test: {row}");
        // What is only measured says so.
        assert!(
            cells[1].contains("test") || cells[1].contains("by hand") || cells[1].contains("src/"),
            "{row}"
        );
    }
}

#[test]
fn every_code_has_a_line_and_the_page_has_no_codes() {
    let text = coverage();
    for (letter, count) in CODES {
        for number in 1..=count {
            let code = format!("{letter}{number:02}");
            assert!(ABILITIES.iter().any(|(known, _)| *known == code), "{code} has no line");
            assert!(!text.contains(&format!("{code} ")), "the page names {code}");
        }
    }
}

#[test]
fn every_path_that_is_named_exists() {
    let text = coverage();
    let names: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let is_path = |name: &str| name.contains('/') || name.ends_with(".md");
    let paths: Vec<&str> = names.into_iter().filter(|name| is_path(name)).collect();
    assert!(paths.len() > 100, "only {} paths were found", paths.len());
    let missing: Vec<&str> = paths.into_iter().filter(|path| !Chapter::root().join(path).exists()).collect();
    assert!(missing.is_empty(), "there is no {missing:?}");
}
