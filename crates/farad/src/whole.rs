//! Files that are whole or not there: whoever opens one finds the old bytes or the new ones, at any
//! moment and after any crash.
//!
//! A file is written beside its place, brought to the disk, and renamed; then the folder is brought
//! to the disk too, so that the new name outlives a power cut.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The end of the names of files that are being written.
const UNFINISHED: &str = ".tmp";

/// Writes a file whole or not at all; a file already there is replaced in one go.
pub fn write_whole(op: &'static str, path: &Path, bytes: &[u8]) -> Result<()> {
    let mut name = file_name(path);
    name.push(format!(".{}{UNFINISHED}", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&temporary, path));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    let synced = renamed.and_then(|()| sync_folder(&folder_of(path)));
    synced.map_err(|source| Error::File { op, path: path.into(), source })
}

/// Removes what writers of `path` left behind when they were killed. Only for files that one
/// process writes at a time: the unfinished file of another one would go as well.
pub fn remove_unfinished(path: &Path) {
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else { return };
    for entry in entries.flatten() {
        if is_unfinished(&entry.file_name(), path) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether `name` is that of an unfinished file which would have become `path`.
pub fn is_unfinished(name: &std::ffi::OsStr, path: &Path) -> bool {
    let (name, of) = (name.to_string_lossy(), file_name(path));
    let middle = name
        .strip_prefix(&*of.to_string_lossy())
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_suffix(UNFINISHED));
    middle.is_some_and(|process| !process.is_empty() && process.bytes().all(|b| b.is_ascii_digit()))
}

/// Brings a folder's names to the disk; where folders cannot be opened, the system does it itself.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn file_name(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_os_string()
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.into(),
        _ => ".".into(),
    }
}
