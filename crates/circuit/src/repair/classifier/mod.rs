//! Repair of classifiers: a discrete search for gates and wires that classify more samples correctly, and then
//! for fewer gates.
//!
//! A change is evaluated on the training samples: by the margins of votes, or by the number of wrong samples.
//! The circuit that is best on the validation samples is kept. Candidates are scored without changing the
//! circuit, 64 at a time on several threads, so the number of threads does not affect the result. The value of
//! every wire on all samples is kept, and only gates after a change are recomputed (`panel`). So a candidate
//! costs microseconds on small tables and less than a millisecond on MNIST.
//!
//! The budget counts candidates, so a search depends only on its seed. A time limit may end it earlier, and the
//! result says so. Start at [`repair_classifier`].
//!
//! Invariant: the result has no fewer validation samples right than the initial circuit. If it has as many
//! right, it has no more gates.

mod moves;
mod net;
mod panel;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::SearchOptions;
use super::random::SplitMix;
use crate::error::Result;
use crate::graph::LogicGraph;
use crate::netlist::{GateNode, Netlist};
use moves::MoveDraw;
pub use moves::Suggestion;
use net::{Change, Net, OperandReach, ReaderTally};
use panel::{Effect, Panel, Ripple, UNIT};
pub use panel::{PanelSamples, Reading};

/// Candidates that are evaluated at once, if threads pay off.
const AT_ONCE: usize = 64;
/// Wires times words from which threads pay off.
const WORTH_THREADS: usize = 1 << 14;
/// The cost of a vote in the head, in gates.
const OF_A_VOTE: i64 = 5;
/// Samples that a candidate is first tried on, if there are several times as many.
const SCOUTED: usize = 8192;
/// The fraction of candidates and time for making more samples right; the rest is for making the circuit
/// smaller.
const RIGHT_SHARE: f64 = 0.7;
/// The value of a gate while more samples should become right, in units of loss.
const GATE: i64 = UNIT / 16;
/// The fraction of the gain on the training samples that may be given up for fewer gates: the validation
/// samples show small losses too late.
const GIVEN: f64 = 0.15;
/// The fraction of the gates that may cost all of that.
const SOLD: f64 = 0.1;
/// Accepted changes between two removals of redundant gates.
const TIDY: usize = 200;
/// The value of a wrong sample in gates, if the circuit outputs the class itself.
const OF_A_SAMPLE: f64 = 2.0;
/// The initial temperature, in gates.
const HOT: f64 = 1.0;
/// Rounds after which it is told how far the search is.
const TOLD: u64 = 64;
/// Number of successive searches, if the circuit outputs the class itself.
const ROUNDS: u64 = 4;

/// A circuit that classifies.
#[derive(Clone, Debug)]
pub struct ClassifierCircuit<'a> {
    /// Without registers.
    pub netlist: &'a Netlist,
    /// What its outputs mean.
    pub reading: Reading,
    /// Changes that are likely to help, the most likely first.
    pub suggestions: &'a [Suggestion],
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct RepairedClassifier {
    /// The best circuit.
    pub netlist: Netlist,
    /// Training samples that are right, before and after.
    pub train: [u64; 2],
    /// Validation samples that are right, before and after.
    pub validation: [u64; 2],
    /// Gates plus the cost of votes, before and after.
    pub cost: [u64; 2],
    /// Candidates tried.
    pub candidates: u64,
    /// Whether time ran out before the candidates did.
    pub cut: bool,
    /// The total time.
    pub time: Duration,
}

/// Searches for a circuit with more samples right, or as many and fewer gates. A circuit without inputs stays
/// as it is. The training samples decide about changes, the validation samples about which circuit is kept.
pub fn repair_classifier(
    circuit: &ClassifierCircuit,
    train: &PanelSamples,
    validation: &PanelSamples,
    options: &SearchOptions,
) -> Result<RepairedClassifier> {
    circuit.netlist.check()?;
    let began = Instant::now();
    let deadline = options.time.map(|time| began + time);
    let mut search = ClassifierSearch::new(circuit, train, validation, (options, began));
    let before = search.start;
    let cut = match circuit.reading {
        Reading::Votes { .. } => search.votes(),
        Reading::Number => search.number(options.candidates, deadline),
    };
    let (netlist, after) = (search.best(), search.champion.standing);
    let pair = |of: fn(&ClassifierScore) -> i64| [of(&before), of(&after)].map(|n| n as u64);
    Ok(RepairedClassifier {
        netlist,
        train: pair(|standing| standing.train),
        validation: pair(|standing| standing.validation),
        cost: pair(|standing| standing.cost),
        candidates: search.tried,
        cut,
        time: began.elapsed(),
    })
}

