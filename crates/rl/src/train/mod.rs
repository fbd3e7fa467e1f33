//! Agents as a kind of training: `farad train cartpole`, and the like.
//!
//! [`Worlds`] is the kind, [`Settings`] are its rows, and [`WORLDS`] is the table of worlds that have a name. A run keeps every
//! seed's best agent ([`learned`]), by validations; that is the one that is judged and watched.
//!
//! Invariant: a checkpoint holds everything that an update depends on, so a run goes on with the same bits.

mod algorithm;
mod kind;
mod report;
mod score;
mod settings;
mod table;
mod trainee;

pub use algorithm::{ALGORITHMS, Algorithm, NamedAlgorithm};
pub use kind::{KIND, Worlds, environment_of, learned};
pub use score::ReturnScore;
pub use settings::Settings;
pub use table::{NamedWorld, WORLDS};
