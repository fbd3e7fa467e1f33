//! The end of a run: the circuit is simplified, proved and judged on the test part, then written with pictures.
//!
//! [`judge`] writes nothing; [`conclude`] also writes `circuits/`, `plots/` and `report.md`. Both start from
//! the run's checkpoint, so they may be called again at any time. The circuit itself is judged, not the
//! network.

use farad::fit::Confusion;
use farad::fit::samples::{self, JudgedSample};
use farad::run::{
    Chart, Conclusion, Events, LogTable, Page, Run, Series, Sheet, Value, count, counted, json,
};
use farad::train::Watcher;
use farad_circuit::{Circuit, Drawing, LookupTables, Netlist, Simulator, Statistics};

use super::data::{ClassifierData, HostSamples, Levels};
use super::learned::LearnedClassifier;
use super::packed::pack;
use super::reads;
use super::repair::{self, ClassifierRepairNote, StoredRepair};
use super::smaller::{CircuitForm, Smaller, smaller};
use crate::error::Result;
use crate::{histogram, watched};

/// The results of a run's circuit.
pub struct ClassifierVerdict {
    /// What was learned.
    pub learned: LearnedClassifier,
    /// Samples of the test part.
    pub samples: usize,
    /// The confusion matrix.
    pub confusion: Confusion,
    /// Samples with the classes that the circuit gave them, if they are pictures.
    pub sheet: Option<Sheet>,
    /// The pixels that the simplified circuit reads, if samples are pictures.
    pub reads: Option<Sheet>,
    /// The circuit as learned, with its head.
    pub netlist: Netlist,
    /// The simplified circuit.
    pub simplified: Netlist,
    /// The simplified circuit with the counts of all classes as further outputs, if they still exist.
    pub with_counts: Option<Netlist>,
    /// Whether the simplified circuit is proved equal, apart from votes that were left out.
    pub proved: bool,
    /// Whether the time for simplification ran out.
    pub out_of_time: bool,
    /// Votes that its head counts.
    pub votes: usize,
    /// The fraction of the validation part that the simplified circuit gets right.
    pub validation: f64,
    /// The repaired circuit, if there is one.
    pub(super) repaired: Option<StoredRepair>,
}

impl ClassifierVerdict {
    /// The fraction of the test part that the circuit gets right.
    pub fn accuracy(&self) -> f64 {
        self.confusion.accuracy()
    }

    /// The simplified circuit by itself.
    fn smaller(&self) -> Smaller {
        Smaller {
            netlist: self.simplified.clone(),
            with_counts: self.with_counts.clone(),
            proved: self.proved,
            out_of_time: self.out_of_time,
            votes: self.votes,
        }
    }

    /// What repair did, if the circuit was repaired.
    pub fn repair(&self) -> Option<&ClassifierRepairNote> {
        self.repaired.as_ref().map(|repaired| &repaired.note)
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
            "gates": after.active,
            "depth": after.depth,
            "head": self.learned.settings.head,
            "votes": self.votes,
            "circuit_validation_accuracy": self.validation,
            "learned_gates": self.learned.network.gates(),
            "circuit_gates": before.gates,
            "active_gates": before.active,
            "simplified_gates": after.active,
            "simplified_depth": after.depth,
            "proved": self.proved,
            "out_of_time": self.out_of_time,
            "repair": self.repair(),
        })
    }

    /// The result as a sentence.
    pub fn sentence(&self) -> String {
        let (percent, right) = (100.0 * self.accuracy(), (self.accuracy() * self.samples as f64).round());
        let (gates, after) = (self.learned.network.gates(), Statistics::of(&self.simplified));
        let proved = match (self.proved, self.repaired.is_some()) {
            (true, false) => "proved equal",
            (true, true) => "proved equal to the repaired circuit",
            (false, _) => "not proved equal",
        };
        format!(
            "test accuracy of the circuit {percent:.2} % ({} of {}); {}, {} after simplification with the head, {} deep, {proved}",
            count(right as u64),
            count(self.samples),
            counted(gates, "learned gate"),
            count(after.active),
            count(after.depth)
        )
    }
}

