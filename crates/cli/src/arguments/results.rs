//! What the command line may say to those who look at runs: `farad eval`, `inspect` and `runs`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::flags::{DeviceFlag, MOST, OutputFlags, ProfileFlags, whole};
use super::language::WeightsFlags;

pub const EVAL_EXAMPLES: &str = "\
Examples:
  farad eval runs/life-5
  farad eval runs/checkerboard-2 --json            one object per line and seed
  farad eval runs/logic-mnist-1 --speed            and nanoseconds per picture
  farad eval runs/cartpole-1                       returns of 100 episodes
  farad eval runs/lm-1 --data other.txt            loss and perplexity on a text
  farad eval --weights models/gpt2 --data other.txt      the same for a published model

exact: no wrong visible bit at the last step on 1,024 fresh starts (life: on all 512 neighborhoods).

Keys of --json:
  automata          seed, exact, exact_before_repair, stable, active_gates, simplified_gates, simplified_channels, proved,
                    out_of_time, depth, simplified_depth, update, wrong, of, settles_at, sizes, healed, error_under_damage,
                    repair
  logic networks    task, model, seed, steps, kept_after, validation_accuracy, accuracy, samples, gates, depth, head,
                    votes, circuit_validation_accuracy, learned_gates, circuit_gates, active_gates, simplified_gates,
                    simplified_depth, proved, out_of_time, repair
  worlds            world, algorithm, seed, updates, episodes, return_mean, return_min, length_mean
  controllers       world, algorithm, seed, updates, episodes, return_mean, return_min, held, return_mean_learned,
                    learned_gates, repaired_gates, simplified_gates, depth, proved
  creatures         search, seed, updates, cells, filled, best, score, tried, refused, broken, elites
  data sets         set, model, samples, loss, accuracy, f1, auc, explained_variance,
                    mean_absolute_error, baseline, target, unit, steps, seed
  language models   text, tokens, loss, perplexity, updates, validation_loss, parameters, tokens_per_second, seed
  published models  text, tokens, loss, perplexity, family, parameters, seconds

Bodies that should get ahead also have body_lengths_mean and body_lengths_min.";

pub const REPAIR_EXAMPLES: &str = "\
Examples:
  farad repair runs/lizard-7                       every seed: exact if it can be, then smaller
  farad repair runs/checkerboard-1 --inexact --seconds 20
  farad repair runs/life-5 --candidates 9000000 --seed 1      another and longer search
  farad repair runs/checkerboard-1 --device cpu    not on the GPU that trained it
  farad repair runs/lizard-7 --inexact --again     if the search is stuck, soft training again
  farad repair runs/logic-mnist-1 --seconds 300    a classifier: more samples right, then fewer gates

The budget counts candidates, so a search is the same every time on the same kind of device; --seconds cuts it short. On a GPU
more chains search side by side, with many candidates at once. The repaired circuit is kept only if it is better on 1,024
starts that neither training nor the search saw. It is beside the learned one (circuits/seed-N.repaired.json), and `eval`,
`export` and `simulate` use it from then on.

For a logic network, candidates are judged on the training samples. The result is kept if more validation samples are right, or as
many with fewer gates (circuits/repaired.json). `farad train` does this for small tables; `--set repair=never|small|always`
changes that. The test samples are only counted.

Keys of --json:
  as those of `farad eval --json`";

pub const INSPECT_EXAMPLES: &str = "\
Examples:
  farad inspect runs/mnist-1                       settings, device, tensors
  farad inspect runs/life-5/circuits/seed-5.simplified.json
  farad inspect runs/lm-1 --json

Keys of --json:
  run               run, kind, device, and what this kind of run is made of; simplified, rule
  circuit           circuit, inputs, outputs, registers, gates, active, active_and_live, depth, largest_fan_out,
                    by_function, lut4, lut6, automaton, rule

rule is what a circuit of at most 48 gates says: ! is not, & and, | or, ^ either or; arrows point to neighbors.";

pub const RUNS_EXAMPLES: &str = "\
Examples:
  farad runs                           the runs in ./runs
  farad runs experiments --json        one object per line
  farad runs runs/life-5 --tag keep --note 'learned at once'

Keys of --json:
  name, run, kind, what, device, shape, updates, state, result, seconds, tags, note, problem

state is running, concluding (the report is being made), done, stopped, unfinished or damaged (problem says why).
result has name, value and words: the final result of the run, else the last validation, else the loss";

/// Options of `farad eval`.
#[derive(Debug, Args)]
pub struct EvalOptions {
    /// The folder of a run
    #[arg(value_hint = ValueHint::DirPath, required_unless_present = "weights", conflicts_with = "weights")]
    pub run: Option<PathBuf>,
    /// Judge a language model on this text instead of the run's own
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub weights: WeightsFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Time the circuit of a logic network too: on one core, and on the GPU if there is one
    #[arg(long)]
    pub speed: bool,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub profile: ProfileFlags,
}

/// Options of `farad repair`.
#[derive(Debug, Args)]
pub struct RepairOptions {
    /// The folder of a run of automata or of a logic network
    #[arg(value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// For automata: only circuits that are not exact (the others could become smaller)
    #[arg(long)]
    pub inexact: bool,
    /// Candidates per search
    #[arg(long, value_name = "N", default_value_t = 2_000_000, allow_negative_numbers = true, value_parser = whole(1, MOST))]
    pub candidates: u64,
    /// Seconds after which each search ends; the report says if it did
    #[arg(long, value_name = "S", default_value_t = 60, allow_negative_numbers = true, value_parser = whole(0, 1_000_000u64))]
    pub seconds: u64,
    /// The seed of the search: another number draws other candidates
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, MOST))]
    pub seed: u64,
    /// For automata: if the search is stuck, train soft gates again from the repaired circuit, within the same budget
    #[arg(long)]
    pub again: bool,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Options of `farad inspect`.
#[derive(Debug, Args)]
pub struct InspectOptions {
    /// The folder of a run, or a circuit file
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: PathBuf,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Options of `farad runs`.
#[derive(Debug, Args)]
pub struct RunsOptions {
    /// The folder that has the runs, or one run [default: runs]
    #[arg(value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    /// Add a tag to the run; may be repeated
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Take a tag from the run; may be repeated
    #[arg(long, value_name = "TAG")]
    pub untag: Vec<String>,
    /// Write a note about the run, in place of the one before
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    #[command(flatten)]
    pub output: OutputFlags,
}

impl RunsOptions {
    /// Whether notes are to be written, not only runs listed.
    pub fn writes(&self) -> bool {
        !self.tag.is_empty() || !self.untag.is_empty() || self.note.is_some()
    }
}
