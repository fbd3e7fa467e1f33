//! Arithmetic in circuits: counting set bits, and finding the largest number.
//!
//! A number is a list of wires, lowest bit first. Everything is made of plain gates, so every simulator, proof
//! and export supports it. Exports do not use the adders of their languages, because synthesis tools make the
//! same lookup tables from compressor trees of gates. Counters and comparators are trees that are built by the
//! levels at which their bits arrive, so that late bits are read late. Start at [`Netlist::population_count`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::gate::Gate;
use crate::netlist::{Netlist, Wire};

/// Up to this many numbers, all pairs are compared at once; more are first reduced in pairs.
const ALL_PAIRS: usize = 5;

impl Netlist {
    /// Adds a counter: how many of these wires are set, in as many bits as needed. Without wires, the result is
    /// a number without bits.
    ///
    /// ```
    /// use farad_circuit::{Netlist, Simulator};
    /// let mut netlist = Netlist::new("count");
    /// let bits: Vec<_> = (0..3).map(|n| netlist.input(format!("x{n}"))).collect();
    /// for (n, wire) in netlist.population_count(&bits).into_iter().enumerate() {
    ///     netlist.output(format!("bit{n}"), wire);
    /// }
    /// let table = Simulator::new(&netlist)?.truth_table();
    /// assert_eq!(table, [[0b1001_0110], [0b1110_1000]]);
    /// # Ok::<(), farad_circuit::Error>(())
    /// ```
    pub fn population_count(&mut self, bits: &[Wire]) -> Vec<Wire> {
        LeveledNetlist::on(self).sum(&[bits.to_vec()])
    }

    /// Adds a comparison of numbers of equal width: the index of the largest, in as many bits as indices need;
    /// the first among equals.
    ///
    /// # Panics
    /// If there are no numbers, or they differ in width.
    #[track_caller]
    pub fn first_largest(&mut self, numbers: &[Vec<Wire>]) -> Vec<Wire> {
        let width = numbers.first().expect("first_largest: needs a number (0 vs 1)").len();
        for (n, number) in numbers.iter().enumerate() {
            let found = number.len();
            assert!(found == width, "first_largest: number {n} has another width ({found} vs {width})");
        }
        LeveledNetlist::on(self).first_largest(numbers)
    }
}

/// A candidate number, and its index.
#[derive(Clone)]
struct RankedNumber {
    number: Vec<Wire>,
    position: Vec<Wire>,
}

/// A range of bits of two numbers that were compared: whether the second is larger, and whether both are equal.
/// The latter is never needed for the lowest range.
#[derive(Clone, Copy)]
struct Compared {
    larger: Wire,
    equal: Option<Wire>,
}

/// A netlist with the level of every wire, updated as gates are added.
pub(crate) struct LeveledNetlist<'a> {
    pub(crate) netlist: &'a mut Netlist,
    levels: Vec<u32>,
}

