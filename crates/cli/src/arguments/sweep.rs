//! What the command line may say to `farad sweep`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::flags::{DeviceFlag, OutputFlags, whole};

pub const SWEEP_EXAMPLES: &str = "\
Examples:
  farad sweep sweep.toml                       all trials, into runs/sweep
  farad sweep sweep.toml --list                only say which trials there would be
  farad sweep sweep.toml --jobs 4 --device cpu
  farad sweep --resume runs/sweep              after Ctrl-C, a kill, or a larger count in its sweep.toml
  farad sweep --resume runs/sweep --retry      failed trials once more

The file:
  train = \"csv\"                                what to train, as `farad train` calls it
  device = \"cpu\"                               if it should not be the best
  [fixed]                                      settings and flags of `farad train` that all trials share
  data = \"flowers.csv\"
  epochs = 20
  [space]                                      what is varied: lists, and ranges of numbers
  optimizer = [\"adam\", \"sgd\"]
  learning_rate = { from = 1e-4, to = 0.1, scale = \"log\" }
  batch = { from = 4, to = 16 }                whole numbers stay whole
  [search]
  kind = \"random\"                              grid (ranges need a count), random or halving
  count = 20
  seed = 1
  [score]
  figure = \"accuracy\"                          a key of the results (`farad eval --help` lists them)
  best = \"max\"                                 or min

Halving also has `rungs = [10, 30, 90]`, the updates or epochs after which the better half goes on, and `keep = 0.5`.
A trial is a run in the folder of the sweep: `farad train --resume`, `eval`, `runs` and `dashboard` take it as any other.

Keys of --json:
  trial, run, settings, state, score, rungs, seconds, error
  with --list: trial, settings

state is done, dropped (by halving), failed (error says why) or waiting.";

/// Options of `farad sweep`.
#[derive(Debug, Args)]
pub struct SweepOptions {
    /// The file that says what is trained and varied
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath, required_unless_present = "resume")]
    pub file: Option<PathBuf>,
    /// The folder of the sweep; it must be new or empty [default: runs/FILE]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Continue the sweep in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["file", "out", "list"])]
    pub resume: Option<PathBuf>,
    /// Try failed trials again
    #[arg(long, requires = "resume")]
    pub retry: bool,
    /// Runs at once [default: one on a GPU, one for every two cores on the CPU]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, 256usize))]
    pub jobs: Option<usize>,
    /// Show the trials and train none
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}
