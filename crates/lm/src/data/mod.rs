//! Text from files, as tokens on a device: what is trained on and what is judged on.
//!
//! [`Corpus`] finds and splits text. [`TokenFile`] keeps its tokens in a memory-mapped file of the run's
//! folder. They are also held on the device where they fit into 128 MiB. [`Windows`] gives random windows to
//! train on. Their starts are Philox counters of the seed and the batch, uploaded 256 batches at a time. The
//! batch's number is given with the run, so most steps upload nothing. [`Coverage`] predicts every token
//! once, in windows side by side, to be judged on. Conversations in JSON lines become tokens of which the answers
//! are marked ([`marked_tokens`]); only these count.
//!
//! Invariant: a window depends on the seed and the number of its batch only, so a resumed training has the
//! same bits.

mod conversations;
mod corpus;
mod coverage;
mod token_file;
mod tokens;
mod windows;

pub use conversations::{is_conversations, marked_tokens, read_conversations};
pub use corpus::{Corpus, SourceText};
pub use coverage::Coverage;
pub use coverage::IGNORED;
pub use token_file::TokenFile;
pub use tokens::Tokens;
pub use windows::Windows;