/// The score of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClassifierScore {
    /// Samples that are right.
    train: i64,
    validation: i64,
    /// The loss on the training samples.
    loss: i64,
    cost: i64,
}

struct BestClassifier {
    nodes: Vec<GateNode>,
    standing: ClassifierScore,
}

/// What makes a change acceptable.
#[derive(Clone, Copy, Debug)]
enum SearchGoal {
    /// A smaller loss.
    Right,
    /// Fewer gates, with a price for each, as long as the loss stays below a limit.
    Small { price: i64, most: i64, least: i64 },
    /// Few gates and few wrong samples, with occasional steps back.
    Both { temperature: f64 },
}

struct ClassifierSearch<'a> {
    circuit: &'a ClassifierCircuit<'a>,
    options: &'a SearchOptions,
    began: Instant,
    samples: [&'a PanelSamples; 2],
    net: Net,
    train: Panel,
    validation: Panel,
    /// A subset of the training samples, if there are many: most candidates are already worse on these.
    scout: Option<(PanelSamples, Panel)>,
    suggestions: Vec<Suggestion>,
    random: SplitMix,
    ripples: Vec<(Ripple, ReaderTally)>,
    tried: u64,
    start: ClassifierScore,
    champion: BestClassifier,
}

impl<'a> ClassifierSearch<'a> {
    fn new(
        circuit: &'a ClassifierCircuit<'a>,
        train: &'a PanelSamples,
        validation: &'a PanelSamples,
        (options, began): (&'a SearchOptions, Instant),
    ) -> ClassifierSearch<'a> {
        let (net, place) = net_of(circuit.netlist, &circuit.reading);
        let suggestions = circuit.suggestions.iter().map(|one| one.moved(&place, net.sources)).collect();
        let [train_panel, validation_panel] =
            [train, validation].map(|samples| Panel::new(&net, samples, &circuit.reading));
        let standing = standing(&net, &train_panel, &validation_panel);
        let scout = (train.labels.len() >= 4 * SCOUTED).then(|| {
            let samples = train.first(SCOUTED);
            let panel = Panel::new(&net, &samples, &circuit.reading);
            (samples, panel)
        });
        ClassifierSearch {
            circuit,
            options,
            began,
            scout,
            samples: [train, validation],
            train: train_panel,
            validation: validation_panel,
            suggestions,
            random: SplitMix::new(options.seed, STREAM),
            ripples: vec![Default::default(); rayon::current_num_threads()],
            tried: 0,
            start: standing,
            champion: BestClassifier { nodes: net.nodes.clone(), standing },
            net,
        }
    }

    fn standing(&self) -> ClassifierScore {
        standing(&self.net, &self.train, &self.validation)
    }

    /// More samples right, then fewer gates; returns whether time ran out.
    fn votes(&mut self) -> bool {
        let (options, began) = (self.options, self.began);
        let before = self.start;
        let right = (options.candidates as f64 * RIGHT_SHARE) as u64;
        let until = |share: f64| options.time.map(|time| began + time.mul_f64(share));
        let cut = self.pursue(right, until(RIGHT_SHARE), |_| SearchGoal::Right);
        // Unused candidates of the first goal are not added to the second.
        let most = self.tried + options.candidates - right;
        self.restart();
        let now = self.standing();
        let given = (GIVEN * (before.loss - now.loss).max(0) as f64) as i64;
        let price = (given as f64 / (SOLD * now.cost.max(1) as f64)) as i64;
        let goal = SearchGoal::Small { price, most: now.loss + given, least: now.validation };
        self.pursue(most, until(1.0), |_| goal) || cut
    }

