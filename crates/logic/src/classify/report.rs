//! The end of a run: the circuit simplified, proved and judged on the test part, then written down with pictures.
//!
//! [`judge`] only looks; [`conclude`] also writes `circuits/`, `plots/` and `report.md`. Both start from the run's
//! checkpoint, so they may be called again at any time. What is judged is the circuit itself, not the network.

use std::time::Duration;

use farad::fit::Confusion;
use farad::run::{Bars, Chart, Events, LogTable, Run, Value, json};
use farad_circuit::equivalence::Budget;
use farad_circuit::simplify::{Options, simplify};
use farad_circuit::{Circuit, Gate, Netlist, Simulator, Statistics};

use super::data::{Data, Part};
use super::learned::Learned;
use super::packed::pack;
use crate::error::Result;

/// What is known of a run's circuit.
pub struct Verdict {
    /// What was learned.
    pub learned: Learned,
    /// Samples of the test part.
    pub samples: usize,
    /// Which classes were taken for which.
    pub confusion: Confusion,
    /// The circuit as it was learned, with its head.
    pub netlist: Netlist,
    /// The same, smaller.
    pub simplified: Netlist,
    /// Whether the simplified circuit is proved equal.
    pub proved: bool,
    /// Whether the time for simplification ran out.
    pub out_of_time: bool,
}

impl Verdict {
    /// The share of the test part that the circuit has right.
    pub fn accuracy(&self) -> f64 {
        self.confusion.accuracy()
    }

    /// As one JSON object.
    pub fn json(&self) -> Value {
        let (before, after) = (Statistics::of(&self.netlist), Statistics::of(&self.simplified));
        json!({
            "task": self.learned.settings.task,
            "model": self.learned.settings.model,
            "seed": self.learned.settings.seed,
            "steps": self.learned.steps,
            "kept_after": self.learned.kept_after,
            "validation_accuracy": self.learned.validation,
            "accuracy": self.accuracy(),
            "samples": self.samples,
            "learned_gates": self.learned.network.gates(),
            "circuit_gates": before.gates,
            "simplified_gates": after.active,
            "simplified_depth": after.depth,
            "proved": self.proved,
            "out_of_time": self.out_of_time,
        })
    }

    /// How good it is, in words.
    pub fn sentence(&self) -> String {
        let (percent, right) = (100.0 * self.accuracy(), (self.accuracy() * self.samples as f64).round());
        let (gates, after) = (self.learned.network.gates(), Statistics::of(&self.simplified));
        let proved = if self.proved { "proved equal" } else { "not proved equal" };
        format!(
            "test accuracy of the circuit {percent:.2} % ({right} of {}); {gates} learned gates, {} after simplification with the head, {} deep, {proved}",
            self.samples, after.active, after.depth
        )
    }
}

/// The classes that a circuit sees in samples.
pub fn classify(netlist: &Netlist, thresholds: &[f32], part: &Part) -> Result<Vec<usize>> {
    let planes = pack(part, thresholds);
    let outputs = Simulator::new(netlist)?.run(&planes.slices());
    let bit = |plane: &Vec<u64>, sample: usize| (plane[sample / 64] >> (sample % 64) & 1) as usize;
    let class =
        |sample: usize| outputs.iter().enumerate().map(|(n, plane)| bit(plane, sample) << n).sum::<usize>();
    Ok((0..part.len()).map(class).collect())
}

/// Simplifies and judges the kept circuit of a run.
pub fn judge(run: &Run) -> Result<Verdict> {
    let learned = Learned::of(run)?;
    let data = Data::open(&mut learned.settings.clone())?;
    let netlist = learned.netlist()?;
    let (simplified, proved, out_of_time) = match stored(run, &netlist) {
        Some(stored) => stored,
        None => smaller(&learned, &netlist)?,
    };
    let seen = classify(&simplified, &learned.network.encoding().levels()?, &data.test)?;
    let mut confusion = Confusion::new(data.classes.len());
    for (&label, &seen) in data.test.labels.iter().zip(&seen) {
        confusion.add(label as usize, seen);
    }
    let samples = data.test.len();
    Ok(Verdict { learned, samples, confusion, netlist, simplified, proved, out_of_time })
}

fn smaller(learned: &Learned, netlist: &Netlist) -> Result<(Netlist, bool, bool)> {
    let time = Some(Duration::from_secs(learned.settings.simplify_seconds as u64));
    let options = Options { time, proof: Budget { time, ..Budget::default() }, ..Options::default() };
    let simplified = simplify(netlist, &options)?;
    let report = simplified.report;
    Ok((simplified.netlist, report.equivalence.is_proved(), report.out_of_time))
}

const RAW: &str = "circuits/circuit.json";
const SIMPLIFIED: &str = "circuits/simplified.json";
const PROOF: &str = "circuits/proof.json";

/// What the run's folder has, if it belongs to this very circuit.
fn stored(run: &Run, netlist: &Netlist) -> Option<(Netlist, bool, bool)> {
    let read = |name: &str| std::fs::read_to_string(run.path().join(name)).ok();
    let (raw, simplified) = (read(RAW)?, read(SIMPLIFIED)?);
    let proof: Value = serde_json::from_str(&read(PROOF)?).ok()?;
    let known = proof["circuits"].as_u64() == Some(hash(&[&raw, &simplified]));
    if raw != text(netlist) || !known {
        return None;
    }
    match Circuit::from_json(&simplified).ok()? {
        Circuit::Netlist(netlist) => {
            Some((netlist, proof["proved"].as_bool()?, proof["out_of_time"].as_bool()?))
        }
        Circuit::Automaton(_) => None,
    }
}

