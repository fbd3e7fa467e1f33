//! Simplifying an automaton: the cell's netlist, and the channels that nothing visible depends on.
//!
//! Which channels matter is a fixed point over time: the visible ones, what their next values read, what the next values of
//! those read, and so on. Everything else goes. The bits of the kept channels are the same at every
//! step from every start. Start at [`simplify_automaton`].

use super::{Options, Report, cone, simplify};
use crate::automaton::Automaton;
use crate::equivalence::{Equivalence, equivalent_automata};
use crate::error::Result;
use crate::netlist::{Netlist, Wire};

/// A smaller automaton, and how it came about.
#[derive(Clone, Debug)]
pub struct SimplifiedAutomaton {
    /// The automaton; its inputs and outputs keep the names that they had.
    pub automaton: Automaton,
    /// Channel `n` of the result is channel `kept[n]` of the original.
    pub kept: Vec<usize>,
    /// What was done to the cell, the last time that it was simplified.
    pub report: Report,
    /// The result compared with the original, kept channel by kept channel.
    pub equivalence: Equivalence,
}

/// Makes an automaton smaller: channels that cannot influence a visible one are dropped, the cell is
/// simplified, and both again while channels drop.
pub fn simplify_automaton(automaton: &Automaton, options: &Options) -> Result<SimplifiedAutomaton> {
    automaton.check()?;
    let mut kept = automaton.cone_of_influence();
    let structural = automaton.restricted(&kept);
    let simplified = simplify(&structural.cell, options)?;
    let before = simplified.report.gates_before();
    let (mut smaller, mut report) =
        (Automaton { cell: simplified.netlist, ..structural.clone() }, simplified.report);
    loop {
        let influential = smaller.cone_of_influence();
        if influential.len() == smaller.channels {
            break;
        }
        kept = influential.iter().map(|&channel| kept[channel]).collect();
        smaller = smaller.restricted(&influential);
        let simplified = simplify(&smaller.cell, options)?;
        (smaller.cell, report) = (simplified.netlist, simplified.report);
    }
    let mut equivalence = equivalent_automata(automaton, &smaller, &kept, &options.proof)?;
    if !equivalence.is_proved() {
        // Each round was proved, but all of them together were not within the budget.
        kept = automaton.cone_of_influence();
        smaller = structural;
        equivalence = equivalent_automata(automaton, &smaller, &kept, &options.proof)?;
    }
    tracing::debug!(before, after = report.gates_after(), channels = kept.len(), "simplify automaton");
    Ok(SimplifiedAutomaton { automaton: smaller, kept, report, equivalence })
}

impl Automaton {
    /// The channels that can influence a visible one, now or later, in ascending order: those that the gates
    /// of the next values read, taken together until no more come. Without visible channels all are kept.
    pub fn cone_of_influence(&self) -> Vec<usize> {
        if self.visible.is_empty() {
            return (0..self.channels).collect();
        }
        let mut kept = vec![false; self.channels];
        self.visible.iter().for_each(|&channel| kept[channel] = true);
        loop {
            let before = kept.iter().filter(|&&kept| kept).count();
            let outputs = self.cell.outputs.iter().zip(&kept).filter(|(_, kept)| **kept);
            let roots: Vec<Wire> = outputs.map(|(output, _)| output.wire).collect();
            let needed = cone::needed(&self.cell, &roots);
            for input in (0..self.cell.inputs.len()).filter(|&input| needed[input]) {
                kept[input % self.channels] = true;
            }
            if kept.iter().filter(|&&kept| kept).count() == before {
                return (0..self.channels).filter(|&channel| kept[channel]).collect();
            }
        }
    }

    /// The automaton of some of the channels. They must not depend on others.
    fn restricted(&self, kept: &[usize]) -> Automaton {
        let mut cell = Netlist::new(self.cell.name.clone());
        let mut place = vec![Wire::NONE; self.cell.inputs.len()];
        for position in 0..9 {
            for &channel in kept {
                let input = position * self.channels + channel;
                place[input] = cell.input(self.cell.inputs[input].clone());
            }
        }
        let outputs: Vec<_> = kept.iter().map(|&channel| &self.cell.outputs[channel]).collect();
        let roots: Vec<Wire> = outputs.iter().map(|output| output.wire).collect();
        let wires = cone::copy(&self.cell, &roots, &place, &mut cell);
        outputs.into_iter().zip(wires).for_each(|(output, wire)| cell.output(output.name.clone(), wire));
        let place = |channel: &usize| kept.binary_search(channel).expect("visible channels are kept");
        Automaton {
            cell,
            channels: kept.len(),
            visible: self.visible.iter().map(place).collect(),
            ..self.clone()
        }
    }
}
