//! Reads from the device to the host, without blocking unless asked to.
//!
//! A read copies to staging memory and maps it. The error words of every program that ran since the last read
//! are read as well; if one is set, the read fails with [`Error::Index`]. On native devices, someone must poll:
//! [`ReadFuture::wait`] does so itself, and for an awaited future a thread does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::ThreadId;

use farad_runtime::Memory;
use farad_runtime::profile::Phase;
use rayon::prelude::*;

use crate::buffer::{BufferPurpose, Owned};
use crate::counters::LiveCounters;
use crate::device::{GpuDevice, lock};
use crate::error::Error;
use crate::heuristics::pools::{COPY_CHUNK, STAGING_KEPT};
use crate::memory::OnGpu;
use crate::poller::Done;
use crate::report::{ErrorReport, Ran};
use crate::transfer::WORD;

/// Staging buffers kept for later reads.
#[derive(Default)]
pub(crate) struct StagingPool {
    free: Vec<Owned>,
    bytes: usize,
}

/// A range of a buffer.
pub(crate) struct BufferRange<'a> {
    pub(crate) buffer: &'a wgpu::Buffer,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// A read in progress: resolves to the bytes of every range requested.
#[must_use = "a read gives its bytes when awaited"]
pub struct ReadFuture {
    state: ReadState,
}

enum ReadState {
    Failed(Error),
    Waiting(Waiting),
    Taken,
}

struct Waiting {
    device: GpuDevice,
    index: wgpu::SubmissionIndex,
    staging: Vec<Owned>,
    regions: Vec<Region>,
    /// The reading thread, the runs that are checked (none for internal reads), and their programs, each once.
    reader: ThreadId,
    runs: Option<Vec<Ran>>,
    reports: Vec<Arc<ErrorReport>>,
    done: Arc<Done>,
    polled: bool,
}

/// The range of staging memory that holds the bytes of a request.
#[derive(Clone, Copy)]
struct Region {
    staging: usize,
    offset: usize,
    bytes: usize,
}

/// A range of memory to read.
#[derive(Clone, Debug)]
pub struct MemoryRange {
    /// What is read.
    pub memory: Memory,
    /// Byte offset of the first byte.
    pub offset: usize,
    /// How many bytes.
    pub bytes: usize,
}

impl MemoryRange {
    /// `bytes` bytes of `memory`, starting at byte `offset`.
    pub fn new(memory: Memory, offset: usize, bytes: usize) -> MemoryRange {
        MemoryRange { memory, offset, bytes }
    }
}

impl StagingPool {
    fn take(&mut self, bytes: usize) -> Option<Owned> {
        let at = self.free.iter().position(|buffer| buffer.size() as usize == bytes)?;
        self.bytes -= bytes;
        Some(self.free.swap_remove(at))
    }

    fn put(&mut self, buffer: Owned) {
        if self.bytes + buffer.size() as usize <= STAGING_KEPT {
            self.bytes += buffer.size() as usize;
            self.free.push(buffer);
        }
    }

    /// Drops everything.
    pub(crate) fn drain(&mut self) -> Vec<Owned> {
        self.bytes = 0;
        std::mem::take(&mut self.free)
    }
}

impl GpuDevice {
    /// Reads ranges after all work requested so far. A bad index found by a kernel since the last read comes
    /// back as [`Error::Index`].
    pub fn read(&self, ranges: &[MemoryRange]) -> ReadFuture {
        let mut spans = Vec::with_capacity(ranges.len());
        for MemoryRange { memory, offset, bytes } in ranges {
            let fits = memory.check_home("read", self).and(memory.check_range("read", *offset, *bytes));
            if let Err(error) = fits {
                return ReadFuture { state: ReadState::Failed(error) };
            }
            spans.push(BufferRange { buffer: memory.buffer(), offset: *offset, bytes: *bytes });
        }
        let bytes = spans.iter().map(|span| span.bytes).sum();
        self.profiler().moved(Phase::Reading, bytes);
        let runs = lock(&self.shared.reports).open();
        LiveCounters::add(&self.shared.tally.reads, 1);
        LiveCounters::add(&self.shared.tally.bytes_read, bytes);
        self.read_spans(&spans, Some(runs))
    }

