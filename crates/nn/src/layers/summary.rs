//! A module's parts as a table.

use std::fmt;

use super::{Buffer, Mode, Module, Parameter, Visitor};

/// What a module consists of: a row for every part, and totals. Prints as a table.
///
/// ```
/// use farad::prelude::*;
/// let text = Sequential::new((Linear::new(2, 3), Relu)).summary().to_string();
/// let wanted = [
///     "path      kind        parameters",
///     "          Sequential           9",
///     "0         Linear               9",
///     "0.weight  [3, 2]               6",
///     "0.bias    [3]                  3",
///     "1         Relu                 0",
///     "parameters 9, trained 9",
/// ];
/// assert_eq!(text, wanted.join("\n"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// A row for every part, the module itself first.
    pub rows: Vec<SummaryRow>,
    /// Numbers in parameters; a parameter that occurs twice counts once.
    pub parameters: usize,
    /// Those of them that are not frozen.
    pub trained: usize,
}

/// A part of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    /// Where it is; empty for the module itself.
    pub path: String,
    /// The layer's type, or a cell's shape.
    pub kind: String,
    /// Numbers in the parameters beneath.
    pub parameters: usize,
}

impl Summary {
    pub(super) fn of(module: &(impl Module + ?Sized)) -> Summary {
        let first = SummaryRow { path: String::new(), kind: module.kind(), parameters: 0 };
        let mut rows = SummaryRows { rows: vec![first], open: vec![0], seen: Vec::new() };
        module.visit(&mut rows);
        let size = |parameter: &&Parameter| parameter.value().numel();
        let parameters = rows.seen.iter().map(|p| size(&p)).sum();
        let trained = rows.seen.iter().filter(|p| !p.is_frozen()).map(|p| size(&p)).sum();
        Summary { rows: rows.rows, parameters, trained }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(|t| t.chars().count()).max();
        let path = widest(&mut self.rows.iter().map(|row| row.path.as_str())).unwrap_or(0).max(4);
        let kind = widest(&mut self.rows.iter().map(|row| row.kind.as_str())).unwrap_or(0).max(4);
        writeln!(f, "{:path$}  {:kind$}  parameters", "path", "kind")?;
        for row in &self.rows {
            writeln!(f, "{:path$}  {:kind$}  {:>10}", row.path, row.kind, row.parameters)?;
        }
        write!(f, "parameters {}, trained {}", self.parameters, self.trained)
    }
}

struct SummaryRows {
    rows: Vec<SummaryRow>,
    /// The rows of the parts that we are inside of, by number.
    open: Vec<usize>,
    seen: Vec<Parameter>,
}

impl SummaryRows {
    /// The part that was entered last is a cell of this kind.
    fn cell(&mut self, kind: String, parameters: usize) {
        for &row in &self.open {
            self.rows[row].parameters += parameters;
        }
        if let Some(&row) = self.open.last() {
            self.rows[row].kind = kind;
        }
    }
}

impl Visitor for SummaryRows {
    fn child(&mut self, name: &str, part: &dyn Module) {
        let kind = part.kind();
        if kind.is_empty() {
            return;
        }
        let outer = self.open.last().map_or("", |&row| self.rows[row].path.as_str());
        let path = if outer.is_empty() { name.to_string() } else { format!("{outer}.{name}") };
        self.open.push(self.rows.len());
        self.rows.push(SummaryRow { path, kind, parameters: 0 });
        part.visit(self);
        self.open.pop();
    }

    fn parameter(&mut self, parameter: &Parameter) {
        let value = parameter.value();
        let frozen = if parameter.is_frozen() { " frozen" } else { "" };
        self.cell(format!("{}{frozen}", value.shape()), value.numel());
        if !self.seen.iter().any(|seen| seen.is(parameter)) {
            self.seen.push(parameter.clone());
        }
    }

    fn buffer(&mut self, buffer: &Buffer) {
        self.cell(format!("{} buffer", buffer.value().shape()), 0);
    }

    fn mode(&mut self, _: &Mode) {}
}
