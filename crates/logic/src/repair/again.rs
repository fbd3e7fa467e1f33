//! Soft training that restarts from a repaired circuit, if a search was stuck.
//!
//! The circuit becomes a [`CircuitNetwork`] whose gates are soft but strongly prefer their functions. Some
//! hundred updates of the recipe's own task change it. Its hardened form is one more initial circuit of the
//! next search. Everything shares one budget. Start at [`School::search`].
//!
//! Invariant: on the starts that searches use, the result has no more wrong bits than that of the first search.

use std::time::{Duration, Instant};

use farad::Device;
use farad::run::counted;
use farad_circuit::Automaton;
use farad_circuit::repair::{Beginning, Circuits, Proposal, Repaired, SearchOptions};
use serde::{Deserialize, Serialize};

use super::network::CircuitNetwork;
use super::{Searcher, proposals};
use crate::error::Result;
use crate::recipe::Recipe;
use crate::settings::{AutomatonSettings, Forward, FreezeOrder, States};
use crate::soft_gates::{GateKind, SoftGates};
use crate::train::AutomatonTrainer;

/// How many times training may restart for one circuit.
const ROUNDS: u32 = 2;
/// Updates per training.
const UPDATES: u64 = 200;
/// Updates between two checks of the hard circuit.
const LOOK: u64 = 20;
/// Candidates that an update counts as: about the same cost on a CPU.
const CANDIDATES_PER_UPDATE: u64 = 100;
/// How strongly gates prefer their present functions: the strength of [`SoftGates::sure`].
const STRENGTH: f32 = 4.0;

/// What retraining did: part of a repair record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// Updates in total.
    pub updates: u64,
    /// Wrong bits before, on the starts that the search checks.
    pub wrong_before: u64,
    /// Whether the kept circuit was made from its result and has fewer wrong bits.
    pub helped: bool,
}

impl Again {
    /// The same in words.
    pub fn words(&self) -> String {
        let updates = counted(self.updates, "update");
        let helped = if self.helped { "helped" } else { "did not help" };
        format!("{updates} of soft training again {helped}")
    }
}

/// The best circuit of all searches for one seed.
pub(super) struct Found {
    /// With the candidates and the time of all searches.
    pub repaired: Repaired,
    /// What it was made from.
    pub from: &'static str,
    /// What retraining did, if it was requested and needed.
    pub again: Option<Again>,
}

/// What retraining needs to know.
pub(super) struct School<'a> {
    pub recipe: &'a Recipe,
    pub settings: &'a AutomatonSettings,
    pub device: &'a Device,
}

/// A retrained circuit.
struct TrainedAgain {
    automaton: Automaton,
    /// What its gates nearly became.
    proposals: Vec<Proposal>,
    updates: u64,
    /// Whether time ran out.
    cut: bool,
}

impl Found {
    /// What one search found.
    pub fn new(repaired: Repaired) -> Found {
        Found { from: repaired.from.name(), repaired, again: None }
    }

    /// Candidates of the budget that are used up.
    fn spent(&self) -> u64 {
        let updates = self.again.as_ref().map_or(0, |again| again.updates);
        self.repaired.candidates + updates * CANDIDATES_PER_UPDATE
    }

    fn was_trained(&mut self, trained: &TrainedAgain) {
        let wrong_before = self.repaired.wrong;
        let again = self.again.get_or_insert(Again { wrong_before, ..Again::default() });
        again.updates += trained.updates;
        self.repaired.cut |= trained.cut;
    }

    /// Takes the result of a later search if it is better. That search started with this circuit and with a
    /// retrained one.
    fn take(&mut self, later: Repaired) {
        let best = &mut self.repaired;
        let totals = (best.candidates + later.candidates, best.cut || later.cut);
        if (later.wrong, later.gates) < (best.wrong, best.gates) {
            let from = match later.from {
                Beginning::Learned | Beginning::Read => "retrained",
                Beginning::Simplified => self.from,
                Beginning::Nothing => later.from.name(),
            };
            if let Some(again) = self.again.as_mut().filter(|_| later.wrong < best.wrong) {
                again.helped = from == "retrained";
            }
            let right_after = later.right_after.map(|right| best.candidates + right);
            *best = Repaired { right_after, wrong_before: best.wrong_before, ..later };
            self.from = from;
        }
        (best.candidates, best.cut) = totals;
    }
}

