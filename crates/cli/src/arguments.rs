//! What the command line may say.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use farad_circuit::Format;
use farad_logic::Recipe;
use farad_logic::classify::TaskKind;

use crate::dashboard::{DASHBOARD_EXAMPLES, DashboardOptions};
use crate::fit::SetKind;
use crate::lm::flags::{
    CHAT_EXAMPLES, ChatOptions, GENERATE_EXAMPLES, GenerateOptions, LanguageFlags, RUNS_EXAMPLES, RunsOptions,
};

const EXAMPLES: &str = "\
Examples:
  farad train mnist                    learn handwritten digits with a convolutional network
  farad train checkerboard             learn an automaton, prove and simplify its circuit
  farad train lm --data book.txt       learn to write like a book
  farad generate runs/lm-1 --prompt \"The\"
  farad eval runs/checkerboard-23      how good the circuit is
  farad export runs/checkerboard-23 --format verilog --out hardware
  farad dashboard                      see runs in the browser while they train
  farad devices                        what there is to compute on
  farad bench                          time the best device
  farad bench --device cpu --filter matmul,softmax
  farad bench --device gpu:0 --json > gpu.jsonl

Environment:
  FARAD_DEVICE=cpu                     the device that `best` means
  FARAD_TUNING=tuning.json             tiles that `farad tune` chose
  FARAD_DATA=data                      where data sets are looked for first
  FARAD_DEBUG=plan,wgsl,time,nan       show programs, shaders, kernel times; find the first NaN";

const TRAIN_EXAMPLES: &str = "\
Examples:
  farad train life                                 the default recipe, device and seed
  farad train checkerboard --device cpu --seed 5
  farad train checkerboard --seeds 16 --updates 2000      16 seeds at once
  farad train lizard --recipe reference            exactly as published
  farad train life --set learning_rate=0.03 --set warm_up=100
  farad train --resume runs/life-23                go on after Ctrl-C, or to more --updates
  farad train life --updates 50 --profile=trace.json      where the time goes
  farad train checkerboard --seeds 16 --quick --set forward=gumbel     how many seeds succeed

  farad train mnist --model mlp --epochs 5         a network on a data set
  farad train cifar10 --data pictures/cifar10 --mixed --batch 256
  farad train csv --data flowers.csv --set target=species
  farad train mnist --data synthetic               drawn digits, without any files

  farad train logic-mnist                          a circuit that reads digits
  farad train logic-mnist --set model=medium       48,000 gates; `logic-mnist --list` shows the models
  farad train logic-table --data flowers.csv --set target=species

  farad train lm --data book.txt --layers 2 --heads 4 --width 128 --context 64 --batch 16 --updates 1000
  farad train lm --data wikitext-2 --tokeniser words --epochs 10 --mixed

A run is a folder: config.toml, log.csv, events.jsonl, checkpoint.safetensors, circuits/, plots/ and
report.md. `farad train --list` shows recipes, data sets and keys.";

const EVAL_EXAMPLES: &str = "\
Examples:
  farad eval runs/life-23
  farad eval runs/checkerboard-23 --json           one object a line and seed
  farad eval runs/lm-1 --data other.txt            loss and perplexity on a text

exact: no wrong visible bit at the last step on 64 fresh starts (life: on all 512 neighbourhoods).";

const EXPORT_EXAMPLES: &str = "\
Examples:
  farad export runs/life-23 --format verilog --out hardware
  farad export runs/life-23/circuits/seed-23.simplified.json --format c --out c
  farad export runs/life-23 --raw --format json --out raw       the circuit as it was learned";

const SIMULATE_EXAMPLES: &str = "\
Examples:
  farad simulate runs/life-23 --grid 128x128 --steps 300 --gif
  farad simulate circuit.json --grid 512x512 --steps 1000 --start centre";

const BENCH_EXAMPLES: &str = "\
Examples:
  farad bench                          every case of the best device
  farad bench --device cpu --full      large sizes on the CPU too
  farad bench --filter matmul          cases with `matmul` in their name
  farad bench --filter mlp_train_f32 --json
  farad bench --break-even             from which size on the GPU is worth it
  farad bench --filter mlp_train_f32 --profile    and a profile of five iterations beside

ms is wall time per iteration, several in flight; gpu ms is the GPU's own clock. error is norm-wise,
relative, against f64, on a sample of the result.";

const TUNE_EXAMPLES: &str = "\
Examples:
  farad tune                           products of the MLP's training step
  farad tune matmul bmm --out tiles.json
  FARAD_TUNING=tiles.json farad bench --filter matmul

Without a table a fixed rule chooses tiles, and runs repeat bit for bit. A table is for one GPU and driver;
checkpoints name it. Tiles that are less accurate than the rule's are refused.";

