//! What a profiler has recorded: totals of phases and kernels, spans and launches, and the difference between
//! two moments.
//!
//! Invariant: totals only grow, so the work between two moments is a difference. Start at [`Snapshot`].

use std::collections::HashMap;
use std::sync::Arc;

use super::Phase;
use farad_compile::costs::Costs;

/// Totals of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Its own time, without phases nested in it.
    pub nanoseconds: u64,
    /// How often it was entered.
    pub count: u64,
    /// Bytes that it moved.
    pub bytes: u64,
}

/// A tally for every phase, in the order of [`Phase::ALL`].
pub type Tallies = [Tally; Phase::ALL.len()];

/// One time that a phase was entered, including phases nested in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSpan {
    /// The phase.
    pub phase: Phase,
    /// A number for the thread.
    pub thread: u32,
    /// Nanoseconds since the profiler was made.
    pub start: u64,
    /// How long.
    pub nanoseconds: u64,
}

/// One kernel launch that was timed separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What the program calls the kernel.
    pub label: Arc<str>,
    /// Nanoseconds since the profiler was made.
    pub start: u64,
    /// How long.
    pub nanoseconds: u64,
}

/// Totals of the launches of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTally {
    /// What the program calls it.
    pub label: Arc<str>,
    /// Launches.
    pub count: u64,
    /// Time on the device; zero where launches were only counted.
    pub nanoseconds: u64,
    /// Bytes moved and operations done.
    pub costs: Costs,
}

/// Everything recorded up to a moment. The difference between two snapshots is what was recorded between them.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Totals of the phases of all threads.
    pub all: Tallies,
    /// Totals of the phases of the calling thread.
    pub here: Tallies,
    /// The kernels.
    pub kernels: Vec<KernelTally>,
    /// How many spans there were.
    pub spans: usize,
    /// How many launches there were.
    pub launches: usize,
}

impl KernelTally {
    /// A kernel with no launches.
    pub fn none(label: Arc<str>) -> KernelTally {
        KernelTally { label, count: 0, nanoseconds: 0, costs: Costs::default() }
    }

    /// The launches of a program grouped by kernel, from the label and costs of each.
    pub fn by_label<'a>(launches: impl Iterator<Item = (&'a Arc<str>, Costs)>) -> Arc<[KernelTally]> {
        let mut kernels: HashMap<Arc<str>, KernelTally> = HashMap::new();
        for (label, costs) in launches {
            let tally = kernels.entry(label.clone()).or_insert_with(|| KernelTally::none(label.clone()));
            tally.add(&KernelTally { label: label.clone(), count: 1, nanoseconds: 0, costs });
        }
        kernels.into_values().collect()
    }

    pub(super) fn add(&mut self, other: &KernelTally) {
        self.count += other.count;
        self.nanoseconds += other.nanoseconds;
        self.costs = self.costs + other.costs;
    }
}

impl Snapshot {
    /// What was recorded from `before` to here: phases of all threads, phases of this thread, kernels.
    pub fn since(&self, before: &Snapshot) -> (Tallies, Tallies, Vec<KernelTally>) {
        let less = |after: &Tallies, before: &Tallies| -> Tallies {
            std::array::from_fn(|n| Tally {
                nanoseconds: after[n].nanoseconds - before[n].nanoseconds,
                count: after[n].count - before[n].count,
                bytes: after[n].bytes - before[n].bytes,
            })
        };
        let earlier: HashMap<&Arc<str>, &KernelTally> =
            before.kernels.iter().map(|k| (&k.label, k)).collect();
        let kernel = |kernel: &KernelTally| match earlier.get(&kernel.label) {
            None => kernel.clone(),
            Some(earlier) => KernelTally {
                label: kernel.label.clone(),
                count: kernel.count - earlier.count,
                nanoseconds: kernel.nanoseconds - earlier.nanoseconds,
                costs: Costs {
                    bytes: kernel.costs.bytes - earlier.costs.bytes,
                    flops: kernel.costs.flops - earlier.costs.flops,
                    half_flops: kernel.costs.half_flops - earlier.costs.half_flops,
                },
            },
        };
        let kernels = self.kernels.iter().map(kernel).filter(|kernel| kernel.count > 0).collect();
        (less(&self.all, &before.all), less(&self.here, &before.here), kernels)
    }
}
