//! A decision tree of lessons, as a circuit: bits of observations at its nodes, output bits at its leaves.
//!
//! Invariant: the circuit depends only on the lessons and the depth.

use farad_circuit::{Gate, Netlist, Wire};

use super::trainee::CodedLessons;

/// Lessons that a leaf has at least.
const LEAST: usize = 6;

/// Lessons of one group of outputs.
struct GroupLessons<'a> {
    bits: &'a [Vec<bool>],
    wanted: Vec<u32>,
}

/// What a part of the tree says for one output bit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Always(bool),
    Bit(Wire),
}

/// A circuit with the inputs and outputs of `like` that answers as trees of this depth, one for every group of so many outputs.
/// A leaf says the most common output of its lessons; a node asks the bit that leaves the least spread of how many output bits are
/// set.
pub(super) fn lesson_tree(lessons: &CodedLessons, like: &Netlist, depth: usize, group: usize) -> Netlist {
    let mut netlist = Netlist { gates: vec![], outputs: vec![], ..like.clone() };
    let all: Vec<usize> = (0..lessons.bits.len()).collect();
    let mut said = vec![];
    for from in (0..like.outputs.len()).step_by(group) {
        let mask = (1 << group) - 1;
        let wanted: Vec<u32> = lessons.wanted.iter().map(|bits| bits >> from & mask).collect();
        let lessons = GroupLessons { bits: &lessons.bits, wanted };
        said.extend(grown(&lessons, &mut netlist, &all, group, depth));
    }
    for (output, said) in like.outputs.iter().zip(said) {
        let wire = match said {
            Said::Bit(wire) => wire,
            Said::Always(value) => netlist.gate(gate_of(|_, _| value), Wire(0), Wire(0)),
        };
        netlist.output(output.name.clone(), wire);
    }
    netlist
}

/// The part of the tree for these lessons.
fn grown(
    lessons: &GroupLessons,
    netlist: &mut Netlist,
    own: &[usize],
    outputs: usize,
    depth: usize,
) -> Vec<Said> {
    let Some(bit) = question(lessons, own).filter(|_| depth > 0) else { return leaf(lessons, own, outputs) };
    let (set, clear): (Vec<usize>, Vec<usize>) = own.iter().partition(|&&n| lessons.bits[n][bit]);
    let zero = grown(lessons, netlist, &clear, outputs, depth - 1);
    let one = grown(lessons, netlist, &set, outputs, depth - 1);
    let pairs = zero.into_iter().zip(one);
    pairs.map(|(zero, one)| chosen(netlist, Wire(bit as u32), zero, one)).collect()
}

/// The most common output.
fn leaf(lessons: &GroupLessons, own: &[usize], outputs: usize) -> Vec<Said> {
    let mut counts = vec![0usize; 1 << outputs];
    own.iter().for_each(|&n| counts[lessons.wanted[n] as usize] += 1);
    let most = (0..counts.len()).rev().max_by_key(|&bits| counts[bits]).unwrap_or(0);
    (0..outputs).map(|n| Said::Always(most >> n & 1 == 1)).collect()
}

/// The bit that tells most about how many output bits are set, if one tells anything.
fn question(lessons: &GroupLessons, own: &[usize]) -> Option<usize> {
    let level = |n: usize| f64::from(lessons.wanted[n].count_ones());
    let (count, sum) = (own.len(), own.iter().map(|&n| level(n)).sum::<f64>());
    let inputs = lessons.bits.first().map_or(0, Vec::len);
    let mut of_bit = vec![(0usize, 0.0f64); inputs];
    for &n in own {
        for ((count, sum), _) in of_bit.iter_mut().zip(&lessons.bits[n]).filter(|(_, set)| **set) {
            (*count, *sum) = (*count + 1, *sum + level(n));
        }
    }
    let gain = |&(set, of_set): &(usize, f64)| -> Option<f64> {
        let enough = set >= LEAST && count - set >= LEAST;
        let whole = of_set * of_set / set as f64 + (sum - of_set).powi(2) / (count - set) as f64;
        (enough && whole > sum * sum / count as f64 + 1e-9).then_some(whole)
    };
    let gains = of_bit.iter().enumerate().filter_map(|(bit, sums)| Some((bit, gain(sums)?)));
    gains.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(bit, _)| bit)
}

/// What is said by a bit: one of two.
fn chosen(netlist: &mut Netlist, bit: Wire, zero: Said, one: Said) -> Said {
    let mut gate = |rule: fn(bool, bool) -> bool, a: Wire, b: Wire| netlist.gate(gate_of(rule), a, b);
    Said::Bit(match (zero, one) {
        _ if zero == one => return zero,
        (Said::Always(zero), Said::Always(_)) => {
            if zero {
                gate(|a, _| !a, bit, bit)
            } else {
                bit
            }
        }
        (Said::Always(false), Said::Bit(one)) => gate(|a, b| a && b, bit, one),
        (Said::Always(true), Said::Bit(one)) => gate(|a, b| !a || b, bit, one),
        (Said::Bit(zero), Said::Always(false)) => gate(|a, b| !a && b, bit, zero),
        (Said::Bit(zero), Said::Always(true)) => gate(|a, b| a || b, bit, zero),
        (Said::Bit(zero), Said::Bit(one)) => {
            let one = gate(|a, b| a && b, bit, one);
            let zero = gate(|a, b| !a && b, bit, zero);
            gate(|a, b| a || b, zero, one)
        }
    })
}

/// The gate with this truth table.
fn gate_of(rule: impl Fn(bool, bool) -> bool) -> Gate {
    let rows = [(false, false), (false, true), (true, false), (true, true)];
    let same = |gate: &&Gate| rows.iter().all(|&(a, b)| gate.output(a, b) == rule(a, b));
    *Gate::ALL.iter().find(same).expect("there is a gate for every table")
}
