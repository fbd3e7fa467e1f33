//! A file from an address: what is there already is kept, and what came is checked.
//!
//! Invariant: a file has its name only when its checksum was right; until then its bytes are in `NAME.part`.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{Context, SHA256};
use ureq::http::StatusCode;

use super::table::PublishedFile;

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;
/// How long an address may take to be reached, and to send the next bytes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a file could not be had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address did not answer, or not with the file.
    #[error("{url}: {why}")]
    Network { url: String, why: String },
    /// Nothing can be fetched from it.
    #[error("{url}: it is no address of the web")]
    Address { url: String },
    /// The connection ended before the file did; what came is kept.
    #[error(
        "{url}: it broke off after {came} of {bytes} bytes; what came is kept, and the same command goes on with it"
    )]
    BrokenOff { url: String, came: u64, bytes: u64 },
    /// What came is another file.
    #[error("{url}: its checksum is another: SHA-256 {found}, wanted {wanted} ({bytes} bytes)")]
    Checksum { url: String, found: String, wanted: String, bytes: u64 },
    /// What is there under its name is another file.
    #[error("{path}: there is another file: SHA-256 {found}, wanted {wanted}")]
    Other { path: String, found: String, wanted: String },
    /// It could not be written.
    #[error("{path}: {source}")]
    File { path: String, source: std::io::Error },
}

/// The SHA-256 of a file, as hexadecimal digits.
pub fn checksum(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let (mut sum, mut piece) = (Context::new(&SHA256), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => sum.update(&piece[..count]),
        }
    }
    Ok(sum.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether the file is there, whole.
pub fn is_there(path: &Path, wanted: &PublishedFile) -> Result<bool, FetchError> {
    if !path.exists() {
        return Ok(false);
    }
    let found = checksum(path).map_err(|source| of_file(path, source))?;
    match found == wanted.sha256 {
        true => Ok(true),
        false => {
            Err(FetchError::Other { path: path.display().to_string(), found, wanted: wanted.sha256.into() })
        }
    }
}

/// Brings a file to a folder. `tell` is told how many bytes there are. Bytes of an earlier try are not asked for again.
pub fn fetch(
    url: &str,
    folder: &Path,
    file: &PublishedFile,
    tell: &dyn Fn(u64),
) -> Result<PathBuf, FetchError> {
    if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(FetchError::Address { url: url.into() });
    }
    let (path, part) = (folder.join(file.name), folder.join(format!("{}.part", file.name)));
    let there = std::fs::metadata(&part).map_or(0, |data| data.len());
    if file.bytes == 0 || there < file.bytes {
        continued(url, &part, there, file.bytes, tell)?;
    }
    let found = checksum(&part).map_err(|source| of_file(&part, source))?;
    if found != file.sha256 {
        let bytes = std::fs::metadata(&part).map_or(0, |data| data.len());
        // With wrong bytes nothing can go on.
        let _ = std::fs::remove_file(&part);
        return Err(FetchError::Checksum { url: url.into(), found, wanted: file.sha256.into(), bytes });
    }
    std::fs::rename(&part, &path).map_err(|source| of_file(&path, source))?;
    Ok(path)
}

fn of_file(path: &Path, source: std::io::Error) -> FetchError {
    FetchError::File { path: path.display().to_string(), source }
}

/// Asks for what is missing, and appends it.
fn continued(url: &str, part: &Path, there: u64, bytes: u64, tell: &dyn Fn(u64)) -> Result<(), FetchError> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .user_agent(concat!("farad/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let failed = |why: String| FetchError::Network { url: url.into(), why };
    let request = agent.get(url).header("accept-encoding", "identity");
    let request = if there > 0 { request.header("range", format!("bytes={there}-")) } else { request };
    let mut answer = match request.call() {
        // Of a file whose size is not known all may be here already.
        Err(ureq::Error::StatusCode(416)) if bytes == 0 => return Ok(()),
        answer => answer.map_err(|error| failed(error.to_string().trim_start_matches("io: ").to_string()))?,
    };
    // Who does not know ranges sends all of it.
    let goes_on = there > 0 && answer.status() == StatusCode::PARTIAL_CONTENT;
    let mut out = OpenOptions::new()
        .create(true)
        .write(true)
        .append(goes_on)
        .truncate(!goes_on)
        .open(part)
        .map_err(|source| of_file(part, source))?;
    let (mut came, mut piece) = (if goes_on { there } else { 0 }, vec![0; PIECE]);
    // What the server says of its answer, where nobody else knows.
    let bytes = match (bytes, answer.body().content_length()) {
        (0, Some(length)) => came + length,
        (0, None) => u64::MAX,
        (bytes, _) => bytes,
    };
    let mut body = answer.body_mut().as_reader();
    loop {
        let count = match body.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(_) => return Err(FetchError::BrokenOff { url: url.into(), came, bytes }),
        };
        came += count as u64;
        if came > bytes {
            drop(out);
            let _ = std::fs::remove_file(part);
            return Err(failed(format!("it sends more than the file has (more than {bytes} bytes)")));
        }
        out.write_all(&piece[..count]).map_err(|source| of_file(part, source))?;
        tell(came);
    }
    match came == bytes || bytes == u64::MAX {
        true => Ok(()),
        false => Err(FetchError::BrokenOff { url: url.into(), came, bytes }),
    }
}
