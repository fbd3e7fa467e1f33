//! An archive: a grid of cells, the best creature of each. It is a file in JSON with a version.
//!
//! Invariant: cells are in order, and every creature in them grows. Start at [`Archive::place`].

use std::path::Path;

use farad_world::{Genotype, GenotypeError, Grown, TrialResult, json_path};
use serde::{Deserialize, Serialize};

use super::descriptors::{DESCRIPTORS, DescriptorRow};

/// The version of archives that this program reads.
pub const ARCHIVE_VERSION: u64 = 1;
/// The longest file that is read, in bytes, and most cells.
const MOST_BYTES: usize = 256 << 20;
const MOST_CELLS: usize = 1 << 16;

/// Why an archive could not be read.
#[derive(thiserror::Error, Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum ArchiveError {
    #[error("archive: not an archive: {message}")]
    Syntax { message: String },
    #[error(
        "archive: version: not supported by this program ({found} vs {known})\nhelp: archives of this program have \"version\": {known}"
    )]
    Version { found: u64, known: u64 },
    #[error("archive: {path}: {message}")]
    Field { path: String, message: String },
}

impl From<ArchiveError> for farad::Error {
    fn from(error: ArchiveError) -> farad::Error {
        farad::Error::Part(Box::new(error))
    }
}

/// A grid of cells with the best creature of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// [`ARCHIVE_VERSION`].
    pub version: u64,
    /// What its axes are.
    pub axes: Vec<ArchiveAxis>,
    /// Creatures that were tried.
    pub tried: u64,
    /// Bodies that were refused before.
    pub refused: u64,
    /// Creatures that exploded or came apart.
    pub broken: u64,
    /// The cells that are filled, in order.
    pub cells: Vec<Elite>,
}

/// An axis of an archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchiveAxis {
    /// The descriptor.
    pub name: String,
    /// Its bounds.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// How many cells there are between them.
    pub bins: usize,
}

/// The best creature of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elite {
    /// Its place along every axis.
    pub cell: Vec<usize>,
    /// How far it got ahead in its trial, in meters.
    pub fitness: f64,
    /// Its descriptors.
    pub descriptors: Vec<f64>,
    /// The generation that it was born in.
    pub generation: u64,
    /// What it grows from.
    pub genotype: Genotype,
}

/// What an archive did with a creature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It is the first of its cell.
    First,
    /// It is better than the one that was there.
    Better,
    /// The one that was there stays.
    Worse,
    /// It exploded or came apart.
    Broken,
}

impl ArchiveAxis {
    /// The axis of a descriptor.
    pub fn new(row: &DescriptorRow, bins: usize) -> ArchiveAxis {
        ArchiveAxis { name: row.name.into(), low: row.low, high: row.high, bins }
    }

    /// The cell of a number.
    fn bin(&self, value: f64) -> usize {
        let share = (value - self.low) / (self.high - self.low);
        ((share * self.bins as f64).floor().max(0.0) as usize).min(self.bins - 1)
    }
}

impl Archive {
    /// An archive without creatures.
    pub fn new(axes: Vec<ArchiveAxis>) -> Archive {
        Archive { version: ARCHIVE_VERSION, axes, tried: 0, refused: 0, broken: 0, cells: vec![] }
    }

    /// How many cells there are, filled or not.
    pub fn size(&self) -> usize {
        self.axes.iter().map(|axis| axis.bins).product()
    }

    /// The descriptors of a creature.
    pub fn descriptors(&self, grown: &Grown, trial: &TrialResult) -> Vec<f64> {
        let of = |axis: &ArchiveAxis| {
            let row = DescriptorRow::named(&axis.name).expect("checked");
            // As files have it, so that a resumed run sees the same numbers.
            ((row.of)(grown, trial) * 1e6).round() / 1e6
        };
        self.axes.iter().map(of).collect()
    }

    /// Descriptors from 0 to 1.
    pub fn shares(&self, descriptors: &[f64]) -> Vec<f64> {
        let share = |(axis, value): (&ArchiveAxis, &f64)| (value - axis.low) / (axis.high - axis.low);
        self.axes.iter().zip(descriptors).map(share).collect()
    }

    /// Keeps a creature if it is the best of its cell so far.
    pub fn place(
        &mut self,
        genotype: &Genotype,
        grown: &Grown,
        trial: &TrialResult,
        generation: u64,
    ) -> Placement {
        self.tried += 1;
        if !trial.whole || !trial.distance.is_finite() {
            self.broken += 1;
            return Placement::Broken;
        }
        let descriptors = self.descriptors(grown, trial);
        let cell: Vec<usize> =
            self.axes.iter().zip(&descriptors).map(|(axis, value)| axis.bin(*value)).collect();
        let fitness = trial.distance;
        let new =
            || Elite { cell: cell.clone(), fitness, descriptors, generation, genotype: genotype.clone() };
        match self.cells.binary_search_by(|own| own.cell.cmp(&cell)) {
            Err(place) => {
                self.cells.insert(place, new());
                Placement::First
            }
            Ok(place) if self.cells[place].fitness < fitness => {
                self.cells[place] = new();
                Placement::Better
            }
            Ok(_) => Placement::Worse,
        }
    }