impl School<'_> {
    /// Searches and, if that is stuck, retrains and continues, within the same budget.
    pub fn search(
        &self,
        searcher: &mut Searcher,
        circuits: &Circuits,
        options: &SearchOptions,
    ) -> Result<Found> {
        let budget = SearchBudget { options, began: Instant::now() };
        let mut found = Found::new(searcher.search(circuits, &budget.part(0, 0, 2))?);
        for round in 1..=ROUNDS {
            let done = found.repaired.wrong == 0 || budget.is_over(found.spent());
            if done || !self.round(round, &budget, searcher, &mut found)? {
                break;
            }
        }
        found.repaired.time = budget.began.elapsed();
        Ok(found)
    }

    /// One training and the search after it; returns whether there may be another.
    fn round(
        &self,
        round: u32,
        budget: &SearchBudget,
        searcher: &mut Searcher,
        found: &mut Found,
    ) -> Result<bool> {
        // Each remaining round gets an equal part of what is left, at most half of it for training.
        let parts = ROUNDS + 1 - round;
        let part = budget.part(round, found.spent(), parts);
        let updates = UPDATES.min(part.candidates / 2 / CANDIDATES_PER_UPDATE);
        let deadline = part.time.map(|time| Instant::now() + time / 2);
        let Some(trained) = self.train(&found.repaired.automaton, part.seed, updates, deadline)? else {
            return Ok(false);
        };
        found.was_trained(&trained);
        if budget.is_over(found.spent()) {
            return Ok(false);
        }
        let best = found.repaired.automaton.clone();
        let circuits =
            Circuits { learned: &trained.automaton, proposals: &trained.proposals, simplified: Some(&best) };
        found.take(searcher.search(&circuits, &budget.part(round, found.spent(), parts))?);
        Ok(true)
    }

    /// Retrains a circuit; returns the best hard circuit of all checks. `None` if it cannot be a network.
    fn train(
        &self,
        circuit: &Automaton,
        seed: u64,
        updates: u64,
        deadline: Option<Instant>,
    ) -> Result<Option<TrainedAgain>> {
        let Some(network) = CircuitNetwork::of(circuit, seed) else { return Ok(None) };
        let settings = settings(self.settings, updates);
        let soft = SoftGates::new(settings.gates, settings.rounding, self.device);
        let logits = soft.sure(&network.gates, &[1, network.gates.len()], STRENGTH, self.device);
        let recipe = Recipe { topology: network.topology.clone(), ..self.recipe.clone() };
        let starts = recipe.starts(&settings);
        let layers = [network.layers.clone()];
        let mut trainer = AutomatonTrainer::wired(recipe, settings, &[seed], &layers, logits, self.device);
        let mut kept = None;
        let mut fewest = f32::INFINITY;
        let mut cut = false;
        while trainer.updates() < updates && !cut {
            trainer.update()?;
            let done = trainer.updates();
            cut = deadline.is_some_and(|deadline| Instant::now() > deadline);
            if done.is_multiple_of(LOOK) || done == updates || cut {
                let wrong = trainer.hard_losses(done, starts)?.1[0];
                if wrong <= fewest {
                    let gates = trainer.hard_gates()?.swap_remove(0);
                    let logits = trainer.logits().to_vec::<f32>()?;
                    (fewest, kept) = (wrong, Some((gates, logits)));
                }
            }
        }
        Ok(kept.map(|(gates, logits)| TrainedAgain {
            automaton: network.harden(&gates),
            proposals: proposals::unsure(&network.topology, &gates, &logits, soft.width()),
            updates: trainer.updates(),
            cut,
        }))
    }
}

/// The remaining budget for searches and trainings.
struct SearchBudget<'a> {
    options: &'a SearchOptions,
    began: Instant,
}

impl SearchBudget<'_> {
    fn is_over(&self, spent: u64) -> bool {
        let late = self.options.time.is_some_and(|time| self.began.elapsed() >= time);
        late || spent + CANDIDATES_PER_UPDATE >= self.options.candidates
    }

    /// One of `parts` equal parts of what is left.
    fn part(&self, round: u32, spent: u64, parts: u32) -> SearchOptions {
        let left = |time: Duration| time.saturating_sub(self.began.elapsed()) / parts;
        SearchOptions {
            candidates: self.options.candidates.saturating_sub(spent).div_ceil(u64::from(parts)),
            time: self.options.time.map(left),
            // Every round draws other starts and other changes.
            seed: self.options.seed.wrapping_add(u64::from(round) << 40),
            progress: self.options.progress.clone(),
        }
    }
}

/// Settings for retraining, derived from those of the training: four logits per gate learn fastest from where
/// they are, and more and more gates are hard, so that hardening loses little in the end.
fn settings(trained: &AutomatonSettings, updates: u64) -> AutomatonSettings {
    AutomatonSettings {
        updates,
        gates: GateKind::Four,
        learning_rate: 0.3,
        warm_up: 10,
        beta1: 0.8,
        beta2: 0.9,
        curriculum: 0,
        freeze_from: 0.0,
        freeze_until: 1.0,
        freeze_most: 1.0,
        freeze_order: FreezeOrder::Anew,
        forward: Forward::Soft,
        states: States::Soft,
        ..trained.clone()
    }
}

