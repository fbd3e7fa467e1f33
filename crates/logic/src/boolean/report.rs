//! The end of a run: the circuit is corrected, simplified, proved and judged, then written.
//!
//! [`judge`] writes nothing; [`conclude`] also writes `circuits/`, `plots/` and `report.md`. Both start from
//! the run's checkpoint and its table.

use std::path::Path;
use std::time::Duration;

use farad::run::{Chart, Conclusion, Events, LogTable, Page, Run, Series, Value, count, counted, json};
use farad::train::Watcher;
use farad_circuit::equivalence::Budget;
use farad_circuit::simplify::{SimplifyOptions, simplify};
use farad_circuit::{Circuit, Drawing, Netlist, Simulator, Statistics};

use super::patch::patch;
use super::table::{BitRows, TruthTable};
use super::trainee::LearnedFunction;
use crate::error::Result;
use crate::watched;

/// The results of a run's circuit.
pub struct BooleanVerdict {
    /// What was learned.
    pub learned: LearnedFunction,
    /// Rows that were learned, and whether they are all possible rows.
    pub rows: usize,
    /// Whether every combination of inputs was among them.
    pub complete: bool,
    /// Rows that the network's circuit got wrong.
    pub wrong_before: usize,
    /// Rows that the final circuit gets wrong.
    pub wrong: usize,
    /// Terms that correct rows.
    pub terms: usize,
    /// Held-out rows, and how many of them are right.
    pub held_back: Option<(usize, usize)>,
    /// The circuit with its terms.
    pub netlist: Netlist,
    /// The simplified circuit.
    pub simplified: Netlist,
    /// Whether the simplified circuit is proved equal.
    pub proved: bool,
    /// Whether the time for simplification ran out.
    pub out_of_time: bool,
}

impl BooleanVerdict {
    /// Whether no row is wrong.
    pub fn exact(&self) -> bool {
        self.wrong == 0
    }

    /// As one JSON object.
    pub fn json(&self) -> Value {
        let (before, after) = (Statistics::of(&self.netlist), Statistics::of(&self.simplified));
        json!({
            "task": "table",
            "seed": self.learned.settings.seed,
            "steps": self.learned.steps,
            "kept_after": self.learned.kept_after,
            "exact": self.exact(),
            "exact_before_repair": self.wrong_before == 0,
            "wrong": self.wrong,
            "wrong_before_repair": self.wrong_before,
            "of": self.rows,
            "complete": self.complete,
            "terms": self.terms,
            "accuracy": self.held_back.map(|(rows, right)| right as f64 / rows as f64),
            "held_back": self.held_back.map_or(0, |(rows, _)| rows),
            "active_gates": before.active,
            "simplified_gates": after.active,
            "depth": after.depth,
            "proved": self.proved,
            "out_of_time": self.out_of_time,
        })
    }

    /// The result as a sentence.
    pub fn sentence(&self) -> String {
        let of = counted(self.rows, "row");
        let exact = match (self.exact(), self.wrong_before) {
            (true, 0) => format!("exact on {of}"),
            (true, wrong) => {
                format!("exact on {of}, {} by {}", count(wrong), counted(self.terms, "added term"))
            }
            (false, _) => format!("not exact: {} of {of} wrong", count(self.wrong)),
        };
        let held = self.held_back.map_or(String::new(), |(rows, right)| {
            let percent = 100.0 * right as f64 / rows as f64;
            format!("; {percent:.2} % of {} held out", counted(rows, "row"))
        });
        let after = Statistics::of(&self.simplified);
        let proved = if self.proved { "proved equal" } else { "not proved equal" };
        format!("{exact}{held}; {}, {} deep, {proved}", counted(after.active, "gate"), count(after.depth))
    }
}

/// Corrects, simplifies and judges the kept circuit of a run.
pub fn judge(run: &Run, watcher: &dyn Watcher) -> Result<BooleanVerdict> {
    let learned = LearnedFunction::of(run)?;
    let settings = &learned.settings;
    let table = TruthTable::read(Path::new(&settings.data), &settings.target)?;
    let (rows, held) = table.parts(settings.test, settings.seed);
    let wrong = |netlist: &Netlist, rows: &BitRows| -> Result<usize> {
        Ok(rows.wrong(&Simulator::new(netlist)?.run(&rows.slices())).1)
    };
    let wrong_before = wrong(&learned.netlist, &rows)?;
    let (netlist, terms) = match settings.patch {
        true => patch(&learned.netlist, &rows)?,
        false => (learned.netlist.clone(), 0),
    };
    let time = Some(Duration::from_secs(settings.simplify_seconds));
    let smaller = watched(watcher, "", |progress| {
        let (proof, progress) = (Budget { time, ..Budget::default() }, progress.clone());
        simplify(&netlist, &SimplifyOptions { time, proof, progress, ..SimplifyOptions::default() })
    })?;
    let held_back = match &held {
        Some(held) => Some((held.count, held.count - wrong(&smaller.netlist, held)?)),
        None => None,
    };
    Ok(BooleanVerdict {
        rows: rows.count,
        complete: table.is_complete(),
        wrong_before,
        wrong: wrong(&smaller.netlist, &rows)?,
        terms,
        held_back,
        netlist,
        proved: smaller.report.equivalence.is_proved(),
        out_of_time: smaller.report.out_of_time,
        simplified: smaller.netlist,
        learned,
    })
}

