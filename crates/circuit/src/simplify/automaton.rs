//! Simplifying an automaton: its cell's netlist, and the channels that no visible channel depends on.
//!
//! Which channels matter is a fixed point over time: the visible ones, those that their next values read, those
//! that the next values of these read, and so on. All others are removed. The bits of the kept channels are the
//! same at every step from every start, or from the starts that the options promise. Start at
//! [`simplify_automaton`].

use std::time::Duration;

use super::clock::Deadline;
use super::start::{Merged, equal_channels, substituted};
use super::{Report, SimplifyOptions, SimplifyStage, cone, measure, simplify};
use crate::automaton::Automaton;
use crate::equivalence::{Equivalence, equivalent_automata};
use crate::error::Result;
use crate::netlist::{Netlist, Wire};

/// A smaller automaton, and how it was made.
#[derive(Clone, Debug)]
pub struct SimplifiedAutomaton {
    /// The automaton; its inputs and outputs keep their names.
    pub automaton: Automaton,
    /// Channel `n` of the result is channel `kept[n]` of the original.
    pub kept: Vec<usize>,
    /// Channels that were replaced by others; valid only from the start that the options name.
    pub merged: Vec<Merged>,
    /// What was done to the cell; its proof is that of the last round.
    pub report: Report,
    /// The result compared with the original, in which merged channels are merged, kept channel by kept
    /// channel.
    pub equivalence: Equivalence,
}

/// Makes an automaton smaller: channels that cannot influence a visible one are dropped, and the cell is
/// simplified, repeatedly while channels drop. If the options say how it [starts](super::Start), channels that
/// carry the same bit from there on are merged first.
pub fn simplify_automaton(automaton: &Automaton, options: &SimplifyOptions) -> Result<SimplifiedAutomaton> {
    automaton.check()?;
    let clock = Deadline::new(None);
    let leaders = equal_channels(automaton, options.start, options)?;
    let merges = |(channel, &with): (usize, &Option<usize>)| {
        (with != Some(channel)).then_some(Merged { channel, with })
    };
    let merged: Vec<Merged> = leaders.iter().enumerate().filter_map(merges).collect();
    let original = if merged.is_empty() { automaton.clone() } else { substituted(automaton, &leaders) };
    let first = original.cone_of_influence();
    let structural = original.restricted(&first);
    let (mut kept, mut smaller) = (first.clone(), structural.clone());
    let mut stages = vec![measure("original", &automaton.cell, &clock)];
    let mut out_of_time = false;
    let mut report = loop {
        let before = clock.elapsed();
        let simplified = simplify(&smaller.cell, options)?;
        stages.extend(simplified.report.stages.into_iter().map(|stage| in_round(stage, before)));
        out_of_time |= simplified.report.out_of_time;
        smaller.cell = simplified.netlist;
        let influential = smaller.cone_of_influence();
        if influential.len() == smaller.channels {
            break Report { stages, out_of_time, ..simplified.report };
        }
        kept = influential.iter().map(|&channel| kept[channel]).collect();
        smaller = smaller.restricted(&influential);
    };
    let mut equivalence = equivalent_automata(&original, &smaller, &kept, &options.proof())?;
    if !equivalence.is_proved() {
        // Each round was proved, but the whole was not, within the budget.
        (kept, smaller) = (first, structural);
        equivalence = equivalent_automata(&original, &smaller, &kept, &options.proof())?;
        report.stages.push(measure("cone of influence", &smaller.cell, &clock));
        report.unproved = smaller.cell.outputs.iter().map(|output| output.name.clone()).collect();
    }
    report.time = clock.elapsed();
    Ok(SimplifiedAutomaton { automaton: smaller, kept, merged, report, equivalence })
}

/// A stage of a round that began this long after the start.
fn in_round(stage: SimplifyStage, before: Duration) -> SimplifyStage {
    let pass = if stage.pass == "original" { "cone of influence" } else { stage.pass };
    SimplifyStage { pass, time: before + stage.time, ..stage }
}

impl Automaton {
    /// The channels that can influence a visible one, now or later, in ascending order: the fixed point of what
    /// the gates of next values read. Without visible channels all are kept.
    pub fn cone_of_influence(&self) -> Vec<usize> {
        if self.visible.is_empty() {
            return (0..self.channels).collect();
        }
        let mut kept = vec![false; self.channels];
        self.visible.iter().for_each(|&channel| kept[channel] = true);
        loop {
            let before = kept.iter().filter(|&&kept| kept).count();
            let outputs = self.cell.outputs.iter().zip(&kept).filter(|(_, kept)| **kept);
            let needed = self.cell.needed(outputs.map(|(output, _)| output.wire));
            for input in (0..self.cell.inputs.len()).filter(|&input| needed[input]) {
                kept[input % self.channels] = true;
            }
            if kept.iter().filter(|&&kept| kept).count() == before {
                return (0..self.channels).filter(|&channel| kept[channel]).collect();
            }
        }
    }

    /// The same with more channels, which keep their values and which nothing reads. Removes gates that nothing
    /// needs.
    pub(crate) fn extended(&self, more: usize) -> Automaton {
        let mut cell = Netlist::new(self.cell.name.clone());
        cell.meta = self.cell.meta.clone();
        let known =
            |number: &usize| self.cell.outputs.iter().any(|output| output.name == format!("c{number}"));
        let new: Vec<usize> = (self.channels..).filter(|number| !known(number)).take(more).collect();
        let mut place = vec![Wire::NONE; self.cell.inputs.len()];
        let mut own = vec![];
        for position in 0..9 {
            for channel in 0..self.channels {
                let input = position * self.channels + channel;
                place[input] = cell.input(self.cell.inputs[input].clone());
            }
            let inputs: Vec<Wire> =
                new.iter().map(|number| cell.input(format!("n{position}_{number}"))).collect();
            own = if position == 4 { inputs } else { own };
        }
        let roots: Vec<Wire> = self.cell.outputs.iter().map(|output| output.wire).collect();
        let wires = cone::copy(&self.cell, &roots, &place, &mut cell);
        let outputs = self.cell.outputs.iter().zip(wires);
        outputs.for_each(|(output, wire)| cell.output(output.name.clone(), wire));
        new.iter().zip(own).for_each(|(number, wire)| cell.output(format!("c{number}"), wire));
        Automaton { cell, channels: self.channels + more, ..self.clone() }
    }

    /// The automaton of some of the channels, which must not depend on others.
    pub(crate) fn restricted(&self, kept: &[usize]) -> Automaton {
        let mut cell = Netlist::new(self.cell.name.clone());
        cell.meta = self.cell.meta.clone();
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
