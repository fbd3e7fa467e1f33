//! The `farad` command: train automata and networks, turn automata into circuits, and see what there is to compute on.
//!
//! Results go to stdout, everything else to stderr. Start at [`arguments`], then one module a
//! subcommand; how things are shown is in [`look`].

mod arguments;
mod bench;
mod circuits;
mod completions;
mod dashboard;
mod devices;
mod error;
mod eval;
mod export;
#[cfg(test)]
mod guide;
mod inspect;
mod kinds;
mod lm;
mod look;
mod man;
mod networks;
mod predict;
mod processor;
mod profile;
mod repair;
mod runs;
mod simulate;
mod source;
mod subscribe;
mod train;
mod training;
mod tune;
mod usage;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use error::Error;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage::answer(&error),
    };
    subscribe::subscribe();
    let done = match arguments.command {
        Command::Train(options) => train::run(&options),
        Command::Eval(options) => eval::run(&options),
        Command::Predict(options) => predict::run(&options),
        Command::Repair(options) => repair::run(&options),
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
        Command::Completions(options) => completions::run(&options),
        Command::Man(options) => man::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the output has seen enough.
        Err(Error::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, Error::Interrupted) {
                look::fail(&error);
            }
            ExitCode::from(error.code())
        }
    }
}
