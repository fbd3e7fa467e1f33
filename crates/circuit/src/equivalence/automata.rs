//! Comparing automata: cell with cell, where one may have fewer channels.

use super::{Budget, Equivalence, equivalent};
use crate::automaton::Automaton;
use crate::error::{Error, Result};
use crate::netlist::{Netlist, Wire};

/// Compares a smaller automaton with the one that it was made from. Its channel `n` is channel `kept[n]` of the
/// original; there is one verdict per kept channel.
///
/// If all are proved, the kept channels have the same bits at every step from every start. Each of their next
/// values is then the same function of the kept channels, whatever the dropped ones hold. That is why the
/// visible channels must be among the kept ones.
pub fn equivalent_automata(
    original: &Automaton,
    smaller: &Automaton,
    kept: &[usize],
    budget: &Budget,
) -> Result<Equivalence> {
    original.check()?;
    smaller.check()?;
    let different =
        |what: &'static str, left: String, right: String| Err(Error::Incomparable { what, left, right });
    if kept.len() != smaller.channels || kept.iter().any(|&channel| channel >= original.channels) {
        return different("kept channels", format!("{kept:?}"), smaller.channels.to_string());
    }
    let shown: Vec<usize> = smaller.visible.iter().map(|&channel| kept[channel]).collect();
    if shown != original.visible {
        return different("visible channels", format!("{:?}", original.visible), format!("{shown:?}"));
    }
    if (original.edge, original.fire_rate) != (smaller.edge, smaller.fire_rate) {
        let show = |automaton: &Automaton| format!("{:?}, fire rate {}", automaton.edge, automaton.fire_rate);
        return different("edges and fire rates", show(original), show(smaller));
    }
    let mut reference = original.cell.clone();
    reference.outputs = kept.iter().map(|&channel| original.cell.outputs[channel].clone()).collect();
    equivalent(&reference, &widened(original, smaller, kept), budget)
}

/// The smaller cell over the inputs of the original.
fn widened(original: &Automaton, smaller: &Automaton, kept: &[usize]) -> Netlist {
    let mut netlist = Netlist::new(smaller.cell.name.clone());
    netlist.inputs = original.cell.inputs.clone();
    let sources = smaller.cell.sources();
    let place = |wire: Wire| match wire.index() {
        index if wire == Wire::NONE || index >= sources + smaller.cell.gates.len() => Wire::NONE,
        index if index >= sources => Wire((index - sources + original.cell.sources()) as u32),
        index => {
            let (position, channel) = (index / smaller.channels, index % smaller.channels);
            Wire((position * original.channels + kept[channel]) as u32)
        }
    };
    netlist.gates.extend(smaller.cell.gates.iter().map(|node| crate::netlist::GateNode {
        gate: node.gate,
        a: place(node.a),
        b: place(node.b),
    }));
    for output in &smaller.cell.outputs {
        netlist.output(output.name.clone(), place(output.wire));
    }
    netlist
}
