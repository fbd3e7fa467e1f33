//! `farad generate`, `chat`, `eval --weights` and `export --format huggingface`: language models in use. Training them is a row of the table of kinds.

pub mod chat;
pub mod folders;
pub mod generate;
pub mod perplexity;
mod speaker;
mod speed;
