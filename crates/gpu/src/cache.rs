//! Compiled pipelines kept on disk for the next process, if the wgpu backend supports it (Vulkan).
//!
//! There is one file per adapter and driver, with a length and checksums, of at most 64 MiB. Writes are atomic:
//! to a temporary file in the same folder, which is then renamed. One process writes at a time. A background
//! thread writes once nothing new was compiled for a while, so no step waits for it.
//!
//! Invariant: the cache never causes a failure. A file that is damaged, too large or from another driver
//! version is ignored with one warning. If the file cannot be written, it is skipped. Start at
//! [`PipelineFile::open`].

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::device::lock;

/// The first bytes of a file; the digit is the version of the layout.
const MAGIC: &[u8; 8] = b"farad-p1";
/// Bytes before the data: [`MAGIC`], checksums of the driver's version and of the data, the data's length.
const HEAD: usize = 24;
/// Largest size of the data that is read or written.
const MOST: usize = 64 << 20;
/// How long nothing new must have been compiled before a file is written.
const SILENCE: Duration = Duration::from_millis(500);
/// A temporary file of this age was abandoned by its writer.
const ABANDONED: Duration = Duration::from_secs(60);

/// The pipelines that a device has compiled, in the driver's format.
pub(crate) struct PipelineFile {
    raw: wgpu::PipelineCache,
    /// Wakes the writer when there is something new; `None` once the cache is closed.
    news: Mutex<Option<Sender<()>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    bytes_read: usize,
}

impl PipelineFile {
    /// The cache of an adapter in a folder, with what an earlier process stored there. `None` if the driver
    /// does not support caches.
    pub(crate) fn open(gpu: &wgpu::Device, info: &wgpu::AdapterInfo, folder: &Path) -> Option<PipelineFile> {
        if !gpu.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let file = File::of(info, folder)?;
        let data = file.read();
        let descriptor = wgpu::PipelineCacheDescriptor {
            label: None,
            data: data.as_deref(),
            // If the driver does not accept the data any more, start empty.
            fallback: true,
        };
        // SAFETY: the data came from `get_data` of a cache of this adapter: the file's name, and the length and
        // checksums in its header, ensure that; wgpu and the driver check their own headers as well.
        let raw = unsafe { gpu.create_pipeline_cache(&descriptor) };
        let (news, heard) = channel();
        let (own, bytes_read) = (raw.clone(), data.map_or(0, |data| data.len()));
        let thread = std::thread::Builder::new().name("farad-cache".into());
        let writer = thread.spawn(move || write_in_silence(&own, file, &heard)).ok();
        Some(PipelineFile { raw, news: Mutex::new(Some(news)), writer: Mutex::new(writer), bytes_read })
    }

    /// The cache to compile pipelines with.
    pub(crate) fn raw(&self) -> &wgpu::PipelineCache {
        &self.raw
    }

    /// Bytes that an earlier process had stored.
    pub(crate) fn bytes_read(&self) -> usize {
        self.bytes_read
    }

    /// Called when something new was compiled.
    pub(crate) fn grew(&self) {
        if let Some(news) = &*lock(&self.news) {
            // If the writer failed, its thread is gone, and the error is ignored.
            let _ = news.send(());
        }
    }

    /// Writes what is not written yet, then stops the writer.
    pub(crate) fn close(&self) {
        drop(lock(&self.news).take());
        if let Some(writer) = lock(&self.writer).take() {
            let _ = writer.join();
        }
    }
}

impl Drop for PipelineFile {
    fn drop(&mut self) {
        self.close();
    }
}

/// Writes the cache whenever it has grown and nothing more was compiled for a while, and at the end.
fn write_in_silence(raw: &wgpu::PipelineCache, mut file: File, news: &Receiver<()>) {
    while news.recv().is_ok() {
        while news.recv_timeout(SILENCE).is_ok() {}
        let Some(data) = raw.get_data() else { return };
        if let Err(error) = file.write(&data) {
            tracing::debug!(path = %file.path.display(), %error, "pipelines are not kept");
            return;
        }
    }
}

/// Why a file's data is not used.
#[derive(Debug, PartialEq, Eq)]
enum Unusable {
    Damaged(&'static str),
    OtherDriver,
}

/// The file of an adapter and its driver.
struct File {
    path: PathBuf,
    /// The checksum of the driver's version.
    driver: u32,
    /// The checksum of the file's data, as far as this process knows.
    held: Option<u32>,
}

impl File {
    fn of(info: &wgpu::AdapterInfo, folder: &Path) -> Option<File> {
        let name = wgpu::util::pipeline_cache_key(info)?;
        let path = folder.join(format!("{name}_{:08x}", crc32fast::hash(info.driver.as_bytes())));
        Some(File { path, driver: crc32fast::hash(info.driver_info.as_bytes()), held: None })
    }

