//! Circuits run on the CPU, many samples or cells at a time: one per bit of a word.
//!
//! A netlist is folded ([`fold`]) and compiled to a [`tape`] over *planes* (inputs, as words) and *slots*
//! (intermediate values). [`execute`] runs it over tiles that stay in cache, one vector loop per instruction.
//! Netlists with wide layers run level by level instead ([`wide`]). Results never depend on the tile size or
//! the number of threads. Start at [`Simulator`] for samples and at [`Grid`] for automata.

mod aligned;
mod execute;
mod fire;
mod fold;
mod grid;
mod neighborhood;
mod samples;
mod tape;
#[cfg(test)]
mod tests;
mod wide;

pub use fire::fire_mask;
pub use grid::Grid;
pub use samples::{RegisterStates, Simulator};
pub use wide::{Line, WIDE_SAMPLES, WideSimulator};
