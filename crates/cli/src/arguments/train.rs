//! What the command line may say to `farad train`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use farad::fit::{SCHEDULES, SetKind};
use farad::train::OPTIMIZERS;
use farad_logic::Recipe;
use farad_logic::classify::TaskKind;

use super::flags::{DeviceFlag, MOST, OutputFlags, ProfileFlags, Words, number, whole};
use super::language::LanguageFlags;
use crate::lm;

pub const TRAIN_EXAMPLES: &str = "\
Examples:
  farad train checkerboard                         an automaton: learned, simplified, proved, in seconds
  farad train logic-mnist --data synthetic         a circuit that reads digits
  farad train mnist --data synthetic               a network that reads digits
  farad train lm --data book.txt                   a language model
  farad train --list                               everything there is to learn

Automata:
  farad train life                                 the default recipe, device and seed
  farad train checkerboard --device cpu --seed 5
  farad train checkerboard --seeds 16 --updates 2000      16 seeds at once
  farad train lizard --recipe reference            exactly as published
  farad train life --set learning_rate=0.03 --set warm_up=100
  farad train --resume runs/life-5                 go on after Ctrl-C, or to more --updates
  farad train life --updates 50 --profile=trace.json      where the time goes
  farad train checkerboard --seeds 16 --quick --set forward=gumbel     how many seeds succeed

Data sets:
  farad train mnist --model mlp --epochs 5         a network on a data set
  farad train cifar10 --data pictures/cifar10 --mixed --batch 256
  farad train csv --data flowers.csv --set target=species
  farad train logic-mnist --set model=medium       48,000 gates; `logic-mnist --list` shows the models
  farad train logic-table --data flowers.csv --set target=species

Language models:
  farad train lm --data book.txt --layers 2 --heads 4 --width 128 --context 64 --batch 16 --updates 1000
  farad train lm --data wikitext-2 --tokenizer words --epochs 10 --mixed

A run is a folder: config.toml, log.csv, events.jsonl, checkpoint.safetensors, circuits/, plots/ and
report.md. Ctrl-C saves and ends with exit code 130; --resume goes on with the same bits.

Keys of --json:
  as those of `farad eval --json`; with --quick: seed, exact, wrong, of, update, active_gates, gate_evaluations
  with --list: name, kind, about; with a recipe: key, default and, where there are others, reference or models";

/// Which settings a recipe starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Variant {
    /// The settings that work best so far
    Default,
    /// Exactly the published settings
    Reference,
}

impl Variant {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Default => "default",
            Variant::Reference => "reference",
        }
    }
}

/// Everything there is to learn, with what it is.
pub fn learnable() -> impl Iterator<Item = (&'static str, &'static str)> {
    let recipes = Recipe::all().into_iter().map(|recipe| (recipe.name, recipe.about));
    let tasks = TaskKind::ALL.into_iter().map(|task| (task.name(), task.about()));
    let sets = SetKind::ALL.into_iter().map(|set| (set.name(), set.about()));
    recipes.chain(tasks).chain(sets).chain([(lm::NAME, lm::ABOUT)])
}

/// Options of `farad train`.
#[derive(Debug, Args)]
pub struct TrainOptions {
    #[arg(
        value_name = "RECIPE",
        help = format!("What to learn: {}; as a circuit from data: {}; from data: {}, lm", Recipe::all().map(|recipe| recipe.name).join(", "), TaskKind::ALL.map(TaskKind::name).join(", "), SetKind::names()),
        value_parser = Words::explained(learnable()),
        hide_possible_values = true,
        required_unless_present_any = ["resume", "list"]
    )]
    pub name: Option<String>,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// The seed of everything random [default: the recipe's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, MOST))]
    pub seed: Option<u64>,
    /// Updates in all
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, MOST))]
    pub updates: Option<u64>,
    /// Change a setting; may be given again (`farad train RECIPE --list` shows the keys)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The folder of the run; it must be new or empty [default: runs/RECIPE-SEED]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Go on with this run from its checkpoint
    #[arg(long, value_name = "RUN", value_hint = ValueHint::DirPath, conflicts_with_all = ["name", "recipe", "seed", "seeds", "set", "out", "model", "data", "batch", "learning_rate", "optimizer", "schedule", "mixed"])]
    pub resume: Option<PathBuf>,
    /// Show what there is to learn or, with a recipe, its keys
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub automata: AutomataFlags,
    #[command(flatten)]
    pub network: NetworkFlags,
    #[command(flatten)]
    pub language: LanguageFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub profile: ProfileFlags,
}

