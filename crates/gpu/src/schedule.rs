//! Unrolls stages into launches: pipeline, bind group and slice of the uniform.
//!
//! Invariant: everything that can be known before a run is in the schedule. Slices of the uniform with run
//! parameters come first, so that one short write updates them.

use std::collections::HashMap;

use farad_compile::program::{BufferId, Place, Program};

use crate::dispatch::Word;
use crate::error::Error;
use crate::routine::{LaunchStage, LayoutKey, Routine, buffer_bytes};
use crate::transfer::WORD;

/// What a run encodes, in order.
#[derive(Default)]
pub(crate) struct RunSchedule {
    pub(crate) launches: Vec<ScheduledLaunch>,
    /// How many launches there are up to the end of every stage.
    pub(crate) ends: Vec<usize>,
    pub(crate) groups: Vec<GroupSpec>,
    /// The uniform, as on the device; parameters of the run are zero until patched.
    pub(crate) words: Vec<u32>,
    /// Size of the slices that hold parameters, at the start of the uniform.
    pub(crate) varying_words: usize,
    /// `(word, parameter)`
    pub(crate) patches: Vec<(u32, u32)>,
}

/// One dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduledLaunch {
    /// The index of the routine, over all stages.
    pub(crate) routine: u32,
    pub(crate) group: u32,
    /// Byte offset of the uniform's slice; `u32::MAX` without a uniform.
    pub(crate) offset: u32,
    pub(crate) workgroups: [u32; 3],
}

/// What a bind group binds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupSpec {
    pub(crate) layout: LayoutKey,
    /// Bytes of the uniform's slice.
    pub(crate) uniform_bytes: usize,
    pub(crate) slots: Vec<StorageSlot>,
}

/// A storage array in a bind group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StorageSlot {
    pub(crate) place: Place,
    pub(crate) offset: usize,
    /// Bytes that must be available.
    pub(crate) bytes: usize,
    /// Bytes to bind, if the allocation is that long.
    pub(crate) rounded: usize,
}

impl GroupSpec {
    /// Whether it binds memory that a run supplies.
    pub(crate) fn varies(&self) -> bool {
        self.slots.iter().any(|slot| !matches!(slot.place, Place::Block(_)))
    }
}

/// The current trip of a loop.
struct Trip<'a> {
    position: usize,
    odd: bool,
    slots: &'a [(BufferId, usize)],
    swaps: &'a [(BufferId, BufferId)],
}

impl Trip<'_> {
    const NONE: Trip<'static> = Trip { position: 0, odd: false, slots: &[], swaps: &[] };

    fn stride(&self, id: BufferId) -> Option<usize> {
        self.slots.iter().find(|(buffer, _)| *buffer == id).map(|&(_, stride)| stride)
    }

    /// The offset of the buffer's current slice, in elements.
    fn elements(&self, id: BufferId) -> usize {
        self.stride(id).map_or(0, |stride| stride * self.position)
    }

    fn meant(&self, id: BufferId) -> BufferId {
        let swapped = self.swaps.iter().filter(|_| self.odd).find_map(|&(a, b)| match id {
            _ if id == a => Some(b),
            _ if id == b => Some(a),
            _ => None,
        });
        swapped.unwrap_or(id)
    }
}

struct ScheduleBuilder<'a> {
    program: &'a Program,
    binding_limit: usize,
    launches: Vec<ScheduledLaunch>,
    groups: HashMap<GroupSpec, u32>,
    specs: Vec<GroupSpec>,
    slices: HashMap<Vec<Word>, u32>,
    contents: Vec<Vec<Word>>,
}

