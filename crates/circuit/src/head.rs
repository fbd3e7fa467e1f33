//! The head of a classifier: bits vote for classes, and the first class with the most votes wins.
//!
//! Votes are summed by value. Equal votes are counted once with a weight, a vote and its opposite are a
//! constant, and what all classes have in common is left out. Start at [`Netlist::with_class_head`].

use std::collections::BTreeMap;

use crate::arithmetic::LeveledNetlist;
use crate::gate::Gate;
use crate::graph::LogicGraph;
use crate::netlist::{GateNode, Netlist, Output, Wire};

/// A netlist of votes with a head on top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elected {
    /// The class in outputs `class0`, `class1`, …, lowest bit first.
    pub netlist: Netlist,
    /// The same gates with more outputs: `count_c_b` is bit `b` of class `c`'s votes, without what is common to
    /// all classes.
    pub with_counts: Netlist,
}

/// The votes of a class: a constant, and how often each signal counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ClassVotes {
    certain: u64,
    weights: BTreeMap<(Wire, bool), u64>,
}

impl Netlist {
    /// Replaces a netlist whose outputs are votes by one whose output is the number of the class with the most
    /// votes, the first among equals. Output `n` votes for class `classes[n]`.
    ///
    /// ```
    /// use farad_circuit::{Netlist, Simulator};
    /// let mut votes = Netlist::new("majority");
    /// let wires: Vec<_> = (0..4).map(|n| votes.input(format!("x{n}"))).collect();
    /// wires.iter().for_each(|&wire| votes.output("vote", wire));
    /// let elected = votes.with_class_head(&[0, 0, 1, 1], 2).netlist;
    /// // The second class wins where it has more votes: 2 against 0 or 1, or 1 against 0.
    /// assert_eq!(Simulator::new(&elected)?.truth_table(), [[0b0111_0001_0001_0000]]);
    /// # Ok::<(), farad_circuit::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there are no classes, not one class per output, or a class is out of range.
    #[track_caller]
    pub fn with_class_head(&self, classes: &[usize], count: usize) -> Elected {
        assert!(count > 0, "with_class_head: needs a class (0 vs 1)");
        let (found, wanted) = (classes.len(), self.outputs.len());
        assert!(found == wanted, "with_class_head: not one class per output ({found} vs {wanted})");
        let mut tallies = vec![ClassVotes::default(); count];
        for (output, &class) in self.outputs.iter().zip(classes) {
            assert!(class < count, "with_class_head: class out of range ({class} vs {count})");
            tallies[class].add(self, output.wire);
        }
        tallies.iter_mut().for_each(ClassVotes::settle);
        leave_out_what_is_common(&mut tallies);
        let mut netlist = self.clone();
        netlist.outputs.clear();
        let mut words = LeveledNetlist::on(&mut netlist);
        let counts: Vec<Vec<Wire>> = tallies.iter().map(|tally| tally.count(&mut words)).collect();
        let counts = of_equal_width(&mut words, counts);
        let position = words.first_largest(&counts);
        for (n, wire) in position.into_iter().enumerate() {
            netlist.output(format!("class{n}"), wire);
        }
        let shown = netlist.outputs.len();
        for (class, bits) in counts.into_iter().enumerate() {
            for (n, wire) in bits.into_iter().enumerate() {
                netlist.output(format!("count_{class}_{n}"), wire);
            }
        }
        let counted = netlist.outputs.len();
        self.outputs.iter().for_each(|vote| netlist.output(vote.name.clone(), vote.wire));
        // Constants are folded, and unread gates are removed.
        let folded = LogicGraph::of(&netlist).write(&netlist);
        let parts = parts_of(&folded, count, shown, counted);
        Elected {
            netlist: in_parts(&folded, &parts, count, shown),
            with_counts: in_parts(&folded, &parts, count, counted),
        }
    }
}

/// For every gate the part that it belongs to: the votes, the count of a class, or, last, the comparison.
/// Outputs are first those of the class, then the counts, then the votes.
fn parts_of(netlist: &Netlist, classes: usize, shown: usize, counted: usize) -> Vec<usize> {
    let mut parts = vec![classes + 1; netlist.wires()];
    let of = |outputs: &[Output]| netlist.needed(outputs.iter().map(|output| output.wire));
    let counts = &netlist.outputs[shown..counted];
    let width = counts.len() / classes;
    // From the last to the first, so that shared gates belong to the first part that needs them.
    for class in (0..classes).rev() {
        let needed = of(&counts[class * width..][..width]);
        parts.iter_mut().zip(needed).filter(|(_, needed)| *needed).for_each(|(part, _)| *part = class + 1);
    }
    let needed = of(&netlist.outputs[counted..]);
    parts.iter_mut().zip(needed).filter(|(_, needed)| *needed).for_each(|(part, _)| *part = 0);
    parts
}

