//! Files mapped into memory: read by the system as they are looked at.

use std::fs::File;
use std::io;
use std::path::Path;

/// The bytes of a file, without reading it all first. For files that nobody changes while they are mapped: farad's own
/// are written whole and replaced, never changed.
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
        // SAFETY: the map is read only, and files that are mapped are replaced as a whole, so that their bytes stay as
        // they are; a foreign process that cuts the file may end this one, but gives it no wrong memory.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(MappedFile { map })
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}