impl RunSchedule {
    /// Unrolls stages; `binding_limit` is in bytes, and slices of the uniform start at multiples of
    /// `alignment`.
    pub(crate) fn new(
        program: &Program,
        stages: &[LaunchStage],
        binding_limit: usize,
        alignment: usize,
    ) -> Result<RunSchedule, Error> {
        let mut builder = ScheduleBuilder {
            program,
            binding_limit,
            launches: vec![],
            groups: HashMap::new(),
            specs: vec![],
            slices: HashMap::new(),
            contents: vec![],
        };
        let (mut first, mut ends) = (0, Vec::with_capacity(stages.len()));
        for stage in stages {
            match stage {
                LaunchStage::Once(body) => builder.trip(first, body, &Trip::NONE)?,
                LaunchStage::Loop { trips, reverse, slots, swaps, body } => {
                    for t in 0..*trips {
                        let position = if *reverse { trips - 1 - t } else { t };
                        builder.trip(first, body, &Trip { position, odd: t % 2 == 1, slots, swaps })?;
                    }
                }
            }
            first += stage.body().len();
            ends.push(builder.launches.len());
        }
        Ok(RunSchedule { ends, ..builder.finish(alignment) })
    }
}

impl ScheduleBuilder<'_> {
    fn trip(&mut self, first: usize, body: &[Routine], trip: &Trip) -> Result<(), Error> {
        for (n, routine) in body.iter().enumerate() {
            if routine.workgroups.contains(&0) {
                continue;
            }
            let group = self.group(routine, trip)?;
            let offset = self.slice(routine, trip);
            self.launches.push(ScheduledLaunch {
                routine: (first + n) as u32,
                group,
                offset,
                workgroups: routine.workgroups,
            });
        }
        Ok(())
    }

    fn group(&mut self, routine: &Routine, trip: &Trip) -> Result<u32, Error> {
        let slots = routine.bindings.iter().map(|binding| self.slot(routine, binding.buffer, trip));
        let spec = GroupSpec {
            layout: routine.layout(),
            uniform_bytes: routine.parameters.as_ref().map_or(0, |words| padded(words.len()) * WORD),
            slots: slots.collect::<Result<_, Error>>()?,
        };
        let next = self.specs.len() as u32;
        Ok(*self.groups.entry(spec).or_insert_with_key(|spec| {
            self.specs.push(spec.clone());
            next
        }))
    }

    fn slot(&self, routine: &Routine, id: BufferId, trip: &Trip) -> Result<StorageSlot, Error> {
        let meant = trip.meant(id);
        let buffer = &self.program.buffers[meant.0 as usize];
        let mut slot = StorageSlot {
            place: buffer.place,
            offset: buffer.offset,
            bytes: buffer_bytes(self.program, meant),
            rounded: 0,
        };
        if let (true, Some(stride)) = (routine.bound_slices, trip.stride(id)) {
            slot.offset += trip.elements(id) * buffer.dtype.size();
            slot.bytes = stride * buffer.dtype.size();
        }
        if slot.bytes > self.binding_limit {
            return Err(Error::TooLarge { op: "load", asked: slot.bytes, limit: self.binding_limit });
        }
        // Custom ops query array lengths, which must be exact.
        let multiple = if routine.bound_slices { WORD } else { 4 * WORD };
        slot.rounded = slot.bytes.max(1).next_multiple_of(multiple).min(self.binding_limit / WORD * WORD);
        Ok(slot)
    }

    fn slice(&mut self, routine: &Routine, trip: &Trip) -> u32 {
        let Some(words) = &routine.parameters else { return u32::MAX };
        let known = |word: &Word| match *word {
            Word::Slot(id) => Word::Fixed(trip.elements(id) as u32),
            other => other,
        };
        let words: Vec<Word> = words.iter().map(known).collect();
        let next = self.contents.len() as u32;
        *self.slices.entry(words).or_insert_with_key(|words| {
            self.contents.push(words.clone());
            next
        })
    }

    /// Assigns offsets to all slices: those with run parameters first.
    fn finish(self, alignment: usize) -> RunSchedule {
        let varies = |words: &[Word]| words.iter().any(|word| matches!(word, Word::Parameter(_)));
        let mut order: Vec<usize> = (0..self.contents.len()).collect();
        order.sort_by_key(|&slice| !varies(&self.contents[slice]));
        let mut schedule =
            RunSchedule { launches: self.launches, groups: self.specs, ..RunSchedule::default() };
        let mut offsets = vec![0; self.contents.len()];
        for slice in order {
            let words = &self.contents[slice];
            let start = schedule.words.len();
            offsets[slice] = (start * WORD) as u32;
            for (n, word) in words.iter().enumerate() {
                if let Word::Parameter(parameter) = *word {
                    schedule.patches.push(((start + n) as u32, parameter as u32));
                    // Every run writes whole slices, including the fixed words after the parameters.
                    schedule.varying_words = start + words.len();
                }
                schedule.words.push(if let Word::Fixed(value) = *word { value } else { 0 });
            }
            let end = (start + padded(words.len())).next_multiple_of(alignment / WORD);
            schedule.words.resize(end, 0);
        }
        for launch in schedule.launches.iter_mut().filter(|launch| launch.offset != u32::MAX) {
            launch.offset = offsets[launch.offset as usize];
        }
        schedule
    }
}

