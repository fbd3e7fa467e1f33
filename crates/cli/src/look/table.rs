//! Tables whose columns are as wide as their contents, two spaces apart, titles in bold.

use std::fmt;

use anstyle::Style;
use farad::run::visible;

use super::{HEADING, paint};

/// One field of a table, with its color.
#[derive(Clone, Debug)]
pub struct TableCell {
    text: String,
    style: Style,
}

impl TableCell {
    /// Text in a style.
    pub fn new(style: Style, text: impl fmt::Display) -> TableCell {
        // A cell is one line, whatever a file has for a name.
        let text = visible(&text.to_string()).replace(['\n', '\t'], " ");
        TableCell { text, style }
    }
}

impl<T: fmt::Display> From<T> for TableCell {
    fn from(text: T) -> TableCell {
        TableCell::new(Style::new(), text)
    }
}

/// Which edge of a column its contents touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnSide {
    Left,
    Right,
}

/// A column of text.
pub fn left(title: &str) -> TableColumn {
    TableColumn { title: title.into(), side: ColumnSide::Left }
}

/// A column of numbers.
pub fn right(title: &str) -> TableColumn {
    TableColumn { title: title.into(), side: ColumnSide::Right }
}

/// A column's title and side.
#[derive(Clone, Debug)]
pub struct TableColumn {
    title: String,
    side: ColumnSide,
}

/// Rows under titles.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<TableCell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = TableColumn>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: vec![] }
    }

    /// Adds a row; fields that are missing stay empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = TableCell>) {
        self.rows.push(cells.into_iter().collect());
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let texts = cells.map(|cell| cell.text.as_str()).chain([self.columns[column].title.as_str()]);
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let titles = self.columns.iter().map(|column| TableCell::new(HEADING, &column.title)).collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
            for (n, (cell, (column, width))) in
                row[..last].iter().zip(self.columns.iter().zip(&widths)).enumerate()
            {
                let room = " ".repeat(width - cell.text.chars().count());
                let (before, after) = match column.side {
                    ColumnSide::Left => (String::new(), room),
                    ColumnSide::Right => (room, String::new()),
                };
                let gap = if n == 0 { "" } else { "  " };
                let after = if n + 1 == last { "" } else { &after };
                write!(f, "{gap}{before}{}{after}", paint(cell.style, &cell.text))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{BAD, GOOD};

    #[test]
    fn columns_are_as_wide_as_their_contents_whatever_their_colors() {
        let mut table = Table::new([left("name"), right("gates"), left("proved")]);
        table.row(["checkerboard".into(), "3".into(), TableCell::new(GOOD, "yes")]);
        table.row(["life".into(), "1,024".into(), TableCell::new(BAD, "no")]);
        table.row(["short".into()]);
        let text = anstream::adapter::strip_str(&table.to_string()).to_string();
        let lines = [
            "name          gates  proved",
            "checkerboard      3  yes",
            "life          1,024  no",
            "short",
            "",
        ];
        assert_eq!(text, lines.join("\n"));
        assert!(table.to_string().contains("\x1b[32myes"), "{table:?}");
    }
}
