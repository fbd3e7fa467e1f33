//! Orders steps into waves: the steps of one wave do not depend on each other.

use std::collections::HashMap;

use crate::program::{BufferId, Place, Program, ProgramStep};

/// Assigns waves: a step comes after every step whose memory it reads or overwrites.
pub(super) fn waves(program: &Program, steps: Vec<ProgramStep>) -> Vec<ProgramStep> {
    let mut wrote: HashMap<Place, usize> = HashMap::new();
    let mut read: HashMap<Place, usize> = HashMap::new();
    let place = |id: &BufferId| program.buffers[id.0 as usize].place;
    let mut placed: Vec<ProgramStep> = Vec::with_capacity(steps.len());
    for mut step in steps {
        let (reads, writes) = step.kernel.touches();
        let after = |map: &HashMap<Place, usize>, id: &BufferId| map.get(&place(id)).map_or(0, |w| w + 1);
        // Parts of one pack share an allocation but no byte. They may wait for each other all the same, which
        // costs little.
        let wave = reads
            .iter()
            .map(|id| after(&wrote, id))
            .chain(writes.iter().map(|id| after(&wrote, id).max(after(&read, id))))
            .max()
            .unwrap_or(0);
        step.wave = wave;
        reads.iter().for_each(|id| {
            let slot = read.entry(place(id)).or_default();
            *slot = (*slot).max(wave);
        });
        writes.iter().for_each(|id| {
            let slot = wrote.entry(place(id)).or_default();
            *slot = (*slot).max(wave);
        });
        placed.push(step);
    }
    placed.sort_by_key(|step| step.wave);
    placed
}
