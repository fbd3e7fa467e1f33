//! What clap has to say about a command line, in the project's form: one line, `usage:`, `help:`.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::arguments::Arguments;
use crate::error::did_you_mean;
use crate::look;
use crate::source;

/// The exit code of a command line that makes no sense.
pub const WRONG: u8 = 2;

/// Shows help or the version if that was asked for, else what is wrong.
pub fn answer(error: &Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Whoever closed the pipe has seen enough.
            let mut out = look::out();
            let _ = write!(out, "{}", error.render().ansi()).and_then(|()| out.flush());
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            look::tell(error.render().ansi().to_string().trim_end());
            ExitCode::from(WRONG)
        }
        _ => {
            let words: Vec<String> = std::env::args().skip(1).collect();
            look::fail(text(error, words.iter().map(String::as_str)));
            ExitCode::from(WRONG)
        }
    }
}

/// The whole message, without the mark before it. The words of the command line say which command it is about.
pub fn text<'a>(error: &Error, words: impl Iterator<Item = &'a str>) -> String {
    let (all, words) = (Arguments::command(), words.collect::<Vec<&str>>());
    let command = words.iter().find_map(|word| Some(all.find_subcommand(word)?.get_name()));
    let mut lines = vec![format!("{}: {}", command.unwrap_or("farad"), sentence(error))];
    let usage = context(error, ContextKind::Usage).join(" ");
    let usage: Vec<&str> = usage.trim().trim_start_matches("Usage:").split_whitespace().collect();
    if error.kind() == ErrorKind::MissingRequiredArgument && !usage.is_empty() {
        lines.push(format!("usage: {}", usage.join(" ")));
    }
    lines.push(format!("help: {}", help(error, command, &words)));
    lines.join("\n")
}

fn sentence(error: &Error) -> String {
    let one = |kind| context(error, kind).first().cloned().unwrap_or_default();
    let (argument, value) = (plain(&one(ContextKind::InvalidArg)), one(ContextKind::InvalidValue));
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let (name, all) = (one(ContextKind::InvalidSubcommand), Arguments::command());
            let nearest = did_you_mean(&name, all.get_subcommands().map(clap::Command::get_name));
            format!("there is no command `{name}`{nearest}")
        }
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            let nearest = nearest(&context(error, ContextKind::SuggestedArg));
            format!("there is no flag `{argument}`{nearest}")
        }
        ErrorKind::UnknownArgument => format!("one word too many: `{argument}`"),
        ErrorKind::InvalidValue if value.is_empty() => format!("{argument} needs a value"),
        ErrorKind::InvalidValue => {
            let nearest = nearest(&context(error, ContextKind::SuggestedValue));
            format!("{argument} does not take `{value}`{nearest}")
        }
        // What takes numbers says which.
        ErrorKind::ValueValidation if error.get(ContextKind::Custom).is_some() => {
            format!("{argument} takes {}, not `{value}`", one(ContextKind::Custom))
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(|source| format!(": {source}"));
            format!("{argument} does not take `{value}`{}", why.unwrap_or_default())
        }
        ErrorKind::MissingRequiredArgument => {
            let missing: Vec<String> =
                context(error, ContextKind::InvalidArg).iter().map(|word| plain(word)).collect();
            let is = if missing.len() == 1 { "is" } else { "are" };
            format!("{} {is} missing", missing.join(" and "))
        }
        ErrorKind::ArgumentConflict => {
            let prior: Vec<String> =
                context(error, ContextKind::PriorArg).iter().map(|word| plain(word)).collect();
            match prior.contains(&argument) {
                true => format!("{argument} is given twice"),
                false => format!("{argument} does not go with {}", prior.join(" and ")),
            }
        }
        _ => {
            let text = anstream::adapter::strip_str(&error.render().to_string()).to_string();
            let line = text.lines().next().unwrap_or_default();
            line.trim_start_matches("error:").trim().to_string()
        }
    }
}

