//! `farad man`: manual pages, one per command, made of the same texts as `--help`.

use std::io::Write;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::arguments::{Arguments, ManOptions};
use crate::error::{Error, Result, did_you_mean};
use crate::look;

/// Prints a page, or writes all of them.
pub fn run(options: &ManOptions) -> Result<()> {
    let mut command = Arguments::command();
    command.build();
    if let Some(folder) = &options.out {
        return write_all(&command, folder);
    }
    let page = match &options.page {
        Some(name) => command.find_subcommand(name).ok_or_else(|| unknown(&command, name))?,
        None => &command,
    };
    let text = page_of(page)?;
    let mut out = std::io::stdout().lock();
    out.write_all(&text)?;
    Ok(out.flush()?)
}

fn unknown(command: &Command, name: &str) -> Error {
    let names: Vec<&str> = pages(command).map(Command::get_name).collect();
    Error::Page {
        name: name.into(),
        nearest: did_you_mean(name, names.iter().copied()),
        names: names.join(", "),
    }
}

fn pages(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn write_all(command: &Command, folder: &Path) -> Result<()> {
    let fail = |path: &Path, source| Error::Write { op: "man", path: path.display().to_string(), source };
    std::fs::create_dir_all(folder).map_err(|source| fail(folder, source))?;
    let mut out = look::out();
    for page in std::iter::once(command).chain(pages(command)) {
        let path = folder.join(format!("{}.1", name(page)));
        std::fs::write(&path, page_of(page)?).map_err(|source| fail(&path, source))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(out.flush()?)
}

/// `farad`, or `farad-train` and the like.
fn name(page: &Command) -> &str {
    page.get_display_name().unwrap_or_else(|| page.get_name())
}

fn page_of(page: &Command) -> Result<Vec<u8>> {
    let (man, mut text) = (Man::new(page.clone()), vec![]);
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if pages(page).next().is_some() {
        man.render_subcommands_section(&mut text)?;
    }
    let more = page.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    write!(text, "{}", sections(&more))?;
    if name(page) != "farad" {
        writeln!(text, ".SH \"SEE ALSO\"\n\\fBfarad\\fR(1), for exit codes and environment")?;
    }
    Ok(text)
}

/// What stands under a help text, as sections whose lines stay as they are.
fn sections(text: &str) -> String {
    let (mut page, mut open) = (String::new(), false);
    for line in text.lines() {
        if let Some(title) = line.strip_suffix(':').filter(|title| !title.starts_with(' ')) {
            page += if open { ".fi\n" } else { "" };
            page += &format!(".SH \"{}\"\n.nf\n", escaped(&title.to_uppercase()));
            open = true;
        } else if !line.is_empty() && !line.starts_with(' ') {
            page += if open { ".fi\n.PP\n" } else { "" };
            page += &format!("{}\n", escaped(line));
            open = false;
        } else {
            page += &format!("{}\n", escaped(line.strip_prefix("  ").unwrap_or(line)));
        }
    }
    page + if open { ".fi\n" } else { "" }
}

/// Text in which nothing means anything to roff.
fn escaped(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keep_their_lines() {
        let page = sections("Examples:\n  farad a --b\n  .dot\n\nWords that\ngo on.");
        assert_eq!(page, ".SH \"EXAMPLES\"\n.nf\nfarad a \\-\\-b\n\\&.dot\n\n.fi\n.PP\nWords that\ngo on.\n");
    }
}
