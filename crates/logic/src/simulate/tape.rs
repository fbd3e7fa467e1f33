//! A netlist as instructions on numbered slots.
//!
//! Invariant: a slot is written before it is read, and an instruction reads its operands before it writes.
//! Slots are reused as soon as nobody needs their value, so that few are enough.

use farad_circuit::{Gate, Netlist, Wire};

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TapeInstruction {
    /// The value of a source: an input, or the present value of a register.
    Load { source: u32, target: u32 },
    /// A gate.
    Gate { gate: Gate, a: u32, b: u32, target: u32 },
    /// Stores a value to a sink: an output, or the next value of a register.
    Store { value: u32, sink: u32 },
}

/// All instructions of one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstructionTape {
    pub code: Vec<TapeInstruction>,
    /// At least 1.
    pub slots: usize,
}

impl InstructionTape {
    /// What a netlist's outputs and registers need. Sinks are outputs, then registers.
    pub fn new(netlist: &Netlist) -> InstructionTape {
        let mut build = TapeBuild::new(netlist);
        let sources = netlist.sources();
        for source in 0..sources {
            if !build.sinks[source].is_empty() {
                build.slot(Wire(source as u32));
                build.show(source);
            }
        }
        for (n, node) in netlist.gates.iter().enumerate() {
            let wire = sources + n;
            if !build.needed[wire] {
                continue;
            }
            let read: Vec<Wire> = node.operands().collect();
            let slots: Vec<u32> = read.iter().map(|&operand| build.slot(operand)).collect();
            read.iter().for_each(|operand| build.used(operand.index()));
            let target = build.allocate(wire);
            // An operand that the gate does not read can be any slot that exists.
            let any = slots.first().copied().unwrap_or(0);
            let mut slots = slots.into_iter();
            let a = if node.gate.reads_a() { slots.next().unwrap_or(any) } else { any };
            let b = if node.gate.reads_b() { slots.next().unwrap_or(any) } else { any };
            build.tape.code.push(TapeInstruction::Gate { gate: node.gate, a, b, target });
            build.show(wire);
        }
        build.tape
    }

    /// Gates on the tape.
    pub fn gates(&self) -> usize {
        self.code.iter().filter(|instruction| matches!(instruction, TapeInstruction::Gate { .. })).count()
    }

    /// Four words per instruction: the operation, two operands and the target. A gate's operation is the
    /// coefficients `c0`, `ca`, `cb`, `cab` of its polynomial over bits, in bits 0 to 3.
    pub fn words(&self) -> Vec<u32> {
        let word = |instruction: &TapeInstruction| match *instruction {
            TapeInstruction::Load { source, target } => [LOAD, source, 0, target],
            TapeInstruction::Gate { gate, a, b, target } => [polynomial(gate), a, b, target],
            TapeInstruction::Store { value, sink } => [STORE, value, 0, sink],
        };
        self.code.iter().flat_map(word).collect()
    }

    /// Runs it for several words at once. `load` returns the words of a source, `store` takes those of a sink.
    pub fn run<const N: usize>(
        &self,
        slots: &mut [[u32; N]],
        load: impl Fn(u32) -> [u32; N],
        mut store: impl FnMut(u32, [u32; N]),
    ) {
        for instruction in &self.code {
            match *instruction {
                TapeInstruction::Load { source, target } => slots[target as usize] = load(source),
                TapeInstruction::Gate { gate, a, b, target } => {
                    let (a, b) = (slots[a as usize], slots[b as usize]);
                    let masks = [0, 1, 2, 3].map(|bit| (polynomial(gate) >> bit & 1).wrapping_neg());
                    let [one, by_a, by_b, by_both] = masks;
                    slots[target as usize] = std::array::from_fn(|n| {
                        one ^ (by_a & a[n]) ^ (by_b & b[n]) ^ (by_both & a[n] & b[n])
                    });
                }
                TapeInstruction::Store { value, sink } => store(sink, slots[value as usize]),
            }
        }
    }
}

/// The code of a load in [`InstructionTape::words`].
const LOAD: u32 = 16;
/// The code of a store in [`InstructionTape::words`].
const STORE: u32 = 17;

