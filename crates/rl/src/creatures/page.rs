//! Elites in motion: films, and the gallery, a page in which they move.
//!
//! The gallery plays what was computed: places and rotations of all parts, and the activity of their networks. It
//! needs no other file and no network.

use farad::run::{Picture, Run, json};
use farad::{Device, Result, Tensor};
use farad_world::{Grown, Herd, HerdTrial, World, WorldCamera, WorldState};

use super::archive::{Archive, Elite};
use super::descriptors::DescriptorRow;
use super::settings::CreatureSettings;
use crate::error::RlError;
use crate::film::Film;

/// The archive in a run's folder.
pub const ARCHIVE_FILE: &str = "archive.json";
/// The gallery in a run's folder.
pub const GALLERY_FILE: &str = "gallery.html";
const ELITES_FILM: &str = "elites.gif";
/// Sub-steps between the frames of the gallery: 40 ms.
const GALLERY_EVERY: usize = 8;
/// Frames of the film of several creatures, and its columns.
const SHEET_FRAMES: usize = 40;
const SHEET_COLUMNS: usize = 5;
/// Width and height of the pictures in films.
const SIZE: (usize, usize) = (240, 160);
const SHEET_SIZE: (usize, usize) = (120, 90);

/// The best creatures that are not neighbors in the archive, the best first; neighbors fill up what is left.
pub(super) fn shown(archive: &Archive, count: usize) -> Vec<&Elite> {
    let near = |a: &Elite, b: &Elite| a.cell.iter().zip(&b.cell).all(|(a, b)| a.abs_diff(*b) <= 1);
    let ranked = archive.ranked();
    let mut found: Vec<&Elite> = vec![];
    for elite in &ranked {
        if found.len() < count && !found.iter().any(|own| near(own, elite)) {
            found.push(elite);
        }
    }
    for elite in ranked {
        if found.len() < count && !found.iter().any(|own| own.cell == elite.cell) {
            found.push(elite);
        }
    }
    found.sort_by(|a, b| b.fitness.total_cmp(&a.fitness));
    found
}

/// How elites moved, read back.
struct ElitesMotion {
    grown: Vec<Grown>,
    frames: usize,
    /// `[frames, worlds, parts, 3]`, `[.., 4]` and `[frames, worlds, joints, 6]`.
    position: Tensor,
    rotation: Tensor,
    activity: Vec<f32>,
}

fn motion(elites: &[&Elite], trial: &HerdTrial, every: usize, device: &Device) -> Result<ElitesMotion> {
    if elites.is_empty() {
        return Err(RlError::NoElite.into());
    }
    let grown: std::result::Result<Vec<Grown>, _> =
        elites.iter().map(|elite| elite.genotype.grown()).collect();
    let grown = grown?;
    let moved = Herd::new(&grown, device)?.motion(trial, every);
    Tensor::compute_all(&[&moved.position, &moved.rotation, &moved.activity])?;
    Ok(ElitesMotion {
        frames: moved.position.shape()[0],
        position: moved.position.to_device(&Device::cpu())?,
        rotation: moved.rotation.to_device(&Device::cpu())?,
        activity: moved.activity.to_vec::<f32>()?,
        grown,
    })
}

impl ElitesMotion {
    /// The pictures of a creature, every so many frames.
    fn pictures(&self, n: usize, every: usize, size: (usize, usize)) -> Result<Vec<Picture>> {
        let world = World::new(&self.grown[n].description(), &Device::cpu())?;
        let parts = self.grown[n].parts.len();
        let own = |t: &Tensor| t.narrow(1, n, 1).narrow(2, 0, parts);
        let (position, rotation) = (own(&self.position), own(&self.rotation));
        let states = WorldState { velocity: position.clone(), spin: rotation.clone(), position, rotation };
        let camera = WorldCamera::for_world(&world)
            .sized(size.0, size.1)
            .showing(1.4 * self.grown[n].extent() + 0.5)
            .follow(0);
        world.film(&states, 0, every, &camera)
    }
}

/// The creature of this rank among the filled cells; 1 is the best.
pub fn of_rank(archive: &Archive, rank: u64) -> Result<&Elite> {
    let elites = archive.ranked();
    let place = usize::try_from(rank).ok().and_then(|rank| rank.checked_sub(1));
    let few = RlError::FewElites { found: elites.len(), wanted: rank };
    place.and_then(|place| elites.get(place).copied()).ok_or_else(|| few.into())
}

/// The trial of an elite as a film; elites are counted by rank, from 1. At most so many pictures.
pub fn film(
    settings: &CreatureSettings,
    archive: &Archive,
    rank: u64,
    most: usize,
    device: &Device,
) -> Result<Film> {
    let elite = of_rank(archive, rank)?;
    let trial = settings.trial();
    let steps = ((trial.settle + trial.seconds) / 0.02).round().max(1.0) as usize;
    let motion = motion(&[elite], &trial, 4 * steps.div_ceil(most), device)?;
    let frames = motion.pictures(0, 1, SIZE)?;
    let words = |n: usize| format!("rank {rank}  {:.1} s", n as f64 * 0.02 * steps.div_ceil(most) as f64);
    let frames = frames.iter().enumerate().map(|(n, frame)| frame.captioned(&words(n), 1)).collect();
    Ok(Film { frames, steps, total: elite.fitness })
}

