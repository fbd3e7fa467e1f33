//! What the candidates of a layer may read, and the indices of these inputs.

use farad::data::Random;
use farad_circuit::Gate;

use super::{CANDIDATES, reads_first, reads_second};

/// Means an operand beyond the edge, which is zero.
pub const OUTSIDE: u32 = u32::MAX;

/// From what candidates draw their two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// From all inputs; every neuron has one position.
    All {
        /// Input bits.
        inputs: usize,
        /// Neurons.
        neurons: usize,
    },
    /// From a window of one channel of a picture, the same at every position; beyond the edge are zeros.
    Window {
        /// Input bits per pixel.
        channels: usize,
        /// How many of these are adjacent, pixel by pixel.
        beside: usize,
        /// Pixels from top to bottom.
        height: usize,
        /// Pixels from left to right.
        width: usize,
        /// Neurons, each of which makes one output channel.
        kernels: usize,
        /// Pixels along a side of the window.
        window: usize,
        /// Stride in pixels.
        stride: usize,
    },
}

impl Reach {
    /// Input bits.
    pub fn inputs(&self) -> usize {
        match *self {
            Reach::All { inputs, .. } => inputs,
            Reach::Window { channels, height, width, .. } => channels * height * width,
        }
    }

    /// Neurons that have their own candidates.
    pub fn neurons(&self) -> usize {
        match *self {
            Reach::All { neurons, .. } => neurons,
            Reach::Window { kernels, .. } => kernels,
        }
    }

    /// Rows and columns of positions.
    pub fn grid(&self) -> (usize, usize) {
        match *self {
            Reach::All { .. } => (1, 1),
            Reach::Window { height, width, stride, .. } => (height.div_ceil(stride), width.div_ceil(stride)),
        }
    }

    /// Positions per neuron.
    pub fn places(&self) -> usize {
        self.grid().0 * self.grid().1
    }

    /// The number of operands to draw from.
    fn choices(&self) -> usize {
        match *self {
            Reach::All { inputs, .. } => inputs,
            Reach::Window { window, .. } => window * window,
        }
    }

    /// Draws two different operands, if there are two.
    pub fn draw(&self, random: &mut Random) -> [u32; 2] {
        let choices = self.choices();
        let first = random.below(choices);
        let second = random.below(choices.saturating_sub(1).max(1));
        [first as u32, (second + usize::from(second >= first && choices > 1)) as u32]
    }

    /// The input of a neuron's operand at one of its positions.
    pub(super) fn input(&self, neuron: usize, drawn: u32, place: usize) -> u32 {
        let Reach::Window { channels, beside, height, width, window, stride, .. } = *self else {
            return drawn;
        };
        let (columns, drawn) = (self.grid().1, drawn as usize);
        let y = (place / columns * stride + drawn / window).wrapping_sub(window / 2);
        let x = (place % columns * stride + drawn % window).wrapping_sub(window / 2);
        if y >= height || x >= width {
            return OUTSIDE;
        }
        // Neurons take the channels in turn.
        let channel = neuron % channels;
        let pixel = (channel / beside * height + y) * width + x;
        (pixel * beside + channel % beside) as u32
    }

    /// The inputs of all candidates at all positions, from the drawn operands of each neuron.
    /// `[neurons · places, 16, 2]`
    pub fn wires(&self, drawn: &[u32]) -> Vec<u32> {
        let mut wires = Vec::with_capacity(drawn.len() * self.places());
        for (neuron, own) in drawn.chunks_exact(2 * CANDIDATES).enumerate() {
            for place in 0..self.places() {
                wires.extend(own.iter().map(|&drawn| self.input(neuron, drawn, place)));
            }
        }
        wires
    }

    /// The readers of each input: the offsets of the lists and the end of the last, then all lists, two words
    /// per reader. The first is twice the candidate (sixteen times the row plus the slot), plus one if the
    /// input is its second operand. The second is the other operand. Unused words at the end are zero.
    pub fn readers(&self, wires: &[u32]) -> Vec<u32> {
        let inputs = self.inputs();
        let mut starts = vec![0u32; inputs + 1];
        each_read(wires, |_, input, _| starts[input as usize + 1] += 1);
        for input in 0..inputs {
            starts[input + 1] += starts[input];
        }
        let mut next = starts.clone();
        let reads: usize =
            Gate::ALL.map(|gate| reads_first(gate) as usize + reads_second(gate) as usize).iter().sum();
        let mut lists = vec![0u32; 2 * reads * (wires.len() / (2 * CANDIDATES))];
        each_read(wires, |code, input, other| {
            let place = &mut next[input as usize];
            lists[2 * *place as usize..][..2].copy_from_slice(&[code, other]);
            *place += 1;
        });
        [starts, lists].concat()
    }
}

/// Calls a function with every operand that a candidate's function uses: its code, the input, and the other
/// operand.
fn each_read(wires: &[u32], mut run: impl FnMut(u32, u32, u32)) {
    for (candidate, pair) in wires.chunks_exact(2).enumerate() {
        let gate = Gate::ALL[candidate % CANDIDATES];
        for (side, reads) in [reads_first(gate), reads_second(gate)].into_iter().enumerate() {
            if reads && pair[side] != OUTSIDE {
                run((2 * candidate + side) as u32, pair[side], pair[1 - side]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_read_their_channel_and_nothing_beyond_the_edge() {
        let reach =
            Reach::Window { channels: 2, beside: 2, height: 4, width: 4, kernels: 3, window: 3, stride: 2 };
        assert_eq!((reach.inputs(), reach.neurons(), reach.grid()), (32, 3, (2, 2)));
        // The middle of the window, at all positions, of the second channel.
        assert_eq!([0, 1, 2, 3].map(|place| reach.input(1, 4, place)), [1, 5, 17, 21]);
        assert_eq!(reach.input(0, 0, 0), OUTSIDE);
        assert_eq!(reach.input(0, 0, 3), 2 * 5);
    }

    #[test]
    fn two_operands_differ() {
        let reach = Reach::All { inputs: 3, neurons: 1 };
        let mut random = Random::at(1, 2, 3);
        let mut seen = [0; 9];
        for _ in 0..600 {
            let [a, b] = reach.draw(&mut random);
            seen[(3 * a + b) as usize] += 1;
        }
        assert!((0..9).all(|n| (seen[n] == 0) == (n / 3 == n % 3)), "{seen:?}");
        assert!(seen.iter().all(|&count| count == 0 || count > 60), "{seen:?}");
    }
}
