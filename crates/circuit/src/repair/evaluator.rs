//! Evaluators of candidates: the CPU, or any other that gives the same counts.
//!
//! A search draws candidates in blocks and asks an [`Evaluator`] for the wrong bits of each. Invariant: the
//! counts of a job depend only on its candidate and its batches, so with any evaluator, a search with the same
//! chains and blocks ends with the same circuit. Start at [`Evaluator`] and [`Processor`].

use super::bench::{Batch, Bench, WORDS};
use super::tape::Tape;
use super::task::RepairTask;

/// Counts wrong bits of candidates.
pub trait Evaluator: Send {
    /// The fewest chains that should run in parallel.
    fn chains(&self) -> usize;

    /// The most candidates that a chain may propose at once.
    fn block(&self) -> usize;

    /// Scores the candidate of each job: one score per batch in their order, at least up to the batch at which
    /// its [`EarlyStop`] is reached.
    fn score(&mut self, jobs: &[Job]) -> Vec<Vec<CandidateScore>>;
}

/// A candidate, and the starts to run it from.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The candidate.
    pub tape: &'a Tape,
    /// Which channels there are.
    pub shape: &'a CandidateChannels,
    /// Starts.
    pub batches: &'a [Batch],
    /// When to stop counting.
    pub stop: EarlyStop,
}

/// The channels of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateChannels {
    /// How many there are.
    pub channels: usize,
    /// The visible ones, in order.
    pub visible: Vec<usize>,
}

/// Counts of wrong bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// Wrong visible bits at the last step.
    pub last: u64,
    /// Wrong visible bits shortly before, if cells fire at random: a circuit that is right only just in time
    /// will sometimes be late.
    pub late: u64,
    /// Wrong visible bits halfway: with fewer, the circuit is right sooner.
    pub early: u64,
}

impl Wrong {
    /// The weight of a bit that is wrong at the last step; earlier ones have weight one.
    pub(super) const LAST: u64 = 8;

    /// The bits that must be right.
    pub fn total(self) -> u64 {
        self.last + self.late
    }

    /// All wrong bits, weighted toward the last step.
    pub fn weight(self) -> u64 {
        Wrong::LAST * self.last + self.late + self.early
    }
}

impl std::ops::AddAssign for Wrong {
    fn add_assign(&mut self, other: Wrong) {
        self.last += other.last;
        self.late += other.late;
        self.early += other.early;
    }
}

/// The result of a candidate on one batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CandidateScore {
    /// The wrong bits.
    pub wrong: Wrong,
    /// The starts from which something was wrong at the last step or shortly before, as bits; zero if there is
    /// one start.
    pub starts: [u32; WORDS],
}

impl CandidateScore {
    /// The indices of the starts from which something was wrong.
    pub(super) fn failing(&self) -> impl Iterator<Item = usize> + use<> {
        let starts = self.starts;
        (0..32 * WORDS).filter(move |start| starts[start / 32] >> (start % 32) & 1 == 1)
    }
}

/// When enough bits are wrong to stop counting. An evaluator may stop there or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyStop {
    /// Never.
    Never,
    /// Once [`Wrong::total`] of all batches so far exceeds this.
    Total(u64),
    /// Once [`Wrong::last`] of all batches so far exceeds this.
    Last(u64),
    /// Once [`Wrong::weight`] of all batches so far exceeds this.
    Weight(u64),
}

impl EarlyStop {
    /// Whether these counts are enough to stop.
    pub fn is_reached(self, wrong: Wrong) -> bool {
        match self {
            EarlyStop::Never => false,
            EarlyStop::Total(most) => wrong.total() > most,
            EarlyStop::Last(most) => wrong.last > most,
            EarlyStop::Weight(most) => wrong.weight() > most,
        }
    }
}

/// Evaluates on the CPU, one candidate after another, with all starts of a batch in parallel.
pub struct Processor {
    task: RepairTask,
    benches: Vec<(CandidateChannels, Bench)>,
    chains: usize,
    block: usize,
}

impl Processor {
    /// For a task. A chain that proposes one candidate at a time never waits for others.
    pub fn new(task: &RepairTask, chains: usize, block: usize) -> Processor {
        Processor { task: task.clone(), benches: vec![], chains, block }
    }

    fn bench(&mut self, shape: &CandidateChannels) -> &mut Bench {
        let known = self.benches.iter().position(|(known, _)| known == shape);
        let place = known.unwrap_or_else(|| {
            self.benches.push((shape.clone(), Bench::new(&self.task, shape)));
            self.benches.len() - 1
        });
        &mut self.benches[place].1
    }
}

impl Evaluator for Processor {
    fn chains(&self) -> usize {
        self.chains
    }

    fn block(&self) -> usize {
        self.block
    }

    fn score(&mut self, jobs: &[Job]) -> Vec<Vec<CandidateScore>> {
        jobs.iter().map(|job| self.bench(job.shape).score(job)).collect()
    }
}
