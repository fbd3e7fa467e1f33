//! Numbers in circuits: how many of some bits are set, and which number is the largest.
//!
//! Numbers are wires with the lowest bit first. Everything is made of plain gates, so every simulator, proof and export
//! knows it already. Start at [`Netlist::population_count`].

use std::collections::VecDeque;

use crate::gate::Gate;
use crate::netlist::{Netlist, Wire};

impl Netlist {
    /// Adds a counter: how many of these wires are set, in as many bits as that needs. No wires are none: the number
    /// without bits.
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
        let mut column: VecDeque<Wire> = bits.iter().copied().collect();
        let mut count = vec![];
        while !column.is_empty() {
            let mut carries = VecDeque::new();
            // Oldest first: what was just added waits, so that the adders form a tree and not a chain.
            while column.len() > 2 {
                let [a, b, c] = [(); 3].map(|()| column.pop_front().expect("three at least"));
                let (sum, carry) = self.full_adder(a, b, c);
                column.push_back(sum);
                carries.push_back(carry);
            }
            if column.len() == 2 {
                let (a, b) = (column[0], column[1]);
                carries.push_back(self.gate(Gate::AND, a, b));
                column = VecDeque::from([self.gate(Gate::XOR, a, b)]);
            }
            count.extend(column);
            column = carries;
        }
        count
    }

    /// The sum of three bits: its lower and its upper bit.
    fn full_adder(&mut self, a: Wire, b: Wire, c: Wire) -> (Wire, Wire) {
        let (ab, ac) = (self.gate(Gate::XOR, a, b), self.gate(Gate::XOR, a, c));
        // If two differ from `a`, they are the majority; else `a` belongs to it.
        let other = self.gate(Gate::AND, ab, ac);
        (self.gate(Gate::XOR, ab, c), self.gate(Gate::XOR, a, other))
    }

    /// Adds a comparison of numbers of equal width: the position of the largest, in as many bits as positions need; the
    /// first among equals.
    ///
    /// # Panics
    /// If there are no numbers, or they differ in width.
    #[track_caller]
    pub fn first_largest(&mut self, numbers: &[Vec<Wire>]) -> Vec<Wire> {
        let width = numbers.first().expect("first_largest: needs a number (0 vs 1)").len();
        for (n, number) in numbers.iter().enumerate() {
            let found = number.len();
            assert!(found == width, "first_largest: number {n} is of another width ({found} vs {width})");
        }
        let bits = numbers.len().next_power_of_two().trailing_zeros() as usize;
        let constants = [Gate::FALSE, Gate::TRUE].map(|gate| self.gate(gate, Wire::NONE, Wire::NONE));
        let position = |n: usize| (0..bits).map(|bit| constants[n >> bit & 1]).collect();
        let mut round: Vec<(Vec<Wire>, Vec<Wire>)> =
            numbers.iter().enumerate().map(|(n, number)| (number.clone(), position(n))).collect();
        while round.len() > 1 {
            round = round.chunks(2).map(|pair| self.larger(pair, constants[0])).collect();
        }
        round.swap_remove(0).1
    }

    /// The larger of two numbers with its position, or the only one; the first if they are equal.
    fn larger(&mut self, pair: &[(Vec<Wire>, Vec<Wire>)], no: Wire) -> (Vec<Wire>, Vec<Wire>) {
        let [(first, position), (second, other)] = pair else { return pair[0].clone() };
        let differ: Vec<Wire> = first.iter().zip(second).map(|(&a, &b)| self.gate(Gate::XOR, a, b)).collect();
        let mut takes = no;
        for (&differ, &b) in differ.iter().zip(second) {
            // From the lowest bit up: the highest that differs decides, and `b` is then the second's.
            let change = self.gate(Gate::XOR, b, takes);
            let change = self.gate(Gate::AND, differ, change);
            takes = self.gate(Gate::XOR, takes, change);
        }
        let number = first.iter().zip(&differ).map(|(&a, &differ)| self.flipped(a, differ, takes)).collect();
        let position = position
            .iter()
            .zip(other)
            .map(|(&a, &b)| {
                let differ = self.gate(Gate::XOR, a, b);
                self.flipped(a, differ, takes)
            })
            .collect();
        (number, position)
    }

    /// `a`, or its opposite where both are set.
    fn flipped(&mut self, a: Wire, differ: Wire, takes: Wire) -> Wire {
        let flips = self.gate(Gate::AND, differ, takes);
        self.gate(Gate::XOR, a, flips)
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
        for (numbers, width) in [(1, 3), (2, 4), (3, 3), (5, 2), (6, 2)] {
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
}
