//! What can go wrong with circuits.

use std::fmt;
use std::path::PathBuf;

/// An error about a circuit or its file.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A gate reads a wire that does not exist or comes later.
    #[error(
        "netlist: {reader} reads wire {wire}, which does not exist ({wire} vs {wires} wires that it may read)"
    )]
    MissingWire {
        /// What reads it.
        reader: String,
        /// The wire read.
        wire: u32,
        /// How many wires it may read: those before it.
        wires: usize,
    },
    /// Another process that searches too cannot be asked.
    #[error("repair: {source}")]
    Peers {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A circuit with state where none is supported.
    #[error("simulate: a wide simulation has no state: {name} ({registers} registers vs 0)")]
    Registers {
        /// The circuit.
        name: String,
        /// Its registers.
        registers: usize,
    },
    /// A gate of a file lacks an operand.
    #[error(
        "circuit file: gate {gate} ({name}), which makes wire {wire}, lacks an operand ({found} vs {wanted})"
    )]
    MissingOperand {
        /// Which gate, counted from zero.
        gate: usize,
        /// Its function.
        name: &'static str,
        /// Its output wire.
        wire: u32,
        /// How many of its operands are given.
        found: usize,
        /// How many it reads.
        wanted: usize,
    },
    /// The gates of a file form a cycle.
    #[error("circuit file: gates form a cycle: {}", circle(.gates))]
    Cycle {
        /// The gates of the cycle, each read by the one after it: index, name, wire.
        gates: Vec<(usize, &'static str, u32)>,
    },
    /// A gate of a file has an unknown name.
    #[error(
        "circuit file: gate {gate}, which makes wire {wire}, has an unknown name: {name:?}\nhelp: the gates are {}",
        crate::gate::Gate::ALL.map(crate::gate::Gate::name).join(", ")
    )]
    UnknownGate {
        /// Which gate, counted from zero.
        gate: usize,
        /// Its wire.
        wire: usize,
        /// The name found.
        name: String,
    },
    /// The number of wires stated in a file is wrong.
    #[error(
        "circuit file: inputs, registers and gates do not add up to the wires stated ({found} vs {stated})"
    )]
    WireCount {
        /// The number stated.
        stated: usize,
        /// The actual number.
        found: usize,
    },
    /// A file ends too early.
    #[error(
        "circuit file: unexpected end at line {line}, column {column}\nhelp: the file was cut off; write it again"
    )]
    Truncated {
        /// The line where it ends.
        line: usize,
        /// The column where it ends.
        column: usize,
    },
    /// A file is not valid JSON of this format.
    #[error("circuit file: invalid: {message}")]
    Syntax {
        /// The parser's message, with line and column.
        message: String,
    },
    /// A file has another format.
    #[error("circuit file: another format: {found:?} (wanted \"farad-circuit\")")]
    Format {
        /// The format it names.
        found: String,
    },
    /// A file was written by a newer version.
    #[error("circuit file: newer version ({found} vs {known})\nhelp: use a newer version of farad")]
    Version {
        /// Its version.
        found: u64,
        /// The newest version known here.
        known: u64,
    },
    /// A file could not be read or written.
    #[error("{op} {}: {source}", .path.display())]
    File {
        /// The operation.
        op: &'static str,
        /// With which file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file was read, but its contents are wrong.
    #[error("{}: {source}", .path.display())]
    InFile {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: Box<Error>,
    },
    /// There is no export format with this name.
    #[error("export: unknown format: {name:?}\nhelp: the formats are {known}")]
    UnknownFormat {
        /// The name asked for.
        name: String,
        /// The names of all formats.
        known: String,
    },
    /// A netlist that cannot be pipelined this way.
    #[error("pipeline: {what} ({found} vs {wanted})")]
    Pipeline {
        /// What is wrong.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The number required.
        wanted: usize,
    },
    /// An automaton whose cells have no state.
    #[error("automaton: cells have no channels (0 vs at least 1)")]
    NoChannels,
    /// A visible channel does not exist.
    #[error("automaton: no such visible channel ({channel} vs {channels} channels)")]
    VisibleChannel {
        /// The channel.
        channel: usize,
        /// Channels of a cell.
        channels: usize,
    },
    /// The fire rate is not a probability.
    #[error("automaton: fire rate is not a probability above zero ({rate} vs at most 1)")]
    FireRate {
        /// The rate.
        rate: f32,
    },
    /// A grid has no cells or too many.
    #[error(
        "grid: {width}x{height} cells of {channels} channels do not fit ({bits} vs at most {limit} bits)"
    )]
    GridSize {
        /// Cells in a row.
        width: usize,
        /// Rows.
        height: usize,
        /// Channels of a cell.
        channels: usize,
        /// The resulting number of bits.
        bits: u128,
        /// How many are allowed.
        limit: u128,
    },
    /// Two circuits do not correspond, so their functions cannot be compared.
    #[error("equivalence: {what} do not correspond: {left} and {right}")]
    Incomparable {
        /// Inputs, outputs, registers or channels.
        what: &'static str,
        /// What the first has.
        left: String,
        /// What the second has.
        right: String,
    },
    /// The cell of an automaton has a wrong number of inputs or outputs.
    #[error("automaton: {what} of the cell do not match {channels} channels ({found} vs {wanted})")]
    CellSize {
        /// Inputs, outputs or registers.
        what: &'static str,
        /// Channels of a cell.
        channels: usize,
        /// How many the cell has.
        found: usize,
        /// How many it must have.
        wanted: usize,
    },
}

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The gates of a cycle in words; a long one is shortened in the middle.
fn circle(gates: &[(usize, &'static str, u32)]) -> String {
    const SHOWN: usize = 8;
    let mut text = String::new();
    for (n, (gate, name, wire)) in gates.iter().enumerate() {
        if gates.len() > SHOWN && n == SHOWN - 1 {
            text += &format!("... {} more -> ", gates.len() - SHOWN + 1);
            break;
        }
        text += &format!("gate {gate} ({name}, wire {wire}) -> ");
    }
    text + &gates.first().map_or(String::new(), |(gate, _, _)| format!("gate {gate}"))
}

/// The same as `Display`, so that `fn main() -> Result<()>` prints the message.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
