//! What the command line may say to those who set up a shell: `farad completions` and `man`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::Shell;

pub const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  farad completions bash > ~/.local/share/bash-completion/completions/farad
  farad completions zsh > ~/.zfunc/_farad              with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  farad completions fish > ~/.config/fish/completions/farad.fish
  farad completions powershell >> $PROFILE
  farad completions elvish >> ~/.config/elvish/rc.elv

New shells use them; `source <(farad completions bash)` tries them in this one.";

pub const MAN_EXAMPLES: &str = "\
Examples:
  farad man | man -l -                                 read about farad
  farad man train | man -l -                           and about one command
  farad man --out ~/.local/share/man/man1              then `man farad` and `man farad-train`

Existing pages in the folder are replaced.";

/// Options of `farad completions`.
#[derive(Debug, Args)]
pub struct CompletionsOptions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Options of `farad man`.
#[derive(Debug, Args)]
pub struct ManOptions {
    /// The command to print the page of [default: farad itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub page: Option<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}
