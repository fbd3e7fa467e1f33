//! Evaluators of candidates: the CPU, or any other that gives the same counts.
//!
//! A search draws candidates in blocks and asks an [`Evaluator`] what is wrong with each. Invariant: the counts of a job
//! depend on its candidate and its batches only, so every evaluator leads a search of the same shape to the same circuit.
//! Start at [`Evaluator`] and [`Processor`].

use super::bench::{Batch, Bench, WORDS};
use super::tape::Tape;
use super::task::RepairTask;

/// Counts what is wrong with candidates.
pub trait Evaluator: Send {
    /// Chains that should run side by side, at least.
    fn chains(&self) -> usize;

    /// Candidates that a chain may propose at once.
    fn block(&self) -> usize;

    /// What is wrong with the candidate of each job: a score for each of its batches in their order, up to the one at
    /// which its [`EarlyStop`] is reached at the earliest.
    fn score(&mut self, jobs: &[Job]) -> Vec<Vec<CandidateScore>>;
}

/// A candidate and the starts that it should run from.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The candidate.
    pub tape: &'a Tape,
    /// Which channels there are.
    pub shape: &'a CandidateChannels,
    /// Starts.
    pub batches: &'a [Batch],
    /// When more need not be known.
    pub stop: EarlyStop,
}

/// The channels of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateChannels {
    /// How many there are.
    pub channels: usize,
    /// Those that are looked at, in their order.
    pub visible: Vec<usize>,
}

/// What was found wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// Wrong visible bits at the last step.
    pub last: u64,
    /// Wrong visible bits shortly before, where cells fire at random: a circuit that is right only just in time will sometimes be late.
    pub late: u64,
    /// Wrong visible bits halfway: the fewer, the sooner it is right.
    pub early: u64,
}

impl Wrong {
    /// What a bit counts that is wrong at the last step; one that is wrong before counts one.
    pub(super) const LAST: u64 = 8;

    /// What should be none.
    pub fn total(self) -> u64 {
        self.last + self.late
    }

    /// All of it, the last step above all.
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

/// What a candidate does on one batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CandidateScore {
    /// What is wrong.
    pub wrong: Wrong,
    /// The starts from which something was wrong at the last step or shortly before, as bits; none where there is one start.
    pub starts: [u32; WORDS],
}

impl CandidateScore {
    /// The numbers of the starts from which something was wrong.
    pub(super) fn failing(&self) -> impl Iterator<Item = usize> + use<> {
        let starts = self.starts;
        (0..32 * WORDS).filter(move |start| starts[start / 32] >> (start % 32) & 1 == 1)
    }
}

/// When enough is wrong that more need not be counted. An evaluator may stop there or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyStop {
    /// Never.
    Never,
    /// Once [`Wrong::total`] of all batches so far is above this.
    Total(u64),
    /// Once [`Wrong::last`] of all batches so far is above this.
    Last(u64),
    /// Once [`Wrong::weight`] of all batches so far is above this.
    Weight(u64),
}

impl EarlyStop {
    /// Whether so much is enough.
    pub fn is_reached(self, wrong: Wrong) -> bool {
        match self {
            EarlyStop::Never => false,
            EarlyStop::Total(most) => wrong.total() > most,
            EarlyStop::Last(most) => wrong.last > most,
            EarlyStop::Weight(most) => wrong.weight() > most,
        }
    }
}

/// Evaluates on the CPU, one candidate after the other, all starts of a batch side by side.
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
