//! Steps of one wave may run in any order, or at once. So none of them writes bytes that another touches. Steps
//! are ordered by wave.

use super::{KernelPlace, ProgramError, VerifiedTouch, placed, touches};
use crate::program::{Kernel, Program, ProgramStep};

pub(super) fn check(program: &Program) -> Result<(), ProgramError> {
    let steps: Vec<(KernelPlace, &ProgramStep)> = placed(&program.steps).collect();
    check_steps(program, &steps)?;
    for (place, step) in &steps {
        if let Kernel::Loop(body) = &step.kernel {
            let inner = body.steps.iter().enumerate().map(|(n, step)| (place.within(n, step), step));
            check_steps(program, &inner.collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn check_steps(program: &Program, steps: &[(KernelPlace, &ProgramStep)]) -> Result<(), ProgramError> {
    for pair in steps.windows(2) {
        let ((_, before), (kernel, step)) = (&pair[0], &pair[1]);
        if step.wave < before.wave {
            let (wave, before) = (step.wave, before.wave);
            return Err(ProgramError::Order { kernel: kernel.clone(), wave, before });
        }
    }
    for wave in steps.chunk_by(|a, b| a.1.wave == b.1.wave).filter(|wave| wave.len() > 1) {
        let all = wave.iter().enumerate().flat_map(|(n, (_, step))| {
            touches(program, &step.kernel).into_iter().map(move |touch| (n, touch))
        });
        let mut all: Vec<(usize, VerifiedTouch)> =
            all.filter(|(_, touch)| touch.extent.start < touch.extent.end).collect();
        // Sorted by the first byte, so that overlapping ranges are close together.
        all.sort_by_key(|(_, touch)| (touch.extent.place, touch.extent.start));
        for (at, (n, touch)) in all.iter().enumerate() {
            let near = all[at + 1..].iter().take_while(|(_, other)| other.extent.overlaps(&touch.extent));
            let mut clash = near.filter(|(m, other)| m != n && (other.writes || touch.writes));
            if let Some((m, other)) = clash.next() {
                let (first, second) = (wave[*n].0.clone(), wave[*m].0.clone());
                let (a, b, place) = (touch.buffer, other.buffer, touch.extent.place);
                return Err(ProgramError::Wave { first, second, place, a, b });
            }
        }
    }
    Ok(())
}
