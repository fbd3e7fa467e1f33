//! Repair of a run's circuits: a discrete search after training, and the storage of its results.
//!
//! The search itself is [`farad_circuit::repair`]; here is what a recipe asks of it. The gates that training
//! was least sure about are its first proposals. `device` evaluates candidates on a GPU. `again` restarts soft
//! training from a repaired circuit if the search is stuck, if asked to. A repaired circuit is stored beside
//! the learned one as `circuits/seed-N.repaired.json`, with its record in `circuits/seed-N.repair.json`.
//! `classify::repair` does the same for classifiers.
//!
//! Invariant: a stored repair belongs to this learned circuit, byte for byte. On starts that neither training
//! nor the search used, it has fewer wrong bits, or it is as right and smaller. Start at [`repair`](fn@repair).

mod again;
mod device;
mod network;
mod plain;
mod program;
mod proposals;

use std::time::Duration;

use farad::Device;
use farad::devices::AdapterKind;
use farad::group::{Combine, Group, share};
use farad::run::{Run, count, counted};
use farad::train::Watcher;
use farad_circuit::repair::{
    self as search, Circuits, Proposal, RepairTask, Repaired, SearchOptions, SearchPeers, StartingGrid,
};
use farad_circuit::{Automaton, Circuit, WorkProgress};
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
use crate::watched;
use again::{Found, School};

/// Default limit on the candidates of a search.
const MOST_CANDIDATES: u64 = 2_000_000;
/// Candidates per update of training: a short training is not followed by a long search.
const CANDIDATES_AN_UPDATE: u64 = 800;
/// After fewer updates nothing is searched, because that was only a trial.
const LEAST_UPDATES: u64 = 100;
/// Default limit on the seconds of a search per seed.
const SECONDS: u64 = 60;

/// The budget of a repair, per seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Candidates in total.
    pub candidates: u64,
    /// Time limit of a search.
    pub time: Option<Duration>,
    /// Added to a circuit's seed, for another search.
    pub seed: u64,
    /// Whether soft training restarts from the repaired circuit if the search is stuck. Unused for classifiers.
    pub again: bool,
}

impl Effort {
    /// A suitable budget after this many updates: zero after a few.
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

/// Which circuits to repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomatonSelection {
    /// Those that are not exact.
    Inexact,
    /// All: exact ones may become smaller.
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
    /// Bits that were checked.
    pub of: usize,
    /// Candidates tried.
    pub candidates: u64,
    /// Candidates tried until nothing was wrong on the starts of the search.
    pub right_after: Option<u64>,
    /// What the search started from: the `learned` circuit, the `simplified` one, one that was `retrained`, or
    /// `nothing`.
    pub from: String,
    /// Whether time ran out before the candidates did. Then another run may find another circuit.
    pub cut: bool,
    /// What soft training again did, if it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
}

impl RepairNote {
    /// The same as a sentence.
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
        let from = if self.from == "nothing" { ", found from nothing" } else { "" };
        let again = self.again.as_ref().map_or(String::new(), |again| format!(", {}", again.words()));
        let cut = if self.cut { ", cut by time" } else { "" };
        format!("seed {seed}: {before}; {after} ({}{from}{again}{cut})", counted(*candidates, "candidate"))
    }
}

/// The repaired circuit of a seed from the run's folder; `None` if there is none, or if it belongs to another
/// circuit.
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

/// The device for the search after training on this one: the same if it is a GPU, otherwise the CPU. A software
/// GPU is slower than the CPU.
pub fn device_after(trained: &Device) -> Device {
    let real =
        |index: usize| farad::adapters().get(index).is_some_and(|gpu| gpu.kind != AdapterKind::Software);
    match trained.is_gpu() && trained.index().is_some_and(real) {
        true => trained.clone(),
        false => Device::cpu(),
    }
}

