//! The constants that choose how kernels are written and launched on GPUs, one table per topic.
//!
//! Each line says what a constant decides, and which case of `farad bench` set it. *Not measured* means that no
//! measurement is recorded. *Not measured alone* means that only the form it belongs to was measured, with this
//! value. The costs of product tiles are modeled in `farad_compile::tiles`; only `farad tune` overrides them.
//! Start at [`rows`].
//!
//! Invariant: choices depend only on sizes and on the adapter, so that runs are bit-identical. Constants that
//! decide the order of a sum also decide its bits.

/// What the compiler is told about a device (`device.rs`).
pub mod targets {
    /// Work items from which a software adapter is busy. Not measured.
    pub const PARALLEL_SOFTWARE: usize = 4096;
    /// Work items from which a GPU is busy. Not measured.
    pub const PARALLEL: usize = 131_072;
    /// Multiplications from which a software adapter copies operands of convolutions with the channels last. Not
    /// measured.
    pub const CHANNELS_LAST_SOFTWARE: usize = 1 << 18;
    /// The same for a GPU. Not measured by itself; its case: `conv_big_fwd_f32`, 30.5 to 34.9 TFLOP/s.
    pub const CHANNELS_LAST: usize = 1 << 29;
    /// Multiplications from which a software adapter copies operands of products so that their rows are aligned.
    /// Not measured.
    pub const ALIGNED_SOFTWARE: usize = 1 << 18;
    /// The same for a GPU: below, a copy's launch costs more than it saves. Not measured alone; the form: products
    /// of `farad bench --random`.
    pub const ALIGNED: usize = 1 << 27;
    /// Fewest multiplications of a product that is made of f16 parts where that was asked for: below, taking the
    /// operands apart costs more than it saves. Not measured.
    pub const HIGH_PRODUCTS: usize = 1 << 28;
    /// Multiplications from which convolutions on a software adapter are rewritten to need fewer. Not measured.
    pub const CONVOLUTIONS_SOFTWARE: usize = 1 << 20;
    /// The same for a GPU: less work is over sooner than more kernels are started. Not measured.
    pub const CONVOLUTIONS: usize = 1 << 24;
    /// Most storage buffers per kernel, even if the adapter allows more. Not measured.
    pub const MOST_BINDINGS: u32 = 32;
}

/// When runs are submitted (`submission.rs`).
pub mod submissions {
    /// Submissions that may be in flight before the host waits for the oldest. Not measured.
    pub const RUN_AHEAD: usize = 4;
    /// With at least this many submissions in flight, the device is busy and runs are held back. Not measured.
    pub const BUSY: usize = 1;
    /// Runs between two checks of the device's progress. Not measured.
    pub const LOOK: usize = 4;
    /// Most runs that are held back: a submission costs about as much as ten small kernels. Not measured alone;
    /// the form: `mlp_train_f32`.
    pub const HELD: usize = 8;
    /// Most launches that are held back. Compared with more than these, a submission is cheap, and the device
    /// could run dry before the host has recorded more. Case: `gpt_tiny_train_f32`, 1.13 to 1.01 ms.
    pub const HELD_LAUNCHES: usize = 64;
}

/// What is kept for reuse (`memory.rs`, `read.rs`, `transfer.rs`, `groups.rs`, `pipeline.rs`).
pub mod pools {
    /// The pool may always hold this many bytes, even if few bytes are live. Not measured.
    pub const RETAINED: usize = 256 << 20;
    /// For buffers up to this many bytes, the pool may keep a second one so that runs overlap. Case:
    /// `softmax_16384x1024_f32`, 0.0438 to 0.0422 ms; the limit itself is not measured.
    pub const SECOND: usize = RETAINED / 4;
    /// Staging bytes that are kept for later reads. Not measured.
    pub const STAGING_KEPT: usize = 256 << 20;
    /// Bytes that one thread copies out of staging memory at a time. Not measured.
    pub const COPY_CHUNK: usize = 4 << 20;
    /// Bytes that may wait in wgpu's staging memory before they are submitted. Not measured.
    pub const STAGED: usize = 64 << 20;
    /// Bind groups kept for each point of the program where memories vary. Not measured.
    pub const GROUPS_KEPT: usize = 8;
    /// Most idle pipelines (used by no program) that are kept. Not measured.
    pub const MOST_IDLE: usize = 256;
}

