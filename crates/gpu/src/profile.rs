//! How long kernels take: each dispatch separately, or whole passes while runs go on as usual.
//!
//! A profile that times launches separately gives each its own pass with time stamps at both ends, and waits
//! for every run. Without time stamps it waits for every dispatch and uses the host's clock. Start times are
//! converted to the profiler's clock, with one common origin of the GPU's.

use std::time::Instant;

use farad_runtime::profile::Profiler;

use crate::buffer::{BufferPurpose, Owned};
use crate::device::{GpuDevice, lock};
use crate::error::Error;
use crate::executable::{GpuExecutable, RunState};
use crate::read::BufferRange;
use crate::schedule::ScheduledLaunch;

/// Dispatches whose time stamps fit into one query set.
const PROFILED: usize = wgpu::QUERY_SET_MAX_QUERIES as usize / 2;

/// Passes that [`GpuDevice::pass_nanoseconds`] remembers.
const TIMED: usize = 64;

/// Bytes of two time stamps.
const PAIR: usize = 2 * wgpu::QUERY_SIZE as usize;

/// How the GPU's clock relates to the host's.
#[derive(Debug, Default)]
pub(crate) struct Alignment {
    /// The first time stamp seen, in ticks, and its time on the profiler's clock. No launch starts before it
    /// was submitted, so that time is moved later whenever one seems to.
    first: Option<(u64, u64)>,
}

impl Alignment {
    /// The time of a stamp, given that it came after the moment `submitted`.
    fn moment(&mut self, ticks: u64, period: f64, submitted: u64) -> u64 {
        let (first, moment) = self.first.get_or_insert((ticks, submitted));
        let since = (ticks.saturating_sub(*first) as f64 * period) as u64;
        *moment = (*moment).max(submitted.saturating_sub(since));
        *moment + since
    }
}

/// Time stamps around the last passes, in a ring.
pub(crate) struct PassTimer {
    queries: wgpu::QuerySet,
    resolved: Owned,
    passes: u64,
}

/// The stamps of one pass.
pub(crate) struct TimedPass {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    slot: u32,
}

impl GpuDevice {
    /// Records what the device does while a profile is open.
    pub fn profiler(&self) -> &Profiler {
        &self.shared.profiler
    }

    /// Turns time stamps around whole passes on or off; false if the device has none.
    pub fn time_passes(&self, on: bool) -> Result<bool, Error> {
        let timer = if on && self.info().features.timestamps { Some(self.new_timer()?) } else { None };
        let timing = timer.is_some();
        *lock(&self.shared.timer) = timer;
        Ok(timing)
    }

    /// The durations of the last runs (at most 64) since [`GpuDevice::time_passes`], oldest first.
    pub fn pass_nanoseconds(&self) -> Result<Vec<u64>, Error> {
        let (resolved, passes) = match &*lock(&self.shared.timer) {
            Some(timer) => ((*timer.resolved).clone(), timer.passes as usize),
            None => return Ok(vec![]),
        };
        let bytes = TIMED * wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT as usize;
        let stamps = self.read_spans(&[BufferRange { buffer: &resolved, offset: 0, bytes }], None).wait()?;
        let slot = |pass: usize| (pass % TIMED) * wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT as usize;
        let first = passes.saturating_sub(TIMED);
        Ok((first..passes).map(|pass| self.nanoseconds(&stamps[0][slot(pass)..])).collect())
    }

    /// Stamps for the next pass, if passes are timed.
    pub(crate) fn next_timed_pass(&self) -> Option<TimedPass> {
        let mut timer = lock(&self.shared.timer);
        let timer = timer.as_mut()?;
        let slot = (timer.passes % TIMED as u64) as u32;
        timer.passes += 1;
        Some(TimedPass { queries: timer.queries.clone(), resolved: (*timer.resolved).clone(), slot })
    }

    fn new_timer(&self) -> Result<PassTimer, Error> {
        let resolved = self.resolve_buffer(TIMED * wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT as usize)?;
        Ok(PassTimer { queries: self.queries(2 * TIMED)?, resolved, passes: 0 })
    }

    fn queries(&self, count: usize) -> Result<wgpu::QuerySet, Error> {
        let shared = &*self.shared;
        let (label, ty, count) = (None, wgpu::QueryType::Timestamp, count as u32);
        let descriptor = wgpu::QuerySetDescriptor { label, ty, count };
        let bytes = count as usize * wgpu::QUERY_SIZE as usize;
        shared
            .scoped(|| shared.gpu.create_query_set(&descriptor))
            .map_err(|error| Error::from_wgpu(error, || shared.ledger.refusal("time stamps", Some(bytes))))
    }

