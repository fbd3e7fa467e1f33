//! Repair: a discrete search that makes a circuit right that learning left nearly right, and then smaller.
//!
//! Gates change their function, wires go elsewhere, gates come and go, terms are added that flip a single bit; what is less
//! wrong is kept. The budget counts candidates, so a search depends on its seed alone; a limit of seconds may cut it, and the
//! result says so. Start at [`repair`].
//!
//! Invariant: the result is never more wrong than the best of the circuits that the search began with, on the starts that
//! the search looks at.

mod bench;
mod cell;
mod chain;
mod classifier;
mod equal;
mod layout;
mod moves;
mod random;
mod tape;
mod task;
mod term;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

pub use cell::Cell;
pub use classifier::{Classifier, Reading, RepairedClassifier, Samples, Suggestion, repair_classifier};
pub use moves::Proposal;
pub use task::{Origin, Task};

use crate::automaton::Automaton;
use crate::error::Result;
use bench::{Batch, Bench};
use chain::{Chain, Champion, Ground};
use random::Random;
use tape::Tape;

/// Starts that decide whether a circuit is right, where they are random.
const CHECKED: usize = 16_384;
/// Chains of a search at least, whatever the number of threads.
const LEAST_CHAINS: usize = 4;
/// Candidates that a chain tries before all are compared.
const SLICE: u64 = 250;
/// Slices after which chains that shrink meet.
const MEETING: u64 = 10;
/// Channels that nothing needs and that stay at hand.
const SPARE: usize = 6;
/// The same where there is nothing else.
const SPARE_OF_NOTHING: usize = 2;
/// The stream of the starts that are checked, apart from those of the chains.
const CHECK_STREAM: u64 = u64::MAX;

/// What a search may cost, and where its random numbers come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Candidates in all.
    pub candidates: u64,
    /// Time after which the search is cut.
    pub time: Option<Duration>,
    /// The seed of everything random.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { candidates: 400_000, time: Some(Duration::from_secs(60)), seed: 0 }
    }
}

/// What a search begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The circuit as it was learned, gate by gate.
    Learned,
    /// The same without what is superfluous.
    Read,
    /// The same, simplified.
    Simplified,
    /// An empty circuit: the search is on its own.
    Nothing,
}

impl Beginning {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Beginning::Learned | Beginning::Read => "learned",
            Beginning::Simplified => "simplified",
            Beginning::Nothing => "nothing",
        }
    }
}

/// What came of a search.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The best circuit.
    pub automaton: Automaton,
    /// Its wrong bits on the starts that the search checks.
    pub wrong: u64,
    /// Those of the best circuit that the search began with.
    pub wrong_before: u64,
    /// Bits that were looked at.
    pub of: u64,
    /// Gates that are left.
    pub gates: usize,
    /// Candidates tried.
    pub candidates: u64,
    /// Candidates tried until nothing was wrong, if that came.
    pub right_after: Option<u64>,
    /// What it was made of.
    pub from: Beginning,
    /// Whether the time ran out before the candidates did.
    pub cut: bool,
    /// Time of all.
    pub time: Duration,
}

/// A circuit that nearly does what it should, in the forms that are known.
#[derive(Clone, Copy, Debug)]
pub struct Circuits<'a> {
    /// As it was learned.
    pub learned: &'a Automaton,
    /// Changes of its gates that are likely to help, the likeliest first.
    pub proposals: &'a [Proposal],
    /// Simplified, if it was.
    pub simplified: Option<&'a Automaton>,
}

