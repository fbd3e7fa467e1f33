//! `report.md`: what was trained, the results, and where to find things.

use std::fmt::Write;

use farad::run::{Events, Page, Run, count, counted, shell_word};
use farad::train::settings::SettingsTable as _;
use farad_circuit::Statistics;

use super::{SeedVerdict, SimplifyPass, inexact, yes};
use crate::error::Result;
use crate::settings::AutomatonSettings;
use crate::train::{Configuration, LearnedAutomata};

/// What came out, in a sentence.
fn result(verdicts: &[SeedVerdict]) -> String {
    let exact = verdicts.iter().filter(|verdict| verdict.evaluation.exact).count();
    let proved = verdicts.iter().filter(|verdict| verdict.proved).count();
    if let [verdict] = verdicts {
        let (wrong, of) = (verdict.evaluation.wrong, verdict.evaluation.of);
        let left = counted(verdict.simplified_gates, "gate");
        let same = if proved == 1 { "proved to do the same" } else { "not proved to do the same" };
        return format!("{}; simplified to {left}, {same}", inexact(&[(wrong, of)]));
    }
    let (of, circuits) = (verdicts.len(), counted(verdicts.len(), "circuit"));
    format!("{exact} of {circuits} exact, {proved} of {of} proved equal after simplification")
}

/// The page.
pub fn text(run: &Run, learned: &LearnedAutomata, verdicts: &[SeedVerdict]) -> Result<String> {
    let Configuration { recipe, device, seeds, settings } = &learned.configuration;
    let mut page = Page::new(recipe.name, &recipe.about);
    let events = Events::read(run.events_path())?;
    let (seconds, ranks) = (Events::training_seconds(&events), Events::on_ranks(&events));
    page.result(&result(verdicts));
    let topology = recipe.topology.clone();
    page.facts([
        ("updates", count(learned.updates)),
        (
            "learned gates",
            format!("{} in a cell of {}", count(topology.gates()), counted(topology.channels, "channel")),
        ),
        (
            "grid",
            format!(
                "{}×{} cells, {}, batch {}",
                settings.width,
                settings.height,
                counted(settings.steps, "step"),
                count(settings.batch)
            ),
        ),
        (if seeds.len() == 1 { "seed" } else { "seeds" }, list(seeds)),
        ("device", device.clone()),
        ("training time", format!("{seconds:.1} s{ranks}")),
        ("to train it again", format!("`{}`", command(learned))),
    ]);
    results(&mut page, verdicts);
    repair(&mut page, verdicts);
    let shown = learned.shown();
    pictures(&mut page, learned, &verdicts[shown]);
    further(&mut page, verdicts);
    simplification(&mut page, learned, shown, &verdicts[shown]);
    page.section("Settings");
    page.code("toml", &settings.table().to_string());
    page.files(&[
        ("config.toml", "everything needed to train again"),
        ("log.csv", "losses of soft and hard gates by update"),
        ("events.jsonl", "what happened when"),
        ("checkpoint.safetensors", "logits, kept gates, optimizer"),
        ("circuits/", "every seed's circuit as learned, simplified, and what is proved"),
        ("plots/", "the pictures above"),
        ("result.json", "what came out, for lists of runs"),
    ]);
    page.words(&format!("Next: `farad export {} --format verilog --out verilog`", shell_word(run.path())));
    Ok(page.text())
}

