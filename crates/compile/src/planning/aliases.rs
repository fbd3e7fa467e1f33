//! Refuses programs that break the first invariant of [`crate::program`]: a kernel that reads and writes one allocation
//! by two bindings is an error of GPUs, and a wrong number elsewhere.

use std::collections::HashMap;
use std::fmt;

use crate::program::{BufferId, Kernel, Place, Program, Step};

/// A kernel that reads one buffer of an allocation and writes another.
pub(super) struct Alias {
    label: String,
    place: Place,
    read: BufferId,
    written: BufferId,
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Alias { label, place, read, written } = self;
        write!(f, "plan: kernel {label} reads and writes one allocation by two bindings: {place:?} ")?;
        write!(f, "(buffers {} and {})", read.0, written.0)
    }
}

/// The first kernel of these steps that reads and writes one allocation by two bindings.
pub(super) fn alias(program: &Program, steps: &[Step]) -> Option<Alias> {
    steps.iter().find_map(|step| match &step.kernel {
        Kernel::Loop(repeated) => alias(program, &repeated.steps),
        kernel => {
            let place = |id: &BufferId| program.buffers[id.0 as usize].place;
            let (reads, writes) = kernel.touches();
            let written: HashMap<Place, BufferId> = writes.iter().map(|id| (place(id), *id)).collect();
            let clash = |read: &BufferId| {
                let written = *written.get(&place(read)).filter(|written| *written != read)?;
                Some(Alias { label: step.label.clone(), place: place(read), read: *read, written })
            };
            reads.iter().find_map(clash)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::assemble::copy;
    use crate::program::Buffer;
    use farad_ir::DType;

    /// A program that copies the first buffer to the second, both in blocks.
    fn copying(blocks: [usize; 2]) -> Program {
        let buffer = |block: usize, n: usize| Buffer {
            place: Place::Block(block),
            offset: 256 * n,
            dtype: DType::F32,
            len: 8,
        };
        let kernel = copy(BufferId(0), BufferId(1), 8, DType::F32);
        Program {
            blocks: vec![512, 512],
            buffers: blocks.iter().enumerate().map(|(n, &block)| buffer(block, n)).collect(),
            steps: vec![Step { wave: 0, label: "copy".into(), kernel }],
            ..Program::default()
        }
    }

    #[test]
    fn two_parts_of_one_block_are_refused() {
        let program = copying([0, 0]);
        let text = alias(&program, &program.steps).expect("one allocation by two bindings").to_string();
        assert_eq!(
            text,
            "plan: kernel copy reads and writes one allocation by two bindings: Block(0) (buffers 0 and 1)"
        );
    }

    #[test]
    fn two_blocks_are_fine() {
        let program = copying([0, 1]);
        assert!(alias(&program, &program.steps).is_none());
    }
}
