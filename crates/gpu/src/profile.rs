//! How long kernels take: every dispatch alone, or whole passes while runs go on as usual.
//!
//! A profile gives each dispatch a pass of its own with time stamps at both ends, and waits for
//! every run. Without time stamps it waits for every dispatch and takes the host's clock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::buffer::{Owned, Purpose};
use crate::device::{Device, lock};
use crate::error::Error;
use crate::executable::{Executable, State};
use crate::read::Span;
use crate::schedule::Launch;

/// Dispatches whose time stamps fit into one query set.
const PROFILED: usize = wgpu::QUERY_SET_MAX_QUERIES as usize / 2;

/// Passes that [`Device::pass_nanoseconds`] remembers.
const TIMED: usize = 64;

/// Bytes of two time stamps.
const PAIR: usize = 2 * wgpu::QUERY_SIZE as usize;

/// What one kernel cost while the profile was on, summed over its dispatches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTime {
    /// The step's label.
    pub label: String,
    /// Time on the device.
    pub nanoseconds: u64,
    /// Bytes that had to move at least.
    pub bytes: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Dispatches.
    pub count: u64,
}

/// Times gathered so far.
#[derive(Default)]
pub(crate) struct Profile {
    on: AtomicBool,
    times: Mutex<HashMap<Arc<str>, KernelTime>>,
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

impl Profile {
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }
}

impl Device {
    /// Starts to time every dispatch; earlier times are dropped.
    pub fn profile_start(&self) {
        lock(&self.shared.profile.times).clear();
        self.shared.profile.on.store(true, Ordering::Release);
    }

    /// Stops, and gives the times by kernel, longest first.
    pub fn profile_stop(&self) -> Vec<KernelTime> {
        self.shared.profile.on.store(false, Ordering::Release);
        let mut times: Vec<KernelTime> =
            lock(&self.shared.profile.times).drain().map(|(_, time)| time).collect();
        times.sort_by(|a, b| b.nanoseconds.cmp(&a.nanoseconds).then_with(|| a.label.cmp(&b.label)));
        times
    }

    /// Turns time stamps around whole passes on or off; false if the device has none.
    pub fn time_passes(&self, on: bool) -> Result<bool, Error> {
        let timer = if on && self.info().features.timestamps { Some(self.new_timer()?) } else { None };
        let timing = timer.is_some();
        *lock(&self.shared.timer) = timer;
        Ok(timing)
    }

    /// The durations of the last runs (at most 64) since [`Device::time_passes`], oldest first.
    pub fn pass_nanoseconds(&self) -> Result<Vec<u64>, Error> {
        let (resolved, passes) = match &*lock(&self.shared.timer) {
            Some(timer) => ((*timer.resolved).clone(), timer.passes as usize),
            None => return Ok(vec![]),
        };
        let bytes = TIMED * wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT as usize;
        let stamps = self.read_spans(&[Span { buffer: &resolved, offset: 0, bytes }], vec![]).wait()?;
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
        self.shared.create_buffer(bytes, usage, Purpose::Parameter)
    }

    /// Between the two time stamps at the start of `bytes`.
    fn nanoseconds(&self, bytes: &[u8]) -> u64 {
        let stamp = |n: usize| u64::from_le_bytes(bytes[8 * n..8 * n + 8].try_into().expect("eight bytes"));
        let ticks = stamp(1).saturating_sub(stamp(0));
        (ticks as f64 * self.shared.queue.get_timestamp_period() as f64) as u64
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

impl Executable {
    /// Runs with every dispatch timed, and waits.
    pub(crate) fn run_profiled(&self, state: &State) -> Result<(), Error> {
        for launches in self.launches.chunks(PROFILED) {
            if self.device.info().features.timestamps {
                self.run_stamped(state, launches)?;
            } else {
                self.run_clocked(state, launches)?;
            }
        }
        Ok(())
    }

    fn run_stamped(&self, state: &State, launches: &[Launch]) -> Result<(), Error> {
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
        device.submit(encoder.finish());
        let read = device.read_spans(&[Span { buffer: &resolved, offset: 0, bytes }], vec![]).wait()?;
        for (launch, pair) in launches.iter().zip(read[0].chunks(PAIR)) {
            self.record(launch, device.nanoseconds(pair));
        }
        Ok(())
    }

    fn run_clocked(&self, state: &State, launches: &[Launch]) -> Result<(), Error> {
        self.device.wait()?;
        for launch in launches {
            let mut encoder = self.device.shared.encoder();
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            self.encode(&mut pass, state, std::slice::from_ref(launch));
            drop(pass);
            let start = Instant::now();
            self.device.submit(encoder.finish());
            self.device.wait()?;
            self.record(launch, start.elapsed().as_nanos() as u64);
        }
        Ok(())
    }

    fn record(&self, launch: &Launch, nanoseconds: u64) {
        let routine = &self.routines[launch.routine as usize];
        let mut times = lock(&self.device.shared.profile.times);
        let time = times.entry(routine.label.clone()).or_insert_with(|| KernelTime {
            label: routine.label.to_string(),
            nanoseconds: 0,
            bytes: 0,
            flops: 0,
            count: 0,
        });
        time.nanoseconds += nanoseconds;
        time.bytes += routine.bytes;
        time.flops += routine.flops;
        time.count += 1;
    }
}

fn stamps(queries: &wgpu::QuerySet, pair: u32) -> wgpu::ComputePassTimestampWrites<'_> {
    wgpu::ComputePassTimestampWrites {
        query_set: queries,
        beginning_of_pass_write_index: Some(2 * pair),
        end_of_pass_write_index: Some(2 * pair + 1),
    }
}
