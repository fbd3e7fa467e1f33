//! Where the time of a piece of work went: kernel by kernel on the device, phase by phase on the host.
//!
//! A [`Profile`] is the difference of two snapshots of the device's profiler. It can be shown as a table, as
//! JSON, and as a trace for Perfetto. Shares of peak are shares of what `peaks` measured on the same device.
//!
//! Invariant: the parts are the whole. What the phases of the profiling thread do not explain of the wall
//! time is [`Profile::other`], shown like the others. Start at [`Device::profile`]; `table` and `trace` are
//! two views of a [`Profile`], and `peaks` says what the device can do at best.

mod peaks;
mod table;
mod trace;

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use farad_runtime::profile::{KernelTally, Phase, Snapshot};
use serde::{Serialize, Serializer};

use farad_runtime::Counters;

use crate::device::Device;
use crate::live::MemoryReport;
pub use peaks::Peaks;
pub use table::kernel_table;

/// What is measured, and how much it may disturb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileMode {
    /// Every kernel is timed alone, and every run waited for: kernel times are right, and the host waits more than
    /// it would.
    Kernels,
    /// Runs go on as usual and kernels are only counted: the host's times are right.
    Host,
}

/// How to profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileOptions {
    /// What is measured.
    pub mode: ProfileMode,
    /// Compare with what the device can do at best, which is measured at the first time ([`Device::peaks`]).
    pub peaks: bool,
}

impl Default for ProfileOptions {
    fn default() -> ProfileOptions {
        ProfileOptions { mode: ProfileMode::Kernels, peaks: true }
    }
}

/// What ran, where the time went, and what holds the memory.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// The device's name.
    pub device: String,
    /// How it was measured.
    pub mode: ProfileMode,
    /// Time on the host's clock, waiting for the device at the end included; nanoseconds in JSON.
    #[serde(serialize_with = "nanoseconds")]
    pub wall: Duration,
    /// The kernels that ran, each once with the sums over its launches, longest first.
    pub kernels: Vec<KernelTime>,
    /// The phases of the host.
    pub host: Vec<PhaseTime>,
    /// Wall time outside of all phases: what the program itself did, recording single ops included.
    #[serde(serialize_with = "nanoseconds")]
    pub other: Duration,
    /// What the device counted meanwhile; of bytes live, where they stand.
    pub counters: Counters,
    /// What the device can do at best, if that was asked for and could be measured.
    pub peaks: Option<Peaks>,
    /// What holds the memory at the end.
    pub memory: MemoryReport,
    /// Every launch that was timed alone, in order.
    #[serde(skip)]
    pub launches: Vec<LaunchTime>,
    /// Every phase that the host went through, in the order of their ends.
    #[serde(skip)]
    pub spans: Vec<HostSpan>,
}

/// What the launches of one kernel took, and what they did at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelTime {
    /// The ops it computes.
    pub label: String,
    /// Time on the device; zero where kernels are only counted.
    pub nanoseconds: u64,
    /// Bytes that had to move.
    pub bytes: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Those of them in f16 matrix products.
    pub half_flops: u64,
    /// Launches that the numbers above are the sums of.
    pub count: u64,
}

/// What a phase of the host took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseTime {
    /// What the host was busy with, such as `encoding`.
    pub phase: &'static str,
    /// Time of the thread that profiled, phases inside it excluded.
    pub nanoseconds: u64,
    /// The same for all other threads together.
    pub elsewhere_nanoseconds: u64,
    /// How often it was entered, on all threads.
    pub count: u64,
    /// Bytes that it moved, on all threads.
    pub bytes: u64,
}

/// One launch of a kernel, on the profile's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchTime {
    /// The ops it computes.
    pub label: String,
    /// Since the profile began.
    pub start: Duration,
    /// How long.
    pub duration: Duration,
}

/// One time that the host was busy with something, on the profile's clock; spans of a thread nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSpan {
    /// With what.
    pub phase: &'static str,
    /// A number for the thread.
    pub thread: u32,
    /// Since the profile began.
    pub start: Duration,
    /// How long, phases inside it included.
    pub duration: Duration,
}

/// A profile under way: [`OpenProfile::finish`] gives it. It belongs to the thread that opened it.
#[must_use = "finish it to see the profile"]
pub struct OpenProfile {
    device: Device,
    options: ProfileOptions,
    /// `None` once it is closed.
    before: Option<Snapshot>,
    counters: Counters,
    start: Instant,
    thread_bound: PhantomData<*const ()>,
}

impl Device {
    /// Runs `work`, timing every kernel that it launches and every phase of the host.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu_with(Default::default());
    /// let x = Tensor::rand([64, 64], &device);
    /// let (sum, profile) = device.profile(|| x.matmul(&x).sum().item());
    /// assert!(sum? > 0.0 && profile.launches() as usize == device.counters().dispatches);
    /// println!("{profile}");
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn profile<T>(&self, work: impl FnOnce() -> T) -> (T, Profile) {
        self.profile_with(ProfileOptions::default(), work)
    }

