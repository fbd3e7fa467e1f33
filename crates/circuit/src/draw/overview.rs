//! A large circuit: for each level, how many gates of which family it has, and how many wires pass it.
//!
//! Thousands of single wires would be a tangle; the time and size of this drawing depend on the number of
//! levels instead.

use farad_chart::{Canvas, Stack, thousands};

use super::parts::{DrawnPart, DrawnParts, DrawnSignal};
use super::symbol::Family;
use crate::netlist::Netlist;

/// Draws an overview from this height on; returns where it ends.
pub fn draw(canvas: &mut Canvas, title: &str, netlist: &Netlist, parts: &DrawnParts, top: f64) -> f64 {
    let mut counts = vec![vec![0usize; parts.depth]; Family::ALL.len()];
    for part in &parts.all {
        if let DrawnPart::Gate(gate) = part.part {
            let family = Family::of(netlist.gates[gate].gate) as usize;
            counts[family][part.level - 1] += 1;
        }
    }
    let passing = passing(parts);
    let about = format!("{}; shown level by level", super::caption(netlist, parts));
    let mut stack =
        Stack::new(title, "level (gates on the longest path from the inputs)", "gates").about(&about);
    for (family, counts) in Family::ALL.into_iter().zip(counts) {
        let total: usize = counts.iter().sum();
        let name = format!("{} ({})", family.name(), thousands(&total.to_string()));
        stack = stack.part(&name, family.color(), counts.into_iter().map(|count| count as f64));
    }
    stack.line("signals read at this level or later", passing).draw(canvas, top)
}

/// For every level, how many signals from earlier levels are read at it or after it.
fn passing(parts: &DrawnParts) -> Vec<f64> {
    let mut last = vec![0; parts.all.len()];
    for part in &parts.all {
        for signal in &part.reads {
            if let DrawnSignal::Part(read) = *signal {
                last[read] = last[read].max(part.level);
            }
        }
    }
    let mut change = vec![0i64; parts.depth + 3];
    for (part, &last) in parts.all.iter().zip(&last) {
        if last > part.level {
            change[part.level + 1] += 1;
            change[last + 1] -= 1;
        }
    }
    let mut signals = 0;
    (1..=parts.depth)
        .map(|level| {
            signals += change[level];
            signals as f64
        })
        .collect()
}
