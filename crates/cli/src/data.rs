//! `farad data`: published data sets, from their addresses into the folder where trainings look for them.
//!
//! Invariant: a set is there only when every file's checksum was right. Start at [`run`]; [`table`] has the sets.

#[cfg(feature = "download")]
mod fetch;
mod table;
#[cfg(feature = "download")]
mod unpack;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use farad::data::usual_places;
use farad::run::json;

use crate::arguments::OutputFlags;
use crate::error::{Error, Result, did_you_mean};
use crate::look::{self, bytes};
use table::{PUBLISHED_SETS, PublishedSet};

pub const DATA_EXAMPLES: &str = "\
Examples:
  farad data list                      the sets that can be fetched, and which are here
  farad data get mnist                 into data/mnist, or below FARAD_DATA
  farad data get cifar10 --out /big/cifar10
  farad data get mnist --from http://mirror.example/mnist/

Every file has a checksum. What was fetched in part is gone on with. A set that is here is not fetched again. Farad reaches for
the network in this command and in no other.

Keys of --json:
  list: name, about, bytes, folder, here
  get: name, folder, files, bytes";

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataAction {
    /// Show the sets.
    List,
    /// Fetch a set.
    Get,
}

/// Options of `farad data`.
#[derive(Debug, Args)]
pub struct DataOptions {
    /// What to do
    #[arg(value_name = "ACTION")]
    pub action: DataAction,
    /// The set to get
    #[arg(value_name = "SET")]
    pub name: Option<String>,
    /// The folder that gets the files [default: data/SET, or below FARAD_DATA]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Another address that has the same files
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Shows or fetches sets.
pub fn run(options: &DataOptions) -> Result<()> {
    match options.action {
        DataAction::List => list(options),
        DataAction::Get => get(options),
    }
}

/// Where a set belongs.
fn folder(options: &DataOptions, set: &PublishedSet) -> PathBuf {
    options.out.clone().unwrap_or_else(|| usual_places(set.name).swap_remove(0))
}

/// Whether what trainings read is there. Checksums are not looked at: that would take as long as reading all of it.
fn is_here(set: &PublishedSet, folder: &Path) -> bool {
    set.files.iter().all(|file| match file.archive {
        true => folder.join(UNPACKED).is_file(),
        false => folder.join(file.name).is_file(),
    })
}

/// The note that an archive was unpacked: the checksum it had.
const UNPACKED: &str = "unpacked.sha256";

fn list(options: &DataOptions) -> Result<()> {
    let mut out = look::out();
    for set in &PUBLISHED_SETS {
        let places = options.out.clone().map_or_else(|| usual_places(set.name), |folder| vec![folder]);
        let folder = places.iter().find(|place| is_here(set, place));
        let size: u64 = set.files.iter().map(|file| file.bytes).sum();
        let shown = folder.map(|folder| folder.display().to_string());
        match options.output.json {
            true => writeln!(
                out,
                "{}",
                json!({ "name": set.name, "about": set.about, "bytes": size, "folder": shown, "here": shown.is_some() })
            )?,
            false => {
                let here = shown.map_or("not here".to_string(), |folder| format!("in {folder}"));
                writeln!(out, "{:<18}{:>10}  {:<28}{}", set.name, bytes(size), here, set.about)?;
            }
        }
    }
    Ok(out.flush()?)
}

fn get(options: &DataOptions) -> Result<()> {
    let names: Vec<&str> = PUBLISHED_SETS.iter().map(|set| set.name).collect();
    let Some(name) = options.name.as_deref() else {
        return Err(Error::NoSetNamed { names: names.join(", ") });
    };
    let set = PUBLISHED_SETS.iter().find(|set| set.name == name).ok_or_else(|| Error::NoPublishedSet {
        name: name.into(),
        nearest: did_you_mean(name, names.iter().copied()),
        names: names.join(", "),
    })?;
    let (folder, address) = (folder(options, set), options.from.as_deref().unwrap_or(set.address));
    let address = format!("{}/", address.trim_end_matches('/'));
    fetched(options, set, &folder, &address)?;
    let size: u64 = set.files.iter().map(|file| file.bytes).sum();
    let (mut out, shown) = (look::out(), folder.display().to_string());
    match options.output.json {
        true => {
            let files: Vec<&str> = set.files.iter().map(|file| file.name).collect();
            writeln!(out, "{}", json!({ "name": set.name, "folder": shown, "files": files, "bytes": size }))?;
        }
        false => {
            writeln!(out, "{}", look::shown(&folder).display())?;
            let then = set.then.replace("FOLDER", &farad::run::shell_word(&folder));
            options.output.talk().say(format!("next: `{then}`"));
        }
    }
    Ok(out.flush()?)
}

/// What to fetch by hand, and where to put it.
fn by_hand(set: &PublishedSet, folder: &Path, address: &str) -> String {
    let line = |file: &table::PublishedFile| {
        let to = if file.archive { "unpack into" } else { "put into" };
        format!("  {address}{}  {to}  {}", file.name, folder.display())
    };
    let lines: Vec<String> = set.files.iter().map(line).collect();
    format!("fetch by hand, with any other machine if need be:\n{}", lines.join("\n"))
}

#[cfg(not(feature = "download"))]
fn fetched(_: &DataOptions, set: &PublishedSet, folder: &Path, address: &str) -> Result<()> {
    let help = by_hand(set, folder, address);
    Err(Error::Fetch { set: set.name, what: "this build does not fetch (feature `download`)".into(), help })
}

#[cfg(feature = "download")]
fn fetched(options: &DataOptions, set: &PublishedSet, folder: &Path, address: &str) -> Result<()> {
    let make = |source| Error::Write { op: "data", path: folder.display().to_string(), source };
    let made = first_made(folder);
    std::fs::create_dir_all(folder).map_err(make)?;
    let fetched = fetched_into(options, set, folder, address);
    // What was fetched in part is kept, and an empty folder is not.
    if let (Err(_), Some(made)) = (&fetched, made) {
        let folders = folder.ancestors().take_while(|folder| folder.starts_with(&made));
        folders.map_while(|folder| std::fs::remove_dir(folder).ok()).for_each(drop);
    }
    fetched
}

/// The first folder of a path that is not there.
#[cfg(feature = "download")]
fn first_made(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .last()
        .map(Into::into)
}

#[cfg(feature = "download")]
fn fetched_into(options: &DataOptions, set: &PublishedSet, folder: &Path, address: &str) -> Result<()> {
    let talk = options.output.talk();
    let make = |source| Error::Write { op: "data", path: folder.display().to_string(), source };
    let refused = |error: fetch::FetchError| {
        let help = match error {
            fetch::FetchError::Other { .. } => "move it away, or name another folder with --out".to_string(),
            fetch::FetchError::Address { .. } => {
                "name an address that begins with http:// or https://, or leave --from out".to_string()
            }
            _ => by_hand(set, folder, address),
        };
        Error::Fetch { set: set.name, what: error.to_string(), help }
    };
    for file in set.files {
        let note = folder.join(UNPACKED);
        let unpacked =
            file.archive && std::fs::read_to_string(&note).is_ok_and(|sum| sum.trim() == file.sha256);
        if unpacked || fetch::is_there(&folder.join(file.name), file).map_err(refused)? && !file.archive {
            talk.say(format!("{} is here", file.name));
            continue;
        }
        let mut path = folder.join(file.name);
        if !path.exists() {
            let bar = talk.progress("bytes", file.bytes, 0);
            let url = format!("{address}{}", file.name);
            path = fetch::fetch(&url, folder, file, &|came| bar.set(came, || file.name.into()))
                .map_err(refused)?;
        }
        if file.archive {
            let count = unpack::unpack(&path, folder)?;
            farad::run::write_whole("data", &note, file.sha256.as_bytes())?;
            std::fs::remove_file(&path).map_err(make)?;
            talk.say(format!("{}: {count} files", file.name));
        }
    }
    Ok(())
}