/// Options of `farad train` with an automaton.
#[derive(Debug, Args)]
#[command(next_help_heading = "Automata")]
pub struct AutomataFlags {
    /// Which settings the recipe starts from [default: default]
    #[arg(long, value_name = "VARIANT", value_enum)]
    pub recipe: Option<Variant>,
    /// Train so many seeds at once, counted up from the first
    #[arg(long, value_name = "K", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1u64, 1024))]
    pub seeds: u64,
    /// At the end only count the wrong bits; no simplification, proof, pictures and report
    #[arg(long)]
    pub quick: bool,
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
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub data: Option<PathBuf>,
    /// Passes over the training set
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1u64, 1_000_000))]
    pub epochs: Option<u64>,
    /// Samples a step
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1u64, 1_000_000))]
    pub batch: Option<u64>,
    /// The largest learning rate
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, value_parser = number(0.0, f64::MAX, "a number from 0 on"))]
    pub learning_rate: Option<f64>,
    /// adamw, adam, sgd, rmsprop, adagrad, lion or muon
    #[arg(long, alias = "optimiser", value_name = "NAME", value_parser = Words::plain(OPTIMIZERS), hide_possible_values = true)]
    pub optimizer: Option<String>,
    /// constant, linear, cosine or one-cycle
    #[arg(long, value_name = "NAME", value_parser = Words::plain(SCHEDULES), hide_possible_values = true)]
    pub schedule: Option<String>,
    /// Compute products with halves
    #[arg(long)]
    pub mixed: bool,
}

/// The flags that were given for a training of the table of kinds, by the keys of settings.
pub fn given(options: &TrainOptions) -> Vec<(&'static str, String)> {
    let (network, automata) = (&options.network, &options.automata);
    let text = |number: Option<u64>| number.map(|number| number.to_string());
    let given = [
        ("seed", text(options.seed)),
        ("updates", text(options.updates)),
        ("model", network.model.map(|model| model.name().into())),
        ("data", network.data.as_ref().map(|data| data.display().to_string())),
        ("epochs", text(network.epochs)),
        ("batch", text(network.batch)),
        ("learning_rate", network.learning_rate.map(|rate| rate.to_string())),
        ("optimizer", network.optimizer.clone()),
        ("schedule", network.schedule.clone()),
        ("mixed", network.mixed.then(|| "true".into())),
        ("recipe", automata.recipe.map(|variant| variant.name().into())),
        ("seeds", (automata.seeds != 1).then(|| automata.seeds.to_string())),
        ("quick", automata.quick.then(|| "true".into())),
    ];
    given.into_iter().filter_map(|(flag, text)| Some((flag, text?))).collect()
}

/// How a flag is typed, by its key.
pub fn flag_of(key: &str) -> &'static str {
    const FLAGS: [(&str, &str); 13] = [
        ("seed", "--seed"),
        ("updates", "--updates"),
        ("model", "--model"),
        ("data", "--data"),
        ("epochs", "--epochs"),
        ("batch", "--batch"),
        ("learning_rate", "--learning-rate"),
        ("optimizer", "--optimizer"),
        ("schedule", "--schedule"),
        ("mixed", "--mixed"),
        ("recipe", "--recipe"),
        ("seeds", "--seeds"),
        ("quick", "--quick"),
    ];
    FLAGS.iter().find(|(known, _)| *known == key).map_or("it", |(_, flag)| flag)
}

impl AutomataFlags {
    /// The first flag that was given, for those who do not take any.
    pub fn first_given(&self) -> Option<&'static str> {
        let given =
            [(self.recipe.is_some(), "--recipe"), (self.seeds != 1, "--seeds"), (self.quick, "--quick")];
        given.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }
}
