//! Which two values each gate of a layer reads: fixed when the layer is made, from a seed. [`Consumers`] is the
//! inverse: for each value, the gates that read it.

use farad::philox;

/// The wiring of one layer: gate `n` reads inputs `a[n]` and `b[n]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wires {
    /// How many inputs the layer has.
    pub inputs: usize,
    /// First operands.
    pub a: Vec<u32>,
    /// Second operands.
    pub b: Vec<u32>,
}

/// The readers of each input of a layer: the entries of input `i` are `entries[starts[i]..starts[i + 1]]`, each
/// `2·gate + side` where side 1 is operand `b`, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumers {
    /// `inputs + 1` indices into `entries`.
    pub starts: Vec<u32>,
    /// Readers, input by input.
    pub entries: Vec<u32>,
}

impl Wires {
    /// The first layer of a perception circuit: every neighbor with the center, in an order from the seed; with
    /// more than 8 gates the neighbors repeat.
    pub fn first_kernel(outputs: usize, seed: u64, stream: u64) -> Wires {
        let neighbors: Vec<u32> = (0..9).filter(|&n| n != 4).collect();
        let mut a: Vec<u32> = (0..outputs).map(|n| neighbors[n % 8]).collect();
        Shuffler::new(seed, stream).shuffle(&mut a);
        Wires { inputs: 9, b: vec![4; outputs], a }
    }

    /// Pairs (0,1), (2,3), …, then (1,2), (3,4), …, then all at distance 2, 3, …, as many as needed, in an
    /// order from the seed. Every input is read.
    ///
    /// # Panics
    /// If there are fewer than half as many gates as inputs, or more than pairs.
    #[track_caller]
    pub fn unique(inputs: usize, outputs: usize, seed: u64, stream: u64) -> Wires {
        assert!(
            2 * outputs >= inputs,
            "unique: too few gates to read every input: {inputs} inputs ({outputs} vs at least {})",
            inputs.div_ceil(2)
        );
        let n = inputs as u32;
        let even = (0..n.saturating_sub(1)).step_by(2).map(|i| (i, i + 1));
        let odd = (1..n.saturating_sub(1)).step_by(2).map(|i| (i, i + 1));
        let far = (2..n).flat_map(|distance| (0..n - distance).map(move |i| (i, i + distance)));
        let mut pairs: Vec<(u32, u32)> = even.chain(odd).chain(far).take(outputs).collect();
        assert!(
            pairs.len() == outputs,
            "unique: more gates than pairs of inputs: {inputs} inputs ({outputs} vs at most {})",
            pairs.len()
        );
        if inputs % 2 == 1 && outputs + 1 < inputs {
            // The last of an odd number of inputs has its pair at the end of the second round, which is cut
            // off.
            *pairs.last_mut().expect("inputs") = (n - 2, n - 1);
        }
        Shuffler::new(seed, stream).shuffle(&mut pairs);
        let (a, b) = pairs.into_iter().unzip();
        Wires { inputs, a, b }
    }

    /// Operands drawn so that every input is read about equally often.
    pub fn random(inputs: usize, outputs: usize, seed: u64, stream: u64) -> Wires {
        let mut order: Vec<u32> = (0..2 * outputs as u32).collect();
        let mut shuffler = Shuffler::new(seed, stream);
        shuffler.shuffle(&mut order);
        let mut reads: Vec<u32> = order.into_iter().map(|n| n % inputs as u32).collect();
        shuffler.shuffle(&mut reads);
        let b = reads.split_off(outputs);
        Wires { inputs, a: reads, b }
    }

    /// How many gates there are.
    pub fn outputs(&self) -> usize {
        self.a.len()
    }

