//! What to do about errors whose message does not say it: files that are not there, texts that are none, settings.
//!
//! Libraries say what is wrong; what helps somebody at a command line is said here, once for all commands.

use std::error::Error as StdError;
use std::io::ErrorKind;
use std::path::Path;

use farad::{DataError, NnError, TrainError};
use farad_circuit::Error as CircuitError;
use farad_rl::RlError;
use farad_world::{GenotypeError, WorldError};

use crate::error::{Error, did_you_mean};

/// An error as the command says it: its message, and what to do if that is not said there.
pub fn with_advice(error: &Error) -> String {
    let text = error.to_string();
    match advice(error) {
        Some(help) if !text.contains("\nhelp: ") => format!("{text}\nhelp: {help}"),
        _ => text,
    }
}

fn advice(error: &Error) -> Option<String> {
    match error {
        Error::Farad(error)
        | Error::Logic(farad_logic::Error::Farad(error))
        | Error::Language(farad_lm::Error::Farad(error)) => of_farad(error),
        Error::Logic(farad_logic::Error::Circuit(error)) | Error::Circuit(error) => of_circuit(error),
        Error::Write { path, source, .. } => of_file(path.as_ref(), source),
        Error::BrokenOff { source, .. } => advice(source),
        Error::Output(_) => {
            Some("what was asked for is done; only its results could not be shown there".into())
        }
        _ => None,
    }
}

fn of_farad(error: &farad::Error) -> Option<String> {
    match error {
        farad::Error::File { path, source, .. } => of_file(path, source),
        farad::Error::InFile { source, .. } => of_farad(source),
        farad::Error::Foreign { .. } => Some(
            "the file is damaged, or of another kind than its name says; take it out, or get it again".into(),
        ),
        farad::Error::Damaged { .. } => Some("mend the file, or get it again".into()),
        farad::Error::NothingToTune { .. } => {
            Some("tiles are those of GPUs; `farad devices` lists what there is".into())
        }
        farad::Error::Part(part) => of_part(&**part).map(Into::into),
        _ => None,
    }
}

fn of_part(part: &(dyn StdError + Send + Sync + 'static)) -> Option<&'static str> {
    if let Some(error) = part.downcast_ref::<TrainError>() {
        return match error {
            TrainError::Setting { .. } => Some("`farad train NAME --list` shows what every setting takes"),
            TrainError::SettingsFile { place, .. } if place == "config.toml" => {
                Some("the file belongs to the run; undo what was changed, or train anew")
            }
            TrainError::SettingsFile { .. } => {
                Some("a line is `key = value`; `farad train NAME --list` shows the keys and what they take")
            }
            TrainError::CheckpointKind { .. } => Some("the file is of another run; copy the run's own back"),
            _ => None,
        };
    }
    if let Some(NnError::StateDiffers { .. }) = part.downcast_ref() {
        return Some(
            "weights fit only a model of their sizes: take the settings and the data that they were trained with",
        );
    }
    if let Some(DataError::NoPicture { .. }) = part.downcast_ref() {
        return Some("name a .png or .jpg file, or a folder that has some");
    }
    if let Some(farad_onnx::OnnxError::NotAModel { .. }) = part.downcast_ref() {
        return Some("download or export it again");
    }
    if part.is::<WorldError>() {
        return Some(
            "`farad grow --random 1 --out world.json` writes a whole one; the guide's chapter on worlds has the rest",
        );
    }
    if part.is::<GenotypeError>() {
        return Some("`farad grow --random 1 --genotype genotype.json` writes a whole one");
    }
    match part.downcast_ref()? {
        RlError::FewElites { .. } => Some("--rank 1 is the best; take a smaller number"),
        _ => None,
    }
}

fn of_circuit(error: &CircuitError) -> Option<String> {
    match error {
        CircuitError::File { path, source, .. } => of_file(path, source),
        CircuitError::InFile { source, .. } => of_circuit(source),
        CircuitError::Syntax { .. } | CircuitError::Format { .. } => {
            Some("a circuit file is JSON from the folder `circuits` of a run, or from `farad export --format json`".into())
        }
        CircuitError::GridSize { .. } => Some("take a smaller grid".into()),
        _ => None,
    }
}

/// What to do about a file that the system does not give.
fn of_file(path: &Path, error: &std::io::Error) -> Option<String> {
    Some(match error.kind() {
        ErrorKind::NotFound => missing(path),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file is where a folder is wanted; name another place".into()
        }
        ErrorKind::IsADirectory => "it is a folder; name a file in it".into(),
        ErrorKind::InvalidData => "it is no text: text is UTF-8".into(),
        ErrorKind::PermissionDenied => "change who may read and write it, or name another place".into(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room on the disk, or name another place".into()
        }
        _ => return None,
    })
}

/// Where a path stops to exist, and what there has nearly its name.
fn missing(path: &Path) -> String {
    let Some((folder, name)) = last_there(path) else {
        return "no part of this path is there".into();
    };
    let here = folder.as_os_str().is_empty();
    let names: Vec<String> = std::fs::read_dir(if here { Path::new(".") } else { folder })
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let nearest = did_you_mean(&name, names.iter().map(String::as_str));
    match here {
        true => format!("there is no `{name}` where the command was started{nearest}"),
        false => format!("there is no `{name}` in {}{nearest}", folder.display()),
    }
}

/// The last folder of a path that is there, and what is missing in it; the folder of a bare name has none.
fn last_there(path: &Path) -> Option<(&Path, String)> {
    let mut missing = path;
    while let Some(folder) = missing.parent() {
        let here = folder.as_os_str().is_empty();
        if here || folder.is_dir() {
            return Some((folder, missing.file_name()?.to_string_lossy().into_owned()));
        }
        missing = folder;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(error: farad::Error) -> String {
        with_advice(&Error::Farad(error))
    }

    #[test]
    fn a_file_that_is_not_there_says_where_its_path_ends() {
        let folder = std::env::temp_dir().join(format!("farad-advice-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("flowers.csv"), "").unwrap();
        let missing = |name: &str| {
            let source = std::io::ErrorKind::NotFound.into();
            said(farad::Error::File { op: "csv", path: folder.join(name), source })
        };
        let near = missing("flower.csv");
        assert!(near.ends_with(&format!(
            "there is no `flower.csv` in {}; did you mean `flowers.csv`?",
            folder.display()
        )));
        assert!(missing("a/b/c.csv").contains("\nhelp: there is no `a` in "));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_says_what_to_do_is_left_as_it_is() {
        let text = said(TrainError::Assignment { text: "x".into() }.into());
        assert_eq!(text.matches("help: ").count(), 1);
        let text = said(
            TrainError::Setting { key: "batch".into(), wanted: "a number".into(), found: "x".into() }.into(),
        );
        assert!(text.ends_with("\nhelp: `farad train NAME --list` shows what every setting takes"), "{text}");
        let source = std::io::ErrorKind::NotADirectory.into();
        let text = with_advice(&Error::Write { op: "export", path: "a".into(), source });
        assert!(text.ends_with("name another place"), "{text}");
    }
}