/// Size of a uniform in words: whole `vec4`s, at least one.
fn padded(words: usize) -> usize {
    words.max(1).next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{Dispatch, StorageBinding};
    use farad_compile::program::ProgramBuffer;
    use farad_ir::DType;

    fn routine(buffer: u32, parameters: Vec<Word>) -> Routine {
        let bindings = vec![StorageBinding { buffer: BufferId(buffer), write: true }];
        let dispatch = Dispatch {
            wgsl: "".into(),
            entry: "main",
            bindings,
            parameters,
            reports: false,
            workgroups: [1, 1, 1],
            costs: Default::default(),
        };
        Routine::new("test", dispatch)
    }

    fn program() -> Program {
        let buffer = |n| ProgramBuffer { place: Place::Block(n), offset: 0, dtype: DType::F32, len: 12 };
        Program { blocks: vec![48, 48], buffers: vec![buffer(0), buffer(1)], ..Program::default() }
    }

    #[test]
    fn parameters_come_first_and_equal_slices_are_shared() {
        let fixed = || routine(0, vec![Word::Fixed(7)]);
        let varying = routine(1, vec![Word::Fixed(1), Word::Parameter(2), Word::Fixed(9)]);
        let stages = [LaunchStage::Once(vec![fixed(), varying, fixed()])];
        let schedule = RunSchedule::new(&program(), &stages, 1 << 20, 64).unwrap();
        let offsets: Vec<u32> = schedule.launches.iter().map(|launch| launch.offset).collect();
        assert_eq!(offsets, [64, 0, 64]);
        assert_eq!(schedule.patches, [(1, 2)]);
        assert_eq!(schedule.varying_words, 3);
        assert_eq!(schedule.words.len(), 32);
        assert_eq!((schedule.words[0], schedule.words[16]), (1, 7));
        assert_eq!(schedule.groups.len(), 2);
    }

    #[test]
    fn loops_move_slots_and_swap_buffers() {
        let stages = [LaunchStage::Loop {
            trips: 4,
            reverse: true,
            slots: vec![(BufferId(0), 3)],
            swaps: vec![(BufferId(0), BufferId(1))],
            body: vec![routine(0, vec![Word::Slot(BufferId(0))])],
        }];
        let schedule = RunSchedule::new(&program(), &stages, 1 << 20, 16).unwrap();
        let words: Vec<u32> =
            schedule.launches.iter().map(|l| schedule.words[l.offset as usize / 4]).collect();
        assert_eq!(words, [9, 6, 3, 0]);
        let places: Vec<Place> =
            schedule.launches.iter().map(|l| schedule.groups[l.group as usize].slots[0].place).collect();
        let (even, odd) = (Place::Block(0), Place::Block(1));
        assert_eq!(places, [even, odd, even, odd]);
        assert_eq!(schedule.groups.len(), 2);
    }

    #[test]
    fn bindings_above_the_limit_are_refused() {
        let stages = [LaunchStage::Once(vec![routine(0, vec![])])];
        let error = RunSchedule::new(&program(), &stages, 32, 16).err().unwrap();
        assert_eq!(error.to_string(), "load: too large for the device (48 bytes vs at most 32)");
    }
}
