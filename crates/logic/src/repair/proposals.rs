//! Changes of the gates that training was least sure about: what a search tries first.

use farad::Device;
use farad::run::Run;
use farad_circuit::Gate;
use farad_circuit::repair::Proposal;

use crate::automaton::Topology;
use crate::error::Result;
use crate::soft_gates::GateKind;
use crate::train::{LearnedAutomata, LearnedCircuit};

/// Most gates that are proposed for a change.
const PROPOSED: usize = 512;

/// For each seed, changes of its learned gates, from the logits of its checkpoint.
pub(super) fn learned(run: &Run, learned: &LearnedAutomata) -> Result<Vec<Vec<Proposal>>> {
    let (topology, settings) = (&learned.configuration.recipe.topology, &learned.configuration.settings);
    let seeds = learned.circuits.len();
    let width = match settings.gates {
        GateKind::Sixteen => 16,
        GateKind::Four => 4,
    };
    let Some(checkpoint) = run.checkpoint()? else { return Ok(vec![vec![]; seeds]) };
    let shape = [seeds, topology.gates(), width];
    let logits = checkpoint.tensor("logits", shape, &Device::cpu())?.to_vec::<f32>()?;
    let of_seed =
        |(circuit, logits): (&LearnedCircuit, &[f32])| unsure(topology, &circuit.gates, logits, width);
    Ok(learned.circuits.iter().zip(logits.chunks_exact(width * topology.gates())).map(of_seed).collect())
}

/// What the gates of a topology nearly became, the least sure first, from their `width` logits each.
pub(super) fn unsure(topology: &Topology, gates: &[Gate], logits: &[f32], width: usize) -> Vec<Proposal> {
    let gates = gates.iter().zip(logits.chunks_exact(width)).enumerate();
    let mut unsure: Vec<(f32, usize, Gate)> = gates
        .map(|(place, (&gate, logits))| {
            let (margin, other) = second_best(gate, logits);
            (margin, place, other)
        })
        .collect();
    unsure.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let proposal = |&(_, place, gate): &(f32, usize, Gate)| Proposal { gates: places(topology, place), gate };
    unsure.iter().take(PROPOSED).map(proposal).collect()
}

/// The second-best function of a gate, and by how much it lost.
pub(crate) fn second_best(gate: Gate, logits: &[f32]) -> (f32, Gate) {
    let number = gate.number() as usize;
    if logits.len() == 4 {
        // Each logit decides one bit of the truth table, the first one the highest.
        let (place, least) =
            (0..4).map(|n| (n, logits[n].abs())).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0));
        return (least, Gate::ALL[number ^ (8 >> place)]);
    }
    let others = (0..16).filter(|&other| other != number);
    let other = others.max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0);
    (logits[number] - logits[other], Gate::ALL[other])
}

/// The indices of a learned gate in the netlist of a cell: a kernel's gates occur once per channel.
fn places(topology: &Topology, gate: usize) -> Vec<usize> {
    let (own, channels) = (topology.perception_gates(), topology.channels);
    let perceived = topology.kernels * own;
    match gate.checked_sub(perceived) {
        Some(update) => vec![perceived * channels + update],
        None => {
            let (kernel, place) = (gate / own, gate % own);
            (0..channels).map(|channel| (kernel * channels + channel) * own + place).collect()
        }
    }
}