/// Searches on a device, if it is a GPU and the grid fits in one of its workgroups, otherwise on the CPU.
struct Searcher<'a> {
    task: RepairTask,
    device: &'a Device,
    tallies: Vec<CandidateTally>,
    /// The ranks that search for the same circuit, if several do.
    peers: Option<PeersOfGroup>,
}

/// The ranks of a group, as a search sees them.
struct PeersOfGroup(Group);

impl SearchPeers for PeersOfGroup {
    fn place(&self) -> (usize, usize) {
        (self.0.rank(), self.0.size())
    }

    fn texts(
        &self,
        mine: &str,
    ) -> std::result::Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.0.all_texts(mine)?)
    }
}

impl Searcher<'_> {
    fn search(&mut self, circuits: &Circuits, options: &SearchOptions) -> Result<Repaired> {
        if let Some(peers) = &self.peers {
            return Ok(search::repair_among(circuits, &self.task, options, peers)?);
        }
        let device = Some(self.device).filter(|device| device.is_gpu());
        match device.and_then(|device| DeviceEvaluator::new(&self.task, device)) {
            None => Ok(search::repair(circuits, &self.task, options)?),
            Some(evaluator) => {
                self.tallies.push(evaluator.tally());
                Ok(search::repair_with(circuits, &self.task, options, Box::new(evaluator))?)
            }
        }
    }

    /// A note for a user who asked for a GPU.
    fn words(&self) -> Option<String> {
        let counts = self.tallies.iter().map(CandidateTally::counts);
        let [there, here] = counts.fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]]);
        if self.device.is_gpu() && self.tallies.is_empty() {
            return Some("searched on the cpu: the grid does not fit in a workgroup of the GPU".into());
        }
        (here > 0).then(|| {
            let of = counted(here + there, "candidate");
            format!(
                "{} of {of} ran on the cpu, because they do not fit in a workgroup of the GPU",
                count(here)
            )
        })
    }
}

/// Repairs the circuits of a run on a device and keeps better ones. Reports the outcome of each.
pub fn repair(
    run: &Run,
    effort: &Effort,
    which: AutomatonSelection,
    device: &Device,
    watcher: &dyn Watcher,
) -> Result<()> {
    repair_in(&Group::alone(), run, effort, which, device, watcher)
}

/// The same by several ranks, which can all read the run. Each takes its share of the circuits. If there are fewer circuits than
/// ranks, all search for one circuit after the other, each with its share of the chains of candidates; on GPUs and where networks
/// are trained again they do not. The first one writes. A search that time does not cut finds the same on any number of ranks.
pub fn repair_in(
    group: &Group,
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
    let together = search_together(group, learned.circuits.len(), effort, device)?;
    let peers = together.then(|| PeersOfGroup(group.clone()));
    let mut searcher = Searcher { task, device, tallies: vec![], peers };
    let school = School { recipe: &configuration.recipe, settings: &configuration.settings, device };
    let proposals = proposals::learned(run, &learned)?;
    let count = learned.circuits.len();
    let own = if together { 0..count } else { share(count, group.size(), group.rank()) };
    let (mut found_here, all) = (Vec::new(), own.len() as u64);
    for (n, circuit) in learned.circuits.iter().enumerate().skip(own.start).take(own.len()) {
        watcher.advanced((n - own.start) as u64, all, &format!("repairing seed {}", circuit.seed));
        let wrong = |automaton: &Automaton| examination(&learned, circuit, automaton).count_wrong();
        let (before, of) = wrong(&circuit.learned)?;
        let (now, _) = wrong(&circuit.automaton)?;
        if which == AutomatonSelection::Inexact && now == 0 {
            continue;
        }
        let seed = format!("seed {}", circuit.seed);
        let found = watched(watcher, &seed, |progress| {
            find(run, circuit, &proposals[n], effort, &mut searcher, &school, progress)
        })?;
        let (after, _) = wrong(&found.repaired.automaton)?;
        if let Some(again) = &found.again {
            watcher.say(&format!("seed {}: {}", circuit.seed, again.words()));
        }
        let rank = |wrong: usize, automaton: &Automaton| (wrong, search::gates_of(automaton));
        if rank(after, &found.repaired.automaton) < rank(now, &circuit.automaton) {
            let texts = texts(circuit, &found, [before, after, of]);
            match group.is_alone() {
                true => write(run, circuit.seed, &texts)?,
                false if together && !group.is_first() => {}
                false => found_here.push((circuit.seed, texts)),
            }
        }
    }
    if !group.is_alone() {
        let own = serde_json::to_string(&found_here).expect("numbers and texts");
        let all = group.all_texts(&own)?;
        let found = all.iter().flat_map(|text| serde_json::from_str::<Vec<(u64, [String; 2])>>(text));
        for (seed, texts) in found.flatten().filter(|_| group.is_first()) {
            write(run, seed, &texts)?;
        }
        group.barrier()?;
    }
    watcher.advanced(all, all, "repaired");
    searcher.words().into_iter().for_each(|words| watcher.say(&words));
    Ok(())
}

