//! Where backends record what they do while a profile is open: host phases, kernel launches, bytes moved.
//!
//! [`Profiler::enter`] times one phase of the host: recording, hashing and lookup, compiling, allocating,
//! encoding, submitting, running kernels (on the CPU), waiting, uploading, reading, waiting for other ranks. Wall time outside of all
//! phases is shown as "other host time". That is the caller's own code, and includes recording single ops.
//! Phases of other threads are summed separately.
//!
//! In mode `Kernels` every launch is a pass of its own with time stamps. The time stamps are mapped to the
//! host's clock by one common origin. The origin is shifted just far enough that no launch starts before it was
//! submitted. In mode `Host`, runs go on as usual, and launches are counted per program. Bytes and operations
//! are those of `farad_compile::costs`, for every backend.
//!
//! Invariant: phases nest on a thread, and a phase is charged only with its own time, not with that of phases
//! nested in it. So on every thread, the sum of all phases is at most the elapsed time. While no profile is
//! open, a phase costs one atomic load. Start at [`Profiler::enter`].

mod noted;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use farad_compile::costs::Costs;
pub use noted::{KernelTally, Launch, PhaseSpan, Snapshot, Tallies, Tally};

/// How many spans, and how many launches, are kept for a trace. Beyond that only the sums go on.
pub const KEPT: usize = 1 << 20;

/// What the host is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Turning recorded ops into graphs, and results into tensors.
    Recording,
    /// Hashing a graph and looking for its plan.
    Lookup,
    /// Making a plan that was not cached: gradients, passes, shaders.
    Compiling,
    /// Getting memory.
    Allocating,
    /// Writing commands for the device.
    Encoding,
    /// Handing commands to the queue.
    Submitting,
    /// Running kernels; only where the host is the device.
    Computing,
    /// Waiting for the device.
    Waiting,
    /// Sending bytes to the device.
    Uploading,
    /// Fetching bytes from the device.
    Reading,
    /// Waiting for other ranks that train together.
    Others,
}

impl Phase {
    /// All of them, in the order of a step.
    pub const ALL: [Phase; 11] = [
        Phase::Recording,
        Phase::Lookup,
        Phase::Compiling,
        Phase::Allocating,
        Phase::Encoding,
        Phase::Submitting,
        Phase::Computing,
        Phase::Waiting,
        Phase::Uploading,
        Phase::Reading,
        Phase::Others,
    ];

    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Recording => "recording",
            Phase::Lookup => "hashing and lookup",
            Phase::Compiling => "compiling",
            Phase::Allocating => "allocating",
            Phase::Encoding => "encoding",
            Phase::Submitting => "submitting",
            Phase::Computing => "running kernels",
            Phase::Waiting => "waiting",
            Phase::Uploading => "uploading",
            Phase::Reading => "reading",
            Phase::Others => "waiting for others",
        }
    }
}

/// Records the phases and launches of a device. Any number of profiles may be open at once.
#[derive(Debug)]
pub struct Profiler {
    number: u64,
    origin: Instant,
    /// How many profiles are open, and how many of them time every launch separately.
    open: AtomicUsize,
    alone: AtomicUsize,
    nanoseconds: [AtomicU64; Phase::ALL.len()],
    counts: [AtomicU64; Phase::ALL.len()],
    bytes: [AtomicU64; Phase::ALL.len()],
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    spans: Vec<PhaseSpan>,
    launches: Vec<Launch>,
    kernels: HashMap<Arc<str>, KernelTally>,
    /// Programs that ran without being timed: address to kernels and number of runs.
    runs: HashMap<usize, (Arc<[KernelTally]>, u64)>,
}

