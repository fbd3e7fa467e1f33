//! Batches of a data set on a device, epoch by epoch.
//!
//! `work` makes batches on the host. `feed` does so ahead of time, on threads that know no device.
//! [`Batches`] uploads on the consuming thread: the next batch, if it is ready, before it gives out the
//! current one.
//!
//! Invariant: what a batch holds depends on the set, the batch size, the seed and the batch's number only. It
//! never depends on threads or on where an epoch was interrupted.

mod batches;
mod feed;
mod work;

pub use batches::Batches;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Dataset, Transform};
use crate::error::{DataError, Result};
use farad_group::{Group, share};
use farad_tensor::Device;

/// Where a loader stands; checkpoints keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Epochs that are over.
    pub epoch: u64,
    /// Batches of this epoch that were given out.
    pub batch: u64,
    /// The seed of shuffling, if samples are shuffled.
    pub seed: Option<u64>,
    /// Samples per batch.
    pub batch_size: usize,
    /// Samples of the set.
    pub samples: usize,
}

/// Gives the batches of a set as tensors on a device: `[batch, ..]` and `[batch, ..]`. Every loop over it is one
/// epoch, or what is left of it.
///
/// ```
/// use farad::data::{DataLoader, digits};
/// use farad::prelude::*;
/// let mut loader = DataLoader::new(digits(100, 1), 32).shuffle(7).device(&Device::cpu());
/// let mut seen = 0;
/// for batch in &mut loader {
///     let (images, labels) = batch?;
///     assert_eq!(images.shape()[1..], [1, 28, 28]);
///     seen += labels.shape()[0];
/// }
/// assert_eq!((seen, loader.position().epoch), (100, 1));
/// # Ok::<(), farad::Error>(())
/// ```
pub struct DataLoader {
    dataset: Arc<dyn Dataset>,
    batch: usize,
    seed: Option<u64>,
    drop_last: bool,
    workers: usize,
    prefetch: usize,
    device: Device,
    transforms: Vec<Arc<dyn Transform>>,
    /// Which rank of how many.
    part: (usize, usize),
    epoch: u64,
    given: u64,
}

impl DataLoader {
    /// In order, on the CPU, with one thread that works two batches ahead. A batch size of 0 or a set without
    /// samples is the error that the first loop gives.
    pub fn new(dataset: impl Dataset + 'static, batch: usize) -> DataLoader {
        DataLoader {
            dataset: Arc::new(dataset),
            batch,
            seed: None,
            drop_last: false,
            workers: 1,
            prefetch: 2,
            device: Device::cpu(),
            transforms: vec![],
            part: (0, 1),
            epoch: 0,
            given: 0,
        }
    }

    /// Another order in every epoch, all of them from this seed; it also decides what random transforms do.
    pub fn shuffle(mut self, seed: u64) -> DataLoader {
        self.seed = Some(seed);
        self
    }

    /// Whether samples that do not fill a batch at the end of an epoch are left out.
    pub fn drop_last(mut self, drop: bool) -> DataLoader {
        self.drop_last = drop;
        self
    }

    /// How many threads make batches; with 0 the consuming thread makes them.
    pub fn workers(mut self, workers: usize) -> DataLoader {
        self.workers = workers;
        self
    }

    /// How many batches threads may be ahead, all together.
    pub fn prefetch(mut self, batches: usize) -> DataLoader {
        self.prefetch = batches;
        self
    }

    /// The device that batches are uploaded to.
    pub fn device(mut self, device: &Device) -> DataLoader {
        self.device = device.clone();
        self
    }

    /// Changes inputs; those given first go first. Bytes that are left become numbers from 0 to 1.
    pub fn transform(mut self, transform: impl Transform + 'static) -> DataLoader {
        self.transforms.push(Arc::new(transform));
        self
    }

