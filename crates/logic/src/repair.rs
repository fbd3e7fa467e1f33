//! Repair of a run's circuits: a discrete search after training, and where its results are kept.
//!
//! The search itself is [`farad_circuit::repair`]. Here is what a recipe asks it for. The gates that training
//! was least sure about are its first proposals. `device` evaluates candidates on a GPU. `again` lets soft
//! training begin again from a repaired circuit where the search is stuck, if that is asked for. A repaired
//! circuit lies beside the learned one as `circuits/seed-N.repaired.json`, with its record in
//! `circuits/seed-N.repair.json`. `classify::repair` does the same for classifiers.
//!
//! Invariant: what is read from there belongs to this learned circuit, byte for byte. On starts that neither
//! training nor the search saw, it is less wrong, or as right and smaller. Start at [`repair`](fn@repair).

mod again;
mod device;
mod network;
mod plain;
mod program;
mod proposals;

use std::time::Duration;

use farad::Device;
use farad::devices::AdapterKind;
use farad::run::{Run, count, counted};
use farad::train::Watcher;
use farad_circuit::repair::{
    self as search, Circuits, Proposal, RepairTask, Repaired, SearchOptions, StartingGrid,
};
use farad_circuit::{Automaton, Circuit};
use serde::{Deserialize, Serialize};

pub use again::Again;
pub use device::{CandidateTally, DeviceEvaluator};
pub(crate) use proposals::second_best;

use crate::error::Result;
use crate::evaluate::Examination;
use crate::recipe::{Recipe, RecipeTarget, RolloutStart};
use crate::report;
use crate::settings::AutomatonSettings;
use crate::train::{LearnedAutomata, LearnedCircuit};
use again::{Found, School};

/// The most candidates of a search, by default.
const MOST_CANDIDATES: u64 = 2_000_000;
/// Candidates for each update of training: a short training is not followed by a long search.
const CANDIDATES_AN_UPDATE: u64 = 800;
/// After fewer updates nothing is searched for: that was a try.
const LEAST_UPDATES: u64 = 100;
/// Seconds that the search for one seed may take, by default.
const SECONDS: u64 = 60;

/// What a repair may cost, for each seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Candidates in all.
    pub candidates: u64,
    /// Time after which a search is cut.
    pub time: Option<Duration>,
    /// Added to a circuit's seed, for another search.
    pub seed: u64,
    /// Whether soft training begins again from the repaired circuit where the search is stuck. Classifiers do not.
    pub again: bool,
}

impl Effort {
    /// What is fit after so many updates: nothing after a few.
    pub fn after(updates: u64) -> Effort {
        let candidates = updates.saturating_mul(CANDIDATES_AN_UPDATE).min(MOST_CANDIDATES);
        Effort { candidates: if updates < LEAST_UPDATES { 0 } else { candidates }, ..Effort::default() }
    }
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            candidates: MOST_CANDIDATES,
            time: Some(Duration::from_secs(SECONDS)),
            seed: 0,
            again: false,
        }
    }
}

/// Which circuits are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomatonSelection {
    /// Those that are not exact.
    Inexact,
    /// All: those that are exact may become smaller.
    All,
}

/// What repair did to a circuit: `seed-N.repair.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepairNote {
    /// A hash of the files of the learned and the repaired circuit.
    #[serde(default)]
    circuits: u64,
    /// Wrong visible bits of the learned circuit on fresh starts.
    pub wrong_before: usize,
    /// Wrong visible bits of the repaired one on the same.
    pub wrong: usize,
    /// Bits looked at.
    pub of: usize,
    /// Candidates tried.
    pub candidates: u64,
    /// Candidates tried until nothing was wrong on the starts of the search.
    pub right_after: Option<u64>,
    /// What the search made it of: the `learned` circuit, the `simplified` one, one that was `retrained`, or `nothing`.
    pub from: String,
    /// Whether time ran out before the candidates did. Then another run may find another circuit.
    pub cut: bool,
    /// What soft training again did, if it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
}

