//! Tables whose columns are as wide as their contents, two spaces apart, titles in bold. In a terminal that is narrower, columns
//! that may go are left out, and texts get several lines.
//!
//! Invariant: numbers are never cut, and what is left out is named.

use std::fmt;

use anstyle::Style;
use farad::run::visible;

use super::{FAINT, HEADING, columns_of_stdout, paint};

/// Spaces between columns.
const GAP: usize = 2;
/// Columns of text get this many letters if there is room, before columns that may go stay.
const ENOUGH: usize = 24;
/// So few rows become lists where they do not fit, if there are more columns than several.
const FEW: usize = 2;
const SEVERAL: usize = 4;
/// Longer words may be broken.
const LONG: usize = 30;

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
    TableColumn { title: title.into(), side: ColumnSide::Left, may_go: false }
}

/// A column of numbers.
pub fn right(title: &str) -> TableColumn {
    TableColumn { title: title.into(), side: ColumnSide::Right, may_go: false }
}

/// A column's title and side.
#[derive(Clone, Debug)]
pub struct TableColumn {
    title: String,
    side: ColumnSide,
    may_go: bool,
}

impl TableColumn {
    /// It is left out where there is no room for it. The last such column goes first.
    pub fn optional(mut self) -> TableColumn {
        self.may_go = true;
        self
    }
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

