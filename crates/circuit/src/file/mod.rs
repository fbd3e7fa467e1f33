//! Circuits as files: JSON with a format name and a version.
//!
//! ```json
//! {"format": "farad-circuit", "version": 1, "kind": "netlist", "name": "half_adder", "wires": 4,
//!  "inputs": ["a", "b"], "registers": [], "gates": [["xor", 0, 1], ["and", 0, 1]],
//!  "outputs": [{"name": "sum", "wire": 2}, {"name": "carry", "wire": 3}]}
//! ```
//!
//! Gate `k` makes wire `inputs + registers + k`. A missing operand is `null` or left out at the end. A netlist
//! may have `"meta"`: an object with further information. The HTML export uses these names, and the command
//! writes them:
//!
//! - for an automaton's cell, `"recipe"` (a name), `"start"` (`"random"`, `"center"`, `"zeros"` or `"boards"`)
//!   and `"size"` (`[width, height]`): its initial state, and the size of the grid that it was trained on;
//! - for every learned circuit, `"gates"`: how many gates were `"learned"`, and how many of these are
//!   `"active"`;
//! - for a classifier, `"classes"`, `"thresholds"` and, for tables, `"columns"` (their names; the thresholds
//!   are then a list of lists, one per column) or, for pictures, `"channels"`, `"height"` and `"width"`. The C
//!   and Rust exports then have a function on one sample, and all exports explain every input;
//! - for a classifier of grayscale pictures, `"kind": "image-classifier"`, `"height"`, `"width"`, `"classes"`
//!   (how many, or their names), `"thresholds"` and `"brightest"`. The thresholds are one list for all pixels,
//!   or a list of lists, one per pixel. `"brightest"` is the value of a white pixel in the unit of the
//!   thresholds (default 1). Input
//!   `(y·width + x)·thresholds + t` is 1 if the pixel is at least threshold `t`; with `"order": "threshold"` it
//!   is input `t·height·width + y·width + x`. The number of the class is in the outputs `class0`, `class1`, …
//!   (lowest bit first), and the count of class `c`, if present, in `count_c_0`, `count_c_1`, …
//!
//! Files may list gates in any order. The result is always a netlist that passes [`Netlist::check`], or an
//! error that says which gate and wire is wrong. Start at [`Circuit`].

mod read;
mod write;

use std::path::Path;

use crate::automaton::Automaton;
use crate::error::{Error, Result};
use crate::netlist::Netlist;

const FORMAT: &str = "farad-circuit";
const VERSION: u64 = 1;

/// The contents of a circuit file.
#[derive(Clone, Debug, PartialEq)]
pub enum Circuit {
    /// A netlist by itself.
    Netlist(Netlist),
    /// The cell of an automaton, and how cells are connected.
    Automaton(Automaton),
}

impl Circuit {
    /// Reads a circuit file.
    pub fn read(path: impl AsRef<Path>) -> Result<Circuit> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| Error::File {
            op: "read",
            path: path.into(),
            source,
        })?;
        Circuit::from_json(&text)
            .map_err(|source| Error::InFile { path: path.into(), source: Box::new(source) })
    }

    /// Writes a circuit file atomically: a reader sees the old file or the whole new one.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        write::whole(path, self.to_json().as_bytes()).map_err(|source| Error::File {
            op: "write",
            path: path.into(),
            source,
        })
    }

    /// Parses a circuit file.
    pub fn from_json(text: &str) -> Result<Circuit> {
        read::circuit(text)
    }

    /// The text of the circuit file, one gate per line.
    pub fn to_json(&self) -> String {
        write::text(self)
    }

    /// The netlist; for an automaton, that of its cell.
    pub fn netlist(&self) -> &Netlist {
        match self {
            Circuit::Netlist(netlist) => netlist,
            Circuit::Automaton(automaton) => &automaton.cell,
        }
    }

    /// Its name, which is that of its netlist.
    pub fn name(&self) -> &str {
        &self.netlist().name
    }

    /// Checks that every wire that is read exists and comes before its reader, and that a cell matches its
    /// channels.
    pub fn check(&self) -> Result<()> {
        match self {
            Circuit::Netlist(netlist) => netlist.check(),
            Circuit::Automaton(automaton) => automaton.check(),
        }
    }
}

impl From<Netlist> for Circuit {
    fn from(netlist: Netlist) -> Circuit {
        Circuit::Netlist(netlist)
    }
}

impl From<Automaton> for Circuit {
    fn from(automaton: Automaton) -> Circuit {
        Circuit::Automaton(automaton)
    }
}

#[cfg(test)]
mod tests;
