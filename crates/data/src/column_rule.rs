//! How the column of a table becomes numbers: as they are, as days, or as a number per word.
//!
//! Invariant: a rule is found once, from the rows that are learned from, and stored with what was learned. Whoever
//! reads other rows uses the same rule, so that a column means the same in training and in use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::date::DateOrder;

/// What stands for a missing value.
const MISSING: [&str; 6] = ["", "na", "n/a", "nan", "null", "?"];
/// A column with more different words is refused: each would be a column of its own.
const MOST_WORDS: usize = 100;
/// Up to this many different words may be in a column, however few rows there are.
const FEW_WORDS: usize = 20;

/// Whether a field counts as empty: `NA`, `n/a`, `NaN`, `null` and `?` do, too.
pub(crate) fn is_missing(text: &str) -> bool {
    MISSING.contains(&text.to_lowercase().as_str())
}

/// How a column becomes numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnRule {
    /// The name of the column.
    pub column: String,
    /// What its values are.
    #[serde(flatten)]
    pub form: ColumnForm,
    /// What an empty field becomes; none: it is an error. Words have no number for it: all of theirs are 0.
    pub empty: Option<f32>,
    /// Whether another number says if the field was empty (1) or not (0).
    pub marked: bool,
}

/// What the values of a column are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum ColumnForm {
    /// Numbers.
    Number,
    /// Dates, as days since a day.
    Date {
        /// How they are written.
        order: DateOrder,
        /// The day that is 0, in days since the first of January 1970.
        from: f64,
    },
    /// Words, each as a number that is 1 where it stands and 0 elsewhere. Other words are 0 in all of them.
    Words {
        /// The words in their order.
        words: Vec<String>,
    },
}

/// Why a field has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFault {
    /// It is empty, and may not be.
    Empty,
    /// It is not a number.
    NotNumber,
    /// It is not a date of this form.
    NotDate(DateOrder),
}

/// What was done with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldUse {
    /// It was read.
    Read,
    /// It was empty and filled.
    Filled,
    /// It is a word that was not there in training.
    Unknown,
}

/// Why no rule was found for a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoRule {
    /// All fields are empty.
    AllEmpty,
    /// Most fields are numbers, but that of this row is not.
    Field(usize, FieldFault),
    /// Days and months cannot be told apart.
    Ambiguous,
    /// Too many different words.
    ManyWords(usize),
}

impl ColumnRule {
    /// A column of numbers without empty fields.
    pub fn number(column: &str) -> ColumnRule {
        ColumnRule { column: column.into(), form: ColumnForm::Number, empty: None, marked: false }
    }

    /// The rule for the fields of a column. What it is, all fields say; what empty ones become and which words there
    /// are, only those of the chosen rows.
    pub(crate) fn found(
        column: &str,
        fields: &[&str],
        chosen: &[usize],
        refuse_empty: bool,
    ) -> Result<ColumnRule, NoRule> {
        let form = form(fields, chosen)?;
        let bare = ColumnRule { column: column.into(), form, empty: None, marked: false };
        let has_empty = chosen.iter().any(|&row| is_missing(fields[row]));
        if refuse_empty {
            let first = fields.iter().position(|text| is_missing(text));
            return first.map_or(Ok(bare), |row| Err(NoRule::Field(row, FieldFault::Empty)));
        }
        let empty = match bare.form {
            ColumnForm::Words { .. } => 0.0,
            _ => median(chosen.iter().filter_map(|&row| bare.value(fields[row]).ok())),
        };
        Ok(ColumnRule { empty: Some(empty), marked: has_empty, ..bare })
    }

    /// The names of the numbers that it gives.
    pub fn names(&self) -> Vec<String> {
        let column = &self.column;
        let mut names = match &self.form {
            ColumnForm::Words { words } => words.iter().map(|word| format!("{column}={word}")).collect(),
            _ => vec![column.clone()],
        };
        names.extend(self.marked.then(|| format!("{column} is empty")));
        names
    }