    /// Few gates and few wrong samples at once, restarted several times from the best; returns whether time ran
    /// out.
    fn number(&mut self, candidates: u64, deadline: Option<Instant>) -> bool {
        (1..=ROUNDS).any(|round| {
            self.restart();
            let (from, to) = (self.tried, candidates * round / ROUNDS);
            self.pursue(to, deadline, |tried| {
                let share = (tried - from) as f64 / (to - from).max(1) as f64;
                SearchGoal::Both { temperature: HOT * (1.0 - share) }
            })
        })
    }

    /// Tries candidates until this many were tried in total; returns whether time ran out before.
    fn pursue(&mut self, until: u64, deadline: Option<Instant>, goal: impl Fn(u64) -> SearchGoal) -> bool {
        let (mut kept, mut rounds) = (0, 0u64);
        while self.tried < until && !self.net.live.is_empty() && self.net.sources > 0 {
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return true;
            }
            if rounds.is_multiple_of(TOLD) {
                self.tell();
            }
            rounds += 1;
            let goal = goal(self.tried);
            kept += self.round(goal, (until - self.tried) as usize);
            if kept >= TIDY && matches!(goal, SearchGoal::Small { .. }) {
                kept = 0;
                self.restart();
            }
        }
        false
    }

    /// Writes down how far the search is.
    fn tell(&self) {
        let (best, samples) = (self.champion.standing, self.samples[1].labels.len());
        let gates = self.net.live.len() as u64;
        self.options.tell(
            self.tried,
            self.began,
            Some(gates),
            (samples as u64).checked_sub(best.validation as u64),
        );
    }

    /// Evaluates some candidates and keeps the acceptable ones; returns how many.
    fn round(&mut self, goal: SearchGoal, most: usize) -> usize {
        let words = self.samples[0].labels.len().div_ceil(64);
        let threads = self.net.nodes.len() * words >= WORTH_THREADS;
        let count = if threads { AT_ONCE.min(most) } else { 1 };
        let draw = MoveDraw { net: &self.net, suggestions: &self.suggestions, shrink: goal.shrinks() };
        let drawn: Vec<Vec<Change>> = (0..count).map(|_| draw.change(&mut self.random)).collect();
        let luck: Vec<f64> = drawn.iter().map(|_| self.random.share()).collect();
        self.tried += count as u64;
        let (net, panel, now) = (&self.net, &self.train, self.standing());
        let scout = self.scout.as_ref().map(|(_, panel)| panel);
        let weigh = |change: &Vec<Change>, (ripple, tally): &mut (Ripple, ReaderTally)| {
            let cost = net.cost_after(change, tally);
            let seen = |effect: Effect| goal.is_hopeless(effect, cost);
            if seen(Effect::default()) || scout.is_some_and(|panel| seen(panel.effect(net, change, ripple))) {
                return (Effect { loss: i64::MAX / 4, right: 0 }, cost);
            }
            (panel.effect(net, change, ripple), cost)
        };
        let weights: Vec<(Effect, i64)> = match threads {
            false => drawn.iter().map(|change| weigh(change, &mut self.ripples[0])).collect(),
            true => {
                let share = count.div_ceil(self.ripples.len());
                let parts = drawn.par_chunks(share).zip(self.ripples.par_iter_mut());
                parts
                    .flat_map_iter(|(part, room)| {
                        part.iter().map(|change| weigh(change, room)).collect::<Vec<_>>()
                    })
                    .collect()
            }
        };
        let wanted = |&n: &usize| goal.wants(weights[n].0, weights[n].1, &now, luck[n]);
        let mut order: Vec<usize> = (0..count).filter(wanted).collect();
        order.sort_by_key(|&n| (weights[n].0.loss + GATE * weights[n].1, n));
        order.into_iter().filter(|&n| self.accept(&drawn[n], goal, luck[n])).count()
    }

    /// Makes a change if it is still acceptable, also on the validation samples.
    fn accept(&mut self, change: &[Change], goal: SearchGoal, luck: f64) -> bool {
        let now = self.standing();
        let (ripple, tally) = &mut self.ripples[0];
        let cost = self.net.cost_after(change, tally);
        let effect = self.train.effect(&self.net, change, ripple);
        if !goal.wants(effect, cost, &now, luck) {
            return false;
        }
        let other = self.validation.effect(&self.net, change, ripple);
        if !goal.allows(other, &now) {
            return false;
        }
        self.train.apply(&self.net, change, ripple);
        self.validation.apply(&self.net, change, ripple);
        if let Some((_, panel)) = &mut self.scout {
            panel.apply(&self.net, change, ripple);
        }
        self.net.apply(change);
        self.crown();
        true
    }

    /// Stores the circuit if it is the best so far.
    fn crown(&mut self) {
        let (now, best) = (self.standing(), self.champion.standing);
        let is_better = match self.circuit.reading {
            Reading::Votes { .. } => {
                let rank = |standing: &ClassifierScore| (-standing.validation, standing.cost, standing.loss);
                rank(&now) < rank(&best)
            }
            Reading::Number => {
                let fair = now.validation >= self.start.validation && now.train >= self.start.train;
                fair && now.merit() < best.merit()
            }
        };
        if is_better {
            self.champion = BestClassifier { nodes: self.net.nodes.clone(), standing: now };
        }
    }

    /// The best circuit.
    fn best(&self) -> Netlist {
        self.net.netlist(self.champion.nodes.clone(), self.circuit.netlist)
    }

    /// Continues from the best circuit, without redundant gates.
    fn restart(&mut self) {
        let best = self.best();
        let tidy = LogicGraph::of(&best).write(&best);
        self.net = net_of(&tidy, &self.circuit.reading).0;
        // They refer to gates that may be gone.
        self.suggestions.clear();
        let [train, validation] =
            self.samples.map(|samples| Panel::new(&self.net, samples, &self.circuit.reading));
        (self.train, self.validation) = (train, validation);
        if let Some((samples, panel)) = &mut self.scout {
            *panel = Panel::new(&self.net, samples, &self.circuit.reading);
        }
        self.ripples.iter_mut().for_each(|room| *room = Default::default());
        self.champion = BestClassifier { standing: self.standing(), nodes: self.net.nodes.clone() };
    }
}

