//! What can be wrong with a program. Every message names the kernel and the two values that disagree.

use std::fmt;

use crate::program::{BufferId, Place, ProgramStep, View};

/// Identifies a kernel of a program: its step and label, and those of its enclosing loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPlace {
    path: Vec<(usize, String)>,
}

impl KernelPlace {
    pub(super) fn of(step: usize, at: &ProgramStep) -> KernelPlace {
        KernelPlace { path: vec![(step, at.label.clone())] }
    }

    /// A kernel in the body of this loop.
    pub(super) fn within(&self, step: usize, at: &ProgramStep) -> KernelPlace {
        let mut path = self.path.clone();
        path.push((step, at.label.clone()));
        KernelPlace { path }
    }
}

impl fmt::Display for KernelPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> =
            self.path.iter().map(|(step, label)| format!("step {step} ({label})")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// Why a program is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum ProgramError {
    #[error("program: a kernel names something that does not exist: {kernel}: {what} ({number} vs {count})")]
    Dangling { kernel: KernelPlace, what: &'static str, number: usize, count: usize },
    #[error("program: a buffer goes beyond its allocation: {buffer} in {place} ({end} vs {bytes} bytes)")]
    Allocation { buffer: BufferId, place: Place, end: usize, bytes: usize },
    #[error("program: a kernel has too many bindings: {kernel} ({count} vs at most {most})")]
    Bindings { kernel: KernelPlace, count: usize, most: usize },
    #[error(
        "program: a loop swaps buffers that differ: {kernel}: {first} and {second} ({a} vs {b} elements)"
    )]
    Swap { kernel: KernelPlace, first: BufferId, second: BufferId, a: usize, b: usize },
    #[error(
        "program: a kernel reads and writes one allocation through two bindings: {kernel}: {place} ({read} vs {written})"
    )]
    Alias { kernel: KernelPlace, place: Place, read: BufferId, written: BufferId },
    #[error(
        "program: a kernel overwrites what it reads at other positions: {kernel}: {buffer} ({read} vs {written})"
    )]
    InPlace { kernel: KernelPlace, buffer: BufferId, read: String, written: String },
    #[error(
        "program: a kernel goes beyond its buffer: {kernel}: {buffer} at {position:?} (element {element} vs {len})"
    )]
    Bounds { kernel: KernelPlace, buffer: BufferId, position: Vec<usize>, element: i64, len: usize },
    #[error("program: a kernel writes an element twice: {kernel}: {buffer} at {position:?} and {earlier:?}")]
    Twice { kernel: KernelPlace, buffer: BufferId, position: Vec<usize>, earlier: Vec<usize> },
    #[error(
        "program: a kernel reads bytes that no step has written: {kernel}: {buffer} in {place} (bytes {start} to {end})"
    )]
    Undefined { kernel: KernelPlace, buffer: BufferId, place: Place, start: usize, end: usize },
    #[error(
        "program: a kernel reads a tensor that another has overwritten: {kernel}: {place} ({buffer} vs {by} of {writer})"
    )]
    Overwritten { kernel: KernelPlace, place: Place, buffer: BufferId, by: BufferId, writer: KernelPlace },
    #[error("program: a kernel writes an input that no output takes over: {kernel}: {place} ({buffer})")]
    Input { kernel: KernelPlace, place: Place, buffer: BufferId },
    #[error("program: no step writes an output: output {output} (0 vs {len} elements)")]
    Output { output: usize, len: usize },
    #[error("program: steps of one wave touch the same bytes: {first} and {second}: {place} ({a} vs {b})")]
    Wave { first: KernelPlace, second: KernelPlace, place: Place, a: BufferId, b: BufferId },
    #[error("program: a step comes after one of a later wave: {kernel} (wave {wave} vs {before})")]
    Order { kernel: KernelPlace, wave: usize, before: usize },
}

/// A view in a message.
pub(super) fn shown(view: &View) -> String {
    let guards = match view.guards.len() {
        0 => String::new(),
        count => format!(" with {count} guards"),
    };
    format!("{} + {:?}{guards}", view.offset, view.strides)
}
