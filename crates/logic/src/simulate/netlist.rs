//! Netlists on samples.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use farad::{CustomKernel, CustomLimits, CustomOp, DType, Device, OpError, Shape, Tensor, Words};
use farad_circuit::Netlist;
use rayon::prelude::*;

use super::plain;
use super::tape::InstructionTape;
use super::text::{invocations, with_tape, written_out};

const TEXT: &str = include_str!("netlist.wgsl");

/// Words that the CPU processes at once.
const BLOCK: usize = 16;

/// A netlist prepared to run on a device, 32 samples per word.
///
/// ```
/// use farad::prelude::*;
/// use farad_circuit::{Gate, Netlist};
/// use farad_logic::simulate::NetlistSimulation;
/// let mut adder = Netlist::new("half_adder");
/// let (a, b) = (adder.input("a"), adder.input("b"));
/// let (sum, carry) = (adder.gate(Gate::XOR, a, b), adder.gate(Gate::AND, a, b));
/// adder.output("sum", sum);
/// adder.output("carry", carry);
/// let device = Device::cpu();
/// let simulation = NetlistSimulation::new(&adder, &device)?;
/// let x = Tensor::from_vec(vec![0b0011u32, 0b0101], [1, 2, 1], &device);
/// assert_eq!(simulation.run(&x).to_vec::<u32>()?, [0b0110, 0b0001]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NetlistSimulation {
    op: SimulateNetlist,
    initial: Tensor,
    tape: Tensor,
}

impl NetlistSimulation {
    /// Checks a netlist and prepares it.
    pub fn new(netlist: &Netlist, device: &Device) -> farad_circuit::Result<NetlistSimulation> {
        netlist.check()?;
        let tape = InstructionTape::new(netlist);
        let (words, len) = (tape.words(), tape.code.len());
        let starts = netlist.registers.iter().map(|register| if register.initial { !0u32 } else { 0 });
        // No array may be empty: a netlist without registers or without outputs has one word of padding.
        let initial: Vec<u32> = starts.chain([0]).collect();
        let padded: Vec<u32> = words.into_iter().chain([0; 4]).collect();
        let count = initial.len();
        Ok(NetlistSimulation {
            initial: Tensor::from_vec(initial, [count], device),
            tape: Tensor::from_vec(padded, [len + 1, 4], device),
            op: SimulateNetlist {
                key: key(&tape, netlist),
                netlist: Arc::new(netlist.clone()),
                tape: Arc::new(tape),
            },
        })
    }

    /// The outputs at every step; registers start with their initial values.
    /// `[steps, inputs, words] -> [steps, outputs, words]`
    #[track_caller]
    pub fn run(&self, x: &Tensor) -> Tensor {
        Tensor::custom(self.op.clone(), &[x, &self.initial, &self.tape]).swap_remove(0)
    }
}

/// A hash of everything that determines the results.
pub(super) fn key(tape: &InstructionTape, netlist: &Netlist) -> u64 {
    let mut hasher = DefaultHasher::new();
    (tape, netlist.inputs.len(), netlist.outputs.len()).hash(&mut hasher);
    netlist.registers.iter().for_each(|register| register.initial.hash(&mut hasher));
    hasher.finish()
}

/// x, initial registers, tape -> y.
#[derive(Clone, Debug)]
struct SimulateNetlist {
    netlist: Arc<Netlist>,
    tape: Arc<InstructionTape>,
    key: u64,
}