/// Distinguishes this search's random stream from others with the same seed.
const STREAM: u64 = 0x636c_6173;

fn net_of(netlist: &Netlist, reading: &Reading) -> (Net, Vec<usize>) {
    match reading {
        Reading::Votes { .. } => Net::of(netlist, OperandReach::Held, OF_A_VOTE),
        Reading::Number => Net::of(netlist, OperandReach::Free, 0),
    }
}

fn standing(net: &Net, train: &Panel, validation: &Panel) -> ClassifierScore {
    ClassifierScore { train: train.right, validation: validation.right, loss: train.loss, cost: net.cost() }
}

impl ClassifierScore {
    /// Gates plus the cost of wrong samples.
    fn merit(&self) -> i64 {
        self.cost * UNIT + (OF_A_SAMPLE * self.loss as f64) as i64
    }
}

impl SearchGoal {
    fn shrinks(self) -> bool {
        !matches!(self, SearchGoal::Right)
    }

    /// Whether a change of this cost will hardly be accepted, judged by its effect on some of the samples.
    fn is_hopeless(self, effect: Effect, cost: i64) -> bool {
        match self {
            SearchGoal::Right => effect.loss > 0,
            SearchGoal::Small { price, .. } => cost > 0 || effect.loss > price * -cost,
            SearchGoal::Both { .. } => false,
        }
    }

    fn wants(self, effect: Effect, cost: i64, now: &ClassifierScore, luck: f64) -> bool {
        match self {
            SearchGoal::Right => effect.loss + GATE * cost < 0,
            SearchGoal::Small { price, most, .. } => {
                let cheap = if cost < 0 { effect.loss <= price * -cost } else { effect.loss < 0 };
                cost <= 0 && cheap && now.loss + effect.loss <= most
            }
            SearchGoal::Both { temperature } => {
                let worse = cost as f64 + OF_A_SAMPLE * effect.loss as f64 / UNIT as f64;
                worse <= 0.0 || worse < -luck.ln() * temperature
            }
        }
    }

    /// Whether this effect on validation samples is allowed.
    fn allows(self, effect: Effect, now: &ClassifierScore) -> bool {
        match self {
            SearchGoal::Small { least, .. } => now.validation + effect.right >= least,
            // If they decided about every change, the search would soon overfit to them, and they could no
            // longer choose the best circuit.
            SearchGoal::Right | SearchGoal::Both { .. } => true,
        }
    }
}
