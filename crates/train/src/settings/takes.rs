//! What a setting takes: its type and its range, in words and as a check.

use std::ops::Bound;

use toml::Value;

/// Numbers between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRange {
    least: Bound<f64>,
    most: Bound<f64>,
}

impl NumberRange {
    /// Every finite number.
    pub const ANY: NumberRange = NumberRange { least: Bound::Unbounded, most: Bound::Unbounded };

    /// This number and larger ones.
    pub const fn from(least: f64) -> NumberRange {
        NumberRange { least: Bound::Included(least), most: Bound::Unbounded }
    }

    /// Larger numbers than this.
    pub const fn above(least: f64) -> NumberRange {
        NumberRange { least: Bound::Excluded(least), most: Bound::Unbounded }
    }

    /// And no larger ones than this.
    pub const fn to(self, most: f64) -> NumberRange {
        NumberRange { most: Bound::Included(most), ..self }
    }

    /// And only smaller ones than this.
    pub const fn below(self, most: f64) -> NumberRange {
        NumberRange { most: Bound::Excluded(most), ..self }
    }

    /// Whether a number is one of them.
    pub fn has(&self, number: f64) -> bool {
        use std::ops::RangeBounds;
        number.is_finite() && (self.least, self.most).contains(&number)
    }

    /// Which numbers these are, e.g. ` from 0 on`.
    fn words(&self) -> String {
        match (self.least, self.most) {
            (Bound::Unbounded, Bound::Unbounded) => String::new(),
            (Bound::Unbounded, Bound::Included(b)) => format!(" up to {b}"),
            (Bound::Unbounded, Bound::Excluded(b)) => format!(" below {b}"),
            (Bound::Included(a), Bound::Unbounded) => format!(" from {a} on"),
            (Bound::Included(a), Bound::Included(b)) => format!(" from {a} to {b}"),
            (Bound::Included(a), Bound::Excluded(b)) => format!(" from {a} to below {b}"),
            (Bound::Excluded(a), Bound::Unbounded) => format!(" above {a}"),
            (Bound::Excluded(a), Bound::Included(b)) => format!(" above {a} and up to {b}"),
            (Bound::Excluded(a), Bound::Excluded(b)) => format!(" above {a} and below {b}"),
        }
    }
}

/// What a setting takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Takes {
    /// A whole number of two bounds, both included.
    Whole(i64, i64),
    /// A number of a range.
    Number(NumberRange),
    /// True or false.
    Truth,
    /// Any text.
    Text,
    /// One of these names.
    Choice(Vec<&'static str>),
    /// Whole numbers of two bounds; at least as many as the third number says.
    Wholes(i64, i64, usize),
    /// Numbers.
    Numbers,
    /// Texts.
    Texts,
}

/// Why a value is not taken.
pub(super) enum Refusal {
    /// It should be this instead.
    Wanted(String),
    /// It is none of these names.
    NoChoice(Vec<&'static str>),
}

impl Takes {
    /// Whole numbers from this one on.
    pub const fn from(least: i64) -> Takes {
        Takes::Whole(least, i64::MAX)
    }

    /// One of these names.
    pub fn one_of(names: impl IntoIterator<Item = &'static str>) -> Takes {
        Takes::Choice(names.into_iter().collect())
    }

    /// In words, without its bounds.
    fn words(&self) -> &'static str {
        match self {
            Takes::Whole(..) => "a whole number",
            Takes::Number(_) => "a number",
            Takes::Truth => "true or false",
            Takes::Text | Takes::Choice(_) => "a name",
            Takes::Wholes(..) => "whole numbers",
            Takes::Numbers => "numbers",
            Takes::Texts => "names",
        }
    }

    /// A value from text, as the command line has it; lists are separated by commas. What it should be if it is not.
    pub(super) fn parse(&self, text: &str) -> Result<Value, &'static str> {
        let whole = |text: &str| text.trim().parse::<i64>().map_err(|_| "a whole number");
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| "a number");
        let parts = || text.split(',').filter(|part| !part.trim().is_empty());
        Ok(match self {
            Takes::Whole(..) => whole(text)?.into(),
            Takes::Number(_) => number(text)?.into(),
            Takes::Truth => text.parse::<bool>().map_err(|_| self.words())?.into(),
            Takes::Text | Takes::Choice(_) => text.into(),
            Takes::Wholes(..) => parts().map(whole).collect::<Result<Vec<_>, _>>()?.into(),
            Takes::Numbers => parts().map(number).collect::<Result<Vec<_>, _>>()?.into(),
            Takes::Texts => parts().map(str::trim).collect::<Vec<_>>().into(),
        })
    }

    /// The value as this takes it (whole numbers are numbers too), or why it does not.
    pub(super) fn check(&self, value: Value) -> Result<Value, Refusal> {
        let wanted = |words: String| Err(Refusal::Wanted(words));
        let number = |value: &Value| value.as_float().or(value.as_integer().map(|whole| whole as f64));
        match (self, &value) {
            (&Takes::Whole(least, most), &Value::Integer(whole)) => match whole {
                _ if whole < least => wanted(format!("a whole number from {least} on")),
                _ if whole > most => wanted(format!("a whole number up to {most}")),
                _ => Ok(value),
            },
            (Takes::Number(range), Value::Float(_) | Value::Integer(_)) => match number(&value) {
                Some(number) if range.has(number) => Ok(number.into()),
                _ => wanted(format!("a number{}", range.words())),
            },
            (Takes::Truth, Value::Boolean(_)) | (Takes::Text, Value::String(_)) => Ok(value),
            (Takes::Choice(names), Value::String(name)) => match names.contains(&name.as_str()) {
                true => Ok(value),
                false => Err(Refusal::NoChoice(names.clone())),
            },
            (&Takes::Wholes(least, most, count), Value::Array(all)) => {
                let fits = |value: &Value| value.as_integer().is_some_and(|n| (least..=most).contains(&n));
                match all.len() >= count && all.iter().all(fits) {
                    true => Ok(value),
                    false => wanted(format!("whole numbers from {least} to {most}")),
                }
            }
            (Takes::Numbers, Value::Array(all)) => {
                let numbers = all.iter().map(number).collect::<Option<Vec<f64>>>();
                numbers.map(Value::from).ok_or_else(|| Refusal::Wanted(self.words().into()))
            }
            (Takes::Texts, Value::Array(all)) if all.iter().all(Value::is_str) => Ok(value),
            _ => wanted(self.words().into()),
        }
    }
}
