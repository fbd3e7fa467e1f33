//! Everything that is read was written before, and nothing else has overwritten it since.
//!
//! Memory holds one tensor after another, so what counts is who wrote a byte last. That must be the buffer
//! itself, or one that lies inside it (a pack is written only through its parts). Across the boundary of a
//! loop, any buffer over the same bytes is accepted, because the body has its own numbers for its operands.
//! Bytes that nobody ever writes are the gaps of a pack, which stay zero.
//!
//! Invariant: a write counts as a write of the whole buffer. So this check finds wrong memory and wrong order,
//! not single elements that a kernel leaves out.

use std::collections::{HashMap, HashSet};

use super::{Extent, KernelPlace, ProgramError, VerifiedTouch, placed, touches};
use crate::program::{BufferId, Kernel, Loop, Place, Program};

pub(super) fn check(program: &Program) -> Result<(), ProgramError> {
    let written_once = program.steps.iter().flat_map(|step| step.kernel.touches().1).collect();
    let mut memory = WrittenMemory { program, holds: HashMap::new(), written: HashSet::new(), written_once };
    for (place, step) in placed(&program.steps) {
        match &step.kernel {
            Kernel::Loop(body) => memory.run_loop(&place, body)?,
            kernel => memory.run(&place, &touches(program, kernel), false)?,
        }
    }
    for (n, output) in program.outputs.iter().enumerate() {
        let place = output.donor.map_or(Place::Output(n), Place::Input);
        if output.spec.len > 0 && !memory.holds.contains_key(&place) {
            return Err(ProgramError::Output { output: n, len: output.spec.len });
        }
    }
    Ok(())
}

/// Bytes and who wrote them.
struct HeldBytes {
    extent: Extent,
    by: BufferId,
    writer: KernelPlace,
    in_loop: bool,
}

/// The contents of memory during a run.
struct WrittenMemory<'a> {
    program: &'a Program,
    /// Writes that are still visible, the latest last.
    holds: HashMap<Place, Vec<HeldBytes>>,
    /// Buffers that were written under their own number.
    written: HashSet<BufferId>,
    /// Buffers that some step writes, now or later.
    written_once: HashSet<BufferId>,
}

impl WrittenMemory<'_> {
    /// Simulates a few trips for all: every pair of buffers is swapped both ways, and the number of trips keeps
    /// its parity.
    fn run_loop(&mut self, place: &KernelPlace, body: &Loop) -> Result<(), ProgramError> {
        let trips = if body.trips <= 3 { body.trips } else { 2 + body.trips % 2 };
        let swapped: HashMap<BufferId, BufferId> =
            body.swaps.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        let steps = body.steps.iter().enumerate();
        let steps: Vec<(KernelPlace, Vec<VerifiedTouch>)> =
            steps.map(|(n, step)| (place.within(n, step), touches(self.program, &step.kernel))).collect();
        for trip in 0..trips {
            for (place, touched) in &steps {
                let named = touched.iter().map(|touch| match swapped.get(&touch.buffer) {
                    Some(&other) if trip % 2 == 1 => {
                        VerifiedTouch { buffer: other, extent: Extent::of(self.program, other), ..*touch }
                    }
                    _ => *touch,
                });
                let named: Vec<VerifiedTouch> = named.collect();
                self.run(place, &named, true)?;
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        place: &KernelPlace,
        touched: &[VerifiedTouch],
        in_loop: bool,
    ) -> Result<(), ProgramError> {
        for touch in touched.iter().filter(|touch| !touch.writes) {
            self.read(place, touch, in_loop)?;
        }
        for touch in touched.iter().filter(|touch| touch.writes) {
            self.write(place, touch, in_loop)?;
        }
        Ok(())
    }

    fn read(&self, place: &KernelPlace, touch: &VerifiedTouch, in_loop: bool) -> Result<(), ProgramError> {
        let VerifiedTouch { buffer, extent, .. } = *touch;
        if matches!(extent.place, Place::Input(_)) || extent.start == extent.end {
            return Ok(());
        }
        let mut open = vec![(extent.start, extent.end)];
        for held in self.holds.get(&extent.place).into_iter().flatten().rev() {
            if open.is_empty() || !open.iter().any(|&(a, b)| held.extent.start < b && a < held.extent.end) {
                continue;
            }
            if !self.is_kin(touch, held, in_loop) {
                let (kernel, place) = (place.clone(), extent.place);
                return Err(match self.written.contains(&buffer) {
                    true => {
                        let (by, writer) = (held.by, held.writer.clone());
                        ProgramError::Overwritten { kernel, place, buffer, by, writer }
                    }
                    false => {
                        let (start, end) = (extent.start, extent.end);
                        ProgramError::Undefined { kernel, buffer, place, start, end }
                    }
                });
            }
            open = open.into_iter().flat_map(|range| left_of(range, &held.extent)).collect();
        }
        // Gaps between the parts of a pack stay zero, unless something else ever writes them.
        let gap = |&(start, end): &(usize, usize)| {
            let gap = Extent { place: extent.place, start, end };
            gap != extent && !self.ever_written(&gap)
        };
        match open.iter().find(|range| !gap(range)) {
            Some(&(start, end)) => {
                let (kernel, place) = (place.clone(), extent.place);
                Err(ProgramError::Undefined { kernel, buffer, place, start, end })
            }
            None => Ok(()),
        }
    }

    /// Whether the bytes held there are those that the reader expects.
    fn is_kin(&self, touch: &VerifiedTouch, held: &HeldBytes, in_loop: bool) -> bool {
        let own = &self.program.buffers[touch.buffer.0 as usize];
        let other = &self.program.buffers[held.by.0 as usize];
        if held.by == touch.buffer {
            return true;
        }
        let part = held.extent.is_inside(&touch.extent) && held.extent != touch.extent;
        // A pack without gaps that is a single part has no writer under its own number.
        let pack = !self.written_once.contains(&touch.buffer);
        let same = own == other && (in_loop || held.in_loop || pack);
        own.dtype == other.dtype && (part || same) && !self.written.contains(&touch.buffer)
    }

    fn ever_written(&self, extent: &Extent) -> bool {
        let writes = |kernel: &Kernel| {
            touches(self.program, kernel).iter().any(|touch| touch.writes && touch.extent.overlaps(extent))
        };
        self.program.steps.iter().any(|step| writes(&step.kernel))
    }

    fn write(
        &mut self,
        place: &KernelPlace,
        touch: &VerifiedTouch,
        in_loop: bool,
    ) -> Result<(), ProgramError> {
        let VerifiedTouch { buffer, extent, .. } = *touch;
        if let Place::Input(n) = extent.place
            && !self.program.outputs.iter().any(|output| output.donor == Some(n))
        {
            let (kernel, place) = (place.clone(), extent.place);
            return Err(ProgramError::Input { kernel, place, buffer });
        }
        let holds = self.holds.entry(extent.place).or_default();
        holds.retain(|held| !held.extent.is_inside(&extent));
        holds.push(HeldBytes { extent, by: buffer, writer: place.clone(), in_loop });
        self.written.insert(buffer);
        Ok(())
    }
}

/// What remains of a range of bytes outside of an extent.
fn left_of((start, end): (usize, usize), extent: &Extent) -> impl Iterator<Item = (usize, usize)> {
    let before = (start, end.min(extent.start));
    let after = (start.max(extent.end), end);
    [before, after].into_iter().filter(|(start, end)| start < end)
}
