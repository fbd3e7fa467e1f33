//! Dates in tables: how they are written, and which day they are.

use serde::{Deserialize, Serialize};

/// How the dates of a column are written. A time may follow each: `2024-03-31 18:30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// `2024-03-31`, `2024/03/31` or `2024.03.31`.
    YearFirst,
    /// `31.03.2024`, `31/03/2024` or `31-03-2024`.
    DayFirst,
    /// `03/31/2024`, `03-31-2024` or `03.31.2024`.
    MonthFirst,
}

impl DateOrder {
    /// All of them; where several fit, the first is meant.
    pub(crate) const ALL: [DateOrder; 3] = [DateOrder::YearFirst, DateOrder::DayFirst, DateOrder::MonthFirst];

    /// How it looks, for messages.
    pub fn example(self) -> &'static str {
        match self {
            DateOrder::YearFirst => "2024-03-31",
            DateOrder::DayFirst => "31.03.2024",
            DateOrder::MonthFirst => "03/31/2024",
        }
    }

    /// The days since the first of January 1970, with the time of day as a fraction. None if the text is no such date.
    ///
    /// ```
    /// use farad::data::DateOrder;
    /// assert_eq!(DateOrder::YearFirst.days("1970-01-02 12:00"), Some(1.5));
    /// assert_eq!(DateOrder::DayFirst.days("31.12.1969"), Some(-1.0));
    /// assert_eq!(DateOrder::YearFirst.days("2023-02-29"), None);
    /// ```
    pub fn days(self, text: &str) -> Option<f64> {
        let (date, time) = match text.split_once(['T', ' ']) {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let separator = date.chars().find(|sign| ['-', '/', '.'].contains(sign))?;
        let parts: Vec<&str> = date.split(separator).collect();
        let [a, b, c] = parts[..] else { return None };
        let (year, month, day) = match self {
            DateOrder::YearFirst => (a, b, c),
            DateOrder::DayFirst => (c, b, a),
            DateOrder::MonthFirst => (c, a, b),
        };
        if year.len() != 4 {
            return None;
        }
        let days = day_number(digits(year, 4)?, digits(month, 2)?, digits(day, 2)?)?;
        Some(days as f64 + time.map_or(Some(0.0), fraction)?)
    }
}

/// A number of at most so many digits, and nothing else.
fn digits(text: &str, most: usize) -> Option<i64> {
    let plain = !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Days since the first of January 1970, if there is such a day.
fn day_number(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1..=length).contains(&day) {
        return None;
    }
    let before: i64 = lengths[..month as usize - 1].iter().sum();
    // Days of the whole years from year 0 up to this one.
    let until = |year: i64| 365 * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
    Some(until(year) - until(1970) + before + day - 1)
}

/// A time of day as a fraction of it: `18:30`, `18:30:15`, `18:30:15.25Z`.
fn fraction(text: &str) -> Option<f64> {
    let text = text.trim().trim_end_matches('Z');
    let parts: Vec<&str> = text.split(':').collect();
    let (hours, minutes, seconds) = match parts[..] {
        [hours, minutes] => (hours, minutes, 0.0),
        [hours, minutes, seconds] if seconds.starts_with(|sign: char| sign.is_ascii_digit()) => {
            (hours, minutes, seconds.parse::<f64>().ok()?)
        }
        _ => return None,
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    let sound = hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds);
    sound.then(|| (hours as f64 * 3600.0 + minutes as f64 * 60.0 + seconds) / 86400.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_each_other_through_leap_years() {
        let mut last = DateOrder::YearFirst.days("1599-12-31").unwrap();
        let mut seen = 0;
        for year in 1600..2101 {
            for (month, day) in (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day))) {
                let Some(number) = DateOrder::YearFirst.days(&format!("{year:04}-{month:02}-{day:02}"))
                else {
                    continue;
                };
                assert_eq!(number, last + 1.0, "{year}-{month}-{day}");
                (last, seen) = (number, seen + 1);
            }
        }
        assert_eq!(seen, 501 * 365 + 122);
        assert_eq!(DateOrder::YearFirst.days("2000-03-01"), Some(11017.0));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in
            ["", "5", "2024", "2024-13-01", "2024-00-10", "24-01-01", "2024-1-1-1", "2024-01-01 25:00"]
        {
            assert!(DateOrder::ALL.iter().all(|order| order.days(text).is_none()), "{text}");
        }
        assert_eq!(DateOrder::MonthFirst.days("13/01/2024"), None);
        assert!(DateOrder::DayFirst.days("13/01/2024").is_some());
    }
}
