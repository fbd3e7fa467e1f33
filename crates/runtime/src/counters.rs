//! Counts of a device's work, and of the bytes that it holds.

use std::fmt;

/// What a device has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Runs of compiled programs.
    pub runs: usize,
    /// Submissions to the queue (on the CPU: runs).
    pub submissions: usize,
    /// Kernels launched.
    pub dispatches: usize,
    /// Pipelines created.
    pub pipelines: usize,
    /// Pipelines kept now: those of plans, and a bounded number of idle ones.
    pub pipelines_kept: usize,
    /// Bind groups created.
    pub bind_groups: usize,
    /// Device allocations made.
    pub allocations: usize,
    /// Bytes that tensors and plans hold.
    pub bytes_live: usize,
    /// The most bytes ever held.
    pub bytes_peak: usize,
    /// Reads back to the host.
    pub reads: usize,
    /// Uploads from the host.
    pub uploads: usize,
    /// Programs compiled (plan cache misses).
    pub plans_compiled: usize,
    /// Programs replayed (plan cache hits).
    pub plans_replayed: usize,
    /// Operands that were moved here from another device because an op mixed the two.
    pub operands_moved: usize,
}

impl Counters {
    /// The counts since `before`. Live bytes, their peak and kept pipelines are not differences: they keep
    /// their present values.
    pub fn since(&self, before: &Counters) -> Counters {
        Counters {
            runs: self.runs - before.runs,
            submissions: self.submissions - before.submissions,
            dispatches: self.dispatches - before.dispatches,
            pipelines: self.pipelines - before.pipelines,
            pipelines_kept: self.pipelines_kept,
            bind_groups: self.bind_groups - before.bind_groups,
            allocations: self.allocations - before.allocations,
            bytes_live: self.bytes_live,
            bytes_peak: self.bytes_peak,
            reads: self.reads - before.reads,
            uploads: self.uploads - before.uploads,
            plans_compiled: self.plans_compiled - before.plans_compiled,
            plans_replayed: self.plans_replayed - before.plans_replayed,
            operands_moved: self.operands_moved - before.operands_moved,
        }
    }
}

/// Bytes that a device holds, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Memory held through handles.
    pub tensors: u64,
    /// Scratch memory of loaded programs.
    pub blocks: u64,
    /// Free memory kept for reuse.
    pub pool: u64,
    /// Staging buffers for reads.
    pub staging: u64,
    /// Parameters, error flags and time stamps.
    pub parameters: u64,
}

impl Holdings {
    /// The sum of all fields.
    pub fn total(&self) -> u64 {
        self.tensors + self.blocks + self.pool + self.staging + self.parameters
    }
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Holdings { tensors, blocks, pool, staging, parameters } = self;
        write!(f, "tensors {tensors}, plan blocks {blocks}, pool {pool}, staging {staging}, ")?;
        write!(f, "parameters {parameters} bytes")
    }
}
