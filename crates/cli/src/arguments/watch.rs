//! What the command line may say to `farad watch`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::flags::{DeviceFlag, OutputFlags, whole};

pub const WATCH_EXAMPLES: &str = "\
Examples:
  farad watch runs/cartpole-1                      an episode as runs/cartpole-1/episode.gif
  farad watch runs/pendulum-1 --episode 7 --gif swing.gif
  farad watch runs/cartpole-circuit-1 --frames pictures    as PNG files in a folder
  farad watch runs/evolve-1 --episode 3            the third of an archive's best creatures

Keys of --json:
  film, frames, steps, return";

/// Options of `farad watch`.
#[derive(Debug, Args)]
pub struct WatchOptions {
    /// The folder of a run of agents, of a controller or of creatures
    #[arg(value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// Which episode: the number that its start is drawn from; of creatures, which of them, the best first
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(0, u64::MAX))]
    pub episode: u64,
    /// Which seed's agent, if the run has several [default: the first]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, u64::MAX))]
    pub seed: Option<u64>,
    /// The file for the film; it must be new [default: episode.gif in the run's folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub gif: Option<PathBuf>,
    /// Write PNG files into this folder instead, which must be new or empty
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "gif")]
    pub frames: Option<PathBuf>,
    /// Pictures at most; of longer episodes, evenly spread steps are shown
    #[arg(long, value_name = "N", default_value_t = 250, allow_negative_numbers = true, value_parser = whole(1, 100_000usize))]
    pub most: usize,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}
