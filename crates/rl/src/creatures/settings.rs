//! The settings of an evolution of creatures, one row each.

use farad::Result;
use farad::run::Run;
use farad::train::LoopSettings;
use farad::train::settings::{NumberRange, SettingsTable as _, Takes};
use farad_world::{HerdTrial, Variation, VariedGenes};

use super::archive::ArchiveAxis;
use super::descriptors::{DESCRIPTORS, DescriptorRow};
use crate::error::RlError;

farad::train::settings! {
    /// The settings of an evolution of creatures.
    pub struct CreatureSettings {
        search: String = "elites".into(), Takes::one_of(["elites", "novelty"]), "Who has children: anybody in the archive (MAP-Elites), or those who move like nobody else.";
        device: String = String::new(), Takes::Text, "The device that the run was started on.";
        seed: u64 = 1, Takes::from(0), "The seed of everything random.";
        updates: u64 = 200, Takes::from(1), "Generations.";
        data: String = String::new(), Takes::Text, "A genotype that everybody descends from; if empty, random ones.";
        population: usize = 64, Takes::Whole(1, 1 << 16), "Creatures of a generation.";
        newcomers: f64 = 0.1, Takes::Number(NumberRange::from(0.0).to(1.0)), "Share of a generation that is random, or close to the ancestor.";
        settle: f64 = 1.0, Takes::Number(NumberRange::from(0.0)), "Seconds before a trial in which creatures only settle.";
        seconds: f64 = 10.0, Takes::Number(NumberRange::above(0.0)), "Seconds of a trial.";
        descriptors: String = "mass,touch".into(), Takes::Text, "The axes of the archive, with commas between them.";
        bins: Vec<i64> = vec![32, 32], Takes::Wholes(1, 1 << 10, 1), "Cells along each axis.";
        genes: String = "all".into(), Takes::one_of(["all", "body", "network"]), "What varies.";
        rate: f64 = 0.1, Takes::Number(NumberRange::from(0.0).to(1.0)), "Probability that a number of a body changes.";
        weight_rate: f64 = 0.15, Takes::Number(NumberRange::from(0.0).to(1.0)), "Probability that a weight of a network changes.";
        step: f64 = 0.1, Takes::Number(NumberRange::above(0.0)), "Deviation of a change, as a share of a number's range.";
        structure: f64 = 0.2, Takes::Number(NumberRange::from(0.0).to(1.0)), "Probability that a part or an edge comes or goes.";
        crossover: f64 = 0.2, Takes::Number(NumberRange::from(0.0).to(1.0)), "Probability of a second parent.";
        neighbors: usize = 15, Takes::Whole(1, 1 << 10), "Nearest neighbors that novelty is measured by.";
        kept: usize = 8, Takes::Whole(0, 1 << 10), "Creatures of a generation whose place a novelty search remembers.";
        films: usize = 10, Takes::Whole(1, 100), "Creatures that the gallery shows.";
        ..course: LoopSettings, "When the loop logs, validates, saves and ends.";
    }
}

impl CreatureSettings {
    /// The default settings.
    pub fn new() -> CreatureSettings {
        let course = LoopSettings { log_every: 1, checkpoint_every: 20, ..LoopSettings::default() };
        CreatureSettings { course, ..CreatureSettings::default() }
    }

    /// The settings of a run.
    pub fn of(run: &Run) -> Result<CreatureSettings> {
        let mut settings = CreatureSettings::new();
        settings.take_config(run.config())?;
        Ok(settings)
    }

    /// The axes of the archive.
    pub fn axes(&self) -> Result<Vec<ArchiveAxis>> {
        let names: Vec<&str> = self.descriptors.split(',').map(str::trim).collect();
        if names.len() != self.bins.len() {
            return Err(RlError::Axes { names: names.len(), bins: self.bins.len() }.into());
        }
        let axis = |(name, bins): (&&str, &i64)| {
            let row = DescriptorRow::named(name).ok_or_else(|| RlError::NoDescriptor {
                name: (*name).into(),
                known: DESCRIPTORS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
            })?;
            Ok(ArchiveAxis::new(row, *bins as usize))
        };
        names.iter().zip(&self.bins).map(axis).collect()
    }

    /// The trial of a creature.
    pub fn trial(&self) -> HerdTrial {
        HerdTrial { settle: self.settle, seconds: self.seconds }
    }

    /// How children vary.
    pub fn variation(&self) -> Variation {
        let genes = match &*self.genes {
            "body" => VariedGenes::Body,
            "network" => VariedGenes::Network,
            _ => VariedGenes::All,
        };
        Variation {
            genes,
            rate: self.rate,
            weight_rate: self.weight_rate,
            step: self.step,
            structure: self.structure,
            crossover: self.crossover,
        }
    }
}
