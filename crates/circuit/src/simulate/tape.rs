//! A netlist as code for a machine with three registers: a value that is read soon does not go through
//! memory, and slots are used again as soon as their value is dead.
//!
//! Gates are put in an order in which most read the gate just before them, then values get registers,
//! and slots when registers run out. Start at [`Tape::new`].

use super::fold::{Folded, Function, Value};
use super::registers::Allocator;
use crate::netlist::{Netlist, Wire};

/// Registers of the machine.
pub(super) const REGISTERS: usize = 3;

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a register.
    Register(u8),
    /// In memory, on the way.
    Slot(u32),
    /// An input or register of the circuit, by its number in [`Tape::sources`].
    Plane(u32),
}

/// What a register becomes, given an operand `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// `x`.
    Load,
    /// `register & x`.
    And,
    /// `register & !x`.
    AndNot,
    /// `!register & x`.
    NotAnd,
    /// `register | x`.
    Or,
    /// `register ^ x`.
    Xor,
}

/// What to do next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    /// Changes a register; the operand is not the same register.
    Compute { operation: Operation, to: u8, operand: Place },
    /// Copies a register to a slot.
    Keep { from: u8, slot: u32 },
    /// A root is ready: it is what the register holds, negated if so marked.
    Show { from: u8, root: u32, negated: bool },
}

/// An instruction as a number and what it is about: a slot, a plane or a root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    pub opcode: u8,
    pub index: u32,
}

impl Instruction {
    /// Computing comes first, by register, then by operand (the other registers, slot, plane), then by
    /// operation; then keep, show and show negated for each register.
    fn code(self) -> Code {
        match self {
            Instruction::Compute { operation, to, operand } => {
                let (operand, index) = match operand {
                    Place::Register(from) => (if from < to { from } else { from - 1 }, 0),
                    Place::Slot(slot) => (2, slot),
                    Place::Plane(plane) => (3, plane),
                };
                Code { opcode: (to * 4 + operand) * 6 + operation as u8, index }
            }
            Instruction::Keep { from, slot } => Code { opcode: 72 + 3 * from, index: slot },
            Instruction::Show { from, root, negated } => {
                Code { opcode: 73 + 3 * from + negated as u8, index: root }
            }
        }
    }
}

/// A compiled netlist.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    pub code: Vec<Code>,
    /// The inputs and registers of the circuit that are read, by wire.
    pub sources: Vec<u32>,
    /// The roots that are always the same.
    pub constants: Vec<(usize, bool)>,
    /// How many slots it needs.
    pub slots: usize,
    /// How many gates it computes.
    pub gates: usize,
}

impl Tape {
    /// Compiles what is needed for the roots.
    pub(super) fn new(netlist: &Netlist, roots: &[Wire]) -> Tape {
        let folded = Folded::new(netlist, roots);
        let order = order(&folded);
        let mut allocator = Allocator::new(&folded, &order);
        let mut shown = vec![vec![]; folded.sources + folded.gates.len()];
        let mut constants = vec![];
        for (root, value) in folded.roots.iter().enumerate() {
            match *value {
                Value::Constant(value) => constants.push((root, value)),
                Value::Of { definition, negated } => shown[definition as usize].push((root as u32, negated)),
            }
        }
        for source in (0..folded.sources).filter(|&source| !shown[source].is_empty()) {
            allocator.show_source(source as u32, &shown[source]);
        }
        for &definition in &order {
            let (function, a, b) = folded.gates[definition as usize - folded.sources];
            allocator.gate(definition, operations(function), a, b);
            allocator.show(definition, &shown[definition as usize]);
        }
        let (instructions, sources, slots) = allocator.finish();
        let code = instructions.into_iter().map(Instruction::code).collect();
        Tape { code, sources, constants, slots, gates: order.len() }
    }
}

/// The operation with `a` in the register, and the one with `b` there.
fn operations(function: Function) -> (Operation, Operation) {
    match function {
        Function::And => (Operation::And, Operation::And),
        Function::AndNot => (Operation::AndNot, Operation::NotAnd),
        Function::Or => (Operation::Or, Operation::Or),
        Function::Xor => (Operation::Xor, Operation::Xor),
    }
}

/// The gates that roots need, so that operands come before readers and one of them just before, if it
/// can be.
fn order(folded: &Folded) -> Vec<u32> {
    let first = folded.sources as u32;
    // How many values a gate's making keeps waiting, as if each were made for one reader only.
    let mut waiting = vec![0u32; folded.sources];
    for &(_, a, b) in &folded.gates {
        let (a, b) = (waiting[a as usize], waiting[b as usize]);
        waiting.push(if a == b { a + 1 } else { a.max(b) });
    }
    let mut done = vec![false; folded.sources + folded.gates.len()];
    let mut order = vec![];
    let mut open: Vec<u32> = vec![];
    for root in &folded.roots {
        if let Value::Of { definition, .. } = *root {
            open.push(definition);
        }
        while let Some(&definition) = open.last() {
            if definition < first || done[definition as usize] {
                open.pop();
                continue;
            }
            let (_, a, b) = folded.gates[(definition - first) as usize];
            let needed = |&operand: &u32| operand >= first && !done[operand as usize];
            // The one that needs more room goes first, so that less waits meanwhile.
            let next = [a, b].into_iter().filter(needed).max_by_key(|&operand| waiting[operand as usize]);
            match next {
                Some(operand) => open.push(operand),
                None => {
                    done[definition as usize] = true;
                    order.push(definition);
                    open.pop();
                }
            }
        }
    }
    order
}
