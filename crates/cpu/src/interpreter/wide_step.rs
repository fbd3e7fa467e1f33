//! Instructions on 64-bit registers: the same as those on 32-bit ones, with elements of twice the size.
//!
//! Invariant: a register's pointer is aligned to its elements. Start at `TileMachine::step_wide`.

use crate::interpreter::bytecode::{BytecodeOp, Opcode};
use crate::interpreter::tile_machine::{Tile, TileMachine, TilePart};
use crate::memory::view_access::DomainRange;

impl TileMachine<'_> {
    /// Runs an instruction that reads or writes registers of 64 bits.
    pub(super) fn step_wide(&mut self, op: &BytecodeOp, range: &DomainRange, tile: &Tile, part: TilePart) {
        match op.code {
            Opcode::Constant(bits) => self.output::<u64>(op, 1)[0] = bits,
            Opcode::Parameter(i) => {
                let words = self.context.parameters;
                self.output::<u64>(op, 1)[0] = words[i] as u64 | (words[i + 1] as u64) << 32;
            }
            _ if self.moved::<u64>(op, range, tile, part) => {}
            // SAFETY: registers hold a tile, and slots keep outputs apart from inputs.
            _ => unsafe { (self.lanes.apply_wide)(op, self.registers, range.count) },
        }
    }
}
