//! A search that several processes make together: each advances its own crews, and all know how the others stand.
//!
//! Invariant: after [`mirrored`] the champions, the counts of candidates and the costs of all chains are the same everywhere. So all
//! decide alike, and a search that time does not cut finds what one process finds.

use serde::{Deserialize, Serialize};

use super::cell::CellCircuit;
use super::chain::{Champion, Crew, SearchChain};
use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::netlist::{GateNode, Wire};

/// The processes that search together, as one of them sees it. All of them make the same calls.
pub trait SearchPeers: Sync {
    /// Which one this is, of how many.
    fn place(&self) -> (usize, usize);

    /// Everybody's text, in order.
    fn texts(&self, mine: &str)
    -> std::result::Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>>;
}

/// Whether this process advances a crew.
pub(super) fn is_own(peers: Option<&dyn SearchPeers>, crew: usize) -> bool {
    peers.is_none_or(|peers| {
        let (own, count) = peers.place();
        crew % count == own
    })
}

/// How a chain stands.
#[derive(Serialize, Deserialize)]
struct ChainState {
    /// Channels, gates with their operands, and outputs of the champion.
    channels: usize,
    nodes: Vec<(u8, u32, u32)>,
    outputs: Vec<u32>,
    /// Of the champion: wrong bits, those elsewhere, gates, and where it comes from.
    rank: (u64, u64, usize),
    from: usize,
    tried: u64,
    gates: usize,
}

impl ChainState {
    fn of(chain: &SearchChain) -> ChainState {
        let Champion { cell, wrong, elsewhere, gates, from } = &chain.champion;
        let node = |node: &GateNode| (node.gate.number(), node.a.0, node.b.0);
        ChainState {
            channels: cell.channels,
            nodes: cell.gates.iter().map(node).collect(),
            outputs: cell.outputs.iter().map(|wire| wire.0).collect(),
            rank: (*wrong, *elsewhere, *gates),
            from: *from,
            tried: chain.tried,
            gates: chain.gates,
        }
    }

    fn show(self, chain: &mut SearchChain) {
        let ChainState { channels, nodes, outputs, rank: (wrong, elsewhere, gates), from, .. } = self;
        let node = |(gate, a, b)| GateNode { gate: Gate::ALL[usize::from(gate)], a: Wire(a), b: Wire(b) };
        let gates_of_cell = nodes.into_iter().map(node).collect();
        let outputs = outputs.into_iter().map(Wire).collect();
        let cell = CellCircuit { channels, gates: gates_of_cell, outputs };
        chain.champion = Champion { cell, wrong, elsewhere, gates, from };
        (chain.tried, chain.gates) = (self.tried, self.gates);
    }
}

/// What a process tells the others: whether its time is over, and its chains.
#[derive(Serialize, Deserialize)]
struct PeerState {
    is_over: bool,
    crews: Vec<(usize, Vec<ChainState>)>,
}

/// Shows how the chains of other processes stand, in the places of theirs; whether the time of one of them is over.
pub(super) fn mirrored(peers: Option<&dyn SearchPeers>, crews: &mut [Crew], is_over: bool) -> Result<bool> {
    let Some(peers) = peers else { return Ok(is_over) };
    let own = crews.iter().enumerate().filter(|(n, _)| is_own(Some(peers), *n));
    let own = own.map(|(n, crew)| (n, crew.chains.iter().map(ChainState::of).collect())).collect();
    let mine = serde_json::to_string(&PeerState { is_over, crews: own }).expect("numbers");
    let mut over = false;
    for (n, text) in peers.texts(&mine).map_err(|source| Error::Peers { source })?.iter().enumerate() {
        let state: PeerState =
            serde_json::from_str(text).map_err(|source| Error::Peers { source: source.into() })?;
        over |= state.is_over;
        if n == peers.place().0 {
            continue;
        }
        for (crew, states) in state.crews {
            let chains = crews.get_mut(crew).map(|crew| &mut crew.chains).into_iter().flatten();
            states.into_iter().zip(chains).for_each(|(state, chain)| state.show(chain));
        }
    }
    Ok(over)
}
