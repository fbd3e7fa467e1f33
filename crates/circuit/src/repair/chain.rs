//! One chain of a search: a cell that is changed by chance, and the best that it has met.
//!
//! First a chain *mends*: it takes over a changed cell if that is less wrong, or not much more, by annealing. Once nothing is
//! wrong it *shrinks*: it takes over what has no more gates and is still right. Where starts are random, a few of them are
//! looked at first; a cell that is right on these is held to thousands, and those on which it fails join the few.
//!
//! Invariant: [`Chain::champion`] is never replaced by something that is worse on the same starts. What a chain does depends
//! on its seed, and on how often it is called, alone.

use std::sync::Arc;
use std::time::Instant;

use super::bench::{Batch, Bench, Record, Wrong};
use super::cell::Cell;
use super::equal::merged;
use super::moves::{self, Proposal};
use super::random::Random;
use super::tape::Tape;
use super::term::Terms;

/// What a gate costs while something is wrong, in wrong bits.
const GATE: f64 = 0.02;
/// What a bit costs that is wrong at an earlier look.
const EARLY: f64 = 0.125;
/// Candidates from hot to cold.
const EPOCH: u64 = 10_000;
/// Candidates between two looks at all starts.
const PATIENCE: u64 = 150;
/// Batches of starts that nobody has seen, for who is right on all others.
const SURPRISES: usize = 128;
/// Gates that a shrinking cell may have more than the best.
const SLACK: usize = 2;

/// The best that a chain has met.
#[derive(Clone, Debug)]
pub(super) struct Champion {
    pub(super) cell: Cell,
    /// Wrong bits on all starts that are checked.
    pub(super) wrong: u64,
    /// Wrong bits on other grids; counted once nothing else is wrong.
    pub(super) elsewhere: u64,
    pub(super) gates: usize,
    /// Which of the circuits that the search began with it comes from.
    pub(super) from: usize,
}

impl Champion {
    /// Fewer wrong bits are better, then fewer gates.
    pub(super) fn rank(&self) -> (u64, u64, usize) {
        (self.wrong, self.elsewhere, self.gates)
    }
}

/// What all chains that begin with one circuit share.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) bench: Bench,
    /// The same with room to record.
    pub(super) wide: Bench,
    /// Starts that decide whether a cell is right: many, or the only one.
    pub(super) check: Arc<Vec<Batch>>,
    /// Other grids, with their start.
    pub(super) others: Vec<(Bench, Batch)>,
    pub(super) proposals: Arc<Vec<Proposal>>,
    pub(super) random: bool,
}

/// A chain.
pub(super) struct Chain {
    ground: Ground,
    random: Random,
    /// Starts that every candidate runs from.
    pool: Vec<Batch>,
    lane: usize,
    current: Cell,
    energy: f64,
    /// The coldest point of this epoch.
    coldest: (f64, Cell),
    /// Gates of the current cell.
    gates: usize,
    /// What a single start does, for terms.
    record: Option<(Tape, Record)>,
    pub(super) champion: Champion,
    pub(super) tried: u64,
    epoch: u64,
    /// Candidates tried when a cell was last held to all starts.
    challenged: u64,
}

impl Chain {
    pub(super) fn new(ground: Ground, cell: Cell, from: usize, seed: u64, number: u64) -> Chain {
        let mut random = Random::new(seed, number);
        let pool = match ground.random {
            true => (0..2).map(|_| ground.bench.batch(&mut random)).collect(),
            false => ground.check.to_vec(),
        };
        let champion =
            Champion { cell: cell.clone(), wrong: u64::MAX, elsewhere: u64::MAX, gates: usize::MAX, from };
        let mut chain = Chain {
            ground,
            random,
            pool,
            lane: 0,
            coldest: (f64::INFINITY, cell.clone()),
            current: cell,
            energy: f64::INFINITY,
            gates: usize::MAX,
            record: None,
            champion,
            tried: 0,
            epoch: 0,
            challenged: 0,
        };
        chain.challenge(&chain.current.clone());
        chain.settle();
        chain
    }

    /// Goes on from another chain's champion.
    pub(super) fn adopt(&mut self, ground: &Ground, champion: &Champion) {
        if self.champion.from != champion.from {
            self.ground = ground.clone();
            let bench = &self.ground.bench;
            self.pool = match self.ground.random {
                true => (0..2).map(|_| bench.batch(&mut self.random)).collect(),
                false => self.ground.check.to_vec(),
            };
        }
        self.champion = champion.clone();
        self.current = champion.cell.clone();
        self.settle();
    }

