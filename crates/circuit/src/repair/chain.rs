//! One chain of a search: a cell that is changed at random, and the best cell that it has found.
//!
//! First a chain *mends*: it accepts a changed cell if fewer bits are wrong or, by annealing, slightly more.
//! Once nothing is wrong it *shrinks*: it accepts a cell that has no more gates and is still right. If starts
//! are random, a few of them are tried first. A cell that is right on these is tried on thousands, and those on
//! which it fails join the few.
//!
//! A chain draws a block of candidates from its current cell, an [`Evaluator`] counts their wrong bits, and the
//! chain takes the first acceptable one; the others count as tried. A [`Crew`] is the chains that share an
//! evaluator.
//!
//! Invariant: [`SearchChain::champion`] is never replaced by something that is worse on the same starts. What a
//! chain does depends only on its seed, the number of calls and the largest block, not on the evaluator.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::bench::{Batch, Bench, Record};
use super::cell::CellCircuit;
use super::equal::merged;
use super::evaluator::{CandidateChannels, CandidateScore, EarlyStop, Evaluator, Job, Wrong};
use super::moves::{self, Proposal};
use super::random::SplitMix;
use super::tape::Tape;
use super::term::Terms;

/// The cost of a gate while bits are wrong, in wrong bits.
const GATE: f64 = 0.02;
/// Candidates per annealing epoch, from hot to cold.
const EPOCH: u64 = 10_000;
/// Candidates between two checks on all starts.
const PATIENCE: u64 = 150;
/// Batches of unseen starts, for a cell that is right on all others.
const SURPRISES: usize = 128;
/// The random stream of these starts.
const SURPRISE_STREAM: u64 = u64::MAX - 1;
/// The cost of a candidate besides its gates, in gates.
const OVERHEAD: u64 = 24;
/// How many gates a shrinking cell may have more than the best.
const SLACK: usize = 2;

/// The best cell that a chain has found.
#[derive(Clone, Debug)]
pub(super) struct Champion {
    pub(super) cell: CellCircuit,
    /// Wrong bits on all checked starts.
    pub(super) wrong: u64,
    /// Wrong bits on other grids; counted once nothing else is wrong.
    pub(super) elsewhere: u64,
    pub(super) gates: usize,
    /// Which of the initial circuits it comes from.
    pub(super) from: usize,
}

impl Champion {
    /// Fewer wrong bits are better, then fewer gates.
    pub(super) fn rank(&self) -> (u64, u64, usize) {
        (self.wrong, self.elsewhere, self.gates)
    }
}

/// What all chains that start from one circuit share.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) shape: CandidateChannels,
    pub(super) bench: Bench,
    /// The same, with room to record.
    pub(super) wide: Bench,
    /// Starts that decide whether a cell is right: many, or the only one.
    pub(super) check: Arc<Vec<Batch>>,
    /// Other grids, with their starts.
    pub(super) others: Vec<(Bench, Batch)>,
    pub(super) proposals: Arc<Vec<Proposal>>,
    pub(super) random: bool,
}

/// A candidate that waits for its score.
struct Candidate {
    cell: CellCircuit,
    tape: Tape,
    /// The energy up to which it is accepted; unused while shrinking.
    limit: f64,
}

/// A chain.
pub(super) struct SearchChain {
    ground: Ground,
    random: SplitMix,
    /// Starts that every candidate runs from.
    pool: Vec<Batch>,
    lane: usize,
    current: CellCircuit,
    /// The current cell as a tape, while something is wrong.
    ready: Tape,
    energy: f64,
    /// The cell with the lowest energy of this epoch.
    coldest: (f64, CellCircuit),
    /// Gates of the current cell.
    pub(super) gates: usize,
    /// What happens from a single start, for terms.
    record: Option<(Tape, Record)>,
    /// Candidates that wait for their scores.
    drafts: Vec<Candidate>,
    /// Candidates to draw next.
    block: u64,
    pub(super) champion: Champion,
    pub(super) tried: u64,
    epoch: u64,
    /// Candidates tried when a cell was last checked on all starts.
    challenged: u64,
}