/// The first outputs of a netlist and what they need, part after part; the metadata says how long the parts
/// are.
fn in_parts(netlist: &Netlist, parts: &[usize], classes: usize, outputs: usize) -> Netlist {
    let live = netlist.needed(netlist.outputs[..outputs].iter().map(|output| output.wire));
    let mut order: Vec<usize> = (netlist.sources()..netlist.wires()).filter(|&wire| live[wire]).collect();
    order.sort_by_key(|&wire| parts[wire]);
    let mut made = Netlist { gates: vec![], outputs: vec![], ..netlist.clone() };
    let mut place: Vec<Wire> = (0..netlist.wires() as u32).map(Wire).collect();
    let mut lengths = vec![0usize; classes + 2];
    for wire in order {
        let GateNode { gate, a, b } = netlist.gates[wire - netlist.sources()];
        let moved = |wire: Wire| place.get(wire.index()).copied().unwrap_or(Wire::NONE);
        place[wire] = made.gate(gate, moved(a), moved(b));
        lengths[parts[wire]] += 1;
    }
    for output in &netlist.outputs[..outputs] {
        made.output(output.name.clone(), place[output.wire.index()]);
    }
    made.meta.insert(PARTS.into(), lengths.into());
    made
}

/// The metadata key for the numbers of gates that make votes, count those of each class, and compare the
/// counts.
const PARTS: &str = "parts";

impl Netlist {
    /// Names and lengths of the consecutive parts of the gates, if they are given and still valid.
    pub(crate) fn parts(&self) -> Option<Vec<(String, usize)>> {
        let lengths: Vec<usize> = self
            .meta
            .get(PARTS)?
            .as_array()?
            .iter()
            .map(|n| n.as_u64().map(|n| n as usize))
            .collect::<Option<_>>()?;
        let last = lengths.len().checked_sub(1)?;
        let named = |(n, length): (usize, usize)| match n {
            0 => ("votes".to_string(), length),
            n if n == last => ("largest".into(), length),
            n => (format!("count_{}", n - 1), length),
        };
        (lengths.iter().sum::<usize>() == self.gates.len())
            .then(|| lengths.into_iter().enumerate().map(named).collect())
    }

    /// Removes the information about parts, because the gates have changed.
    pub fn without_parts(mut self) -> Netlist {
        self.meta.remove(PARTS);
        self
    }
}

impl ClassVotes {
    fn add(&mut self, netlist: &Netlist, mut wire: Wire) {
        let mut is = true;
        while let Some(node) = wire.index().checked_sub(netlist.sources()).map(|n| netlist.gates[n]) {
            (wire, is) = match node.gate {
                Gate::FALSE | Gate::TRUE => {
                    self.certain += u64::from((node.gate == Gate::TRUE) == is);
                    return;
                }
                Gate::A => (node.a, is),
                Gate::B => (node.b, is),
                Gate::NOT_A => (node.a, !is),
                Gate::NOT_B => (node.b, !is),
                _ => break,
            };
        }
        *self.weights.entry((wire, is)).or_default() += 1;
    }

    /// A vote and its opposite are a constant one.
    fn settle(&mut self) {
        let votes: Vec<Wire> = self.weights.keys().map(|&(wire, _)| wire).collect();
        for wire in votes {
            let of = |is: bool| self.weights.get(&(wire, is)).copied().unwrap_or(0);
            let both = of(true).min(of(false));
            self.certain += both;
            [true, false].into_iter().for_each(|is| self.take(&(wire, is), both));
        }
    }

    fn take(&mut self, vote: &(Wire, bool), weight: u64) {
        if let Some(left) = self.weights.get_mut(vote) {
            *left -= weight;
            if *left == 0 {
                self.weights.remove(vote);
            }
        }
    }

    /// Adds the gates of the sum.
    fn count(&self, words: &mut LeveledNetlist<'_>) -> Vec<Wire> {
        let most = self.weights.values().copied().max().unwrap_or(0).max(self.certain);
        let mut columns = vec![vec![]; (u64::BITS - most.leading_zeros()) as usize];
        for (&(wire, is), weight) in &self.weights {
            let vote = if is { wire } else { words.gate(Gate::NOT_A, wire, Wire::NONE) };
            put(&mut columns, *weight, vote);
        }
        if self.certain > 0 {
            let one = words.gate(Gate::TRUE, Wire::NONE, Wire::NONE);
            put(&mut columns, self.certain, one);
        }
        words.sum(&columns)
    }
}

