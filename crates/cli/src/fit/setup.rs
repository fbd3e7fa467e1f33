//! A training put together: data, model, optimizer, loaders.

use farad::data::{HorizontalFlip, Normalize, RandomCrop, Resize};
use farad::fit::{Fit, Pace, Score, Task, Training};
use farad::nn::Module;
use farad::optim::schedule::{self, Course, Schedule};
use farad::optim::{self, Clip, Common};
use farad::prelude::{DataLoader, Dataset};
use farad::run::Run;
use farad::{Device, Precision};

use super::models;
use super::sets::{SetKind, Sets};
use super::settings::Settings;
use crate::error::Result;

/// Samples a batch when nothing is learned from them.
const JUDGED: usize = 256;
/// Pixels by which pictures are shifted at most, of 32.
const SHIFT: usize = 4;

/// Everything that a training is made of.
pub struct Setup {
    pub settings: Settings,
    pub sets: Sets,
    pub device: Device,
}

impl Setup {
    /// Opens the data. The settings say where, or where they were found when they do not.
    pub fn new(mut settings: Settings, device: &Device) -> Result<Setup> {
        let sets = Sets::open(&mut settings)?;
        Ok(Setup { settings, sets, device: device.clone() })
    }

    /// Refuses a network that the device cannot hold, before its weights are drawn.
    pub fn check_memory(&self) -> Result<()> {
        let Sets { shape, outputs, train, .. } = &self.sets;
        let need = models::need(&self.settings, *shape, *outputs, train.len());
        Ok(need.check(
            &self.device,
            "take smaller numbers in --set sizes=…, a smaller --batch, or another device",
        )?)
    }

    /// A training in the run's folder, from its checkpoint if it has one.
    pub fn training(&self, run: Run) -> Result<Training> {
        let settings = &self.settings;
        let train = self.loader(self.sets.train.clone(), settings.batch as usize);
        let mut train = train.shuffle(settings.seed as u64).workers(settings.workers as usize).prefetch(4);
        if settings.augment && self.sets.shape.rank() == 3 {
            train = train.transform(RandomCrop { padding: SHIFT * self.sets.shape[2] / 32 });
            if settings.set_kind() == SetKind::Cifar10 || settings.set_kind() == SetKind::Images {
                train = train.transform(HorizontalFlip);
            }
        }
        let validation =
            (!self.sets.validation.is_empty()).then(|| self.loader(self.sets.validation.clone(), JUDGED));
        let pace = Pace {
            epochs: settings.epochs as u64,
            log_every: settings.log_every as u64,
            checkpoint_every: settings.checkpoint_every as u64,
        };
        Ok(Training::new(run, self.fit()?, train, validation, pace)?)
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
        farad::seed(settings.seed as u64);
        let model =
            models::build(settings, self.sets.shape, self.sets.outputs)?.try_to_device(&self.device)?;
        self.device.seed(settings.seed as u64);
        let common = Common {
            learning_rate: settings.learning_rate,
            weight_decay: settings.weight_decay,
            clip: if settings.clip > 0.0 { Clip::Norm(settings.clip as f32) } else { Clip::None },
        };
        let row = optim::Named::of(&settings.optimizer).expect("checked");
        let optimizer = row.optimizer(model.parameters(), &common);
        let precision = if settings.mixed { Precision::Mixed } else { Precision::Single };
        Ok(Fit::new(model, optimizer, self.sets.task).precision(precision).schedule(self.schedule()))
    }

    /// The rate over all steps of the run.
    fn schedule(&self) -> Box<dyn Schedule + Send> {
        let settings = &self.settings;
        let batches = self.sets.train.len().div_ceil(settings.batch as usize) as u64;
        let steps = (settings.epochs as u64 * batches).max(1);
        let warm_up = (settings.warm_up as u64).min(steps / 4);
        let course = Course { rate: settings.learning_rate, warm_up, steps };
        schedule::Named::of(&settings.schedule).expect("checked").schedule(&course)
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
