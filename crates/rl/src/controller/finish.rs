//! The end of a run: the circuit is hardened, repaired, tested on its task, simplified, proved, judged and
//! written.

use farad::Result;
use farad::run::{Chart, Conclusion, Events, LogTable, Page, Run, Series, Value, count, counted, json};
use farad::train::{TrainError, Watcher};
use farad_circuit::equivalence::{Budget, equivalent};
use farad_circuit::repair::{ClassifierCircuit, PanelSamples, Reading, SearchOptions, repair_classifier};
use farad_circuit::{Circuit, Drawing, Format, Netlist, Statistics, WorkProgress, export, simplify};
use farad_logic::watched;

use super::driven::{DrivenStarts, Earned, earned_from};
use super::lesson_tree::lesson_tree;
use super::observation_code::ObservationCode;
use super::search::settle_in_loop;
use super::settings::ControllerSettings;
use super::task::{ControlGoal, ControlTask};
use super::trainee::{CodedLessons, circuit, network};

/// Seed offset for the starts that judge a circuit.
const JUDGED: u64 = 0x6a75_6467_6564;
/// Seed offset for the starts that choose the circuit from which the search begins.
const COMPARED: u64 = 0x636f_6d70_6172;

const LEARNED: &str = "circuits/learned.json";
const REPAIRED: &str = "circuits/repaired.json";
const SIMPLIFIED: &str = "circuits/simplified.json";

/// The results of a run's controller.
pub struct ControllerVerdict {
    /// What it was trained with.
    pub settings: ControllerSettings,
    /// Updates made.
    pub updates: u64,
    /// The circuit as learned and hardened.
    pub learned: Netlist,
    /// The circuit after repair on samples and in closed loop.
    pub repaired: Netlist,
    /// The simplified circuit.
    pub simplified: Netlist,
    /// Whether the simplified circuit is proved equal.
    pub proved: bool,
    /// Returns from every start of the judging.
    pub returns: Vec<f64>,
    /// Body lengths from every start, in worlds of bodies.
    pub ahead: Option<Vec<f64>>,
    /// Returns of the circuit as learned.
    pub learned_returns: Vec<f64>,
}

fn mean(returns: &[f64]) -> f64 {
    returns.iter().sum::<f64>() / returns.len().max(1) as f64
}

impl ControllerVerdict {
    /// What the circuit is for.
    pub fn task(&self) -> &'static ControlTask {
        self.settings.task()
    }

    /// Starts that survived to the end; none where every start does.
    pub fn held(&self) -> Option<usize> {
        let whole = self.task().longest as f64;
        let held = || self.returns.iter().filter(|&&earned| earned == whole).count();
        (self.task().goal == ControlGoal::Survive).then(held)
    }

    /// The least that a start came to.
    fn worst(&self) -> f64 {
        self.returns.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }

    /// As one JSON object.
    pub fn json(&self) -> Value {
        let after = Statistics::of(&self.simplified);
        let mut json = json!({
            "world": self.task().name, "algorithm": "circuit", "seed": self.settings.seed, "updates": self.updates,
            "episodes": self.returns.len(), "return_mean": mean(&self.returns), "return_min": self.worst(),
            "return_mean_learned": mean(&self.learned_returns),
            "learned_gates": Statistics::of(&self.learned).active_live,
            "repaired_gates": Statistics::of(&self.repaired).active_live,
            "simplified_gates": after.active, "depth": after.depth, "proved": self.proved,
        });
        if let Some(held) = self.held() {
            // Returns are numbers of steps there.
            (json["held"], json["return_min"]) = (held.into(), (self.worst() as u64).into());
        }
        if let Some(ahead) = &self.ahead {
            let least = ahead.iter().copied().fold(f64::INFINITY, f64::min);
            (json["body_lengths_mean"], json["body_lengths_min"]) = (mean(ahead).into(), least.into());
        }
        json
    }

    /// The result as a sentence.
    pub fn sentence(&self) -> String {
        let after = Statistics::of(&self.simplified);
        let proved = if self.proved { "proved equal" } else { "not proved equal" };
        let (gates, depth) = (counted(after.active, "gate"), count(after.depth));
        let (mean, all) = (mean(&self.returns), counted(self.returns.len(), "start"));
        let earned = match self.held() {
            Some(held) => {
                let longest = self.task().longest;
                format!("held for {longest} steps from {} of {all} (mean {mean:.1})", count(held))
            }
            None => format!("mean return {mean:.1} from {all}, {:.1} from the worst", self.worst()),
        };
        let earned = match self.ahead.as_deref() {
            Some(ahead) => format!("{earned}, {:.1} body lengths ahead", self::mean(ahead)),
            None => earned,
        };
        format!("{earned}; {gates}, {depth} deep, {proved}")
    }
}

/// The simplified circuit of a run: from its file, or recomputed.
pub fn simplified(run: &Run, watcher: &dyn Watcher) -> Result<Netlist> {
    match stored(run, SIMPLIFIED) {
        Some(netlist) => Ok(netlist),
        None => Ok(judge(run, watcher)?.simplified),
    }
}

