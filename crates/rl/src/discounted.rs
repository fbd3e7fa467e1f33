//! Discounted sums, from the last step to the first.

use farad::{Tensor, scan_along};

/// Of rows `[time, worlds]`, each with what follows times `keep`: advantages from temporal differences, or the
/// returns of TD(λ).
pub(crate) fn discounted(rows: &Tensor, keep: &Tensor) -> Tensor {
    let nothing = Tensor::zeros(&rows.shape()[1..], rows.device());
    let (_, all) = scan_along(&[&nothing], &[rows, keep], true, |carry, slice| {
        let sum = &slice[0] + &slice[1] * &carry[0];
        (vec![sum.clone()], vec![sum])
    });
    all[0].clone()
}