impl LeveledNetlist<'_> {
    pub(crate) fn on(netlist: &mut Netlist) -> LeveledNetlist<'_> {
        let levels = netlist.levels();
        LeveledNetlist { netlist, levels }
    }

    fn level(&self, wire: Wire) -> u32 {
        self.levels[wire.index()]
    }

    pub(crate) fn gate(&mut self, gate: Gate, a: Wire, b: Wire) -> Wire {
        let node = crate::netlist::GateNode { gate, a, b };
        let before = node.operands().map(|wire| self.level(wire)).max().unwrap_or(0);
        self.levels.push(before + gate.is_active() as u32);
        self.netlist.gate(gate, a, b)
    }

    /// The sum of bits, where a bit in column `n` counts 2ⁿ. Column by column, three bits become one of the
    /// column and one of the next; always the three that arrive earliest.
    pub(crate) fn sum(&mut self, columns: &[Vec<Wire>]) -> Vec<Wire> {
        let mut columns = columns.iter();
        let mut column = columns.next().cloned().unwrap_or_default();
        let mut count = vec![];
        while !column.is_empty() || columns.len() > 0 {
            let mut carries = columns.next().cloned().unwrap_or_default();
            let mut waiting: BinaryHeap<_> =
                column.iter().map(|&wire| Reverse((self.level(wire), wire))).collect();
            while waiting.len() > 2 {
                let [a, b, c] = [(); 3].map(|()| waiting.pop().expect("three at least").0.1);
                let (sum, carry) = self.full_adder(a, b, c);
                waiting.push(Reverse((self.level(sum), sum)));
                carries.push(carry);
            }
            column = waiting.into_iter().map(|Reverse((_, wire))| wire).collect();
            if let [a, b] = column[..] {
                carries.push(self.gate(Gate::AND, a, b));
                column = vec![self.gate(Gate::XOR, a, b)];
            }
            let none = || self.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
            count.push(column.first().copied().unwrap_or_else(none));
            column = carries;
        }
        count
    }

    /// The sum of three bits: its lower and its upper bit. `c` may arrive a level later.
    fn full_adder(&mut self, a: Wire, b: Wire, c: Wire) -> (Wire, Wire) {
        let differ = self.gate(Gate::XOR, a, b);
        // In this order, simulators fuse the carry with the late operand, and `a` and `b` are dead early.
        let carried = self.gate(Gate::AND, differ, c);
        let both = self.gate(Gate::AND, a, b);
        (self.gate(Gate::XOR, differ, c), self.gate(Gate::OR, carried, both))
    }

    /// Halves the candidates until few are left, then compares all pairs of these at once.
    pub(crate) fn first_largest(&mut self, numbers: &[Vec<Wire>]) -> Vec<Wire> {
        let bits = numbers.len().next_power_of_two().trailing_zeros() as usize;
        let constants = [Gate::FALSE, Gate::TRUE].map(|gate| self.gate(gate, Wire::NONE, Wire::NONE));
        let position = |n: usize| (0..bits).map(|bit| constants[n >> bit & 1]).collect();
        let entry =
            |(n, number): (usize, &Vec<Wire>)| RankedNumber { number: number.clone(), position: position(n) };
        let mut field: Vec<RankedNumber> = numbers.iter().enumerate().map(entry).collect();
        while field.len() > ALL_PAIRS {
            field = field.chunks(2).map(|pair| self.winner_of(pair)).collect();
        }
        self.best(&field, constants[0])
    }

    /// The larger of two numbers with its index, or the only one; the first if they are equal.
    fn winner_of(&mut self, pair: &[RankedNumber]) -> RankedNumber {
        let [first, second] = pair else { return pair[0].clone() };
        let takes = self.is_larger(&second.number, &first.number);
        let mut choose = |a: &[Wire], b: &[Wire]| -> Vec<Wire> {
            a.iter().zip(b).map(|(&a, &b)| self.chosen(a, b, takes)).collect()
        };
        RankedNumber {
            number: choose(&first.number, &second.number),
            position: choose(&first.position, &second.position),
        }
    }

    /// `b` where `takes` is set, otherwise `a`.
    fn chosen(&mut self, a: Wire, b: Wire, takes: Wire) -> Wire {
        if a == b {
            return a;
        }
        let (second, first) = (self.gate(Gate::AND, b, takes), self.gate(Gate::A_AND_NOT_B, a, takes));
        self.gate(Gate::OR, first, second)
    }

    /// The index of the largest of a few numbers: an entry wins if it is larger than all before it, and if none
    /// after it is larger.
    fn best(&mut self, field: &[RankedNumber], no: Wire) -> Vec<Wire> {
        let mut beats: Vec<Vec<(Wire, bool)>> = vec![vec![]; field.len()];
        for (n, second) in field.iter().enumerate() {
            for (m, first) in field[..n].iter().enumerate() {
                let larger = self.is_larger(&second.number, &first.number);
                beats[n].push((larger, true));
                beats[m].push((larger, false));
            }
        }
        let wins: Vec<Option<Wire>> = beats.into_iter().map(|beats| self.all_of(beats)).collect();
        let bits = field[0].position.len();
        let bit = |words: &mut Self, bit: usize| {
            let mut terms: Vec<Wire> = vec![];
            for (entry, win) in field.iter().zip(&wins) {
                let at = entry.position[bit];
                match win {
                    Some(win) if words.is_constant(at, Gate::TRUE) => terms.push(*win),
                    Some(win) if !words.is_constant(at, Gate::FALSE) => {
                        terms.push(words.gate(Gate::AND, at, *win));
                    }
                    None => terms.push(at),
                    _ => {}
                }
            }
            words.joined(Gate::OR, terms).unwrap_or(no)
        };
        (0..bits).map(|n| bit(self, n)).collect()
    }

    fn is_constant(&self, wire: Wire, gate: Gate) -> bool {
        let made = wire.index().checked_sub(self.netlist.sources());
        made.is_some_and(|made| self.netlist.gates[made].gate == gate)
    }

    /// Whether all of these wires have the given values; true if there are none.
    fn all_of(&mut self, mut wires: Vec<(Wire, bool)>) -> Option<Wire> {
        // Two at a time, the earliest first; only the first of a pair may still be negated.
        while wires.len() > 1 {
            wires.sort_by_key(|&(wire, _)| (Reverse(self.level(wire)), wire));
            let [(a, a_is), (b, b_is)] = [(); 2].map(|()| wires.pop().expect("two at least"));
            let gate = match (a_is, b_is) {
                (true, true) => Gate::AND,
                (true, false) => Gate::A_AND_NOT_B,
                (false, true) => Gate::NOT_A_AND_B,
                (false, false) => Gate::NOR,
            };
            wires.push((self.gate(gate, a, b), true));
        }
        let (wire, is) = wires.pop()?;
        Some(if is { wire } else { self.gate(Gate::NOT_A, wire, Wire::NONE) })
    }

    /// Combines all wires with one kind of gate, the earliest first.
    fn joined(&mut self, gate: Gate, mut wires: Vec<Wire>) -> Option<Wire> {
        while wires.len() > 1 {
            wires.sort_by_key(|&wire| (Reverse(self.level(wire)), wire));
            let [a, b] = [(); 2].map(|()| wires.pop().expect("two at least"));
            wires.push(self.gate(gate, a, b));
        }
        wires.pop()
    }

    /// Whether the second number is larger than the first; neighboring ranges that are known earliest are
    /// combined first.
    fn is_larger(&mut self, second: &[Wire], first: &[Wire]) -> Wire {
        let bit = |words: &mut Self, (n, (&a, &b)): (usize, (&Wire, &Wire))| Compared {
            larger: words.gate(Gate::NOT_A_AND_B, a, b),
            equal: (n > 0).then(|| words.gate(Gate::XNOR, a, b)),
        };
        let mut parts: Vec<Compared> =
            first.iter().zip(second).enumerate().map(|bits| bit(self, bits)).collect();
        while parts.len() > 1 {
            let known = |n: usize| self.known(parts[n]).max(self.known(parts[n + 1]));
            let lower = (0..parts.len() - 1).min_by_key(|&n| known(n)).expect("two at least");
            let joined = self.joined_parts(parts[lower], parts[lower + 1]);
            parts.splice(lower..lower + 2, [joined]);
        }
        match parts.pop() {
            Some(whole) => whole.larger,
            None => self.gate(Gate::FALSE, Wire::NONE, Wire::NONE),
        }
    }

    fn known(&self, part: Compared) -> u32 {
        self.level(part.larger).max(part.equal.map_or(0, |equal| self.level(equal)))
    }

    fn joined_parts(&mut self, lower: Compared, upper: Compared) -> Compared {
        let upper_equal = upper.equal.expect("only the lowest has none");
        let below = self.gate(Gate::AND, upper_equal, lower.larger);
        Compared {
            larger: self.gate(Gate::OR, upper.larger, below),
            equal: lower.equal.map(|equal| self.gate(Gate::AND, upper_equal, equal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulator;

    fn value(table: &[Vec<u64>], sample: usize) -> usize {
        table
            .iter()
            .enumerate()
            .map(|(bit, plane)| ((plane[sample / 64] >> (sample % 64) & 1) as usize) << bit)
            .sum()
    }

    #[test]
    fn counts_are_counts() {
        for inputs in 1..=11 {
            let mut netlist = Netlist::new("count");
            let bits: Vec<Wire> = (0..inputs).map(|n| netlist.input(format!("x{n}"))).collect();
            let count = netlist.population_count(&bits);
            count.into_iter().enumerate().for_each(|(n, wire)| netlist.output(format!("y{n}"), wire));
            let table = Simulator::new(&netlist).unwrap().truth_table();
            for sample in 0..1 << inputs {
                assert_eq!(
                    value(&table, sample),
                    sample.count_ones() as usize,
                    "{inputs} inputs, {sample:b}"
                );
            }
        }
        assert!(Netlist::new("none").population_count(&[]).is_empty());
    }

    #[test]
    fn the_first_largest_wins() {
        for (numbers, width) in [(1, 3), (2, 4), (3, 3), (5, 2), (6, 2), (11, 1)] {
            let mut netlist = Netlist::new("largest");
            let bits: Vec<Wire> = (0..numbers * width).map(|n| netlist.input(format!("x{n}"))).collect();
            let all: Vec<Vec<Wire>> = bits.chunks(width).map(<[Wire]>::to_vec).collect();
            let position = netlist.first_largest(&all);
            position.into_iter().enumerate().for_each(|(n, wire)| netlist.output(format!("y{n}"), wire));
            let table = Simulator::new(&netlist).unwrap().truth_table();
            for sample in 0..1usize << (numbers * width) {
                let at = |n: usize| sample >> (n * width) & ((1 << width) - 1);
                let wanted = (0..numbers).fold(0, |best, n| if at(n) > at(best) { n } else { best });
                assert_eq!(value(&table, sample), wanted, "{numbers} numbers, {sample:b}");
            }
        }
    }

    #[test]
    fn ten_counts_of_four_hundred_bits_are_compared_within_sixty_levels() {
        let mut netlist = Netlist::new("head");
        let bits: Vec<Wire> = (0..4000).map(|n| netlist.input(format!("x{n}"))).collect();
        let counts: Vec<Vec<Wire>> = bits.chunks(400).map(|bits| netlist.population_count(bits)).collect();
        let depth = |netlist: &Netlist| netlist.levels().into_iter().max().unwrap();
        assert!(depth(&netlist) <= 31, "counts: {}", depth(&netlist));
        let position = netlist.first_largest(&counts);
        position.into_iter().for_each(|wire| netlist.output("y", wire));
        let found = crate::Statistics::of(&netlist);
        assert!(found.depth <= 56, "{}", found.depth);
        assert!(found.active_live < 5 * 4000 + 700, "{}", found.active_live);
    }
}
