//! What a sweep came to: a table, pictures of the scores, and a page.

use std::path::Path;
use std::time::Duration;

use farad::run::{Chart, Page, Parallel, Series, count, shell_word, write_whole};
use farad::train::settings::TomlValue;

use super::plan::SweepPlan;
use super::search::SearchKind;
use super::space::{Dimension, text};
use super::trial::{Records, Trial, TrialState};
use crate::error::{Error, Result};
use crate::look::{BAD, FAINT, GOOD, Table, TableCell, duration, left, right};

/// A score as people read it.
pub fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if value.fract() == 0.0 && size < 1e15 => {
            format!("{}{}", if value < 0.0 { "-" } else { "" }, count(size as u64))
        }
        size if (1e-3..1e6).contains(&size) => format!("{value:.4}"),
        _ => format!("{value:.3e}"),
    }
}

/// The trials, the best first.
pub fn table(plan: &SweepPlan, records: &Records) -> Table {
    let ranked = records.ranked(plan);
    let (headings, rows) = rows(plan, &ranked);
    let words: Vec<&str> = plan.space.iter().filter(|of| !is_number(of)).map(|of| of.key.as_str()).collect();
    let is_left = |name: &str| ["trial", "state", "why"].contains(&name) || words.contains(&name);
    let column = |name: &String| if is_left(name) { left(name) } else { right(name) };
    let mut table = Table::new(headings.iter().map(column));
    for (trial, row) in ranked.iter().zip(rows) {
        let style = match trial.state {
            TrialState::Done => GOOD,
            TrialState::Failed => BAD,
            _ => FAINT,
        };
        let cell = |(name, text): (&String, String)| match name.as_str() {
            "state" => TableCell::new(style, text),
            _ => text.into(),
        };
        table.row(headings.iter().zip(row).map(cell));
    }
    table
}

/// How long a trial was trained, in updates or epochs.
fn trained(trial: &Trial) -> String {
    trial.rungs.last().and_then(|rung| rung.until).map_or("0".into(), count)
}

fn is_number(dimension: &Dimension) -> bool {
    dimension.extremes().iter().all(|value| value.is_integer() || value.is_float())
}

/// Writes the pictures and the page into the sweep's folder.
pub fn write(plan: &SweepPlan, records: &Records, folder: &Path) -> Result<()> {
    let figures = pictures(plan, records, folder)?;
    Ok(page(plan, records, folder, &figures).write(folder)?)
}

/// Pictures by file, with their captions.
fn pictures(plan: &SweepPlan, records: &Records, folder: &Path) -> Result<Vec<(String, String)>> {
    let plots = folder.join("plots");
    let fail = |source| Error::Write { op: "sweep", path: plots.display().to_string(), source };
    std::fs::create_dir_all(&plots).map_err(fail)?;
    let mut figures = vec![];
    let mut add = |name: &str, svg: String, caption: String| -> Result<()> {
        write_whole("sweep", &plots.join(format!("{name}.svg")), svg.as_bytes())?;
        figures.push((format!("plots/{name}.svg"), caption));
        Ok(())
    };
    let (score, best) = (&plan.score.figure, plan.score.best.name());
    let caption = format!(
        "Trials. A line is a trial; it crosses each axis where its setting is. The darker, the better its {score}; the \
         best one is orange, and failed ones are dashed."
    );
    add("trials", parallel(plan, records).svg(), caption)?;
    for (n, dimension) in plan.space.iter().enumerate().filter(|(_, dimension)| is_number(dimension)) {
        let at = |trial: &Trial| Some((number(&trial.settings[n].1)?, trial.score(&plan.score)?));
        let over = |last: bool| {
            let state = move |trial: &&Trial| (trial.state == TrialState::Done) == last;
            records.trials.iter().filter(state).filter_map(at).collect::<Vec<_>>()
        };
        let chart = Chart::new(&format!("{score} over {}", dimension.key), &dimension.key, score);
        let chart = chart.about(&format!("sweep of {}; {best} is best", plan.trained.name));
        let chart = if dimension.is_log() { chart.log_x() } else { chart };
        let chart = chart.series(Series::new("trials", over(true)).scattered());
        let chart = chart.series(Series::new("dropped before the end", over(false)).scattered());
        add(
            &format!("score-{}", plain(&dimension.key)),
            chart.svg(),
            format!("The {score} over {}.", dimension.key),
        )?;
    }
    Ok(figures)
}

