//! Where registers live in scratch memory.
//!
//! Scratch starts with what is kept from tile to tile (uniform values, outer values, their spreads), then the state of
//! reductions, then slots of a tile each, which registers share when their lives do not overlap.

use crate::interpreter::bytecode::BytecodeOp;

/// Words are handed out in whole cache lines.
pub const LINE: usize = 16;

/// Where a register's words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterPlace {
    /// So many words into scratch.
    Scratch(usize),
    /// In a shared slot that is not yet assigned.
    Slot,
    /// Wherever an alias instruction points it.
    Memory,
}

/// Gives every register in need of a slot one of `words` words from `start` on; gives the end of scratch.
///
/// Instructions run in order. An instruction's output never shares with its own inputs: loops may not overlap.
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