    /// Appends the numbers of a field.
    pub fn read(&self, text: &str, numbers: &mut Vec<f32>) -> Result<FieldUse, FieldFault> {
        let (text, before) = (text.trim(), numbers.len());
        let missing = is_missing(text);
        let mut done = if missing { FieldUse::Filled } else { FieldUse::Read };
        match (&self.form, self.empty) {
            (_, None) if missing => return Err(FieldFault::Empty),
            (ColumnForm::Words { words }, _) => {
                numbers.extend(words.iter().map(|word| f32::from(u8::from(!missing && word == text))));
                if !missing && !words.iter().any(|word| word == text) {
                    done = FieldUse::Unknown;
                }
            }
            (_, Some(empty)) if missing => numbers.push(empty),
            _ => numbers.push(self.value(text)?),
        }
        if self.marked {
            numbers.push(f32::from(u8::from(missing)));
        }
        debug_assert_eq!(numbers.len() - before, self.names().len());
        Ok(done)
    }

    /// The number of a field that is one, or a date.
    fn value(&self, text: &str) -> Result<f32, FieldFault> {
        match self.form {
            ColumnForm::Date { order, from } => {
                order.days(text).map(|days| (days - from) as f32).ok_or(FieldFault::NotDate(order))
            }
            _ => number_of(text).ok_or(FieldFault::NotNumber),
        }
    }

    /// The rule in words; none for numbers without empty fields.
    pub fn words(&self) -> Option<String> {
        let column = &self.column;
        let empty = |empty: f32| format!("{column}: empty fields become {empty}, the median");
        let marked = if self.marked { ", and are marked" } else { "" };
        match (&self.form, self.empty) {
            (ColumnForm::Words { words }, _) => {
                let empty = if self.marked { "; empty fields are marked" } else { "" };
                Some(format!("{column}: one of {}{empty}", words.join(", ")))
            }
            (ColumnForm::Date { order, .. }, value) => {
                let filled = value
                    .filter(|_| self.marked)
                    .map(|value| format!("; empty fields become day {value}, the median{marked}"));
                let form = order.example();
                Some(format!(
                    "{column}: a date like {form}, as days since the first{}",
                    filled.unwrap_or_default()
                ))
            }
            (ColumnForm::Number, value) => value.filter(|_| self.marked).map(|value| empty(value) + marked),
        }
    }
}

/// A finite number.
pub(crate) fn number_of(text: &str) -> Option<f32> {
    text.parse().ok().filter(|number: &f32| number.is_finite())
}

/// What the fields of a column are.
fn form(fields: &[&str], chosen: &[usize]) -> Result<ColumnForm, NoRule> {
    let there: Vec<(usize, &str)> =
        fields.iter().copied().enumerate().filter(|(_, text)| !is_missing(text)).collect();
    if there.is_empty() || chosen.iter().all(|&row| is_missing(fields[row])) {
        return Err(NoRule::AllEmpty);
    }
    let most = |count: usize| 2 * count > there.len();
    let other = there.iter().find(|(_, text)| number_of(text).is_none());
    let Some(&(row, _)) = other else { return Ok(ColumnForm::Number) };
    if most(there.iter().filter(|(_, text)| number_of(text).is_some()).count()) {
        return Err(NoRule::Field(row, FieldFault::NotNumber));
    }
    if let Some(dates) = dates(&there, most)? {
        return Ok(dates);
    }
    let words: BTreeSet<&str> =
        chosen.iter().map(|&row| fields[row]).filter(|text| !is_missing(text)).collect();
    let few = words.len() <= FEW_WORDS || (words.len() <= MOST_WORDS && 2 * words.len() <= chosen.len());
    match few {
        true => Ok(ColumnForm::Words { words: words.into_iter().map(str::to_string).collect() }),
        false => Err(NoRule::ManyWords(words.len())),
    }
}

/// The form of a column whose fields are dates; none if they are not.
fn dates(there: &[(usize, &str)], most: impl Fn(usize) -> bool) -> Result<Option<ColumnForm>, NoRule> {
    let count = |order: &DateOrder| there.iter().filter(|(_, text)| order.days(text).is_some()).count();
    let counts: Vec<usize> = DateOrder::ALL.iter().map(count).collect();
    let best = (0..counts.len()).rev().max_by_key(|&at| counts[at]).unwrap_or(0);
    let order = DateOrder::ALL[best];
    if !most(counts[best]) {
        return Ok(None);
    }
    if let Some((row, _)) = there.iter().find(|(_, text)| order.days(text).is_none()) {
        return Err(NoRule::Field(*row, FieldFault::NotDate(order)));
    }
    // `03/04/2024` is a day in March and one in April; with dots, the day is first.
    let dotted = there.iter().all(|(_, text)| text.contains('.') && !text.contains(['/', '-']));
    if order == DateOrder::DayFirst && counts[2] == there.len() && !dotted {
        return Err(NoRule::Ambiguous);
    }
    let days = there.iter().filter_map(|(_, text)| order.days(text));
    let from = days.fold(f64::INFINITY, f64::min).floor();
    Ok(Some(ColumnForm::Date { order, from }))
}