    /// The data of the file if it is valid; logs one line if the file exists but is not valid.
    fn read(&self) -> Option<Vec<u8>> {
        let path = self.path.display();
        let bytes = match fs::metadata(&self.path) {
            Ok(known) if known.len() > (HEAD + MOST) as u64 => Err(Unusable::Damaged("it is too large")),
            Ok(_) => fs::read(&self.path).map_err(|_| Unusable::Damaged("it cannot be read")),
            Err(_) => return None,
        };
        match bytes.and_then(|bytes| Ok(data(&bytes, self.driver)?.to_vec())) {
            Ok(data) => Some(data),
            Err(Unusable::OtherDriver) => {
                tracing::info!(%path, "pipelines of another version of the driver are not used");
                None
            }
            Err(Unusable::Damaged(why)) => {
                tracing::warn!(%path, "the file of pipelines is ignored: {why}");
                None
            }
        }
    }

    /// Writes data to a temporary file and renames it to the final name, unless the same data is there already,
    /// it is too large, or another process is writing.
    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let sum = crc32fast::hash(data);
        if data.len() > MOST || self.held == Some(sum) {
            return Ok(());
        }
        fs::create_dir_all(self.path.parent().unwrap_or(Path::new("")))?;
        let beside = self.path.with_extension("new");
        let Some(mut new) = begin(&beside)? else { return Ok(()) };
        let written = new
            .write_all(&head(data, self.driver))
            .and_then(|()| new.write_all(data))
            .and_then(|()| fs::rename(&beside, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        self.held = Some(sum);
        written
    }
}

/// Opens a temporary file that no other process is writing; `None` if one is.
fn begin(path: &Path) -> io::Result<Option<fs::File>> {
    let open = || OpenOptions::new().write(true).create_new(true).open(path);
    match open() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let age = fs::metadata(path).and_then(|known| known.modified()).map(|at| at.elapsed());
            if !matches!(age, Ok(Ok(age)) if age > ABANDONED) {
                return Ok(None);
            }
            fs::remove_file(path)?;
            open().map(Some)
        }
        opened => opened.map(Some),
    }
}

/// The header before the data.
fn head(data: &[u8], driver: u32) -> Vec<u8> {
    let sums = [driver, crc32fast::hash(data)].map(u32::to_le_bytes).concat();
    [&MAGIC[..], &sums, &(data.len() as u64).to_le_bytes()].concat()
}

/// The data in a file's bytes, if they are complete and of this driver.
fn data(bytes: &[u8], driver: u32) -> Result<&[u8], Unusable> {
    let Some((found, data)) = bytes.split_at_checked(HEAD) else {
        return Err(Unusable::Damaged("it is too short"));
    };
    let wanted = head(data, driver);
    let parts = [
        (0..8, Unusable::Damaged("it is not a pipeline file")),
        (16..24, Unusable::Damaged("its length is wrong")),
        (12..16, Unusable::Damaged("its checksum is wrong")),
        (8..12, Unusable::OtherDriver),
    ];
    match parts.into_iter().find(|(part, _)| found[part.clone()] != wanted[part.clone()]) {
        Some((_, why)) => Err(why),
        None => Ok(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_files_of_the_same_driver_are_used() {
        let kept = b"what a driver keeps";
        let file = [&head(kept, 7)[..], kept].concat();
        assert_eq!(data(&file, 7), Ok(&kept[..]));
        assert_eq!(data(&file, 8), Err(Unusable::OtherDriver));
        for len in 0..file.len() {
            assert!(matches!(data(&file[..len], 7), Err(Unusable::Damaged(_))), "{len}");
        }
        for at in (0..file.len()).filter(|at| !(8..12).contains(at)) {
            let mut bad = file.clone();
            bad[at] ^= 0x10;
            assert!(matches!(data(&bad, 7), Err(Unusable::Damaged(_))), "{at}");
        }
    }

    #[test]
    fn writers_at_the_same_time_leave_one_whole_file() {
        let folder = std::env::temp_dir().join(format!("farad-cache-{}", std::process::id()));
        let path = folder.join("deeper/pipelines");
        std::thread::scope(|scope| {
            for writer in 1..5u8 {
                let mut file = File { path: path.clone(), driver: 7, held: None };
                scope.spawn(move || {
                    (1..50).for_each(|n| file.write(&vec![writer; 1000 * n]).unwrap());
                });
            }
        });
        let read = File { path: path.clone(), driver: 7, held: None }.read().unwrap();
        assert!(read.iter().all(|&byte| byte == read[0]) && read.len().is_multiple_of(1000));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        fs::remove_dir_all(folder).unwrap();
    }
}