fn list(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// The command for the same run: based on the recipe variant that is closer, with every setting that differs
/// from it.
fn command(learned: &LearnedAutomata) -> String {
    let configuration = &learned.configuration;
    let Configuration { recipe, seeds, settings, .. } = configuration;
    let mut text = format!("farad train {} --seed {}", recipe.name, seeds.first().copied().unwrap_or(0));
    if seeds.len() > 1 {
        let _ = write!(text, " --seeds {}", seeds.len());
    }
    let changed = |variant: AutomatonSettings| {
        let (table, variant) = (settings.table(), variant.table());
        let differs =
            |(key, value): &(String, toml::Value)| key != "updates" && variant.get(key) != Some(value);
        table.into_iter().filter(differs).collect::<Vec<_>>()
    };
    let (mut sets, reference) = (changed(recipe.settings.clone()), changed(recipe.reference.clone()));
    if reference.len() < sets.len() {
        text += " --recipe reference";
        sets = reference;
    }
    for (key, value) in sets {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        let _ = write!(text, " --set {key}={}", shell_word(value));
    }
    let _ = write!(text, " --updates {} --device {}", settings.updates, configuration.device_name());
    text
}

fn results(page: &mut Page, verdicts: &[SeedVerdict]) {
    page.section("Results");
    let headings = [
        "seed",
        "kept after",
        "exact",
        "wrong bits",
        "stable",
        "settles at step",
        "active gates",
        "simplified",
        "depth",
        "proved equal",
    ];
    let row = |verdict: &SeedVerdict| {
        let evaluation = &verdict.evaluation;
        vec![
            verdict.seed.to_string(),
            count(verdict.update),
            yes(evaluation.exact).into(),
            format!("{} of {}", count(evaluation.wrong), count(evaluation.of)),
            yes(evaluation.stable).into(),
            evaluation.settles_at.map_or("–".into(), |step| step.to_string()),
            count(verdict.active_gates),
            count(verdict.simplified_gates),
            format!("{} → {}", verdict.depths.0, verdict.depths.1),
            yes(verdict.proved).into(),
        ]
    };
    page.table(&headings, &verdicts.iter().map(row).collect::<Vec<_>>());
    page.words(
        "A gate is active if it is neither a constant nor a copy. Wrong bits are visible bits of the hard circuit at the \
         last step, on starts that training never saw (life: all 512 neighborhoods).",
    );
}

/// What the search after training did.
fn repair(page: &mut Page, verdicts: &[SeedVerdict]) {
    let notes: Vec<_> =
        verdicts.iter().filter_map(|verdict| Some((verdict.seed, verdict.repair.as_ref()?))).collect();
    if notes.is_empty() {
        return;
    }
    page.section("Repair");
    let row = |&(seed, note): &(u64, &crate::repair::RepairNote)| {
        vec![
            seed.to_string(),
            format!("{} of {}", count(note.wrong_before), count(note.of)),
            format!("{} of {}", count(note.wrong), count(note.of)),
            count(note.candidates),
            note.right_after.map_or("–".into(), count),
            note.from.clone(),
            yes(note.cut).into(),
        ]
    };
    let headings = [
        "seed",
        "wrong after training",
        "wrong after repair",
        "candidates",
        "right after",
        "made from",
        "cut by time",
    ];
    page.table(&headings, &notes.iter().map(row).collect::<Vec<_>>());
    page.words(
        "A discrete search changed these circuits after training. Wrong bits are counted on starts that neither training nor \
         the search saw. The learned circuits are in `circuits/seed-N.json`, the repaired ones in `circuits/seed-N.repaired.json`.",
    );
    for (seed, again) in notes.iter().filter_map(|(seed, note)| Some((seed, note.again.as_ref()?))) {
        page.words(&format!("Seed {seed}: {}.", again.words()));
    }
}

/// Larger grids and damage.
fn further(page: &mut Page, verdicts: &[SeedVerdict]) {
    if verdicts.iter().all(|verdict| verdict.evaluation.sizes.is_empty()) {
        return;
    }
    page.section("Larger grids and damage");
    let mut rows = Vec::new();
    for verdict in verdicts {
        let evaluation = &verdict.evaluation;
        let mut row =
            |trial: String, result: String| rows.push(vec![verdict.seed.to_string(), trial, result]);
        for size in &evaluation.sizes {
            let result = if size.right { "right".into() } else { counted(size.wrong, "wrong bit") };
            let steps = counted(size.steps, "step");
            row(format!("{}×{} cells for {steps}", size.width, size.height), result);
        }
        if let Some(healed) = evaluation.healed {
            row("a block held at zero and released is repaired".into(), yes(healed).into());
        }
        if let Some(error) = evaluation.error_under_damage {
            row("a new block of zeros at every step".into(), format!("{:.1} % of bits wrong", 100.0 * error));
        }
    }
    page.table(&["seed", "trial", "result"], &rows);
}

/// The numbers of the table below in words. Both come from the passes, so they agree.
fn described(before: &Statistics, verdict: &SeedVerdict) -> String {
    let gates = |pass: &SimplifyPass| pass.gates;
    let active = verdict.stages.first().map_or(before.active, gates);
    let cone = verdict.stages.iter().find(|stage| stage.pass == "cone of influence");
    let matter = cone.map_or(active, gates);
    let left = verdict.stages.last().map_or(verdict.simplified_gates, gates);
    format!(
        "Perception is the same for every channel, so the cell as a circuit has more gates than were learned: {}, {} of \
         them active; {} of those influence something visible, now or at a later step. Simplified, {} {} left, in {}.",
        count(before.gates),
        count(active),
        count(matter),
        count(left),
        are(left),
        counted(verdict.simplified_channels, "channel")
    )
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn simplification(page: &mut Page, learned: &LearnedAutomata, shown: usize, verdict: &SeedVerdict) {
    let before = Statistics::of(&learned.circuits[shown].automaton.cell);
    page.section(&format!("Simplification (seed {})", verdict.seed));
    page.words(&match verdict.repair {
        None => described(&before, verdict),
        Some(_) => format!(
            "Repair left {} in a cell, {} of them active. Simplified, {} {} left, on {}.",
            counted(before.gates, "gate"),
            count(before.active),
            count(verdict.simplified_gates),
            are(verdict.simplified_gates),
            counted(verdict.simplified_channels, "channel")
        ),
    });
    let mut rows = Vec::new();
    let mut gates = usize::MAX;
    let last = verdict.stages.len() - 1;
    for (n, stage) in verdict.stages.iter().enumerate() {
        // Passes run in turn many times; those that gained nothing are left out.
        if stage.gates == gates && n != last {
            continue;
        }
        gates = stage.gates;
        let SimplifyPass { pass, gates, depth, seconds } = stage;
        rows.push(vec![pass.to_string(), count(*gates), depth.to_string(), format!("{seconds:.2}")]);
    }
    page.table(&["pass", "active gates", "depth", "seconds"], &rows);
    if verdict.out_of_time {
        page.words("Time ran out before the passes were done: simplifying again may find another circuit.");
    }
    if !verdict.unproved.is_empty() {
        let names = verdict.unproved.join(", ");
        page.words(&format!(
            "These keep their learned gates, because nothing smaller could be proved: {names}."
        ));
    }
}

fn pictures(page: &mut Page, learned: &LearnedAutomata, verdict: &SeedVerdict) {
    let recipe = &learned.configuration.recipe;
    page.section("Pictures");
    page.words(&match learned.circuits.len() {
        1 => String::new(),
        _ => format!("All but the first are of seed {}.", verdict.seed),
    });
    page.figure(
        "plots/loss.svg",
        "Loss of soft gates on training batches, and of the same gates made hard on fresh starts. Below the axis break, losses are zero or nearly zero.",
    );
    page.figure("plots/rollout.svg", "The hard circuit at chosen steps, and the target.");
    page.figure("plots/rollout.gif", "The same as a film.");
    if !recipe.trials.is_empty() {
        page.figure("plots/larger.gif", "A larger grid than any that training saw.");
    }
    if recipe.damage.is_some() {
        page.figure(
            "plots/healing.svg",
            "Healing: wrong bits while a block is held at zero and after its release.",
        );
    }
    if recipe.robustness.is_some() {
        page.figure(
            "plots/robustness.svg",
            "Robustness: wrong bits while a new block is set to zero at every step.",
        );
    }
    let repair = if verdict.repair.is_some() { ", after repair" } else { "" };
    page.figure(
        "plots/gates.svg",
        &format!("Gates by function, as learned{repair} and after simplification."),
    );
    page.figure("plots/layers.svg", "Learned gates layer by layer; the shade is the share of the layer.");
    let form = learned.circuits[learned.shown()].form();
    page.figure(
        "plots/circuit.svg",
        &format!(
            "The circuit of a cell: simplified, and {form} (what nothing depends on is left out of both). Copies and \
             constants do not count as gates."
        ),
    );
}
