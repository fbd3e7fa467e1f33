//! Repair: a discrete search that makes a nearly right circuit right, and then smaller.
//!
//! Chains of simulated annealing change functions and wires, then add and remove gates. If there is one start,
//! terms are added that flip a single bit (`term`). A candidate with fewer wrong bits is kept. Candidates run
//! bit-parallel: many starts per word if starts are random, whole rows of cells if there is one start.
//!
//! If starts are random, a few of them are tried first. A circuit that is right on these is tried on 16,384,
//! and those on which it fails join the few. At the end the best circuits are tested on starts that no chain
//! drew (`exam`).
//!
//! Chains propose blocks of candidates, an `Evaluator` scores them, and each chain takes the first acceptable
//! one. On the CPU every chain has its own evaluator and blocks of one. On a GPU all chains share one
//! evaluator. The budget counts candidates. So the result depends only on the seed, the number of chains and
//! the largest block. A time limit may end a search earlier, and the result says so. Start at [`repair`].
//!
//! Invariant: on the starts that the search uses, the result has no more wrong bits than the best of the
//! initial circuits.

mod bench;
mod cell;
mod chain;
mod classifier;
mod equal;
mod evaluator;
mod exam;
mod layout;
mod moves;
mod peers;
mod random;
mod tape;
mod task;
mod term;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

pub use bench::Batch;
pub use cell::CellCircuit;
pub use classifier::{
    ClassifierCircuit, PanelSamples, Reading, RepairedClassifier, Suggestion, repair_classifier,
};
pub use evaluator::{CandidateChannels, CandidateScore, EarlyStop, Evaluator, Job, Processor, Wrong};
pub use moves::Proposal;
pub use peers::SearchPeers;
pub use tape::{Literal, Tape, TapeGate};
pub use task::{RepairTask, StartingGrid};

use crate::automaton::Automaton;
use crate::error::Result;
use crate::progress::{WorkPart, WorkProgress};
use bench::Bench;
use chain::{Champion, Crew, Ground, SearchChain};
use peers::{is_own, mirrored};
use random::SplitMix;

/// Starts that decide whether a circuit is right, if they are random.
const CHECKED: usize = 16_384;
/// Fewest chains of a search, whatever the number of threads.
const LEAST_CHAINS: usize = 4;
/// Candidates that a chain tries before all chains are compared.
const SLICE: u64 = 250;
/// Most slices that a chain with few gates gets for one of a chain with many.
const MOST_SLICES: u64 = 8;
/// Most candidates after the first right circuit: by then it is as small as it will get.
const SHRINKING: u64 = 100_000;
/// With up to this many wrong bits on the checked starts, a circuit may still be the best on others.
const NEARLY: u64 = 32;
/// Slices after which shrinking chains exchange circuits.
const MEETING: u64 = 10;
/// Unused channels that are kept available.
const SPARE: usize = 6;
/// The same if there is one start: they carry marks of wrong bits.
const SPARE_OF_ONE: usize = 24;
/// The same for an empty initial circuit.
const SPARE_OF_NOTHING: usize = 2;
/// The random stream of the checked starts, separate from those of the chains.
const CHECK_STREAM: u64 = u64::MAX;

/// The budget of a search, and its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchOptions {
    /// Candidates in total.
    pub candidates: u64,
    /// Time limit of the search.
    pub time: Option<Duration>,
    /// The seed of everything random.
    pub seed: u64,
    /// Where it is written how far the search is.
    pub progress: WorkProgress,
}

impl SearchOptions {
    /// Writes down how far a search is: by candidates or, if that is more, by time.
    fn tell(&self, tried: u64, began: Instant, gates: Option<u64>, wrong: Option<u64>) {
        if !self.progress.is_watched() {
            return;
        }
        let late = self.time.map_or(0.0, |time| began.elapsed().as_secs_f64() / time.as_secs_f64().max(1e-9));
        let done = tried.max((late.min(1.0) * self.candidates as f64) as u64);
        self.progress.show(WorkPart { what: "searching", done, all: self.candidates, gates, wrong });
    }

    /// Total candidates if nothing was wrong after `right` of them: the rest makes the circuit smaller.
    fn after(&self, right: u64) -> u64 {
        self.candidates.min(right + (self.candidates / 4).min(SHRINKING))
    }
}