thread_local! {
    /// Nanoseconds spent in phases nested directly in the current one.
    static INSIDE: Cell<u64> = const { Cell::new(0) };
    static THREAD: u32 = {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
    /// Totals of this thread's phases, by profiler.
    static HERE: RefCell<Vec<(u64, Tallies)>> = const { RefCell::new(Vec::new()) };
}

/// A phase in progress. It ends when this is dropped; drop in the reverse order of entering.
#[must_use = "the phase ends when this is dropped"]
pub struct Entered<'a> {
    of: Option<(&'a Profiler, Phase, Instant)>,
    /// Time nested in the enclosing phase so far.
    around: u64,
    thread_bound: PhantomData<*const ()>,
}

impl Default for Profiler {
    fn default() -> Profiler {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Profiler {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            origin: Instant::now(),
            open: AtomicUsize::new(0),
            alone: AtomicUsize::new(0),
            nanoseconds: Default::default(),
            counts: Default::default(),
            bytes: Default::default(),
            noted: Mutex::default(),
        }
    }
}

impl Profiler {
    /// Starts recording; with `alone`, every kernel is timed separately. Returns the current totals.
    pub fn open(&self, alone: bool) -> Snapshot {
        self.alone.fetch_add(alone as usize, Ordering::AcqRel);
        self.open.fetch_add(1, Ordering::AcqRel);
        self.snapshot()
    }

    /// Ends what [`Profiler::open`] with the same `alone` began. Returns the current totals, with the spans and
    /// launches since `from`. Drops records that no open profile can still ask for.
    pub fn close(&self, alone: bool, from: &Snapshot) -> (Snapshot, Vec<PhaseSpan>, Vec<Launch>) {
        let end = self.snapshot();
        let mut noted = self.noted();
        let spans = noted.spans[from.spans..end.spans].to_vec();
        let launches = noted.launches[from.launches..end.launches].to_vec();
        self.alone.fetch_sub(alone as usize, Ordering::AcqRel);
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            *noted = Noted::default();
        }
        (end, spans, launches)
    }

    /// Whether a profile is open.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire) > 0
    }

    /// Whether every launch is timed separately.
    pub fn times_launches(&self) -> bool {
        self.alone.load(Ordering::Acquire) > 0
    }

    /// Nanoseconds from the profiler's creation to `moment`.
    pub fn at(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.origin).as_nanos() as u64
    }

    /// Enters a phase, unless no profile is open.
    pub fn enter(&self, phase: Phase) -> Entered<'_> {
        let (of, around) = match self.is_open() {
            true => (Some((self, phase, Instant::now())), INSIDE.replace(0)),
            false => (None, 0),
        };
        Entered { of, around, thread_bound: PhantomData }
    }

    /// Records bytes that a phase moved.
    pub fn moved(&self, phase: Phase, bytes: usize) {
        if self.is_open() {
            self.bytes[phase as usize].fetch_add(bytes as u64, Ordering::Relaxed);
            self.here(|tallies| tallies[phase as usize].bytes += bytes as u64);
        }
    }

    /// Records a launch that was timed separately.
    pub fn launched(&self, label: &Arc<str>, costs: Costs, start: u64, nanoseconds: u64) {
        let noted = &mut *self.noted();
        let tally = noted.kernels.entry(label.clone()).or_insert_with(|| KernelTally::none(label.clone()));
        tally.add(&KernelTally { label: label.clone(), count: 1, nanoseconds, costs });
        if noted.launches.len() < KEPT {
            noted.launches.push(Launch { label: label.clone(), start, nanoseconds });
        }
    }

    /// Records a run of a program whose launches are not timed.
    pub fn ran(&self, kernels: &Arc<[KernelTally]>) {
        let address = Arc::as_ptr(kernels) as *const u8 as usize;
        self.noted().runs.entry(address).or_insert_with(|| (kernels.clone(), 0)).1 += 1;
    }

    fn snapshot(&self) -> Snapshot {
        let noted = self.noted();
        let mut kernels = noted.kernels.clone();
        for (program, times) in noted.runs.values() {
            for kernel in program.iter() {
                let tally = kernels
                    .entry(kernel.label.clone())
                    .or_insert_with(|| KernelTally::none(kernel.label.clone()));
                tally.add(&KernelTally {
                    count: kernel.count * times,
                    costs: kernel.costs * *times,
                    ..kernel.clone()
                });
            }
        }
        let read = |counts: &[AtomicU64], n: usize| counts[n].load(Ordering::Relaxed);
        let mut here = Tallies::default();
        self.here(|tallies| here = *tallies);
        Snapshot {
            all: std::array::from_fn(|n| Tally {
                nanoseconds: read(&self.nanoseconds, n),
                count: read(&self.counts, n),
                bytes: read(&self.bytes, n),
            }),
            here,
            kernels: kernels.into_values().collect(),
            spans: noted.spans.len(),
            launches: noted.launches.len(),
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Changes this thread's tallies.
    fn here(&self, change: impl FnOnce(&mut Tallies)) {
        HERE.with_borrow_mut(|list| {
            let at = list.iter().position(|(number, _)| *number == self.number).unwrap_or_else(|| {
                list.push((self.number, Tallies::default()));
                list.len() - 1
            });
            change(&mut list[at].1);
        });
    }

    fn leave(&self, phase: Phase, start: Instant, around: u64) {
        let whole = start.elapsed().as_nanos() as u64;
        let own = whole.saturating_sub(INSIDE.replace(around + whole));
        self.nanoseconds[phase as usize].fetch_add(own, Ordering::Relaxed);
        self.counts[phase as usize].fetch_add(1, Ordering::Relaxed);
        self.here(|tallies| {
            tallies[phase as usize].nanoseconds += own;
            tallies[phase as usize].count += 1;
        });
        let span =
            PhaseSpan { phase, thread: THREAD.with(|n| *n), start: self.at(start), nanoseconds: whole };
        let mut noted = self.noted();
        if self.is_open() && noted.spans.len() < KEPT {
            noted.spans.push(span);
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some((profiler, phase, start)) = self.of {
            profiler.leave(phase, start, self.around);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn pause(milliseconds: u64) {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }

    #[test]
    fn a_phase_is_charged_with_its_own_time_only() {
        let profiler = Profiler::default();
        drop(profiler.enter(Phase::Lookup));
        let before = profiler.open(false);
        let start = Instant::now();
        {
            let _outer = profiler.enter(Phase::Encoding);
            pause(4);
            for _ in 0..2 {
                let _inner = profiler.enter(Phase::Waiting);
                pause(10);
            }
        }
        let wall = start.elapsed().as_nanos() as u64;
        let (after, spans, launches) = profiler.close(false, &before);
        let (all, here, kernels) = after.since(&before);
        assert_eq!(all, here);
        let of = |phase: Phase| all[phase as usize];
        assert_eq!((of(Phase::Lookup).count, of(Phase::Waiting).count, of(Phase::Encoding).count), (0, 2, 1));
        assert!(of(Phase::Waiting).nanoseconds >= 20_000_000);
        let sum: u64 = all.iter().map(|tally| tally.nanoseconds).sum();
        assert!(sum <= wall && sum * 100 >= wall * 95, "{sum} vs {wall}");
        assert!(of(Phase::Encoding).nanoseconds <= wall - 20_000_000);
        assert_eq!((spans.len(), launches.len(), kernels.len()), (3, 0, 0));
        assert!(spans[2].phase == Phase::Encoding && spans[2].start <= spans[0].start);
        assert!(profiler.noted().spans.is_empty(), "the last to close forgets");
    }

    #[test]
    fn threads_add_up_and_are_told_apart() {
        let profiler = Profiler::default();
        let before = profiler.open(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let _phase = profiler.enter(Phase::Reading);
                    profiler.moved(Phase::Reading, 100);
                    pause(5);
                });
            }
        });
        profiler.moved(Phase::Reading, 1);
        let (after, ..) = profiler.close(false, &before);
        let (all, here, _) = after.since(&before);
        let (all, here) = (all[Phase::Reading as usize], here[Phase::Reading as usize]);
        assert_eq!((all.count, all.bytes, here.count, here.bytes), (3, 301, 0, 1));
        assert!(all.nanoseconds >= 15_000_000);
    }

    #[test]
    fn profiles_may_overlap() {
        let (profiler, label) = (Profiler::default(), Arc::<str>::from("sum"));
        let costs = Costs { bytes: 8, flops: 1, half_flops: 0 };
        let kernels = KernelTally::by_label([(&label, costs), (&label, costs)].into_iter());
        let first = profiler.open(true);
        profiler.launched(&label, costs, 10, 5);
        let second = profiler.open(false);
        profiler.ran(&kernels);
        profiler.ran(&kernels);
        let (end, _, launches) = profiler.close(false, &second);
        let found = end.since(&second).2;
        assert_eq!((found[0].count, found[0].nanoseconds, found[0].costs.bytes), (4, 0, 32));
        assert!(launches.is_empty() && profiler.times_launches());
        let (end, _, launches) = profiler.close(true, &first);
        assert_eq!((end.since(&first).2[0].count, launches.len()), (5, 1));
        assert!(!profiler.times_launches() && !profiler.is_open());
    }
}
