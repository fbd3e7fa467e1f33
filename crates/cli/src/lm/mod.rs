//! `farad generate` and `chat`: text by language models. Training them is a row of the table of kinds.

pub mod chat;
pub mod generate;
