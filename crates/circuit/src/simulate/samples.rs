//! Netlists on many samples: 64 per word, words in tiles, tiles on threads.

use rayon::prelude::*;

use super::execute::{WorkerSlots, tile_words};
use super::tape::NetlistTape;
use crate::error::Result;
use crate::graph::exhaustive_word;
use crate::netlist::{Netlist, Wire};

/// Gates times words from which threads pay off.
pub(super) const WORTH_THREADS: usize = 1 << 19;

/// A netlist prepared to run. A *plane* is one signal for many samples: a slice of words, sample `s` in bit
/// `s % 64` of word `s / 64`.
///
/// ```
/// use farad_circuit::{Gate, Netlist, Simulator};
/// let mut adder = Netlist::new("half_adder");
/// let (a, b) = (adder.input("a"), adder.input("b"));
/// let (sum, carry) = (adder.gate(Gate::XOR, a, b), adder.gate(Gate::AND, a, b));
/// adder.output("sum", sum);
/// adder.output("carry", carry);
/// let simulator = Simulator::new(&adder)?;
/// assert_eq!(simulator.run(&[&[0b0011], &[0b0101]]), [[0b0110], [0b0001]]);
/// # Ok::<(), farad_circuit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulator {
    tape: NetlistTape,
    inputs: usize,
    outputs: usize,
    initial: Vec<bool>,
}

/// The registers of a circuit for many samples, from [`Simulator::start`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterStates {
    planes: Vec<Vec<u64>>,
    words: usize,
}

impl RegisterStates {
    /// One plane per register.
    pub fn planes(&self) -> &[Vec<u64>] {
        &self.planes
    }
}

impl Simulator {
    /// Compiles a netlist; keeps only what outputs and registers need.
    pub fn new(netlist: &Netlist) -> Result<Simulator> {
        netlist.check()?;
        let roots: Vec<Wire> = netlist.roots().collect();
        Ok(Simulator {
            tape: NetlistTape::new(netlist, &roots),
            inputs: netlist.inputs.len(),
            outputs: netlist.outputs.len(),
            initial: netlist.registers.iter().map(|register| register.initial).collect(),
        })
    }

    /// How many gates remain after folding.
    pub fn gates(&self) -> usize {
        self.tape.gates
    }

    /// One step from the initial state: takes a plane per input and returns a plane per output. Registers, if
    /// there are any, have their initial values.
    ///
    /// # Panics
    /// If there is not one plane for each input, or planes differ in length.
    #[track_caller]
    pub fn run(&self, inputs: &[&[u64]]) -> Vec<Vec<u64>> {
        let words = inputs.first().map_or(1, |plane| plane.len());
        self.step(&mut self.start(words), inputs)
    }

    /// The registers at the start, for `64·words` samples.
    pub fn start(&self, words: usize) -> RegisterStates {
        let plane = |&initial: &bool| vec![if initial { !0 } else { 0 }; words];
        RegisterStates { planes: self.initial.iter().map(plane).collect(), words }
    }

    /// One step: returns the outputs for these inputs and the present state, and advances the state.
    ///
    /// # Panics
    /// If there is not one plane for each input, or planes differ in length from the state's.
    #[track_caller]
    pub fn step(&self, state: &mut RegisterStates, inputs: &[&[u64]]) -> Vec<Vec<u64>> {
        assert_eq!(
            inputs.len(),
            self.inputs,
            "simulate: one plane per input ({} vs {})",
            inputs.len(),
            self.inputs
        );
        let words = state.words;
        for (n, plane) in inputs.iter().enumerate() {
            let found = plane.len();
            assert_eq!(
                found, words,
                "simulate: words of input {n} differ from the others ({found} vs {words})"
            );
        }
        let sources: Vec<&[u64]> =
            self.tape.sources.iter().map(|&source| self.source(source, inputs, state)).collect();
        let mut roots = vec![vec![0; words]; self.outputs + self.initial.len()];
        self.sweep(&sources, &mut roots, words);
        state.planes = roots.split_off(self.outputs);
        roots
    }

    fn source<'a>(&self, source: u32, inputs: &[&'a [u64]], state: &'a RegisterStates) -> &'a [u64] {
        match (source as usize).checked_sub(self.inputs) {
            None => inputs[source as usize],
            Some(register) => &state.planes[register],
        }
    }

    fn sweep(&self, sources: &[&[u64]], roots: &mut [Vec<u64>], words: usize) {
        let tile = tile_words(&self.tape);
        let run = |scratch: &mut WorkerSlots, (n, mut out): (usize, Vec<&mut [u64]>)| {
            let start = n * tile;
            let length = tile.min(words - start);
            let planes: Vec<&[u64]> = sources.iter().map(|plane| &plane[start..start + length]).collect();
            scratch.run(&self.tape, &planes, length, |root, shown| shown.write(out[root]));
        };
        let tiles = split(roots, tile, words);
        let scratch = || WorkerSlots::new(&self.tape, tile);
        if words * self.tape.gates < WORTH_THREADS || tiles.len() < 2 {
            let mut scratch = scratch();
            tiles.into_iter().enumerate().for_each(|tile| run(&mut scratch, tile));
        } else {
            tiles.into_par_iter().enumerate().for_each_init(scratch, run);
        }
    }

    /// All outputs for all inputs: plane `o` holds output `o`, sample `s` has input `i` at bit `i` of
    /// `s`. Bits beyond `2^inputs` are zero. Registers have their initial values.
    ///
    /// # Panics
    /// With more than 24 inputs.
    #[track_caller]
    pub fn truth_table(&self) -> Vec<Vec<u64>> {
        assert!(self.inputs <= 24, "truth_table: too many inputs ({} vs at most 24)", self.inputs);
        let planes = counting_planes(self.inputs);
        let mut outputs = self.run(&planes.iter().map(Vec::as_slice).collect::<Vec<_>>());
        if self.inputs < 6 {
            let mask = (1u64 << (1 << self.inputs)) - 1;
            outputs.iter_mut().for_each(|plane| plane[0] &= mask);
        }
        outputs
    }
}

/// Planes that count up: sample `s` has bit `i` of `s` at input `i`, for all `2^inputs` samples.
pub(crate) fn counting_planes(inputs: usize) -> Vec<Vec<u64>> {
    let words = (1usize << inputs).div_ceil(64);
    (0..inputs).map(|input| (0..words).map(|word| exhaustive_word(input, word)).collect()).collect()
}

/// Planes split into tiles: for each tile its part of every plane.
fn split(planes: &mut [Vec<u64>], tile: usize, words: usize) -> Vec<Vec<&mut [u64]>> {
    let tiles = words.div_ceil(tile);
    let mut parts: Vec<Vec<&mut [u64]>> = (0..tiles).map(|_| Vec::with_capacity(planes.len())).collect();
    for plane in planes {
        for (part, chunk) in parts.iter_mut().zip(plane.chunks_mut(tile)) {
            part.push(chunk);
        }
    }
    parts
}
