//! Compiled pipelines kept on disk for the next process, where wgpu can (Vulkan).
//!
//! There is one file per adapter and driver, with its length and checksums, of at most 64 MiB. Files are
//! written atomically: to a temporary file beside their place, then renamed, by one process at a time. A
//! thread of its own writes them once nothing new was compiled for a while, so no step waits for it.
//!
//! Invariant: a cache makes nothing fail. A file that is damaged, too large or of another driver version is
//! ignored with one warning. Where no file can be written, none is. Start at [`PipelineFile::open`].

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::device::lock;

/// What a file begins with; the number is that of the layout.
const MAGIC: &[u8; 8] = b"farad-p1";
/// Bytes before the data: [`MAGIC`], checksums of the driver's version and of the data, the data's length.
const HEAD: usize = 24;
/// Bytes of data that are read or written at most.
const MOST: usize = 64 << 20;
/// How long nothing new must have been compiled before a file is written.
const SILENCE: Duration = Duration::from_millis(500);
/// How old a file that is being written is if whoever wrote it is gone.
const ABANDONED: Duration = Duration::from_secs(60);

/// The pipelines that a device has compiled, as the driver keeps them.
pub(crate) struct PipelineFile {
    raw: wgpu::PipelineCache,
    /// Tells the writer that there is something new; gone once the cache is closed.
    news: Mutex<Option<Sender<()>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    bytes_read: usize,
}

impl PipelineFile {
    /// The cache of an adapter in a folder, with what an earlier process kept there. None where the driver has no such thing.
    pub(crate) fn open(gpu: &wgpu::Device, info: &wgpu::AdapterInfo, folder: &Path) -> Option<PipelineFile> {
        if !gpu.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let file = File::of(info, folder)?;
        let data = file.read();
        let descriptor = wgpu::PipelineCacheDescriptor {
            label: None,
            data: data.as_deref(),
            // Data that the driver does not know any more is as good as none.
            fallback: true,
        };
        // SAFETY: the data came from `get_data` of a cache of this adapter: the file's name, the length and the
        // checksums in its head say so, and wgpu and the driver check heads of their own.
        let raw = unsafe { gpu.create_pipeline_cache(&descriptor) };
        let (news, heard) = channel();
        let (own, bytes_read) = (raw.clone(), data.map_or(0, |data| data.len()));
        let thread = std::thread::Builder::new().name("farad-cache".into());
        let writer = thread.spawn(move || write_in_silence(&own, file, &heard)).ok();
        Some(PipelineFile { raw, news: Mutex::new(Some(news)), writer: Mutex::new(writer), bytes_read })
    }

    /// What pipelines are compiled with.
    pub(crate) fn raw(&self) -> &wgpu::PipelineCache {
        &self.raw
    }

    /// Bytes that an earlier process had kept.
    pub(crate) fn bytes_read(&self) -> usize {
        self.bytes_read
    }

    /// Something new was compiled.
    pub(crate) fn grew(&self) {
        if let Some(news) = &*lock(&self.news) {
            // A writer that could not write is gone, and nobody misses it.
            let _ = news.send(());
        }
    }

    /// Writes what is not written yet, and nothing more after that.
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

/// Writes the cache whenever it has grown and nothing more came for a while, and at the end.
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
    /// The checksum of what it holds, as far as this process knows.
    held: Option<u32>,
}

impl File {
    fn of(info: &wgpu::AdapterInfo, folder: &Path) -> Option<File> {
        let name = wgpu::util::pipeline_cache_key(info)?;
        let path = folder.join(format!("{name}_{:08x}", crc32fast::hash(info.driver.as_bytes())));
        Some(File { path, driver: crc32fast::hash(info.driver_info.as_bytes()), held: None })
    }

    /// The data that the file holds, if it is sound; says so in one line if it is there and is not.
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

    /// Writes data beside the file and puts it in its place, unless it is there already, is too much, or
    /// another process is at it.
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

/// Opens a file that nobody else is writing; none if somebody is.
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

/// What stands before the data.
fn head(data: &[u8], driver: u32) -> Vec<u8> {
    let sums = [driver, crc32fast::hash(data)].map(u32::to_le_bytes).concat();
    [&MAGIC[..], &sums, &(data.len() as u64).to_le_bytes()].concat()
}

/// The data of a file's bytes, if they are whole and the driver's.
fn data(bytes: &[u8], driver: u32) -> Result<&[u8], Unusable> {
    let Some((found, data)) = bytes.split_at_checked(HEAD) else {
        return Err(Unusable::Damaged("it is too short"));
    };
    let wanted = head(data, driver);
    let parts = [
        (0..8, Unusable::Damaged("it is something else")),
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
