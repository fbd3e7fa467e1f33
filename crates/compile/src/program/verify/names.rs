//! Everything that a kernel names exists: registers before their users, buffers within their allocations,
//! parameters, sites. No kernel has more bindings than the target allows.

use super::{KernelPlace, ProgramError, each_kernel, placed};
use crate::program::{BufferId, Code, Instr, Kernel, Place, Program, Reg, Target};

pub(super) fn check(program: &Program, target: &Target) -> Result<(), ProgramError> {
    for (n, buffer) in program.buffers.iter().enumerate() {
        let bytes = match buffer.place {
            Place::Input(i) => program.inputs.get(i).map(|spec| spec.len * spec.dtype.size()),
            Place::Output(i) => program.outputs.get(i).map(|out| out.spec.len * out.spec.dtype.size()),
            Place::Block(i) => program.blocks.get(i).copied(),
        };
        let (end, bytes) = (buffer.offset + buffer.len * buffer.dtype.size(), bytes.unwrap_or(0));
        if end > bytes {
            let buffer_id = BufferId(n as u32);
            return Err(ProgramError::Allocation { buffer: buffer_id, place: buffer.place, end, bytes });
        }
    }
    for (kernel, step) in placed(&program.steps) {
        if let Kernel::Loop(body) = &step.kernel {
            let named = body.slots.iter().map(|slot| slot.0);
            let named = named.chain(body.swaps.iter().flat_map(|pair| [pair.0, pair.1]));
            named.into_iter().try_for_each(|id| buffer(program, &kernel, id))?;
            for &(first, second) in &body.swaps {
                let [a, b] = [first, second].map(|id| program.spec(id));
                if a != b {
                    return Err(ProgramError::Swap { kernel, first, second, a: a.len, b: b.len });
                }
            }
        }
    }
    each_kernel(program, |place, kernel, _| {
        let (reads, writes) = kernel.touches();
        reads.iter().chain(&writes).try_for_each(|&id| buffer(program, place, id))?;
        tapes(program, place, kernel)?;
        // A sort or a custom op consists of several launches, each of which binds only some of the buffers.
        let count = reads.len() + writes.iter().filter(|id| !reads.contains(id)).count();
        let one_launch = !matches!(kernel, Kernel::Sort(_) | Kernel::Custom(_));
        if one_launch && count > target.bindings {
            let (kernel, most) = (place.clone(), target.bindings);
            return Err(ProgramError::Bindings { kernel, count, most });
        }
        Ok(())
    })
}

fn exists(place: &KernelPlace, what: &'static str, number: usize, count: usize) -> Result<(), ProgramError> {
    match number < count {
        true => Ok(()),
        false => Err(ProgramError::Dangling { kernel: place.clone(), what, number, count }),
    }
}

fn buffer(program: &Program, place: &KernelPlace, id: BufferId) -> Result<(), ProgramError> {
    exists(place, "buffer", id.0 as usize, program.buffers.len())
}

fn tapes(program: &Program, place: &KernelPlace, kernel: &Kernel) -> Result<(), ProgramError> {
    let register = |reg: Reg, count: usize| exists(place, "register", reg.0 as usize, count);
    let tape = |tape: &[Instr], carries: usize| tape_names(program, place, tape, carries);
    match kernel {
        Kernel::Fused(k) => {
            tape(&k.tape, 0)?;
            k.stores.iter().try_for_each(|store| register(store.value, k.tape.len()))
        }
        Kernel::Product(k) => {
            for side in [&k.lhs, &k.rhs] {
                tape(&side.tape, 0)?;
                register(side.value, side.tape.len())?;
            }
            tape(&k.epilogue, 0)?;
            k.stores.iter().try_for_each(|store| register(store.value, k.epilogue.len()))
        }
        Kernel::Recurrence(k) => {
            tape(&k.tape, k.carries.len())?;
            k.wanted().into_iter().try_for_each(|reg| register(reg, k.tape.len()))
        }
        Kernel::Scatter(k) => exists(place, "site", k.site, program.sites.len()),
        Kernel::Sums(_) | Kernel::Sort(_) | Kernel::Custom(_) | Kernel::Loop(_) => Ok(()),
    }
}

fn tape_names(
    program: &Program,
    place: &KernelPlace,
    tape: &[Instr],
    carries: usize,
) -> Result<(), ProgramError> {
    for (n, instr) in tape.iter().enumerate() {
        for reg in instr.code.operands() {
            exists(place, "register", reg.0 as usize, n)?;
        }
        match &instr.code {
            Code::Parameter(number) => exists(place, "parameter", *number, program.parameters.len())?,
            Code::Take { site, .. } => exists(place, "site", *site, program.sites.len())?,
            Code::Carry(number) => exists(place, "carry", *number, carries)?,
            _ => {}
        }
    }
    Ok(())
}
