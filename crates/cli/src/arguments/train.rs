//! What the command line may say to `farad train`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::flags::{AnyWord, DeviceFlag, OutputFlags, ProfileFlags, whole};
use super::rows::GivenFlags;
use crate::kinds::KINDS;

pub const TRAIN_EXAMPLES: &str = "\
Examples:
  farad train checkerboard                         an automaton: learned, simplified, proved, in seconds
  farad train logic-mnist --data synthetic         a circuit that reads digits
  farad train mnist --data synthetic               a network that reads digits
  farad train lm --data book.txt                   a language model
  farad train --list                               everything that can be learned

Automata:
  farad train life                                 the default recipe, device and seed
  farad train checkerboard --device cpu --seed 5
  farad train checkerboard --seeds 16 --updates 2000      16 seeds at once
  farad train lizard --recipe reference            exactly as published
  farad train life --set learning_rate=0.03 --set warm_up=100
  farad train --resume runs/life-5                 go on after Ctrl-C, or to more --updates
  farad train life --updates 50 --profile=trace.json      where the time goes
  farad train checkerboard --seeds 16 --quick --set freeze_order=anew      how many seeds succeed

Data sets:
  farad train mnist --model mlp --epochs 5         a network on a data set
  farad train cifar10 --data pictures/cifar10 --mixed --batch 256
  farad train csv --data flowers.csv --set target=species
  farad train logic-mnist --model medium           48,000 gates; `logic-mnist --list` shows the models
  farad train logic-table --data flowers.csv --set target=species

Worlds:
  farad train cartpole                             an agent that holds a pole, by PPO, in seconds
  farad train pendulum --algorithm es --seeds 4    by evolution, four agents side by side
  farad train cartpole-circuit                     a controller made of logic gates, proved and in Verilog
  farad train evolve                               bodies that evolve together with what moves them

Language models:
  farad train lm --data book.txt --layers 2 --heads 4 --width 128 --context 64 --batch 16 --updates 1000
  farad train lm --data wikitext-2 --tokenizer words --epochs 10 --mixed
  farad train lm --from models/gpt2 --data book.txt      go on with published weights (Hugging Face's files)
  farad train lm --from models/qwen2-instruct --lora 16 --data chats.jsonl      adapters; only answers count

Several processes (needs a build with the feature mpi):
  mpirun -n 4 farad train mnist          networks, logic networks, language models, PPO, evolution and automata,
                                         on one machine or many

A run is a folder: config.toml, log.csv, events.jsonl, checkpoint.safetensors, circuits/, plots/ and
report.md. Ctrl-C saves and ends with exit code 130; --resume goes on with the same bits.

Keys of --json:
  as those of `farad eval --json`; with --quick: seed, exact, wrong, of, update, active_gates, gate_evaluations
  with --list: name, kind, about; with a recipe: key, default, help and, where there are others, reference or models";

/// Everything there is to learn, with what it is.
pub fn learnable() -> impl Iterator<Item = (&'static str, &'static str)> {
    let subjects = KINDS.all().flat_map(|kind| kind.subjects());
    subjects.map(|subject| (subject.name, subject.about))
}

/// Options of `farad train`.
#[derive(Debug, Args)]
pub struct TrainOptions {
    #[arg(
        value_name = "RECIPE",
        help = format!("What to learn: {}", learnable().map(|(name, _)| name).collect::<Vec<_>>().join(", ")),
        value_parser = AnyWord::explained(learnable()),
        hide_possible_values = true,
        required_unless_present_any = ["resume", "list"]
    )]
    pub name: Option<String>,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Change a setting; may be repeated (`farad train RECIPE --list` shows the keys)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The folder of the run; it must be new or empty [default: runs/RECIPE-SEED]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Continue this run from its checkpoint
    #[arg(long, value_name = "RUN", value_hint = ValueHint::DirPath, conflicts_with_all = ["name", "set", "out"])]
    pub resume: Option<PathBuf>,
    /// Show what can be learned or, with a recipe, its keys
    #[arg(long)]
    pub list: bool,
    /// Be one of so many trainings that `farad sweep` has started: use that share of the cores, and stop when the input ends
    #[arg(long, value_name = "N", hide = true, value_parser = whole(1, 256usize), allow_negative_numbers = true)]
    pub among: Option<usize>,
    #[command(flatten)]
    pub flags: GivenFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub profile: ProfileFlags,
}