/// Adds a wire to the columns of a number's bits.
fn put(columns: &mut [Vec<Wire>], number: u64, wire: Wire) {
    for (bit, column) in columns.iter_mut().enumerate() {
        if number >> bit & 1 == 1 {
            column.push(wire);
        }
    }
}

/// Removes votes that every class has, because they decide nothing.
fn leave_out_what_is_common(tallies: &mut [ClassVotes]) {
    let certain = tallies.iter().map(|tally| tally.certain).min().unwrap_or(0);
    tallies.iter_mut().for_each(|tally| tally.certain -= certain);
    let votes: Vec<(Wire, bool)> = tallies[0].weights.keys().copied().collect();
    for vote in votes {
        let of = |tally: &ClassVotes| tally.weights.get(&vote).copied().unwrap_or(0);
        let common = tallies.iter().map(of).min().unwrap_or(0);
        tallies.iter_mut().for_each(|tally| tally.take(&vote, common));
    }
}

fn of_equal_width(words: &mut LeveledNetlist<'_>, mut counts: Vec<Vec<Wire>>) -> Vec<Vec<Wire>> {
    let width = counts.iter().map(Vec::len).max().unwrap_or(0);
    if counts.iter().any(|count| count.len() < width) {
        let no = words.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
        counts.iter_mut().for_each(|count| count.resize(width, no));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulator;
    use crate::statistics::Statistics;

    fn value(planes: &[Vec<u64>], sample: usize) -> usize {
        let bit = |plane: &Vec<u64>| (plane[sample / 64] >> (sample % 64) & 1) as usize;
        planes.iter().enumerate().map(|(n, plane)| bit(plane) << n).sum()
    }

    #[test]
    fn the_first_class_with_the_most_votes_is_elected() {
        for seed in 0..30 {
            // Some votes are equal, opposite or constant, because gates have few inputs.
            let votes = Netlist::random(seed, 5, 40, 23);
            let classes: Vec<usize> = (0..votes.outputs.len()).map(|n| n * 7 % 4).collect();
            let elected = votes.with_class_head(&classes, 4);
            elected.netlist.check().unwrap();
            let (given, made) = (table(&votes), table(&elected.netlist));
            for sample in 0..32 {
                let of = |class: usize| {
                    let own = given.iter().zip(&classes).filter(|(_, of)| **of == class);
                    own.filter(|(plane, _)| plane[0] >> sample & 1 == 1).count()
                };
                let wanted = (0..4).fold(0, |best, class| if of(class) > of(best) { class } else { best });
                assert_eq!(value(&made, sample), wanted, "seed {seed}, sample {sample}");
            }
        }
    }

    #[test]
    fn counts_differ_as_votes_do() {
        let votes = Netlist::random(3, 5, 40, 12);
        let classes: Vec<usize> = (0..12).map(|n| n % 3).collect();
        let counts = table(&votes.with_class_head(&classes, 3).with_counts)[2..].to_vec();
        let (width, given) = (counts.len() / 3, table(&votes));
        for sample in 0..32 {
            let wanted =
                |class: usize| (class..12).step_by(3).filter(|&n| given[n][0] >> sample & 1 == 1).count();
            let found = |class: usize| value(&counts[class * width..][..width], sample);
            for class in 1..3 {
                assert_eq!(found(class) + wanted(0), found(0) + wanted(class), "sample {sample}");
            }
        }
    }

    #[test]
    fn votes_that_cancel_cost_nothing() {
        let mut votes = Netlist::new("votes");
        let (a, b) = (votes.input("a"), votes.input("b"));
        let not = votes.gate(Gate::NOT_A, a, Wire::NONE);
        for wire in [a, not, b, b, b, a, not, b] {
            votes.output("vote", wire);
        }
        // Three against two votes: b decides between 1 + 3b and 1 + b.
        let elected = votes.with_class_head(&[0, 0, 0, 0, 0, 1, 1, 1], 2).netlist;
        assert_eq!(Statistics::of(&elected).active, 0, "the first class never has fewer");
        let elected = votes.with_class_head(&[1, 1, 1, 1, 1, 0, 0, 0], 2).netlist;
        assert_eq!((Statistics::of(&elected).active, elected.outputs[0].wire), (0, b));
    }

    fn table(netlist: &Netlist) -> Vec<Vec<u64>> {
        Simulator::new(netlist).unwrap().truth_table()
    }
}
