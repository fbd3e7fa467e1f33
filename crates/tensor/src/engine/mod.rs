//! The engine: one way to run a program, for reads, gradients, optimizers and averages.
//!
//! A [`Step`] records what tensors need, looks its program up by a key of everything that decides it, compiles what is
//! new, runs it, and gives every result its home. An [`Array`] is memory with one owner that a step may overwrite.
//!
//! Beside these stand a few things that layers and files need of tensors, and programs do not.

mod array;
mod step;
mod write;

pub use array::{Array, Place};
pub use step::{History, Step};
pub use write::{Output, Writer};

pub use farad_runtime::Read;

pub use crate::inside::{Inside, at_position, inside, refuse, through};
pub use crate::save::{checksum_of, decode, encode, loaded, loaded_from};
pub use crate::tensor::{Kind, check_probability, expect, raise, sequence};
pub use crate::traced::{Traced, composing};
pub use crate::unfinished::{finish_pending, is_pending, note_pending};
pub use crate::whole::{
    is_unfinished, remove_all_unfinished, remove_unfinished, write_and_keep, write_whole,
};

use crate::tensor::Tensor;

/// Whether two tensors are the same one: a tensor and a clone of it.
pub fn is_same(a: &Tensor, b: &Tensor) -> bool {
    std::sync::Arc::ptr_eq(&a.node, &b.node)
}