/// Whether all ranks search for the same circuit.
fn search_together(group: &Group, circuits: usize, effort: &Effort, device: &Device) -> Result<bool> {
    let can = circuits < group.size() && !effort.again && !device.is_gpu();
    let mut all = [u32::from(can)];
    group.all_reduce(&mut all, Combine::Min)?;
    Ok(all[0] == 1)
}

/// Searches for a better circuit of one seed.
fn find(
    run: &Run,
    circuit: &LearnedCircuit,
    proposals: &[Proposal],
    effort: &Effort,
    searcher: &mut Searcher,
    school: &School,
    progress: &WorkProgress,
) -> Result<Found> {
    // Continues from an earlier repair; proposals refer to the learned gates.
    let (proposals, simplified) = match &circuit.repair {
        Some(_) => (&[][..], Some(circuit.automaton.clone())),
        None => (proposals, report::stored(run, circuit)),
    };
    let circuits = Circuits { learned: &circuit.learned, proposals, simplified: simplified.as_ref() };
    let options = SearchOptions {
        candidates: effort.candidates,
        time: effort.time,
        seed: circuit.seed.wrapping_add(effort.seed),
        progress: progress.clone(),
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

/// A repaired circuit and its record, as they are stored.
fn texts(circuit: &LearnedCircuit, found: &Found, [wrong_before, wrong, of]: [usize; 3]) -> [String; 2] {
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
    let [_, repaired] = texts;
    [repaired, serde_json::to_string(&note).expect("numbers and texts") + "\n"]
}

/// The circuit first: it counts only once its record exists.
fn write(run: &Run, seed: u64, texts: &[String; 2]) -> Result<()> {
    for (name, text) in names(seed).iter().zip(texts) {
        run.write_file(name, text.as_bytes())?;
    }
    Ok(())
}

/// The task of a recipe's circuits.
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
    // What grows from one cell must not wrap around this grid: it is the same on all larger ones.
    let alone = 2 * steps + 2;
    let grows =
        recipe.start == RolloutStart::CenterOnes && !recipe.trials.is_empty() && alone > height.max(width);
    let others = if grows { vec![task(alone, alone)] } else { vec![] };
    RepairTask { others, ..task(height, width) }
}

/// The wanted result, `[visible, height, width]`; for rules, the next bit of every neighborhood.
fn wanted(recipe: &Recipe, height: usize, width: usize) -> Vec<bool> {
    if let RecipeTarget::Rule(rule) = &recipe.target {
        return (0..512).map(|number| rule.next(number)).collect();
    }
    let cells = recipe.picture(height, width).unwrap_or_default();
    let channels = 0..recipe.visible;
    channels.flat_map(|channel| cells[channel..].iter().step_by(recipe.visible).copied()).collect()
}
