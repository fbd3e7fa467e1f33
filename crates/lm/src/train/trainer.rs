//! The state of a training and one update.

use farad::devices::RandomState;
use farad::group::Group;
use farad::optim::schedule::{Cosine, Schedule, Warmup};
use farad::optim::{Accumulator, Clip};
use farad::run::Checkpoint;
use farad::train::{AnyOptimizer, OptimizerOptions, of_rank, optimizer};
use farad::{Device, Precision, Tensor};

use super::{LmSettings, TokenParts};
use crate::data::Windows;
use crate::error::Result;
use crate::model::Transformer;

/// A model in training: an optimizer with warm-up and cosine, gradients clipped by their norm, decay on matrices only.
pub struct Trainer {
    model: Transformer,
    optimizer: Box<dyn AnyOptimizer>,
    schedule: Warmup<Cosine>,
    windows: Windows,
    precision: Precision,
    accumulate: u64,
    updates: u64,
    in_all: u64,
    device: Device,
    group: Group,
}

impl Trainer {
    /// Before the first update. Weights are those of the published model that the settings name; else they are drawn from
    /// the CPU's random numbers. Dropout draws from the device's. Both begin at the seed.
    pub fn new(settings: &LmSettings, parts: &TokenParts, device: &Device) -> Result<Trainer> {
        Trainer::new_in(&Group::alone(), settings, parts, device)
    }

    /// The same as one of several ranks, each of which takes its share of every batch.
    pub fn new_in(
        group: &Group,
        settings: &LmSettings,
        parts: &TokenParts,
        device: &Device,
    ) -> Result<Trainer> {
        Trainer::with_weights(group, settings, parts, true, device)
    }

    /// The same for those who restore a checkpoint next: they need no published weights.
    pub fn to_restore_in(
        group: &Group,
        settings: &LmSettings,
        parts: &TokenParts,
        device: &Device,
    ) -> Result<Trainer> {
        Trainer::with_weights(group, settings, parts, false, device)
    }

    fn with_weights(
        group: &Group,
        settings: &LmSettings,
        parts: &TokenParts,
        published: bool,
        device: &Device,
    ) -> Result<Trainer> {
        farad::seed(settings.seed);
        let model = settings.new_model(published, device)?;
        device.set_random_state(of_rank(RandomState { seed: settings.seed, counter: 0 }, group));
        let mut optimizer = made(settings, &model);
        optimizer.distribute(group, settings.course.ranks())?;
        let (batch, context) = (settings.batch, settings.model.context);
        let windows =
            Windows::new(&parts.train, "the training text", batch, context, settings.seed)?.shard(group)?;
        let in_all = settings.updates_in_all(parts.train.len());
        Ok(Trainer {
            model,
            optimizer,
            schedule: settings.schedule(in_all),
            windows,
            precision: settings.precision(),
            accumulate: settings.accumulate,
            updates: 0,
            in_all,
            device: device.clone(),
            group: group.clone(),
        })
    }

    /// The model.
    pub fn model(&self) -> &Transformer {
        &self.model
    }

    /// Where it is trained.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The ranks that train together.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Updates made.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Updates at the end.
    pub fn updates_in_all(&self) -> u64 {
        self.in_all
    }

    /// In which precision products are computed.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The learning rate of an update, counted from 0.
    pub fn rate_at(&self, update: u64) -> f32 {
        self.schedule.rate(update)
    }

    /// One update; the loss before it is not waited for. Without accumulation it is one submission.
    pub fn update(&mut self) -> Result<Tensor> {
        self.optimizer.set_learning_rate(self.rate_at(self.updates));
        let loss = match self.accumulate {
            1 => {
                let loss = self.loss(self.updates)?;
                self.optimizer.step(&loss)?;
                loss
            }
            _ => self.accumulated()?,
        };
        self.updates += 1;
        Ok(loss)
    }

    /// An update by the mean gradients of several batches; their mean loss.
    fn accumulated(&mut self) -> Result<Tensor> {
        let mut accumulator = Accumulator::new();
        for n in 0..self.accumulate {
            let loss = self.loss(self.updates * self.accumulate + n)?;
            // The loss is added up beside the gradients, so that the same run computes it.
            let mut added = self.optimizer.gradients(&loss)?;
            added.push(loss);
            accumulator.add(&added)?;
        }
        let mut means = accumulator.take();
        let loss = means.pop().expect("the loss was added");
        self.optimizer.apply(&means)?;
        Ok(loss)
    }

    fn loss(&mut self, batch: u64) -> Result<Tensor> {
        let device = self.windows.device().clone();
        let weight = self.windows.weight(&self.group, batch);
        device.recording(|| {
            let (x, y) = self.windows.batch(batch)?;
            let loss = self.precision.scope(|| match self.windows.is_marked() {
                true => self.model.loss_of_marked(&x, &y),
                false => self.model.loss(&x, &y),
            });
            // A number of the run: where only some targets count it is another one in every batch.
            Ok(if weight == 1.0 { loss } else { loss * Tensor::number(weight, &device) })
        })
    }

    /// Gives all ranks the weights of rank 0.
    pub fn synchronize(&mut self) -> Result<()> {
        Ok(self.optimizer.synchronize()?)
    }

    /// Brings what other ranks keep of the optimizer to all of them, for [`Trainer::put`].
    pub fn gather(&mut self) -> Result<()> {
        Ok(self.optimizer.gather()?)
    }

    /// Puts the model and the optimizer into a checkpoint.
    pub fn put(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        checkpoint.put_module("model", &self.model);
        checkpoint.put_all("optimizer", self.optimizer.state()?);
        Ok(())
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint.restore_module("model", &self.model)?;
        self.optimizer.restore(&checkpoint.tensors("optimizer", &self.device)?)?;
        self.updates = checkpoint.step();
        Ok(())
    }

    /// Takes the weights of a checkpoint, and nothing else of it.
    pub fn take_weights(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        Ok(checkpoint.restore_module("model", &self.model)?)
    }
}

/// The optimizer that settings ask for, with moments as they suit these models.
fn made(settings: &LmSettings, model: &Transformer) -> Box<dyn AnyOptimizer> {
    let [matrices, others] = model.groups();
    let groups = vec![(matrices, settings.weight_decay as f32), (others, 0.0)];
    let clip = (settings.clip > 0.0).then_some(Clip::Norm(settings.clip as f32));
    let adam = matches!(settings.optimizer.as_str(), "adamw" | "adam");
    let betas = adam.then_some(Transformer::BETAS);
    optimizer(&settings.optimizer, groups, OptimizerOptions { clip, betas })
}
