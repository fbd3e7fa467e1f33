//! `report.md`: what was trained, what came out, and where to look.

use std::fmt::Write;

use farad::run::{Events, Run};
use farad_circuit::Statistics;

use super::{Pass, Verdict, yes};
use crate::error::Result;
use crate::train::Learned;

/// The page.
pub fn text(run: &Run, learned: &Learned, verdicts: &[Verdict]) -> Result<String> {
    let configuration = &learned.configuration;
    let recipe = &configuration.recipe;
    let mut text = format!("# {}\n\n{}.\n\n", recipe.name, capital(recipe.about));
    let seconds = Events::training_seconds(&Events::read(run.events_path())?);
    let exact = verdicts.iter().filter(|verdict| verdict.evaluation.exact).count();
    let _ = writeln!(
        text,
        "{} updates on {} in {seconds:.1} s of training; {exact} of {} circuits exact.\n",
        learned.updates,
        configuration.device,
        verdicts.len()
    );
    text += "| seed | kept after | exact | wrong bits | stable | settles at step | active gates | simplified | depth | proved equal |\n";
    text += "|---|---|---|---|---|---|---|---|---|---|\n";
    for verdict in verdicts {
        let evaluation = &verdict.evaluation;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} of {} | {} | {} | {} | {} | {} → {} | {} |",
            verdict.seed,
            verdict.update,
            yes(evaluation.exact),
            evaluation.wrong,
            evaluation.of,
            yes(evaluation.stable),
            evaluation.settles_at.map_or("–".into(), |step| step.to_string()),
            verdict.active_gates,
            verdict.simplified_gates,
            verdict.depths.0,
            verdict.depths.1,
            yes(verdict.proved),
        );
    }
    further(&mut text, verdicts);
    let shown = learned.shown();
    simplification(&mut text, learned, shown, &verdicts[shown]);
    pictures(&mut text, recipe.damage.is_some(), recipe.robustness.is_some(), !recipe.trials.is_empty());
    text += "\n## Settings\n\n```toml\n";
    text += &configuration.settings.table().to_string();
    text += "```\n";
    Ok(text)
}

/// Larger grids and damage.
fn further(text: &mut String, verdicts: &[Verdict]) {
    if verdicts.iter().all(|verdict| verdict.evaluation.sizes.is_empty()) {
        return;
    }
    *text += "\n## Larger grids and damage\n\n";
    for verdict in verdicts {
        let evaluation = &verdict.evaluation;
        for size in &evaluation.sizes {
            let result = if size.right { "right".into() } else { format!("{} wrong bits", size.wrong) };
            let _ = writeln!(
                text,
                "- seed {}: {}×{} for {} steps: {result}",
                verdict.seed, size.width, size.height, size.steps
            );
        }
        if let Some(healed) = evaluation.healed {
            let _ = writeln!(
                text,
                "- seed {}: a block held at zero and released is repaired: {}",
                verdict.seed,
                yes(healed)
            );
        }
        if let Some(error) = evaluation.error_under_damage {
            let percent = 100.0 * error;
            let _ = writeln!(
                text,
                "- seed {}: a new block of zeros at every step: {percent:.1} % of bits wrong",
                verdict.seed
            );
        }
    }
}

fn simplification(text: &mut String, learned: &Learned, shown: usize, verdict: &Verdict) {
    let before = Statistics::of(&learned.circuits[shown].automaton.cell);
    let after = Statistics::of(&verdict.simplified.cell);
    let _ = write!(
        text,
        "\n## Simplification (seed {})\n\nThe cell as learned has {} gates, {} of them active and read by something; \
         simplified {} in {} channels.\n\n",
        verdict.seed, before.gates, before.active_live, after.active, verdict.simplified_channels
    );
    *text += "| pass | active gates | depth | seconds |\n|---|---|---|---|\n";
    let mut gates = usize::MAX;
    let last = verdict.stages.len() - 1;
    for (n, stage) in verdict.stages.iter().enumerate() {
        // Passes are tried in turn many times; those that gained nothing are left out.
        if stage.gates == gates && n != last {
            continue;
        }
        gates = stage.gates;
        let Pass { pass, gates, depth, seconds } = stage;
        let _ = writeln!(text, "| {pass} | {gates} | {depth} | {seconds:.2} |");
    }
    if verdict.out_of_time {
        *text +=
            "\nThe time ran out before the passes were done: simplifying again may find another circuit.\n";
    }
    if !verdict.unproved.is_empty() {
        let names = verdict.unproved.join(", ");
        let _ =
            writeln!(text, "\nThese keep their learned gates, as nothing smaller could be proved: {names}.");
    }
}

fn pictures(text: &mut String, damage: bool, robustness: bool, larger: bool) {
    *text += "\n## Pictures\n\n![loss](plots/loss.svg)\n\n![roll-out](plots/rollout.png)\n\n![film](plots/rollout.gif)\n\n";
    if larger {
        *text += "![larger](plots/larger.gif)\n\n";
    }
    if damage {
        *text += "![healing](plots/healing.svg)\n\n";
    }
    if robustness {
        *text += "![robustness](plots/robustness.svg)\n\n";
    }
    *text += "![gates](plots/gates.svg)\n\n![circuit](plots/circuit.svg)\n";
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
