//! Conway's game of life as a hand-made circuit: a reference for learned ones.

use crate::automaton::{Automaton, Edge};
use crate::gate::Gate;
use crate::netlist::{Netlist, Wire};

impl Automaton {
    /// The game of life: a cell lives on with two or three living neighbors, and comes alive with three.
    /// One channel, 26 gates.
    ///
    /// ```
    /// use farad_circuit::{Automaton, Edge, Grid};
    /// let mut grid = Grid::new(&Automaton::life(Edge::Wrap), 5, 5)?;
    /// (1..4).for_each(|x| grid.set(0, x, 2, true));
    /// grid.step();
    /// assert!((1..4).all(|y| grid.get(0, 2, y)));
    /// # Ok::<(), farad_circuit::Error>(())
    /// ```
    pub fn life(edge: Edge) -> Automaton {
        let mut cell = Netlist::new("life");
        let around: Vec<Wire> = (0..9).map(|n| cell.input(format!("cell_{}_{}", n / 3, n % 3))).collect();
        let (above, above_twos) = add(&mut cell, around[0], around[1], around[2]);
        let (below, below_twos) = add(&mut cell, around[6], around[7], around[8]);
        let beside = cell.gate(Gate::XOR, around[3], around[5]);
        let beside_twos = cell.gate(Gate::AND, around[3], around[5]);
        let (odd, more_twos) = add(&mut cell, above, below, beside);
        let (twos, fours) = add(&mut cell, above_twos, below_twos, beside_twos);
        // Two or three neighbors: exactly one of the twos counted so far, and no four.
        let one_two = cell.gate(Gate::XOR, twos, more_twos);
        let two_or_three = cell.gate(Gate::A_AND_NOT_B, one_two, fours);
        let three_or_alive = cell.gate(Gate::OR, odd, around[4]);
        let next = cell.gate(Gate::AND, two_or_three, three_or_alive);
        cell.output("next", next);
        Automaton { cell, channels: 1, visible: vec![0], edge, fire_rate: 1.0 }
    }
}

/// Adds three bits: the sum's ones and twos.
fn add(netlist: &mut Netlist, a: Wire, b: Wire, c: Wire) -> (Wire, Wire) {
    let differ = netlist.gate(Gate::XOR, a, b);
    let ones = netlist.gate(Gate::XOR, differ, c);
    let both = netlist.gate(Gate::AND, a, b);
    let one_and_c = netlist.gate(Gate::AND, differ, c);
    let twos = netlist.gate(Gate::OR, both, one_and_c);
    (ones, twos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulator;

    #[test]
    fn all_neighborhoods_follow_the_rule() {
        let table = Simulator::new(&Automaton::life(Edge::Wrap).cell).unwrap().truth_table();
        for cells in 0..512u32 {
            let (alive, neighbors) = (cells >> 4 & 1 == 1, (cells & !16).count_ones());
            let next = table[0][cells as usize / 64] >> (cells % 64) & 1 == 1;
            assert_eq!(next, neighbors == 3 || alive && neighbors == 2, "{cells:09b}");
        }
    }
}
