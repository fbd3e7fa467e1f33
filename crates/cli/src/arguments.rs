//! What the command line may say: the commands here, their options in one file per family.
//!
//! Flags that several commands have are written once, in [`flags`]. Start at [`Command`].

mod circuits;
mod flags;
mod grow;
mod language;
mod machine;
mod predict;
mod results;
mod rows;
mod shell;
mod sweep;
mod train;
mod watch;

use clap::{Parser, Subcommand};

use circuits::{EXPORT_EXAMPLES, SIMULATE_EXAMPLES};
pub use circuits::{ExportOptions, SimulateOptions, StartOption};
pub use flags::{DeviceFlag, OutputFlags, ProfileFlags, ProfileKind, whole};
use grow::GROW_EXAMPLES;
pub use grow::GrowOptions;
use language::{CHAT_EXAMPLES, GENERATE_EXAMPLES};
pub use language::{ChatOptions, GenerateOptions, WeightsFlags};
use machine::{BENCH_EXAMPLES, DEVICES_EXAMPLES, TUNE_EXAMPLES};
pub use machine::{BenchOptions, DevicesOptions, TuneOptions};
use predict::PREDICT_EXAMPLES;
pub use predict::PredictOptions;
use results::{EVAL_EXAMPLES, INSPECT_EXAMPLES, REPAIR_EXAMPLES, RUNS_EXAMPLES};
pub use results::{EvalOptions, InspectOptions, RepairOptions, RunsOptions};
pub use rows::{EVAL_FLAGS, known_keys, resumes, words_of};
use shell::{COMPLETIONS_EXAMPLES, MAN_EXAMPLES};
pub use shell::{CompletionsOptions, ManOptions};
use sweep::SWEEP_EXAMPLES;
pub use sweep::SweepOptions;
use train::TRAIN_EXAMPLES;
pub use train::{TrainOptions, learnable};
use watch::WATCH_EXAMPLES;
pub use watch::WatchOptions;

use crate::dashboard::{DASHBOARD_EXAMPLES, DashboardOptions};
use crate::data::{DATA_EXAMPLES, DataOptions};
use crate::look::{HELP, brief, examples};
use crate::serve::{SERVE_EXAMPLES, ServeOptions};

const EXAMPLES: &str = "\
Examples:
  farad train checkerboard             learn an automaton, prove and simplify its circuit
  farad train mnist                    learn handwritten digits with a convolutional network
  farad train lm --data book.txt       learn to write like a book
  farad dashboard                      see runs in the browser while they train
  farad runs                           what was trained here
  farad devices                        the devices of this machine

More examples:
  farad train --list                   everything that can be learned
  farad eval runs/checkerboard-2       how good the circuit is
  farad predict runs/mnist-1 --data picture.png
  farad sweep sweep.toml               many settings, the best first
  farad serve runs/mnist-1             predictions over HTTP, and a page to try them
  farad export runs/checkerboard-2 --format verilog --out hardware
  farad generate runs/lm-1 --prompt \"The\"
  farad bench --device cpu --filter matmul,softmax
  farad bench --device gpu:0 --json > gpu.jsonl
  farad completions bash > ~/.local/share/bash-completion/completions/farad

Exit codes:
  0      done
  1      failed: a file, a device, data, a wrong result of a bench
  2      wrong command line
  130    interrupted by Ctrl-C or SIGTERM; a training saves first (the second time it ends at once, unsaved)

Environment:
  FARAD_DEVICE=cpu                     the device that `best` means
  FARAD_TUNING=tuning.json             tiles that `farad tune` chose
  FARAD_CACHE=DIR                      where compiled GPU pipelines are kept (off: nowhere)
  FARAD_TOKEN=TEXT                     what requests to `farad serve` must carry
  FARAD_DATA=data                      where data sets are looked for first
  FARAD_DEBUG=plan,passes,wgsl,time,nan
                                       show programs, graphs, shaders, kernel times; find the first NaN
  NO_COLOR=1, CLICOLOR_FORCE=1         colors never; colors always";