impl RepairNote {
    /// The same in a sentence.
    pub fn words(&self, seed: u64) -> String {
        let RepairNote { wrong_before, wrong, of, candidates, .. } = self;
        let before = match wrong_before {
            0 => "exact after training".into(),
            wrong => format!("not exact after training, {} of {} wrong", count(*wrong), counted(*of, "bit")),
        };
        let after = match wrong {
            0 => "exact after repair".into(),
            wrong => format!("{} wrong after repair", count(*wrong)),
        };
        let from = if self.from == "nothing" { ", made from nothing" } else { "" };
        let again = self.again.as_ref().map_or(String::new(), |again| format!(", {}", again.words()));
        let cut = if self.cut { ", cut by time" } else { "" };
        format!("seed {seed}: {before}; {after} ({}{from}{again}{cut})", counted(*candidates, "candidate"))
    }
}

/// The repaired circuit of a seed from the run's folder; none if there is none, or it is of another circuit.
pub(crate) fn stored(run: &Run, seed: u64, learned: &Automaton) -> Option<(Automaton, RepairNote)> {
    let [circuit, note] = names(seed);
    let read = |name: &str| std::fs::read_to_string(run.path().join(name)).ok();
    let note: RepairNote = serde_json::from_str(&read(&note)?).ok()?;
    let texts = [report::text(learned), read(&circuit)?];
    match (note.circuits == report::hash(&texts), Circuit::from_json(&texts[1]).ok()?) {
        (true, Circuit::Automaton(automaton)) => Some((automaton, note)),
        _ => None,
    }
}

fn names(seed: u64) -> [String; 2] {
    ["repaired.json", "repair.json"].map(|end| format!("circuits/seed-{seed}.{end}"))
}

/// The device on which the circuits are searched that were trained on this one: the same GPU if it is one, else the CPU.
/// A GPU in software is slower than the CPU.
pub fn device_after(trained: &Device) -> Device {
    let real =
        |index: usize| farad::adapters().get(index).is_some_and(|gpu| gpu.kind != AdapterKind::Software);
    match trained.is_gpu() && trained.index().is_some_and(real) {
        true => trained.clone(),
        false => Device::cpu(),
    }
}

/// Searches on a device, if it is a GPU and the grid fits a workgroup of it, else on the CPU.
struct Searcher<'a> {
    task: RepairTask,
    device: &'a Device,
    tallies: Vec<CandidateTally>,
}

impl Searcher<'_> {
    fn search(&mut self, circuits: &Circuits, options: &SearchOptions) -> Result<Repaired> {
        let device = Some(self.device).filter(|device| device.is_gpu());
        match device.and_then(|device| DeviceEvaluator::new(&self.task, device)) {
            None => Ok(search::repair(circuits, &self.task, options)?),
            Some(evaluator) => {
                self.tallies.push(evaluator.tally());
                Ok(search::repair_with(circuits, &self.task, options, Box::new(evaluator))?)
            }
        }
    }

    /// What a person should know who asked for a GPU.
    fn words(&self) -> Option<String> {
        let counts = self.tallies.iter().map(CandidateTally::counts);
        let [there, here] = counts.fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]]);
        if self.device.is_gpu() && self.tallies.is_empty() {
            return Some("searched on the cpu: the grid is not one that fits a workgroup of the GPU".into());
        }
        (here > 0).then(|| {
            let of = counted(here + there, "candidate");
            format!("{} of {of} ran on the cpu, as they do not fit a workgroup of the GPU", count(here))
        })
    }
}

/// Repairs the circuits of a run on a device and keeps what is better. Says what became of each.
pub fn repair(
    run: &Run,
    effort: &Effort,
    which: AutomatonSelection,
    device: &Device,
    watcher: &dyn Watcher,
) -> Result<()> {
    if effort.candidates == 0 {
        return Ok(());
    }
    let learned = LearnedAutomata::of(run)?;
    let configuration = &learned.configuration;
    let task = task(&configuration.recipe, &configuration.settings);
    let mut searcher = Searcher { task, device, tallies: vec![] };
    let school = School { recipe: &configuration.recipe, settings: &configuration.settings, device };
    let proposals = proposals::learned(run, &learned)?;
    let all = learned.circuits.len() as u64;
    for (n, circuit) in learned.circuits.iter().enumerate() {
        watcher.advanced(n as u64, all, &format!("repairing seed {}", circuit.seed));
        let wrong = |automaton: &Automaton| examination(&learned, circuit, automaton).count_wrong();
        let (before, of) = wrong(&circuit.learned)?;
        let (now, _) = wrong(&circuit.automaton)?;
        if which == AutomatonSelection::Inexact && now == 0 {
            continue;
        }
        let found = find(run, circuit, &proposals[n], effort, &mut searcher, &school)?;
        let (after, _) = wrong(&found.repaired.automaton)?;
        if let Some(again) = &found.again {
            watcher.say(&format!("seed {}: {}", circuit.seed, again.words()));
        }
        let rank = |wrong: usize, automaton: &Automaton| (wrong, search::gates_of(automaton));
        if rank(after, &found.repaired.automaton) < rank(now, &circuit.automaton) {
            write(run, circuit, &found, [before, after, of])?;
        }
    }
    watcher.advanced(all, all, "repaired");
    searcher.words().into_iter().for_each(|words| watcher.say(&words));
    Ok(())
}

