//! Commands that the guide, the README and the help show are such as the command takes, also those that no test runs.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use farad_guide::{BlockNote, Chapter, blocks, commands, words};

use crate::arguments::{Arguments, Command};
use crate::kinds::KINDS;

#[test]
fn commands_of_the_guide_have_only_flags_that_there_are() {
    let mut seen = 0;
    for chapter in Chapter::all() {
        let shell = blocks(&chapter.text)
            .into_iter()
            .filter(|block| block.language() == "sh" && block.note != Some(BlockNote::Fails));
        for block in shell {
            for command in commands(&block.text) {
                let Some(words) = words(&command) else { continue };
                if let Err(why) = check(&words) {
                    panic!("{}:{}: `{command}`: {why}", chapter.name, block.line);
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "the guide shows only {seen} commands");
}

#[test]
fn examples_of_the_help_have_only_flags_that_there_are() {
    let all = Arguments::command();
    let pages = std::iter::once(&all).chain(all.get_subcommands());
    let mut seen = 0;
    for page in pages {
        let text = page.get_after_long_help().or(page.get_after_help());
        for line in text.map(ToString::to_string).unwrap_or_default().lines() {
            // What an example does stands behind it, after two blanks.
            let command = line.trim().split("  ").next().unwrap_or_default();
            let Some(words) = words(command) else { continue };
            if let Err(why) = check(&words) {
                panic!("`{command}`: {why}");
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "the help shows only {seen} commands");
}

fn check(words: &[String]) -> Result<(), String> {
    let all = std::iter::once("farad").chain(words.iter().map(String::as_str));
    let options = match Arguments::try_parse_from(all) {
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
        Ok(Arguments { command: Command::Train(options), .. }) => options,
        Ok(_) => return Ok(()),
    };
    let Some(name) = &options.name else { return Ok(()) };
    let known = KINDS.learning(crate::train::subject_of(name));
    known.map(|_| ()).ok_or_else(|| format!("there is no `{name}` to train"))
}
