//! What a user may say about the loop itself, whatever it trains.

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
    }
}