#[cfg(test)]
mod tests {
    use farad::train::settings::SettingsTable as _;
    use farad_circuit::Netlist;

    use super::*;

    /// A checkerboard of eight by eight cells, and a circuit that has nothing to do with it.
    fn task() -> (Recipe, AutomatonSettings, Automaton) {
        let recipe = Recipe::named("checkerboard").unwrap();
        let mut settings = recipe.settings.clone();
        ["height=8", "width=8", "steps=6"].iter().for_each(|set| settings.set(set).unwrap());
        let channels = 3;
        let cell = Netlist::random(4, 9 * channels, 30, channels);
        let edge = recipe.topology.edge;
        (recipe, settings, Automaton { cell, channels, visible: vec![0], edge, fire_rate: 1.0 })
    }

    fn devices() -> Vec<Device> {
        [Device::cpu()].into_iter().chain(Device::gpu(0).ok()).collect()
    }

    #[test]
    fn where_a_search_is_stuck_training_begins_again_within_the_same_budget() {
        let (recipe, settings, automaton) = task();
        let circuits = Circuits { learned: &automaton, proposals: &[], simplified: None };
        let options = SearchOptions { candidates: 6_000, time: None, seed: 1, ..SearchOptions::default() };
        let cpu = Device::cpu();
        let searcher = || Searcher {
            task: super::super::task(&recipe, &settings),
            device: &cpu,
            tallies: vec![],
            peers: None,
        };
        let first = SearchOptions { candidates: 3_000, ..options.clone() };
        let alone = searcher().search(&circuits, &first).unwrap();
        assert!(alone.wrong > 0, "the search was not stuck");
        for device in devices() {
            let school = School { recipe: &recipe, settings: &settings, device: &device };
            let found = || school.search(&mut searcher(), &circuits, &options).unwrap();
            let Found { repaired, from, again } = found();
            let again = again.expect("trained again");
            assert_eq!(again.wrong_before, alone.wrong, "on {device}");
            assert!(again.updates > 0 && repaired.wrong <= alone.wrong, "{again:?} {repaired:?}");
            assert!(!again.helped || from == "retrained" && repaired.wrong < alone.wrong, "{again:?} {from}");
            assert_eq!(repaired.wrong_before, alone.wrong_before, "on {device}");
            let spent = repaired.candidates + again.updates * CANDIDATES_PER_UPDATE;
            assert!(spent < options.candidates + options.candidates / 10, "{spent} on {device}");
            let once_more = found();
            assert_eq!(once_more.repaired.automaton, repaired.automaton, "on {device}");
            assert_eq!(once_more.again, Some(again), "on {device}");
        }
    }

    #[test]
    fn updates_change_what_a_network_does() {
        let (recipe, settings, automaton) = task();
        for device in devices() {
            let school = School { recipe: &recipe, settings: &settings, device: &device };
            let trained = school.train(&automaton, 3, 40, None).unwrap().unwrap();
            trained.automaton.check().unwrap();
            assert_eq!((trained.updates, trained.cut), (40, false));
            assert!(!trained.proposals.is_empty());
            let network = CircuitNetwork::of(&automaton, 3).unwrap();
            assert_ne!(trained.automaton, network.harden(&network.gates), "nothing was learned on {device}");
            // Without time there is a single update, which is checked.
            let cut = school.train(&automaton, 3, 40, Some(Instant::now())).unwrap().unwrap();
            assert_eq!((cut.updates, cut.cut), (1, true), "on {device}");
        }
    }

    #[test]
    fn time_and_candidates_are_shared_out() {
        let options = SearchOptions { candidates: 1_000, seed: 5, ..SearchOptions::default() };
        let budget = SearchBudget { options: &options, began: Instant::now() };
        let half = budget.part(0, 0, 2);
        assert_eq!((half.candidates, half.seed), (500, 5));
        assert!(half.time.is_some_and(|time| time <= Duration::from_secs(30)));
        assert_eq!(budget.part(1, 700, 2).candidates, 150);
        assert_ne!(budget.part(1, 700, 2).seed, 5);
        assert!(!budget.is_over(800) && budget.is_over(950));
        let late = SearchOptions { time: Some(Duration::ZERO), ..options.clone() };
        assert!(SearchBudget { options: &late, began: Instant::now() }.is_over(0));
    }
}
