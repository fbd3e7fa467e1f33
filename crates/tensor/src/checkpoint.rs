//! Activation checkpointing: compute again in the backward pass what a region computed, instead of
//! keeping it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::tensor::Tensor;

static NEXT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static REGION: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The region that ops recorded now belong to.
pub(crate) fn region() -> Option<u32> {
    REGION.get()
}

struct RestoreRegion(Option<u32>);

impl Drop for RestoreRegion {
    fn drop(&mut self) {
        REGION.set(self.0);
    }
}

/// Records `body` so that gradients compute its values again from `x` instead of keeping them.
///
/// ```
/// use farad::prelude::*;
/// let x = Tensor::full(2.0, [], &Device::cpu());
/// let y = checkpoint(&x, |x| (x * x).exp().log());
/// assert!((y.gradient(&x)?.item()? - 4.0).abs() < 1e-4);
/// # Ok::<(), farad::Error>(())
/// ```
pub fn checkpoint(x: &Tensor, body: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    // Region numbers are part of plan keys, so they repeat every step: count within one recording.
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % 0xffff;
    let _restore = RestoreRegion(REGION.replace(Some(number)));
    body(x)
}
