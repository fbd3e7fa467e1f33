//! What optimizers, layers and files need of the engine and of tensors, and programs do not.

pub use crate::backend::{Memory, Read};
pub use crate::gradient::refuse_spent;
pub use crate::hashing::key;
pub use crate::live::{Maker, Origin};
pub use crate::node::{Node, Value};
pub use crate::plan::Request;
pub use crate::precision::has_halves;
pub use crate::recording::Recording;
pub use crate::save::{checksum_of, decode, encode, loaded, loaded_from};
pub use crate::tensor::{Kind, check_probability, expect, raise, sequence};
pub use crate::unfinished::Unfinished;
pub use crate::whole::{
    is_unfinished, remove_all_unfinished, remove_unfinished, write_and_keep, write_whole,
};
