//! A training put together: data, model, optimizer, loaders.

use farad_data::{DataLoader, Dataset, HorizontalFlip, Normalize, RandomCrop, Resize, SampleForm};
use farad_group::Group;
use farad_nn::layers::Module;
use farad_nn::optim::Clip;
use farad_nn::optim::schedule::{self, Course, Schedule};
use farad_tensor::{Device, Precision, RandomState};
use farad_train::{OptimizerOptions, of_rank, optimizer};

use crate::error::Result;
use crate::models;
use crate::sets::Sets;
use crate::settings::SupervisedSettings;
use crate::trainee::Network;
use crate::{Fit, Score, Task};

/// Samples a batch when nothing is learned from them.
pub const JUDGED: usize = 256;
/// Pixels by which pictures are shifted at most, of 32.
const SHIFT: usize = 4;

/// Everything that a training is made of.
pub struct Setup {
    /// What was asked for.
    pub settings: SupervisedSettings,
    /// The data in their parts.
    pub sets: Sets,
    /// Where it is trained.
    pub device: Device,
    /// The ranks that train together.
    pub group: Group,
}

impl Setup {
    /// Opens the data. The settings say where, or where they were found when they do not.
    pub fn new(mut settings: SupervisedSettings, device: &Device) -> Result<Setup> {
        let sets = Sets::open(&mut settings)?;
        settings.device = device.name().to_string();
        let mut setup = Setup { settings, sets, device: device.clone(), group: Group::alone() };
        // When it is validated is a number of steps from here on, and the run says which.
        if setup.settings.course.evaluate_every == 0 {
            setup.settings.course.evaluate_every = setup.batches().max(1);
        }
        Ok(setup)
    }

    /// By several ranks, each with its share of every batch.
    pub fn in_group(mut self, group: Group) -> Setup {
        self.group = group;
        self
    }

    /// Refuses a network that the device cannot hold, before its weights are drawn.
    pub fn check_memory(&self) -> Result<()> {
        let Sets { shape, outputs, train, .. } = &self.sets;
        let need = models::need(&self.settings, *shape, *outputs, train.len());
        let help = "take smaller numbers in --set sizes=…, a smaller --batch, or another device";
        need.check(&self.device, help)
    }

    /// The network before its first step, with its data.
    pub fn network(self) -> Result<Network> {
        let settings = &self.settings;
        let train = self.loader(self.sets.train.clone(), settings.batch);
        let mut train = train.shuffle(settings.seed).workers(settings.workers).prefetch(4).shard(&self.group);
        if settings.augment && self.sets.shape.rank() == 3 {
            train = train.transform(RandomCrop { padding: SHIFT * self.sets.shape[2] / 32 });
            if settings.named_set().form == SampleForm::Color {
                train = train.transform(HorizontalFlip);
            }
        }
        let validation = (!self.sets.validation.is_empty())
            .then(|| self.loader(self.sets.validation.clone(), JUDGED).shard(&self.group));
        let (epochs, course) = (settings.epochs, settings.course.clone());
        Ok(Network::new(self.fit()?, train, validation, epochs, course)?.with_setup(self))
    }

    /// How good the model is on the samples that it is judged on; the loss of numbers is in their own unit.
    pub fn judge(&self, fit: &Fit) -> Result<Score> {
        let mut score = fit.score(&mut self.loader(self.sets.test.clone(), JUDGED))?;
        if self.sets.task == Task::Regress {
            score.loss *= self.settings.target_deviation.powi(2);
        }
        Ok(score)
    }

    /// The model with its optimizer, before the first step.
    pub fn fit(&self) -> Result<Fit> {
        let settings = &self.settings;
        // Weights are drawn on the CPU, dropout on the device.
        farad_nn::seed(settings.seed);
        let model =
            models::build(settings, self.sets.shape, self.sets.outputs)?.try_to_device(&self.device)?;
        self.device.set_random_state(of_rank(RandomState { seed: settings.seed, counter: 0 }, &self.group));
        let clip = (settings.clip > 0.0).then_some(Clip::Norm(settings.clip as f32));
        let groups = vec![(model.parameters(), settings.weight_decay as f32)];
        let mut optimizer = optimizer(&settings.optimizer, groups, OptimizerOptions { clip, betas: None });
        optimizer.distribute(&self.group);
        let precision = if settings.mixed { Precision::Mixed } else { Precision::Single };
        Ok(Fit::from_parts(model, optimizer, self.sets.task).precision(precision).schedule(self.schedule()))
    }

    /// The rate over all steps of the run.
    fn schedule(&self) -> Box<dyn Schedule + Send> {
        let settings = &self.settings;
        let steps = (settings.epochs * self.batches()).max(1);
        let warm_up = settings.warm_up.min(steps / 4);
        let course = Course { rate: settings.learning_rate, warm_up, steps };
        schedule::ScheduleRow::of(&settings.schedule).expect("checked").schedule(&course)
    }

    /// Steps of an epoch.
    fn batches(&self) -> u64 {
        self.sets.train.len().div_ceil(self.settings.batch) as u64
    }

    fn loader(&self, set: std::sync::Arc<dyn Dataset>, batch: usize) -> DataLoader {
        let numbers = |all: &[f64]| all.iter().map(|&number| number as f32).collect::<Vec<f32>>();
        let settings = &self.settings;
        let mut loader = DataLoader::new(set, batch).device(&self.device);
        if let &[_, height, width] = &self.sets.shape[..] {
            loader = loader.transform(Resize { height, width });
        }
        loader.transform(Normalize::new(numbers(&settings.means), numbers(&settings.deviations)))
    }
}