/// Searches for a better circuit of one seed.
fn find(
    run: &Run,
    circuit: &LearnedCircuit,
    proposals: &[Proposal],
    effort: &Effort,
    searcher: &mut Searcher,
    school: &School,
) -> Result<Found> {
    // What was repaired before is gone on with; proposals are about the gates that were learned.
    let (proposals, simplified) = match &circuit.repair {
        Some(_) => (&[][..], Some(circuit.automaton.clone())),
        None => (proposals, report::stored(run, circuit)),
    };
    let circuits = Circuits { learned: &circuit.learned, proposals, simplified: simplified.as_ref() };
    let options = SearchOptions {
        candidates: effort.candidates,
        time: effort.time,
        seed: circuit.seed.wrapping_add(effort.seed),
    };
    if effort.again {
        return school.search(searcher, &circuits, &options);
    }
    Ok(Found::new(searcher.search(&circuits, &options)?))
}

fn examination<'a>(
    learned: &'a LearnedAutomata,
    circuit: &LearnedCircuit,
    automaton: &'a Automaton,
) -> Examination<'a> {
    let (recipe, trained) = (&learned.configuration.recipe, report::trained(learned));
    Examination { recipe, automaton, trained, seed: circuit.seed }
}

/// The circuit first: what is known of it is what makes it count.
fn write(
    run: &Run,
    circuit: &LearnedCircuit,
    found: &Found,
    [wrong_before, wrong, of]: [usize; 3],
) -> Result<()> {
    let Found { repaired, from, again } = found;
    let texts = [report::text(&circuit.learned), report::text(&repaired.automaton)];
    let note = RepairNote {
        circuits: report::hash(&texts),
        wrong_before,
        wrong,
        of,
        candidates: repaired.candidates,
        right_after: repaired.right_after,
        from: (*from).into(),
        cut: repaired.cut,
        again: again.clone(),
    };
    let note = serde_json::to_string(&note).expect("numbers and texts") + "\n";
    for (name, text) in names(circuit.seed).iter().zip([&texts[1], &note]) {
        run.write_file(name, text.as_bytes())?;
    }
    Ok(())
}

/// What the circuits of a recipe should do.
fn task(recipe: &Recipe, settings: &AutomatonSettings) -> RepairTask {
    let AutomatonSettings { width, height, steps, fire_rate, .. } = *settings;
    let edge = recipe.topology.edge;
    let origin = match recipe.start {
        RolloutStart::RandomBits => StartingGrid::Random,
        RolloutStart::CenterOnes => StartingGrid::Center,
        RolloutStart::Zeros => StartingGrid::Zeros,
        RolloutStart::Boards => StartingGrid::Neighborhoods,
    };
    let task = |height: usize, width: usize| RepairTask {
        width,
        height,
        steps,
        edge,
        fire_rate,
        origin,
        wanted: wanted(recipe, height, width),
        others: vec![],
    };
    // What grows from one cell may not reach around this grid: it is the same on all that are larger.
    let alone = 2 * steps + 2;
    let grows =
        recipe.start == RolloutStart::CenterOnes && !recipe.trials.is_empty() && alone > height.max(width);
    let others = if grows { vec![task(alone, alone)] } else { vec![] };
    RepairTask { others, ..task(height, width) }
}

/// What is to be seen, `[visible, height, width]`; of rules, the next bit of every neighborhood.
fn wanted(recipe: &Recipe, height: usize, width: usize) -> Vec<bool> {
    if let RecipeTarget::Rule(rule) = &recipe.target {
        return (0..512).map(|number| rule.next(number)).collect();
    }
    let cells = recipe.picture(height, width).unwrap_or_default();
    let channels = 0..recipe.visible;
    channels.flat_map(|channel| cells[channel..].iter().step_by(recipe.visible).copied()).collect()
}
