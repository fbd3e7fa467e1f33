//! The `farad` command: train automata, networks and language models, export and simulate circuits, and see
//! the devices of this machine.
//!
//! Results go to stdout, everything else to stderr; a closed stderr stops nothing. Start at [`arguments`],
//! then one module per subcommand.
//!
//! - [`arguments`] defines the command line, one file per family of commands. Flags that several commands
//!   share (`--device`, `--json`, `--quiet`, `--profile`) are structures in `arguments/flags.rs`, so they
//!   have one name and one text. Flags of `train` are rows of `arguments/rows.rs`.
//! - [`training`] drives any kind of the table [`kinds`]; [`circuits`] is the table of kinds that learn
//!   circuits.
//! - [`mod@sweep`] starts trainings with many settings, as processes of their own.
//! - [`ranks`] is what processes that `mpirun` started do beside that.
//! - [`look`] is how everything is shown: colors, numbers, tables, progress, and what a training says when it
//!   begins and ends. Text is written with its colors, and the streams of `look` remove them unless they end
//!   in a terminal.
//! - [`usage`] turns clap's errors into the project's form; [`mod@error`] says which exit code an error has, and [`advice`] what to
//!   do about those that do not say it.
//!
//! Exit codes and the keys of `--json` are in `--help`, and tests compare them with what comes out
//! (`tests/look.rs`). Manual pages and completions are made from the same definitions.

mod advice;
mod arguments;
mod bench;
mod circuits;
mod completions;
mod dashboard;
mod data;
mod devices;
mod error;
mod eval;
mod export;
mod film;
mod grow;
#[cfg(test)]
mod guide;
mod inspect;
mod kinds;
mod lm;
mod look;
mod man;
mod networks;
mod pages;
mod predict;
mod processor;
mod profile;
mod ranks;
mod repair;
mod runs;
mod serve;
mod signals;
mod simulate;
mod source;
mod subscribe;
mod sweep;
mod train;
mod training;
mod tune;
mod usage;
mod watch;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use error::Error;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // All ranks have the same command line, and the first answers.
        Err(error) if ranks::is_follower() && error.use_stderr() => {
            ranks::let_the_first_speak();
            return ExitCode::from(usage::WRONG);
        }
        Err(error) => return usage::answer(&error),
    };
    subscribe::subscribe();
    let done = match arguments.command {
        Command::Train(options) => train::run(&options),
        Command::Sweep(options) => sweep::run(&options),
        Command::Eval(options) => eval::run(&options),
        Command::Predict(options) => predict::run(&options),
        Command::Repair(options) => repair::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Inspect(options) => inspect::run(&options),
        Command::Simulate(options) => simulate::run(&options),
        Command::Watch(options) => watch::run(&options),
        Command::Grow(options) => grow::run(&options),
        Command::Devices(options) => devices::run(&options),
        Command::Generate(options) => lm::generate::run(&options),
        Command::Chat(options) => lm::chat::run(&options),
        Command::Runs(options) => runs::run(&options),
        Command::Dashboard(options) => dashboard::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Data(options) => data::run(&options),
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
            match ranks::is_follower() {
                true => ranks::let_the_first_speak(),
                false if matches!(error, Error::Interrupted) => {}
                false => look::fail(advice::with_advice(&error)),
            }
            ExitCode::from(error.code())
        }
    }
}