    /// All texts of a column, its title first.
    fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        let cells = self.rows.iter().filter_map(move |row| row.get(column)).map(|cell| cell.text.as_str());
        std::iter::once(self.columns[column].title.as_str()).chain(cells)
    }

    /// How wide a column is if every text has one line.
    fn width(&self, column: usize) -> usize {
        self.texts(column).map(letters).max().unwrap_or(0)
    }

    /// How narrow a column may become: numbers stay whole, as do words that are not long.
    fn least(&self, column: usize) -> usize {
        let word = |text: &str| text.split(' ').map(letters).max().unwrap_or(0);
        let of = |(n, text): (usize, &str)| match self.columns[column].side {
            ColumnSide::Right if n > 0 => letters(text),
            _ => word(text).min(LONG),
        };
        self.texts(column).enumerate().map(of).max().unwrap_or(0)
    }

    /// Which columns are shown in so much room, and how wide they are. None if rows should be lists.
    fn fitted(&self, room: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let all = |shown: &[usize], width: &dyn Fn(usize) -> usize| {
            shown.iter().map(|&column| width(column)).sum::<usize>() + GAP * shown.len().saturating_sub(1)
        };
        let enough = |column: usize| self.width(column).min(self.least(column).max(ENOUGH));
        while all(&shown, &enough) > room {
            match shown.iter().rposition(|&column| self.columns[column].may_go) {
                Some(last) => shown.remove(last),
                None => break,
            };
        }
        let fits = |shown: &[usize]| all(shown, &|column| self.least(column)) <= room;
        // A few rows are better read as lists than in narrow columns; of many rows the last columns are left out.
        let few = self.rows.len() <= FEW;
        let fixed = !self.columns.iter().any(|column| column.may_go);
        if few && fixed && all(&shown, &|column| self.width(column)) > room && shown.len() > SEVERAL {
            return None;
        }
        while !few && !fits(&shown) && shown.len() > 2 {
            shown.pop();
        }
        if !fits(&shown) {
            return None;
        }
        let mut widths: Vec<usize> = shown.iter().map(|&column| self.width(column)).collect();
        let gaps = GAP * shown.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > room {
            // The widest gives first.
            let gives = |&n: &usize| widths[n] > self.least(shown[n]);
            let widest = (0..shown.len()).filter(gives).max_by_key(|&n| widths[n])?;
            widths[widest] -= 1;
        }
        Some((shown, widths))
    }

    /// The table in a terminal of so many columns, or anywhere.
    fn text(&self, columns: Option<usize>) -> String {
        let room = columns.unwrap_or(usize::MAX);
        let Some((shown, widths)) = self.fitted(room) else { return self.records() };
        let titles = self.columns.iter().map(|column| TableCell::new(HEADING, &column.title)).collect();
        let rows = std::iter::once(&titles).chain(&self.rows);
        let mut text: String = rows.map(|row| self.lines(row, &shown, &widths)).collect();
        let gone = (0..self.columns.len()).filter(|column| !shown.contains(column));
        let gone: Vec<&str> = gone.map(|column| self.columns[column].title.as_str()).collect();
        if !gone.is_empty() {
            let words = format!("in a wider terminal, or with --json: {}", gone.join(", "));
            text += &format!("{}\n", paint(FAINT, words));
        }
        text
    }

    /// A row, which has as many lines as its longest text.
    fn lines(&self, row: &[TableCell], shown: &[usize], widths: &[usize]) -> String {
        let cells: Vec<(Vec<String>, Style)> = shown
            .iter()
            .zip(widths)
            .map(|(&column, &width)| match row.get(column) {
                Some(cell) => (broken(&cell.text, width), cell.style),
                None => (vec![], Style::new()),
            })
            .collect();
        let count = cells.iter().map(|(lines, _)| lines.len()).max().unwrap_or(0).max(1);
        let line = |n: usize| {
            let part = |cell: &(Vec<String>, Style)| cell.0.get(n).cloned().unwrap_or_default();
            let last = cells.iter().rposition(|cell| !part(cell).is_empty()).map_or(0, |last| last + 1);
            let mut line = String::new();
            for (place, cell) in cells[..last].iter().enumerate() {
                let text = part(cell);
                let room = " ".repeat(widths[place].saturating_sub(letters(&text)));
                let (before, after) = match self.columns[shown[place]].side {
                    ColumnSide::Left => ("", room.as_str()),
                    ColumnSide::Right => (room.as_str(), ""),
                };
                let gap = if place == 0 { "" } else { "  " };
                let after = if place + 1 == last { "" } else { after };
                line += &format!("{gap}{before}{}{after}", paint(cell.1, &text));
            }
            line + "\n"
        };
        (0..count).map(line).collect()
    }

    /// Where no table fits: every row as a list of what it has, the first column as its title.
    fn records(&self) -> String {
        let width = self.columns.iter().map(|column| letters(&column.title)).max().unwrap_or(0);
        let mut text = String::new();
        for (n, row) in self.rows.iter().enumerate() {
            text += if n == 0 { "" } else { "\n" };
            for (column, cell) in self.columns.iter().zip(row).filter(|(_, cell)| !cell.text.is_empty()) {
                let room = " ".repeat(width - letters(&column.title));
                let (title, value) = (paint(HEADING, &column.title), paint(cell.style, &cell.text));
                text += &format!("{title}{room}  {value}\n");
            }
        }
        text
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// A text in lines of so many letters: broken at spaces, and longer words anywhere.
fn broken(text: &str, width: usize) -> Vec<String> {
    if letters(text) <= width {
        return vec![text.to_string()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a first line");
        if last.is_empty() {
            last.push_str(word);
        } else if letters(last) + 1 + letters(word) <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_string());
        }
        while letters(lines.last().expect("one was pushed")) > width.max(1) {
            let long = lines.pop().expect("one was pushed");
            let cut = long.char_indices().nth(width.max(1)).map_or(long.len(), |(place, _)| place);
            lines.extend([long[..cut].to_string(), long[cut..].to_string()]);
        }
    }
    lines
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(columns_of_stdout()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::wrap::visible_width;
    use crate::look::{BAD, GOOD};

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn runs() -> Table {
        let mut table = Table::new([
            left("run"),
            left("learns").optional(),
            right("updates"),
            left("result"),
            left("device").optional(),
        ]);
        let result = "exact, 24 gates, proved equal to what was learned";
        table.row([
            "life-5".into(),
            "life".into(),
            "1,000".into(),
            result.into(),
            "NVIDIA H200 (Vulkan)".into(),
        ]);
        table.row(["checkerboard-1".into(), "checkerboard".into(), "500".into(), "–".into(), "cpu".into()]);
        table
    }

    #[test]
    fn narrow_terminals_leave_out_what_may_go_and_name_it() {
        let wide = "run             learns        updates  result                                             device\n";
        assert!(
            plain(&runs().text(None)).starts_with(wide) && plain(&runs().text(Some(120))).starts_with(wide)
        );
        let narrow = [
            "run             updates  result",
            "life-5            1,000  exact, 24 gates, proved equal to",
            "                         what was learned",
            "checkerboard-1      500  –",
            "in a wider terminal, or with --json: learns, device",
            "",
        ];
        assert_eq!(plain(&runs().text(Some(58))), narrow.join("\n"));
        let mut many = Table::new(["seed", "exact", "wrong bits", "of", "larger grids"].map(right));
        (0..9).for_each(|n| {
            many.row(
                [n.to_string(), "no".into(), "1,024".into(), "4,096".into(), "64×64".into()]
                    .map(TableCell::from),
            )
        });
        let text = plain(&many.text(Some(25)));
        assert!(text.starts_with("seed  exact  wrong") && text.ends_with("--json: larger grids\n"), "{text}");
        for room in 46..130 {
            let text = plain(&runs().text(Some(room)));
            let fits = text.lines().all(|line| visible_width(line) <= room.max(51));
            assert!(fits && text.contains("1,000"), "{room}: {text}");
        }
        let list = plain(&runs().text(Some(30)));
        assert!(list.starts_with("run      life-5\nlearns   life\nupdates  1,000\nresult   exact"), "{list}");
    }

    #[test]
    fn texts_are_broken_at_words_and_long_words_anywhere() {
        assert_eq!(broken("a few words here", 9), ["a few", "words", "here"]);
        assert_eq!(broken("/a/long/path is", 6), ["/a/lon", "g/path", "is"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_contents_whatever_their_colors() {
        let mut table = Table::new([left("name"), right("gates"), left("proved")]);
        table.row(["checkerboard".into(), "3".into(), TableCell::new(GOOD, "yes")]);
        table.row(["life".into(), "1,024".into(), TableCell::new(BAD, "no")]);
        table.row(["short".into()]);
        let text = plain(&table.text(None));
        let lines = [
            "name          gates  proved",
            "checkerboard      3  yes",
            "life          1,024  no",
            "short",
            "",
        ];
        assert_eq!(text, lines.join("\n"));
        assert!(table.text(None).contains("\x1b[32myes"), "{table:?}");
    }
}
