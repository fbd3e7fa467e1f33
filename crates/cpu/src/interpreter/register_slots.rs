//! Assigns registers to scratch memory.
//!
//! Scratch starts with what is kept from tile to tile (uniform values, outer values, their spreads). Then
//! follow the state of reductions and slots of one tile each. Registers share a slot if their lifetimes do not
//! overlap.

use crate::interpreter::bytecode::BytecodeOp;

/// Words are allocated in whole cache lines of this many words.
pub const LINE: usize = 16;

/// Where a register's words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterPlace {
    /// At this word of scratch.
    Scratch(usize),
    /// In a shared slot that is not yet assigned.
    Slot,
    /// In memory; an alias instruction sets the address.
    Memory,
}

/// Gives every register that needs a slot one of `words` words, starting at `start`; returns the end of
/// scratch.
///
/// Instructions run in order. The output of an instruction never shares a slot with its inputs, because the
/// vector loops require that they do not overlap.
pub fn assign<'a>(
    ops: impl Iterator<Item = &'a BytecodeOp>,
    places: &mut [RegisterPlace],
    start: usize,
    words: usize,
) -> usize {
    let ops: Vec<&BytecodeOp> = ops.collect();
    let mut last_use = vec![0; places.len()];
    for (i, op) in ops.iter().enumerate() {
        op.sources().chain(std::iter::once(op.out)).for_each(|register| last_use[register] = i);
    }
    let mut free: Vec<usize> = Vec::new();
    let mut end = start;
    let mut in_slot = vec![false; places.len()];
    for (i, op) in ops.iter().enumerate() {
        if op.writes() && places[op.out] == RegisterPlace::Slot {
            let offset = free.pop().unwrap_or_else(|| {
                end += words;
                end - words
            });
            places[op.out] = RegisterPlace::Scratch(offset);
            in_slot[op.out] = true;
        }
        for register in op.sources().chain(std::iter::once(op.out)) {
            if let (RegisterPlace::Scratch(offset), true, true) =
                (places[register], in_slot[register], last_use[register] == i)
            {
                in_slot[register] = false;
                free.push(offset);
            }
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use farad_ir::Unary;

    use super::*;
    use crate::interpreter::bytecode::{Opcode, SourceWords, WordType};

    #[test]
    fn slots_are_shared_but_never_with_an_input() {
        let step = |from: usize, out: usize| BytecodeOp {
            a: SourceWords { register: from, scalar: false },
            ..BytecodeOp::new(Opcode::Unary(Unary::Neg, WordType::Float), out)
        };
        let ops = [BytecodeOp::new(Opcode::Load(0), 0), step(0, 1), step(1, 2), step(2, 3)];
        let mut places = [RegisterPlace::Slot; 4];
        let end = assign(ops.iter(), &mut places, 32, 64);
        assert_eq!(end, 32 + 2 * 64);
        for pair in places.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
