//! What the command line may say to `farad train`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use farad_logic::Recipe;
use farad_logic::classify::TaskKind;

use super::flags::ProfileFlags;
use super::language::LanguageFlags;
use crate::fit::SetKind;

pub const TRAIN_EXAMPLES: &str = "\
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

/// Which settings a recipe starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Variant {
    /// The settings that work best so far
    #[default]
    Default,
    /// Exactly the published settings
    Reference,
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
