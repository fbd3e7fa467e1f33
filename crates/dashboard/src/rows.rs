//! `log.csv` as it grows: the columns once, then rows of numbers.
//!
//! Invariant: rows are as long as the columns; a line that is not a row is skipped. Start at [`LogRows::look`].

use std::path::Path;

use farad::run::{Value, json};

use crate::tail::Tail;

/// Rows that were added since the last poll.
#[derive(Debug, Default)]
pub struct NewRows {
    /// Whether earlier rows are no longer valid.
    pub restarted: bool,
    /// Step and one value per column.
    pub rows: Vec<(u64, Vec<Option<f64>>)>,
    /// Whether there is more to read immediately.
    pub more: bool,
}

impl NewRows {
    /// As the page reads them: `[step, value, …]`, with null for anything that is not a number.
    pub fn json(&self) -> Value {
        let row = |(step, values): &(u64, Vec<Option<f64>>)| {
            let mut row = vec![json!(step)];
            row.extend(values.iter().map(|value| json!(value)));
            Value::Array(row)
        };
        Value::Array(self.rows.iter().map(row).collect())
    }
}

/// The log of a run.
#[derive(Debug)]
pub struct LogRows {
    tail: Tail,
    columns: Option<Vec<String>>,
}

impl LogRows {
    /// The log in a run's folder, which need not exist yet.
    pub fn new(folder: &Path) -> LogRows {
        LogRows { tail: Tail::new(&folder.join("log.csv")), columns: None }
    }

    /// The names of the columns after `step`; empty before the file has a line.
    pub fn columns(&self) -> &[String] {
        self.columns.as_deref().unwrap_or_default()
    }

    /// Reads what is new.
    pub fn look(&mut self) -> NewRows {
        let look = self.tail.look();
        if look.restarted {
            self.columns = None;
        }
        let mut new = NewRows { restarted: look.restarted, rows: vec![], more: look.more };
        for line in look.lines {
            match &self.columns {
                None => self.columns = Some(line.split(',').skip(1).map(str::to_string).collect()),
                Some(columns) => new.rows.extend(row(&line, columns.len())),
            }
        }
        new
    }
}

/// A row's step and values; `None` if it is not a row.
fn row(line: &str, columns: usize) -> Option<(u64, Vec<Option<f64>>)> {
    let mut cells = line.split(',');
    let step = cells.next()?.parse().ok()?;
    let values: Option<Vec<Option<f64>>> =
        cells.map(|cell| if cell.is_empty() { Some(None) } else { cell.parse().ok().map(Some) }).collect();
    values.filter(|values| values.len() == columns).map(|values| (step, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    #[test]
    fn rows_follow_their_columns() {
        let scratch = ScratchFolder::new();
        let mut rows = LogRows::new(&scratch.path(""));
        assert!(rows.look().rows.is_empty() && rows.columns().is_empty());
        scratch.write("log.csv", "step,loss,wrong\n1,0.5,\nno row\n2,NaN,3\n3,0.1\n");
        let new = rows.look();
        assert_eq!(rows.columns(), ["loss", "wrong"]);
        assert_eq!(new.json().to_string(), "[[1,0.5,null],[2,null,3.0]]");
        scratch.write("log.csv", "step,other\n1,2\n");
        let new = rows.look();
        assert!(new.restarted && rows.columns() == ["other"]);
        assert_eq!(new.json().to_string(), "[[1,2.0]]");
    }
}
