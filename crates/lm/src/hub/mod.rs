//! Models that others have published: folders as Hugging Face's, with `config.json`, weights as safetensors,
//! `tokenizer.json` and `tokenizer_config.json`.
//!
//! [`HubFolder`] opens a folder without reading its weights, says how much memory the model needs, and loads it. The
//! families are rows of [`FAMILIES`]: GPT-2, Llama, Qwen2 and Mistral. [`ChatTemplate`] writes a conversation as
//! the model expects it. [`write_folder`] is the way back. [`read_adapter`] and [`write_adapter`] are for LoRA under PEFT's names.
//!
//! Weights are memory-mapped and brought to the device one by one. Products that this crate has as one (queries, keys and
//! values; gate and value) are joined on the way in and split on the way out.
//!
//! Invariant: every tensor of the files goes somewhere and every weight of the model comes from there, or loading fails
//! and says which. Start at [`HubFolder::open`].

mod adapter;
mod config;
mod family;
mod folder;
mod shards;
mod template;
mod weights;
mod write;

pub(crate) use adapter::check_targets;
pub use adapter::{LoraOptions, adapt, read_adapter, write_adapter};
pub use family::{FAMILIES, ModelFamily};
pub use folder::{HubFolder, Needs};
pub use template::{ChatMessage, ChatTemplate};
pub(crate) use write::copy_files;
pub use write::write_folder;
