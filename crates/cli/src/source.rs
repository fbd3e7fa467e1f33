//! What a command is given to work on: a run's folder or a circuit's file.

use std::path::Path;

use farad::run::Run;
use farad_circuit::Circuit;
use farad_logic::train::Learned;

use crate::error::{Error, Result};

/// A run or a circuit.
pub enum Source {
    /// A run's folder.
    Run(Run),
    /// A circuit's file.
    Circuit(Circuit),
}

impl Source {
    /// Opens what lies at a path.
    pub fn open(op: &'static str, path: &Path) -> Result<Source> {
        if path.is_dir() {
            Ok(Source::Run(Run::open(path)?))
        } else if path.is_file() {
            Ok(Source::Circuit(Circuit::read(path)?))
        } else {
            Err(Error::NoSource { op, path: path.display().to_string() })
        }
    }
}

/// Which of a run's circuits: that of a seed, or the one that stands for the run.
pub fn pick(op: &'static str, learned: &Learned, seed: Option<u64>) -> Result<usize> {
    let seeds: Vec<u64> = learned.circuits.iter().map(|circuit| circuit.seed).collect();
    match seed {
        None => Ok(learned.shown()),
        Some(seed) => seeds.iter().position(|&other| other == seed).ok_or_else(|| Error::NoSeed {
            op,
            seed,
            seeds: seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        }),
    }
}
