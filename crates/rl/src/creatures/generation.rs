//! Generations: who has children, the trial of all of them as one herd, and who is kept.

use farad::group::{Group, share};
use farad::{Device, Result, TrainError};
use farad_world::{Draws, Genotype, Grown, Herd, TrialResult};

use super::archive::{Archive, Placement};
use super::novelty::{Novelty, NoveltyMember};
use super::settings::CreatureSettings;

/// Streams of random numbers: of a child, by its generation and its place there.
const PLACES: u64 = 1 << 17;

/// What a generation was like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GenerationCourse {
    /// The distance of the best creature so far.
    pub best: f64,
    /// Filled cells so far.
    pub cells: usize,
    /// The sum of all distances in the archive.
    pub score: f64,
    /// The mean distance of this generation.
    pub mean: f64,
    /// Children that were the first of their cell, or better than what was there.
    pub placed: usize,
    /// Creatures that exploded or came apart.
    pub broken: usize,
    /// The mean novelty of the population; 0 where nobody looks for it.
    pub novelty: f64,
}

/// The names of the numbers of a [`GenerationCourse`], in order.
pub(super) const COLUMNS: [&str; 7] = ["best", "cells", "score", "mean", "placed", "broken", "novelty"];

/// An evolution of creatures.
///
/// ```
/// use farad::Device;
/// use farad_rl::creatures::{CreatureSettings, Evolution};
/// let settings = CreatureSettings { population: 4, settle: 0.1, seconds: 0.2, ..CreatureSettings::new() };
/// let mut evolution = Evolution::new(settings, None, &Device::cpu())?;
/// let course = evolution.generation()?;
/// assert!(course.cells >= 1 && evolution.archive.tried == 4);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Evolution {
    /// The best of every cell.
    pub archive: Archive,
    /// The population of a novelty search.
    pub novelty: Novelty,
    /// Generations so far.
    pub generations: u64,
    settings: CreatureSettings,
    ancestor: Option<Genotype>,
    device: Device,
    /// The ranks that try a generation together.
    group: Group,
}

impl Evolution {
    /// Before the first generation.
    pub fn new(settings: CreatureSettings, ancestor: Option<Genotype>, device: &Device) -> Result<Evolution> {
        let archive = Archive::new(settings.axes()?);
        let (device, novelty, group) = (device.clone(), Novelty::default(), Group::alone());
        Ok(Evolution { archive, novelty, generations: 0, settings, ancestor, device, group })
    }

    /// As one of several ranks. All of them make the same children, and each tries its share of them.
    pub fn in_group(mut self, group: &Group) -> Result<Evolution> {
        let (what, count, ranks) = ("creatures of a generation", self.settings.population, group.size());
        if count < ranks {
            return Err(TrainError::FewForRanks { what, count, ranks }.into());
        }
        self.group = group.clone();
        Ok(self)
    }

    fn is_novelty(&self) -> bool {
        self.settings.search == "novelty"
    }

    /// One generation.
    pub fn generation(&mut self) -> Result<GenerationCourse> {
        let children = self.children()?;
        self.archive.refused += children.iter().map(|(_, _, refused)| *refused as u64).sum::<u64>();
        let (children, grown): (Vec<Genotype>, Vec<Grown>) =
            children.into_iter().map(|(genotype, grown, _)| (genotype, grown)).unzip();
        let trials = self.tried(&grown)?;
        let mut placed = 0;
        for ((genotype, grown), trial) in children.iter().zip(&grown).zip(&trials) {
            let place = self.archive.place(genotype, grown, trial, self.generations);
            placed += usize::from(matches!(place, Placement::First | Placement::Better));
        }
        let novelty = if self.is_novelty() { self.remember(&children, &grown, &trials) } else { 0.0 };
        self.generations += 1;
        let whole: Vec<f64> = trials.iter().filter(|t| t.whole).map(|t| t.distance).collect();
        Ok(GenerationCourse {
            best: self.archive.best(),
            cells: self.archive.cells.len(),
            score: self.archive.score(),
            mean: whole.iter().sum::<f64>() / whole.len().max(1) as f64,
            placed,
            broken: trials.len() - whole.len(),
            novelty,
        })
    }

