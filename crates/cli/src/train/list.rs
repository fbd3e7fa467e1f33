//! `farad train --list`: what there is to learn, and the keys of one recipe.

use std::io::Write;

use farad::run::{Table as Settings, Value};
use farad::train::Kind;
use serde_json::json;

use super::unknown;
use crate::error::Result;
use crate::kinds::KINDS;
use crate::lm;
use crate::look::{self, Cell, DOUBTFUL, HEADING, Table, left, paint, right};

/// Lists everything, or the keys of one.
pub fn run(name: Option<&str>, as_json: bool) -> Result<()> {
    let mut out = look::out();
    let text = match (name, as_json) {
        (None, false) => recipes(),
        (None, true) => lines(rooms().into_iter().flat_map(|(kind, rows)| {
            rows.into_iter().map(move |(name, about)| json!({ "name": name, "kind": kind, "about": about }))
        })),
        (Some(name), _) => {
            let columns = columns(name)?;
            if as_json { lines(objects(&columns)) } else { keys(&columns) }
        }
    };
    write!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Everything there is to learn, by kind.
fn rooms() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let of = |kind: &dyn Kind| kind.subjects().iter().map(|subject| (subject.name, subject.about)).collect();
    let mut rooms: Vec<_> = KINDS.all().map(|kind| (kind.title(), of(kind))).collect();
    rooms.push(("language models", vec![(lm::NAME, lm::ABOUT)]));
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
    if name == lm::NAME {
        return Ok(vec![("default", lm::defaults())]);
    }
    let (kind, subject) = KINDS.learning(name).ok_or_else(|| unknown(name))?;
    Ok(kind.defaults(subject.name)?)
}

fn keys(columns: &Columns) -> String {
    let titles = columns.iter().map(|(title, _)| right(title));
    let mut table = Table::new(std::iter::once(left("key")).chain(titles));
    for (key, first) in &columns[0].1 {
        let cell = |(_, settings): &(&str, Settings)| match &settings[key] {
            value if value == first => Cell::from(value),
            value => Cell::new(DOUBTFUL, value),
        };
        table.row(std::iter::once(key.into()).chain(columns.iter().map(cell)));
    }
    table.to_string()
}

fn objects(columns: &Columns) -> impl Iterator<Item = Value> {
    columns[0].1.keys().map(move |key| {
        let mut object = json!({ "key": key });
        for (title, settings) in columns {
            object[*title] = serde_json::to_value(&settings[key]).unwrap_or_default();
        }
        object
    })
}

fn lines(objects: impl Iterator<Item = Value>) -> String {
    objects.map(|object| format!("{object}\n")).collect()
}
