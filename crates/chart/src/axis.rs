//! Axes with round numbers on them, linear and logarithmic.
//!
//! Invariant: an axis has width and a bounded number of ticks, whatever values it was made for.

use crate::number::{number, thousands, without_zeros};

/// The approximate number of labels on an axis.
const TICKS: f64 = 7.0;
/// Values beyond this are not drawn: the width of an axis must be finite.
const FARTHEST: f64 = 1e300;
/// Smaller values are not drawn on a logarithmic axis, for the same reason.
const NEAREST: f64 = 1e-300;

/// An axis: its ends, its labeled ticks, and the small ticks between them.
#[derive(Clone, Debug)]
pub struct Axis {
    logarithmic: bool,
    /// The ends, as logarithms if the axis is logarithmic.
    low: f64,
    high: f64,
    /// Positions of labeled ticks.
    pub ticks: Vec<f64>,
    /// Positions of small ticks.
    pub between: Vec<f64>,
    /// The distance between ticks, if it is constant.
    step: Option<f64>,
    /// Whether numbers are written as powers of ten.
    powers: bool,
}

impl Axis {
    /// Whether a value can be shown on an axis of this kind.
    pub fn shows(logarithmic: bool, value: f64) -> bool {
        value.abs() <= FARTHEST && (!logarithmic || value >= NEAREST)
    }

    /// A linear axis for these values, with some room (a fraction of its width) on both sides. It starts at
    /// zero if the values start near it.
    pub fn linear(values: impl Iterator<Item = f64>, room: f64) -> Axis {
        let (least, most) = extremes(values);
        let (low, high) = padded(least, most, room);
        let low = if least >= 0.0 && least <= 0.25 * most { 0.0 } else { low };
        Axis::between(low, high, 0.0)
    }

    /// A linear axis of integers, without room at its ends.
    pub fn whole(values: impl Iterator<Item = f64>) -> Axis {
        let (least, most) = extremes(values);
        let (low, high) = padded(least, most, 0.0);
        let low = if least >= 0.0 && least <= 0.1 * most { 0.0 } else { low };
        Axis::between(low, high, 1.0)
    }

    /// A linear axis with these ends whose ticks are at least `least` apart.
    pub fn between(low: f64, high: f64, least: f64) -> Axis {
        let step = round_step(high - low).max(least);
        let ticks = multiples(low, high, step);
        let between = if step / 2.0 >= least { multiples(low, high, step / 2.0) } else { Vec::new() };
        Axis { logarithmic: false, low, high, ticks, between, step: Some(step), powers: false }
    }

    /// A logarithmic axis for these positive values.
    pub fn logarithmic(values: impl Iterator<Item = f64>, room: f64) -> Axis {
        let (least, most) = extremes(values.map(f64::log10));
        let (low, high) = padded(least, most, room);
        let decades = |every: i32, at: &[f64]| -> Vec<f64> {
            let first = (low.floor() as i32).div_euclid(every) * every;
            let powers = (first..=high.ceil() as i32).step_by(every as usize);
            let all = powers.flat_map(|p| at.iter().map(move |m| m * 10f64.powi(p)));
            all.filter(|v| (low - 1e-9..=high + 1e-9).contains(&v.log10())).collect()
        };
        let width = high - low;
        let every = (width / TICKS).ceil().max(1.0) as i32;
        let within: Vec<f64> = (1..10).map(f64::from).collect();
        let (ticks, between) = match width {
            // There would be fewer than two powers of ten: round numbers say more.
            ..1.0 => {
                let (from, to) = (10f64.powf(low), 10f64.powf(high));
                let step = round_step(to - from);
                (multiples(from, to, step), multiples(from, to, step / 2.0))
            }
            ..2.5 => (decades(1, &[1.0, 2.0, 5.0]), decades(1, &within)),
            _ => (decades(every, &[1.0]), decades(1, if every == 1 { &within } else { &[1.0] })),
        };
        let powers = width >= 2.5 && (low < -2.5 || high > 3.5);
        Axis { logarithmic: true, low, high, ticks, between, step: None, powers }
    }

    /// The relative position of a value, from 0 at the lower end to 1 at the higher.
    pub fn share(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    /// The label of a number on the axis.
    pub fn label(&self, value: f64) -> String {
        match self.step {
            _ if self.powers => format!("10^{}", value.log10().round()),
            Some(step) if (1e-6..1e9).contains(&step) && value.abs() < 1e12 => {
                let decimals = (-(step * 1.001).log10().floor()).clamp(0.0, 7.0) as usize;
                let text = format!("{value:.decimals$}");
                // A true zero has no sign.
                if text.trim_matches(['-', '0', '.']).is_empty() { "0".into() } else { thousands(&text) }
            }
            Some(_) => number(value),
            None if (1e-4..1e9).contains(&value.abs()) => thousands(without_zeros(&format!("{value:.6}"))),
            None => number(value),
        }
    }
}

/// Lowest and highest value; 0 and 1 if there are none.
fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high { (0.0, 1.0) } else { (low, high) }
}

/// The ends with some room on both sides; never of zero width.
fn padded(low: f64, high: f64, room: f64) -> (f64, f64) {
    let width = high - low;
    if width <= 1e-9 * high.abs().max(low.abs()) {
        let half = (0.5 * low.abs()).max(0.5);
        return (low - half, low + half);
    }
    (low - width * room, high + width * room)
}

/// The distance of 1, 2 or 5 times a power of ten that gives about the wanted number of ticks.
fn round_step(width: f64) -> f64 {
    let rough = width / TICKS;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(rough)
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    // A multiple at the very end must not be lost to rounding.
    let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
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
    fn linear_axes_have_round_numbers() {
        let axis = |low: f64, high: f64| labels(&Axis::linear([low, high].into_iter(), 0.0));
        assert_eq!(axis(0.0, 500.0), ["0", "100", "200", "300", "400", "500"]);
        assert_eq!(axis(-0.03, 0.1), ["−0.02", "0", "0.02", "0.04", "0.06", "0.08", "0.10"]);
        assert_eq!(axis(1000.1, 1000.13)[0], "1,000.100");
        assert_eq!(axis(0.0, 3e-8)[1], "5·10^-9");
        assert_eq!(axis(90.0, 100.0), ["90", "92", "94", "96", "98", "100"]);
        assert_eq!(axis(3.0, 100.0)[0], "0", "near zero");
        assert_eq!(labels(&Axis::whole([1.0, 3.0].into_iter())), ["1", "2", "3"]);
        assert_eq!(labels(&Axis::whole([1.0, 20_000.0].into_iter())).last().unwrap(), "20,000");
        assert_eq!(labels(&Axis::linear([].into_iter(), 0.1))[..2], ["0", "0.2"]);
        assert_eq!(labels(&Axis::between(0.0, 4.0, 1.0)), ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn logarithmic_axes_have_powers_of_ten() {
        let axis = |low: f64, high: f64| labels(&Axis::logarithmic([low, high].into_iter(), 0.0));
        assert_eq!(axis(0.9e-4, 1.1), ["10^-4", "10^-3", "10^-2", "10^-1", "10^0"]);
        assert_eq!(axis(0.01, 10.0), ["0.01", "0.1", "1", "10"]);
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
                let places = axis.ticks.iter().map(|&tick| axis.share(tick));
                assert!(places.into_iter().all(|place| (-1e-6..=1.000001).contains(&place)));
            }
        }
    }
}
