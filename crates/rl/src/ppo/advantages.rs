//! Generalized advantage estimation, from the last step to the first.

use farad::{Tensor, scan_along};

/// Advantages `[time, worlds]` from temporal differences; `keep` is the factor on the next step's advantage.
pub(super) fn advantages(differences: &Tensor, keep: &Tensor) -> Tensor {
    let nothing = Tensor::zeros(&differences.shape()[1..], differences.device());
    let (_, all) = scan_along(&[&nothing], &[differences, keep], true, |carry, slice| {
        let advantage = &slice[0] + &slice[1] * &carry[0];
        (vec![advantage.clone()], vec![advantage])
    });
    all[0].clone()
}
