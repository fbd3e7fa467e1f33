//! Curves in a line of letters: `█▆▄▃▂▁`.

/// From low to high.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Numbers over time, as many letters as they are wide. What is not finite leaves a gap.
#[derive(Clone, Debug, Default)]
pub struct SmallCurve {
    values: Vec<f64>,
}

impl SmallCurve {
    /// Adds the next number.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// The curve in at most so many letters; none before there are two numbers.
    pub fn letters(&self, width: usize) -> Option<String> {
        if self.values.iter().filter(|value| value.is_finite()).count() < 2 {
            return None;
        }
        let means = means(&self.values, width);
        let finite = || means.iter().copied().filter(|value| value.is_finite());
        let (low, high) =
            (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        let letter = |value: &f64| match value.is_finite() {
            // A flat curve is low.
            true => LEVELS[((value - low) / (high - low).max(f64::MIN_POSITIVE) * 7.0).round() as usize],
            false => ' ',
        };
        Some(means.iter().map(letter).collect())
    }

    /// The first and the last number.
    pub fn ends(&self) -> Option<(f64, f64)> {
        let mut finite = self.values.iter().copied().filter(|value| value.is_finite());
        let first = finite.next()?;
        Some((first, finite.next_back()?))
    }
}

/// Means of neighbors, as many as there is room for.
fn means(values: &[f64], width: usize) -> Vec<f64> {
    let width = width.clamp(1, values.len().max(1));
    let part = |n: usize| &values[n * values.len() / width..(n + 1) * values.len() / width];
    let mean = |part: &[f64]| {
        let finite: Vec<f64> = part.iter().copied().filter(|value| value.is_finite()).collect();
        finite.iter().sum::<f64>() / finite.len() as f64
    };
    (0..width).map(|n| mean(part(n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[f64]) -> SmallCurve {
        SmallCurve { values: values.to_vec() }
    }

    #[test]
    fn curves_rise_and_fall() {
        assert_eq!(curve(&[8.0, 4.0, 2.0, 1.0]).letters(10).unwrap(), "█▄▂▁");
        assert_eq!(curve(&[1.0, 1.0]).letters(10).unwrap(), "▁▁");
        assert_eq!(curve(&[0.0, f64::NAN, 7.0]).letters(10).unwrap(), "▁ █");
        assert_eq!(curve(&[1.0]).letters(10), None);
        assert_eq!(curve(&[2.0, 1.0, 0.5]).ends(), Some((2.0, 0.5)));
    }

    #[test]
    fn long_curves_have_as_many_letters_as_there_is_room_for() {
        let long: Vec<f64> = (0..1000).map(f64::from).collect();
        let letters = curve(&long).letters(16).unwrap();
        assert_eq!(letters, "▁▁▂▂▃▃▄▄▅▅▆▆▇▇██");
        assert_eq!(curve(&[f64::INFINITY, 1.0, 2.0]).letters(2).unwrap().chars().count(), 2);
    }
}