    fn resolve_buffer(&self, bytes: usize) -> Result<Owned, Error> {
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        self.shared.create_buffer(bytes, usage, BufferPurpose::Parameter)
    }

    /// Nanoseconds between the two time stamps at the start of `bytes`.
    fn nanoseconds(&self, bytes: &[u8]) -> u64 {
        let [start, end] = ticks(bytes);
        (end.saturating_sub(start) as f64 * self.shared.queue.get_timestamp_period() as f64) as u64
    }
}

impl TimedPass {
    pub(crate) fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        stamps(&self.queries, self.slot)
    }

    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        let at = self.slot as u64 * wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT;
        encoder.resolve_query_set(&self.queries, 2 * self.slot..2 * self.slot + 2, &self.resolved, at);
    }
}

impl GpuExecutable {
    /// Runs with every dispatch timed, and waits.
    pub(crate) fn run_profiled(&self, state: &RunState) -> Result<(), Error> {
        for launches in self.launches.chunks(PROFILED) {
            if self.device.info().features.timestamps {
                self.run_stamped(state, launches)?;
            } else {
                self.run_clocked(state, launches)?;
            }
        }
        Ok(())
    }

    fn run_stamped(&self, state: &RunState, launches: &[ScheduledLaunch]) -> Result<(), Error> {
        let device = &self.device;
        let (queries, bytes) = (device.queries(2 * launches.len())?, PAIR * launches.len());
        let resolved = device.resolve_buffer(bytes)?;
        let mut encoder = device.shared.encoder();
        for (n, launch) in launches.iter().enumerate() {
            let timestamp_writes = Some(stamps(&queries, n as u32));
            let mut pass =
                encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
            self.encode(&mut pass, state, std::slice::from_ref(launch));
        }
        encoder.resolve_query_set(&queries, 0..2 * launches.len() as u32, &resolved, 0);
        let commands = encoder.finish();
        let submitted = device.profiler().at(Instant::now());
        device.submit(commands);
        let read = device.read_spans(&[BufferRange { buffer: &resolved, offset: 0, bytes }], None).wait()?;
        let period = device.shared.queue.get_timestamp_period() as f64;
        let mut alignment = lock(&device.shared.alignment);
        for (launch, pair) in launches.iter().zip(read[0].chunks(PAIR)) {
            let start = alignment.moment(ticks(pair)[0], period, submitted);
            self.record(launch, start, device.nanoseconds(pair));
        }
        Ok(())
    }

    fn run_clocked(&self, state: &RunState, launches: &[ScheduledLaunch]) -> Result<(), Error> {
        self.device.wait()?;
        for launch in launches {
            let mut encoder = self.device.shared.encoder();
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            self.encode(&mut pass, state, std::slice::from_ref(launch));
            drop(pass);
            let start = Instant::now();
            self.device.submit(encoder.finish());
            self.device.wait()?;
            let nanoseconds = start.elapsed().as_nanos() as u64;
            self.record(launch, self.device.profiler().at(start), nanoseconds);
        }
        Ok(())
    }

    fn record(&self, launch: &ScheduledLaunch, start: u64, nanoseconds: u64) {
        let routine = &self.routines[launch.routine as usize];
        self.device.profiler().launched(&routine.label, routine.costs, start, nanoseconds);
    }
}

/// The two time stamps at the start of `bytes`.
fn ticks(bytes: &[u8]) -> [u64; 2] {
    [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")))
}

fn stamps(queries: &wgpu::QuerySet, pair: u32) -> wgpu::ComputePassTimestampWrites<'_> {
    wgpu::ComputePassTimestampWrites {
        query_set: queries,
        beginning_of_pass_write_index: Some(2 * pair),
        end_of_pass_write_index: Some(2 * pair + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::Alignment;

    #[test]
    fn no_launch_starts_before_it_was_submitted_and_the_order_stays() {
        let mut alignment = Alignment::default();
        assert_eq!(alignment.moment(1000, 2.0, 50), 50);
        assert_eq!(alignment.moment(1010, 2.0, 50), 70);
        // Submitted at 100, yet stamped as if at 90: so the first stamp was later than assumed.
        assert_eq!(alignment.moment(1020, 2.0, 100), 100);
        assert_eq!(alignment.moment(1030, 2.0, 100), 120);
    }
}
