//! Text from files, as tokens on a device: what is trained on and what is judged on.
//!
//! [`Corpus`] finds and splits text, [`TokenFile`] keeps its tokens mapped from a file, [`Windows`] gives random windows to
//! train on, [`Coverage`] every token once to be judged on. Invariant: a window depends on the seed and the number of
//! its batch only, so a training goes on where it was stopped with the same bits.

mod corpus;
mod coverage;
mod token_file;
mod tokens;
mod windows;

pub use corpus::{Corpus, Text};
pub use coverage::Coverage;
pub(crate) use coverage::IGNORED;
pub use token_file::TokenFile;
pub use tokens::Tokens;
pub use windows::Windows;