    /// What all creatures came to: those of this rank are tried here.
    fn tried(&self, grown: &[Grown]) -> Result<Vec<TrialResult>> {
        let Evolution { group, device, settings, .. } = self;
        let own = share(grown.len(), group.size(), group.rank());
        let trials = Herd::new(&grown[own], device)?.tried(&settings.trial())?;
        if group.is_alone() {
            return Ok(trials);
        }
        let numbers = trials.iter().flat_map(TrialResult::numbers).collect::<Vec<_>>();
        let all = device.waiting_for_others(|| group.all_gather(&numbers))?.concat();
        Ok(all.as_chunks().0.iter().map(TrialResult::of).collect())
    }

    /// All children with their bodies, and how many were refused before each; by several threads where there are many.
    fn children(&self) -> Result<Vec<(Genotype, Grown, usize)>> {
        let places: Vec<usize> = (0..self.settings.population).collect();
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let each = places.len().div_ceil(threads).max(64);
        let one = |&place: &usize| {
            let (genotype, refused) = self.child(place);
            let grown = genotype.grown()?;
            Ok((genotype, grown, refused))
        };
        let parts: Vec<Result<Vec<_>>> = std::thread::scope(|scope| {
            let running: Vec<_> = places
                .chunks(each)
                .map(|own| scope.spawn(move || own.iter().map(one).collect::<Result<Vec<_>>>()))
                .collect();
            running.into_iter().map(|part| part.join().expect("no thread panics")).collect()
        });
        Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// A child, and how many before it were refused.
    fn child(&self, place: usize) -> (Genotype, usize) {
        let draws = &mut Draws::new(self.settings.seed, self.generations * PLACES + place as u64);
        let count = if self.is_novelty() { self.novelty.members.len() } else { self.archive.cells.len() };
        let parent = |n: usize| match self.is_novelty() {
            true => &self.novelty.members[n].genotype,
            false => &self.archive.cells[n].genotype,
        };
        let variation = self.settings.variation();
        if count == 0 || draws.chance(self.settings.newcomers) {
            return match &self.ancestor {
                None => (Genotype::drawn(draws), 0),
                // The ancestor itself is the very first.
                Some(ancestor) if self.generations == 0 && place == 0 => (ancestor.clone(), 0),
                Some(ancestor) => ancestor.child(ancestor, &variation, draws),
            };
        }
        let (mother, father) = (draws.below(count), draws.below(count));
        parent(mother).child(parent(father), &variation, draws)
    }

    /// Takes a generation into the novelty search; the mean novelty of who lives on.
    fn remember(&mut self, children: &[Genotype], grown: &[Grown], trials: &[TrialResult]) -> f64 {
        let whole = children.iter().zip(grown.iter().zip(trials)).filter(|(_, (_, trial))| trial.whole);
        let members = whole.map(|(genotype, (grown, trial))| NoveltyMember {
            place: self.archive.shares(&self.archive.descriptors(grown, trial)),
            genotype: genotype.clone(),
        });
        let members = members.collect();
        let CreatureSettings { population, kept, neighbors, .. } = self.settings;
        self.novelty.take(members, population, kept, neighbors)
    }
}

impl GenerationCourse {
    /// Its numbers, by [`COLUMNS`].
    pub(super) fn numbers(&self) -> [f32; 7] {
        let counts = [self.cells, self.placed, self.broken].map(|n| n as f32);
        [
            self.best as f32,
            counts[0],
            self.score as f32,
            self.mean as f32,
            counts[1],
            counts[2],
            self.novelty as f32,
        ]
    }
}
