//! Which value is in which register, and what goes to memory meanwhile.
//!
//! A value leaves its register only for one that is needed sooner; then it is kept in a slot, once.
//! Start at [`Allocator::gate`].

use super::fold::Folded;
use super::tape::{Instruction, Operation, Place, REGISTERS};

const NONE: u32 = u32::MAX;

/// Writes instructions gate by gate.
pub(super) struct Allocator {
    instructions: Vec<Instruction>,
    sources: Vec<u32>,
    slots: usize,
    free: Vec<u32>,
    /// The plane of a source or the slot of a gate, once it has one.
    memory: Vec<u32>,
    /// What the registers hold.
    held: [u32; REGISTERS],
    /// How many definitions are sources.
    first: usize,
    /// Positions at which gates read each definition: those of `d` are `reads[starts[d]..starts[d + 1]]`.
    reads: Vec<u32>,
    starts: Vec<u32>,
    /// The next of them for each definition.
    next: Vec<u32>,
}

impl Allocator {
    /// For gates that will come in this order.
    pub(super) fn new(folded: &Folded, order: &[u32]) -> Allocator {
        let definitions = folded.sources + folded.gates.len();
        let operands = |&definition: &u32| {
            let (_, a, b) = folded.gates[definition as usize - folded.sources];
            [a as usize, b as usize]
        };
        let mut starts = vec![0; definitions + 1];
        order.iter().flat_map(operands).for_each(|read| starts[read + 1] += 1);
        for n in 0..definitions {
            starts[n + 1] += starts[n];
        }
        let mut reads = vec![0; 2 * order.len()];
        let mut next = starts.clone();
        for (position, definition) in order.iter().enumerate() {
            for read in operands(definition) {
                reads[next[read] as usize] = position as u32;
                next[read] += 1;
            }
        }
        let next = starts[..definitions].to_vec();
        let memory = vec![NONE; definitions];
        let (first, held) = (folded.sources, [NONE; REGISTERS]);
        Allocator {
            instructions: vec![],
            sources: vec![],
            slots: 0,
            free: vec![],
            memory,
            held,
            first,
            reads,
            starts,
            next,
        }
    }

    /// The instructions, the sources they read and how many slots they need.
    pub(super) fn finish(self) -> (Vec<Instruction>, Vec<u32>, usize) {
        (self.instructions, self.sources, self.slots)
    }

    /// Makes a gate; `operations` are for `a` in the register and for `b` there.
    pub(super) fn gate(&mut self, definition: u32, operations: (Operation, Operation), a: u32, b: u32) {
        for read in [a, b] {
            self.next[read as usize] += 1;
        }
        // An operand in a register that nobody reads again makes room for the result.
        let dying = |value: u32| self.register(value).filter(|_| self.next_read(value).is_none());
        let (to, operation, operand) = match (dying(a), dying(b)) {
            (Some(to), _) => (to, operations.0, b),
            (None, Some(to)) => (to, operations.1, a),
            (None, None) => {
                // What is in a register is copied for nothing.
                let (start, operation, operand) = match self.register(a) {
                    None if self.register(b).is_some() => (b, operations.1, a),
                    _ => (a, operations.0, b),
                };
                let to = self.make_room(a, b);
                self.compute(Operation::Load, to, start);
                (to, operation, operand)
            }
        };
        self.compute(operation, to, operand);
        for read in [a, b] {
            if self.next_read(read).is_none() {
                self.release(read);
            }
        }
        self.held[to] = definition;
    }

    /// Shows the value made last at these roots.
    pub(super) fn show(&mut self, definition: u32, roots: &[(u32, bool)]) {
        let from = self.register(definition).expect("just made") as u8;
        self.instructions.extend(roots.iter().map(|&(root, negated)| Instruction::Show {
            from,
            root,
            negated,
        }));
        if self.next_read(definition).is_none() {
            self.release(definition);
        }
    }

    /// Shows a source at these roots; comes before all gates.
    pub(super) fn show_source(&mut self, source: u32, roots: &[(u32, bool)]) {
        self.compute(Operation::Load, 0, source);
        self.instructions.extend(roots.iter().map(|&(root, negated)| Instruction::Show {
            from: 0,
            root,
            negated,
        }));
    }

    fn compute(&mut self, operation: Operation, to: usize, operand: u32) {
        let operand = match self.register(operand) {
            Some(register) => Place::Register(register as u8),
            None if (operand as usize) < self.first => Place::Plane(self.plane(operand)),
            None => Place::Slot(self.memory[operand as usize]),
        };
        self.instructions.push(Instruction::Compute { operation, to: to as u8, operand });
    }

    fn plane(&mut self, source: u32) -> u32 {
        let plane = &mut self.memory[source as usize];
        if *plane == NONE {
            *plane = self.sources.len() as u32;
            self.sources.push(source);
        }
        *plane
    }

    fn register(&self, value: u32) -> Option<usize> {
        self.held.iter().position(|&held| held == value)
    }

    fn next_read(&self, value: u32) -> Option<u32> {
        let next = self.next[value as usize];
        (next < self.starts[value as usize + 1]).then(|| self.reads[next as usize])
    }

    /// Forgets a dead value.
    fn release(&mut self, value: u32) {
        if let Some(register) = self.register(value) {
            self.held[register] = NONE;
        }
        let memory = &mut self.memory[value as usize];
        if value as usize >= self.first && *memory != NONE {
            self.free.push(*memory);
            *memory = NONE;
        }
    }

    /// A register that is free or is made so; not one of the two that hold operands.
    fn make_room(&mut self, a: u32, b: u32) -> usize {
        let usable = |&register: &usize| ![a, b].contains(&self.held[register]);
        let free_until = |register: &usize| match self.held[*register] {
            NONE => u32::MAX,
            value => self.next_read(value).expect("dead values are released"),
        };
        let register =
            (0..REGISTERS).filter(usable).max_by_key(free_until).expect("more registers than operands");
        let value = self.held[register];
        if value != NONE && self.memory[value as usize] == NONE {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.slots += 1;
                self.slots as u32 - 1
            });
            self.memory[value as usize] = slot;
            self.instructions.push(Instruction::Keep { from: register as u8, slot });
        }
        self.held[register] = NONE;
        register
    }
}
