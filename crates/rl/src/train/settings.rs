//! The settings of a training of agents, one row each.

use farad::Result;
use farad::run::Run;
use farad::train::LoopSettings;
use farad::train::settings::{SettingsTable as _, Takes};

use super::algorithm::{ALGORITHMS, NamedAlgorithm};
use super::table::NamedWorld;
use crate::dreamer::DreamerSettings;
use crate::environments::LocomotionTask;
use crate::evolution::EvolutionSettings;
use crate::ppo::PpoSettings;
use crate::sac::SacSettings;
use crate::shac::ShacSettings;

farad::train::settings! {
    /// The settings of agents.
    pub struct Settings {
        world: String = "cartpole".into(), Takes::Text, "The world that agents act in.";
        data: String = String::new(), Takes::Text, "The file that describes the bodies of `world`.";
        algorithm: String = "ppo".into(), Takes::one_of(ALGORITHMS.iter().map(|row| row.name)), "What trains the agents.";
        device: String = String::new(), Takes::Text, "The device that the run was started on.";
        seed: u64 = 1, Takes::from(0), "The seed of everything random.";
        seeds: usize = 1, Takes::Whole(1, 1024), "Agents that train in parallel, independently.";
        updates: u64 = 100, Takes::from(1), "Total updates or generations.";
        validation: usize = 100, Takes::Whole(1, 1 << 16), "Episodes per validation and agent.";
        episodes: usize = 100, Takes::Whole(1, 1 << 20), "Episodes that an agent is judged on.";
        images: bool = false, Takes::Truth, "Whether agents see pictures of 32 × 32 pixels instead of numbers, where the world has them.";
        goal: Vec<f64> = vec![], Takes::Numbers, "Training ends when the best validation of every agent reaches this return; without it, never.";
        ..ppo: PpoSettings, "What PPO is made of.";
        ..sac: SacSettings, "What SAC is made of, beside the worlds, horizon, hidden layers, learning rate and discount of PPO.";
        ..dreamer: DreamerSettings, "What Dreamer is made of, beside the worlds, horizon, learning rate, discount, trace and entropy of PPO and the replay and batch of SAC.";
        ..shac: ShacSettings, "What SHAC is made of, beside what it shares with PPO: all but clipping, entropy and what concerns rewards.";
        ..task: LocomotionTask, "What is rewarded in worlds of bodies.";
        ..evolution: EvolutionSettings, "What evolution is made of.";
        ..course: LoopSettings, "When the loop logs, validates, saves and ends.";
    }
}

impl Settings {
    /// The default settings of a world with an algorithm.
    pub fn new(world: &NamedWorld, algorithm: &str) -> Settings {
        let course = LoopSettings {
            log_every: 1,
            evaluate_every: 10,
            checkpoint_every: 50,
            ..LoopSettings::default()
        };
        let (world_name, algorithm) = (world.name.into(), algorithm.into());
        let mut settings = Settings { world: world_name, algorithm, course, ..Settings::default() };
        (world.usual)(&mut settings);
        if let Some(algorithm) = NamedAlgorithm::of(&settings.algorithm) {
            (algorithm.usual)(&mut settings);
        }
        settings
    }

    /// The settings of a run.
    pub fn of(run: &Run) -> Result<Settings> {
        let mut settings = Settings::default();
        settings.take_config(run.config())?;
        Ok(settings)
    }

    /// What is trained and how, e.g. `cartpole by ppo`.
    pub fn title(&self) -> String {
        format!("{} by {}", self.world, self.algorithm)
    }

    /// The numbers of all seeds.
    pub fn all_seeds(&self) -> impl Iterator<Item = u64> + Clone + use<> {
        let first = self.seed;
        (0..self.seeds as u64).map(move |n| first + n)
    }
}