/// Chains that share an evaluator, which scores the proposals of all of them at once.
pub(super) struct Crew {
    pub(super) chains: Vec<SearchChain>,
    pub(super) evaluator: Box<dyn Evaluator>,
}

impl Crew {
    /// The approximate cost of a candidate: gates plus a fixed overhead.
    pub(super) fn cost(&self) -> u64 {
        let gates = self.chains.iter().map(|chain| chain.gates).max().unwrap_or(0);
        gates as u64 + OVERHEAD
    }

    /// Makes each chain try this many candidates, unless time runs out.
    pub(super) fn advance(&mut self, candidates: u64, deadline: Option<Instant>) {
        let Crew { chains, evaluator } = self;
        let block = evaluator.block() as u64;
        let mut left = vec![candidates; chains.len()];
        for round in 0u64.. {
            if left.iter().all(|&left| left == 0) {
                return;
            }
            if round.is_multiple_of(32.max(block) / block) && deadline.is_some_and(|end| Instant::now() > end)
            {
                return;
            }
            chains.iter_mut().for_each(|chain| chain.prepare(&mut **evaluator));
            let propose =
                |(chain, left): (&mut SearchChain, &mut u64)| *left -= chain.propose((*left).min(block));
            match chains.len() {
                1 => chains.iter_mut().zip(&mut left).for_each(propose),
                _ => chains.par_iter_mut().zip(&mut left).for_each(propose),
            }
            let jobs: Vec<Job> = chains.iter().flat_map(SearchChain::jobs).collect();
            let mut scores = evaluator.score(&jobs).into_iter();
            for chain in chains.iter_mut() {
                let own: Vec<Vec<CandidateScore>> = scores.by_ref().take(chain.drafts.len()).collect();
                chain.decide(own, &mut **evaluator);
            }
        }
    }

    /// If there is one start, merges wires of all champions that always agree there.
    pub(super) fn merge(&mut self) {
        self.chains.iter_mut().for_each(|chain| chain.merge(&mut *self.evaluator));
    }
}

impl SearchChain {
    pub(super) fn new(
        ground: Ground,
        cell: CellCircuit,
        from: usize,
        (seed, number): (u64, u64),
        evaluator: &mut dyn Evaluator,
    ) -> SearchChain {
        let mut random = SplitMix::new(seed, number);
        let pool = ground.pool(&mut random);
        let champion =
            Champion { cell: cell.clone(), wrong: u64::MAX, elsewhere: u64::MAX, gates: usize::MAX, from };
        let mut chain = SearchChain {
            ground,
            random,
            pool,
            lane: 0,
            coldest: (f64::INFINITY, cell.clone()),
            current: cell,
            ready: Tape::default(),
            energy: f64::INFINITY,
            gates: usize::MAX,
            record: None,
            drafts: vec![],
            block: 1,
            champion,
            tried: 0,
            epoch: 0,
            challenged: 0,
        };
        chain.challenge(&chain.current.clone(), evaluator);
        chain.settle(evaluator);
        chain
    }

    /// Continues from another chain's champion.
    pub(super) fn adopt(&mut self, ground: &Ground, champion: &Champion, evaluator: &mut dyn Evaluator) {
        if self.champion.from != champion.from {
            self.ground = ground.clone();
            self.pool = self.ground.pool(&mut self.random);
        }
        self.champion = champion.clone();
        self.current = champion.cell.clone();
        self.settle(evaluator);
    }

    /// Ends an epoch if it is over.
    fn prepare(&mut self, evaluator: &mut dyn Evaluator) {
        let epoch = (self.tried + 1) / EPOCH;
        if self.champion.wrong > 0 && epoch != self.epoch {
            self.epoch = epoch;
            self.restart(evaluator);
        }
    }

    /// Draws the next block of at most `most` candidates; returns how many.
    fn propose(&mut self, most: u64) -> u64 {
        let count = self.block.min(most);
        for _ in 0..count {
            self.tried += 1;
            let draft = match self.champion.wrong {
                0 => self.smaller(),
                _ => self.better(),
            };
            self.drafts.extend(draft);
        }
        count
    }

