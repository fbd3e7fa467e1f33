//! What the page shows of a run besides its curves: settings, pictures, report, notes.

use std::path::Path;

use farad::run::{Run, Table, Value, json};

use crate::library::{content_type, is_run};
use crate::notes;
use crate::summary::{problem, stamp};

/// Most pictures that are listed.
const MOST_PICTURES: usize = 200;

/// Most bytes of a report that are shown.
const LONGEST_REPORT: u64 = 1 << 20;

/// Settings, pictures, report and notes of a run. For a damaged one, what is left, and the error instead of settings.
/// `None` if the folder is not a run.
pub fn details(folder: &Path) -> Option<Value> {
    if !is_run(folder) {
        return None;
    }
    let run = Run::open(folder);
    let mut settings = vec![];
    match &run {
        Ok(run) => flatten("", run.config(), &mut settings),
        Err(error) => settings.push(("damaged".into(), problem(error))),
    }
    Some(json!({
        "kind": run.as_ref().map_or("", |run| run.kind()),
        "settings": settings,
        "pictures": pictures(folder),
        "report": report(&folder.join("report.md")),
        "notes": notes::told(folder),
    }))
}

/// Dotted keys with values as in TOML, in the file's order.
fn flatten(prefix: &str, table: &Table, settings: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&name, inner, settings),
            toml::Value::String(text) => settings.push((name, text.clone())),
            toml::Value::Float(number) => settings.push((name, shortest(*number))),
            value => settings.push((name, value.to_string())),
        }
    }
}

/// Settings are single-precision numbers that were written with the digits of double precision.
fn shortest(number: f64) -> String {
    let single = number as f32;
    if single.is_finite() && f64::from(single) == number { single.to_string() } else { number.to_string() }
}

/// The pictures in `plots`, by name.
fn pictures(folder: &Path) -> Vec<Value> {
    let Ok(entries) = std::fs::read_dir(folder.join("plots")) else { return vec![] };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| !name.starts_with('.'))
        .filter(|name| content_type(Path::new(name)).is_some_and(|kind| kind.starts_with("image/")))
        .collect();
    names.sort();
    names.truncate(MOST_PICTURES);
    let described = |name: String| {
        let written = stamp(&folder.join("plots").join(&name));
        json!({ "path": format!("plots/{name}"), "written": written })
    };
    names.into_iter().map(described).collect()
}

fn report(path: &Path) -> Option<String> {
    let small = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() <= LONGEST_REPORT);
    small
        .then(|| std::fs::read(path).ok())
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    #[test]
    fn settings_are_one_list() {
        let scratch = ScratchFolder::new();
        scratch.write(
            "run/config.toml",
            "format = \"farad-run\"\nversion = 1\nkind = \"x\"\nname = \"a\"\nseeds = [1, 2]\n[settings]\nrate = 0.20000000298023224\nfine = 1e-9\n",
        );
        scratch.write("run/plots/b.svg", "");
        scratch.write("run/plots/a.png", "");
        scratch.write("run/plots/notes.txt", "");
        scratch.write("run/report.md", "# title");
        let details = details(&scratch.path("run")).unwrap();
        let settings = json!([
            ["name", "a"],
            ["seeds", "[1, 2]"],
            ["settings.rate", "0.2"],
            ["settings.fine", "0.000000001"]
        ]);
        assert_eq!(details["settings"], settings);
        let paths: Vec<&str> =
            details["pictures"].as_array().unwrap().iter().filter_map(|p| p["path"].as_str()).collect();
        assert_eq!(paths, ["plots/a.png", "plots/b.svg"]);
        assert_eq!(details["report"], "# title");
    }
}
