//! The end of a run: the archive as a file and as a map, curves, films, the gallery and `report.md`.

use farad::run::{Chart, Conclusion, Events, LogTable, Page, Run, count, counted, json, shell_word};
use farad::train::Outcome;
use farad::{Device, Result};
use farad_world::{Herd, TrialResult};

use super::archive::{Archive, Elite};
use super::map::map;
use super::page::{ARCHIVE_FILE, GALLERY_FILE, elites_film, gallery, shown};
use super::settings::CreatureSettings;
use crate::error::RlError;

/// The result as a sentence.
fn sentence(archive: &Archive) -> String {
    format!(
        "{} of {} cells filled; the best creature gets {:.2} m ahead",
        count(archive.cells.len()),
        count(archive.size()),
        archive.best()
    )
}

/// Tries the shown creatures once more, on a device, and says what the archive has.
pub(super) fn judge(
    settings: &CreatureSettings,
    archive: &Archive,
    steps: u64,
    device: &Device,
) -> Result<Outcome> {
    let elites = shown(archive, settings.films);
    let again = tried(&elites, settings, device)?;
    let rows: Vec<_> = elites
        .iter()
        .zip(&again)
        .map(|(elite, trial)| {
            json!({ "cell": elite.cell, "fitness": elite.fitness, "distance": trial.distance,
                    "generation": elite.generation })
        })
        .collect();
    let json = json!({
        "search": settings.search, "seed": settings.seed, "updates": steps, "cells": archive.size(),
        "filled": archive.cells.len(), "best": archive.best(), "score": archive.score(),
        "tried": archive.tried, "refused": archive.refused, "broken": archive.broken, "elites": rows,
    });
    Ok(Outcome::new(json, sentence(archive)))
}

fn tried(elites: &[&Elite], settings: &CreatureSettings, device: &Device) -> Result<Vec<TrialResult>> {
    if elites.is_empty() {
        return Err(RlError::NoElite.into());
    }
    let grown: std::result::Result<Vec<_>, _> = elites.iter().map(|elite| elite.genotype.grown()).collect();
    Herd::new(&grown?, device)?.tried(&settings.trial())
}

/// Writes everything into a run.
pub(super) fn write(
    run: &Run,
    settings: &CreatureSettings,
    archive: &Archive,
    steps: u64,
) -> Result<Outcome> {
    run.write_file(ARCHIVE_FILE, archive.to_json().as_bytes())?;
    let about = format!("{}, seed {}, {}", settings.search, settings.seed, settings.device);
    run.write_plot("archive", &map(archive, &about))?;
    curves(run, &about)?;
    let outcome = judge(settings, archive, steps, &Device::cpu())?;
    elites_film(run, settings, archive)?;
    run.write_file(GALLERY_FILE, gallery(settings, archive)?.as_bytes())?;
    Conclusion::new(steps, "best distance", archive.best(), sentence(archive)).write(run)?;
    page(run, settings, archive, steps)?;
    Ok(outcome)
}

fn page(run: &Run, settings: &CreatureSettings, archive: &Archive, steps: u64) -> Result<()> {
    let seconds = Events::training_seconds(&Events::read(run.events_path())?);
    let mut page = Page::with_result("evolve", &sentence(archive));
    page.facts([
        ("search", settings.search.clone()),
        ("axes", format!("{}, {:?} cells", settings.descriptors, settings.bins)),
        ("generations", format!("{} of {}", count(steps), counted(settings.population, "creature"))),
        ("tried", counted(archive.tried, "creature")),
        ("refused before", counted(archive.refused, "body")),
        ("exploded or came apart", counted(archive.broken, "creature")),
        ("seed", settings.seed.to_string()),
        ("device", settings.device.clone()),
        ("time", format!("{seconds:.1} s")),
    ]);
    page.section("The best");
    let rows: Vec<Vec<String>> = shown(archive, settings.films)
        .iter()
        .enumerate()
        .map(|(n, elite)| {
            let parts = elite.genotype.grown().map_or(0, |grown| grown.parts.len());
            let place: Vec<String> = elite.descriptors.iter().map(|value| format!("{value:.2}")).collect();
            vec![
                (n + 1).to_string(),
                format!("{:.2} m", elite.fitness),
                parts.to_string(),
                place.join(", "),
                elite.generation.to_string(),
            ]
        })
        .collect();
    page.table(&["rank", "distance", "parts", &settings.descriptors, "born in generation"], &rows);
    page.section("Pictures");
    page.figure("plots/archive.svg", "The archive: the best creature of every cell.");
    page.figure("plots/elites.gif", "The best creatures, each in its own cell, at the same time.");
    page.figure("plots/best.svg", "The best distance, and the mean of every generation.");
    page.figure("plots/cells.svg", "Filled cells.");
    page.files(&[
        ("gallery.html", "the best creatures move in the browser"),
        ("archive.json", "all cells with their genotypes"),
        ("config.toml", "everything needed to evolve again"),
        ("log.csv", "best, cells and means by generation"),
        ("events.jsonl", "what happened when"),
        ("checkpoint.safetensors", "the archive, and the population of a novelty search"),
        ("plots/", "the pictures above"),
        ("result.json", "what came out, for lists of runs"),
    ]);
    page.words(&format!("Next: `farad watch {}`", shell_word(run.path())));
    run.write_report(&page.text())
}

fn curves(run: &Run, about: &str) -> Result<()> {
    let log = LogTable::read(run.log_path())?;
    let chart = Chart::new("Distance", "generation", "m").about(about);
    let chart =
        chart.line("best so far", log.series("best")).line("mean of the generation", log.series("mean"));
    run.write_plot("best", &chart.svg())?;
    let chart = Chart::new("Archive", "generation", "filled cells").about(about);
    run.write_plot("cells", &chart.line("cells", log.series("cells")).svg())?;
    Ok(())
}