// Netlists are long, so their contents were hashed once.
impl Hash for SimulateNetlist {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl SimulateNetlist {
    fn steps_and_words(shapes: &[Shape]) -> (usize, usize) {
        let x = shapes[0].to_vec();
        (x[0], x[2])
    }
}

impl CustomOp for SimulateNetlist {
    fn name(&self) -> &str {
        "simulate_netlist"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let (shape, dtype) = operands[0];
        if dtype != DType::U32 {
            return Err(OpError::DTypes { op: "simulate", lhs: dtype, rhs: DType::U32 });
        }
        if shape.rank() != 3 {
            return Err(OpError::RankTooLow { op: "simulate", shape, rank: shape.rank(), least: 3 });
        }
        let (found, wanted) = (shape.to_vec()[1], self.netlist.inputs.len());
        if found != wanted {
            let what = format!("inputs differ in number: x {shape}");
            return Err(OpError::Sizes { op: "simulate", what, a: found, b: wanted });
        }
        let sizes = [shape.to_vec()[0], self.netlist.outputs.len(), shape.to_vec()[2]];
        Ok(vec![(Shape::new(&sizes), DType::U32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let (steps, words) = SimulateNetlist::steps_and_words(shapes);
        let x: Vec<u32> = operands[0].iter().map(|&word| word as u32).collect();
        vec![plain::samples(&self.netlist, &x, steps, words).into_iter().map(f64::from).collect()]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let (steps, words) = SimulateNetlist::steps_and_words(shapes);
        let outputs = self.netlist.outputs.len();
        let blocks: Vec<Vec<[u32; BLOCK]>> = (0..words.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| self.block(operands[0], steps, words, block * BLOCK))
            .collect();
        for (block, rows) in blocks.iter().enumerate() {
            for (row, values) in rows.iter().enumerate() {
                let (at, count) = (block * BLOCK, BLOCK.min(words - block * BLOCK));
                results[0][row * words + at..][..count].copy_from_slice(&values[..count]);
            }
        }
        debug_assert_eq!(results[0].len(), steps * outputs * words);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let (steps, words) = SimulateNetlist::steps_and_words(shapes);
        let count = invocations(&self.tape, words);
        let netlist = &self.netlist;
        let sizes = [words, steps, netlist.inputs.len(), netlist.registers.len(), netlist.outputs.len()];
        let parameters: Vec<u32> =
            sizes.into_iter().chain([self.tape.code.len(), count]).map(|size| size as u32).collect();
        let arguments: &[usize] = if written_out(&self.tape) { &[0, 1, 3, 4] } else { &[0, 1, 3, 4, 2, 5] };
        let kernel = CustomKernel::new(with_tape(TEXT, &self.tape), "main", grid(count, limits));
        vec![kernel.parameters(&parameters).arguments(arguments)]
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        let (_, words) = SimulateNetlist::steps_and_words(shapes);
        let states = (2 * self.netlist.registers.len() * words).max(1);
        let slots = invocations(&self.tape, words) * self.tape.slots;
        if written_out(&self.tape) { vec![states] } else { vec![states, slots] }
    }
}

impl SimulateNetlist {
    /// Every output of every step for some words, starting at `first`.
    fn block(&self, x: &[u32], steps: usize, words: usize, first: usize) -> Vec<[u32; BLOCK]> {
        let (inputs, outputs) = (self.netlist.inputs.len(), self.netlist.outputs.len());
        let initial =
            self.netlist.registers.iter().map(|register| [(register.initial as u32).wrapping_neg(); BLOCK]);
        let mut registers: Vec<[u32; BLOCK]> = initial.collect();
        let mut slots = vec![[0; BLOCK]; self.tape.slots];
        let mut y = vec![[0; BLOCK]; steps * outputs];
        for step in 0..steps {
            let mut next = registers.clone();
            let load = |source: u32| match (source as usize).checked_sub(inputs) {
                Some(register) => registers[register],
                None => {
                    let row = &x[(step * inputs + source as usize) * words..][..words];
                    std::array::from_fn(|n| row.get(first + n).copied().unwrap_or(0))
                }
            };
            self.tape.run(&mut slots, load, |sink, value| match (sink as usize).checked_sub(outputs) {
                Some(register) => next[register] = value,
                None => y[step * outputs + sink as usize] = value,
            });
            registers = next;
        }
        y
    }
}

/// Workgroups of 64 for this many invocations.
pub(super) fn grid(invocations: usize, limits: &CustomLimits) -> [u32; 3] {
    let groups = invocations.div_ceil(64);
    let x = groups.clamp(1, limits.workgroups as usize);
    [x as u32, groups.div_ceil(x) as u32, 1]
}