fn help(error: &Error, command: Option<&str>, words: &[&str]) -> String {
    if let Some(run) = resumed(error, words) {
        if command == Some("sweep") {
            return format!(
                "`farad sweep --resume {run}` goes on with the sweep; its own sweep.toml says what it trains"
            );
        }
        return format!(
            "`farad train --resume {run}` goes on with the run; it knows what it learns, and with which settings"
        );
    }
    let known = context(error, ContextKind::ValidValue);
    if !known.is_empty() {
        return format!("it takes {}", known.join(", "));
    }
    let missing = context(error, ContextKind::InvalidArg).concat();
    if missing.contains("RECIPE") {
        return "`farad train checkerboard` is a good first one; `farad train --list` shows all".into();
    }
    if error.kind() == ErrorKind::MissingRequiredArgument
        && (missing.contains("RUN") || missing.contains("SOURCE"))
    {
        return source::runs_here();
    }
    let of = command.map_or(String::new(), |command| format!(" {command}"));
    match error.kind() {
        ErrorKind::InvalidSubcommand => "`farad --help` lists the commands".into(),
        ErrorKind::UnknownArgument => format!("`farad{of} --help` lists the flags"),
        _ => format!("`farad{of} --help` says more, with examples"),
    }
}

/// The run that should go on, where something does not go with that.
fn resumed(error: &Error, words: &[&str]) -> Option<String> {
    let prior = context(error, ContextKind::PriorArg);
    let both =
        prior.iter().chain(&context(error, ContextKind::InvalidArg)).any(|word| plain(word) == "--resume");
    if error.kind() != ErrorKind::ArgumentConflict || !both {
        return None;
    }
    let after = words.iter().position(|word| *word == "--resume").and_then(|at| words.get(at + 1));
    let joined = words.iter().find_map(|word| word.strip_prefix("--resume="));
    after.copied().or(joined).map(farad::run::shell_word)
}

fn context(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        Some(ContextValue::StyledStrs(texts)) => texts.iter().map(ToString::to_string).collect(),
        _ => vec![],
    }
}

fn nearest(suggested: &[String]) -> String {
    suggested.first().map_or(String::new(), |word| format!("; did you mean `{word}`?"))
}

/// `--model <MODEL>` is `--model`, `<RUN>` is `RUN`.
fn plain(argument: &str) -> String {
    let first = argument.split_whitespace().next().unwrap_or_default();
    let first = if first.starts_with('-') { first.split('=').next().unwrap_or(first) } else { first };
    first.trim_matches(['<', '>', '[', ']', '.']).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn wrong_command_lines_are_answered_in_the_house_form() {
        let said = |words: &str| {
            let error = Arguments::try_parse_from(words.split_whitespace()).map(|_| ()).unwrap_err();
            text(&error, words.split_whitespace().skip(1)).lines().next().unwrap_or_default().to_string()
        };
        for (words, answer) in [
            ("farad trian life", "farad: there is no command `trian`; did you mean `train`?"),
            ("farad Train life", "farad: there is no command `Train`; did you mean `train`?"),
            ("farad help trian", "farad: there is no command `trian`; did you mean `train`?"),
            ("farad train life --devise cpu", "train: there is no flag `--devise`; did you mean `--device`?"),
            ("farad train mnist --model cmn", "train: --model does not take `cmn`; did you mean `cnn`?"),
            ("farad train life --seed", "train: --seed needs a value"),
            ("farad train life --resume runs/x", "train: RECIPE does not go with --resume"),
            ("farad train life --seed 1 --seed 2", "train: --seed is given twice"),
            ("farad train", "train: RECIPE is missing"),
            ("farad eval", "eval: RUN is missing"),
            ("farad eval a b", "eval: one word too many: `b`"),
            ("farad export run", "export: --format and --out are missing"),
            ("farad bench --profile-mode host", "bench: --profile is missing"),
        ] {
            assert_eq!(said(words), answer, "{words}");
        }
        for (words, answer) in [
            ("farad train life --seed x", "train: --seed takes a whole number from 0 on, not `x`"),
            ("farad train life --seeds 0", "train: --seeds takes a whole number from 1 to 1,024, not `0`"),
            ("farad train life --updates -5", "train: --updates takes a whole number from 1 on, not `-5`"),
            ("farad simulate r --steps -1", "simulate: --steps takes a whole number from 0 on, not `-1`"),
            (
                "farad generate r --temperature -0.5",
                "generate: --temperature takes a number from 0 on, not `-0.5`",
            ),
        ] {
            assert_eq!(said(words), answer, "{words}");
        }
    }

    #[test]
    fn what_does_not_go_with_a_run_that_goes_on_says_how_it_goes_on() {
        for words in [
            "farad train life --resume runs/x",
            "farad train --resume runs/x life",
            "farad train --resume=runs/x --seed 3",
        ] {
            let error = Arguments::try_parse_from(words.split_whitespace()).map(|_| ()).unwrap_err();
            let text = text(&error, words.split_whitespace().skip(1));
            assert!(text.contains("\nhelp: `farad train --resume runs/x` goes on with the run"), "{text}");
        }
    }
}
