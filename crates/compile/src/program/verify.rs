//! Checks the invariants of a program: memory is written before it is read, no kernel reads what it overwrites,
//! and nothing lies outside of its buffer.
//!
//! Everything that backends may rely on is checked here and nowhere else. In debug builds every compiled
//! program is checked, and so are the random kernels of the backends' tests. Release builds check only
//! aliasing: that check is cheap, and a violation would give wrong numbers.
//!
//! Start at [`verify`]. Each module below is one group of invariants:
//! - `names`: registers, buffers, parameters and sites exist, and buffers lie within their allocations.
//! - `aliases`: a kernel reads and writes one allocation only through one binding, and then at the same
//!   positions.
//! - `bounds`: views stay inside their buffers wherever their guards hold, and stores write no element twice.
//! - `lifetimes`: everything that is read was written before, and nothing else has overwritten it since.
//! - `waves`: steps of one wave touch different bytes, unless they only read.

pub(crate) mod aliases;
mod bounds;
mod error;
mod lifetimes;
mod names;
mod waves;

pub use error::{KernelPlace, ProgramError};

use super::{BufferId, Kernel, Place, Program, ProgramStep, Target};

/// Checks everything that backends rely on; returns the first violation.
pub fn verify(program: &Program, target: &Target) -> Result<(), ProgramError> {
    names::check(program, target)?;
    aliases::check(program)?;
    bounds::check(program)?;
    waves::check(program)?;
    lifetimes::check(program)
}

/// Visits every kernel other than loops, with the slots of its enclosing loop.
fn each_kernel<'a>(
    program: &'a Program,
    mut visit: impl FnMut(&KernelPlace, &'a Kernel, Option<&'a super::Loop>) -> Result<(), ProgramError>,
) -> Result<(), ProgramError> {
    for (n, step) in program.steps.iter().enumerate() {
        let place = KernelPlace::of(n, step);
        match &step.kernel {
            Kernel::Loop(body) => {
                for (m, inner) in body.steps.iter().enumerate() {
                    visit(&place.within(m, inner), &inner.kernel, Some(body))?;
                }
            }
            kernel => visit(&place, kernel, None)?,
        }
    }
    Ok(())
}

/// A range of bytes of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    place: Place,
    start: usize,
    end: usize,
}

impl Extent {
    /// All of a buffer.
    fn of(program: &Program, id: BufferId) -> Extent {
        let buffer = &program.buffers[id.0 as usize];
        let end = buffer.offset + buffer.len * buffer.dtype.size();
        Extent { place: buffer.place, start: buffer.offset, end }
    }

    /// Some elements of a buffer.
    fn part(program: &Program, id: BufferId, from: usize, len: usize) -> Extent {
        let buffer = &program.buffers[id.0 as usize];
        let start = buffer.offset + from * buffer.dtype.size();
        Extent { place: buffer.place, start, end: start + len * buffer.dtype.size() }
    }

    fn overlaps(&self, other: &Extent) -> bool {
        self.place == other.place && self.start < other.end && other.start < self.end
    }

    fn is_inside(&self, other: &Extent) -> bool {
        self.place == other.place && self.start >= other.start && self.end <= other.end
    }
}

/// A buffer that a kernel reads or writes, and which bytes of it.
#[derive(Clone, Copy, Debug)]
struct VerifiedTouch {
    buffer: BufferId,
    extent: Extent,
    writes: bool,
}

/// What a kernel reads, then what it writes. Sums write only their segments, not the gaps between them.
fn touches(program: &Program, kernel: &Kernel) -> Vec<VerifiedTouch> {
    let (reads, writes) = kernel.touches();
    let whole = |writes: bool| {
        move |buffer: BufferId| VerifiedTouch { buffer, extent: Extent::of(program, buffer), writes }
    };
    let mut all: Vec<VerifiedTouch> = reads.into_iter().map(whole(false)).collect();
    match kernel {
        Kernel::Sums(sums) => {
            let results = sums.segments.iter().map(|segment| VerifiedTouch {
                buffer: sums.target,
                extent: Extent::part(program, sums.target, segment.to, segment.results),
                writes: true,
            });
            all.extend(results);
        }
        _ => all.extend(writes.into_iter().map(whole(true))),
    }
    all
}

/// The steps of a program, each with its place for messages.
fn placed(steps: &[ProgramStep]) -> impl Iterator<Item = (KernelPlace, &ProgramStep)> {
    steps.iter().enumerate().map(|(n, step)| (KernelPlace::of(n, step), step))
}

#[cfg(test)]
mod tests;
