//! Agents as a kind of training: `farad train cartpole` and others.
//!
//! [`Worlds`] is the kind of training, [`Settings`] has its settings, and [`WORLDS`] is the table of named
//! worlds. A run keeps every seed's best agent by validation ([`learned`]); that agent is judged and watched.
//!
//! Invariant: a checkpoint contains everything that an update depends on, so a resumed run continues with the
//! same bits.

mod algorithm;
mod kind;
mod page;
mod report;
mod score;
mod settings;
mod table;
mod trainee;

pub use algorithm::{ALGORITHMS, Algorithm, NamedAlgorithm};
pub use kind::{KIND, Worlds, environment_of, learned};
pub use page::agent_page;
pub use score::ReturnScore;
pub use settings::Settings;
pub use table::{NamedWorld, WORLDS};
