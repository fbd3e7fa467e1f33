//! The final test of the circuits that a search has found, if starts are random.
//!
//! Among a hundred thousand circuits tried on the same kind of starts, some are right by luck. So the best ones
//! are tested on many starts that no chain drew: the smallest that is right there is taken, or otherwise the
//! one with the fewest wrong bits. Start at [`choose`].

use super::bench::Batch;
use super::chain::{Champion, Ground};
use super::evaluator::{EarlyStop, Evaluator, Job};
use super::random::SplitMix;
use super::tape::Tape;

/// Batches of starts per exam.
const BATCHES: usize = 512;
/// Batches that are drawn at once.
const AT_ONCE: usize = 64;
/// Most circuits that are examined.
const FINALISTS: usize = 8;
/// The random stream of these starts.
const STREAM: u64 = u64::MAX - 2;

/// Of champions, sorted best first, the first that passes; otherwise the one with the fewest wrong bits at the
/// last step.
pub(super) fn choose(
    champions: Vec<Champion>,
    grounds: &[Ground],
    seed: u64,
    evaluator: &mut dyn Evaluator,
) -> Option<Champion> {
    let mut best: Option<(u64, Champion)> = None;
    for champion in champions.into_iter().take(FINALISTS) {
        let most = best.as_ref().map_or(u64::MAX, |(wrong, _)| *wrong);
        let wrong = examine(&champion, &grounds[champion.from], seed, most, evaluator);
        if wrong < most || best.is_none() {
            best = Some((wrong, champion));
        }
        if wrong == 0 {
            break;
        }
    }
    best.map(|(_, champion)| champion)
}

/// Wrong bits at the last step; counting stops above `most`.
fn examine(champion: &Champion, ground: &Ground, seed: u64, most: u64, evaluator: &mut dyn Evaluator) -> u64 {
    let tape = Tape::of(&champion.cell, &ground.shape.visible);
    let mut stream = SplitMix::new(seed, STREAM);
    let mut wrong = 0;
    for _ in 0..BATCHES / AT_ONCE {
        let batches: Vec<Batch> = (0..AT_ONCE).map(|_| ground.bench.batch(&mut stream)).collect();
        let stop = EarlyStop::Last(most.saturating_sub(wrong));
        let job = Job { tape: &tape, shape: &ground.shape, batches: &batches, stop };
        let scores = evaluator.score(&[job]);
        wrong += scores.iter().flatten().map(|score| score.wrong.last).sum::<u64>();
        if wrong > most {
            break;
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::{Beginning, CellCircuit, ChainStart, Processor, RepairTask, StartingGrid, ground};
    use super::*;
    use crate::automaton::{Automaton, Edge};
    use crate::gate::Gate;
    use crate::netlist::{Netlist, Wire};

    #[test]
    fn luck_is_no_merit() {
        let mut keep = Netlist::new("keep");
        let inputs: Vec<Wire> = (0..9).map(|n| keep.input(format!("n{n}"))).collect();
        keep.output("c0", inputs[4]);
        let shell = Automaton { cell: keep, channels: 1, visible: vec![0], edge: Edge::Zero, fire_rate: 1.0 };
        let wanted = (0..16).map(|cell| cell / 4 % 2 == 0).collect();
        let (edge, origin) = (Edge::Zero, StartingGrid::Random);
        let task = RepairTask {
            width: 4,
            height: 4,
            steps: 6,
            edge,
            fire_rate: 1.0,
            origin,
            wanted,
            others: vec![],
        };
        // Every row differs from the one above it. The other cell keeps its state, and falsely claims to have
        // been right.
        let lucky = CellCircuit::plain(&shell);
        let mut right = lucky.clone();
        right.outputs[0] = right.gate(Gate::NOT_A, Wire(1), Wire(1));
        let start = ChainStart {
            origin: Beginning::Read,
            cell: lucky.clone(),
            shell: shell.clone(),
            proposals: vec![],
        };
        let grounds = [ground(&start, &task, 1)];
        let champion = |cell: &CellCircuit| Champion {
            cell: cell.clone(),
            wrong: 0,
            elsewhere: 0,
            gates: cell.gates.len(),
            from: 0,
        };
        let mut evaluator = Processor::new(&task, 1, 1);
        let mut choose = |champions: &[&CellCircuit]| {
            let champions = champions.iter().map(|cell| champion(cell)).collect();
            choose(champions, &grounds, 1, &mut evaluator).map(|champion| champion.cell)
        };
        assert_eq!(choose(&[&lucky, &right]), Some(right.clone()));
        assert_eq!(choose(&[&right, &lucky]), Some(right));
        assert_eq!(choose(&[&lucky, &lucky]), Some(lucky));
    }
}
