//! `farad completions`: what makes a shell complete commands, flags and the words that flags take.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsOptions};
use crate::error::Result;

/// Prints the script of a shell.
pub fn run(options: &CompletionsOptions) -> Result<()> {
    let mut script = vec![];
    clap_complete::generate(options.shell, &mut Arguments::command(), "farad", &mut script);
    // Written at once, so that a closed pipe is an error here and no panic there.
    let mut out = std::io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