/// The circuit of a run before simplification: from its file, or recomputed.
pub fn repaired(run: &Run, watcher: &dyn Watcher) -> Result<Netlist> {
    match stored(run, REPAIRED) {
        Some(netlist) => Ok(netlist),
        None => Ok(judge(run, watcher)?.repaired),
    }
}

/// A circuit that the run wrote for its current checkpoint.
fn stored(run: &Run, name: &str) -> Option<Netlist> {
    let learned = learned(run).ok()?.0;
    let read = |name: &str| std::fs::read_to_string(run.path().join(name)).ok();
    if read(LEARNED)? != text(&learned) {
        return None;
    }
    match Circuit::from_json(&read(name)?).ok()? {
        Circuit::Netlist(netlist) => Some(netlist),
        Circuit::Automaton(_) => None,
    }
}

fn text(netlist: &Netlist) -> String {
    Circuit::Netlist(netlist.clone()).to_json()
}

/// The hardened circuit of a run's checkpoint, the code of its inputs, and the number of updates.
fn learned(run: &Run) -> Result<(Netlist, ObservationCode, u64)> {
    let settings = ControllerSettings::of(run)?;
    let checkpoint =
        run.checkpoint()?.ok_or_else(|| TrainError::NothingLearned { path: run.path().into() })?;
    let code = match checkpoint.value::<ObservationCode>() {
        Ok(code) => code,
        // A run from before checkpoints had it.
        Err(_) => CodedLessons::new(&settings)?.code,
    };
    let network = network(&settings, code.all().count());
    checkpoint.restore_module("model", &network)?;
    Ok((circuit(settings.task(), &network, &code)?, code, checkpoint.step()))
}

/// The starts for a purpose.
fn starts(settings: &ControllerSettings, purpose: u64) -> DrivenStarts {
    DrivenStarts { worlds: settings.episodes, steps: settings.episode_steps(), seed: settings.seed ^ purpose }
}

/// Repairs, simplifies and judges the circuit of a run; reuses what the run has already written.
pub fn judge(run: &Run, watcher: &dyn Watcher) -> Result<ControllerVerdict> {
    let settings = ControllerSettings::of(run)?;
    let (learned, code, updates) = learned(run)?;
    let (repaired, simplified) = match (stored(run, REPAIRED), stored(run, SIMPLIFIED)) {
        (Some(repaired), Some(simplified)) => (repaired, simplified),
        _ => {
            let lessons = CodedLessons::new(&settings)?;
            watched(watcher, "", |progress| -> Result<(Netlist, Netlist)> {
                let repaired = repair(&learned, &lessons, &settings, progress)?;
                let progress = progress.clone();
                let options = simplify::SimplifyOptions { time: None, progress, ..Default::default() };
                let smaller = simplify::simplify(&repaired, &options).map_err(farad_logic::Error::from)?;
                Ok((repaired, smaller.netlist))
            })?
        }
    };
    let proof = equivalent(&repaired, &simplified, &Budget::default()).map_err(farad_logic::Error::from)?;
    let task = settings.task();
    let starts = starts(&settings, JUDGED);
    let earned = |netlist: &Netlist| earned_from(task, netlist, &code, starts);
    let Earned { returns, ahead } = earned(&simplified)?;
    Ok(ControllerVerdict {
        updates,
        returns,
        ahead,
        learned_returns: earned(&learned)?.returns,
        proved: proof.is_proved(),
        settings,
        learned,
        repaired,
        simplified,
    })
}

/// The circuit after repair on samples, by `crates/circuit`.
fn on_samples(
    learned: &Netlist,
    lessons: &CodedLessons,
    settings: &ControllerSettings,
    progress: &WorkProgress,
) -> Result<Netlist> {
    let half = lessons.bits.len() / 2;
    let samples = |from: usize, to: usize| {
        let mut planes = vec![vec![0u64; (to - from).div_ceil(64)]; learned.inputs.len()];
        for (n, row) in lessons.bits[from..to].iter().enumerate() {
            for (plane, &bit) in planes.iter_mut().zip(row) {
                plane[n / 64] |= u64::from(bit) << (n % 64);
            }
        }
        PanelSamples { planes, labels: lessons.wanted[from..to].iter().map(|&bits| bits as usize).collect() }
    };
    let classifier = ClassifierCircuit { netlist: learned, reading: Reading::Number, suggestions: &[] };
    let (candidates, seed, told) = (settings.repair, settings.seed, progress);
    let options = SearchOptions { candidates, time: None, seed, progress: told.clone() };
    let found = repair_classifier(&classifier, &samples(0, half), &samples(half, 2 * half), &options);
    let mut netlist = found.map_err(farad_logic::Error::from)?.netlist;
    (netlist.name, netlist.meta) = (learned.name.clone(), learned.meta.clone());
    Ok(netlist)
}

