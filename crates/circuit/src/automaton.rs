//! The circuit of a cellular automaton: one cell's netlist, and how cells are connected.

use crate::error::{Error, Result};
use crate::netlist::Netlist;

/// What a cell at the edge of the grid sees beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Cells of zeros.
    #[default]
    Zero,
    /// The cells of the opposite edge.
    Wrap,
}

impl Edge {
    /// Both.
    pub const ALL: [Edge; 2] = [Edge::Zero, Edge::Wrap];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Edge::Zero => "zero",
            Edge::Wrap => "wrap",
        }
    }
}

/// A grid of identical cells. Every cell has `channels` bits of state; at each step it reads the bits of its
/// 3×3 neighborhood, and the outputs of its netlist are its next state.
///
/// The cell has no registers. Its input `position·channels + channel` is a bit of the neighbor at
/// `position`, counted row by row from the upper left: position 1 is the cell above (y - 1), and 4 is the
/// cell itself. Its output `channel` is the next value of that channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Automaton {
    /// One cell, combinational.
    pub cell: Netlist,
    /// Bits of state per cell.
    pub channels: usize,
    /// The channels that the task is about; the others are memory.
    pub visible: Vec<usize>,
    /// What lies beyond the edge.
    pub edge: Edge,
    /// The probability that a cell fires at a step; with 1 the automaton is synchronous.
    pub fire_rate: f32,
}

impl Automaton {
    /// Checks the netlist, and that its inputs and outputs match the channels.
    pub fn check(&self) -> Result<()> {
        self.cell.check()?;
        let channels = self.channels;
        if channels == 0 {
            return Err(Error::NoChannels);
        }
        let sizes = [
            ("inputs", self.cell.inputs.len(), channels.saturating_mul(9)),
            ("outputs", self.cell.outputs.len(), channels),
            ("registers", self.cell.registers.len(), 0),
        ];
        for (what, found, wanted) in sizes {
            if found != wanted {
                return Err(Error::CellSize { what, channels, found, wanted });
            }
        }
        if let Some(&channel) = self.visible.iter().find(|&&channel| channel >= channels) {
            return Err(Error::VisibleChannel { channel, channels });
        }
        if !(self.fire_rate > 0.0 && self.fire_rate <= 1.0) {
            return Err(Error::FireRate { rate: self.fire_rate });
        }
        Ok(())
    }
}
