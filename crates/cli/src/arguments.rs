//! What the command line may say.

use clap::{Args, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  farad devices                        what there is to compute on
  farad bench                          time the best device
  farad bench --device cpu --filter matmul,softmax
  farad bench --device gpu:0 --json > gpu.jsonl

Environment:
  FARAD_DEVICE=cpu                     the device that `best` means
  FARAD_DEBUG=plan,wgsl,time,nan       show programs, shaders, kernel times; find the first NaN";

const BENCH_EXAMPLES: &str = "\
Examples:
  farad bench                          every case of the best device
  farad bench --device cpu --full      large sizes on the CPU too
  farad bench --filter matmul          cases with `matmul` in their name
  farad bench --filter mlp_train_f32 --json

ms is wall time per iteration, several in flight; gpu ms is the GPU's own clock. error is norm-wise,
relative, against f64, on a sample of the result.";

/// Trains neural networks on any GPU and on the CPU.
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
    /// List the devices of this machine
    Devices(DevicesOptions),
    /// Time operations and training steps, and check their results
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchOptions),
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
    /// Make one training step and say when it is done: what the case first_step starts
    #[arg(long, hide = true)]
    pub first_step: bool,
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
    fn filters_are_split_at_commas() {
        let arguments = Arguments::parse_from(["farad", "bench", "--filter", "sum,xor"]);
        let Command::Bench(options) = arguments.command else { panic!("bench was asked for") };
        assert_eq!(options.filter, ["sum", "xor"]);
        assert_eq!(options.device, "best");
    }
}