    /// [`GpuDevice::read`], waiting for the result.
    pub fn read_blocking(&self, ranges: &[MemoryRange]) -> Result<Vec<Vec<u8>>, Error> {
        self.read(ranges).wait()
    }

    pub(crate) fn read_spans(&self, spans: &[BufferRange], runs: Option<Vec<Ran>>) -> ReadFuture {
        let mut reports: Vec<Arc<ErrorReport>> = Vec::new();
        for ran in runs.iter().flatten() {
            if !reports.iter().any(|report| Arc::ptr_eq(report, &ran.report)) {
                reports.push(ran.report.clone());
            }
        }
        let state = match self.start_read(spans, &reports) {
            Ok(waiting) => ReadState::Waiting(Waiting { runs, reports, ..waiting }),
            Err(error) => ReadState::Failed(error),
        };
        ReadFuture { state }
    }

    fn start_read(&self, spans: &[BufferRange], reports: &[Arc<ErrorReport>]) -> Result<Waiting, Error> {
        let _phase = self.profiler().enter(Phase::Reading);
        self.check()?;
        let words = reports.iter().map(|report| BufferRange {
            buffer: &report.words,
            offset: 0,
            bytes: report.bytes(),
        });
        let spans: Vec<&BufferRange> = spans.iter().collect();
        let words: Vec<BufferRange> = words.collect();
        let all: Vec<&BufferRange> = spans.into_iter().chain(&words).collect();
        let (regions, sizes) = self.arrange(&all);
        let staging = sizes.iter().map(|&bytes| self.staging(bytes)).collect::<Result<Vec<_>, Error>>()?;
        let index = {
            let mut pending = lock(&self.shared.pending);
            let encoder = pending.transfers(&self.shared);
            for (span, region) in all.iter().zip(&regions).filter(|(span, _)| span.bytes > 0) {
                let start = span.offset / WORD * WORD;
                let bytes = (span.offset + span.bytes).next_multiple_of(WORD) - start;
                let to = (region.offset / WORD * WORD) as u64;
                encoder.copy_buffer_to_buffer(
                    span.buffer,
                    start as u64,
                    &staging[region.staging],
                    to,
                    bytes as u64,
                );
            }
            self.shared.submit_locked(&mut pending, None)
        };
        self.shared.keep_pace();
        let done = Done::new(staging.len());
        for buffer in &staging {
            let done = done.clone();
            buffer.map_async(wgpu::MapMode::Read, .., move |result| done.count(result.is_ok()));
        }
        self.check()?;
        let (reader, device) = (std::thread::current().id(), self.clone());
        let (runs, reports) = (None, vec![]);
        Ok(Waiting { device, index, staging, regions, reader, runs, reports, done, polled: false })
    }

    /// Where every range goes, and the sizes of the staging buffers.
    fn arrange(&self, spans: &[&BufferRange]) -> (Vec<Region>, Vec<usize>) {
        let limit = self.shared.limits.max_buffer_size as usize;
        let mut sizes: Vec<usize> = Vec::new();
        let regions = spans.iter().map(|span| {
            let skip = span.offset % WORD;
            let bytes = (skip + span.bytes).next_multiple_of(WORD);
            if sizes.last().is_none_or(|&size| size + bytes > limit) {
                sizes.push(0);
            }
            let staging = sizes.len() - 1;
            let offset = sizes[staging] + skip;
            sizes[staging] += bytes;
            Region { staging, offset, bytes: span.bytes }
        });
        let regions = regions.collect();
        // Powers of two, so that other reads can reuse the buffers.
        sizes.iter_mut().for_each(|size| *size = (*size).max(256).next_power_of_two().min(limit.max(*size)));
        (regions, sizes)
    }

    fn staging(&self, bytes: usize) -> Result<Owned, Error> {
        let pooled = lock(&self.shared.staging).take(bytes);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        pooled.map_or_else(|| self.shared.create_buffer(bytes, usage, BufferPurpose::Staging), Ok)
    }
}

