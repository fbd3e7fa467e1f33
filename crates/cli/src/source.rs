//! What a command is given to work on: a run's folder or a circuit's file.

use std::path::{Path, PathBuf};

use farad::run::Run;
use farad_circuit::Circuit;

use crate::error::{Error, Result, did_you_mean};

/// Where runs are made if nothing else is said.
pub const RUNS: &str = "runs";
/// Runs that a message names at most.
const NAMED: usize = 6;

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
            let (nearest, path) = (nearest(path), path.display().to_string());
            Err(Error::NoSource { op, path, nearest })
        }
    }
}

/// Opens a run.
pub fn open_run(path: &Path) -> Result<Run> {
    there(path)?;
    Ok(Run::open(path)?)
}

/// Opens a run to go on with it.
pub fn resume_run(path: &Path) -> Result<Run> {
    there(path)?;
    Ok(Run::resume(path)?)
}

/// Whether the folder that a new file belongs to is there.
pub fn has_folder(file: &Path) -> bool {
    file.parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir())
}

/// The runs of the usual folder, for those who named none.
pub fn runs_here() -> String {
    let runs: Vec<String> = runs_in(Path::new(RUNS)).iter().map(|run| run.display().to_string()).collect();
    match runs.len() {
        0 => "there are no runs here yet; `farad train checkerboard` makes one".into(),
        many if many > NAMED => {
            format!("the last runs here are {} (`farad runs` shows all)", runs[many - NAMED..].join(", "))
        }
        _ => format!("the runs here are {}", runs.join(", ")),
    }
}

/// The folders of runs in a folder, in order.
pub fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| farad_dashboard::is_run(path)).collect();
    runs.sort();
    runs
}

fn there(path: &Path) -> Result<()> {
    match path.exists() {
        true => Ok(()),
        false => {
            Err(Error::NoRun { path: path.display().to_string(), nearest: nearest(path), help: runs_here() })
        }
    }
}

/// The run that was probably meant: beside the path, or in the usual folder.
fn nearest(path: &Path) -> String {
    let beside = path.parent().map(runs_in).unwrap_or_default();
    let runs: Vec<PathBuf> = beside.into_iter().chain(runs_in(Path::new(RUNS))).collect();
    let usual = runs.iter().find(|run| run.file_name() == path.file_name());
    match usual {
        Some(run) => format!("; did you mean `{}`?", run.display()),
        None => {
            let runs: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
            did_you_mean(&path.display().to_string(), runs.iter().map(String::as_str))
        }
    }
}