/// The classes that a circuit gives to samples.
pub fn classify(netlist: &Netlist, thresholds: &[f32], part: &HostSamples) -> Result<Vec<usize>> {
    let planes = pack(part, thresholds);
    let outputs = Simulator::new(netlist)?.run(&planes.slices());
    let bit = |plane: &Vec<u64>, sample: usize| (plane[sample / 64] >> (sample % 64) & 1) as usize;
    let class =
        |sample: usize| outputs.iter().enumerate().map(|(n, plane)| bit(plane, sample) << n).sum::<usize>();
    Ok((0..part.len()).map(class).collect())
}

/// Simplifies and judges the kept circuit of a run.
pub fn judge(run: &Run, watcher: &dyn Watcher) -> Result<ClassifierVerdict> {
    let learned = LearnedClassifier::of(run)?;
    let data = ClassifierData::open(&mut learned.settings.clone())?;
    let netlist = learned.netlist()?;
    let repaired = repair::stored(run, &netlist);
    let small = match stored(run, &netlist, repaired.as_ref()) {
        Some(stored) => stored,
        None => {
            let form = form(&learned, repaired.as_ref(), Some(&data))?;
            watched(watcher, "", |progress| smaller(&learned, &form, progress))?
        }
    };
    let thresholds = learned.network.encoding().levels()?;
    let confusion = |part: &HostSamples, seen: &[usize]| {
        let mut confusion = Confusion::new(data.classes.len());
        part.labels.iter().zip(seen).for_each(|(&label, &seen)| confusion.add(label as usize, seen));
        confusion
    };
    let seen = classify(&small.netlist, &thresholds, &data.test)?;
    let validated = classify(&small.netlist, &thresholds, &data.validation)?;
    let Smaller { netlist: simplified, with_counts, proved, out_of_time, votes } = small;
    Ok(ClassifierVerdict {
        samples: data.test.len(),
        confusion: confusion(&data.test, &seen),
        sheet: sheet(&learned, &data.test, &seen),
        reads: reads::sheet(&simplified, &data.test, &about(&learned)),
        validation: confusion(&data.validation, &validated).accuracy(),
        learned,
        netlist,
        simplified,
        with_counts,
        proved,
        out_of_time,
        votes,
        repaired,
    })
}

/// Whether simplifying a circuit needs the data, because its head is cut with them.
fn is_cut(learned: &LearnedClassifier, repaired: Option<&StoredRepair>) -> bool {
    repaired.is_none() && learned.settings.head == "cut"
}

/// The circuit of a run before simplification: the repaired one, or the learned one, with its head cut with the
/// data if the settings say so.
pub(super) fn form(
    learned: &LearnedClassifier,
    repaired: Option<&StoredRepair>,
    data: Option<&ClassifierData>,
) -> Result<CircuitForm> {
    match repaired {
        Some(repaired) => Ok(repaired.form.clone()),
        None => CircuitForm::of(learned, data.filter(|_| is_cut(learned, repaired))),
    }
}

/// Samples of the test part with the circuit's classes; `None` if they are not pictures.
fn sheet(learned: &LearnedClassifier, test: &HostSamples, seen: &[usize]) -> Option<Sheet> {
    let Levels::Bytes(bytes) = &test.levels else { return None };
    let judged = |(place, &class): (usize, &i32)| JudgedSample {
        place,
        class: class as usize,
        seen: seen[place],
        sure: None,
    };
    let all: Vec<JudgedSample> = test.labels.iter().enumerate().map(judged).collect();
    let drawn = samples::sheet(&all, &learned.classes, &about(learned), |place| {
        let levels = &bytes[place * test.features()..][..test.features()];
        let values: Vec<f32> = levels.iter().map(|&level| f32::from(level) / 255.0).collect();
        Ok::<_, std::convert::Infallible>(samples::picture(&values, &test.shape))
    });
    drawn.unwrap_or_else(|never| match never {})
}

