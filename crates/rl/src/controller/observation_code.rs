//! Observations as bits: for every number, which thresholds it exceeds.

use farad_circuit::Netlist;
use serde::{Deserialize, Serialize};

/// The metadata key of thresholds in circuits.
const META: &str = "thresholds";

/// Thresholds of every observed number, in ascending order: a thermometer code for each.
///
/// ```
/// use farad_rl::controller::ObservationCode;
/// let code = ObservationCode { levels: vec![vec![0.0], vec![-1.0, 1.0]] };
/// assert_eq!(code.bits(&[0.5, 0.5]), [true, true, false]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationCode {
    /// Thresholds per observed number.
    pub levels: Vec<Vec<f64>>,
}

impl ObservationCode {
    /// This many thresholds per number, at quantiles of the samples, which are rows of numbers.
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

    /// All thresholds, each with the index of its number.
    pub fn all(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let levels = self.levels.iter().enumerate();
        levels.flat_map(|(number, levels)| levels.iter().map(move |&level| (number, level)))
    }

    /// The bits of an observation.
    pub fn bits(&self, seen: &[f64]) -> Vec<bool> {
        self.all().map(|(number, level)| seen[number] > level).collect()
    }

    /// Names of the bits by the names of the numbers, e.g. `angle_3`: the angle is above its fourth threshold.
    pub fn names(&self, numbers: &[&str]) -> Vec<String> {
        let of = |(number, levels): (usize, &Vec<f64>)| {
            let name = numbers.get(number).map_or(format!("seen{number}"), |name| name.to_string());
            (0..levels.len()).map(move |n| format!("{name}_{n}")).collect::<Vec<_>>()
        };
        self.levels.iter().enumerate().flat_map(of).collect()
    }

    /// Stores the thresholds in a circuit.
    pub fn put(&self, netlist: &mut Netlist) {
        netlist.meta.insert(META.into(), serde_json::json!(self.levels));
    }

    /// The thresholds stored in a circuit.
    pub fn of(netlist: &Netlist) -> Option<ObservationCode> {
        let levels = serde_json::from_value(netlist.meta.get(META)?.clone()).ok()?;
        Some(ObservationCode { levels })
    }
}