impl ReadFuture {
    /// Blocks until the bytes are there.
    pub fn wait(mut self) -> Result<Vec<Vec<u8>>, Error> {
        match std::mem::replace(&mut self.state, ReadState::Taken) {
            ReadState::Failed(error) => Err(error),
            ReadState::Waiting(waiting) => {
                let mut waiting = Abandon(Some(waiting));
                let inner = waiting.0.as_ref().expect("set above");
                while !inner.done.is_done() && !inner.device.shared.is_lost() {
                    inner.device.shared.poll(wgpu::PollType::Wait {
                        submission_index: Some(inner.index.clone()),
                        timeout: None,
                    });
                    // Another thread's poll may still be calling the callbacks.
                    std::thread::yield_now();
                }
                waiting.0.take().expect("set above").finish()
            }
            ReadState::Taken => unreachable!("wait takes the future"),
        }
    }
}

impl Future for ReadFuture {
    type Output = Result<Vec<Vec<u8>>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ready = match &mut self.state {
            ReadState::Waiting(waiting) => waiting.is_ready(context),
            _ => true,
        };
        if !ready {
            return Poll::Pending;
        }
        Poll::Ready(match std::mem::replace(&mut self.state, ReadState::Taken) {
            ReadState::Failed(error) => Err(error),
            ReadState::Waiting(waiting) => waiting.finish(),
            ReadState::Taken => panic!("read: polled after it was ready"),
        })
    }
}

impl Drop for ReadFuture {
    fn drop(&mut self) {
        if let ReadState::Waiting(waiting) = std::mem::replace(&mut self.state, ReadState::Taken) {
            drop(Abandon(Some(waiting)));
        }
    }
}

/// Ends a read before its result was seen: the runs that it checked stay on the list.
struct Abandon(Option<Waiting>);

impl Drop for Abandon {
    fn drop(&mut self) {
        if let Some(waiting) = self.0.take() {
            waiting.done.abandon();
        }
    }
}

impl Waiting {
    fn is_ready(&mut self, context: &Context<'_>) -> bool {
        let shared = &self.device.shared;
        shared.poll(wgpu::PollType::Poll);
        if self.done.is_done() || shared.is_lost() {
            return true;
        }
        self.done.tell(context.waker());
        if !self.polled {
            shared.poller.watch(shared, self.done.clone());
            self.polled = true;
        }
        self.done.is_done()
    }

    fn finish(self) -> Result<Vec<Vec<u8>>, Error> {
        let shared = &self.device.shared;
        if shared.is_lost() || self.done.has_failed() {
            shared.check()?;
            return Err(Error::Internal { message: "read: mapping failed".to_string() });
        }
        let _phase = shared.profiler.enter(Phase::Reading);
        let mut bytes = self.collect()?;
        for buffer in self.staging {
            buffer.unmap();
            lock(&shared.staging).put(buffer);
        }
        let words = bytes.split_off(bytes.len() - self.reports.len());
        let bad = self.reports.iter().zip(&words).filter_map(|(r, words)| Some((r, r.error(words)?)));
        let bad: Vec<(&Arc<ErrorReport>, Error)> = bad.collect();
        let error = self.runs.and_then(|runs| lock(&shared.reports).close(self.reader, &runs, &bad));
        // Only now, after the threads that ran the program have been told.
        for (report, _) in &bad {
            shared.queue.write_buffer(&report.words, 0, &vec![0; report.bytes()]);
        }
        match error {
            Some(error) => Err(error),
            None => shared.check().map(|()| bytes),
        }
    }

    fn collect(&self) -> Result<Vec<Vec<u8>>, Error> {
        let views = self.staging.iter().map(|buffer| buffer.get_mapped_range(..));
        let views: Vec<_> = views
            .collect::<Result<_, _>>()
            .map_err(|error| Error::Internal { message: error.to_string() })?;
        Ok(self.regions.iter().map(|r| to_vec(&views[r.staging][r.offset..r.offset + r.bytes])).collect())
    }
}

/// Long copies are divided among threads: most of the time goes into touching fresh pages.
fn to_vec(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() <= 2 * COPY_CHUNK {
        return bytes.to_vec();
    }
    let mut copy = vec![0; bytes.len()];
    copy.par_chunks_mut(COPY_CHUNK)
        .zip(bytes.par_chunks(COPY_CHUNK))
        .for_each(|(to, from)| to.copy_from_slice(from));
    copy
}