const RAW: &str = "circuits/circuit.json";
const SIMPLIFIED: &str = "circuits/simplified.json";
const COUNTED: &str = "circuits/counted.json";
const PROOF: &str = "circuits/proof.json";

/// The simplified circuit in the run's folder, if it belongs to this circuit.
pub(super) fn stored(run: &Run, netlist: &Netlist, repaired: Option<&StoredRepair>) -> Option<Smaller> {
    let read = |name: &str| std::fs::read_to_string(run.path().join(name)).ok();
    let (raw, simplified) = (read(RAW)?, read(SIMPLIFIED)?);
    let proof: Value = serde_json::from_str(&read(PROOF)?).ok()?;
    let known = proof["circuits"].as_u64() == Some(hash_of(&raw, repaired, &simplified));
    if raw != text(netlist) || !known {
        return None;
    }
    let counted = read(COUNTED).filter(|counted| proof["counted"].as_u64() == Some(hash(&[counted])));
    Some(Smaller {
        netlist: netlist_in(&simplified)?,
        with_counts: counted.and_then(|counted| netlist_in(&counted)),
        proved: proof["proved"].as_bool()?,
        out_of_time: proof["out_of_time"].as_bool()?,
        votes: proof["votes"].as_u64()? as usize,
    })
}

/// What a proof covers: the learned circuit, the repaired one if there is one, and the simplified one.
fn hash_of(raw: &str, repaired: Option<&StoredRepair>, simplified: &str) -> u64 {
    let repaired = repaired.map(|repaired| text(repaired.form.netlist()));
    let texts: Vec<&str> = [Some(raw), repaired.as_deref(), Some(simplified)].into_iter().flatten().collect();
    hash(&texts)
}

/// Writes the circuits of a run and their proof.
pub(super) fn write(
    run: &Run,
    netlist: &Netlist,
    repaired: Option<&StoredRepair>,
    small: &Smaller,
) -> Result<()> {
    let (raw, simplified) = (text(netlist), text(&small.netlist));
    let counted = small.with_counts.as_ref().map(text);
    let proof = json!({
        "circuits": hash_of(&raw, repaired, &simplified),
        "counted": counted.as_ref().map(|counted| hash(&[counted])),
        "proved": small.proved,
        "out_of_time": small.out_of_time,
        "votes": small.votes,
    });
    let written = [(RAW, raw), (SIMPLIFIED, simplified), (PROOF, proof.to_string() + "\n")];
    for (name, text) in written.into_iter().chain(counted.map(|counted| (COUNTED, counted))) {
        run.write_file(name, text.as_bytes())?;
    }
    Ok(())
}

pub(super) fn netlist_in(text: &str) -> Option<Netlist> {
    match Circuit::from_json(text).ok()? {
        Circuit::Netlist(netlist) => Some(netlist),
        Circuit::Automaton(_) => None,
    }
}

/// The simplified circuit of a run: from its file if it belongs to this circuit, otherwise recomputed. For
/// that, a cut head needs the run's data.
pub fn simplified(run: &Run, learned: &LearnedClassifier, watcher: &dyn Watcher) -> Result<Smaller> {
    let netlist = learned.netlist()?;
    let repaired = repair::stored(run, &netlist);
    match stored(run, &netlist, repaired.as_ref()) {
        Some(stored) => Ok(stored),
        None => {
            let open = || ClassifierData::open(&mut learned.settings.clone());
            let data = is_cut(learned, repaired.as_ref()).then(open).transpose()?;
            let form = form(learned, repaired.as_ref(), data.as_ref())?;
            watched(watcher, "", |progress| smaller(learned, &form, progress))
        }
    }
}

pub(super) fn text(netlist: &Netlist) -> String {
    Circuit::Netlist(netlist.clone()).to_json()
}

