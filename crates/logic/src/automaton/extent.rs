//! The sizes of one roll-out: what CPU and GPU need besides the arrays.

use farad::{OpError, Shape};

use super::op::Policy;
use super::topology::Topology;

/// Cells are processed in groups of this many that are adjacent in memory. A seed's last group may contain
/// cells that do not exist, whose values are never used.
pub const GROUP: usize = 4;

/// A roll-out with all its sizes.
#[derive(Clone, Debug)]
pub struct RollOutExtent<'a> {
    pub topology: &'a Topology,
    pub policy: Policy,
    /// Whether there is an array that says which cells fire.
    pub asynchronous: bool,
    pub steps: usize,
    pub seeds: usize,
    pub batch: usize,
    pub height: usize,
    pub width: usize,
}

impl RollOutExtent<'_> {
    /// Cells per seed, over the whole batch.
    pub fn cells(&self) -> usize {
        self.batch * self.height * self.width
    }

    /// Groups of cells of one seed.
    pub fn groups(&self) -> usize {
        self.cells().div_ceil(GROUP)
    }

    /// Numbers in the states of all seeds.
    pub fn state_len(&self) -> usize {
        self.seeds * self.cells() * self.topology.channels
    }

    /// Steps between kept states.
    pub fn stride(&self) -> usize {
        match self.policy {
            Policy::KeepAll | Policy::Recompute => 1,
            Policy::Every(stride) => stride.max(1),
        }
    }

    /// How many states are kept: those before steps `stride`, `2·stride`, … . Slot `n` of the kept
    /// array holds the states before step `(n + 1)·stride`; those before step 0 are an operand.
    pub fn kept_states(&self) -> usize {
        self.steps.saturating_sub(1) / self.stride()
    }

    /// Numbers in one step's activations, for all seeds: every cell of every group, existing or not.
    pub fn activation_len(&self) -> usize {
        self.seeds * self.groups() * GROUP * self.topology.activations()
    }

    /// Numbers in the kept array: the kept states, then, if everything is kept, the activations step by step,
    /// in a layout specific to the device.
    pub fn kept_len(&self) -> usize {
        let activations = if self.policy == Policy::KeepAll { self.steps * self.activation_len() } else { 0 };
        (self.kept_states() * self.state_len() + activations).max(1)
    }

    /// Words that describe the circuits: coefficients and wires.
    pub fn circuit_len(&self) -> usize {
        self.coefficients().numel() + self.seeds * self.topology.wires()
    }

    /// Gates evaluated in all steps.
    pub fn evaluations(&self) -> u64 {
        (self.steps * self.seeds * self.cells() * self.topology.evaluations()) as u64
    }

    /// The shape of the states.
    pub fn states(&self) -> Shape {
        Shape::new(&[self.seeds, self.batch, self.height, self.width, self.topology.channels])
    }

    /// The shape of the coefficients.
    pub fn coefficients(&self) -> Shape {
        Shape::new(&[self.seeds, self.topology.gates(), 4])
    }

    /// Checks the operands' shapes: coefficients, wires, consumers, states and maybe fired.
    pub fn check(&self, shapes: &[Shape]) -> Result<(), OpError> {
        let wanted = [
            self.coefficients(),
            Shape::new(&[self.seeds, self.topology.wires()]),
            Shape::new(&[self.seeds, self.topology.consumers()]),
            self.states(),
            Shape::new(&[self.seeds, self.steps, self.height, self.width]),
        ];
        let names = ["coefficients", "wires", "consumers", "states", "fired"];
        let count = if self.asynchronous { 5 } else { 4 };
        for n in 0..count {
            if shapes[n] != wanted[n] {
                let what =
                    format!("{} have the wrong shape: {}, expected {}", names[n], shapes[n], wanted[n]);
                let (a, b) = (shapes[n].numel(), wanted[n].numel());
                return Err(OpError::Sizes { op: "automaton", what, a, b });
            }
        }
        Ok(())
    }
}
