//! What the command line may say: the commands here, their options in one file a family.
//!
//! Flags that several commands have are written once, in [`flags`]. Start at [`Command`].

mod circuits;
mod flags;
mod language;
mod machine;
mod results;
mod train;

use clap::{Parser, Subcommand};

use circuits::{EXPORT_EXAMPLES, SIMULATE_EXAMPLES};
pub use circuits::{ExportOptions, SimulateOptions, StartOption};
pub use flags::{ProfileFlags, ProfileKind};
use language::{CHAT_EXAMPLES, GENERATE_EXAMPLES};
pub use language::{ChatOptions, GenerateOptions};
use machine::{BENCH_EXAMPLES, TUNE_EXAMPLES};
pub use machine::{BenchOptions, DevicesOptions, TuneOptions};
use results::{EVAL_EXAMPLES, RUNS_EXAMPLES};
pub use results::{EvalOptions, InspectOptions, RunsOptions};
use train::TRAIN_EXAMPLES;
pub use train::{ModelName, TrainOptions, Variant};

const EXAMPLES: &str = "\
Examples:
  farad train mnist                    learn handwritten digits with a convolutional network
  farad train checkerboard             learn an automaton, prove and simplify its circuit
  farad train lm --data book.txt       learn to write like a book
  farad generate runs/lm-1 --prompt \"The\"
  farad eval runs/checkerboard-23      how good the circuit is
  farad export runs/checkerboard-23 --format verilog --out hardware
  farad devices                        what there is to compute on
  farad bench                          time the best device
  farad bench --device cpu --filter matmul,softmax
  farad bench --device gpu:0 --json > gpu.jsonl

Environment:
  FARAD_DEVICE=cpu                     the device that `best` means
  FARAD_TUNING=tuning.json             tiles that `farad tune` chose
  FARAD_DATA=data                      where data sets are looked for first
  FARAD_DEBUG=plan,wgsl,time,nan       show programs, shaders, kernel times; find the first NaN";

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
    /// Time operations and training steps, and check their results
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchOptions),
    /// Time the tiles of matrix products on this GPU and keep the quickest
    #[command(after_help = TUNE_EXAMPLES)]
    Tune(TuneOptions),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::SetKind;
    use clap::CommandFactory;
    use farad_circuit::Format;
    use farad_logic::Recipe;

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
