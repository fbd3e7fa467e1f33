//! What the command line may say to `farad grow`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::flags::{OutputFlags, whole};

pub const GROW_EXAMPLES: &str = "\
Examples:
  farad grow walker.json --out world.json          the body of a genotype, as a world to train in
  farad grow --random 7 --out world.json --genotype seven.json
  farad grow runs/evolve-1 --rank 3 --out third.json --picture third.png

Keys of --json:
  name, parts, joints, motors, mass, extent, world, genotype, picture";

/// Options of `farad grow`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("plan").required(true).args(["source", "random"]))]
pub struct GrowOptions {
    /// A genotype in JSON, or the folder of a run of `farad train evolve`
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: Option<PathBuf>,
    /// Draw a genotype at random instead, by this seed
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, value_parser = whole(0, u64::MAX))]
    pub random: Option<u64>,
    /// Which creature of a run: 1 is the best
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u64::MAX))]
    pub rank: u64,
    /// The file for the world; it must be new
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Write the genotype, too; the file must be new
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub genotype: Option<PathBuf>,
    /// Write a picture of the body as PNG; the file must be new
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub picture: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputFlags,
}
