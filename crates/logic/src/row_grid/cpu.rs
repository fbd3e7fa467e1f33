//! What the row ops share on the CPU: threads over rows, vectors over the batch.
//!
//! Sums over the batch are kept in [`LANES`] lanes and added at the end, so results depend neither on the
//! number of threads nor on the processor's vectors.

use rayon::prelude::*;

/// Partial sums of a sum over the batch.
pub const LANES: usize = 16;
/// Approximate number of values per task.
const TASK: usize = 1 << 15;

/// A row of values, by its number.
#[inline(always)]
pub fn row(values: &[f32], index: usize, batch: usize) -> &[f32] {
    &values[index * batch..][..batch]
}

/// Calls a function with some rows of the result, each of this length, and the index of the first, on several
/// threads. `work` is the number of values that a row needs.
pub fn each_part(result: &mut [f32], length: usize, work: usize, run: impl Fn(usize, &mut [f32]) + Sync) {
    let rows = (TASK / work.max(1)).max(1);
    if length > 0 {
        result.par_chunks_mut(rows * length).enumerate().for_each(|(task, part)| run(task * rows, part));
    }
}