/// Writes the film of all shown elites side by side.
pub(super) fn elites_film(run: &Run, settings: &CreatureSettings, archive: &Archive) -> Result<()> {
    let elites = shown(archive, settings.films);
    let motion = motion(&elites, &settings.trial(), GALLERY_EVERY, &Device::cpu())?;
    let every = motion.frames.div_ceil(SHEET_FRAMES);
    let films: Vec<Vec<Picture>> = (0..elites.len())
        .map(|n| {
            let words = format!("{}: {:.1} m", n + 1, elites[n].fitness);
            let frames = motion.pictures(n, every, SHEET_SIZE)?;
            Ok(frames.iter().map(|frame| frame.captioned(&words, 1)).collect())
        })
        .collect::<Result<_>>()?;
    let sheet = |frame: usize| {
        let all: Vec<Picture> = films.iter().map(|film| film[frame].clone()).collect();
        Picture::sheet(&all, SHEET_COLUMNS.min(all.len()), 4)
    };
    let frames: Vec<Picture> = (0..films[0].len()).map(sheet).collect();
    let delay = std::time::Duration::from_millis(40 * every as u64);
    Picture::write_film(run.plot_path(ELITES_FILM)?, &frames, delay, 8 * delay)
}

/// The gallery of an archive as the text of an HTML file.
pub fn gallery(settings: &CreatureSettings, archive: &Archive) -> Result<String> {
    let elites = shown(archive, settings.films);
    let motion = motion(&elites, &settings.trial(), GALLERY_EVERY, &Device::cpu())?;
    let about = |axis: &super::ArchiveAxis| {
        let row = DescriptorRow::named(&axis.name);
        json!({ "name": axis.name, "about": row.map_or("", |row| row.about),
                "low": axis.low, "high": axis.high, "bins": axis.bins })
    };
    let cells: Vec<_> =
        archive.cells.iter().map(|elite| json!([elite.cell, (elite.fitness * 1e3).round() / 1e3])).collect();
    let creatures: Vec<_> = elites
        .iter()
        .enumerate()
        .map(|(n, elite)| creature(&motion, n, elite, archive))
        .collect::<Result<_>>()?;
    let data = json!({
        "axes": archive.axes.iter().map(about).collect::<Vec<_>>(),
        "size": archive.size(), "tried": archive.tried, "best": archive.best(),
        "cells": cells, "creatures": creatures, "settle": settings.settle, "seconds": 0.005 * GALLERY_EVERY as f64,
    });
    // JSON inside of a script must not end it.
    let data = data.to_string().replace("</", "<\\/");
    Ok(include_str!("gallery.html").replace("/*DATA*/null", &data))
}

/// A creature of the gallery: its parts, and frame by frame their places and what their networks do.
fn creature(motion: &ElitesMotion, n: usize, elite: &Elite, archive: &Archive) -> Result<farad::run::Value> {
    let grown = &motion.grown[n];
    let parts = grown.parts.len();
    let own = |t: &Tensor| t.narrow(1, n, 1).narrow(2, 0, parts).to_vec::<f32>();
    let (places, turns) = (own(&motion.position)?, own(&motion.rotation)?);
    let short = |numbers: &[f32]| -> Vec<f64> {
        numbers.iter().map(|&v| (f64::from(v) * 1e3).round() / 1e3).collect()
    };
    let width = motion.activity.len() / motion.frames / motion.grown.len();
    let each = width / (farad_world::MOST_PARTS - 1);
    // One letter per number, from −1 to 1.
    let letter = |v: f32| char::from(b'0' + ((v.clamp(-1.0, 1.0) + 1.0) * 31.5).round() as u8);
    let activity: Vec<String> = (0..motion.frames)
        .map(|frame| {
            let first = (frame * motion.grown.len() + n) * width;
            motion.activity[first..][..(parts - 1) * each].iter().map(|&v| letter(v)).collect()
        })
        .collect();
    let body: Vec<_> = grown
        .parts
        .iter()
        .map(|part| json!({ "half": part.half_length, "radius": part.radius, "node": part.node }))
        .collect();
    let told = |(axis, &value): (&super::ArchiveAxis, &f64)| match DescriptorRow::named(&axis.name) {
        Some(row) => (row.words)(value),
        None => format!("{} {value:.2}", axis.name),
    };
    let words: Vec<String> = archive.axes.iter().zip(&elite.descriptors).map(told).collect();
    Ok(json!({
        "cell": elite.cell, "words": words.join(", "), "fitness": elite.fitness, "generation": elite.generation,
        "parts": body, "extent": grown.extent(), "each": each,
        "places": short(&places), "turns": short(&turns), "activity": activity,
        "genotype": elite.genotype,
    }))
}
