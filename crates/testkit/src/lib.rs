//! One table of cases for every op, and what the drivers in `tests/` share.
//!
//! A [`Case`] says only what is computed and how accurately. The expected values come from recording the same
//! tensors and evaluating them in double precision, so there is no second formula to get wrong. Invariant:
//! everything is a function of the case's name or of a seed, so failures are reproducible.
//!
//! Start at [`cases::all`] for what is tested, at [`Form`] for the ways in which each case is run, and at
//! [`fuzz::FuzzRecipe`] for random graphs; [`Mutator`] damages files.

mod case;
pub mod cases;
mod compare;
mod driver;
pub mod extremes;
mod form;
pub mod fuzz;
mod mutate;
mod sample;

pub use case::{Case, Given, Input, apart, float, half, int, truth, unsigned, whole};
pub use compare::{Tolerance, compare, read};
pub use driver::{SuiteReport, announce, gpu, open_cpu, run};
pub use form::{Form, differentiate};
pub use mutate::Mutator;
pub use sample::NumberStream;
