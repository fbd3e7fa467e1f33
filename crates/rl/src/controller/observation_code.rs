//! Observations as bits: of every number, which thresholds it is above.

use farad_circuit::Netlist;
use serde::{Deserialize, Serialize};

/// What the numbers of a cart-pole are called in circuits.
const NAMES: [&str; 4] = ["place", "speed", "angle", "turning"];
/// Where circuits keep their thresholds.
const META: &str = "thresholds";

/// Thresholds of every number that is seen, in ascending order: a thermometer each.
///
/// ```
/// use farad_rl::controller::ObservationCode;
/// let code = ObservationCode { levels: vec![vec![0.0], vec![-1.0, 1.0]] };
/// assert_eq!(code.bits(&[0.5, 0.5]), [true, true, false]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationCode {
    /// Thresholds by number.
    pub levels: Vec<Vec<f64>>,
}

impl ObservationCode {
    /// So many thresholds of each number at quantiles of samples, which are rows of numbers.
    pub fn quantiles(samples: &[Vec<f64>], thresholds: usize) -> ObservationCode {
        let numbers = samples.first().map_or(0, Vec::len);
        let of = |number: usize| {
            let mut all: Vec<f64> = samples.iter().map(|row| row[number]).collect();
            all.sort_by(f64::total_cmp);
            let at = |n: usize| all[(n + 1) * all.len() / (thresholds + 1)];
            let mut levels: Vec<f64> = (0..thresholds).map(|n| (at(n) * 1000.0).round() / 1000.0).collect();
            levels.dedup();
            levels
        };
        ObservationCode { levels: (0..numbers).map(of).collect() }
    }

    /// All thresholds, each with its number.
    pub fn all(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let levels = self.levels.iter().enumerate();
        levels.flat_map(|(number, levels)| levels.iter().map(move |&level| (number, level)))
    }

    /// The bits of what is seen.
    pub fn bits(&self, seen: &[f64]) -> Vec<bool> {
        self.all().map(|(number, level)| seen[number] > level).collect()
    }

    /// Names of the bits, e.g. `angle_3`: the angle is above its fourth threshold.
    pub fn names(&self) -> Vec<String> {
        let of = |(number, levels): (usize, &Vec<f64>)| {
            let name = NAMES.get(number).map_or(format!("seen{number}"), |name| name.to_string());
            (0..levels.len()).map(move |n| format!("{name}_{n}")).collect::<Vec<_>>()
        };
        self.levels.iter().enumerate().flat_map(of).collect()
    }

    /// Writes the thresholds into a circuit.
    pub fn put(&self, netlist: &mut Netlist) {
        netlist.meta.insert(META.into(), serde_json::json!(self.levels));
    }

    /// The thresholds that a circuit was made for.
    pub fn of(netlist: &Netlist) -> Option<ObservationCode> {
        let levels = serde_json::from_value(netlist.meta.get(META)?.clone()).ok()?;
        Some(ObservationCode { levels })
    }
}