/// Kernels with reductions (`render/plan.rs`). All of these decide the order of sums.
pub mod rows {
    /// Most values (instructions times lanes times groups) that a thread keeps in registers. Not measured.
    pub const KEPT_VALUES: usize = 1024;
    /// Most elements of a row that a thread keeps. Not measured.
    pub const KEPT_ELEMENTS: usize = 32;
    /// Elements of a row per thread, if there are enough threads. Not measured.
    pub const ELEMENTS: usize = 16;
    /// Threads that keep a device busy: teams grow until there are this many. Not measured.
    pub const BUSY_THREADS: usize = 1 << 15;
    /// Most threads of a team, unless rows are few and long or read several times. Case:
    /// `softmax_16384x1024_f32` (other numbers of threads are within 2 %).
    pub const TEAM: usize = 256;
    /// Most threads of a team in those cases. Not measured.
    pub const LARGE_TEAM: usize = 1024;
    /// Rows with at least this many groups of lanes are long. Not measured.
    pub const LONG_ROW: usize = 4096;
    /// With at least this many rows, each short row of odd length gets a single thread. Not measured.
    pub const MANY_ROWS: usize = 4096;
    /// A row with at least this many groups of lanes has a team of at least this many threads. Not measured.
    pub const LEAST_TEAM: usize = 8;
    /// Threads of the team of a short row of odd length that is also written. Not measured.
    pub const WRITING_TEAM: usize = 4;
    /// A team with at least this many threads gets its own workgroup. Not measured.
    pub const SINGLE_TEAM: usize = 64;
    /// The same if a team is a subgroup. Not measured.
    pub const SUBGROUP_TEAM: usize = 32;
    /// Teams fill workgroups of this many threads. Not measured.
    pub const TEAMS_THREADS: usize = 128;
    /// With fewer workgroups than this, each gets fewer teams. Not measured.
    pub const LEAST_WORKGROUPS: usize = 256;
    /// Most values (instructions times lanes) of a loop body that is unrolled. Not measured.
    pub const UNROLLED_VALUES: usize = 128;
    /// Iterations of a loop that are unrolled. Not measured.
    pub const UNROLL: usize = 4;

    /// Down columns: least length of the last outer axis for lanes to lie along it. Not measured.
    pub const LEAST_COLUMNS: usize = 8;
    /// Down columns: threads that keep a device busy. Not measured.
    pub const COLUMN_THREADS: usize = 1 << 17;
    /// Down columns: most threads of a team. Not measured.
    pub const COLUMN_TEAM: usize = 32;
    /// Down columns: fewest elements per thread of a team. Not measured.
    pub const COLUMN_ELEMENTS: usize = 4;
    /// Down columns: threads of a workgroup. Not measured.
    pub const COLUMN_WORKGROUP: usize = 256;
    /// Down columns: most elements that a thread keeps. Not measured.
    pub const COLUMN_KEPT: usize = 8;
}

/// Kernels without reductions (`render/pointwise.rs`).
pub mod pointwise {
    /// Threads per workgroup. Not measured.
    pub const THREADS: usize = 256;
    /// The side of a tile that is transposed in workgroup memory. Not measured.
    pub const SIDE: usize = 32;
    /// Elements from which a thread takes two groups of four; four groups are slower again. Case:
    /// `ew_chain_2p26_f32`.
    pub const TWO_GROUPS: usize = 1 << 22;
    /// Elements from which a thread takes four that are not adjacent. Not measured.
    pub const FOUR_APART: usize = 1 << 18;
}

