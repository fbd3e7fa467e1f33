//! The outcome of a run of automata, for people and for programs: one line per seed, a sentence, and next
//! steps.

use farad::run::{count, counted};
use farad::train::{Outcome, TextTable, Tone, Toned};

use super::{Check, SeedVerdict};
use crate::recipe::{Recipe, RolloutStart};

/// The outcome of a quick check.
pub fn glance(checks: &[Check]) -> Outcome {
    let mut grid = TextTable::new([("seed", true), ("exact", false), ("wrong bits", true), ("of", true)]);
    for check in checks {
        let exact = Toned::yes(check.wrong == 0);
        grid.row([check.seed.into(), exact, count(check.wrong).into(), count(check.of).into()]);
    }
    let exact = checks.iter().filter(|check| check.wrong == 0).count();
    Outcome {
        json: checks.iter().map(Check::json).collect(),
        table: Some(grid),
        lines: vec![format!("{exact} of {} exact", checks.len())],
        succeeded: Some(exact > 0),
        ..Outcome::default()
    }
}

/// The outcome of a full judgment.
pub fn outcome(verdicts: &[SeedVerdict]) -> Outcome {
    let exact = verdicts.iter().filter(|verdict| verdict.evaluation.exact).count();
    let several = verdicts.len() > 1;
    Outcome {
        json: verdicts.iter().map(SeedVerdict::json).collect(),
        table: Some(grid(verdicts)),
        lines: several.then(|| format!("{exact} of {} exact", verdicts.len())).into_iter().collect(),
        succeeded: Some(exact > 0),
        ..Outcome::default()
    }
}

/// The same at the end of a training: with a sentence for first-time readers, and next steps.
pub fn learned(recipe: &Recipe, verdicts: &[SeedVerdict]) -> Outcome {
    let (tone, words) = sentence(recipe, verdicts);
    let repaired = verdicts.iter().filter_map(|verdict| Some((verdict, verdict.repair.as_ref()?)));
    let outcome = repaired
        .fold(outcome(verdicts), |outcome, (verdict, note)| {
            outcome.say(Tone::Plain, note.words(verdict.seed))
        })
        .say(tone, words);
    // Cells that fire at random may be late on a start or two, and stay right from then on.
    let good = |verdict: &SeedVerdict| verdict.evaluation.exact || verdict.evaluation.stable;
    match verdicts.iter().any(good) {
        true => outcome
            .next("simulate RUN --grid 128x128 --steps 200 --gif", "watch it on a larger grid")
            .next("export RUN --format html --out RUN/page", "play with it in a browser")
            .next("export RUN --format verilog --out RUN/verilog", "use the circuit elsewhere"),
        false => outcome
            .next("train --resume RUN --updates N", "train for longer")
            .next("train --list", "other recipes; --seeds 16 tries many seeds at once"),
    }
}

/// A line for each seed.
fn grid(verdicts: &[SeedVerdict]) -> TextTable {
    let mut grid = TextTable::new([
        ("seed", true),
        ("exact", false),
        ("wrong bits", true),
        ("of", true),
        ("stable", false),
        ("active gates", true),
        ("simplified", true),
        ("proved", false),
        ("larger grids", false),
        ("heals", false),
    ]);
    for verdict in verdicts {
        let evaluation = &verdict.evaluation;
        let size = |(width, height, right, wrong): (usize, usize, bool, usize)| match right {
            true => format!("{width}×{height} right"),
            false => format!("{width}×{height} {} wrong", count(wrong)),
        };
        let sizes =
            evaluation.sizes.iter().map(|trial| size((trial.width, trial.height, trial.right, trial.wrong)));
        let larger = sizes.collect::<Vec<_>>().join(", ");
        grid.row([
            verdict.seed.into(),
            Toned::yes(evaluation.exact),
            count(evaluation.wrong).into(),
            count(evaluation.of).into(),
            Toned::yes(evaluation.stable),
            count(verdict.active_gates).into(),
            count(verdict.simplified_gates).into(),
            Toned::yes(verdict.proved),
            Toned::judged(evaluation.sizes.iter().all(|trial| trial.right), larger),
            evaluation.healed.map_or("–".into(), Toned::yes),
        ]);
    }
    grid
}

fn sentence(recipe: &Recipe, verdicts: &[SeedVerdict]) -> (Tone, String) {
    let exact: Vec<&SeedVerdict> = verdicts.iter().filter(|verdict| verdict.evaluation.exact).collect();
    let tried = match recipe.start {
        RolloutStart::Boards => "all 512 neighborhoods",
        RolloutStart::RandomBits => "1,024 starts it never saw",
        RolloutStart::CenterOnes | RolloutStart::Zeros => "the picture",
    };
    match (verdicts, &exact[..]) {
        ([verdict], [_]) => {
            let proved = if verdict.proved { "proved to do the same" } else { "not proved to do the same" };
            let (of, active) = (count(verdict.evaluation.of), counted(verdict.active_gates, "active gate"));
            let left = count(verdict.simplified_gates);
            let words = format!(
                "exact: no wrong bit on {tried} ({of} looked at); a cell's {active} became {left}, {proved}"
            );
            (Tone::Good, words)
        }
        ([verdict], []) => {
            let (wrong, of) = (verdict.evaluation.wrong, counted(verdict.evaluation.of, "bit"));
            let are = if wrong == 1 { "is" } else { "are" };
            (Tone::Doubtful, format!("not exact: {} of {of} {are} wrong on {tried}", count(wrong)))
        }
        (_, []) => (Tone::Doubtful, format!("no seed of {} is exact on {tried}", verdicts.len())),
        _ => {
            let smallest = exact.iter().map(|verdict| verdict.simplified_gates).min().unwrap_or(0);
            let (good, all) = (exact.len(), counted(verdicts.len(), "seed"));
            let (are, gates) = (if good == 1 { "is" } else { "are" }, counted(smallest, "gate"));
            (Tone::Good, format!("{good} of {all} {are} exact on {tried}; the smallest cell has {gates}"))
        }
    }
}
