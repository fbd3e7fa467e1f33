//! A netlist as straight-line code over planes and slots: one instruction per gate, or one for two gates if
//! only the second reads the first.
//!
//! Slots are reused as soon as their value is dead, but an instruction never writes a slot that it reads. Start
//! at [`NetlistTape::new`].

use super::fold::{Folded, FoldedValue, Function};
use crate::netlist::{Netlist, Wire};

/// Where a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotPlace {
    /// An input or register, by its number in [`NetlistTape::sources`].
    Plane(u32),
    /// An intermediate value.
    Slot(u32),
}

/// What is done with the first gate's value `t` and a third operand `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// `t & c`.
    And,
    /// `t & !c`.
    AndNot,
    /// `!t & c`.
    NotAnd,
    /// `t | c`.
    Or,
    /// `t ^ c`.
    Xor,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    /// A gate.
    Gate { function: Function, operands: [SlotPlace; 2], out: u32 },
    /// Two gates in sequence.
    Pair { function: Function, then: Then, operands: [SlotPlace; 3], out: u32 },
    /// A root is ready: the value at `from`, negated if the flag is set.
    Show { root: u32, from: SlotPlace, negated: bool },
}

/// A compiled netlist.
#[derive(Clone, Debug)]
pub(super) struct NetlistTape {
    pub instructions: Vec<Instruction>,
    /// The inputs and registers that are read, by wire.
    pub sources: Vec<u32>,
    /// The roots that are constant.
    pub constants: Vec<(usize, bool)>,
    /// How many slots it needs.
    pub slots: usize,
    /// How many gates it computes.
    pub gates: usize,
}

impl NetlistTape {
    /// Compiles what is needed for the roots.
    pub(super) fn new(netlist: &Netlist, roots: &[Wire]) -> NetlistTape {
        let folded = Folded::new(netlist, roots);
        let order = order(&folded);
        let steps = pair(&folded, &order);
        let mut tape = TapeEmitter::new(&folded, &steps).emit(&steps);
        tape.gates = order.len();
        tape
    }
}

/// One instruction over definitions.
#[derive(Clone, Copy)]
struct TapeStep {
    function: Function,
    a: u32,
    b: u32,
    /// The second gate, if there is one, and its other operand.
    then: Option<(Then, u32)>,
    definition: u32,
}

impl TapeStep {
    fn operands(&self) -> impl Iterator<Item = u32> + use<> {
        [self.a, self.b].into_iter().chain(self.then.map(|(_, c)| c))
    }
}

/// Fuses gates with the gate just before them, if nobody else reads that one.
fn pair(folded: &Folded, order: &[u32]) -> Vec<TapeStep> {
    let mut readers = vec![0u32; folded.sources + folded.gates.len()];
    for root in &folded.roots {
        if let FoldedValue::Of { definition, .. } = *root {
            readers[definition as usize] += 2;
        }
    }
    for &definition in order {
        let (_, a, b) = folded.gates[definition as usize - folded.sources];
        readers[a as usize] += 1;
        readers[b as usize] += 1;
    }
    let mut steps: Vec<TapeStep> = Vec::with_capacity(order.len());
    for &definition in order {
        let (function, a, b) = folded.gates[definition as usize - folded.sources];
        let joins = |before: &&mut TapeStep| {
            let read = before.definition == a || before.definition == b;
            before.then.is_none() && read && readers[before.definition as usize] == 1
        };
        if let Some(before) = steps.last_mut().filter(joins) {
            let (first, other) = (before.definition == a, if before.definition == a { b } else { a });
            let then = match function {
                Function::And => Then::And,
                Function::AndNot if first => Then::AndNot,
                Function::AndNot => Then::NotAnd,
                Function::Or => Then::Or,
                Function::Xor => Then::Xor,
            };
            (before.then, before.definition) = (Some((then, other)), definition);
        } else {
            steps.push(TapeStep { function, a, b, then: None, definition });
        }
    }
    steps
}

const NEVER: u32 = u32::MAX;

