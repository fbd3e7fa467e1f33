//! A logic network in training: its state, and one step.

use std::ops::Range;

use farad::group::{Combine, Group, share};
use farad::nn::Module;
use farad::optim::Clip;
use farad::optim::schedule::{Cosine, Schedule};
use farad::run::Checkpoint;
use farad::train::{AnyOptimizer, OptimizerOptions, TrainError, of_rank, optimizer};
use farad::{DType, Device, RandomState, Tensor};

use super::data::{ClassifierData, HostSamples};
use super::samples::{Augment, DeviceSamples, Margin};
use super::settings::ClassifierSettings;
use super::{augment, model, resample};
use crate::error::Result;
use crate::layer::Pass;
use crate::network::LogicNetwork;

/// Samples that are evaluated at once.
const JUDGED: usize = 1024;
/// The random stream of the orders of epochs.
const ORDER: u32 = 0x6c6f_7264;
/// Offset of the steps' random numbers in the seed's stream, after those of wirings.
const STEPS: u64 = 1 << 33;

/// A network, its optimizer and its data on one device.
pub struct ClassifierTrainer {
    settings: ClassifierSettings,
    network: LogicNetwork,
    optimizer: Box<dyn AnyOptimizer>,
    train: DeviceSamples,
    validation: DeviceSamples,
    device: Device,
    /// The order of an epoch's samples, and which epoch that is.
    order: Option<(u64, Tensor)>,
    steps: u64,
    /// The ranks that share every batch.
    group: Group,
}

impl ClassifierTrainer {
    /// Ready for the first step.
    pub fn new(
        settings: &ClassifierSettings,
        data: &ClassifierData,
        device: &Device,
    ) -> Result<ClassifierTrainer> {
        let help = "use smaller layers, kernels, candidates or a smaller batch, or another device";
        model::need(settings, data.train.shape, data.train.len()).check(device, help)?;
        let network =
            model::build(settings, data.train.shape, data.classes.len(), Some(&data.train), device)?;
        let groups = vec![(network.parameters(), settings.weight_decay as f32)];
        let clip = (settings.clip > 0.0).then_some(Clip::Norm(settings.clip as f32));
        let optimizer =
            optimizer(&settings.optimizer, groups, OptimizerOptions { clip, ..Default::default() });
        let copies = augment::copies(settings, &data.train)?;
        let margin = Margin { pixels: settings.shift as usize, edge: settings.edge };
        Ok(ClassifierTrainer {
            settings: settings.clone(),
            network,
            optimizer,
            train: DeviceSamples::new(copies.as_ref().unwrap_or(&data.train), margin, device)?,
            validation: DeviceSamples::new(&data.validation, 0, device)?,
            device: device.clone(),
            order: None,
            steps: 0,
            group: Group::alone(),
        })
    }

    /// As one of several ranks, each of which takes its share of every batch.
    pub fn in_group(mut self, group: &Group) -> Result<ClassifierTrainer> {
        let (batch, ranks) = (self.batch(), group.size());
        if batch < ranks {
            return Err(farad::Error::from(TrainError::SmallBatch { batch, ranks }).into());
        }
        self.group = group.clone();
        self.optimizer.distribute(group, self.settings.course.ranks())?;
        Ok(self)
    }

    /// Gives all ranks the gates of rank 0.
    pub fn synchronize(&mut self) -> Result<()> {
        if !self.group.is_alone() {
            self.optimizer.synchronize()?;
            self.network.refresh();
        }
        Ok(())
    }

    /// The network.
    pub fn network(&self) -> &LogicNetwork {
        &self.network
    }

    /// The device that everything runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Steps made so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Samples per step: as many as asked for, or all.
    fn batch(&self) -> usize {
        batch(&self.settings, self.train.count())
    }

    /// Steps per epoch. Samples that do not fill a batch are left for epochs with another order.
    pub fn steps_per_epoch(&self) -> u64 {
        (self.train.count() / self.batch()) as u64
    }

    /// Steps per epoch on some samples; at least one.
    pub fn epoch_of(settings: &ClassifierSettings, train: &HostSamples) -> u64 {
        let samples = train.len() * (settings.copies as usize).max(1);
        (samples / batch(settings, samples).max(1)).max(1) as u64
    }

    /// The total number of steps.
    pub fn steps_in_all(&self) -> u64 {
        match self.settings.updates {
            0 => self.settings.epochs as u64 * self.steps_per_epoch(),
            updates => updates as u64,
        }
    }

    /// The learning rate after this many steps.
    pub fn rate_at(&self, steps: u64) -> f32 {
        match self.settings.schedule.as_str() {
            "constant" => self.settings.learning_rate as f32,
            // The last step should still learn something.
            _ => Cosine::new(self.settings.learning_rate, self.steps_in_all() + 1).rate(steps),
        }
    }

