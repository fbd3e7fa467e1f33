//! The task of a repaired circuit: where it starts, how long it runs, and the wanted result.

use crate::automaton::Edge;

/// The initial state of an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartingGrid {
    /// Every bit of every cell is random.
    Random,
    /// All channels of the center cell are one, everything else zero.
    Center,
    /// Everything is zero.
    Zeros,
    /// All neighborhoods of one channel, each for a single step.
    Neighborhoods,
}

/// What a circuit should do.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairTask {
    /// Cells from left to right.
    pub width: usize,
    /// Cells from top to bottom.
    pub height: usize,
    /// Steps until the result is checked.
    pub steps: usize,
    /// What lies beyond the edge.
    pub edge: Edge,
    /// The probability that a cell fires at a step.
    pub fire_rate: f32,
    /// The initial state.
    pub origin: StartingGrid,
    /// The wanted result, `[visible, height, width]`; for neighborhoods, the next bit of each of the 512 by
    /// index.
    pub wanted: Vec<bool>,
    /// Other grids on which a right circuit should not become worse.
    pub others: Vec<RepairTask>,
}

impl RepairTask {
    /// Whether starts or firing are random, so that a circuit can only be judged by samples.
    pub fn is_random(&self) -> bool {
        self.origin == StartingGrid::Random || self.fire_rate < 1.0
    }

    /// Steps of the early and the late check, if cells fire at random.
    pub fn looks(&self) -> Option<[usize; 2]> {
        (self.fire_rate < 1.0).then_some([self.steps * 6 / 10, self.steps * 9 / 10])
    }
}