    /// As [`Device::profile`] with options.
    pub fn profile_with<T>(&self, options: ProfileOptions, work: impl FnOnce() -> T) -> (T, Profile) {
        let open = self.open_profile(options);
        let result = work();
        (result, open.finish())
    }

    /// Opens a profile that goes on until it is finished. Any number may be open at once.
    pub fn open_profile(&self, options: ProfileOptions) -> OpenProfile {
        let before = Some(self.profiler().open(options.mode == ProfileMode::Kernels));
        let counters = self.counters();
        let (device, start) = (self.clone(), Instant::now());
        OpenProfile { device, options, before, counters, start, thread_bound: PhantomData }
    }
}

impl OpenProfile {
    /// Waits for the device and says where the time went.
    pub fn finish(mut self) -> Profile {
        let Some(before) = self.before.take() else { unreachable!("only finish and drop take it") };
        let (device, mode) = (&self.device, self.options.mode);
        if let Err(error) = device.wait() {
            tracing::warn!("profile: {error}");
        }
        let wall = self.start.elapsed();
        let counters = device.counters().since(&self.counters);
        let profiler = device.profiler();
        let (after, spans, launches) = profiler.close(mode == ProfileMode::Kernels, &before);
        let (all, here, kernels) = after.since(&before);
        let begun = profiler.at(self.start);
        let moment = |at: u64| Duration::from_nanos(at.saturating_sub(begun));
        let mut profile = Profile {
            device: device.name().to_string(),
            mode,
            wall,
            kernels: kernels.into_iter().map(KernelTime::from).collect(),
            host: phases(&all, &here),
            other: wall
                .saturating_sub(Duration::from_nanos(here.iter().map(|tally| tally.nanoseconds).sum())),
            counters,
            peaks: None,
            memory: device.memory_report(),
            launches: Vec::with_capacity(launches.len()),
            spans: Vec::with_capacity(spans.len()),
        };
        profile.kernels.sort_by(|a, b| {
            (b.nanoseconds, b.bytes).cmp(&(a.nanoseconds, a.bytes)).then_with(|| a.label.cmp(&b.label))
        });
        profile.launches.extend(launches.into_iter().map(|launch| LaunchTime {
            label: launch.label.to_string(),
            start: moment(launch.start),
            duration: Duration::from_nanos(launch.nanoseconds),
        }));
        profile.spans.extend(spans.into_iter().map(|span| HostSpan {
            phase: span.phase.name(),
            thread: span.thread,
            start: moment(span.start),
            duration: Duration::from_nanos(span.nanoseconds),
        }));
        if self.options.peaks {
            profile.peaks = device.peaks().map_err(|error| tracing::warn!("profile: {error}")).ok();
        }
        profile
    }
}

impl Drop for OpenProfile {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.device.profiler().close(self.options.mode == ProfileMode::Kernels, &before);
        }
    }
}

impl Profile {
    /// Nanoseconds of all kernels together.
    pub fn nanoseconds(&self) -> u64 {
        self.kernels.iter().map(|k| k.nanoseconds).sum()
    }

    /// Launches of all kernels together.
    pub fn launches(&self) -> u64 {
        self.kernels.iter().map(|k| k.count).sum()
    }

    /// Time that the thread which profiled spent in a phase, such as `waiting`; zero if there is no such phase.
    pub fn phase(&self, name: &str) -> Duration {
        let found = self.host.iter().find(|phase| phase.phase == name);
        Duration::from_nanos(found.map_or(0, |phase| phase.nanoseconds))
    }
}

impl From<KernelTally> for KernelTime {
    fn from(tally: KernelTally) -> KernelTime {
        KernelTime {
            label: tally.label.to_string(),
            nanoseconds: tally.nanoseconds,
            bytes: tally.costs.bytes,
            flops: tally.costs.flops,
            half_flops: tally.costs.half_flops,
            count: tally.count,
        }
    }
}

fn phases(all: &farad_runtime::profile::Tallies, here: &farad_runtime::profile::Tallies) -> Vec<PhaseTime> {
    let time = |phase: Phase| {
        let (all, here) = (all[phase as usize], here[phase as usize]);
        PhaseTime {
            phase: phase.name(),
            nanoseconds: here.nanoseconds,
            elsewhere_nanoseconds: all.nanoseconds.saturating_sub(here.nanoseconds),
            count: all.count,
            bytes: all.bytes,
        }
    };
    Phase::ALL.into_iter().map(time).collect()
}

fn nanoseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_nanos() as u64)
}
