//! The rows and columns of a file of separated values, as texts, and what is made of them.

use std::path::PathBuf;

use super::column_rule::{ColumnRule, FieldFault, FieldUse, NoRule, is_missing, number_of};
use super::csv::Column;
use super::{Array, TensorSet};
use crate::error::{DataError, Result};

/// The texts of a file.
pub(super) struct CsvTable {
    pub path: PathBuf,
    pub names: Vec<String>,
    /// Line and fields of every row.
    pub rows: Vec<(u64, ::csv::StringRecord)>,
}

impl CsvTable {
    pub fn find(&self, column: &Column) -> Result<usize> {
        let found = match column {
            Column::Name(name) => {
                let named = self.names.iter().position(|other| other == name);
                named.or_else(|| name.parse().ok())
            }
            Column::Number(number) => Some(*number),
        };
        let found = found.filter(|&number| number < self.names.len());
        found.ok_or_else(|| {
            let column = match column {
                Column::Name(name) => name.clone(),
                Column::Number(number) => number.to_string(),
            };
            let nearest = farad_tensor::nearest(&column, self.names.iter().map(String::as_str));
            let nearest = nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            DataError::NoColumn { path: self.path.clone(), column, nearest, columns: self.names.join(", ") }
                .into()
        })
    }

    /// A field as it is.
    pub fn field(&self, row: usize, column: usize) -> &str {
        self.rows[row].1.get(column).unwrap_or("")
    }

    /// A value that is there.
    pub fn text(&self, row: usize, column: usize) -> Result<&str> {
        let text = self.field(row, column);
        match is_missing(text) {
            true => Err(self.fault(row, column, FieldFault::Empty).into()),
            false => Ok(text),
        }
    }

    /// What is wrong with a field.
    fn fault(&self, row: usize, column: usize, fault: FieldFault) -> DataError {
        let (path, line, found) = (self.path.clone(), self.rows[row].0, self.field(row, column).into());
        let column = self.names[column].clone();
        match fault {
            FieldFault::Empty => DataError::MissingValue { path, line, column },
            FieldFault::NotNumber => DataError::NotNumber { path, line, column, found },
            FieldFault::NotDate(order) => {
                DataError::NotDate { path, line, column, found, example: order.example() }
            }
        }
    }

    /// Why a column has no rule.
    pub fn no_rule(&self, column: usize, why: NoRule) -> DataError {
        let (path, name) = (self.path.clone(), self.names[column].clone());
        match why {
            NoRule::Field(row, fault) => self.fault(row, column, fault),
            NoRule::AllEmpty => DataError::EmptyColumn { path, column: name },
            NoRule::Ambiguous => DataError::AmbiguousDates { path, column: name },
            NoRule::ManyWords(words) => {
                DataError::ManyWords { path, column: name, words, rows: self.rows.len() }
            }
        }
    }

    /// The numbers of columns, row by row, by rules in the order of the columns; without rules, plain numbers. And what
    /// was filled or is not known.
    pub fn values(&self, columns: &[usize], rules: &[ColumnRule]) -> Result<(Vec<f32>, Vec<String>)> {
        let plain: Vec<ColumnRule> =
            columns.iter().map(|&column| ColumnRule::number(&self.names[column])).collect();
        let rules = if rules.len() == columns.len() { rules } else { &plain };
        let (mut values, mut filled) = (vec![], vec![0usize; columns.len()]);
        let mut unknown: Vec<(usize, &str)> = vec![(0, ""); columns.len()];
        for row in 0..self.rows.len() {
            for (at, (&column, rule)) in columns.iter().zip(rules).enumerate() {
                let text = self.field(row, column);
                match rule.read(text, &mut values).map_err(|fault| self.fault(row, column, fault))? {
                    FieldUse::Read => {}
                    FieldUse::Filled => filled[at] += 1,
                    FieldUse::Unknown => unknown[at] = (unknown[at].0 + 1, text),
                }
            }
        }
        let mut notes = vec![];
        for (at, rule) in rules.iter().enumerate() {
            let column = &rule.column;
            if let (count @ 1.., Some(value)) = (filled[at], rule.empty) {
                notes.push(format!("`{column}`: {count} empty, filled with {value} as the run says"));
            }
            if let (count @ 1.., word) = unknown[at] {
                notes.push(format!(
                    "`{column}`: {count} with a word that was not there in training, such as `{word}`"
                ));
            }
        }
        Ok((values, notes))
    }

    /// The bits of columns, row by row.
    pub fn bits(&self, columns: &[usize]) -> Result<Vec<f32>> {
        let rows = (0..self.rows.len()).flat_map(|row| columns.iter().map(move |&column| (row, column)));
        rows.map(|(row, column)| self.bit(row, column)).collect()
    }

    pub fn number(&self, row: usize, column: usize) -> Result<f32> {
        let text = self.text(row, column)?;
        Ok(number_of(text).ok_or_else(|| self.fault(row, column, FieldFault::NotNumber))?)
    }

    /// A bit as a number, by any of its names.
    fn bit(&self, row: usize, column: usize) -> Result<f32> {
        let text = self.text(row, column)?;
        match text.to_ascii_lowercase().as_str() {
            "0" | "false" | "no" => Ok(0.0),
            "1" | "true" | "yes" => Ok(1.0),
            _ => {
                let (path, line) = (self.path.clone(), self.rows[row].0);
                let (column, found) = (self.names[column].clone(), text.into());
                Err(DataError::NotBit { path, line, column, found }.into())
            }
        }
    }

    /// Where columns of these names stand; of several of one name, one after the other. What is missing is left out.
    pub fn named(&self, names: &[String]) -> Vec<usize> {
        let mut places: Vec<usize> = vec![];
        for name in names {
            let place = (0..self.names.len()).find(|n| self.names[*n] == *name && !places.contains(n));
            places.extend(place);
        }
        places
    }

    pub fn numbers(&self, inputs: Array, target: usize) -> Result<TensorSet> {
        let targets =
            (0..self.rows.len()).map(|row| self.number(row, target)).collect::<Result<Vec<f32>>>()?;
        TensorSet::from_arrays(inputs, Array::new(targets, [self.rows.len(), 1]))
    }

    /// The names of the classes of a column, and the class of every row. In the order of their names; of numbers where all
    /// names are integers.
    pub fn class_names(&self, target: usize) -> Result<(Vec<&str>, Vec<i32>)> {
        let texts = (0..self.rows.len()).map(|row| self.text(row, target)).collect::<Result<Vec<&str>>>()?;
        let mut names = texts.clone();
        names.sort_unstable();
        names.dedup();
        if names.iter().all(|name| name.parse::<i64>().is_ok()) {
            names.sort_by_key(|name| name.parse::<i64>().unwrap_or_default());
        }
        let number: std::collections::HashMap<&str, i32> =
            names.iter().enumerate().map(|(n, name)| (*name, n as i32)).collect();
        let classes = texts.iter().map(|text| number[text]).collect();
        Ok((names, classes))
    }

    /// The rows with their classes.
    pub fn classes(&self, inputs: Array, target: usize) -> Result<TensorSet> {
        let (names, classes) = self.class_names(target)?;
        TensorSet::from_arrays(inputs, Array::new(classes, [self.rows.len()]))?.with_classes(names)
    }
}
