//! Automata on grids.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use farad::{CustomKernel, CustomLimits, CustomOp, DType, Device, OpError, Shape, Tensor, Words};
use farad_circuit::{Automaton, Edge};
use rayon::prelude::*;

use super::netlist::{grid, key};
use super::plain::{self, GridSizes};
use super::tape::InstructionTape;
use super::text::{invocations, with_tape, written_out};
use super::{BITS, pack, unpack};

const TEXT: &str = include_str!("automaton.wgsl");

/// Words that the CPU processes at once.
const BLOCK: usize = 16;

/// An automaton prepared to run on a device, 32 cells of a row per word; see [`super::pack`].
///
/// ```
/// use farad::prelude::*;
/// use farad_circuit::{Automaton, Edge, Gate, Netlist, Wire};
/// use farad_logic::simulate::{AutomatonSimulation, pack, unpack};
/// // Every cell takes over what its left neighbor has.
/// let mut cell = Netlist::new("drift");
/// let inputs: Vec<Wire> = (0..9).map(|n| cell.input(format!("n{n}"))).collect();
/// let next = cell.gate(Gate::A, inputs[3], Wire::NONE);
/// cell.output("next", next);
/// let drift = Automaton { cell, channels: 1, visible: vec![0], edge: Edge::Wrap, fire_rate: 1.0 };
/// let device = Device::cpu();
/// let row: Vec<bool> = (0..40).map(|x| x == 38).collect();
/// let states = Tensor::from_vec(pack(&row, 40), [1, 1, 1, 2], &device);
/// let after = AutomatonSimulation::new(&drift, &device)?.run(&states, 40, 3, None);
/// assert!(unpack(&after.to_vec::<u32>()?, 40)[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AutomatonSimulation {
    automaton: Arc<Automaton>,
    program: Arc<InstructionTape>,
    key: u64,
    tape: Tensor,
}

impl AutomatonSimulation {
    /// Checks an automaton and prepares it.
    pub fn new(automaton: &Automaton, device: &Device) -> farad_circuit::Result<AutomatonSimulation> {
        automaton.check()?;
        let program = InstructionTape::new(&automaton.cell);
        let words: Vec<u32> = program.words();
        Ok(AutomatonSimulation {
            tape: Tensor::from_vec(words, [program.code.len(), 4], device),
            key: key(&program, &automaton.cell),
            automaton: Arc::new(automaton.clone()),
            program: Arc::new(program),
        })
    }

    /// The states after some steps of grids of this width. Bits beyond the width must be zero, and stay zero.
    /// With `fired`, only cells whose bits are set there take their next state, with one row of masks per step;
    /// without it, all do.
    /// `[grids, channels, height, words], [steps, height, words] -> [grids, channels, height, words]`
    ///
    /// # Panics
    /// If there are no steps or no cells, or the shapes do not match the automaton and each other.
    #[track_caller]
    pub fn run(&self, states: &Tensor, width: usize, steps: usize, fired: Option<&Tensor>) -> Tensor {
        assert!(steps > 0, "simulate: needs at least one step (0 vs 1)");
        assert!(width > 0, "simulate: a row has at least one cell (0 vs 1)");
        let op = SimulateAutomaton {
            automaton: self.automaton.clone(),
            program: self.program.clone(),
            key: self.key,
            width,
            steps,
            asynchronous: fired.is_some(),
        };
        let everyone;
        let fired = match fired {
            Some(fired) => fired,
            None => {
                let rows = states.shape().to_vec().get(2).copied().unwrap_or(1);
                let mask = pack(&vec![true; rows * width], width);
                everyone = Tensor::from_vec(mask, [1, rows, width.div_ceil(BITS)], states.device());
                &everyone
            }
        };
        Tensor::custom(op, &[states, fired, &self.tape]).swap_remove(0)
    }
}

/// States, masks of cells that fire, tape -> states.
#[derive(Clone, Debug)]
struct SimulateAutomaton {
    automaton: Arc<Automaton>,
    program: Arc<InstructionTape>,
    key: u64,
    width: usize,
    steps: usize,
    asynchronous: bool,
}