    /// The readers of each input.
    pub fn consumers(&self) -> Consumers {
        let mut starts = vec![0u32; self.inputs + 1];
        for &input in self.a.iter().chain(&self.b) {
            starts[input as usize + 1] += 1;
        }
        for i in 0..self.inputs {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut entries = vec![0u32; 2 * self.outputs()];
        for (gate, (&a, &b)) in self.a.iter().zip(&self.b).enumerate() {
            for (side, input) in [a, b].into_iter().enumerate() {
                let place = &mut next[input as usize];
                entries[*place as usize] = 2 * gate as u32 + side as u32;
                *place += 1;
            }
        }
        Consumers { starts, entries }
    }
}

/// Permutations from a seed, the same everywhere.
pub(crate) struct Shuffler {
    seed: [u32; 2],
    stream: [u32; 2],
    drawn: u32,
}

impl Shuffler {
    pub(crate) fn new(seed: u64, stream: u64) -> Shuffler {
        let halves = |word: u64| [word as u32, (word >> 32) as u32];
        Shuffler { seed: halves(seed), stream: halves(stream), drawn: 0 }
    }

    /// A number below `bound`, without bias: draws that would favor small ones are rejected.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let limit = u32::MAX - (u32::MAX % bound + 1) % bound;
        loop {
            let bits = philox::bits(self.seed, self.stream, self.drawn);
            self.drawn += 1;
            if bits <= limit {
                return bits % bound;
            }
        }
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted_pairs(wires: &Wires) -> Vec<(u32, u32)> {
        let mut pairs: Vec<_> = wires.a.iter().copied().zip(wires.b.iter().copied()).collect();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn first_kernel_pairs_every_neighbor_with_the_center() {
        let wires = Wires::first_kernel(8, 23, 0);
        let mut a = wires.a.clone();
        a.sort_unstable();
        assert_eq!(a, [0, 1, 2, 3, 5, 6, 7, 8]);
        assert_eq!(wires.b, [4; 8]);
        assert_ne!(wires, Wires::first_kernel(8, 24, 0));
        assert_eq!(wires, Wires::first_kernel(8, 23, 0));
    }

    #[test]
    fn unique_takes_pairs_in_rounds() {
        assert_eq!(sorted_pairs(&Wires::unique(4, 2, 1, 0)), [(0, 1), (2, 3)]);
        assert_eq!(sorted_pairs(&Wires::unique(4, 3, 1, 0)), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(sorted_pairs(&Wires::unique(4, 5, 1, 0)), [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(sorted_pairs(&Wires::unique(5, 3, 1, 0)), [(0, 1), (2, 3), (3, 4)]);
        let wires = Wires::unique(17, 128, 23, 5);
        let consumers = wires.consumers();
        let most = consumers.starts.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert_eq!(most, Some(16), "fan-out of the widest layer");
        assert_eq!(sorted_pairs(&wires).windows(2).filter(|pair| pair[0] == pair[1]).count(), 0);
    }

    #[test]
    fn unique_reads_every_input_and_no_pair_twice() {
        for inputs in 2..=20usize {
            for outputs in inputs.div_ceil(2)..=inputs * (inputs - 1) / 2 {
                let wires = Wires::unique(inputs, outputs, 3, 1);
                let readers = wires.consumers().starts;
                assert!(readers.windows(2).all(|pair| pair[0] < pair[1]), "{inputs} inputs, {outputs} gates");
                let pairs = sorted_pairs(&wires);
                assert!(pairs.windows(2).all(|two| two[0] != two[1]), "{inputs} inputs, {outputs} gates");
            }
        }
    }

    #[test]
    #[should_panic(expected = "unique: too few gates to read every input: 9 inputs (4 vs at least 5)")]
    fn unique_refuses_layers_that_leave_inputs_out() {
        Wires::unique(9, 4, 0, 0);
    }

    #[test]
    fn random_reads_every_input_equally_often() {
        let wires = Wires::random(64, 96, 7, 1);
        let consumers = wires.consumers();
        assert!(consumers.starts.windows(2).all(|pair| pair[1] - pair[0] == 3));
    }

    #[test]
    fn consumers_list_every_read_once_in_order() {
        let wires = Wires::random(10, 33, 3, 0);
        let consumers = wires.consumers();
        for input in 0..10u32 {
            let range =
                consumers.starts[input as usize] as usize..consumers.starts[input as usize + 1] as usize;
            let entries = &consumers.entries[range];
            assert!(entries.windows(2).all(|pair| pair[0] < pair[1]));
            for entry in entries {
                let side = if entry % 2 == 0 { &wires.a } else { &wires.b };
                assert_eq!(side[(entry / 2) as usize], input);
            }
        }
        assert_eq!(consumers.entries.len(), 66);
    }
}
