//! Files out of a `.tar.gz`: plain files only, by their names without folders.
//!
//! Invariant: nothing is written outside the folder, and a file appears whole or not at all.

use std::io::{self, Read};
use std::path::Path;

use farad::run::write_whole;
use flate2::read::GzDecoder;

use crate::error::{Error, Result};

/// Bytes of a header, and what contents are padded to.
const BLOCK: usize = 512;
/// The largest file that is taken out of an archive.
const MOST_BYTES: u64 = 1 << 30;

/// Writes all plain files of an archive into a folder; how many there were.
pub fn unpack(archive: &Path, folder: &Path) -> Result<usize> {
    let damaged = |what: String| Error::Archive { path: archive.display().to_string(), what };
    let file = std::fs::File::open(archive).map_err(|error| damaged(error.to_string()))?;
    let mut tar = GzDecoder::new(io::BufReader::new(file));
    let mut count = 0;
    loop {
        let mut header = [0; BLOCK];
        tar.read_exact(&mut header).map_err(|error| damaged(error.to_string()))?;
        // Two blocks of zeros end an archive; one is enough to know.
        if header == [0; BLOCK] {
            return Ok(count);
        }
        let entry = Entry::of(&header).ok_or_else(|| damaged("a header makes no sense".into()))?;
        let mut content = Vec::new();
        tar.by_ref()
            .take(entry.bytes)
            .read_to_end(&mut content)
            .map_err(|error| damaged(error.to_string()))?;
        if content.len() as u64 != entry.bytes {
            return Err(damaged(format!("it is cut ({} bytes vs {})", content.len(), entry.bytes)));
        }
        let rest = (BLOCK as u64 - entry.bytes % BLOCK as u64) % BLOCK as u64;
        io::copy(&mut tar.by_ref().take(rest), &mut io::sink())
            .map_err(|error| damaged(error.to_string()))?;
        if let Some(name) = entry.name {
            write_whole("data", &folder.join(name), &content)?;
            count += 1;
        }
    }
}

/// What a header says.
struct Entry {
    /// The name without folders; none unless it is a plain file.
    name: Option<String>,
    bytes: u64,
}

impl Entry {
    /// Of a header whose checksum is right.
    fn of(header: &[u8; BLOCK]) -> Option<Entry> {
        let octal = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).ok()?;
            u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
        };
        let blank = |at: usize| if (148..156).contains(&at) { b' ' } else { header[at] };
        let sum: u64 = (0..BLOCK).map(|at| u64::from(blank(at))).sum();
        if octal(&header[148..156])? != sum {
            return None;
        }
        let bytes = octal(&header[124..136]).filter(|&bytes| bytes <= MOST_BYTES)?;
        let path = header[..100].split(|&byte| byte == 0).next()?;
        let name = std::str::from_utf8(path).ok()?.rsplit('/').next()?.to_string();
        let plain = matches!(header[156], 0 | b'0') && !name.is_empty() && name != "." && name != "..";
        Some(Entry { name: (plain && !name.contains('\\')).then_some(name), bytes })
    }
}
