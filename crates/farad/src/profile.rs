//! Where the time of a piece of work went, kernel by kernel.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

pub use crate::backend::KernelTime;

/// The kernels that ran and how long each took.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What ran: on the CPU one entry a launch, in order; on a GPU one entry a kernel, summed over
    /// its launches, longest first.
    pub kernels: Vec<KernelTime>,
    /// Time on the host's clock, waiting included.
    pub wall: Duration,
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
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows: HashMap<&str, KernelTime> = HashMap::new();
        for kernel in &self.kernels {
            let empty = KernelTime { label: String::new(), nanoseconds: 0, bytes: 0, flops: 0, count: 0 };
            let sum = rows.entry(&kernel.label).or_insert(empty);
            sum.count += kernel.count;
            sum.nanoseconds += kernel.nanoseconds;
            sum.bytes += kernel.bytes;
            sum.flops += kernel.flops;
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by_key(|(label, sum)| (std::cmp::Reverse(sum.nanoseconds), label.to_string()));
        let total = self.nanoseconds().max(1) as f64;
        writeln!(f, "{:>10} {:>6} {:>6} {:>8} {:>9}  kernel", "ms", "share", "count", "GB/s", "GFLOP/s")?;
        for (label, sum) in rows {
            let ns = sum.nanoseconds.max(1) as f64;
            let (share, ms, count) = (100.0 * ns / total, ns / 1e6, sum.count);
            let (gbs, gflops) = (sum.bytes as f64 / ns, sum.flops as f64 / ns);
            writeln!(f, "{ms:>10.4} {share:>5.1}% {count:>6} {gbs:>8.1} {gflops:>9.1}  {label}")?;
        }
        write!(f, "{:>10.4} ms in {} kernels", total / 1e6, self.launches())
    }
}
