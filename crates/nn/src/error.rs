//! What can be wrong with parameters and their state. Programmer errors panic instead.

use std::fmt;

pub use farad_tensor::{Error, Result};

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum NnError {
    #[error("state: this build reads and writes no archives: {}\nhelp: build farad with the feature `npz`", path.display())]
    NoArchives { path: std::path::PathBuf },
    #[error(
        "state: two tensors of one name: {name}\nhelp: rename in another order, or leave one out with `ignore`"
    )]
    NameTwice { name: String },
    #[error("state: does not fit the module: {difference}")]
    StateDiffers { difference: Box<crate::state_dict::Difference> },
    #[error("restore: more tensors than the optimizer has: {name} is left over ({got} vs {wanted})")]
    StateLeftOver { name: String, got: usize, wanted: usize },
    #[error("optimizer: no parameters: nothing to update (0 vs at least 1)")]
    NoParameters,
    #[error(
        "distributed: this optimizer updates whole matrices, so its moments cannot be sharded\nhelp: leave sharding out, or take adamw, sgd, lion, rmsprop or adagrad"
    )]
    NotElementwise,
    #[error(
        "distributed: gradient noise would differ between ranks\nhelp: leave the noise out, or train on one rank"
    )]
    RankNoise,
    #[error(
        "state: moments lie on several ranks: none were gathered after step {step}\nhelp: call `gather` on all ranks before `state`"
    )]
    NotGathered { step: u64 },
    #[error("apply: one gradient per parameter: ({got} vs {wanted})")]
    Gradients { got: usize, wanted: usize },
}

/// The same as `Display`.
impl fmt::Debug for NnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<NnError> for Error {
    fn from(error: NnError) -> Error {
        Error::Part(Box::new(error))
    }
}
