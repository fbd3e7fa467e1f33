//! Networks: layers ([`layers`], `#[derive(Module)]`), optimizers with schedules, clipping and averages
//! ([`optim`]), and the tensors of a module by name ([`StateDict`]).
//!
//! Programs use this through the crate `farad`, where [`layers`] is `farad::nn`. Losses are methods of
//! tensors and are defined in `farad-tensor`; they are shown here too.

// So that what `#[derive(Module)]` writes has one name for this crate, here and elsewhere.
extern crate self as farad;

mod error;
pub mod layers;
pub mod optim;
mod seed;
mod state_dict;

pub use error::{Error, NnError, Result};
pub use farad_tensor::loss;
#[doc(hidden)]
pub use layers as nn;
pub use seed::seed;
pub use state_dict::{Difference, Mismatch, StateDict};