/// First on samples; then in closed loop, where worlds run on the host.
fn repair(
    learned: &Netlist,
    lessons: &CodedLessons,
    settings: &ControllerSettings,
    progress: &WorkProgress,
) -> Result<Netlist> {
    let on_samples = match settings.repair {
        0 => learned.clone(),
        _ => on_samples(learned, lessons, settings, progress)?,
    };
    // A circuit that agrees with more samples may still earn less.
    let (task, code) = (settings.task(), &lessons.code);
    let sum = |netlist: &Netlist| -> Result<f64> {
        let found = earned_from(task, netlist, code, starts(settings, COMPARED))?;
        Ok(found.returns.iter().sum())
    };
    let before = sum(learned)?;
    let after = if on_samples == *learned { before } else { sum(&on_samples)? };
    let (best, begin) = if after >= before { (after, on_samples) } else { (before, learned.clone()) };
    let tree = (settings.tree > 0).then(|| lesson_tree(lessons, learned, settings.tree, task.group));
    let begin = match tree {
        Some(tree) if sum(&tree)? > best => tree,
        _ => begin,
    };
    match task.host {
        Some(_) => {
            Ok(settle_in_loop(task, &begin, code, (settings.search, settings.seed), progress)?.netlist)
        }
        None => Ok(begin),
    }
}

/// Judges, and writes circuits, Verilog, C, plots and the report to the run's folder.
pub fn conclude(run: &Run, watcher: &dyn Watcher) -> Result<ControllerVerdict> {
    let verdict = judge(run, watcher)?;
    let circuits =
        [(LEARNED, &verdict.learned), (REPAIRED, &verdict.repaired), (SIMPLIFIED, &verdict.simplified)];
    for (name, netlist) in circuits {
        run.write_file(name, text(netlist).as_bytes())?;
    }
    for format in ["verilog", "c"] {
        let format = Format::named(format).map_err(farad_logic::Error::from)?;
        let files = export(&Circuit::Netlist(verdict.simplified.clone()), format);
        for (name, text) in files.map_err(farad_logic::Error::from)? {
            run.write_file(format!("circuits/{name}"), text.as_bytes())?;
        }
    }
    Conclusion::new(verdict.updates, "mean return", mean(&verdict.returns), verdict.sentence()).write(run)?;
    plots(run, &verdict)?;
    run.write_report(&page(run, &verdict)?)?;
    Ok(verdict)
}

fn plots(run: &Run, verdict: &ControllerVerdict) -> Result<()> {
    let about = format!("seed {}, {}", verdict.settings.seed, verdict.settings.device);
    let loss =
        Series::new("hard gates, random samples", LogTable::read(run.log_path())?.series("loss")).smoothed();
    let chart = Chart::new("Loss during training", "update", "squared difference").about(&about);
    run.write_plot("loss", &chart.series(loss).svg())?;
    let drawing = Drawing::new("The controller").about(&about).netlist("simplified", &verdict.simplified);
    run.write_plot("circuit", &drawing.svg())?;
    Ok(())
}

fn page(run: &Run, verdict: &ControllerVerdict) -> Result<String> {
    let Statistics { depth, .. } = Statistics::of(&verdict.simplified);
    let gates = |netlist: &Netlist| counted(Statistics::of(netlist).active_live, "gate");
    let seconds = Events::training_seconds(&Events::read(run.events_path())?);
    let title = format!("{}: a controller of logic gates", verdict.task().subject);
    let mut page = Page::with_result(&title, &verdict.sentence());
    let unit = if verdict.held().is_some() { " steps" } else { " return" };
    page.facts([
        ("learned", format!("{}, mean {:.1}{unit}", gates(&verdict.learned), mean(&verdict.learned_returns))),
        ("repaired", gates(&verdict.repaired)),
        ("simplified", format!("{}, depth {depth}", gates(&verdict.simplified))),
        ("proved equal", if verdict.proved { "yes".to_string() } else { "no".into() }),
        ("seed", verdict.settings.seed.to_string()),
        ("device", verdict.settings.device.clone()),
        ("training time", format!("{seconds:.1} s")),
    ]);
    page.section("Inputs");
    page.words(&format!("A bit is set when the number is above its threshold. {}", verdict.task().meaning));
    if let Some(code) = ObservationCode::of(&verdict.simplified) {
        let live = verdict.simplified.live_wires();
        let rows = code
            .names(verdict.task().numbers)
            .into_iter()
            .zip(code.all())
            .zip(&live)
            .filter(|(_, live)| **live);
        let rows: Vec<Vec<String>> =
            rows.map(|((name, (_, level)), _)| vec![name, level.to_string()]).collect();
        page.table(&["input", "threshold"], &rows);
    }
    page.section("Pictures");
    page.figure("plots/circuit.svg", "The simplified circuit level by level.");
    page.figure("plots/loss.svg", "Loss on the samples of the updates.");
    page.files(&[
        ("config.toml", "everything needed to train again"),
        ("log.csv", "loss and the share of right samples by update"),
        ("events.jsonl", "what happened when"),
        ("checkpoint.safetensors", "the gates (`model.…`) and the optimizer"),
        ("circuits/", "the circuit as learned, repaired and simplified, as Verilog and as C"),
        ("plots/", "the pictures above"),
        ("result.json", "what came out, for lists of runs"),
    ]);
    Ok(page.text())
}
