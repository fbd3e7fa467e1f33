//! Flags that several commands share, so that the same thing has the same name everywhere.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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
