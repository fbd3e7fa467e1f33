//! The settings of a controller, one row each.

use farad::Result;
use farad::run::Run;
use farad::train::LoopSettings;
use farad::train::settings::{NumberRange, SettingsTable as _, Takes};

use super::task::{ControlTask, TASKS};

farad::train::settings! {
    /// The settings of a controller.
    pub struct ControllerSettings {
        world: String = TASKS[0].name.into(), Takes::one_of(TASKS.iter().map(|task| task.name)), "The world that the circuit controls.";
        device: String = String::new(), Takes::Text, "The device that the run was started on.";
        seed: u64 = 1, Takes::from(0), "The seed of everything random.";
        updates: u64 = 1000, Takes::from(1), "Updates of the gates.";
        samples: usize = 512, Takes::Whole(1, 1 << 20), "Samples of an update.";
        learning_rate: f64 = 0.05, Takes::Number(NumberRange::from(0.0)), "The learning rate.";
        thresholds: usize = 7, Takes::Whole(1, 64), "Thresholds of each number that is seen.";
        layers: Vec<i64> = vec![96, 96, 96, 48, 24, 12, 6, 3], Takes::Wholes(1, 1 << 16, 0), "Gates of each layer except the last, which has one per output.";
        tree: usize = 0, Takes::Whole(0, 16), "Depth of a decision tree of the samples with which the search may begin too; 0 means none.";
        #[later] teacher: u64 = 250, Takes::from(0), "Updates of the crawler's teacher, which PPO trains.";
        #[later] rounds: u64 = 6, Takes::from(1), "Rounds in which lessons of the crawler are collected; in all but the first a circuit acts.";
        #[later] steps: usize = 0, Takes::Whole(0, 1 << 16), "Steps of an episode of the crawler; 0: all.";
        repair: u64 = 20_000, Takes::Whole(0, 1 << 40), "Candidates of the repair on samples.";
        search: u64 = 40_000, Takes::Whole(0, 1 << 40), "Candidates of the search in closed loop.";
        episodes: usize = 1000, Takes::Whole(1, 1 << 20), "Starts that the circuit is judged on.";
        ..course: LoopSettings, "When the loop logs, validates, saves and ends.";
    }
}

impl ControllerSettings {
    /// The default settings of a task.
    pub fn new(task: &ControlTask) -> ControllerSettings {
        let course = LoopSettings { evaluate_every: 50, checkpoint_every: 200, ..LoopSettings::default() };
        let world = task.name.into();
        let mut settings = ControllerSettings { world, course, ..ControllerSettings::default() };
        (task.usual)(&mut settings);
        settings
    }

    /// The settings of a run.
    pub fn of(run: &Run) -> Result<ControllerSettings> {
        let mut settings = ControllerSettings::new(&TASKS[0]);
        settings.take_config(run.config())?;
        Ok(settings)
    }

    /// Steps of an episode.
    pub fn episode_steps(&self) -> usize {
        let longest = self.task().longest;
        if self.steps == 0 { longest } else { self.steps.min(longest) }
    }

    /// What the circuit is for.
    pub fn task(&self) -> &'static ControlTask {
        ControlTask::of(&self.world).expect("checked by its row")
    }
}
