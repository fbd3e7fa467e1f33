//! What the command line may say to those who look at the machine: `farad devices`, `bench` and `tune`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::flags::{DeviceFlag, OutputFlags, ProfileFlags, whole};

pub const DEVICES_EXAMPLES: &str = "\
Examples:
  farad devices                        GPUs, the CPU and test devices; the star marks `best`
  farad devices --json

Keys of --json:
  gpu:N             device, index, name, kind, backend, driver, best, memory, features, limits
  cpu               device, name, kind, cores, simd, memory, best
  reference         device, name, kind, memory, best";

pub const BENCH_EXAMPLES: &str = "\
Examples:
  farad bench                          every case of the best device
  farad bench --device cpu --full      large sizes on the CPU too
  farad bench --filter matmul          cases with `matmul` in their name
  farad bench --filter mlp_train_f32 --json
  farad bench --random 200 --seed 7    random shapes
  farad bench --break-even             from which size on a GPU pays off
  farad bench --group                  what it costs ranks to take means, and how much of it is hidden; try it under mpirun
  farad bench --filter mlp_train_f32 --profile    and a profile of five iterations beside

ms is wall time per iteration, several in flight; gpu ms is the GPU's own clock. error is norm-wise,
relative, against f64, on a sample of the result.

Keys of --json:
  case, device, ms, gpu_ms, gflops, gbs, error, items_per_second, best_ms, sync_ms, first_s, iterations, kind, hardware,
  version, time
  with --break-even: work, size, cpu_ms, gpu_ms
  with --group: ranks, bytes, us, gbs; then ranks, latency_us, ns_per_byte, ns_per_byte_beyond; ranks, mode,
  step_ms; at the end ranks, gradient_bytes, hidden, right, apart, read_us_per_mb, upload_us_per_mb";

pub const TUNE_EXAMPLES: &str = "\
Examples:
  farad tune                           products of the MLP's training step
  farad tune matmul bmm --out tiles.json
  FARAD_TUNING=tiles.json farad bench --filter matmul

Without a table a fixed rule chooses tiles, and runs repeat bit for bit. A table is for one GPU and driver;
checkpoints name it. Tiles with more than 1.5 times the error of the rule's are refused.

Keys of --json:
  product, rule, rule_ms, best, best_ms, error, refused";

/// Options of `farad devices`.
#[derive(Debug, Args)]
pub struct DevicesOptions {
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Options of `farad bench`.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Only cases whose names contain one of these
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    pub filter: Vec<String>,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// All cases, also the sizes that are too large or too small for the device
    #[arg(long)]
    pub full: bool,
    /// Random shapes instead of the cases: products, convolutions, rows, steps of networks
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, 100_000usize))]
    pub random: Option<usize>,
    /// Which shapes are drawn
    #[arg(long, value_name = "N", default_value_t = 1, requires = "random", allow_negative_numbers = true, value_parser = whole(0, u64::MAX))]
    pub seed: u64,
    /// Print the shapes as JSON for other programs and time nothing
    #[arg(long, requires = "random")]
    pub list: bool,
    /// Time a few kinds of work on the CPU and on the GPU, size by size, and say where the GPU starts to win
    #[arg(long)]
    pub break_even: bool,
    /// Time what ranks cost each other: processes under mpirun, else threads with a handle of the device each
    #[arg(long)]
    pub group: bool,
    /// How many threads are ranks, where no mpirun started several processes
    #[arg(long, value_name = "N", default_value_t = 2, requires = "group", allow_negative_numbers = true, value_parser = whole(1, 64usize))]
    pub ranks: usize,
    /// Make one iteration of a case and say when it is done: what the case first_step starts
    #[arg(long, value_name = "CASE", hide = true)]
    pub first_step: Option<String>,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub profile: ProfileFlags,
}

/// Options of `farad tune`.
#[derive(Debug, Args)]
pub struct TuneOptions {
    /// Bench cases whose products are timed, by parts of their names
    #[arg(value_name = "CASE", default_value = "mlp_train")]
    pub cases: Vec<String>,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "tuning.json", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Time every tile on this many random products instead, and write no table: what the cost model is fitted to
    #[arg(long, value_name = "N", conflicts_with = "cases", allow_negative_numbers = true, value_parser = whole(1, 100_000usize))]
    pub random: Option<usize>,
    /// Which products are drawn
    #[arg(long, value_name = "N", default_value_t = 1, requires = "random", allow_negative_numbers = true, value_parser = whole(0, u64::MAX))]
    pub seed: u64,
    #[command(flatten)]
    pub output: OutputFlags,
}
