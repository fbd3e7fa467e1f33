//! Random circuits and random bits from counters: the same seed gives the same ones everywhere.
//!
//! The bits are those of Philox4x32-10: [`word`] at a seed, counter and element is a pure function, the same
//! one that random tensors use. Start at [`Netlist::random`].

use crate::gate::Gate;
use crate::netlist::{Netlist, Wire};

const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Four random words for a counter and a key.
#[inline(always)]
pub(crate) fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut x, mut y, mut z, mut w], [mut k, mut l]) = (counter, key);
    for _ in 0..10 {
        let (p, q) = (MULTIPLIERS[0] * x as u64, MULTIPLIERS[1] * z as u64);
        [x, y, z, w] = [(q >> 32) as u32 ^ y ^ k, q as u32, (p >> 32) as u32 ^ w ^ l, p as u32];
        (k, l) = (k.wrapping_add(WEYL[0]), l.wrapping_add(WEYL[1]));
    }
    [x, y, z, w]
}

/// A stream of random numbers.
pub(crate) struct RandomStream {
    seed: u64,
    drawn: u64,
}

impl RandomStream {
    pub(crate) fn new(seed: u64) -> RandomStream {
        RandomStream { seed, drawn: 0 }
    }

    pub(crate) fn word(&mut self) -> u64 {
        let counter = [self.drawn as u32, (self.drawn >> 32) as u32, 0, 0];
        self.drawn += 1;
        let [low, high, ..] = block(counter, [self.seed as u32, (self.seed >> 32) as u32]);
        low as u64 | (high as u64) << 32
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.word() as u128 * limit as u128) >> 64) as usize
    }

    pub(crate) fn words(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.word()).collect()
    }
}

impl Netlist {
    /// A random circuit with all kinds of gates, most of them active and most of them live; for tests and
    /// benchmarks.
    ///
    /// ```
    /// use farad_circuit::Netlist;
    /// let circuit = Netlist::random(7, 8, 100, 4);
    /// assert_eq!((circuit.inputs.len(), circuit.gates.len(), circuit.outputs.len()), (8, 100, 4));
    /// assert_eq!(circuit, Netlist::random(7, 8, 100, 4));
    /// circuit.check()?;
    /// # Ok::<(), farad_circuit::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there are outputs but neither inputs nor gates.
    pub fn random(seed: u64, inputs: usize, gates: usize, outputs: usize) -> Netlist {
        Netlist::random_with_registers(seed, inputs, 0, gates, outputs)
    }

    /// [`Netlist::random`] with state: registers with random initial values that take the values of random
    /// wires.
    pub fn random_with_registers(
        seed: u64,
        inputs: usize,
        registers: usize,
        gates: usize,
        outputs: usize,
    ) -> Netlist {
        let mut stream = RandomStream::new(seed);
        let mut netlist = Netlist::new(format!("random_{seed}"));
        for n in 0..inputs {
            netlist.input(format!("in_{n}"));
        }
        for n in 0..registers {
            let initial = stream.below(2) == 1;
            netlist.register(format!("state_{n}"), initial);
        }
        // Preferring unread wires keeps most of the gates in use.
        let mut unread: Vec<Wire> = (0..netlist.sources() as u32).map(Wire).collect();
        for _ in 0..gates {
            let gate = match (netlist.wires(), stream.below(8)) {
                (0, _) => Gate::TRUE,
                (_, 0) => Gate::ALL[stream.below(16)],
                _ => Gate::ALL
                    .into_iter()
                    .filter(|gate| gate.is_active())
                    .nth(stream.below(12))
                    .expect("12 are"),
            };
            let mut operand = |read: bool| match () {
                () if !read => Wire::NONE,
                () if unread.len() > outputs && stream.below(4) > 0 => {
                    unread.swap_remove(stream.below(unread.len()))
                }
                () => Wire(stream.below(netlist.wires()) as u32),
            };
            let (a, b) = (operand(gate.reads_a()), operand(gate.reads_b()));
            unread.push(netlist.gate(gate, a, b));
        }
        for n in 0..registers {
            let next = unread.pop().unwrap_or(Wire(stream.below(netlist.wires()) as u32));
            netlist.set_next(n, next);
        }
        for n in 0..outputs {
            let wire = unread.pop().unwrap_or_else(|| Wire(stream.below(netlist.wires()) as u32));
            netlist.output(format!("out_{n}"), wire);
        }
        netlist
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_philox() {
        assert_eq!(block([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(block([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    }

    #[test]
    fn random_circuits_are_whole_and_differ_by_seed() {
        for seed in 0..20 {
            let circuit = Netlist::random_with_registers(seed, 5, 3, 200, 4);
            circuit.check().unwrap();
            assert_ne!(circuit.gates, Netlist::random_with_registers(seed + 1, 5, 3, 200, 4).gates);
        }
        Netlist::random(1, 0, 10, 2).check().unwrap();
    }
}
