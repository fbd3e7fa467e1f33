//! Axes with round numbers on them, linear and logarithmic.
//!
//! Invariant: an axis has width and a bounded number of ticks, whatever values it was made for.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// About how many numbers stand on an axis.
const TICKS: f64 = 7.0;
/// Values farther out are not drawn: the width of an axis must be a finite number.
const FARTHEST: f64 = 1e300;
/// Smaller values are not drawn on a logarithmic axis, for the same reason.
const NEAREST: f64 = 1e-300;

/// An axis: its ends, the numbers that stand on it, and the lines between them.
#[derive(Clone, Debug)]
pub struct Axis {
    logarithmic: bool,
    /// The ends, as logarithms if the axis is logarithmic.
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    between: Vec<f64>,
    /// The distance of ticks, where it is the same everywhere.
    step: Option<f64>,
}

impl Axis {
    /// Whether a value has a place on an axis of this kind.
    pub fn shows(logarithmic: bool, value: f64) -> bool {
        value.abs() <= FARTHEST && (!logarithmic || value >= NEAREST)
    }

    /// A linear axis for these values, with some room (a share of its width) on both sides.
    pub fn linear(values: impl Iterator<Item = f64>, room: f64) -> Axis {
        let (low, high) = padded(values, room);
        let step = round_step(high - low);
        let ticks = multiples(low, high, step);
        let between = multiples(low, high, step / 2.0);
        Axis { logarithmic: false, low, high, ticks, between, step: Some(step) }
    }

    /// A linear axis from zero, or to it, or through it.
    pub fn with_zero(values: impl Iterator<Item = f64>, room: f64) -> Axis {
        let (low, high) = values.fold((0f64, 0f64), |(l, h), v| (l.min(v), h.max(v)));
        let ends = if low == high { (0.0, 1.0) } else { (low, high) };
        let pad = |end: f64| end * (1.0 + room);
        Axis::linear([pad(ends.0), pad(ends.1)].into_iter(), 0.0)
    }

    /// A logarithmic axis for these positive values.
    pub fn logarithmic(values: impl Iterator<Item = f64>, room: f64) -> Axis {
        let (low, high) = padded(values.map(f64::log10), room);
        let decades = |every: i32, at: &[f64]| -> Vec<f64> {
            let first = (low.floor() as i32).div_euclid(every) * every;
            let powers = (first..=high.ceil() as i32).step_by(every as usize);
            let all = powers.flat_map(|p| at.iter().map(move |m| m * 10f64.powi(p)));
            all.filter(|v| (low..=high).contains(&v.log10())).collect()
        };
        let width = high - low;
        let every = (width / TICKS).ceil().max(1.0) as i32;
        let within: Vec<f64> = (1..10).map(f64::from).collect();
        let (ticks, between) = match width {
            // Less than two powers of ten would stand there: round numbers say more.
            ..1.0 => {
                let (from, to) = (10f64.powf(low), 10f64.powf(high));
                let step = round_step(to - from);
                (multiples(from, to, step), multiples(from, to, step / 2.0))
            }
            ..2.5 => (decades(1, &[1.0, 2.0, 5.0]), decades(1, &within)),
            _ => (decades(every, &[1.0]), decades(1, if every == 1 { &within } else { &[1.0] })),
        };
        Axis { logarithmic: true, low, high, ticks, between, step: None }
    }

    /// A number as it stands on the axis.
    pub fn label(&self, value: f64) -> String {
        match self.step {
            Some(step) if (1e-6..1e6).contains(&step) && value.abs() < 1e7 => {
                let decimals = (-(step * 1.001).log10().floor()).clamp(0.0, 7.0) as usize;
                // 2.5 needs one digit more than 2 and 5.
                let text = format!("{value:.0$}", decimals + 1);
                let text = without_zeros(&text);
                if text == "-0" { "0".into() } else { text.into() }
            }
            _ => number(value),
        }
    }

    /// How many letters the longest number on the axis has.
    pub fn longest(&self) -> usize {
        self.ticks.iter().map(|&tick| self.label(tick).chars().count()).max().unwrap_or(0)
    }

    /// The lower end.
    pub fn start(&self) -> f64 {
        if self.logarithmic { 10f64.powf(self.low) } else { self.low }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let value = if self.logarithmic { value.log10() } else { *value };
        let share = (value - self.low) / (self.high - self.low);
        from + (share * (to - from) as f64).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { self.between.clone() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        match self.logarithmic {
            true => 10f64.powf(self.low)..10f64.powf(self.high),
            false => self.low..self.high,
        }
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

/// A number in few digits, with an exponent only where it helps.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size < f64::MIN_POSITIVE {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", without_zeros(digits));
    }
    let decimals = (4 - size.log10().floor() as i32).clamp(0, 6) as usize;
    without_zeros(&format!("{value:.decimals$}")).to_string()
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Lowest and highest value with some room on both sides; never of no width.
fn padded(values: impl Iterator<Item = f64>, room: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let width = high - low;
    if width <= 1e-9 * high.abs().max(low.abs()) {
        let half = (0.5 * low.abs()).max(0.5);
        return (low - half, low + half);
    }
    (low - width * room, high + width * room)
}

/// The distance 1, 2 or 5 times a power of ten that gives about the wanted number of ticks.
fn round_step(width: f64) -> f64 {
    let rough = width / TICKS;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(rough)
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let count = (last - first).clamp(-1.0, 4.0 * TICKS) as i64;
    (0..=count).map(|i| (first + i as f64) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|&tick| axis.label(tick)).collect()
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (1500.0, "1500"),
            (-2.5, "-2.5"),
            (0.0001, "1e-4"),
            (2.5e7, "2.5e7"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn linear_axes_have_round_numbers() {
        let axis = |low: f64, high: f64| labels(&Axis::linear([low, high].into_iter(), 0.0));
        assert_eq!(axis(0.0, 500.0), ["0", "100", "200", "300", "400", "500"]);
        assert_eq!(axis(-0.03, 0.1), ["-0.02", "0", "0.02", "0.04", "0.06", "0.08", "0.1"]);
        assert_eq!(
            axis(1000.1, 1000.13),
            ["1000.1", "1000.105", "1000.11", "1000.115", "1000.12", "1000.125", "1000.13"]
        );
        assert_eq!(axis(0.0, 3e-8)[1], "5e-9");
        assert_eq!(labels(&Axis::linear([].into_iter(), 0.1)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&Axis::with_zero([3.0, 4.0].into_iter(), 0.0)), ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn logarithmic_axes_have_powers_of_ten() {
        let axis = |low: f64, high: f64| labels(&Axis::logarithmic([low, high].into_iter(), 0.0));
        assert_eq!(axis(0.9e-4, 1.1), ["1e-4", "0.001", "0.01", "0.1", "1"]);
        assert_eq!(axis(0.9, 30.0), ["1", "2", "5", "10", "20"]);
        assert_eq!(axis(3.0, 6.0), ["3", "3.5", "4", "4.5", "5", "5.5", "6"]);
        assert_eq!(axis(1e-300, 1e300).len(), 7);
        assert_eq!(axis(7.0, 7.0), ["5", "10", "20"]);
    }

    #[test]
    fn every_axis_has_a_few_numbers() {
        for low in [-1e300, -7.3, 0.0, 1e-9, 123456.7] {
            for width in [1e-7, 0.3, 17.0, 1e5, 1e299] {
                let axis = Axis::linear([low, low + width].into_iter(), 0.05);
                assert!((3..=15).contains(&axis.ticks.len()), "{low} {width}: {:?}", axis.ticks);
                assert!(axis.high > axis.low);
            }
        }
    }
}