/// FNV-1a: the same on every platform and in every version.
pub(super) fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Judges, and writes circuits, plots and the report to the run's folder.
pub fn conclude(run: &Run, watcher: &dyn Watcher) -> Result<ClassifierVerdict> {
    let verdict = judge(run, watcher)?;
    write(run, &verdict.netlist, verdict.repaired.as_ref(), &verdict.smaller())?;
    run.write_file("circuits/gates.csv", Statistics::of(&verdict.netlist).csv().as_bytes())?;
    plots(run, &verdict)?;
    Conclusion::share(verdict.learned.steps, "test accuracy", verdict.accuracy()).write(run)?;
    run.write_report(&page(run, &verdict)?)?;
    Ok(verdict)
}

/// The subtitle of a picture: the run in a few words.
fn about(learned: &LearnedClassifier) -> String {
    let settings = &learned.settings;
    format!("{}, seed {}, {}", settings.title(), settings.seed, settings.device)
}

fn plots(run: &Run, verdict: &ClassifierVerdict) -> Result<()> {
    let (log, about) = (LogTable::read(run.log_path())?, about(&verdict.learned));
    let soft = Series::new("soft gates, training batches", log.series("soft_loss")).smoothed();
    let chart = Chart::new("Loss during training", "step", "cross-entropy (nats)").log_y().about(&about);
    run.write_plot("loss", &chart.series(soft).svg())?;
    let percent = |(step, share): (f64, f64)| (step, 100.0 * share);
    let hard =
        Series::new("hard gates", log.series("hard_accuracy").into_iter().map(percent)).color(1).markers();
    let chart = Chart::new(
        "Accuracy of the hard network on the validation set",
        "step",
        "samples classified right (%)",
    );
    run.write_plot("accuracy", &chart.about(&about).series(hard).svg())?;
    let (before, after) = (Statistics::of(&verdict.netlist), Statistics::of(&verdict.simplified));
    let name = |what: &str, of: &Statistics| format!("{what}: {} active", count(of.active));
    let panels = [(name("learned", &before), before.counts), (name("simplified", &after), after.counts)];
    let with_head = format!("{about}; with the head that counts votes");
    run.write_plot("gates", &histogram::gates(&with_head, &panels).svg())?;
    let drawing = Drawing::new("The circuit, from bits to the number of the class").about(&about);
    let drawing = drawing.netlist("simplified", &verdict.simplified).netlist("as learned", &verdict.netlist);
    run.write_plot("circuit", &drawing.svg())?;
    let matrix = verdict.confusion.matrix(&verdict.learned.classes, "test", &about);
    run.write_plot("confusion", &matrix.svg())?;
    if let Some(sheet) = &verdict.sheet {
        run.write_plot("samples", &sheet.svg())?;
    }
    if let Some(sheet) = &verdict.reads {
        run.write_plot("reads", &sheet.svg())?;
    }
    Ok(())
}

/// Classes in a table at most.
const MOST_CLASSES: usize = 30;

