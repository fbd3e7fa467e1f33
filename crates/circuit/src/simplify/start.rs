//! Finds channels that always carry the same bit, given how an automaton starts.
//!
//! Proved by induction over time: assume that the channels of each class agree in every cell, and show that
//! their next values agree too. Where they do not, the class is split, until all hold. Zero cells beyond the
//! edge and cells that do not fire satisfy this as well. Start at [`equal_channels`].

use super::{SimplifyOptions, cone};
use crate::automaton::Automaton;
use crate::equivalence::equivalent;
use crate::error::Result;
use crate::gate::Gate;
use crate::graph::{LogicGraph, QuickMap, Signal, Simulation, SweepEffort};
use crate::netlist::{Netlist, Wire};

/// What is known about the initial states of an automaton.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Nothing: the result is right from every state.
    #[default]
    Any,
    /// In each cell all channels are equal, as when one cell is all ones and the others zero.
    EqualChannels,
    /// Everything is zero.
    Zero,
}

/// A channel that is replaced by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The channel.
    pub channel: usize,
    /// The channel that always has the same bit; `None` if the bit is always zero.
    pub with: Option<usize>,
}

/// For each channel the first one that always carries the same bit from such a start; `None` if that bit is
/// zero.
pub(super) fn equal_channels(
    automaton: &Automaton,
    start: Start,
    options: &SimplifyOptions,
) -> Result<Vec<Option<usize>>> {
    let channels = automaton.channels;
    let mut leaders: Vec<Option<usize>> = match start {
        Start::Any => return Ok((0..channels).map(Some).collect()),
        Start::EqualChannels => vec![Some(0); channels],
        Start::Zero => vec![None; channels],
    };
    loop {
        let next = next_values(automaton, &leaders, options);
        let mut first: QuickMap<(usize, Signal), usize> = QuickMap::default();
        let split = |channel: usize| match leaders[channel] {
            None if next[channel] == Signal::FALSE => None,
            leader => {
                let class = leader.unwrap_or(channels);
                Some(*first.entry((class, next[channel])).or_insert(channel))
            }
        };
        let refined: Vec<Option<usize>> = (0..channels).map(split).collect();
        if refined == leaders {
            break;
        }
        leaders = refined;
    }
    // The solver's merges are not trusted: the induction step is compared as a whole.
    let stepped = substituted(automaton, &leaders).cell;
    let mut claimed = stepped.clone();
    let never = claimed.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
    for (channel, leader) in leaders.iter().enumerate() {
        claimed.outputs[channel].wire = leader.map_or(never, |leader| stepped.outputs[leader].wire);
    }
    match equivalent(&stepped, &claimed, &options.proof())?.is_proved() {
        true => Ok(leaders),
        false => Ok((0..channels).map(Some).collect()),
    }
}

/// The next value of each channel if channels are replaced by their leaders; equal ones are the same signal.
fn next_values(automaton: &Automaton, leaders: &[Option<usize>], options: &SimplifyOptions) -> Vec<Signal> {
    let mut graph = LogicGraph::of(&substituted(automaton, leaders).cell);
    let effort = SweepEffort { conflicts: options.conflicts, refutations: 2_000, deadline: None };
    let progress = &options.progress;
    (graph, _) = graph.swept(Simulation::sources(&graph), effort, progress);
    graph.roots().to_vec()
}

/// The automaton in which every gate reads leaders.
pub(super) fn substituted(automaton: &Automaton, leaders: &[Option<usize>]) -> Automaton {
    let mut cell = Netlist::new(automaton.cell.name.clone());
    cell.meta = automaton.cell.meta.clone();
    cell.inputs = automaton.cell.inputs.clone();
    let never = cell.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
    let place = |input: usize| match leaders[input % automaton.channels] {
        Some(leader) => Wire((input - input % automaton.channels + leader) as u32),
        None => never,
    };
    let places: Vec<Wire> = (0..automaton.cell.inputs.len()).map(place).collect();
    let roots: Vec<Wire> = automaton.cell.outputs.iter().map(|output| output.wire).collect();
    let wires = cone::copy(&automaton.cell, &roots, &places, &mut cell);
    automaton
        .cell
        .outputs
        .iter()
        .zip(wires)
        .for_each(|(output, wire)| cell.output(output.name.clone(), wire));
    Automaton { cell, ..automaton.clone() }
}
