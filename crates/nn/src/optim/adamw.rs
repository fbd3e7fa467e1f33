//! Adam with decoupled weight decay.

use super::Updater;
use super::adam::{AdamRule, Decoupled};
use crate::layers::Parameter;

/// AdamW: moments of gradients with bias correction; decay shrinks weights directly and is no part
/// of the gradient (Loshchilov and Hutter).
pub type AdamW = Updater<AdamRule<Decoupled>>;

impl AdamW {
    /// For these parameters, with rate 1e-3, betas 0.9 and 0.999, epsilon 1e-8 and decay 0.01.
    pub fn new(parameters: Vec<Parameter>) -> AdamW {
        Updater::with_rule(parameters, AdamRule::new(0.01))
    }
}