fn median(values: impl Iterator<Item = f32>) -> f32 {
    let mut values: Vec<f32> = values.collect();
    values.sort_by(f32::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => values[count / 2 - 1] + (values[count / 2] - values[count / 2 - 1]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(fields: &[&str]) -> Result<ColumnRule, NoRule> {
        let all: Vec<usize> = (0..fields.len()).collect();
        ColumnRule::found("it", fields, &all, false)
    }

    fn read(rule: &ColumnRule, text: &str) -> Vec<f32> {
        let mut numbers = vec![];
        rule.read(text, &mut numbers).expect("sound");
        numbers
    }

    #[test]
    fn empty_numbers_become_the_median_and_are_marked() {
        let rule = found(&["1", "", "9", "NA", "4"]).unwrap();
        assert_eq!((rule.names(), rule.empty), (vec!["it".to_string(), "it is empty".into()], Some(4.0)));
        assert_eq!((read(&rule, "7.5"), read(&rule, "?")), (vec![7.5, 0.0], vec![4.0, 1.0]));
        assert_eq!(rule.read("x", &mut vec![]), Err(FieldFault::NotNumber));
        assert_eq!(rule.words().unwrap(), "it: empty fields become 4, the median, and are marked");
    }

    #[test]
    fn only_the_chosen_rows_say_what_empty_fields_become() {
        let fields = ["1", "3", "", "1000"];
        let rule = ColumnRule::found("it", &fields, &[0, 1], false).unwrap();
        assert_eq!((rule.empty, rule.marked), (Some(2.0), false));
        assert_eq!(read(&rule, ""), [2.0]);
        let refused = ColumnRule::found("it", &fields, &[0, 1], true);
        assert_eq!(refused, Err(NoRule::Field(2, FieldFault::Empty)));
    }

    #[test]
    fn words_are_numbers_of_their_own() {
        let rule = found(&["red", "blue", "red"]).unwrap();
        assert_eq!(rule.names(), ["it=blue", "it=red"]);
        assert_eq!((read(&rule, "red"), read(&rule, "")), (vec![0.0, 1.0], vec![0.0, 0.0]));
        let mut numbers = vec![];
        assert_eq!(rule.read("teal", &mut numbers), Ok(FieldUse::Unknown));
        assert_eq!(numbers, [0.0, 0.0]);
    }

    #[test]
    fn dates_are_days_since_the_first() {
        let rule = found(&["2024-03-01", "2024-02-28", ""]).unwrap();
        assert_eq!(
            (read(&rule, "2024-03-01"), read(&rule, "2024-02-28 06:00")),
            (vec![2.0, 0.0], vec![0.25, 0.0])
        );
        assert_eq!(found(&["03/04/2024", "05/06/2024"]), Err(NoRule::Ambiguous));
        for (fields, first) in [(["13/04/2024", "05/06/2024"], 0.0), (["04/13/2024", "05/06/2024"], 0.0)] {
            assert_eq!(read(&found(&fields).unwrap(), fields[0]), [first], "{fields:?}");
        }
        assert!(matches!(found(&["03.04.2024", "05.06.2024"]).unwrap().form, ColumnForm::Date { .. }));
    }

    #[test]
    fn what_has_no_rule_is_said() {
        assert_eq!(found(&["", "NA"]), Err(NoRule::AllEmpty));
        assert_eq!(found(&["1", "2", "3x"]), Err(NoRule::Field(2, FieldFault::NotNumber)));
        assert_eq!(
            found(&["2024-01-01", "2024-01-02", "soon"]),
            Err(NoRule::Field(2, FieldFault::NotDate(DateOrder::YearFirst)))
        );
        let names: Vec<String> = (0..60).map(|n| format!("name {n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(found(&names), Err(NoRule::ManyWords(60)));
    }
}