// Circuits are long, so their contents were hashed once.
impl Hash for SimulateAutomaton {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let SimulateAutomaton { automaton, program: _, key, width, steps, asynchronous } = self;
        (key, automaton.edge, automaton.channels, width, steps, asynchronous).hash(state);
    }
}

impl SimulateAutomaton {
    fn sizes(&self, states: &Shape) -> GridSizes {
        let sizes = states.to_vec();
        GridSizes { grids: sizes[0], channels: sizes[1], height: sizes[2], width: self.width }
    }

    fn row_words(&self) -> usize {
        self.width.div_ceil(BITS)
    }

    /// The masks of a step.
    fn fired<'a, T>(&self, fired: &'a [T], step: usize, sizes: GridSizes) -> &'a [T] {
        let len = sizes.height * self.row_words();
        &fired[if self.asynchronous { step * len } else { 0 }..][..len]
    }
}

impl CustomOp for SimulateAutomaton {
    fn name(&self) -> &str {
        "simulate_automaton"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let [(states, dtype), (fired, masks), _] = operands else { unreachable!("three operands") };
        for &found in [dtype, masks] {
            if found != DType::U32 {
                return Err(OpError::DTypes { op: "simulate", lhs: found, rhs: DType::U32 });
            }
        }
        if states.rank() != 4 {
            return Err(OpError::RankTooLow {
                op: "simulate",
                shape: *states,
                rank: states.rank(),
                least: 4,
            });
        }
        let sizes = states.to_vec();
        let steps = if self.asynchronous { self.steps } else { 1 };
        let fitting = Shape::new(&[steps, sizes[2], self.row_words()]);
        let differs = |what: String, a: usize, b: usize| OpError::Sizes { op: "simulate", what, a, b };
        if sizes[1] != self.automaton.channels {
            return Err(differs(
                format!("channels differ: states {states}"),
                sizes[1],
                self.automaton.channels,
            ));
        } else if sizes[3] != self.row_words() {
            let what = format!("wrong number of words per row for {} cells: states {states}", self.width);
            return Err(differs(what, sizes[3], self.row_words()));
        } else if *fired != fitting {
            let what = format!("masks have the wrong shape: {fired}, expected {fitting}");
            return Err(differs(what, fired.numel(), fitting.numel()));
        }
        Ok(vec![(*states, DType::U32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let sizes = self.sizes(&shapes[0]);
        let bits =
            |words: &[f64]| unpack(&words.iter().map(|&word| word as u32).collect::<Vec<u32>>(), self.width);
        let mut states = bits(&operands[0]);
        for step in 0..self.steps {
            let fired = bits(self.fired(&operands[1], step, sizes));
            states = plain::step(&self.automaton.cell, self.automaton.edge, sizes, &states, &fired);
        }
        vec![pack(&states, self.width).into_iter().map(f64::from).collect()]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let sizes = self.sizes(&shapes[0]);
        let mut states = operands[0].to_vec();
        for step in 0..self.steps {
            self.step(sizes, &states, self.fired(operands[1], step, sizes), &mut results[0]);
            std::mem::swap(&mut states, &mut results[0]);
        }
        std::mem::swap(&mut states, &mut results[0]);
    }

    /// States alternate between the result and a scratch buffer, and end in the result.
    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        const STATES: usize = 0;
        const RESULT: usize = 3;
        const OTHER: usize = 4;
        let GridSizes { grids, channels, height, width } = self.sizes(&shapes[0]);
        let words = grids * height * self.row_words();
        let count = invocations(&self.program, words);
        let text: Arc<str> = with_tape(TEXT, &self.program).into();
        let target = |step: usize| if (self.steps - step).is_multiple_of(2) { OTHER } else { RESULT };
        let launch = |step: usize| {
            let masks = if self.asynchronous { step * height * self.row_words() } else { 0 };
            let wraps = (self.automaton.edge == Edge::Wrap) as usize;
            let sizes = [channels, height, self.row_words(), width, words, masks, wraps];
            let parameters: Vec<u32> =
                sizes.into_iter().chain([self.program.code.len(), count]).map(|size| size as u32).collect();
            let source = if step == 0 { STATES } else { target(step - 1) };
            let mut arguments = vec![source, 1, target(step)];
            if !written_out(&self.program) {
                arguments.extend([2, 5]);
            }
            CustomKernel::new(text.clone(), "main", grid(count, limits))
                .parameters(&parameters)
                .arguments(&arguments)
        };
        (0..self.steps).map(launch).collect()
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        let GridSizes { grids, height, .. } = self.sizes(&shapes[0]);
        let slots = invocations(&self.program, grids * height * self.row_words()) * self.program.slots;
        let mut all = vec![shapes[0].numel()];
        if !written_out(&self.program) {
            all.push(slots);
        }
        all
    }
}

impl SimulateAutomaton {
    /// One step on the CPU, one row of a grid per task.
    fn step(&self, sizes: GridSizes, states: &[u32], fired: &[u32], next: &mut [u32]) {
        let (words, rows) = (self.row_words(), sizes.grids * sizes.height);
        let place = |grid: usize, channel: usize, y: usize| {
            ((grid * sizes.channels + channel) * sizes.height + y) * words
        };
        let results: Vec<Vec<u32>> = (0..rows)
            .into_par_iter()
            .map(|n| self.row(sizes, states, &fired[n % sizes.height * words..][..words], n))
            .collect();
        for (n, row) in results.iter().enumerate() {
            for (channel, row) in row.chunks_exact(words).enumerate() {
                next[place(n / sizes.height, channel, n % sizes.height)..][..words].copy_from_slice(row);
            }
        }
    }

    /// The next states of row `n` of all grids: `[channels, words]`.
    fn row(&self, sizes: GridSizes, states: &[u32], fired: &[u32], n: usize) -> Vec<u32> {
        let words = self.row_words();
        let (grid, y) = (n / sizes.height, n % sizes.height);
        let wraps = self.automaton.edge == Edge::Wrap;
        let row = |channel: usize, below: usize| {
            let y = match (y + below).checked_sub(1).filter(|&y| y < sizes.height) {
                Some(y) => y,
                None if wraps => (y + below + sizes.height - 1) % sizes.height,
                None => return &[][..],
            };
            &states[((grid * sizes.channels + channel) * sizes.height + y) * words..][..words]
        };
        let neighbors = Neighbors { width: self.width, wraps };
        let mut next = vec![0; sizes.channels * words];
        let mut slots = vec![[0; BLOCK]; self.program.slots];
        for first in (0..words).step_by(BLOCK) {
            let load = |source: u32| {
                let (position, channel) =
                    (source as usize / sizes.channels, source as usize % sizes.channels);
                let row = row(channel, position / 3);
                std::array::from_fn(|n| neighbors.word(row, position % 3, first + n))
            };
            self.program.run(&mut slots, load, |channel, value| {
                let own = row(channel as usize, 1);
                for at in first..words.min(first + BLOCK) {
                    let new = value[at - first] & fired[at] | own[at] & !fired[at];
                    next[channel as usize * words + at] = new & neighbors.inside(at);
                }
            });
        }
        next
    }
}

/// How words of a row are connected.
#[derive(Clone, Copy)]
struct Neighbors {
    width: usize,
    wraps: bool,
}

impl Neighbors {
    /// Bits of a word that are cells.
    fn inside(&self, at: usize) -> u32 {
        let cells = (self.width - at * BITS).min(BITS);
        !0 >> (BITS - cells)
    }

    /// The left neighbors (0), the cells themselves (1) or the right neighbors (2) of a word; zero beyond the
    /// edge. An empty row means that there is none.
    fn word(&self, row: &[u32], side: usize, at: usize) -> u32 {
        let Some(&here) = row.get(at) else { return 0 };
        let last = row.len() - 1;
        let rim = (self.width - 1) % BITS;
        match side {
            0 if at > 0 => here << 1 | row[at - 1] >> 31,
            0 if self.wraps => here << 1 | row[last] >> rim & 1,
            0 => here << 1,
            2 if at < last => here >> 1 | row[at + 1] << 31,
            2 if self.wraps => here >> 1 | (row[0] & 1) << rim,
            2 => here >> 1,
            _ => here,
        }
    }
}
