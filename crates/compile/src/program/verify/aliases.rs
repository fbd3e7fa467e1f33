//! A kernel must not read and write one allocation through two bindings: GPUs reject that, and elsewhere it
//! gives wrong numbers. Through one binding it may, if every element is read only where it is written: an
//! update in place.

use std::collections::HashMap;

use super::error::shown;
use super::{KernelPlace, ProgramError, each_kernel};
use crate::program::{BufferId, Code, Fused, Kernel, Place, Program};

/// The first kernel that overwrites what it reads.
pub(crate) fn check(program: &Program) -> Result<(), ProgramError> {
    each_kernel(program, |kernel_place, kernel, _| {
        let place = |id: &BufferId| program.buffers[id.0 as usize].place;
        let (reads, writes) = kernel.touches();
        let written: HashMap<Place, BufferId> = writes.iter().map(|id| (place(id), *id)).collect();
        for &read in &reads {
            let Some(&written) = written.get(&place(&read)) else { continue };
            if written != read {
                let (kernel, place) = (kernel_place.clone(), place(&read));
                return Err(ProgramError::Alias { kernel, place, read, written });
            }
            in_place(kernel_place, kernel, read)?;
        }
        Ok(())
    })
}

/// Whether a kernel that reads and writes a buffer is an update in place.
fn in_place(place: &KernelPlace, kernel: &Kernel, buffer: BufferId) -> Result<(), ProgramError> {
    let fail = |read: String, written: String| {
        Err(ProgramError::InPlace { kernel: place.clone(), buffer, read, written })
    };
    let Kernel::Fused(Fused { axes, outer, tape, stores }) = kernel else {
        return fail("the whole buffer".into(), "the whole buffer".into());
    };
    let written: Vec<_> = stores.iter().filter(|store| store.buffer == buffer).map(|s| &s.view).collect();
    let shown_writes = || written.iter().map(|view| shown(view)).collect::<Vec<_>>().join(" and ");
    for instr in tape.iter().filter(|instr| instr.code.buffer() == Some(buffer)) {
        match &instr.code {
            Code::Load(_, view) if written.contains(&view) && *outer == axes.len() => {}
            Code::Load(_, view) => return fail(shown(view), shown_writes()),
            _ => return fail("any position".into(), shown_writes()),
        }
    }
    Ok(())
}