impl Default for SearchOptions {
    fn default() -> SearchOptions {
        let time = Some(Duration::from_secs(60));
        SearchOptions { candidates: 2_000_000, time, seed: 0, progress: WorkProgress::default() }
    }
}

/// What a search starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The circuit as learned, gate by gate.
    Learned,
    /// The same without redundant gates.
    Read,
    /// The same, simplified.
    Simplified,
    /// An empty circuit.
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

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The best circuit.
    pub automaton: Automaton,
    /// Its wrong bits on the checked starts.
    pub wrong: u64,
    /// The wrong bits of the best initial circuit.
    pub wrong_before: u64,
    /// Bits that were checked.
    pub of: u64,
    /// Remaining gates.
    pub gates: usize,
    /// Candidates tried.
    pub candidates: u64,
    /// Candidates tried until nothing was wrong, if that happened.
    pub right_after: Option<u64>,
    /// Which initial circuit it comes from.
    pub from: Beginning,
    /// Whether time ran out before the candidates did.
    pub cut: bool,
    /// The total time.
    pub time: Duration,
}

/// A circuit that nearly does a task, in the forms that are available.
#[derive(Clone, Copy, Debug)]
pub struct Circuits<'a> {
    /// As learned.
    pub learned: &'a Automaton,
    /// Changes of its gates that are likely to help, the most likely first.
    pub proposals: &'a [Proposal],
    /// Simplified, if available.
    pub simplified: Option<&'a Automaton>,
}

/// Searches for a circuit that does a task, from one that nearly does. Every chain evaluates its own candidates
/// on the CPU.
pub fn repair(circuit: &Circuits, task: &RepairTask, options: &SearchOptions) -> Result<Repaired> {
    search(circuit, task, options, None, None)
}

/// The same by several processes together, each with its share of the chains. All of them get the same result. It is that of
/// one process unless time cuts the search.
pub fn repair_among(
    circuit: &Circuits,
    task: &RepairTask,
    options: &SearchOptions,
    peers: &dyn SearchPeers,
) -> Result<Repaired> {
    search(circuit, task, options, None, Some(peers))
}

/// The same with one evaluator for all chains, which scores all their proposals at once.
pub fn repair_with(
    circuit: &Circuits,
    task: &RepairTask,
    options: &SearchOptions,
    evaluator: Box<dyn Evaluator>,
) -> Result<Repaired> {
    search(circuit, task, options, Some(evaluator), None)
}