    /// What to evaluate for each candidate of the block.
    fn jobs(&self) -> impl Iterator<Item = Job<'_>> {
        self.drafts.iter().map(|draft| Job {
            tape: &draft.tape,
            shape: &self.ground.shape,
            batches: &self.pool,
            stop: match self.champion.wrong {
                0 => EarlyStop::Total(0),
                _ => stop_above(draft.limit, &draft.tape),
            },
        })
    }

    /// Takes the first acceptable candidate of the block. The more were rejected, the larger the next block.
    fn decide(&mut self, scores: Vec<Vec<CandidateScore>>, evaluator: &mut dyn Evaluator) {
        let drafts = std::mem::take(&mut self.drafts);
        let most = evaluator.block() as u64;
        let mut next = 2 * self.block;
        for (n, (draft, scores)) in drafts.into_iter().zip(scores).enumerate() {
            let wrong = sum(&scores);
            let taken = match self.champion.wrong {
                0 => self.take_smaller(draft, wrong, evaluator),
                _ => self.take_better(draft, wrong, evaluator),
            };
            if taken {
                next = n as u64 + 1;
                break;
            }
        }
        self.block = next.clamp(1, most);
    }

    fn tape(&self, cell: &CellCircuit) -> Tape {
        Tape::of(cell, &self.ground.bench.visible)
    }

    /// Measures the current cell again, after it or the pool changed.
    fn settle(&mut self, evaluator: &mut dyn Evaluator) {
        let tape = self.tape(&self.current);
        self.gates = tape.gates;
        let (shape, batches) = (&self.ground.shape, &self.pool);
        let scores = score(evaluator, Job { tape: &tape, shape, batches, stop: EarlyStop::Never });
        self.energy = energy(&tape, sum(&scores));
        self.ready = tape;
        self.coldest = (self.energy, self.current.clone());
        self.record = None;
    }

    /// Runs a cell from all checked starts. It becomes the champion if it is better; starts on which it fails
    /// join the pool.
    fn challenge(&mut self, cell: &CellCircuit, evaluator: &mut dyn Evaluator) -> bool {
        let tape = self.tape(cell);
        let (mut wrong, mut failing) = (0, vec![]);
        let check = self.ground.check.clone();
        let (shape, stop) = (&self.ground.shape, EarlyStop::Total(self.champion.wrong));
        let scores = score(evaluator, Job { tape: &tape, shape, batches: &check, stop });
        for (n, score) in scores.iter().enumerate() {
            wrong += score.wrong.total();
            if score.wrong.total() > 0 && self.ground.random && failing.len() < 16 {
                failing.extend(score.failing().take(4).map(|start| (n, start)));
            }
            if wrong > self.champion.wrong {
                break;
            }
        }
        failing.into_iter().for_each(|(n, start)| self.keep(&check[n], start));
        if wrong == 0 && self.ground.random {
            wrong = self.surprise(&tape, evaluator);
        }
        let elsewhere = if wrong == 0 { self.elsewhere(&tape) } else { u64::MAX };
        let champion = Champion {
            cell: tape.cell(cell.channels),
            wrong,
            elsewhere,
            gates: tape.gates,
            from: self.champion.from,
        };
        let better = champion.rank() < self.champion.rank();
        if better {
            self.champion = champion;
        }
        better
    }

    /// Adds a start to the pool that all candidates run from.
    fn keep(&mut self, batch: &Batch, start: usize) {
        let starts = self.ground.bench.starts();
        if let Some(hard) = self.pool.last_mut() {
            hard.take(self.lane % starts, batch, start);
            self.lane += 1;
        }
    }

    /// Wrong bits on unseen starts: a chain that sees the same starts again and again overfits to them.
    fn surprise(&mut self, tape: &Tape, evaluator: &mut dyn Evaluator) -> u64 {
        // From a separate stream: how many are drawn before one fails depends on the evaluator.
        let mut stream = SplitMix::new(self.random.word(), SURPRISE_STREAM);
        let size = evaluator.block().clamp(1, SURPRISES);
        for first in (0..SURPRISES).step_by(size) {
            let count = size.min(SURPRISES - first);
            let batches: Vec<Batch> = (0..count).map(|_| self.ground.bench.batch(&mut stream)).collect();
            let job = Job { tape, shape: &self.ground.shape, batches: &batches, stop: EarlyStop::Total(0) };
            let scores = score(evaluator, job);
            if let Some((n, found)) = scores.iter().enumerate().find(|(_, score)| score.wrong.total() > 0) {
                found.failing().for_each(|start| self.keep(&batches[n], start));
                return found.wrong.total();
            }
        }
        0
    }

    /// Wrong bits on other grids.
    fn elsewhere(&mut self, tape: &Tape) -> u64 {
        self.ground
            .others
            .iter_mut()
            .map(|(bench, batch)| bench.run(tape, batch, Wrong::default(), EarlyStop::Never).wrong.last)
            .sum()
    }

    /// The next candidate while something is wrong, if one is found.
    fn better(&mut self) -> Option<Candidate> {
        let place = self.tried % EPOCH;
        let hot = if self.ground.random { (self.coldest.0 * 0.02).clamp(2.0, 60.0) } else { 0.8 };
        let cold = if self.ground.random { 0.4 } else { 0.1 };
        let temperature = hot * (cold / hot).powf(place as f64 / EPOCH as f64);
        let limit = self.energy - self.random.share().ln() * temperature;
        let cell = self.candidate()?;
        let tape = self.tape(&cell);
        // A change of unread gates only is not worth a run.
        (tape != self.ready).then_some(Candidate { cell, tape, limit })
    }

    /// Takes a candidate if its energy is low enough; returns whether it did.
    fn take_better(&mut self, draft: Candidate, wrong: Wrong, evaluator: &mut dyn Evaluator) -> bool {
        let Candidate { cell, tape, limit } = draft;
        let energy = energy(&tape, wrong);
        if energy > limit {
            return false;
        }
        self.current = if self.ground.proposals.is_empty() { tape.cell(cell.channels) } else { cell };
        (self.energy, self.gates, self.ready) = (energy, tape.gates, tape);
        self.record = None;
        if energy < self.coldest.0 {
            self.coldest = (energy, self.current.clone());
            // Checking all starts takes a while, so not after every removed gate.
            if (wrong.total() == 0 && self.tried >= self.challenged + PATIENCE) || !self.ground.random {
                self.challenged = self.tried;
                self.challenge(&self.current.clone(), evaluator);
                self.settle(evaluator);
            }
        }
        true
    }

    /// Ends an epoch: checks the best cell of the epoch on all starts, and starts the next epoch with the
    /// champion.
    fn restart(&mut self, evaluator: &mut dyn Evaluator) {
        let coldest = self.coldest.1.clone();
        self.challenge(&coldest, evaluator);
        // Every other epoch starts with the best cell of this one, right or not: the champion may be a dead
        // end.
        self.current = if self.random.one_in(2) { coldest } else { self.champion.cell.clone() };
        self.settle(evaluator);
    }

    fn candidate(&mut self) -> Option<CellCircuit> {
        // Likely changes come first, one by one.
        if let Some(proposal) = self.ground.proposals.get(self.tried as usize - 1) {
            let mut cell = self.current.clone();
            proposal.apply(&mut cell);
            return Some(cell);
        }
        let term = if self.ground.random { self.random.one_in(16) } else { !self.random.one_in(4) };
        if term {
            return self.with_term();
        }
        let mut cell = self.current.clone();
        moves::change(&mut cell, &self.ground.proposals, &mut self.random);
        Some(cell)
    }

    fn with_term(&mut self) -> Option<CellCircuit> {
        if self.record.is_none() {
            let tape = self.tape(&self.current);
            let last = if self.ground.random { 1 } else { self.ground.wide.steps };
            let batch = self.random.below(self.pool.len());
            let record = self.ground.wide.record(&tape, &self.pool[batch], last);
            self.record = Some((tape, record));
        }
        let (tape, record) = self.record.as_ref()?;
        let terms = Terms::new(&self.ground.wide, tape, record);
        if self.ground.random || !self.random.one_in(4) {
            return terms.draw(&mut self.random);
        }
        let (cell, mark) = terms.marked(&mut self.random)?;
        // With the mark as an input, the wrong bit may be distinguishable from others.
        let shown: Vec<usize> = self.ground.bench.visible.iter().copied().chain([mark]).collect();
        let tape = Tape::of(&cell, &shown);
        let record = self.ground.wide.record(&tape, &self.pool[0], self.ground.wide.steps);
        Terms::new(&self.ground.wide, &tape, &record).draw(&mut self.random)
    }

    /// The next candidate once nothing is wrong, unless it has too many gates.
    fn smaller(&mut self) -> Option<Candidate> {
        let mut cell = self.current.clone();
        moves::shrink(&mut cell, &mut self.random);
        let tape = self.tape(&cell);
        let uphill = tape.gates > self.gates && !self.random.one_in(12);
        let large = uphill || tape.gates > self.champion.gates + SLACK;
        (!large).then_some(Candidate { cell, tape, limit: f64::INFINITY })
    }

    /// Takes a candidate if it is still right; returns whether it did.
    fn take_smaller(&mut self, draft: Candidate, wrong: Wrong, evaluator: &mut dyn Evaluator) -> bool {
        let Candidate { cell, tape, .. } = draft;
        if wrong.total() > 0 || self.elsewhere(&tape) > self.champion.elsewhere {
            return false;
        }
        (self.current, self.gates) = (tape.cell(cell.channels), tape.gates);
        if tape.gates < self.champion.gates && !self.challenge(&self.current.clone(), evaluator) {
            (self.current, self.gates) = (self.champion.cell.clone(), self.champion.gates);
        }
        true
    }

    /// If there is one start, merges wires that always agree there.
    fn merge(&mut self, evaluator: &mut dyn Evaluator) {
        if self.ground.random || self.champion.wrong > 0 {
            return;
        }
        let tape = self.tape(&self.champion.cell);
        let Ground { bench, check, others, .. } = &mut self.ground;
        let mut records = vec![(bench.record(&tape, &check[0], usize::MAX), bench.samples.clone())];
        records.extend(
            others
                .iter_mut()
                .map(|(bench, batch)| (bench.record(&tape, batch, usize::MAX), bench.samples.clone())),
        );
        let records: Vec<(&Record, &[u32])> =
            records.iter().map(|(record, samples)| (record, &samples[..])).collect();
        let cell = merged(&tape, self.champion.cell.channels, &records);
        self.challenge(&cell, evaluator);
        self.current = self.champion.cell.clone();
        self.settle(evaluator);
    }
}

impl Ground {
    /// The initial starts of a chain.
    fn pool(&self, random: &mut SplitMix) -> Vec<Batch> {
        match self.random {
            true => (0..2).map(|_| self.bench.batch(random)).collect(),
            false => self.check.to_vec(),
        }
    }
}

/// What a search minimizes: wrong bits first, then gates.
fn energy(tape: &Tape, wrong: Wrong) -> f64 {
    tape.gates as f64 * GATE + wrong.weight() as f64 / Wrong::LAST as f64
}

/// Stops where the energy is certainly above a limit.
fn stop_above(limit: f64, tape: &Tape) -> EarlyStop {
    let most = (limit - tape.gates as f64 * GATE) * Wrong::LAST as f64;
    // Plus one, so that rounding does not matter.
    if most.is_finite() { EarlyStop::Weight(most.max(0.0) as u64 + 1) } else { EarlyStop::Never }
}

fn sum(scores: &[CandidateScore]) -> Wrong {
    let mut sum = Wrong::default();
    scores.iter().for_each(|score| sum += score.wrong);
    sum
}

/// The scores of a single job.
fn score(evaluator: &mut dyn Evaluator, job: Job) -> Vec<CandidateScore> {
    evaluator.score(&[job]).pop().unwrap_or_default()
}
