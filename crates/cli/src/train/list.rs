//! `farad train --list`: what there is to learn, and the keys of one recipe.

use std::io::Write;

use farad::run::{Table as Settings, Value};
use farad::train::TrainingKind;
use farad::train::settings::Setting;
use serde_json::json;

use super::unknown;
use crate::error::Result;
use crate::kinds::KINDS;
use crate::look::{self, DOUBTFUL, HEADING, Table, TableCell, left, paint, right};

/// Lists everything, or the keys of one.
pub fn run(name: Option<&str>, as_json: bool) -> Result<()> {
    let mut out = look::out();
    let text = match (name, as_json) {
        (None, false) => recipes(),
        (None, true) => lines(rooms().into_iter().flat_map(|(kind, rows)| {
            rows.into_iter().map(move |(name, about)| json!({ "name": name, "kind": kind, "about": about }))
        })),
        (Some(name), _) => {
            let (columns, rows) = (columns(name)?, rows(name));
            if as_json { lines(objects(&columns, &rows)) } else { keys(&columns, &rows) }
        }
    };
    write!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Everything there is to learn, by kind.
fn rooms() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let of = |kind: &dyn TrainingKind| {
        kind.subjects().iter().map(|subject| (subject.name, subject.about)).collect()
    };
    let rooms: Vec<_> = KINDS.all().map(|kind| (kind.title(), of(kind))).collect();
    rooms
}

fn recipes() -> String {
    let rooms = rooms();
    let width = rooms.iter().flat_map(|(_, rows)| rows).map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (kind, rows) in rooms {
        text += &format!("{}\n", paint(HEADING, kind));
        for (name, about) in rows {
            text += &format!("  {name:width$}  {about}\n");
        }
    }
    text + "\n`farad train RECIPE --list` shows the keys of one\n"
}

/// Settings side by side, by the name of their column.
type Columns = Vec<(&'static str, Settings)>;

fn columns(name: &str) -> Result<Columns> {
    let (kind, subject) = KINDS.learning(name).ok_or_else(|| unknown(name))?;
    Ok(kind.defaults(subject.name)?)
}

/// The rows of the settings of what is learned; those that are not in the table of kinds have none.
fn rows(name: &str) -> Vec<Setting> {
    KINDS.learning(name).map_or(vec![], |(kind, _)| kind.settings())
}

/// What a key does, in a sentence.
fn sentence(rows: &[Setting], key: &str) -> &'static str {
    rows.iter().find(|row| row.key == key).map_or("", |row| row.help)
}

/// The keys, and apart from them those of the lab.
fn keys(columns: &Columns, rows: &[Setting]) -> String {
    let is_lab = |key: &str| rows.iter().any(|row| row.key == key && row.is_lab());
    let [plain, lab] = [false, true].map(|lab| table(columns, rows, |key| is_lab(key) == lab));
    match rows.iter().any(Setting::is_lab) {
        false => plain,
        true => format!("{plain}\n{}\n{lab}", paint(HEADING, "lab: tried, but helps no recipe")),
    }
}

fn table(columns: &Columns, rows: &[Setting], shown: impl Fn(&str) -> bool) -> String {
    let titles = columns.iter().map(|(title, _)| right(title));
    let mut table = Table::new(std::iter::once(left("key")).chain(titles).chain([left("what it does")]));
    for (key, first) in columns[0].1.iter().filter(|(key, _)| shown(key)) {
        let cell = |(_, settings): &(&str, Settings)| match &settings[key] {
            value if value == first => TableCell::from(value),
            value => TableCell::new(DOUBTFUL, value),
        };
        let cells = std::iter::once(key.into()).chain(columns.iter().map(cell));
        table.row(cells.chain([sentence(rows, key).into()]));
    }
    table.to_string()
}

fn objects(columns: &Columns, rows: &[Setting]) -> impl Iterator<Item = Value> {
    columns[0].1.keys().map(move |key| {
        let mut object = json!({ "key": key });
        for (title, settings) in columns {
            object[*title] = serde_json::to_value(&settings[key]).unwrap_or_default();
        }
        object["help"] = sentence(rows, key).into();
        object
    })
}

fn lines(objects: impl Iterator<Item = Value>) -> String {
    objects.map(|object| format!("{object}\n")).collect()
}