/// The coefficients over bits are those over integers modulo 2.
fn polynomial(gate: Gate) -> u32 {
    gate.coefficients().iter().rev().fold(0, |bits, c| bits << 1 | u32::from(c % 2 != 0))
}

/// A tape under construction.
struct TapeBuild {
    tape: InstructionTape,
    /// Whether a wire leads to a sink.
    needed: Vec<bool>,
    /// How many gates have yet to read a wire.
    readers: Vec<u32>,
    /// The sinks of a wire.
    sinks: Vec<Vec<u32>>,
    /// The slot that holds a wire.
    places: Vec<Option<u32>>,
    free: Vec<u32>,
}

impl TapeBuild {
    fn new(netlist: &Netlist) -> TapeBuild {
        let wires = netlist.wires();
        let (needed, mut readers) = (netlist.live_wires(), vec![0; wires]);
        let mut sinks = vec![Vec::new(); wires];
        netlist.roots().enumerate().for_each(|(sink, wire)| sinks[wire.index()].push(sink as u32));
        let read = netlist.gates.iter().zip(&needed[netlist.sources()..]).filter(|(_, needed)| **needed);
        read.flat_map(|(node, _)| node.operands()).for_each(|operand| readers[operand.index()] += 1);
        let tape = InstructionTape { code: Vec::new(), slots: 1 };
        TapeBuild { tape, needed, readers, sinks, places: vec![None; wires], free: vec![0] }
    }

    /// The slot of a wire; one that has none yet is a source, and is loaded.
    fn slot(&mut self, wire: Wire) -> u32 {
        if let Some(slot) = self.places[wire.index()] {
            return slot;
        }
        let target = self.allocate(wire.index());
        self.tape.code.push(TapeInstruction::Load { source: wire.0, target });
        target
    }

    fn allocate(&mut self, wire: usize) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.tape.slots += 1;
            self.tape.slots as u32 - 1
        });
        self.places[wire] = Some(slot);
        slot
    }

    /// One reader less of a wire.
    fn used(&mut self, wire: usize) {
        self.readers[wire] -= 1;
        self.release(wire);
    }

    fn release(&mut self, wire: usize) {
        if self.readers[wire] == 0
            && let Some(slot) = self.places[wire].take()
        {
            self.free.push(slot);
        }
    }

    /// Stores a wire that has just been computed to its sinks.
    fn show(&mut self, wire: usize) {
        let value = self.places[wire].expect("it has just got a slot");
        let stores = self.sinks[wire].iter().map(|&sink| TapeInstruction::Store { value, sink });
        self.tape.code.extend(stores);
        self.release(wire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_the_gates() {
        for gate in Gate::ALL {
            for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
                let c = [0, 1, 2, 3].map(|bit| polynomial(gate) >> bit & 1 == 1);
                assert_eq!(c[0] ^ (c[1] & a) ^ (c[2] & b) ^ (c[3] & a & b), gate.output(a, b), "{gate:?}");
            }
        }
    }

    #[test]
    fn slots_are_used_again_and_dead_gates_left_out() {
        let mut chain = Netlist::new("chain");
        let (mut wire, other) = (chain.input("a"), chain.input("b"));
        for _ in 0..100 {
            chain.gate(Gate::OR, wire, other);
            wire = chain.gate(Gate::XOR, wire, other);
        }
        chain.output("y", wire);
        let tape = InstructionTape::new(&chain);
        assert_eq!((tape.gates(), tape.slots), (100, 2));
    }

    #[test]
    fn constants_and_copies_of_inputs_are_shown() {
        let mut netlist = Netlist::new("odd");
        let a = netlist.input("a");
        let one = netlist.gate(Gate::TRUE, Wire::NONE, Wire::NONE);
        netlist.output("a", a);
        netlist.output("one", one);
        netlist.output("again", a);
        let tape = InstructionTape::new(&netlist);
        let mut shown = [0; 3];
        tape.run(&mut vec![[7]; tape.slots], |_| [5], |sink, [word]| shown[sink as usize] = word);
        assert_eq!(shown, [5, !0, 5]);
    }
}
