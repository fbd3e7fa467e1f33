//! What a repaired circuit should do: where it starts, for how long it runs, and what is to be seen then.

use crate::automaton::Edge;

/// Where an automaton starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartingGrid {
    /// Every bit of every cell at random.
    Random,
    /// All channels of the cell in the middle are one.
    Center,
    /// Nothing.
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
    /// Steps until it is looked at.
    pub steps: usize,
    /// What lies beyond the rim.
    pub edge: Edge,
    /// Each cell fires with this probability at a step.
    pub fire_rate: f32,
    /// Where it starts.
    pub origin: StartingGrid,
    /// What is to be seen, `[visible, height, width]`; of neighborhoods, the next bit of each of 512 by its number.
    pub wanted: Vec<bool>,
    /// Other grids on which a right circuit should not become worse.
    pub others: Vec<RepairTask>,
}

impl RepairTask {
    /// Whether starts or firing are random, so that a circuit can only be judged by samples.
    pub fn is_random(&self) -> bool {
        self.origin == StartingGrid::Random || self.fire_rate < 1.0
    }

    /// Steps of the early and the late check, where cells fire at random.
    pub fn looks(&self) -> Option<[usize; 2]> {
        (self.fire_rate < 1.0).then_some([self.steps * 6 / 10, self.steps * 9 / 10])
    }
}
