//! The precision of products, as Python's `with fd.mixed():` chooses it.
//!
//! Invariant: the choice is the thread's, and all ops are recorded in it, as `errors::guarded` runs what records.

use std::cell::Cell;

use farad::Precision;
use pyo3::prelude::*;

thread_local! {
    static CHOSEN: Cell<Precision> = const { Cell::new(Precision::Single) };
}

/// What ops of this thread are recorded in.
pub fn chosen_precision() -> Precision {
    CHOSEN.get()
}

/// Chooses mixed precision for this thread, or not. Gives what was chosen before.
#[pyfunction]
pub fn set_mixed(mixed: bool) -> bool {
    let chosen = if mixed { Precision::Mixed } else { Precision::Single };
    CHOSEN.replace(chosen) == Precision::Mixed
}