    /// The loss of the next step, as it would compute it.
    pub fn loss(&mut self) -> Tensor {
        let rows = self.rows();
        let settings = &self.settings;
        // Ranks shift their samples differently.
        let random = RandomState { seed: settings.seed as u64, counter: STEPS + 2 * self.steps };
        let random = of_rank(random, &self.group);
        let augment = Augment {
            seed: (random.seed, random.counter),
            shift: settings.shift as usize,
            mirror: settings.mirror,
        };
        let (x, labels) = self.train.batch(&rows, augment);
        let pass = if settings.forward == "hard" { Pass::Straight } else { Pass::Soft };
        let loss = self.network.features(&x, pass).transpose(0, 1).cross_entropy(&labels);
        let weight = (self.own().len() * self.group.size()) as f64 / self.batch() as f64;
        if weight == 1.0 { loss } else { loss * weight }
    }

    /// One step. Returns the loss before it, without waiting for it.
    pub fn step(&mut self) -> Result<Tensor> {
        let rate = self.rate_at(self.steps);
        self.optimizer.set_learning_rate(rate);
        let loss = self.loss();
        self.optimizer.step(&loss)?;
        self.steps += 1;
        resample::after_step(
            &self.settings,
            self.steps,
            self.steps_in_all(),
            &self.network,
            &mut *self.optimizer,
        )?;
        Ok(loss)
    }

    /// This rank's share of a batch.
    fn own(&self) -> Range<usize> {
        share(self.batch(), self.group.size(), self.group.rank())
    }

    /// The numbers of the next step's samples, of this rank's share. `[batch]`
    fn rows(&mut self) -> Tensor {
        let (epoch, place) = (self.steps / self.steps_per_epoch(), self.steps % self.steps_per_epoch());
        let order = match self.order.take() {
            Some((of, order)) if of == epoch => order,
            _ => {
                let mut random = farad::data::Random::at(self.settings.seed as u64, ORDER, epoch);
                let order: Vec<u32> =
                    random.permutation(self.train.count()).into_iter().map(|n| n as u32).collect();
                let count = order.len();
                Tensor::from_vec(order, [count], &self.device)
            }
        };
        self.order = Some((epoch, order.clone()));
        let own = self.own();
        order.index_select(0, &count_from(place as usize * self.batch() + own.start, own.len(), &self.device))
    }

    /// The share of the validation part that the hard network classifies right. Ranks take turns with its samples.
    pub fn validate(&self) -> Result<f64> {
        let (samples, count) = (&self.validation, self.validation.count());
        let chunk = JUDGED.min(count);
        let mut right = 0.0;
        let chunks = (0..count).step_by(chunk).skip(self.group.rank()).step_by(self.group.size());
        for start in chunks {
            let rows = count_from(start, chunk, &self.device);
            let inside = rows.less(count as f64);
            let (x, labels) = samples.batch(&rows.minimum((count - 1) as f64), Augment::default());
            let hits = self.network.classes(&x).equal(&labels) & inside;
            right += f64::from(hits.cast(DType::F32).sum().item()?);
        }
        let mut right = [right];
        self.group.all_reduce(&mut right, Combine::Sum)?;
        Ok(right[0] / count as f64)
    }

    /// The current parameters, on the CPU.
    pub fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let cpu = Device::cpu();
        let state = self.network.state();
        state.into_iter().map(|(name, tensor)| Ok((name, tensor.detach()?.to_device(&cpu)?))).collect()
    }

    /// Brings what other ranks keep of the optimizer to all of them, for [`ClassifierTrainer::put`].
    pub fn gather(&mut self) -> Result<()> {
        Ok(self.optimizer.gather()?)
    }

    /// Stores network and optimizer in a checkpoint.
    pub fn put(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        checkpoint.put_module("model", &self.network);
        checkpoint.put_all("optimizer", self.optimizer.state()?);
        Ok(())
    }

    /// Continues from a checkpoint.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint.restore_module("model", &self.network)?;
        self.network.refresh();
        self.optimizer.restore(&checkpoint.tensors("optimizer", &self.device)?)?;
        self.steps = checkpoint.step();
        Ok(())
    }
}

/// Samples per step, if there are as many.
fn batch(settings: &ClassifierSettings, samples: usize) -> usize {
    (settings.batch as usize).min(samples)
}

/// `start, start + 1, …` as `u32`, where the start is a parameter of the run.
fn count_from(start: usize, count: usize, device: &Device) -> Tensor {
    let start = Tensor::number(start as f32, device).cast(DType::U32);
    Tensor::arange(count, device).cast(DType::U32) + start
}
