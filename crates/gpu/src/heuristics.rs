//! The numbers that choose how kernels are written and launched on GPUs: one table per topic.
//!
//! A line says what a number decides, and which case of `farad bench` set it. *Not measured* means that nothing is
//! recorded. *Not measured alone* means that the form it belongs to was measured, at this value. What a tile of a
//! product costs is a model in `farad_compile::tiles`, and only `farad tune` overrides it. Start at [`rows`].
//!
//! Invariant: choices depend on sizes and on the adapter alone, so that runs repeat bit for bit. Numbers that decide an
//! order of sums decide bits too.

/// What the compiler is told of a device (`device.rs`).
pub mod targets {
    /// Work items from which a software adapter is busy. Not measured.
    pub const PARALLEL_SOFTWARE: usize = 4096;
    /// Work items from which a GPU is busy. Not measured.
    pub const PARALLEL: usize = 131_072;
    /// Multiplications from which a software adapter copies operands of convolutions with the channels last. Not
    /// measured.
    pub const CHANNELS_LAST_SOFTWARE: usize = 1 << 18;
    /// The same of a GPU. Not measured alone; the form: `conv_big_fwd_f32`, 30.5 to 34.9 TFLOP/s.
    pub const CHANNELS_LAST: usize = 1 << 29;
    /// Storage buffers that a kernel names at most, whatever the adapter allows. Not measured.
    pub const MOST_BINDINGS: u32 = 32;
}

/// When runs are submitted (`submission.rs`).
pub mod submissions {
    /// Submissions that may be in flight before the host waits for the oldest. Not measured.
    pub const RUN_AHEAD: usize = 4;
    /// Submissions in flight with which the device has something to do: then runs are held back. Not measured.
    pub const BUSY: usize = 1;
    /// Runs that wait between two looks at the device's progress. Not measured.
    pub const LOOK: usize = 4;
    /// Runs that are held back at most: a submission costs about as much as ten small kernels. Not measured alone; the
    /// form: `mlp_train_f32`.
    pub const HELD: usize = 8;
    /// Launches that are held back at most: beside these a submission costs little, and the device could be done with
    /// what it has before the host has recorded more. Case: `gpt_tiny_train_f32`, 1.13 to 1.01 ms.
    pub const HELD_LAUNCHES: usize = 64;
}

/// What is kept for later use (`memory.rs`, `read.rs`, `transfer.rs`, `groups.rs`, `pipeline.rs`).
pub mod pools {
    /// Bytes that the pool may hold however little is live. Not measured.
    pub const RETAINED: usize = 256 << 20;
    /// Bytes up to which there may be two buffers where one would do, so that runs overlap. Case:
    /// `softmax_16384x1024_f32`, 0.0438 to 0.0422 ms; the limit itself is not measured.
    pub const SECOND: usize = RETAINED / 4;
    /// Staging bytes that are kept for later reads. Not measured.
    pub const STAGING_KEPT: usize = 256 << 20;
    /// Bytes that one thread copies out of staging memory at a time. Not measured.
    pub const COPY_CHUNK: usize = 4 << 20;
    /// Bytes that may wait in wgpu's staging memory before they are submitted. Not measured.
    pub const STAGED: usize = 64 << 20;
    /// Bind groups kept for each place in the program where memories vary. Not measured.
    pub const GROUPS_KEPT: usize = 8;
    /// Pipelines that no program uses and that are kept all the same. Not measured.
    pub const MOST_IDLE: usize = 256;
}

/// Kernels with reductions (`render/plan.rs`). All of these decide the order of sums.
pub mod rows {
    /// Values (instructions times lanes times groups) that a thread keeps in registers at most. Not measured.
    pub const KEPT_VALUES: usize = 1024;
    /// Elements of a row that a thread keeps at most. Not measured.
    pub const KEPT_ELEMENTS: usize = 32;
    /// Elements of a row that a thread takes, where there are threads enough. Not measured.
    pub const ELEMENTS: usize = 16;
    /// Threads from which a device is busy: teams grow until there are as many. Not measured.
    pub const BUSY_THREADS: usize = 1 << 15;
    /// Threads of a team at most, as long as rows are neither few and long nor read again. Case:
    /// `softmax_16384x1024_f32` (other numbers of threads are the same within 2 %).
    pub const TEAM: usize = 256;
    /// Threads of a team at most otherwise. Not measured.
    pub const LARGE_TEAM: usize = 1024;
    /// Groups of lanes from which a row is long. Not measured.
    pub const LONG_ROW: usize = 4096;
    /// Rows from which a thread each may take short odd rows. Not measured.
    pub const MANY_ROWS: usize = 4096;
    /// Groups of lanes from which a row has a team of at least as many threads. Not measured.
    pub const LEAST_TEAM: usize = 8;
    /// Threads of a team that share a short odd row which is written too. Not measured.
    pub const WRITING_TEAM: usize = 4;
    /// Threads of a team from which it has a workgroup of its own. Not measured.
    pub const SINGLE_TEAM: usize = 64;
    /// The same where a subgroup is a team. Not measured.
    pub const SUBGROUP_TEAM: usize = 32;
    /// Threads that teams fill a workgroup with. Not measured.
    pub const TEAMS_THREADS: usize = 128;
    /// Workgroups below which a workgroup has fewer teams. Not measured.
    pub const LEAST_WORKGROUPS: usize = 256;
    /// Values (instructions times lanes) up to which a loop is unrolled. Not measured.
    pub const UNROLLED_VALUES: usize = 128;
    /// Turns of an unrolled loop that are written out. Not measured.
    pub const UNROLL: usize = 4;

