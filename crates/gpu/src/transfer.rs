//! Transfers from the host to the device, and copies on the device.
//!
//! Copies wait in the pending encoder. A write flushes it first, because otherwise the queue would execute the
//! write before them.

use farad_runtime::Memory;
use farad_runtime::profile::Phase;

use crate::device::{GpuDevice, lock};
use crate::error::Error;
use crate::heuristics::pools::STAGED;
use crate::memory::OnGpu;

/// Transfers work on whole words.
pub(crate) const WORD: usize = 4;

impl GpuDevice {
    /// Writes `data` at a byte offset that is a multiple of 4. If its length is not, the rest of the last word
    /// is zeroed.
    pub fn write(&self, memory: &Memory, offset: usize, data: &[u8]) -> Result<(), Error> {
        self.check()?;
        memory.check_home("write", self)?;
        check_offset("write", offset)?;
        memory.check_range("write", offset, data.len())?;
        let _phase = self.profiler().enter(Phase::Uploading);
        self.profiler().moved(Phase::Uploading, data.len());
        for (i, chunk) in data.chunks(STAGED).enumerate() {
            self.write_chunk(memory, offset + i * STAGED, chunk);
        }
        self.shared.tally.uploaded(data.len());
        self.check()
    }

    fn write_chunk(&self, memory: &Memory, offset: usize, data: &[u8]) {
        let mut pending = lock(&self.shared.pending);
        if pending.waits() || pending.staged + data.len() > STAGED {
            self.shared.submit_locked(&mut pending, None);
        }
        pending.staged += data.len();
        let whole = data.len() / WORD * WORD;
        let queue = &self.shared.queue;
        if whole > 0 {
            queue.write_buffer(memory.buffer(), offset as u64, &data[..whole]);
        }
        if whole < data.len() {
            let mut last = [0; WORD];
            last[..data.len() - whole].copy_from_slice(&data[whole..]);
            queue.write_buffer(memory.buffer(), (offset + whole) as u64, &last);
        }
        drop(pending);
        if data.len() == STAGED {
            // A long upload: free finished staging memory before using more.
            self.shared.flush();
            self.shared.poll(wgpu::PollType::wait_indefinitely());
        }
        self.shared.keep_pace();
    }

    /// Copies on the device, in order with runs. Offsets must be multiples of 4; the length is rounded up to
    /// one. Source and target may be the same memory, and may overlap.
    pub fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<(), Error> {
        self.check()?;
        from.0.check_home("copy", self)?;
        to.0.check_home("copy", self)?;
        check_offset("copy", from.1)?;
        check_offset("copy", to.1)?;
        from.0.check_range("copy", from.1, bytes)?;
        to.0.check_range("copy", to.1, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let bytes = bytes.next_multiple_of(WORD);
        // WebGPU has no copy within one buffer.
        let between = if from.0.number() == to.0.number() { Some(self.allocate(bytes)?) } else { None };
        let mut pending = lock(&self.shared.pending);
        let encoder = pending.transfers(&self.shared);
        let (mut source, mut start) = (from.0.buffer(), from.1 as u64);
        if let Some(between) = &between {
            encoder.copy_buffer_to_buffer(source, start, between.buffer(), 0, bytes as u64);
            (source, start) = (between.buffer(), 0);
        }
        encoder.copy_buffer_to_buffer(source, start, to.0.buffer(), to.1 as u64, bytes as u64);
        drop(pending);
        self.check()
    }
}

fn check_offset(op: &'static str, offset: usize) -> Result<(), Error> {
    if !offset.is_multiple_of(WORD) {
        return Err(Error::Alignment { op, offset, alignment: WORD });
    }
    Ok(())
}