    /// Tries so many candidates, unless the time is over.
    pub(super) fn advance(&mut self, candidates: u64, deadline: Option<Instant>) {
        for n in 0..candidates {
            if n.is_multiple_of(32) && deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return;
            }
            self.tried += 1;
            match self.champion.wrong {
                0 => self.shrink(),
                _ => self.mend(),
            }
        }
    }

    fn tape(&self, cell: &Cell) -> Tape {
        Tape::of(cell, &self.ground.bench.visible)
    }

    /// The energy of a candidate on the pool; none if it is above the limit.
    fn measure(&mut self, tape: &Tape, limit: f64) -> Option<(f64, Wrong)> {
        let gates = tape.gates as f64 * GATE;
        let energy = |wrong: Wrong| gates + wrong.last as f64 + (wrong.late + wrong.early) as f64 * EARLY;
        let most = ((limit - gates) / EARLY).max(0.0) as u64;
        let mut wrong = Wrong::default();
        for batch in &self.pool {
            wrong += self.ground.bench.run(tape, batch, most);
            if energy(wrong) > limit {
                return None;
            }
        }
        Some((energy(wrong), wrong))
    }

    /// Measures the current cell again, after it or the pool changed.
    fn settle(&mut self) {
        let tape = self.tape(&self.current);
        self.gates = tape.gates;
        self.energy = self.measure(&tape, f64::INFINITY).map_or(f64::INFINITY, |(energy, _)| energy);
        self.coldest = (self.energy, self.current.clone());
        self.record = None;
    }

    /// Lets a cell run from all starts that are checked. It becomes the champion if it is better; starts on which it fails
    /// join the pool.
    fn challenge(&mut self, cell: &Cell) -> bool {
        let tape = self.tape(cell);
        let (mut wrong, mut failing) = (0, vec![]);
        for (n, batch) in self.ground.check.iter().enumerate() {
            let found = self.ground.bench.run(&tape, batch, u64::MAX).total();
            wrong += found;
            if found > 0 && self.ground.random && failing.len() < 16 {
                failing.extend(self.ground.bench.failing().into_iter().take(4).map(|lane| (n, lane)));
            }
            if wrong > self.champion.wrong {
                break;
            }
        }
        let check = self.ground.check.clone();
        for (n, from) in failing {
            let lanes = self.ground.bench.starts();
            if let Some(hard) = self.pool.last_mut() {
                hard.take(self.lane % lanes, &check[n], from);
                self.lane += 1;
            }
        }
        if wrong == 0 && self.ground.random {
            wrong = self.surprise(&tape);
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

    /// Wrong bits on starts that no chain has seen: whoever is held to the same ones again and again learns them by heart.
    fn surprise(&mut self, tape: &Tape) -> u64 {
        for _ in 0..SURPRISES {
            let batch = self.ground.bench.batch(&mut self.random);
            let found = self.ground.bench.run(tape, &batch, u64::MAX).total();
            if found > 0 {
                let lanes = self.ground.bench.starts();
                let failing = self.ground.bench.failing();
                if let Some(hard) = self.pool.last_mut() {
                    for from in failing {
                        hard.take(self.lane % lanes, &batch, from);
                        self.lane += 1;
                    }
                }
                return found;
            }
        }
        0
    }

    /// Wrong bits on other grids.
    fn elsewhere(&mut self, tape: &Tape) -> u64 {
        self.ground.others.iter_mut().map(|(bench, batch)| bench.run(tape, batch, u64::MAX).last).sum()
    }

    fn mend(&mut self) {
        let (place, epoch) = (self.tried % EPOCH, self.tried / EPOCH);
        if epoch != self.epoch {
            self.epoch = epoch;
            self.restart();
        }
        let hot = if self.ground.random { (self.coldest.0 * 0.02).clamp(2.0, 60.0) } else { 0.8 };
        let cold = if self.ground.random { 0.4 } else { 0.1 };
        let temperature = hot * (cold / hot).powf(place as f64 / EPOCH as f64);
        let limit = self.energy - self.random.share().ln() * temperature;
        let Some(cell) = self.candidate() else { return };
        let tape = self.tape(&cell);
        let Some((energy, wrong)) = self.measure(&tape, limit) else { return };
        self.current = if self.ground.proposals.is_empty() { tape.cell(cell.channels) } else { cell };
        (self.energy, self.gates) = (energy, tape.gates);
        self.record = None;
        if energy < self.coldest.0 {
            self.coldest = (energy, self.current.clone());
            // All starts take a while: not for every gate that goes.
            if (wrong.total() == 0 && self.tried >= self.challenged + PATIENCE) || !self.ground.random {
                self.challenged = self.tried;
                self.challenge(&self.current.clone());
                self.settle();
            }
        }
    }

    /// Ends an epoch: what was coldest is held to all starts, and the next one begins with the best.
    fn restart(&mut self) {
        let coldest = self.coldest.1.clone();
        self.challenge(&coldest);
        // Every other epoch begins where this one was best, right or not: the best of all may be a dead end.
        self.current = if self.random.one_in(2) { coldest } else { self.champion.cell.clone() };
        self.settle();
    }

    fn candidate(&mut self) -> Option<Cell> {
        // What is thought likely comes first, one by one.
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

    fn with_term(&mut self) -> Option<Cell> {
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
        // With the mark among what can be read, the wrong bit may be told from others.
        let shown: Vec<usize> = self.ground.bench.visible.iter().copied().chain([mark]).collect();
        let tape = Tape::of(&cell, &shown);
        let record = self.ground.wide.record(&tape, &self.pool[0], self.ground.wide.steps);
        Terms::new(&self.ground.wide, &tape, &record).draw(&mut self.random)
    }

    fn shrink(&mut self) {
        let mut cell = self.current.clone();
        moves::shrink(&mut cell, &mut self.random);
        let tape = self.tape(&cell);
        let uphill = tape.gates > self.gates && !self.random.one_in(12);
        if uphill || tape.gates > self.champion.gates + SLACK {
            return;
        }
        let right = self.pool.iter().all(|batch| self.ground.bench.run(&tape, batch, u64::MAX).total() == 0);
        if !right || self.elsewhere(&tape) > self.champion.elsewhere {
            return;
        }
        (self.current, self.gates) = (tape.cell(cell.channels), tape.gates);
        if tape.gates < self.champion.gates && !self.challenge(&self.current.clone()) {
            (self.current, self.gates) = (self.champion.cell.clone(), self.champion.gates);
        }
    }

    /// Where there is one start, lets wires that always agree there stand for each other.
    pub(super) fn merge(&mut self) {
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
        self.challenge(&cell);
        self.current = self.champion.cell.clone();
        self.settle();
    }
}
