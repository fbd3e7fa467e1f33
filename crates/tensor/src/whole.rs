//! Atomic writes: a reader of a file finds the old bytes or the new ones, at any
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
    write_and_keep(op, path, bytes, None)
}

/// Writes a file whole or not at all; what was there before is found under another name afterwards. Nothing changes
/// under either name unless the new bytes are on the disk.
pub fn write_and_keep(op: &'static str, path: &Path, bytes: &[u8], before: Option<&Path>) -> Result<()> {
    let temporary = unfinished(path);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| {
        if let Some(before) = before.filter(|_| path.is_file()) {
            keep(path, before);
        }
        std::fs::rename(&temporary, path)
    });
    if renamed.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    let synced = renamed.and_then(|()| sync_folder(&folder_of(path)));
    synced.map_err(|source| Error::File { op, path: path.into(), source })
}

/// Gives a file a second name, in place of whatever has it. Where a file system has no second names, there is none: a
/// copy would double the time that a checkpoint takes.
fn keep(path: &Path, before: &Path) {
    let temporary = unfinished(before);
    let _ = std::fs::remove_file(&temporary);
    let kept = std::fs::hard_link(path, &temporary).and_then(|()| std::fs::rename(&temporary, before));
    if let Err(error) = kept {
        tracing::debug!("{} is not kept: {error}", path.display());
    }
    // Renaming one name of a file to another name of the same file does nothing, and leaves the first.
    let _ = std::fs::remove_file(&temporary);
}

/// Where this process writes what will become `path`.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = file_name(path);
    name.push(format!(".{}{UNFINISHED}", std::process::id()));
    path.with_file_name(name)
}

/// Removes what writers of any file in a folder, or in a folder of that, left behind when they were killed. Only for
/// folders that one process writes to at a time.
pub fn remove_all_unfinished(folder: &Path) {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for folder in folders.map(|entry| entry.path()).chain([folder.to_path_buf()]) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let of = name.to_string_lossy().strip_suffix(UNFINISHED).and_then(|rest| {
                let (of, _) = rest.rsplit_once('.')?;
                Some(entry.path().with_file_name(of))
            });
            if of.is_some_and(|of| is_unfinished(&name, &of)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
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
