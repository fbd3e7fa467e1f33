//! `farad completions`: what makes a shell complete commands, flags and the words that flags take.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::{Arguments, CompletionsOptions};
use crate::error::Result;

/// Prints the script of a shell.
pub fn run(options: &CompletionsOptions) -> Result<()> {
    let mut script = vec![];
    let mut command = Arguments::command();
    clap_complete::generate(options.shell, &mut command, "farad", &mut script);
    if options.shell == Shell::Fish {
        script.extend(words_for_fish(&command).bytes());
    }
    // Written at once, so that a closed pipe is an error here and no panic there.
    let mut out = std::io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}

/// The words that commands take besides flags, which the script for fish lacks.
fn words_for_fish(command: &clap::Command) -> String {
    let line = |of: &clap::Command, argument: &clap::Arg| {
        let values = argument.get_possible_values();
        let words: Vec<&str> = values.iter().filter(|v| !v.is_hide_set()).map(|v| v.get_name()).collect();
        let (name, words) = (of.get_name(), words.join(" "));
        (!words.is_empty()).then(|| {
            format!("complete -c farad -n \"__fish_farad_using_subcommand {name}\" -f -a \"{words}\"\n")
        })
    };
    let commands = command.get_subcommands();
    commands.flat_map(|of| of.get_positionals().filter_map(move |argument| line(of, argument))).collect()
}