/// Trains neural networks and logic circuits on any GPU and on the CPU.
#[derive(Debug, Parser)]
#[command(name = "farad", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train an automaton of logic gates and prove its circuit, a network on a data set, or a language model on text
    #[command(after_help = TRAIN_EXAMPLES)]
    Train(Box<TrainOptions>),
    /// Say how good the circuits or the network of a run are
    #[command(after_help = EVAL_EXAMPLES)]
    Eval(EvalOptions),
    /// Write a circuit for other tools
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportOptions),
    /// Show what a run or a circuit is made of
    Inspect(InspectOptions),
    /// Run the circuit of an automaton on a grid
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(SimulateOptions),
    /// List the devices of this machine
    Devices(DevicesOptions),
    /// Make text with a language model
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate(GenerateOptions),
    /// Talk to a language model, line by line
    #[command(after_help = CHAT_EXAMPLES)]
    Chat(ChatOptions),
    /// List the runs of a folder
    #[command(after_help = RUNS_EXAMPLES)]
    Runs(RunsOptions),
    /// Show runs in the browser while they train
    #[command(after_help = DASHBOARD_EXAMPLES)]
    Dashboard(DashboardOptions),
    /// Time operations and training steps, and check their results
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchOptions),
    /// Time the tiles of matrix products on this GPU and keep the quickest
    #[command(after_help = TUNE_EXAMPLES)]
    Tune(TuneOptions),
}

/// Which settings a recipe starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Variant {
    /// The settings that work best so far
    #[default]
    Default,
    /// Exactly the published settings
    Reference,
}

/// What a profile measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProfileKind {
    /// Every kernel alone; runs are waited for, so the whole takes longer
    #[default]
    Kernels,
    /// The host's time, with runs as usual; kernels are counted
    Host,
}

/// Options of every command that computes.
#[derive(Debug, Args)]
pub struct ProfileFlags {
    /// At the end, say where time and memory went; with a file, write a trace for Perfetto as well
    #[arg(long, value_name = "TRACE.json", num_args = 0..=1, require_equals = true)]
    pub profile: Option<Option<PathBuf>>,
    /// What --profile measures
    #[arg(long, value_name = "MODE", value_enum, default_value_t, requires = "profile")]
    pub profile_mode: ProfileKind,
}

/// Options of `farad train`.
#[derive(Debug, Args)]
pub struct TrainOptions {
    #[arg(
        value_name = "RECIPE",
        help = format!("What to learn: {}; as a circuit from data: {}; from data: {}, lm", Recipe::all().map(|recipe| recipe.name).join(", "), TaskKind::ALL.map(TaskKind::name).join(", "), SetKind::names()),
        required_unless_present_any = ["resume", "list"]
    )]
    pub name: Option<String>,
    /// Which settings the recipe starts from
    #[arg(long, value_enum, default_value_t)]
    pub recipe: Variant,
    /// `best`, `cpu`, `gpu` or `gpu:1` [default: best; with --resume, that of the run]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// The seed of wiring and data; the recipe's own if none is given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Train so many seeds at once, counted up from the first
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub seeds: u64,
    /// Updates in all
    // A run's folder stores whole numbers with a sign.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub updates: Option<u64>,
    /// Change a setting; may be given again (`--list` shows the keys)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The folder of the run; it must be new or empty [default: runs/RECIPE-SEED]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with this run from its checkpoint
    #[arg(long, value_name = "RUN", conflicts_with_all = ["name", "recipe", "seed", "seeds", "set", "out", "model", "data", "batch", "learning_rate", "optimiser", "schedule", "mixed"])]
    pub resume: Option<PathBuf>,
    /// At the end only count the wrong bits of automata; no simplification, proof, plots and report
    #[arg(long)]
    pub quick: bool,
    /// At the end, one JSON object a line and seed on stdout
    #[arg(long)]
    pub json: bool,
    /// No progress bar and no closing words
    #[arg(long)]
    pub quiet: bool,
    /// Show the recipes and, with one named, its keys
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub network: NetworkFlags,
    #[command(flatten)]
    pub language: LanguageFlags,
    #[command(flatten)]
    pub profile: ProfileFlags,
}

/// The networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelName {
    /// Fully connected layers
    Mlp,
    /// Convolutions and pooling
    Cnn,
    /// The rows of a picture through an LSTM
    Rnn,
}

impl ModelName {
    /// As in settings.
    pub fn name(self) -> &'static str {
        match self {
            ModelName::Mlp => "mlp",
            ModelName::Cnn => "cnn",
            ModelName::Rnn => "rnn",
        }
    }
}

/// Options of `farad train` with a data set.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Data sets")]
pub struct NetworkFlags {
    /// Which network [default: cnn for pictures, mlp for tables]
    #[arg(long, value_name = "MODEL", value_enum)]
    pub model: Option<ModelName>,
    /// Where the data are; `synthetic` for drawn digits [default: the usual places]
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Passes over the training set
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub epochs: Option<u64>,
    /// Samples a step
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub batch: Option<u64>,
    /// The largest learning rate
    #[arg(long, value_name = "RATE")]
    pub learning_rate: Option<f64>,
    /// adamw, adam, sgd, rmsprop, adagrad, lion or muon
    #[arg(long, value_name = "NAME")]
    pub optimiser: Option<String>,
    /// constant, linear, cosine or one-cycle
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<String>,
    /// Compute products with halves
    #[arg(long)]
    pub mixed: bool,
}