/// Products (`render/product.rs`, `render/cooperative.rs`, `render/operand.rs`).
pub mod products {
    /// Threads per workgroup with a scalar tile. Not measured.
    pub const THREADS: usize = 256;
    /// Rows of tiles that run together if subgroups multiply. Not measured.
    pub const BAND: usize = 8;
    /// Bytes of workgroup memory with which two workgroups fit on a processor. Case: `matmul_8192_f16`, 284
    /// TFLOP/s against 151 to 166 if only one fits.
    pub const COMFORT: usize = 24 << 10;
    /// Padding between rows of an f16 tile, in elements, so that neighbors in a column are in different banks.
    /// Case: `matmul_8192_f16`, 284 TFLOP/s against 121 without.
    pub const GAP: usize = 8;
    /// Axes up to this size are constants in the WGSL where indices along them are computed. Not measured.
    pub const LARGEST_WINDOW: usize = 16;
}

/// Merged sums of parts (`render/sums.rs`).
pub mod part_sums {
    /// Columns per workgroup. Not measured.
    pub const COLUMNS: usize = 32;
    /// Threads that share a column's rows. Decides the order of sums. Not measured.
    pub const SHARERS: usize = 8;
}

/// Recurrences (`render/recurrence.rs`).
pub mod recurrences {
    /// Threads per workgroup. Few, because each thread runs long, and few elements should still spread over the
    /// whole device. Not measured.
    pub const THREADS: usize = 64;
    /// Elements from which four per thread still keep a device busy, if they share random blocks. Not measured.
    pub const MANY_RANDOM: usize = 1 << 15;
    /// Elements from which four per thread keep it busy in any case. Not measured.
    pub const MANY: usize = 1 << 20;
    /// Most carries with which a thread takes four elements. Not measured.
    pub const FEW_CARRIES: usize = 16;
}

/// Loops in one launch (`group_loop.rs`).
pub mod group_loops {
    /// Most threads of a workgroup. Not measured.
    pub const MOST_THREADS: usize = 256;
    /// With fewer workgroups than this, each takes fewer places. Not measured.
    pub const LEAST_WORKGROUPS: usize = 256;
    /// With a fourth of these workgroups, a kernel of the loop has at most so many elements. Not measured.
    pub const MOST_ALONE: usize = 1 << 14;
    /// Buffers up to this many elements, which a loop only reads, are copied side by side. Not measured.
    pub const LARGEST_CONSTANT: usize = 1 << 14;
    /// Most kernels of such a loop on a software adapter, whose compiler takes half a minute for a hundred. Not measured
    /// by itself.
    pub const MOST_KERNELS_SOFTWARE: usize = 48;
    /// Most instructions of all threads in one launch: systems end launches that take seconds. Not measured.
    pub const MOST_WORK: u64 = 1 << 37;
}

/// Sorts (`render/sort.rs`).
pub mod sorts {
    /// Workgroups that keep a device busy: with more, short rows share a workgroup. Not measured alone; the
    /// form: `argsort_4096x1024_f32`.
    pub const BUSY: usize = 512;
    /// Up to this many tiles, each workgroup sums the counts of all tiles itself. Not measured by itself; its case:
    /// `sort_2p20_f32`.
    pub const FEW_TILES: usize = 32;
}

/// Scatter-add (`render/scatter.rs`).
pub mod scatters {
    /// Threads per workgroup. Not measured.
    pub const THREADS: usize = 256;
    /// Positions of the index that are scanned at once. Not measured.
    pub const SCANNED: usize = 1024;
    /// Most target rows that a workgroup holds. Not measured.
    pub const ROWS: usize = 64;
    /// Sources that a thread loads at once if they are sorted. Not measured.
    pub const UNROLLED: usize = 4;
    /// Up to this many sources, each thread scans for its own elements. Not measured.
    pub const SHORT: usize = 16;
}