fn page(run: &Run, verdict: &ClassifierVerdict) -> Result<String> {
    let ClassifierVerdict { learned, confusion, .. } = verdict;
    let mut page = Page::with_result(&learned.settings.title(), &verdict.sentence());
    page.facts(facts(run, verdict)?);
    page.words("Only the simplified circuit was judged on the test part. The network, and the result of repair, were chosen on the validation part.");
    page.section("Pictures");
    page.figure("plots/loss.svg", "Loss of the soft gates on training batches.");
    page.figure("plots/accuracy.svg", "Accuracy of the same gates made hard, on the validation set.");
    page.figure(
        "plots/confusion.svg",
        "Confusion. Rows are classes, columns are predictions; the shade is the share of the row, blue what is right and orange what is wrong.",
    );
    if verdict.sheet.is_some() {
        page.figure(
            "plots/samples.svg",
            "Samples. First mistakes, framed and crossed, with the class and what was seen instead; then samples that were seen right.",
        );
    }
    if verdict.reads.is_some() {
        page.figure(
            "plots/reads.svg",
            "Pixels by how many gates of the simplified circuit read them, beside the mean of the test part.",
        );
    }
    page.figure(
        "plots/gates.svg",
        "Gates by function, as learned and after simplification, with the head that counts votes.",
    );
    page.figure(
        "plots/circuit.svg",
        "The circuit level by level, simplified and as learned. Copies and constants do not count as gates.",
    );
    if confusion.classes() <= MOST_CLASSES {
        page.section("Confusion in numbers");
        page.words(&confusion.table(&learned.classes));
    }
    page.files(&[
        ("config.toml", "everything needed to train again"),
        ("log.csv", "loss, learning rate and hard accuracy by step"),
        ("events.jsonl", "what happened when"),
        ("checkpoint.safetensors", "the network (`model.…`), the kept one (`best.…`), the optimizer"),
        ("circuits/", "the circuit as learned, repaired if it was, simplified, and what is proved"),
        ("plots/", "the pictures above"),
        ("result.json", "what came out, for lists of runs"),
    ]);
    page.words(&format!("Next: `farad export {} --format c --out c`", farad::run::shell_word(run.path())));
    Ok(page.text())
}

/// The resources of the circuit on an FPGA.
fn tables(netlist: &Netlist) -> String {
    let [four, six] = [4, 6].map(|inputs| netlist.lookup_tables(inputs));
    let said = |tables: LookupTables| {
        let LookupTables { inputs, count: tables, depth } = tables;
        format!("{} of {inputs} inputs, {} levels", count(tables), count(depth))
    };
    format!("{}; or {}", said(four), said(six))
}

fn facts(run: &Run, verdict: &ClassifierVerdict) -> Result<Vec<(&'static str, String)>> {
    let ClassifierVerdict { learned, netlist, simplified, .. } = verdict;
    let settings = &learned.settings;
    let events = Events::read(run.events_path())?;
    let (seconds, ranks) = (Events::training_seconds(&events), Events::on_ranks(&events));
    let (before, after) = (Statistics::of(netlist), Statistics::of(simplified));
    let validation = learned.validation.map_or("–".into(), |share| format!("{:.2} %", 100.0 * share));
    let (encoding, head) = (learned.network.encoding(), learned.network.head());
    let (gates, layers) = (learned.network.gates(), learned.network.layers().len());
    let (kept, steps) = (count(learned.kept_after), count(learned.steps));
    let thresholds = encoding.thresholds_per_feature();
    Ok(vec![
        ("data", format!("{} ({})", settings.task, settings.data)),
        (
            "encoding",
            format!(
                "{} with {}: {}",
                settings.encoding,
                counted(thresholds, "threshold"),
                counted(before.inputs, "bit")
            ),
        ),
        (
            "network",
            format!("{} in {}, {} wiring", counted(gates, "gate"), counted(layers, "layer"), settings.wiring),
        ),
        (
            "head",
            format!(
                "{} per class, tau {:.2}; the circuit counts {} of {}",
                counted(head.features() / learned.classes.len(), "output"),
                head.tau(),
                count(verdict.votes),
                counted(head.features(), "vote")
            ),
        ),
        ("kept", format!("after step {kept} of {steps}, {validation} of the validation part")),
        (
            "circuit",
            format!(
                "{} with the head ({} active), depth {}",
                counted(before.gates, "gate"),
                count(before.active),
                count(before.depth)
            ),
        ),
        (
            "simplified",
            format!(
                "{}, depth {}, {:.2} % of the validation part",
                counted(after.active, "gate"),
                count(after.depth),
                100.0 * verdict.validation
            ),
        ),
        ("repair", verdict.repair().map_or("not repaired".into(), ClassifierRepairNote::words)),
        ("lookup tables", tables(simplified)),
        ("proved equal", if verdict.proved { "yes".into() } else { "no".to_string() }),
        ("seed", settings.seed.to_string()),
        ("device", settings.device.clone()),
        ("training time", format!("{seconds:.1} s{ranks}")),
    ])
}
