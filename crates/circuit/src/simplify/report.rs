//! The report of a simplification.

use std::time::Duration;

use crate::equivalence::Equivalence;

/// One stage: the size of the circuit after it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimplifyStage {
    /// The pass.
    pub pass: &'static str,
    /// Active gates after it.
    pub gates: usize,
    /// Gates on the longest path after it.
    pub depth: usize,
    /// Time from the start to its end.
    pub time: Duration,
}

/// What [`simplify`](super::simplify) did, and what is proved of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The stages in order; the first is the original circuit.
    pub stages: Vec<SimplifyStage>,
    /// The result compared with the original, root by root.
    pub equivalence: Equivalence,
    /// Outputs, then registers, that could not be proved and so keep their original gates.
    pub unproved: Vec<String>,
    /// Whether time ran out before the passes were done. Then another run may find another circuit.
    pub out_of_time: bool,
    /// The total time, including the proof.
    pub time: Duration,
}

impl Report {
    /// Active gates of the original.
    pub fn gates_before(&self) -> usize {
        self.stages.first().map_or(0, |stage| stage.gates)
    }

    /// Active gates of the result.
    pub fn gates_after(&self) -> usize {
        self.stages.last().map_or(0, |stage| stage.gates)
    }

    /// Gates on the longest path of the original.
    pub fn depth_before(&self) -> usize {
        self.stages.first().map_or(0, |stage| stage.depth)
    }

    /// Gates on the longest path of the result.
    pub fn depth_after(&self) -> usize {
        self.stages.last().map_or(0, |stage| stage.depth)
    }
}