/// Trains neural networks and logic circuits on any GPU and on the CPU.
#[derive(Debug, Parser)]
#[command(
    name = "farad",
    version,
    styles = HELP,
    after_help = brief(EXAMPLES),
    after_long_help = examples(EXAMPLES),
    arg_required_else_help = true
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train an automaton of logic gates and prove its circuit, a network on a data set, or a language model on text
    #[command(after_help = brief(TRAIN_EXAMPLES), after_long_help = examples(TRAIN_EXAMPLES))]
    Train(Box<TrainOptions>),
    /// Train with many settings, several runs at once, and say which are best
    #[command(after_help = brief(SWEEP_EXAMPLES), after_long_help = examples(SWEEP_EXAMPLES))]
    Sweep(SweepOptions),
    /// Judge the circuits or the network of a run
    #[command(after_help = brief(EVAL_EXAMPLES), after_long_help = examples(EVAL_EXAMPLES))]
    Eval(EvalOptions),
    /// Predict with a trained network or circuit on new data
    #[command(after_help = brief(PREDICT_EXAMPLES), after_long_help = examples(PREDICT_EXAMPLES))]
    Predict(PredictOptions),
    /// Search for exact and smaller circuits, starting from learned ones
    #[command(after_help = brief(REPAIR_EXAMPLES), after_long_help = examples(REPAIR_EXAMPLES))]
    Repair(RepairOptions),
    /// Write a circuit or a network for other tools
    #[command(after_help = brief(EXPORT_EXAMPLES), after_long_help = examples(EXPORT_EXAMPLES))]
    Export(ExportOptions),
    /// Show what a run or a circuit is made of
    #[command(after_help = brief(INSPECT_EXAMPLES), after_long_help = examples(INSPECT_EXAMPLES))]
    Inspect(InspectOptions),
    /// Run the circuit of an automaton on a grid
    #[command(after_help = brief(SIMULATE_EXAMPLES), after_long_help = examples(SIMULATE_EXAMPLES))]
    Simulate(SimulateOptions),
    /// See an agent or a controller act, as a film
    #[command(after_help = brief(WATCH_EXAMPLES), after_long_help = examples(WATCH_EXAMPLES))]
    Watch(WatchOptions),
    /// Grow the body of a genotype, as a world that can be trained in
    #[command(after_help = brief(GROW_EXAMPLES), after_long_help = examples(GROW_EXAMPLES))]
    Grow(GrowOptions),
    /// List the devices of this machine
    #[command(after_help = brief(DEVICES_EXAMPLES), after_long_help = examples(DEVICES_EXAMPLES))]
    Devices(DevicesOptions),
    /// Generate text with a language model
    #[command(after_help = brief(GENERATE_EXAMPLES), after_long_help = examples(GENERATE_EXAMPLES))]
    Generate(GenerateOptions),
    /// Talk to a language model, line by line
    #[command(after_help = brief(CHAT_EXAMPLES), after_long_help = examples(CHAT_EXAMPLES))]
    Chat(ChatOptions),
    /// List the runs of a folder
    #[command(after_help = brief(RUNS_EXAMPLES), after_long_help = examples(RUNS_EXAMPLES))]
    Runs(RunsOptions),
    /// Show runs in the browser while they train
    #[command(after_help = brief(DASHBOARD_EXAMPLES), after_long_help = examples(DASHBOARD_EXAMPLES))]
    Dashboard(DashboardOptions),
    /// Answer with predictions or text over HTTP
    #[command(after_help = brief(SERVE_EXAMPLES), after_long_help = examples(SERVE_EXAMPLES))]
    Serve(ServeOptions),
    /// List and fetch published data sets
    #[command(after_help = brief(DATA_EXAMPLES), after_long_help = examples(DATA_EXAMPLES))]
    Data(DataOptions),
    /// Time operations and training steps, and check their results
    #[command(after_help = brief(BENCH_EXAMPLES), after_long_help = examples(BENCH_EXAMPLES))]
    Bench(BenchOptions),
    /// Time the tiles of matrix products on this GPU and keep the fastest
    #[command(after_help = brief(TUNE_EXAMPLES), after_long_help = examples(TUNE_EXAMPLES))]
    Tune(TuneOptions),
    /// Print a shell's completions of commands, flags, recipes and formats
    #[command(after_help = brief(COMPLETIONS_EXAMPLES), after_long_help = examples(COMPLETIONS_EXAMPLES))]
    Completions(CompletionsOptions),
    /// Print a manual page, or write all of them
    #[command(after_help = brief(MAN_EXAMPLES), after_long_help = examples(MAN_EXAMPLES))]
    Man(ManOptions),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use farad::data::DATA_SETS;
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
        assert!(DATA_SETS.iter().all(|set| help("train").contains(set.name)));
        assert!(Format::ALL.iter().all(|format| help("export").contains(format.name)));
    }

    #[test]
    fn the_same_flag_has_the_same_words_everywhere() {
        let mut known = std::collections::BTreeMap::new();
        for command in Arguments::command().get_subcommands() {
            assert!(command.get_after_long_help().is_some(), "{} has no examples", command.get_name());
            for flag in ["device", "json", "quiet", "profile"] {
                let Some(flag) = command.get_arguments().find(|argument| argument.get_id() == flag) else {
                    continue;
                };
                let said =
                    (flag.get_help().map(ToString::to_string), flag.get_value_names().map(<[_]>::to_vec));
                let first = known.entry(flag.get_id().to_string()).or_insert_with(|| said.clone());
                assert_eq!(*first, said, "{} --{}", command.get_name(), flag.get_id());
            }
        }
        assert_eq!(known.len(), 4);
    }

    /// Whatever takes a number says which numbers it takes, also to a negative one.
    #[test]
    fn every_flag_that_takes_a_number_says_which() {
        let mut seen = 0;
        for command in Arguments::command().get_subcommands() {
            for argument in command.get_arguments() {
                // Only numbers are parsed from these and not from any text.
                let Some(long) = argument.get_long().filter(|_| takes_numbers(argument)) else { continue };
                for value in ["-5", "x", "-1.5"] {
                    let words = ["farad", command.get_name(), &format!("--{long}"), value];
                    let error = Arguments::try_parse_from(words).map(|_| ()).unwrap_err();
                    let text = crate::usage::text(&error, words[1..].iter().copied());
                    let wanted = format!("{}: --{long} takes a ", command.get_name());
                    assert!(text.starts_with(&wanted), "{words:?}: {text}");
                    assert!(text.contains(&format!(", not `{value}`\n")), "{words:?}: {text}");
                }
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen}");
    }

    fn takes_numbers(argument: &clap::Arg) -> bool {
        use std::any::TypeId;
        let value = argument.get_value_parser().type_id();
        let whole = [TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>()];
        let signed = [TypeId::of::<i32>(), TypeId::of::<i64>(), TypeId::of::<f32>(), TypeId::of::<f64>()];
        whole.into_iter().chain(signed).any(|kind| value == kind)
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
        assert_eq!(options.device.name(), "best");
    }
}