const LEARNED: &str = "circuits/learned.json";
const RAW: &str = "circuits/circuit.json";
const SIMPLIFIED: &str = "circuits/simplified.json";

/// The simplified circuit of a run: from its file if it belongs to this network, otherwise recomputed.
pub fn simplified(run: &Run, watcher: &dyn Watcher) -> Result<Netlist> {
    let read = |name: &str| std::fs::read_to_string(run.path().join(name)).ok();
    let stored = read(SIMPLIFIED).filter(|_| {
        let learned = LearnedFunction::of(run).map(|learned| text(&learned.netlist));
        learned.is_ok_and(|learned| read(LEARNED).as_ref() == Some(&learned))
    });
    match stored.and_then(|text| Circuit::from_json(&text).ok()) {
        Some(Circuit::Netlist(netlist)) => Ok(netlist),
        _ => Ok(judge(run, watcher)?.simplified),
    }
}

fn text(netlist: &Netlist) -> String {
    Circuit::Netlist(netlist.clone()).to_json()
}

/// Judges, and writes circuits, plots and the report to the run's folder.
pub fn conclude(run: &Run, watcher: &dyn Watcher) -> Result<BooleanVerdict> {
    let verdict = judge(run, watcher)?;
    let circuits =
        [(LEARNED, &verdict.learned.netlist), (RAW, &verdict.netlist), (SIMPLIFIED, &verdict.simplified)];
    for (name, netlist) in circuits {
        run.write_file(name, text(netlist).as_bytes())?;
    }
    run.write_file("circuits/gates.csv", Statistics::of(&verdict.netlist).csv().as_bytes())?;
    let right = verdict.rows - verdict.wrong;
    Conclusion::share(verdict.learned.steps, "rows right", right as f64 / verdict.rows as f64).write(run)?;
    plots(run, &verdict)?;
    run.write_report(&page(run, &verdict)?)?;
    Ok(verdict)
}

fn plots(run: &Run, verdict: &BooleanVerdict) -> Result<()> {
    let settings = &verdict.learned.settings;
    let (log, about) =
        (LogTable::read(run.log_path())?, format!("seed {}, {}", settings.seed, settings.device));
    let loss = Series::new("hard gates, random rows", log.series("loss")).smoothed();
    let chart = Chart::new("Loss during training", "update", "squared differences of a row").about(&about);
    run.write_plot("loss", &chart.series(loss).svg())?;
    let drawing = Drawing::new("The circuit").about(&about).netlist("simplified", &verdict.simplified);
    run.write_plot("circuit", &drawing.netlist("with its terms", &verdict.netlist).svg())?;
    Ok(())
}

fn page(run: &Run, verdict: &BooleanVerdict) -> Result<String> {
    let settings = &verdict.learned.settings;
    let (before, after) = (Statistics::of(&verdict.netlist), Statistics::of(&verdict.simplified));
    let seconds = Events::training_seconds(&Events::read(run.events_path())?);
    let rows = if verdict.complete { "all that there are" } else { "samples" };
    let mut page = Page::with_result("table: a Boolean function", &verdict.sentence());
    page.facts([
        ("data", settings.data.clone()),
        ("rows", format!("{}, {rows}", count(verdict.rows))),
        ("wrong after training", count(verdict.wrong_before)),
        ("corrected by", counted(verdict.terms, "term")),
        (
            "circuit",
            format!("{} ({} active), depth {}", counted(before.gates, "gate"), before.active, before.depth),
        ),
        ("simplified", format!("{}, depth {}", counted(after.active, "gate"), after.depth)),
        ("proved equal", if verdict.proved { "yes".to_string() } else { "no".into() }),
        ("seed", settings.seed.to_string()),
        ("device", settings.device.clone()),
        ("training time", format!("{seconds:.1} s")),
    ]);
    page.words("Terms are products of inputs that match rows that the network got wrong, and no row that it got right.");
    page.section("Pictures");
    page.figure("plots/loss.svg", "Loss on the rows of the updates.");
    page.figure("plots/circuit.svg", "The circuit level by level, simplified and with its terms.");
    page.files(&[
        ("config.toml", "everything needed to train again"),
        ("log.csv", "loss and the share of right bits by update"),
        ("events.jsonl", "what happened when"),
        ("checkpoint.safetensors", "the network (`model.…`), the kept one (`best.…`), the optimizer"),
        ("circuits/", "the circuit as learned, with its terms, and simplified"),
        ("plots/", "the pictures above"),
        ("result.json", "what came out, for lists of runs"),
    ]);
    Ok(page.text())
}