/// Searches for a circuit that does a task, from one that nearly does.
pub fn repair(circuit: &Circuits, task: &Task, options: &Options) -> Result<Repaired> {
    circuit.learned.check()?;
    circuit.simplified.map_or(Ok(()), Automaton::check)?;
    let began = Instant::now();
    let deadline = options.time.map(|time| began + time);
    let starts = Start::all(circuit, task);
    let grounds: Vec<Ground> = starts.iter().map(|start| ground(start, task, options.seed)).collect();
    let chain = |from: usize| {
        Chain::new(grounds[from].clone(), starts[from].cell.clone(), from, options.seed, from as u64)
    };
    let mut chains: Vec<Chain> = (0..starts.len()).into_par_iter().map(chain).collect();
    let tried = |chains: &[Chain]| chains.iter().map(|chain| chain.tried).sum::<u64>();
    let is_over = || deadline.is_some_and(|deadline| Instant::now() > deadline);
    let wrong_before = best(&chains).wrong;
    let mut right_after = (wrong_before == 0).then_some(0);
    let mut round = 0u64;
    let cut = loop {
        let done = tried(&chains);
        let last = right_after
            .map_or(options.candidates, |right: u64| options.candidates.min(right + options.candidates / 4));
        if done >= last {
            break false;
        }
        if is_over() {
            break true;
        }
        let slice = SLICE.min((last - done).div_ceil(chains.len() as u64));
        chains.par_iter_mut().for_each(|chain| chain.advance(slice, deadline));
        let champion = best(&chains).clone();
        if champion.wrong == 0 {
            let is_first = right_after.is_none();
            right_after.get_or_insert(tried(&chains));
            round += 1;
            // Those who are not there yet, or are far behind, go on from here. Who began with nothing goes its own way: what it
            // finds is small.
            let behind = |other: &Champion| {
                other.wrong > 0
                    || round.is_multiple_of(MEETING) && other.gates > champion.gates + champion.gates / 16
            };
            let goes_on = |chain: &&mut Chain| {
                starts[chain.champion.from].origin != Beginning::Nothing && behind(&chain.champion)
            };
            chains
                .iter_mut()
                .filter(goes_on)
                .for_each(|chain| chain.adopt(&grounds[champion.from], &champion));
            if is_first || round.is_multiple_of(MEETING) {
                chains.par_iter_mut().for_each(Chain::merge);
            }
        }
    };
    let (champion, candidates) = (best(&chains), tried(&chains));
    let ground = &grounds[champion.from];
    Ok(Repaired {
        automaton: champion.cell.automaton(&starts[champion.from].shell),
        wrong: champion.wrong,
        wrong_before,
        of: ground.bench.bits() * ground.check.len() as u64,
        gates: champion.gates,
        candidates,
        right_after,
        from: starts[champion.from].origin,
        cut,
        time: began.elapsed(),
    })
}

/// A cell that a chain begins with.
struct Start {
    origin: Beginning,
    cell: Cell,
    /// Its automaton, for names.
    shell: Automaton,
    proposals: Vec<Proposal>,
}

impl Start {
    /// One for each chain: without what is superfluous; simplified; as learned, with what is likely to help; and from
    /// nothing, which is a way only where any cell may be the next to be right.
    fn all(circuit: &Circuits, task: &Task) -> Vec<Start> {
        let plain = |origin: Beginning, (cell, shell): (Cell, Automaton)| Start {
            origin,
            cell,
            shell,
            proposals: vec![],
        };
        let mut starts = vec![plain(Beginning::Read, Cell::of(circuit.learned, SPARE))];
        if let Some(simplified) = circuit.simplified {
            starts.push(plain(Beginning::Simplified, Cell::of(simplified, SPARE)));
        }
        if !circuit.proposals.is_empty() {
            let (cell, shell, places) = Cell::as_learned(circuit.learned);
            let moved = |proposal: &Proposal| {
                let place = |&gate: &usize| places.get(gate).copied().flatten();
                let gates: Vec<usize> = proposal.gates.iter().filter_map(place).collect();
                (!gates.is_empty()).then_some(Proposal { gates, gate: proposal.gate })
            };
            let proposals = circuit.proposals.iter().filter_map(moved).collect();
            starts.push(Start { origin: Beginning::Learned, cell, shell, proposals });
        }
        if task.is_random() {
            starts.push(plain(Beginning::Nothing, Cell::nothing(circuit.learned, SPARE_OF_NOTHING)));
        }
        while starts.len() < LEAST_CHAINS {
            starts.push(plain(Beginning::Read, Cell::of(circuit.learned, SPARE)));
        }
        starts
    }
}

/// The best champion; of equal ones, that of the first chain.
fn best(chains: &[Chain]) -> &Champion {
    let champions = chains.iter().map(|chain| &chain.champion);
    champions.min_by_key(|champion| champion.rank()).expect("there are chains")
}

fn ground(start: &Start, task: &Task, seed: u64) -> Ground {
    let bench = Bench::new(task, start.shell.channels, &start.shell.visible);
    let random = task.is_random();
    let batches = if random { CHECKED / bench.starts() } else { 1 };
    let mut stream = Random::new(seed, CHECK_STREAM);
    let check: Vec<Batch> = (0..batches).map(|_| bench.batch(&mut stream)).collect();
    let other = |task: &Task| {
        let bench = Bench::new(task, start.shell.channels, &start.shell.visible);
        let batch = bench.batch(&mut Random::new(seed, CHECK_STREAM));
        (bench, batch)
    };
    Ground {
        wide: bench.wide(),
        bench,
        check: Arc::new(check),
        others: task.others.iter().map(other).collect(),
        proposals: Arc::new(start.proposals.clone()),
        random,
    }
}

/// Gates that are left of an automaton's cell once constants, copies and what nothing visible depends on are gone.
pub fn gates_of(automaton: &Automaton) -> usize {
    Tape::of(&Cell::plain(automaton), &automaton.visible).gates
}
