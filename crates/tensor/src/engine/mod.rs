//! The engine: one way to run a program, for reads, gradients, optimizers and averages.
//!
//! An [`EngineStep`] records what tensors need, looks its program up by a key, compiles what is new, runs it, and
//! stores every result. A [`DeviceArray`] is memory with one owner that a step may overwrite.
//!
//! 1. **Record.** `x.matmul(&w) + b` makes nodes: an op, its operands, the caller's line. Shapes and dtypes
//!    are checked now, and a wrong one panics at the caller's line. Nothing runs, except where a chain has
//!    grown long. A chain runs at 8,192 pending ops, or at 64 if no tensor in hand can reach into it.
//! 2. **Look up.** What is needed becomes a graph of `farad-ir`. The graph is hashed to 128 bits, together
//!    with everything else that decides the program. That is which tensors in hand are wanted, which values
//!    are known, and the form of the optimizer's rule. A known key replays its plan. Debug builds compare
//!    what was recorded in every replay. In some replays they also write the program again and compare it.
//! 3. **Differentiate**, on a miss only. The backward pass is appended to the graph, by the gradient rules of
//!    the ops. Gradients are ordinary nodes, and [`Tensor::gradients`] runs nothing: a read of them comes
//!    through a step like any other.
//! 4. **Compile**, on a miss only (`farad-compile`).
//! 5. **Load**, on a miss only. The GPU renders each kernel to WGSL and compiles new ones in parallel. The
//!    CPU turns each into bytecode for its tile interpreter. Scratch memory is allocated once.
//! 6. **Run.** Numbers that change from run to run go into one uniform. Dispatches are encoded into one pass,
//!    and that is one submission. While the GPU is busy, up to eight runs share one.
//! 7. **Settle.** Results become the values of their nodes.
//!
//! # Overwriting in place
//!
//! A program overwrites arrays that are lent to the step by `&mut`. After an error the owner has the array
//! back as it was. Only the engine decides whether an array is written in place, or copied first because
//! somebody still reads it. That is a question about tensors, and one function answers it (`DeviceArray::is_sole`).
//!
//! Handing parameters over by value would not answer it. A parameter is a cell that other threads may read at
//! any time. An emptied cell would fail these threads, and locked cells would deadlock two optimizers that
//! share them.
//!
//! Also here: a few things that layers and files need of tensors, and programs do not.

mod array;
mod step;
mod write;

pub use array::{ArrayPlace, DeviceArray};
pub use step::{EngineStep, RecordDepth};
pub use write::{StepOutput, StepWriter};

pub use farad_runtime::Read;

pub use crate::inside::{Inside, at_position, inside, refuse, through};
pub use crate::save::{checksum_of, decode, encode, loaded, loaded_from};
pub use crate::tensor::{Pooling, check_probability, expect, raise, sequence};
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
