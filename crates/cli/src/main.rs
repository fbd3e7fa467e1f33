//! The `farad` command: train automata and networks, turn automata into circuits, and see what there is to compute on.
//!
//! Results go to stdout, everything else to stderr. Start at [`arguments`], then one module a
//! subcommand.

mod arguments;
mod bench;
mod classify;
mod dashboard;
mod devices;
mod error;
mod eval;
mod export;
mod fit;
#[cfg(test)]
mod guide;
mod inspect;
mod lm;
mod processor;
mod profile;
mod runs;
mod simulate;
mod source;
mod train;
mod tune;

use std::io::{ErrorKind, IsTerminal};
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use arguments::{Arguments, Command};
use error::Error;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    subscribe();
    let done = match arguments.command {
        Command::Train(options) => train::run(&options),
        Command::Eval(options) => eval::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Inspect(options) => inspect::run(&options),
        Command::Simulate(options) => simulate::run(&options),
        Command::Devices(options) => devices::run(&options),
        Command::Generate(options) => lm::generate::run(&options),
        Command::Chat(options) => lm::chat::run(&options),
        Command::Runs(options) => runs::run(&options),
        Command::Dashboard(options) => dashboard::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Tune(options) => tune::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the output has seen enough.
        Err(Error::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Shows warnings of the libraries, and what `FARAD_DEBUG` asks for, on stderr.
fn subscribe() {
    let asked = ["farad::plan", "farad::wgsl", "farad::time"].map(|target| (target, LevelFilter::INFO));
    let shown = Targets::new().with_default(LevelFilter::WARN).with_targets(asked);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time();
    tracing_subscriber::registry().with(lines).with(shown).init();
}
