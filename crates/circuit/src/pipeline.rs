//! Registers between the levels of a circuit, for a higher clock rate.
//!
//! A stage is a number of consecutive levels of gates. Values that a later stage reads are held in registers,
//! one per stage, and outputs are registers too. Invariant: outputs are those of the circuit without registers,
//! a fixed number of clocks later. Start at [`Netlist::pipelined`].

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::netlist::{Netlist, Wire};

/// The metadata key for the latency of the outputs.
const LATENCY: &str = "latency";

impl Netlist {
    /// The same circuit with registers after every `levels` levels of gates. Its outputs follow their inputs
    /// after [`Netlist::latency`] clocks, and every clock may bring new inputs.
    ///
    /// ```
    /// use farad_circuit::{Gate, Netlist};
    /// let mut netlist = Netlist::new("all");
    /// let x: Vec<_> = (0..4).map(|n| netlist.input(format!("x{n}"))).collect();
    /// let (a, b) = (netlist.gate(Gate::AND, x[0], x[1]), netlist.gate(Gate::AND, x[2], x[3]));
    /// let both = netlist.gate(Gate::AND, a, b);
    /// netlist.output("y", both);
    /// let pipelined = netlist.pipelined(1)?;
    /// assert_eq!((pipelined.registers.len(), pipelined.latency()), (3, Some(2)));
    /// # Ok::<(), farad_circuit::Error>(())
    /// ```
    pub fn pipelined(&self, levels: usize) -> Result<Netlist> {
        self.check()?;
        if !self.registers.is_empty() {
            return Err(Error::Pipeline {
                what: "it already has registers",
                found: self.registers.len(),
                wanted: 0,
            });
        }
        if levels == 0 {
            return Err(Error::Pipeline { what: "a stage needs at least one level", found: 0, wanted: 1 });
        }
        Ok(PipelinePlan::of(self, levels).build())
    }

    /// How many clocks after their inputs the outputs of a [pipelined](Netlist::pipelined) netlist follow.
    pub fn latency(&self) -> Option<usize> {
        self.meta.get(LATENCY)?.as_u64().map(|latency| latency as usize)
    }
}

/// What is computed before anything is built.
struct PipelinePlan<'a> {
    netlist: &'a Netlist,
    /// For each wire the stage that computes it.
    made: Vec<usize>,
    /// For each wire the last stage that reads it.
    read: Vec<usize>,
    stages: usize,
}

impl<'a> PipelinePlan<'a> {
    fn of(netlist: &'a Netlist, levels: usize) -> PipelinePlan<'a> {
        let live = netlist.live_wires();
        let made: Vec<usize> =
            netlist.levels().into_iter().map(|level| (level as usize).saturating_sub(1) / levels).collect();
        let stages = netlist.roots().map(|wire| made[wire.index()] + 1).max().unwrap_or(1);
        let mut read = made.clone();
        for (n, node) in netlist.gates.iter().enumerate().filter(|(n, _)| live[netlist.sources() + n]) {
            let stage = made[netlist.sources() + n];
            node.operands().for_each(|wire| read[wire.index()] = read[wire.index()].max(stage));
        }
        // Outputs are read after the last stage.
        netlist.roots().for_each(|wire| read[wire.index()] = stages);
        for (wire, read) in read.iter_mut().enumerate() {
            // Constants are the same in every stage, and dead wires need no register.
            if !live[wire] || is_constant(netlist, Wire(wire as u32)) {
                *read = made[wire];
            }
        }
        PipelinePlan { netlist, made, read, stages }
    }

    fn build(&self) -> Netlist {
        let (netlist, live) = (self.netlist, self.netlist.live_wires());
        let mut built = Netlist::new(netlist.name.clone());
        built.meta = netlist.clone().without_parts().meta;
        built.meta.insert(LATENCY.into(), self.stages.into());
        for name in &netlist.inputs {
            built.input(name.clone());
        }
        // Every wire in every stage that may read it; those of gates in their own stage are filled in below.
        let mut places: HashMap<(Wire, usize), Wire> =
            (0..netlist.inputs.len() as u32).map(|n| ((Wire(n), 0), Wire(n))).collect();
        let mut waiting = vec![];
        for wire in (0..netlist.wires() as u32).map(Wire) {
            for stage in self.made[wire.index()] + 1..=self.read[wire.index()] {
                let held = built.register(format!("p{stage}_{}", wire.0), false);
                places.insert((wire, stage), held);
                waiting.push((wire, stage));
            }
        }
        for (n, node) in netlist.gates.iter().enumerate().filter(|(n, _)| live[netlist.sources() + n]) {
            let (wire, stage) = (netlist.wire_of(n), self.made[netlist.sources() + n]);
            let at = |wire: Wire| self.place(&places, wire, stage);
            let a = if node.gate.reads_a() { at(node.a) } else { Wire::NONE };
            let b = if node.gate.reads_b() { at(node.b) } else { Wire::NONE };
            let made = built.gate(node.gate, a, b);
            places.insert((wire, stage), made);
        }
        for (register, &(wire, stage)) in waiting.iter().enumerate() {
            built.set_next(register, places[&(wire, stage - 1)]);
        }
        for output in &netlist.outputs {
            built.output(output.name.clone(), self.place(&places, output.wire, self.stages));
        }
        built
    }

    fn place(&self, places: &HashMap<(Wire, usize), Wire>, wire: Wire, stage: usize) -> Wire {
        let stage = if is_constant(self.netlist, wire) { self.made[wire.index()] } else { stage };
        places[&(wire, stage)]
    }
}

fn is_constant(netlist: &Netlist, wire: Wire) -> bool {
    let gate = wire.index().checked_sub(netlist.sources()).map(|n| netlist.gates[n].gate);
    gate.is_some_and(|gate| gate == Gate::FALSE || gate == Gate::TRUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulator;
    use crate::statistics::Statistics;

    #[test]
    fn outputs_are_the_same_some_clocks_later() {
        for (seed, levels) in [(1, 1), (2, 2), (3, 3), (4, 5), (5, 100)] {
            let netlist = Netlist::random(seed, 8, 120, 5);
            let pipelined = netlist.pipelined(levels).unwrap();
            pipelined.check().unwrap();
            let latency = pipelined.latency().unwrap();
            assert!(Statistics::of(&pipelined).depth <= levels);
            assert_eq!(latency, Statistics::of(&netlist).depth.div_ceil(levels).max(1));
            let (plain, clocked) = (Simulator::new(&netlist).unwrap(), Simulator::new(&pipelined).unwrap());
            let mut state = clocked.start(1);
            let inputs = |clock: u64| -> Vec<[u64; 1]> {
                (0..8).map(|n| [(clock * 8 + n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)]).collect()
            };
            for clock in 0..40u64 {
                let now = inputs(clock);
                let made = clocked.step(&mut state, &now.iter().map(|word| &word[..]).collect::<Vec<_>>());
                if let Some(before) = clock.checked_sub(latency as u64) {
                    let before = inputs(before);
                    let wanted = plain.run(&before.iter().map(|word| &word[..]).collect::<Vec<_>>());
                    assert_eq!(made, wanted, "seed {seed}, clock {clock}");
                }
            }
        }
    }

    #[test]
    fn registers_and_no_levels_are_refused() {
        let sequential = Netlist::random_with_registers(1, 3, 2, 20, 2);
        let text = sequential.pipelined(2).unwrap_err().to_string();
        assert_eq!(text, "pipeline: it already has registers (2 vs 0)");
        assert!(Netlist::random(1, 3, 20, 2).pipelined(0).is_err());
    }
}
