//! What the bits of a classifier mean, according to the `meta` of its file: which column or pixel is compared
//! with which threshold, and which number is which class.
//!
//! Comments in exports, functions on one sample and the sliders of the page are made from it.
//!
//! Invariant: a meaning matches the netlist, bit for bit. A netlist without `meta`, or with one that does not
//! match, has no meaning. Start at [`Meaning::of`].

use std::fmt::Write;

use serde_json::Value;

use super::names::Names;
use crate::netlist::Netlist;

/// Where the numbers come from.
pub(crate) enum InputSource {
    /// A table's columns, by name and as identifiers.
    Columns(Vec<(String, String)>),
    /// The bytes of a picture: channels, height, width.
    Pixels([usize; 3]),
}

/// The inputs and outputs of a classifier.
pub(crate) struct Meaning {
    pub source: InputSource,
    /// Thresholds of all numbers, row by row; input `n` is set if its number is at least threshold `n`.
    pub thresholds: Vec<f32>,
    /// Thresholds per number.
    pub levels: usize,
    pub classes: Vec<String>,
}

impl Meaning {
    /// For a combinational netlist whose outputs are the number of a class.
    pub(crate) fn of(netlist: &Netlist) -> Option<Meaning> {
        let meta = &netlist.meta;
        let classes = names(meta.get("classes")?)?;
        let bits = classes.len().next_power_of_two().trailing_zeros() as usize;
        let is_class =
            |n: usize| netlist.outputs.get(n).is_some_and(|output| output.name == format!("class{n}"));
        let fits = netlist.registers.is_empty() && netlist.outputs.len() == bits && (0..bits).all(is_class);
        // The other order of inputs is only for pages.
        if !fits || meta.contains_key("order") {
            return None;
        }
        let source = match meta.get("columns") {
            Some(columns) => InputSource::Columns(identified(&names(columns)?)),
            None => {
                let size = |key: &str| meta.get(key).and_then(Value::as_u64).map(|size| size as usize);
                InputSource::Pixels([size("channels").unwrap_or(1), size("height")?, size("width")?])
            }
        };
        let features = match &source {
            InputSource::Columns(columns) => columns.len(),
            InputSource::Pixels(shape) => shape.iter().product(),
        };
        let thresholds = levels(meta.get("thresholds")?, features)?;
        let whole = !thresholds.is_empty() && thresholds.len() == netlist.inputs.len();
        whole.then(|| Meaning { source, levels: thresholds.len() / features, thresholds, classes })
    }

    /// The meaning of an input.
    pub(crate) fn input(&self, n: usize) -> String {
        let (feature, level) = (n / self.levels, self.thresholds[n]);
        match &self.source {
            InputSource::Columns(columns) => format!("{} >= {level}", one_line(&columns[feature].0)),
            InputSource::Pixels([channels, height, width]) => {
                let (x, y) = (feature % width, feature / width % height);
                let channel = match channels {
                    1 => String::new(),
                    _ => format!(", channel {}", feature / (width * height)),
                };
                format!("pixel at x {x}, y {y}{channel} >= {level}")
            }
        }
    }

    /// The meaning of every input and every class, in lines that begin with `comment`; `input` names an input.
    pub(super) fn legend(&self, comment: &str, input: impl Fn(usize) -> String) -> String {
        let mut text = format!("{comment} Inputs, each 1 from a threshold on:\n");
        for n in 0..self.thresholds.len() {
            writeln!(text, "{comment}   {}: {}", input(n), self.input(n)).expect("a string");
        }
        writeln!(text, "{comment} The outputs are the number of the class, lowest bit first:")
            .expect("a string");
        for (n, class) in self.classes.iter().enumerate() {
            writeln!(text, "{comment}   {n}: {}", one_line(class)).expect("a string");
        }
        text
    }

    /// Numbers of a sample.
    pub(super) fn features(&self) -> usize {
        self.thresholds.len() / self.levels
    }

    /// An example of a sample; for a table, numbers in the middle of its thresholds.
    pub(super) fn example(&self) -> Vec<String> {
        let middle = |feature: usize| self.thresholds[feature * self.levels + self.levels / 2];
        (0..self.features())
            .map(|feature| format!("{:?}", (middle(feature) * 100.0).round() / 100.0))
            .collect()
    }

    /// The thresholds as a list of literals, eight per line.
    pub(super) fn literals(&self, suffix: &str) -> String {
        let rows = self.thresholds.chunks(8).map(|row| {
            let row: Vec<String> = row.iter().map(|level| format!("{level:?}{suffix}")).collect();
            format!("    {}", row.join(", "))
        });
        rows.collect::<Vec<_>>().join(",\n")
    }

    /// The names of classes as string literals of C and Rust.
    pub(super) fn class_literals(&self) -> String {
        let quoted = |class: &String| format!("\"{}\"", one_line(class));
        self.classes.iter().map(quoted).collect::<Vec<_>>().join(", ")
    }
}

/// Names on one line that do not end a comment or a string.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || "?\\\"".contains(c) { ' ' } else { c }).collect()
}

fn names(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Number(count) => Some((0..count.as_u64()?).map(|n| n.to_string()).collect()),
        _ => value.as_array()?.iter().map(|name| Some(name.as_str()?.to_string())).collect(),
    }
}

fn identified(columns: &[String]) -> Vec<(String, String)> {
    let mut names = Names::new(&["inputs", "outputs", "values"]);
    columns.iter().map(|column| (column.clone(), names.pick(&column.to_lowercase()))).collect()
}

/// Thresholds, which are given once for all features or separately for each.
fn levels(value: &Value, features: usize) -> Option<Vec<f32>> {
    let list = |value: &Value| -> Option<Vec<f32>> {
        value.as_array()?.iter().map(|level| level.as_f64().map(|level| level as f32)).collect()
    };
    let finite = |levels: &Vec<f32>| levels.iter().all(|level| level.is_finite());
    match value.as_array()?.first()? {
        Value::Array(_) => {
            let rows: Vec<Vec<f32>> = value.as_array()?.iter().map(list).collect::<Option<_>>()?;
            let even = rows.len() == features && rows.iter().all(|row| row.len() == rows[0].len());
            even.then(|| rows.concat()).filter(finite)
        }
        _ => Some(list(value)?.repeat(features)).filter(finite),
    }
}