    /// The filled cells, the best creature first.
    pub fn ranked(&self) -> Vec<&Elite> {
        let mut all: Vec<&Elite> = self.cells.iter().collect();
        all.sort_by(|a, b| b.fitness.total_cmp(&a.fitness).then_with(|| a.cell.cmp(&b.cell)));
        all
    }

    /// The distance of the best creature.
    pub fn best(&self) -> f64 {
        self.cells.iter().map(|elite| elite.fitness).fold(0.0, f64::max)
    }

    /// The sum over all cells of how far their creatures get ahead (the QD score).
    pub fn score(&self) -> f64 {
        self.cells.iter().map(|elite| elite.fitness.max(0.0)).sum()
    }

    /// The archive as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an archive has no maps with odd keys")
    }

    /// Reads a file.
    pub fn read(path: &Path) -> farad::Result<Archive> {
        let fail = |source| farad::Error::File { op: "archive", path: path.into(), source };
        Ok(Archive::from_json(&std::fs::read_to_string(path).map_err(fail)?)?)
    }

    /// Parses and checks an archive. Errors give the path in the file.
    pub fn from_json(text: &str) -> Result<Archive, ArchiveError> {
        if text.len() > MOST_BYTES {
            let message = format!("too long ({} vs at most {MOST_BYTES} bytes)", text.len());
            return Err(ArchiveError::Field { path: "file".into(), message });
        }
        let syntax = |e: serde_json::Error| match json_path(text, &e) {
            (path, message) if path.is_empty() || path.starts_with('[') => ArchiveError::Syntax { message },
            (path, message) => ArchiveError::Field { path, message },
        };
        let value: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(ARCHIVE_VERSION) => {}
            Some(found) => return Err(ArchiveError::Version { found, known: ARCHIVE_VERSION }),
            None => return field("version", "a whole number is missing"),
        }
        let archive: Archive = serde_json::from_str(text).map_err(syntax)?;
        archive.check()?;
        Ok(archive)
    }

    fn check(&self) -> Result<(), ArchiveError> {
        for (n, axis) in self.axes.iter().enumerate() {
            if DescriptorRow::named(&axis.name).is_none() {
                let known: Vec<&str> = DESCRIPTORS.iter().map(|row| row.name).collect();
                let message =
                    format!("no descriptor \"{}\"\nhelp: there are {}", axis.name, known.join(", "));
                return field(format!("axes[{n}].name"), message);
            }
            if !(axis.low.is_finite() && axis.high.is_finite() && axis.low < axis.high) {
                let message = format!("not above low ({} vs {})", axis.high, axis.low);
                return field(format!("axes[{n}].high"), message);
            }
            if axis.bins == 0 || axis.bins > MOST_CELLS {
                return field(
                    format!("axes[{n}].bins"),
                    format!("out of range ({} vs 1 to {MOST_CELLS})", axis.bins),
                );
            }
        }
        let cells = self.axes.iter().fold(1usize, |all, axis| all.saturating_mul(axis.bins));
        if self.axes.is_empty() || cells > MOST_CELLS {
            return field("axes", format!("cells of all axes out of range ({cells} vs 1 to {MOST_CELLS})"));
        }
        for (n, elite) in self.cells.iter().enumerate() {
            self.check_cell(n, elite)?;
        }
        Ok(())
    }

    fn check_cell(&self, n: usize, elite: &Elite) -> Result<(), ArchiveError> {
        let path = |name: &str| format!("cells[{n}].{name}");
        for (name, found) in [("cell", elite.cell.len()), ("descriptors", elite.descriptors.len())] {
            if found != self.axes.len() {
                let message = format!("a list of another length ({found} vs {})", self.axes.len());
                return field(path(name), message);
            }
        }
        for (k, (place, axis)) in elite.cell.iter().zip(&self.axes).enumerate() {
            if *place >= axis.bins {
                return field(
                    path(&format!("cell[{k}]")),
                    format!("no such cell ({place} vs {})", axis.bins),
                );
            }
        }
        if n > 0 && self.cells[n - 1].cell >= elite.cell {
            return field(path("cell"), "not after the cell before it");
        }
        if !elite.fitness.is_finite() {
            return field(path("fitness"), format!("not a usual number ({})", elite.fitness));
        }
        elite.genotype.grown().map(drop).map_err(|error| match error {
            GenotypeError::Field { path: inner, message } => {
                ArchiveError::Field { path: path(&format!("genotype.{inner}")), message }
            }
            other => ArchiveError::Field { path: path("genotype"), message: other.to_string() },
        })
    }
}

fn field<T>(path: impl Into<String>, message: impl Into<String>) -> Result<T, ArchiveError> {
    Err(ArchiveError::Field { path: path.into(), message: message.into() })
}
