//! One way to train: a training as a folder that can be looked at, stopped and continued ([`run`]), and what it needs of
//! memory ([`Need`]).

mod error;
mod need;
pub mod run;

pub use error::{Error, Result, TrainError};
pub use need::Need;
