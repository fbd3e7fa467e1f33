//! What a user may say about the loop itself, whatever it trains.

use farad_group::WireFormat;
use farad_nn::optim::RankOptions;

use crate::settings::Takes;

crate::settings! {
    /// When the loop logs, validates, saves and ends: settings that all kinds of training share.
    pub struct LoopSettings {
        log_every: u64 = 20, Takes::from(1), "Steps between rows of the log.";
        #[later] evaluate_every: u64 = 0, Takes::from(0), "Steps between validations; 0: at the end of every epoch.";
        checkpoint_every: u64 = 1000, Takes::from(1), "Steps between checkpoints.";
        #[later] checkpoint_seconds: u64 = 30, Takes::from(0), "A checkpoint is also written after this many seconds without one; 0: never.";
        #[later] patience: u64 = 0, Takes::from(0), "Training ends after this many validations in a row without a new best; 0: never.";
        #[later] keep_best: bool = false, Takes::Truth, "Whether the model of the best validation is kept and judged, instead of the last.";
        #[later] from: String = String::new(), Takes::Text, "The run whose weights training starts from; if empty, new weights.";
        #[later] wire: String = WIRES[0].into(), Takes::one_of(WIRES), "What gradients are on their way between ranks: f16 halves the bytes, and rounds twice to 11 bits.";
        #[later] shard: bool = false, Takes::Truth, "Whether each rank keeps the optimizer's moments of its share of the weights only.";
    }
}

/// What gradients may be between ranks; the first is what they are anyway.
const WIRES: [&str; 2] = ["f32", "f16"];

impl LoopSettings {
    /// How ranks share the work of an optimizer.
    pub fn ranks(&self) -> RankOptions {
        let wire = if self.wire == WIRES[1] { WireFormat::Half } else { WireFormat::Full };
        RankOptions { wire, sharded: self.shard, ..RankOptions::default() }
    }
}