/// Assigns slots to values.
struct TapeEmitter<'a> {
    folded: &'a Folded,
    tape: NetlistTape,
    places: Vec<SlotPlace>,
    /// For each definition the last step that reads it.
    last: Vec<u32>,
    /// The roots that have each definition's value.
    roots: Vec<Vec<(u32, bool)>>,
    free: Vec<u32>,
}

impl<'a> TapeEmitter<'a> {
    fn new(folded: &'a Folded, steps: &[TapeStep]) -> TapeEmitter<'a> {
        let definitions = folded.sources + folded.gates.len();
        let mut last = vec![NEVER; definitions];
        for (n, step) in steps.iter().enumerate() {
            step.operands().for_each(|read| last[read as usize] = n as u32);
        }
        let tape =
            NetlistTape { instructions: vec![], sources: vec![], constants: vec![], slots: 0, gates: 0 };
        let roots = vec![vec![]; definitions];
        TapeEmitter {
            folded,
            tape,
            places: vec![SlotPlace::Slot(NEVER); definitions],
            last,
            roots,
            free: vec![],
        }
    }

    fn emit(mut self, steps: &[TapeStep]) -> NetlistTape {
        for (root, value) in self.folded.roots.iter().enumerate() {
            match *value {
                FoldedValue::Constant(value) => self.tape.constants.push((root, value)),
                FoldedValue::Of { definition, negated } => {
                    self.roots[definition as usize].push((root as u32, negated))
                }
            }
        }
        for source in 0..self.folded.sources {
            if self.last[source] != NEVER || !self.roots[source].is_empty() {
                self.places[source] = SlotPlace::Plane(self.tape.sources.len() as u32);
                self.tape.sources.push(source as u32);
            }
            self.show(source);
        }
        for (n, step) in steps.iter().enumerate() {
            self.step(n as u32, step);
        }
        self.tape
    }

    fn step(&mut self, number: u32, step: &TapeStep) {
        let out = self.free.pop().unwrap_or_else(|| {
            self.tape.slots += 1;
            self.tape.slots as u32 - 1
        });
        let at = |definition: u32| self.places[definition as usize];
        let (function, a, b) = (step.function, at(step.a), at(step.b));
        self.tape.instructions.push(match step.then {
            None => Instruction::Gate { function, operands: [a, b], out },
            Some((then, c)) => Instruction::Pair { function, then, operands: [a, b, at(c)], out },
        });
        for dead in step.operands() {
            if let (SlotPlace::Slot(slot), true) =
                (self.places[dead as usize], self.last[dead as usize] == number)
            {
                self.free.push(slot);
                // A pair may read a value twice.
                self.last[dead as usize] = NEVER;
            }
        }
        self.places[step.definition as usize] = SlotPlace::Slot(out);
        self.show(step.definition as usize);
        if self.last[step.definition as usize] == NEVER {
            self.free.push(out);
        }
    }

    fn show(&mut self, definition: usize) {
        let from = self.places[definition];
        let shown =
            self.roots[definition].iter().map(|&(root, negated)| Instruction::Show { root, from, negated });
        self.tape.instructions.extend(shown);
    }
}

/// The gates that roots need, ordered so that operands come before readers, one of them just before if
/// possible.
fn order(folded: &Folded) -> Vec<u32> {
    let first = folded.sources as u32;
    // How many values are waiting while a gate is computed, as if each had only one reader.
    let mut waiting = vec![0u32; folded.sources];
    for &(_, a, b) in &folded.gates {
        let (a, b) = (waiting[a as usize], waiting[b as usize]);
        waiting.push(if a == b { a + 1 } else { a.max(b) });
    }
    let mut done = vec![false; folded.sources + folded.gates.len()];
    let mut order = vec![];
    let mut open: Vec<u32> = vec![];
    for root in &folded.roots {
        if let FoldedValue::Of { definition, .. } = *root {
            open.push(definition);
        }
        while let Some(&definition) = open.last() {
            if definition < first || done[definition as usize] {
                open.pop();
                continue;
            }
            let (_, a, b) = folded.gates[(definition - first) as usize];
            let needed = |&operand: &u32| operand >= first && !done[operand as usize];
            // The operand that needs more room goes first, so that less is waiting meanwhile.
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