    /// Gives this rank's share of every batch. The batch size stays that of all ranks together, and so do the order of
    /// samples, the number of batches and the position. A batch that cannot be divided gives some ranks a sample more, so
    /// multiply its loss by [`DataLoader::weight`]: then the mean over ranks is the mean over the batch.
    ///
    /// ```
    /// use farad::data::{DataLoader, digits};
    /// use farad::group::Group;
    /// let whole = DataLoader::new(digits(10, 1), 4).shuffle(7).shard(&Group::world()?);
    /// assert_eq!((whole.batches()?, whole.weight()), (3, 1.0));
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn shard(mut self, group: &Group) -> DataLoader {
        self.part = (group.rank(), group.size());
        self
    }

    /// What the loss of the batch that was given last is multiplied by: this rank's part of it, times the number of ranks.
    /// 1 where all ranks have equally many samples; 0 where there were too few, and this rank has one of another.
    pub fn weight(&self) -> f64 {
        let (rank, size) = self.part;
        let batches = self.batches().unwrap_or(1);
        let last = (self.given as usize).checked_sub(1).unwrap_or(batches - 1);
        let len = self.batch.min(self.dataset.len().saturating_sub(last * self.batch));
        match len {
            0 => 1.0,
            _ => (share(len, size, rank).len() * size) as f64 / len as f64,
        }
    }

    /// The data set.
    pub fn dataset(&self) -> &dyn Dataset {
        &*self.dataset
    }

    /// Batches of an epoch.
    pub fn batches(&self) -> Result<usize> {
        let samples = self.dataset.len();
        if self.batch == 0 {
            return Err(DataError::BatchSize.into());
        }
        if samples == 0 {
            return Err(DataError::NoSamples { op: "loader" }.into());
        }
        match self.drop_last {
            true if samples < self.batch => Err(DataError::NoBatch { samples, batch: self.batch }.into()),
            true => Ok(samples / self.batch),
            false => Ok(samples.div_ceil(self.batch)),
        }
    }

    /// Where the loader stands: after the batch that was given out last; after the last of an epoch, at the start of the
    /// next.
    pub fn position(&self) -> Position {
        let (batch_size, samples) = (self.batch, self.dataset.len());
        Position { epoch: self.epoch, batch: self.given, seed: self.seed, batch_size, samples }
    }

    /// Goes on where another loader of the same set stood: the next loop gives the rest of its epoch.
    ///
    /// ```
    /// use farad::data::{DataLoader, digits};
    /// let mut first = DataLoader::new(digits(10, 1), 4).shuffle(7);
    /// let skipped = (&mut first).into_iter().next();
    /// let mut second = DataLoader::new(digits(10, 1), 4);
    /// second.set_position(first.position())?;
    /// assert_eq!((&mut second).into_iter().count(), 2);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn set_position(&mut self, position: Position) -> Result<()> {
        let differs = |what, found: usize, wanted: usize| DataError::Position { what, found, wanted };
        if position.batch_size != self.batch {
            return Err(differs("batch sizes differ", self.batch, position.batch_size).into());
        }
        if position.samples != self.dataset.len() {
            return Err(differs("sets differ in length", self.dataset.len(), position.samples).into());
        }
        let batches = self.batches()?;
        if position.batch > batches as u64 {
            return Err(differs("batch outside of the epoch", position.batch as usize, batches).into());
        }
        (self.epoch, self.given, self.seed) = (position.epoch, position.batch, position.seed);
        // Files of earlier builds have the end of an epoch where others have the start of the next.
        if position.batch == batches as u64 {
            (self.epoch, self.given) = (position.epoch + 1, 0);
        }
        Ok(())
    }
}

impl<'a> IntoIterator for &'a mut DataLoader {
    type Item = Result<(farad_tensor::Tensor, farad_tensor::Tensor)>;
    type IntoIter = Batches<&'a mut DataLoader>;

    /// The rest of the epoch: all of it unless a loop was left early or a position was set.
    fn into_iter(self) -> Self::IntoIter {
        Batches::new(self)
    }
}

impl IntoIterator for DataLoader {
    type Item = Result<(farad_tensor::Tensor, farad_tensor::Tensor)>;
    type IntoIter = Batches<DataLoader>;

    fn into_iter(self) -> Self::IntoIter {
        Batches::new(self)
    }
}
