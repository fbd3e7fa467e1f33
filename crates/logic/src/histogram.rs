//! Gates by function, as bars and layer by layer: the sixteen functions, grouped by what they do.

use farad::run::{Bars, Matrix};
use farad_circuit::Gate;

/// The functions in their groups.
const GROUPS: [(&str, &[Gate]); 6] = [
    ("constants", &[Gate::FALSE, Gate::TRUE]),
    ("copies", &[Gate::A, Gate::B]),
    ("inverters", &[Gate::NOT_A, Gate::NOT_B]),
    ("and", &[Gate::AND, Gate::A_AND_NOT_B, Gate::NOT_A_AND_B, Gate::NAND]),
    ("or", &[Gate::OR, Gate::A_OR_NOT_B, Gate::NOT_A_OR_B, Gate::NOR]),
    ("exclusive or", &[Gate::XOR, Gate::XNOR]),
];

/// A chart of gates by function: `about` is the run, each panel has a name and counts by number.
pub fn gates(about: &str, panels: &[(String, [usize; 16])]) -> Bars {
    let (order, names) = (order(), names());
    let mut bars = Bars::new("Gates by function", "gates", &names).about(about);
    let mut from = 0;
    for (name, gates) in GROUPS {
        bars = bars.group(from, name);
        from += gates.len();
    }
    for (name, counts) in panels {
        bars = bars.series(name, order.iter().map(|gate| counts[gate.number() as usize] as f64));
    }
    bars
}

/// Gates by function, a row per layer: `about` is the run, each layer has a name and counts by number.
pub fn layers(about: &str, layers: &[(String, [usize; 16])]) -> Matrix {
    let rows: Vec<String> = layers.iter().map(|(name, _)| name.clone()).collect();
    let row = |(_, counts): &(String, [usize; 16])| {
        order().into_iter().map(|gate| counts[gate.number() as usize] as f64).collect::<Vec<_>>()
    };
    let counts: Vec<f64> = layers.iter().flat_map(row).collect();
    Matrix::new("Learned gates by layer", ("layer", &rows), ("function", &names()), &counts).about(about)
}

fn order() -> Vec<Gate> {
    GROUPS.iter().flat_map(|(_, gates)| gates.iter().copied()).collect()
}

fn names() -> Vec<String> {
    order().iter().map(|gate| gate.name().replace('_', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_its_bar() {
        let mut all = order();
        all.sort();
        assert_eq!(all, Gate::ALL);
        let counts = std::array::from_fn(|n| 1000 + n);
        let svg = gates("run", &[("learned".into(), counts)]).svg();
        for gate in Gate::ALL {
            let bar = format!("{} 1,{:03}", gate.name().replace('_', " "), gate.number());
            assert!(svg.contains(&bar), "{bar} is not in {svg}");
        }
    }
}