fn search(
    circuit: &Circuits,
    task: &RepairTask,
    options: &SearchOptions,
    evaluator: Option<Box<dyn Evaluator>>,
    peers: Option<&dyn SearchPeers>,
) -> Result<Repaired> {
    circuit.learned.check()?;
    circuit.simplified.map_or(Ok(()), Automaton::check)?;
    let began = Instant::now();
    let deadline = options.time.map(|time| began + time);
    let starts = ChainStart::all(circuit, task);
    let grounds: Vec<Ground> = starts.iter().map(|start| ground(start, task, options.seed)).collect();
    let mut crews = crews(&starts, &grounds, task, options.seed, evaluator);
    let is_over = || deadline.is_some_and(|deadline| Instant::now() > deadline);
    let wrong_before = best(&crews).wrong;
    let mut right_after = (wrong_before == 0).then_some(0);
    // Every right circuit that was the best for a while, the latest last.
    let mut right: Vec<Champion> = vec![];
    let mut round = 0u64;
    let cut = loop {
        let is_over = mirrored(peers, &mut crews, is_over())?;
        let done = tried(&crews);
        let last = right_after.map_or(options.candidates, |right: u64| options.after(right));
        if done >= last {
            break false;
        }
        if is_over {
            break true;
        }
        tell(options, done, began, best(&crews));
        let slices = slices(&crews, last - done);
        let own = crews.par_iter_mut().zip(slices).enumerate().filter(|(n, _)| is_own(peers, *n));
        own.for_each(|(_, (crew, slice))| crew.advance(slice, deadline));
        mirrored(peers, &mut crews, false)?;
        let champion = best(&crews).clone();
        if champion.wrong == 0 {
            let is_first = right_after.is_none();
            right_after.get_or_insert(tried(&crews));
            round += 1;
            if right.last().is_none_or(|last| champion.rank() < last.rank()) {
                right.push(champion.clone());
            }
            let meet = round.is_multiple_of(MEETING);
            let mut own: Vec<&mut Crew> = crews
                .iter_mut()
                .enumerate()
                .filter(|(n, _)| is_own(peers, *n))
                .map(|(_, crew)| crew)
                .collect();
            follow(&mut own, &starts, &grounds, &champion, meet);
            if is_first || meet {
                own.into_par_iter().for_each(Crew::merge);
            }
        }
    };
    let candidates = tried(&crews);
    let champion = match task.is_random() {
        true => chosen(&mut crews, right, wrong_before, &grounds, options.seed),
        false => best(&crews).clone(),
    };
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

/// Tells how far a search is: by candidates or, if that is more, by time.
fn tell(options: &SearchOptions, tried: u64, began: Instant, best: &Champion) {
    let known = |number: u64, unknown: u64| (number != unknown).then_some(number);
    let (gates, wrong) = (known(best.gates as u64, usize::MAX as u64), known(best.wrong, u64::MAX));
    options.tell(tried, began, gates, wrong);
}

/// Makes a chain for each start, and more with the same starts: all in one crew if they share an evaluator,
/// otherwise each on its own.
fn crews(
    starts: &[ChainStart],
    grounds: &[Ground],
    task: &RepairTask,
    seed: u64,
    evaluator: Option<Box<dyn Evaluator>>,
) -> Vec<Crew> {
    let chain = |number: usize, evaluator: &mut dyn Evaluator| {
        // A few additional chains start with the first circuit; many take all of them in turn.
        let from = if number < LEAST_CHAINS.max(starts.len()) { number } else { number % starts.len() };
        let from = if from < starts.len() { from } else { 0 };
        let cell = starts[from].cell.clone();
        SearchChain::new(grounds[from].clone(), cell, from, (seed, number as u64), evaluator)
    };
    match evaluator {
        Some(mut evaluator) => {
            let count = evaluator.chains().max(starts.len());
            let chains = (0..count).map(|number| chain(number, &mut *evaluator)).collect();
            vec![Crew { chains, evaluator }]
        }
        None => (0..LEAST_CHAINS.max(starts.len()))
            .into_par_iter()
            .map(|number| {
                let mut evaluator = Box::new(Processor::new(task, 1, 1));
                Crew { chains: vec![chain(number, &mut *evaluator)], evaluator }
            })
            .collect(),
    }
}

/// Candidates that each chain of a crew tries next, so that crews take about the same time: small circuits are
/// evaluated quickly. The total is at most what is left.
fn slices(crews: &[Crew], left: u64) -> Vec<u64> {
    let costs: Vec<u64> = crews.iter().map(|crew| crew.cost()).collect();
    let most = costs.iter().copied().max().unwrap_or(1);
    let shares: Vec<u64> = costs.iter().map(|cost| (most / cost).clamp(1, MOST_SLICES)).collect();
    let all: u64 = crews.iter().zip(&shares).map(|(crew, share)| crew.chains.len() as u64 * share).sum();
    let slice = SLICE.min(left.div_ceil(all));
    shares.into_iter().map(|share| share * slice).collect()
}

/// Chains that are not right yet continue from one that is. When chains exchange circuits, those far behind do
/// too. A chain that started with nothing continues on its own: what it finds is small.
fn follow(
    crews: &mut [&mut Crew],
    starts: &[ChainStart],
    grounds: &[Ground],
    champion: &Champion,
    meet: bool,
) {
    let behind =
        |other: &Champion| other.wrong > 0 || meet && other.gates > champion.gates + champion.gates / 16;
    for Crew { chains, evaluator } in crews {
        for chain in chains {
            let own_way = starts[chain.champion.from].origin == Beginning::Nothing;
            if !own_way && behind(&chain.champion) {
                chain.adopt(&grounds[champion.from], champion, &mut **evaluator);
            }
        }
    }
}

fn tried(crews: &[Crew]) -> u64 {
    crews.iter().flat_map(|crew| &crew.chains).map(|chain| chain.tried).sum()
}

/// A cell that a chain begins with.
struct ChainStart {
    origin: Beginning,
    cell: CellCircuit,
    /// Its automaton, for names.
    shell: Automaton,
    proposals: Vec<Proposal>,
}

impl ChainStart {
    /// One for each chain: without redundant gates; simplified; as learned, with likely changes; and from
    /// nothing, which makes sense only if any cell may be the next to be right.
    fn all(circuit: &Circuits, task: &RepairTask) -> Vec<ChainStart> {
        let plain = |origin: Beginning, (cell, shell): (CellCircuit, Automaton)| ChainStart {
            origin,
            cell,
            shell,
            proposals: vec![],
        };
        // A table of neighborhoods has fixed channels.
        let marks = !task.is_random() && task.origin != StartingGrid::Neighborhoods;
        let of = |automaton: &Automaton| match marks {
            true => CellCircuit::roomy(automaton, SPARE_OF_ONE),
            false => CellCircuit::of(automaton, SPARE),
        };
        let mut starts = vec![plain(Beginning::Read, of(circuit.learned))];
        if let Some(simplified) = circuit.simplified {
            starts.push(plain(Beginning::Simplified, of(simplified)));
        }
        if !circuit.proposals.is_empty() {
            let (cell, shell, places) = CellCircuit::as_learned(circuit.learned);
            let moved = |proposal: &Proposal| {
                let place = |&gate: &usize| places.get(gate).copied().flatten();
                let gates: Vec<usize> = proposal.gates.iter().filter_map(place).collect();
                (!gates.is_empty()).then_some(Proposal { gates, gate: proposal.gate })
            };
            let proposals = circuit.proposals.iter().filter_map(moved).collect();
            starts.push(ChainStart { origin: Beginning::Learned, cell, shell, proposals });
        }
        if task.is_random() {
            starts.push(plain(Beginning::Nothing, CellCircuit::nothing(circuit.learned, SPARE_OF_NOTHING)));
        }
        starts
    }
}

/// If starts are random: the champion that passes an exam, among those that were right, or nearly right if none
/// was.
fn chosen(
    crews: &mut [Crew],
    right: Vec<Champion>,
    wrong_before: u64,
    grounds: &[Ground],
    seed: u64,
) -> Champion {
    let best = best(crews).clone();
    let mut finalists: Vec<Champion> = right.into_iter().rev().collect();
    if finalists.is_empty() {
        let near = |other: &&Champion| other.wrong <= wrong_before.min(2 * best.wrong + NEARLY);
        let champions = crews.iter().flat_map(|crew| &crew.chains).map(|chain| &chain.champion);
        finalists = champions.filter(near).cloned().collect();
        finalists.sort_by_key(Champion::rank);
    }
    // A circuit that is far from right needs no exam.
    if best.wrong > NEARLY * NEARLY || finalists.len() < 2 {
        return best;
    }
    exam::choose(finalists, grounds, seed, &mut *crews[0].evaluator).unwrap_or(best)
}

/// The best champion; among equals, that of the first chain.
fn best(crews: &[Crew]) -> &Champion {
    let champions = crews.iter().flat_map(|crew| &crew.chains).map(|chain| &chain.champion);
    champions.min_by_key(|champion| champion.rank()).expect("there are chains")
}

fn ground(start: &ChainStart, task: &RepairTask, seed: u64) -> Ground {
    let shape = CandidateChannels { channels: start.shell.channels, visible: start.shell.visible.clone() };
    let bench = Bench::new(task, &shape);
    let random = task.is_random();
    let batches = if random { CHECKED / bench.starts() } else { 1 };
    let mut stream = SplitMix::new(seed, CHECK_STREAM);
    let check: Vec<Batch> = (0..batches).map(|_| bench.batch(&mut stream)).collect();
    let other = |task: &RepairTask| {
        let bench = Bench::new(task, &shape);
        let batch = bench.batch(&mut SplitMix::new(seed, CHECK_STREAM));
        (bench, batch)
    };
    Ground {
        wide: bench.wide(),
        bench,
        check: Arc::new(check),
        others: task.others.iter().map(other).collect(),
        proposals: Arc::new(start.proposals.clone()),
        random,
        shape,
    }
}

/// Remaining gates of an automaton's cell without constants, copies and what nothing visible depends on.
pub fn gates_of(automaton: &Automaton) -> usize {
    Tape::of(&CellCircuit::plain(automaton), &automaton.visible).gates
}