impl NetworkFlags {
    /// The first flag that was given, for those who do not take any; the number of epochs is not among them.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.model.is_some(), "--model"),
            (self.data.is_some(), "--data"),
            (self.batch.is_some(), "--batch"),
            (self.learning_rate.is_some(), "--learning-rate"),
            (self.optimiser.is_some(), "--optimiser"),
            (self.schedule.is_some(), "--schedule"),
            (self.mixed, "--mixed"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }
}

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

/// Options of `farad export`.
#[derive(Debug, Args)]
pub struct ExportOptions {
    /// The folder of a run, or a circuit file
    pub source: PathBuf,
    #[arg(long, value_name = "FORMAT", help = format!("Which format: {}", Format::ALL.map(|format| format.name).join(", ")))]
    pub format: String,
    /// The folder for the files; files that exist are not overwritten
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Which seed's circuit, if the run has several [default: the first that was right in training]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The circuit of a run as it was learned, not simplified
    #[arg(long)]
    pub raw: bool,
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

/// Where a simulation starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StartOption {
    /// Every bit at random
    #[default]
    Random,
    /// All channels of the cell in the middle
    Centre,
    /// Nothing
    Zeros,
}

/// Options of `farad simulate`.
#[derive(Debug, Args)]
pub struct SimulateOptions {
    /// A circuit file of an automaton, or the folder of a run
    pub source: PathBuf,
    /// The grid, e.g. 128x128
    #[arg(long, value_name = "WxH")]
    pub grid: String,
    /// How many steps
    #[arg(long, value_name = "N")]
    pub steps: usize,
    /// Where it starts
    #[arg(long, value_enum, default_value_t)]
    pub start: StartOption,
    /// The seed of a random start, and of which cells fire
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// `cpu`, `gpu` or `gpu:1`
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
    /// Write the steps as a GIF, beside the circuit or where a file is named
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "simulation.gif")]
    pub gif: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub profile: ProfileFlags,
}

/// Options of `farad devices`.
#[derive(Debug, Args)]
pub struct DevicesOptions {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Options of `farad bench`.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Only cases whose names contain one of these
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    pub filter: Vec<String>,
    /// `best`, `cpu`, `gpu` or `gpu:1`
    #[arg(long, value_name = "DEVICE", default_value = "best")]
    pub device: String,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// All cases, also the sizes that are too large or too small for the device
    #[arg(long)]
    pub full: bool,
    /// Time a few kinds of work on the CPU and on the GPU, size by size, and say where the GPU starts to win
    #[arg(long)]
    pub break_even: bool,
    /// Make one training step and say when it is done: what the case first_step starts
    #[arg(long, hide = true)]
    pub first_step: bool,
    #[command(flatten)]
    pub profile: ProfileFlags,
}

/// Options of `farad tune`.
#[derive(Debug, Args)]
pub struct TuneOptions {
    /// Bench cases whose products are timed, by parts of their names
    #[arg(value_name = "CASE", default_value = "mlp_train")]
    pub cases: Vec<String>,
    /// `best`, `gpu` or `gpu:1`
    #[arg(long, default_value = "best")]
    pub device: String,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "tuning.json")]
    pub out: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_names_every_recipe_and_every_format() {
        let help = |name: &str| {
            let mut command = Arguments::command();
            command.find_subcommand_mut(name).expect("a subcommand").render_long_help().to_string()
        };
        assert!(Recipe::all().iter().all(|recipe| help("train").contains(recipe.name)));
        assert!(SetKind::ALL.iter().all(|kind| help("train").contains(kind.name())));
        assert!(Format::ALL.iter().all(|format| help("export").contains(format.name)));
    }

    #[test]
    fn a_profile_may_name_a_file_and_never_takes_the_next_word() {
        let flags = |words: &[&str]| {
            let all = ["farad", "eval"].iter().chain(words).copied().chain(["run"]);
            let Command::Eval(options) = Arguments::try_parse_from(all)?.command else { panic!("an eval") };
            Ok::<_, clap::Error>((options.profile.profile, options.profile.profile_mode))
        };
        assert_eq!(flags(&[]).unwrap(), (None, ProfileKind::Kernels));
        assert_eq!(flags(&["--profile"]).unwrap(), (Some(None), ProfileKind::Kernels));
        let named = flags(&["--profile=t.json", "--profile-mode", "host"]).unwrap();
        assert_eq!(named, (Some(Some("t.json".into())), ProfileKind::Host));
        assert!(flags(&["--profile-mode", "host"]).is_err());
    }

    #[test]
    fn filters_are_split_at_commas() {
        let arguments = Arguments::parse_from(["farad", "bench", "--filter", "sum,xor"]);
        let Command::Bench(options) = arguments.command else { panic!("bench was asked for") };
        assert_eq!(options.filter, ["sum", "xor"]);
        assert_eq!(options.device, "best");
    }
}