/// A key as a file may be called.
fn plain(key: &str) -> String {
    key.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect()
}

fn number(value: &TomlValue) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|whole| whole as f64))
}

/// All trials across all settings.
fn parallel(plan: &SweepPlan, records: &Records) -> Parallel {
    let ranked = records.ranked(plan);
    let about = format!("{} of {}: {}", plan.score.figure, plan.trained.name, plan.search.words());
    let mut picture = Parallel::new("Trials", ranked.len()).about(&about);
    for (n, dimension) in plan.space.iter().enumerate() {
        let values = ranked.iter().map(|trial| &trial.settings[n].1);
        picture = match is_number(dimension) {
            true => picture.numbers(
                &dimension.key,
                dimension.is_log(),
                values.map(|value| number(value).unwrap_or(f64::NAN)),
            ),
            false => picture.words(&dimension.key, values.map(text)),
        };
    }
    let scores = ranked.iter().map(|trial| trial.score(&plan.score).unwrap_or(f64::NAN));
    picture.numbers(&plan.score.figure, false, scores)
}

fn page(plan: &SweepPlan, records: &Records, folder: &Path, figures: &[(String, String)]) -> Page {
    let (ranked, title) = (records.ranked(plan), format!("sweep of {}", plan.trained.name));
    let best = ranked.first().and_then(|trial| Some((trial, trial.score(&plan.score)?)));
    let result = match best {
        Some((best, score)) => {
            format!("{} {} in trial {}: {}", plan.score.figure, figure(score), best.name(), best.words())
        }
        None => "no trial has a score".into(),
    };
    let mut page = Page::with_result(&title, &result);
    let count_of = |state: TrialState| records.trials.iter().filter(|trial| trial.state == state).count();
    let states = [TrialState::Done, TrialState::Dropped, TrialState::Failed]
        .map(|state| format!("{} {}", count_of(state), state.name()));
    let fixed = plan.fixed.iter().map(|(key, value)| (key.clone(), text(value)));
    page.facts(
        [
            ("trials".to_string(), format!("{}: {}", records.trials.len(), states.join(", "))),
            ("search".to_string(), plan.search.words()),
            ("score".to_string(), format!("{}, {} is best", plan.score.figure, plan.score.best.name())),
            ("device".to_string(), records.device.clone().unwrap_or_else(|| "best".into())),
        ]
        .into_iter()
        .chain(fixed),
    );
    page.section("Trials");
    let (headings, rows) = rows(plan, &ranked);
    page.table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
    page.section("Pictures");
    figures.iter().for_each(|(file, caption)| page.figure(file, caption));
    page.section("Go on");
    let shown = shell_word(folder);
    let best = best.map_or(String::new(), |(best, _)| format!("farad eval {shown}/{}\n", best.name()));
    page.code("sh", &format!("{best}farad runs {shown}\nfarad sweep --resume {shown}"));
    page.files(&[
        ("sweep.toml", "what was asked for"),
        ("sweep.json", "all trials with all their figures"),
        ("001, 002, …", "the trials, each a run with a report of its own"),
    ]);
    page
}

/// Titles, and the same cells for people and for the page.
fn rows(plan: &SweepPlan, ranked: &[&Trial]) -> (Vec<String>, Vec<Vec<String>>) {
    let halving = plan.search.kind == SearchKind::Halving;
    let mut headings = vec!["trial".to_string()];
    headings.extend(plan.space.iter().map(|dimension| dimension.key.clone()));
    headings.push(plan.score.figure.clone());
    headings.extend(halving.then(|| plan.search.by.to_string()));
    headings.extend(["state", "time", "why"].map(String::from));
    let row = |trial: &&Trial| {
        let mut row = vec![trial.name()];
        row.extend(trial.settings.iter().map(|(_, value)| text(value)));
        row.push(trial.score(&plan.score).map_or(String::new(), figure));
        row.extend(halving.then(|| trained(trial)));
        let time = duration(Duration::try_from_secs_f64(trial.seconds).unwrap_or_default());
        row.extend([trial.state.name().to_string(), time, trial.error.clone().unwrap_or_default()]);
        row
    };
    (headings, ranked.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_people_read() {
        let shown = [0.0, 1.0, -12_345.0, 0.93333, 1.5e-5, 2.5e9, 12.25].map(figure);
        assert_eq!(shown, ["0", "1", "-12,345", "0.9333", "1.500e-5", "2,500,000,000", "12.2500"]);
    }
}
