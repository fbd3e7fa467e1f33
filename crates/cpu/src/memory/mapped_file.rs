//! Files mapped into memory; the system reads them on access.

use std::fs::File;
use std::io;
use std::path::Path;

/// The bytes of a file, without reading it all first. For files that nobody changes while they are mapped.
/// Farad replaces its files by atomic writes and never changes them.
///
/// ```
/// let path = std::env::temp_dir().join(format!("farad-doc-mapping-{}", std::process::id()));
/// std::fs::write(&path, b"abc")?;
/// assert_eq!(farad_cpu::MappedFile::open(&path)?.bytes(), b"abc");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct MappedFile {
    map: memmap2::Mmap,
}

impl MappedFile {
    /// Maps a file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<MappedFile> {
        let file = File::open(path)?;
        // SAFETY: the map is read-only, and mapped files are only replaced as a whole, so their bytes do not
        // change. Another process that truncates the file may crash this one, but cannot corrupt its memory.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(MappedFile { map })
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}
