//! Reading files of data: never more bytes than there should be, gzipped or plain.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::error::{DataError, Error, Result};

/// That a path is no file, where a folder is expected that holds certain files.
pub(super) fn expect_folder(op: &'static str, path: &Path, wanted: &str) -> Result<()> {
    match path.is_file() {
        true => Err(DataError::FileNotFolder { op, path: path.into(), wanted: wanted.into() }.into()),
        false => Ok(()),
    }
}

/// That a path is no folder, where a file is expected. Files of the folder that end so are named.
pub(super) fn expect_file(op: &'static str, path: &Path, end: &str) -> Result<()> {
    if !path.is_dir() {
        return Ok(());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let first = entries.filter(|file| file.extension().is_some_and(|found| found == end)).min();
    let inside = first.map_or(String::new(), |file| format!(", e.g. {}", file.display()));
    Err(DataError::FolderNotFile { op, path: path.into(), inside }.into())
}

/// The first bytes of a file, as a message calls them.
pub(super) fn starts_with(bytes: &[u8]) -> String {
    match bytes {
        [] => "nothing, as it is empty".into(),
        bytes => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
    }
}

/// What gzip can make of a byte at most.
const LARGEST_RATIO: u64 = 1032;

/// A file that may be gzipped.
pub(super) struct DataFile {
    reader: Box<dyn Read>,
    /// As many bytes as it can have at most, and exactly if it is not gzipped.
    pub most: u64,
}

impl DataFile {
    /// Opens a file; whether it is gzipped is seen by its first bytes.
    pub fn open(op: &'static str, path: &Path) -> Result<DataFile> {
        let fail = |source| Error::File { op, path: path.into(), source };
        let open = || File::open(path).map_err(fail);
        let mut start = [0; 2];
        let length = open()?.metadata().map_err(fail)?.len();
        let gzipped = open()?.read_exact(&mut start).is_ok() && start == [0x1f, 0x8b];
        let file = std::io::BufReader::new(open()?);
        Ok(match gzipped {
            true => DataFile {
                reader: Box::new(GzDecoder::new(file)),
                most: length.saturating_mul(LARGEST_RATIO),
            },
            false => DataFile { reader: Box::new(file), most: length },
        })
    }

    /// Fills `bytes`; a file that ends before is truncated.
    pub fn fill(&mut self, op: &'static str, path: &Path, bytes: &mut [u8]) -> Result<()> {
        let mut found = 0;
        while found < bytes.len() {
            match self.reader.read(&mut bytes[found..]) {
                Ok(0) => return Err(short(op, path, found, bytes.len())),
                Ok(more) => found += more,
                Err(error) => return Err(broken(op, path, error, found, bytes.len())),
            }
        }
        Ok(())
    }

    /// The rest, which must be exactly `wanted` bytes.
    pub fn rest(mut self, op: &'static str, path: &Path, wanted: usize) -> Result<Vec<u8>> {
        if wanted as u64 > self.most {
            return Err(short(op, path, self.most as usize, wanted));
        }
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(wanted as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| broken(op, path, error, bytes.len(), wanted))?;
        match bytes.len() {
            found if found < wanted => Err(short(op, path, found, wanted)),
            found if found > wanted => {
                let what = format!("bytes after its end (more than {wanted})");
                Err(Error::Damaged { op, path: path.into(), place: String::new(), what })
            }
            _ => Ok(bytes),
        }
    }
}

fn short(op: &'static str, path: &Path, found: usize, wanted: usize) -> Error {
    Error::Truncated { op, path: path.into(), found: found as u64, wanted: wanted as u64 }
}

/// What a reader that failed means: gzip ends too early, has a wrong checksum, or the disk fails.
fn broken(op: &'static str, path: &Path, error: std::io::Error, found: usize, wanted: usize) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => short(op, path, found, wanted),
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData => {
            Error::Damaged { op, path: path.into(), place: String::new(), what: error.to_string() }
        }
        _ => Error::File { op, path: path.into(), source: error },
    }
}

/// A whole file of at most `most` bytes.
pub(super) fn read_bounded(op: &'static str, path: &Path, most: u64) -> Result<Vec<u8>> {
    let fail = |source| Error::File { op, path: path.into(), source };
    let file = File::open(path).map_err(fail)?;
    let found = file.metadata().map_err(fail)?.len();
    if found > most {
        return Err(DataError::TooLarge { op, path: path.into(), found, most }.into());
    }
    let mut bytes = Vec::with_capacity(found as usize);
    file.take(most).read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}
