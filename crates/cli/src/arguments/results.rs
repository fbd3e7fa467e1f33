//! What the command line may say to those who look at runs: `farad eval`, `inspect` and `runs`.

use std::path::PathBuf;

use clap::Args;

use super::flags::ProfileFlags;

pub const EVAL_EXAMPLES: &str = "\
Examples:
  farad eval runs/life-23
  farad eval runs/checkerboard-23 --json           one object a line and seed
  farad eval runs/lm-1 --data other.txt            loss and perplexity on a text

exact: no wrong visible bit at the last step on 64 fresh starts (life: on all 512 neighbourhoods).";

pub const RUNS_EXAMPLES: &str = "\
Examples:
  farad runs                           the runs in ./runs
  farad runs experiments --json        one object a line";

/// Options of `farad eval`.
#[derive(Debug, Args)]
pub struct EvalOptions {
    /// The folder of a run
    pub run: PathBuf,
    /// One JSON object a line and seed
    #[arg(long)]
    pub json: bool,
    /// Judge a language model on this text instead of the run's own
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Where a language model runs: `best`, `cpu`, `gpu` or `gpu:1` [default: that of the run]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Time the circuit of a logic network too: on one core, and on the GPU if there is one
    #[arg(long)]
    pub speed: bool,
    #[command(flatten)]
    pub profile: ProfileFlags,
}

/// Options of `farad inspect`.
#[derive(Debug, Args)]
pub struct InspectOptions {
    /// The folder of a run, or a circuit file
    pub source: PathBuf,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `farad runs`.
#[derive(Debug, Args)]
pub struct RunsOptions {
    /// The folder that has the runs
    #[arg(default_value = "runs")]
    pub folder: PathBuf,
    /// One object a line and run
    #[arg(long)]
    pub json: bool,
}
