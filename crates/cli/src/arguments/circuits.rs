//! What the command line may say to those who use circuits: `farad export` and `simulate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use crate::export::formats;

use super::flags::{AnyWord, DeviceFlag, OutputFlags, ProfileFlags, whole};

pub const EXPORT_EXAMPLES: &str = "\
Examples:
  farad export runs/life-5 --format verilog --out hardware
  farad export runs/life-5/circuits/seed-5.simplified.json --format c --out c
  farad export runs/life-5 --raw --format json --out raw        the circuit as learned
  farad export runs/logic-mnist-1 --format verilog --pipeline 8 --out fast
  farad export runs/mnist-1 --format onnx --out model           a network for other programs; also lm, logic-mnist, …
  farad export runs/hopper-1 --format html --out page            an agent that moves in any browser
  farad export runs/lm-1 --format huggingface --out model        a language model that began from published weights
  farad export runs/lm-1 --format peft --out adapter             its adapters alone

Keys of --json:
  file, format, bytes";

pub const SIMULATE_EXAMPLES: &str = "\
Examples:
  farad simulate runs/life-5 --grid 128x128 --steps 300 --gif
  farad simulate circuit.json --grid 512x512 --steps 1000 --start center
  farad simulate runs/checkerboard-2 --grid 24x24 --steps 16 --healing film.svg

Keys of --json:
  width, height, steps, gates, microseconds_per_step, on, of, gif

With --healing these are width, height, steps, gates and film.";

/// Options of `farad export`.
#[derive(Debug, Args)]
pub struct ExportOptions {
    /// The folder of a run, or a circuit file
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: PathBuf,
    #[arg(
        long,
        value_name = "FORMAT",
        help = format!("Which format: {}", formats().join(", ")),
        value_parser = AnyWord::plain(formats()),
        hide_possible_values = true
    )]
    pub format: String,
    /// The folder for the files; files that exist are not overwritten
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Which seed's circuit or agent, if the run has several [default: the first that was right in training; of agents, the first]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, u64::MAX))]
    pub seed: Option<u64>,
    /// The circuit of a run as learned, not simplified
    #[arg(long)]
    pub raw: bool,
    /// Put registers after every LEVELS levels of gates (verilog and blif); the file says how many clocks that takes
    #[arg(long, value_name = "LEVELS", allow_negative_numbers = true, value_parser = whole(1, usize::MAX))]
    pub pipeline: Option<usize>,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Where a simulation starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StartOption {
    /// Every bit at random
    #[default]
    Random,
    /// All channels of the cell in the middle
    #[value(alias = "centre")]
    Center,
    /// Nothing
    Zeros,
}

/// Options of `farad simulate`.
#[derive(Debug, Args)]
pub struct SimulateOptions {
    /// The folder of a run, or the circuit file of an automaton
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: PathBuf,
    /// The grid, width and height in cells
    #[arg(long, value_name = "WxH", default_value = "64x64", allow_hyphen_values = true)]
    pub grid: String,
    /// How many steps
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true, value_parser = whole(0, usize::MAX))]
    pub steps: usize,
    /// Where it starts
    #[arg(long, value_name = "START", value_enum, default_value_t)]
    pub start: StartOption,
    /// The seed of a random start, and of which cells fire
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX))]
    pub seed: u64,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Write the steps as a GIF: `simulation.gif` beside the circuit, or this file
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    pub gif: Option<Option<PathBuf>>,
    /// Write a film of healing to this SVG file: the steps, a block set to zero, as many steps again, and the circuit beside it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "gif")]
    pub healing: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub profile: ProfileFlags,
}
