//! The last look at what a search has found, where starts are random.
//!
//! Whoever tries a hundred thousand circuits on the same kind of starts will find some that were lucky. So the best ones are
//! held to many starts that no chain drew: the smallest that is right there is taken, or else the one that is least wrong.
//! Start at [`choose`].

use super::bench::Batch;
use super::chain::{Champion, Ground};
use super::evaluator::{Evaluator, Job, Stop};
use super::random::Random;
use super::tape::Tape;

/// Batches of starts of an exam.
const BATCHES: usize = 512;
/// Batches that are drawn at once.
const AT_ONCE: usize = 64;
/// Circuits that are examined at most.
const FINALISTS: usize = 8;
/// The stream of these starts.
const STREAM: u64 = u64::MAX - 2;

/// Of champions, the best first, the first that passes; else the one with the fewest wrong bits at the last step.
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

/// Wrong bits at the last step; no more is known once they are more than `most`.
fn examine(champion: &Champion, ground: &Ground, seed: u64, most: u64, evaluator: &mut dyn Evaluator) -> u64 {
    let tape = Tape::of(&champion.cell, &ground.shape.visible);
    let mut stream = Random::new(seed, STREAM);
    let mut wrong = 0;
    for _ in 0..BATCHES / AT_ONCE {
        let batches: Vec<Batch> = (0..AT_ONCE).map(|_| ground.bench.batch(&mut stream)).collect();
        let stop = Stop::Last(most.saturating_sub(wrong));
        let job = Job { tape: &tape, shape: &ground.shape, batches: &batches, stop };
        let scores = evaluator.score(&[job]);
        wrong += scores.iter().flatten().map(|score| score.wrong.last).sum::<u64>();
        if wrong > most {
            break;
        }
    }
    wrong
}