/// The simplified circuit of a run: from its file if that is of this very circuit, else made anew.
pub fn simplified(run: &Run, learned: &Learned) -> Result<Netlist> {
    let netlist = learned.netlist()?;
    match stored(run, &netlist) {
        Some((simplified, _, _)) => Ok(simplified),
        None => Ok(smaller(learned, &netlist)?.0),
    }
}

fn text(netlist: &Netlist) -> String {
    Circuit::Netlist(netlist.clone()).to_json()
}

/// FNV-1a: the same in every version of everything.
fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Judges, and writes circuits, plots and the report into the run's folder.
pub fn conclude(run: &Run) -> Result<Verdict> {
    let verdict = judge(run)?;
    let (raw, simplified) = (text(&verdict.netlist), text(&verdict.simplified));
    let (proved, out_of_time) = (verdict.proved, verdict.out_of_time);
    let proof =
        json!({ "circuits": hash(&[&raw, &simplified]), "proved": proved, "out_of_time": out_of_time });
    for (name, text) in [(RAW, raw), (SIMPLIFIED, simplified), (PROOF, proof.to_string() + "\n")] {
        run.write_file(name, text.as_bytes())?;
    }
    run.write_file("circuits/gates.csv", Statistics::of(&verdict.netlist).csv().as_bytes())?;
    plots(run, &verdict)?;
    run.write_report(&page(run, &verdict)?)?;
    Ok(verdict)
}

fn plots(run: &Run, verdict: &Verdict) -> Result<()> {
    let log = LogTable::read(run.log_path())?;
    let chart = Chart::new("loss", "step", "cross-entropy of the soft network").log_y();
    run.write_plot("loss", &chart.line("training", log.series("soft_loss")).svg())?;
    let percent = |(step, share): (f64, f64)| (step, 100.0 * share);
    let accuracy = log.series("hard_accuracy").into_iter().map(percent);
    let chart = Chart::new("accuracy of the hard network", "step", "percent of the validation part");
    run.write_plot("accuracy", &chart.line("hard", accuracy).svg())?;
    let (before, after) = (Statistics::of(&verdict.netlist), Statistics::of(&verdict.simplified));
    let names = Gate::ALL.map(|gate| gate.name());
    let counts = |of: &Statistics| of.counts.map(|count| count as f64);
    let bars = Bars::new("gates of the circuit, head included", "gates", &names);
    let bars = bars.series("as learned", counts(&before)).series("simplified", counts(&after));
    run.write_plot("gates", &bars.svg())?;
    if verdict.confusion.classes() <= MOST_CLASSES {
        run.write_picture("confusion", &verdict.confusion.picture(&verdict.learned.classes))?;
    }
    Ok(())
}

/// Classes in a table or a picture at most.
const MOST_CLASSES: usize = 30;

fn page(run: &Run, verdict: &Verdict) -> Result<String> {
    let Verdict { learned, netlist, simplified, confusion, .. } = verdict;
    let settings = &learned.settings;
    let seconds = Events::training_seconds(&Events::read(run.events_path())?);
    let (before, after) = (Statistics::of(netlist), Statistics::of(simplified));
    let validation = learned.validation.map_or("–".into(), |share| format!("{:.2} %", 100.0 * share));
    let thresholds = learned.network.encoding().thresholds_per_feature();
    let facts = [
        ("data", format!("{} ({})", settings.task, settings.data)),
        ("encoding", format!("{} with {thresholds} thresholds: {} bits", settings.encoding, before.inputs)),
        (
            "network",
            format!(
                "{} gates in {} layers, {} wiring",
                learned.network.gates(),
                learned.network.layers().len(),
                settings.wiring
            ),
        ),
        (
            "head",
            format!(
                "{} outputs a class, tau {:.2}",
                learned.network.head().features() / learned.classes.len(),
                learned.network.head().tau()
            ),
        ),
        (
            "kept",
            format!(
                "after step {} of {}, {validation} of the validation part",
                learned.kept_after, learned.steps
            ),
        ),
        (
            "circuit",
            format!(
                "{} gates with the head ({} active), depth {}",
                before.gates, before.active, before.depth
            ),
        ),
        ("simplified", format!("{} gates, depth {}", after.active, after.depth)),
        ("proved equal", if verdict.proved { "yes".into() } else { "no".to_string() }),
        ("seed", settings.seed.to_string()),
        ("device", settings.device.clone()),
        ("training time", format!("{seconds:.1} s")),
    ];
    let mut text = format!("# {}\n\n{}\n\n| | |\n|---|---|\n", settings.title(), verdict.sentence());
    facts.iter().for_each(|(name, value)| text += &format!("| {name} | {value} |\n"));
    text += "\nThe test part was looked at once, by the simplified circuit itself; the network was chosen by the validation part.\n\n";
    if confusion.classes() <= MOST_CLASSES {
        text += &format!("## Confusion\n\n{}\n", confusion.table(&learned.classes));
    }
    text += "## Pictures\n\n![Loss](plots/loss.svg)\n\n![Accuracy](plots/accuracy.svg)\n\n![Gates](plots/gates.svg)\n\n";
    if confusion.classes() <= MOST_CLASSES {
        text += "![Confusion: rows are classes, columns what they were seen as](plots/confusion.png)\n\n";
    }
    text += "## Files\n\n\
        - `config.toml`: everything needed to train again\n\
        - `log.csv`: loss, learning rate and hard accuracy by step\n\
        - `events.jsonl`: what happened when\n\
        - `checkpoint.safetensors`: the network (`model.…`), the kept one (`best.…`), the optimiser\n\
        - `circuits/`: the circuit as learned, simplified, and what is proved\n\
        - `plots/`: the pictures above\n\n";
    text += &format!("Next: `farad export {} --format c --out c`\n", run.path().display());
    Ok(text)
}
