//! What a sweep varies: lists and ranges, and the values that they have.

use farad::train::settings::TomlValue;

/// Whole numbers of a range at most, where nobody says how many.
const MOST_WHOLE: f64 = 10_000.0;

/// A setting that is varied.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// What it is called.
    pub key: String,
    /// What it may be.
    pub values: DimensionValues,
}

/// What a setting may be.
#[derive(Clone, Debug)]
pub enum DimensionValues {
    /// One of these.
    List(Vec<TomlValue>),
    /// A number between two.
    Range(ValueRange),
}

/// Numbers from one to another, both included.
#[derive(Clone, Debug)]
pub struct ValueRange {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
    /// Whether only whole numbers count.
    pub whole: bool,
    /// Whether equal steps are equal factors.
    pub log: bool,
    /// So many of them, with equal steps; else any.
    pub count: Option<usize>,
}

impl Dimension {
    /// Whether it is a range with a logarithmic scale.
    pub fn is_log(&self) -> bool {
        matches!(&self.values, DimensionValues::Range(range) if range.log)
    }

    /// All values, for a grid; none if there are infinitely many.
    pub fn all(&self) -> Option<Vec<TomlValue>> {
        match &self.values {
            DimensionValues::List(list) => Some(list.clone()),
            DimensionValues::Range(range) => range.all(),
        }
    }

    /// The value of a random number from 0 to below 1.
    pub fn drawn(&self, share: f64) -> TomlValue {
        let of =
            |list: &[TomlValue]| list[((share * list.len() as f64) as usize).min(list.len() - 1)].clone();
        match &self.values {
            DimensionValues::List(list) => of(list),
            DimensionValues::Range(range) if range.count.is_some() => {
                of(&range.all().expect("it has a count"))
            }
            DimensionValues::Range(range) => range.at(share),
        }
    }

    /// Values whose check is enough to know that all are good: the list, or the ends.
    pub fn extremes(&self) -> Vec<TomlValue> {
        match &self.values {
            DimensionValues::List(list) => list.clone(),
            DimensionValues::Range(range) => vec![range.value(range.from), range.value(range.to)],
        }
    }
}

impl ValueRange {
    /// The values with equal steps, each once; all whole numbers where nobody says how many.
    fn all(&self) -> Option<Vec<TomlValue>> {
        let numbers: Vec<f64> = match self.count {
            None if self.whole && !self.log && self.to - self.from < MOST_WHOLE => {
                (0..=(self.to - self.from) as u64).map(|n| self.from + n as f64).collect()
            }
            None => return None,
            Some(1) => vec![self.from],
            Some(count) => {
                let between = |n: usize| n as f64 / (count - 1) as f64;
                (0..count).map(|n| self.between(between(n))).collect()
            }
        };
        let mut values: Vec<TomlValue> = numbers.into_iter().map(|number| self.value(number)).collect();
        values.dedup();
        Some(values)
    }

    /// From 0 at the lower end to 1 at the upper.
    fn between(&self, share: f64) -> f64 {
        match self.log {
            true => (self.from.ln() + share * (self.to.ln() - self.from.ln())).exp(),
            false => self.from + share * (self.to - self.from),
        }
    }

    /// Any value, as likely as its neighbors: whole numbers have as much room as those between them and the next.
    fn at(&self, share: f64) -> TomlValue {
        match self.whole {
            true => {
                let open = ValueRange { to: self.to + 1.0, ..self.clone() };
                self.value(open.between(share).floor())
            }
            false => self.value(self.between(share)),
        }
    }

    /// A number within the ends, with as many digits as people read.
    fn value(&self, number: f64) -> TomlValue {
        match self.whole {
            true => TomlValue::Integer(number.round().clamp(self.from, self.to) as i64),
            false => {
                let short: f64 = format!("{number:.3e}").parse().expect("a number that was written");
                TomlValue::Float(short.clamp(self.from, self.to))
            }
        }
    }
}

/// A value as the command line has it.
pub fn text(value: &TomlValue) -> String {
    match value {
        TomlValue::String(text) => text.clone(),
        TomlValue::Float(number) => number.to_string(),
        TomlValue::Array(all) => all.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: f64, to: f64, whole: bool, log: bool, count: Option<usize>) -> Dimension {
        let values = DimensionValues::Range(ValueRange { from, to, whole, log, count });
        Dimension { key: "k".into(), values }
    }

    fn texts(values: &[TomlValue]) -> Vec<String> {
        values.iter().map(text).collect()
    }

    #[test]
    fn ranges_have_equal_steps() {
        assert_eq!(texts(&range(1.0, 4.0, true, false, None).all().unwrap()), ["1", "2", "3", "4"]);
        assert_eq!(
            texts(&range(1e-4, 0.1, false, true, Some(4)).all().unwrap()),
            ["0.0001", "0.001", "0.01", "0.1"]
        );
        assert_eq!(texts(&range(0.0, 1.0, false, false, Some(3)).all().unwrap()), ["0", "0.5", "1"]);
        assert_eq!(texts(&range(8.0, 64.0, true, true, Some(4)).all().unwrap()), ["8", "16", "32", "64"]);
        assert_eq!(texts(&range(1.0, 2.0, true, false, Some(5)).all().unwrap()), ["1", "2"], "each once");
        assert!(range(0.0, 1.0, false, false, None).all().is_none());
    }

    #[test]
    fn draws_stay_inside_and_reach_the_ends() {
        for dimension in [
            range(1.0, 3.0, true, false, None),
            range(1.0, 3.0, true, true, None),
            range(0.3, 0.7, false, false, None),
            range(1e-4, 0.1, false, true, None),
        ] {
            let drawn: Vec<f64> =
                (0..1000).map(|n| text(&dimension.drawn(f64::from(n) / 1000.0)).parse().unwrap()).collect();
            let DimensionValues::Range(ends) = &dimension.values else { panic!("a range") };
            assert!(drawn.iter().all(|value| (ends.from..=ends.to).contains(value)), "{dimension:?}");
            assert_eq!(drawn[0], ends.from, "{dimension:?}");
            assert!(drawn[999] >= 0.95 * ends.to, "{dimension:?}: {}", drawn[999]);
            assert!(drawn.is_sorted());
        }
        let thirds = range(1.0, 3.0, true, false, None);
        let ones = (0..999).filter(|n| text(&thirds.drawn(f64::from(*n) / 999.0)) == "1").count();
        assert_eq!(ones, 333, "all whole numbers are as likely");
    }

    #[test]
    fn values_are_written_as_the_command_line_has_them() {
        let list: TomlValue = toml::from_str::<toml::Table>("a = [32, 16]").unwrap()["a"].clone();
        assert_eq!(text(&list), "32,16");
        assert_eq!(text(&1e-5.into()), "0.00001");
    }
}
