//! `docs/coverage.md` names every ability once, and only files that there are.

use farad_guide::Chapter;

/// The letters of abilities and how many each has.
const ABILITIES: [(char, usize); 6] = [('E', 16), ('N', 12), ('L', 11), ('T', 5), ('W', 3), ('U', 5)];

fn coverage() -> String {
    std::fs::read_to_string(Chapter::root().join("docs/coverage.md")).unwrap()
}

#[test]
fn every_ability_is_there_once_and_says_how_far_it_is() {
    let text = coverage();
    let entries: Vec<&str> = text.split("\n- **").skip(1).collect();
    let wanted: Vec<String> = ABILITIES
        .iter()
        .flat_map(|(letter, count)| (1..=*count).map(move |n| format!("{letter}{n:02}")))
        .collect();
    let names: Vec<&str> = entries.iter().map(|entry| entry.split("**").next().unwrap()).collect();
    assert_eq!(names, wanted);
    for entry in entries {
        let told = ["**Done", "**Partly", "**Not yet", "**done", "**not yet"]
            .iter()
            .any(|word| entry.contains(word));
        assert!(told, "this does not say how far it is: {entry}");
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
