//! A training put together: data, model, optimizer, loaders.

use farad_data::{DataLoader, Dataset, HorizontalFlip, Normalize, RandomCrop, Resize, SampleForm};
use farad_group::Group;
use farad_nn::layers::Module;
use farad_nn::optim::Clip;
use farad_nn::optim::schedule::{self, Course, Schedule};
use farad_tensor::{Device, Precision, RandomState, Tensor};
use farad_train::{OptimizerOptions, TrainError, of_rank, optimizer};

use crate::error::Result;
use crate::models;
use crate::published::PublishedWeights;
use crate::sets::{Sets, class_counts};
use crate::settings::SupervisedSettings;
use crate::trainee::Network;
use crate::{Baseline, Fit, Score, Task};

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
    /// Published weights to begin with.
    pub weights: Option<PublishedWeights>,
}

/// A training of fewer epochs is validated so many times, too, so that it has a curve.
const LEAST_VALIDATIONS: u64 = 4;

impl Setup {
    /// Opens the data. The settings say where, or where they were found when they do not.
    pub fn new(mut settings: SupervisedSettings, device: &Device) -> Result<Setup> {
        let sets = Sets::open(&mut settings)?;
        settings.device = device.name().to_string();
        let mut setup =
            Setup { settings, sets, device: device.clone(), group: Group::alone(), weights: None };
        // When it is validated is a number of steps from here on, and the run says which.
        if setup.settings.course.evaluate_every == 0 {
            let (epoch, all) = (setup.batches(), setup.batches() * setup.settings.epochs);
            setup.settings.course.evaluate_every = epoch.min(all.div_ceil(LEAST_VALIDATIONS)).max(1);
        }
        Ok(setup)
    }

    /// By several ranks, each with its share of every batch.
    pub fn in_group(mut self, group: Group) -> Setup {
        self.group = group;
        self
    }

    /// Beginning with published weights.
    pub fn with_weights(mut self, weights: Option<PublishedWeights>) -> Setup {
        self.weights = weights;
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
            score.in_units(self.settings.target_mean, self.settings.target_deviation);
        }
        score.baseline = self.baseline(&score);
        Ok(score)
    }

    /// What who knows nothing of the inputs would reach: always the class that is most frequent in training, or always the mean
    /// of training.
    fn baseline(&self, score: &Score) -> Option<Baseline> {
        if self.sets.task == Task::Regress {
            return Some(score.of_constant(self.settings.target_mean));
        }
        let counts = class_counts(&*self.sets.train)?;
        let most = (0..counts.len()).rev().max_by_key(|&class| counts[class])?;
        let right = score.confusion.as_ref()?.samples(most) as f64 / score.samples.max(1) as f64;
        Some(Baseline::Class { name: self.sets.train.classes()[most].clone(), accuracy: right })
    }

    /// The model with its optimizer, before the first step.
    pub fn fit(&self) -> Result<Fit> {
        let settings = &self.settings;
        // Weights are drawn on the CPU, dropout on the device.
        farad_nn::seed(settings.seed);
        let model = models::build(settings, self.sets.shape, self.sets.outputs)?;
        if let Some(weights) = &self.weights {
            weights.load_into(&*model, self.sets.outputs)?;
        }
        let model = model.try_to_device(&self.device)?;
        self.device.set_random_state(of_rank(RandomState { seed: settings.seed, counter: 0 }, &self.group));
        let clip = (settings.clip > 0.0).then_some(Clip::Norm(settings.clip as f32));
        let groups = vec![(model.parameters(), settings.weight_decay as f32)];
        let mut optimizer = optimizer(&settings.optimizer, groups, OptimizerOptions { clip, betas: None });
        optimizer.distribute(&self.group, settings.course.ranks())?;
        let precision = if settings.mixed { Precision::Mixed } else { Precision::Single };
        let fit =
            Fit::from_parts(model, optimizer, self.sets.task).precision(precision).schedule(self.schedule());
        match self.class_weights()? {
            Some(weights) => Ok(fit.class_weights(weights)),
            None => Ok(fit),
        }
    }

    /// Weights that make all classes count alike, with mean 1 over the samples; none unless they are asked for.
    fn class_weights(&self) -> Result<Option<Tensor>> {
        if self.settings.class_weights == "none" || self.sets.task != Task::Classify {
            return Ok(None);
        }
        let counts = class_counts(&*self.sets.train).ok_or_else(|| TrainError::Setting {
            key: "class_weights".into(),
            wanted: "none for data whose classes are not known before they are read".into(),
            found: self.settings.class_weights.clone(),
        })?;
        let (samples, classes) = (self.sets.train.len() as f32, counts.len() as f32);
        let weight = |&count: &usize| if count > 0 { samples / (classes * count as f32) } else { 0.0 };
        let weights: Vec<f32> = counts.iter().map(weight).collect();
        Ok(Some(Tensor::try_from_vec(&weights, [weights.len()], &self.device)?))
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