    /// Down columns: length of the last outer axis from which lanes may lie along it. Not measured.
    pub const LEAST_COLUMNS: usize = 8;
    /// Down columns: threads from which a device is busy. Not measured.
    pub const COLUMN_THREADS: usize = 1 << 17;
    /// Down columns: threads of a team at most. Not measured.
    pub const COLUMN_TEAM: usize = 32;
    /// Down columns: elements that a thread of a team has at least. Not measured.
    pub const COLUMN_ELEMENTS: usize = 4;
    /// Down columns: threads of a workgroup. Not measured.
    pub const COLUMN_WORKGROUP: usize = 256;
    /// Down columns: elements that a thread keeps at most. Not measured.
    pub const COLUMN_KEPT: usize = 8;
}

/// Kernels without reductions (`render/pointwise.rs`).
pub mod pointwise {
    /// Threads per workgroup. Not measured.
    pub const THREADS: usize = 256;
    /// The side of a tile that is transposed in workgroup memory. Not measured.
    pub const SIDE: usize = 32;
    /// Elements from which a thread takes two groups of four: four are slower again. Case: `ew_chain_2p26_f32`.
    pub const TWO_GROUPS: usize = 1 << 22;
    /// Elements from which a thread takes four that lie apart. Not measured.
    pub const FOUR_APART: usize = 1 << 18;
}

/// Products (`render/product.rs`, `render/cooperative.rs`, `render/operand.rs`).
pub mod products {
    /// Threads per workgroup with a scalar tile. Not measured.
    pub const THREADS: usize = 256;
    /// Rows of tiles that are made together where subgroups multiply. Not measured.
    pub const BAND: usize = 8;
    /// Bytes of workgroup memory with which two workgroups share a processor. Case: `matmul_8192_f16`, 284 TFLOP/s
    /// against 151 to 166 where only one fits.
    pub const COMFORT: usize = 24 << 10;
    /// Halves between rows of a tile of halves, so that neighbors in a column meet different banks. Case:
    /// `matmul_8192_f16`, 284 TFLOP/s against 121 without.
    pub const GAP: usize = 8;
    /// Axes up to this size are constants of the text where places along them are found. Not measured.
    pub const LARGEST_WINDOW: usize = 16;
}

/// Bundles of sums of parts (`render/sums.rs`).
pub mod part_sums {
    /// Columns per workgroup. Not measured.
    pub const COLUMNS: usize = 32;
    /// Threads that share a column's rows. Decides the order of sums. Not measured.
    pub const SHARERS: usize = 8;
}

/// Recurrences (`render/recurrence.rs`).
pub mod recurrences {
    /// Threads per workgroup. Few: what a thread does takes long, and few elements should reach all of the device. Not
    /// measured.
    pub const THREADS: usize = 64;
    /// Elements from which four per thread still keep a device busy, if they share random blocks. Not measured.
    pub const MANY_RANDOM: usize = 1 << 15;
    /// Elements from which four per thread keep it busy in any case. Not measured.
    pub const MANY: usize = 1 << 20;
    /// Carries of which a thread holds four elements. Not measured.
    pub const FEW_CARRIES: usize = 16;
}

/// Sorts (`render/sort.rs`).
pub mod sorts {
    /// Workgroups that keep a device busy: short rows share a workgroup where there are more. Not measured alone; the
    /// form: `argsort_4096x1024_f32`.
    pub const BUSY: usize = 512;
    /// Tiles up to which a workgroup adds up the counts of all of them itself. Not measured alone; the form:
    /// `sort_2p20_f32`.
    pub const FEW_TILES: usize = 32;
}

/// Scatter-add (`render/scatter.rs`).
pub mod scatters {
    /// Threads per workgroup. Not measured.
    pub const THREADS: usize = 256;
    /// Positions of the index that are scanned at once. Not measured.
    pub const SCANNED: usize = 1024;
    /// Target rows that a workgroup holds at most. Not measured.
    pub const ROWS: usize = 64;
    /// Sources that a thread loads at once where they are in order. Not measured.
    pub const UNROLLED: usize = 4;
    /// Sources up to which a thread scans for its own elements. Not measured.
    pub const SHORT: usize = 16;
}
